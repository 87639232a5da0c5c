//! Drivers: they carry out what the engine asks for, and decide nothing. Floor 5: drive.

pub mod disciplines;
pub mod live;
pub mod simulated;

//! Drivers: they carry out what the engine asks for, and decide nothing. Floor 5: drive.

mod answers;
mod cores;
pub mod disciplines;
pub mod forecast;
pub mod live;
mod loss;
pub mod many_cores;
mod mends;
pub mod modelled;
pub mod simulated;
pub mod what_if;
pub mod worked_example;

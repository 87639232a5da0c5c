//! A page: the engine explained with one run in virtual time, which is run as a test. Floor 5: drive.
#![doc = include_str!("../../docs/engine.md")]

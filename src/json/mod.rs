//! JSON texts that are read in place. Floor 1: words.

mod members;
mod plain;
mod pointer;

pub use members::{Member, Name, members};
pub use plain::run;
pub use pointer::{Pointer, find};

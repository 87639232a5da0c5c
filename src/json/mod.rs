//! JSON texts that are read in place. Floor 1: words.

mod members;
mod pointer;

pub use members::{Members, Name};
pub use pointer::{Pointer, find};

//! JSON texts that are read in place. Floor 1: words.

mod members;
mod plain;
mod pointer;

pub use members::{Member, Name, members, members_in, memory_of};
pub use pointer::{Pointer, find};

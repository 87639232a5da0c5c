//! JSON texts that are read in place. Floor 1: words.

mod depth;
mod members;
mod plain;
mod pointer;

pub use depth::{is_deeper, string_length};
pub use members::{Member, Name, members};
pub use plain::run;
pub use pointer::{Pointer, find};

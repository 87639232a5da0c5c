//! The store through which several runs share their limits: Redis, or what speaks its protocol. Floor 4: doors.

mod call;
pub mod script;
mod shared;

pub use call::{Call, Caller, Chore, Heard, Request, Time, Who};
pub use shared::Shared;

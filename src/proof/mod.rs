//! Whether what was sent kept the limits: the exact worst of every window. Floor 3: rules.
//!
//! Independent of the rules in [`crate::limit`]: it sees only when tries were granted and sent, and what
//! they cost. Windows are half-open, `(t - period, t]`: what is exactly one period old is outside.

mod apart;
mod event;
mod meter;
mod moments;
mod order;
mod own;
mod proved;
mod prover;
mod span;
mod terms;
mod track;

pub use event::{Event, LINE_BITS, Mark};
pub use order::Proof;
pub use proved::{Grants, Minute, Most, Proved, Proven, Verdict};
pub use prover::{Prover, prove};
pub use span::most_at_once;
pub use terms::Terms;

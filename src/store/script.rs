//! The script that the server runs: one for every call. Floor 4: doors.

use std::sync::LazyLock;

use redis::Script;

/// Its text, one file a rule in between what all share.
const TEXT: &str = concat!(
    include_str!("lua/head.lua"),
    include_str!("lua/bucket.lua"),
    include_str!("lua/window.lua"),
    include_str!("lua/counter.lua"),
    include_str!("lua/fixed.lua"),
    include_str!("lua/slots.lua"),
    include_str!("lua/learnt.lua"),
    include_str!("lua/call.lua"),
    include_str!("lua/look.lua"),
    include_str!("lua/done.lua"),
    include_str!("lua/line.lua"),
    include_str!("lua/lease.lua"),
    include_str!("lua/ask.lua"),
    include_str!("lua/end.lua"),
);

/// The script, with the hash by which a server knows it.
pub static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(TEXT));

/// Its text, for a server that does not know it yet.
pub fn text() -> &'static str {
    TEXT
}

//! Which ids were given, and where: finds the second job with the same id. Floor 4: doors.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use twox_hash::XxHash3_64;

/// So many small maps grow one after the other, where one large map would stop the reader for a second.
/// The upper six bits of the hash choose.
const SHARDS: usize = 64;

/// Bits of a [`Line`] that count lines; the rest count inputs.
const LINE_BITS: u32 = 44;

/// The line of an input where an id was first given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// Position among the inputs, from 0.
    pub(super) input: u64,
    /// From 1.
    pub(super) number: u64,
}

/// The ids so far: a hash and a line, 16 bytes each and as much again of spare room after a table has grown.
///
/// Ids are told apart by 64 bits: among ten million the chance of a false duplicate is one in 400 000.
pub(super) struct Ids {
    shards: Vec<HashMap<u64, u64>>,
}

impl Ids {
    /// None given yet.
    pub(super) fn new() -> Self {
        Self {
            shards: vec![HashMap::new(); SHARDS],
        }
    }

    /// Notes the id; the line that already has it, if one does.
    pub(super) fn claim(&mut self, id: &str, line: Line) -> Option<Line> {
        let hash = XxHash3_64::oneshot(id.as_bytes());
        let shard = (hash >> 58) as usize;
        match self.shards[shard].entry(hash) {
            Entry::Occupied(first) => Some(Line {
                input: first.get() >> LINE_BITS,
                number: first.get() & ((1 << LINE_BITS) - 1),
            }),
            Entry::Vacant(free) => {
                free.insert((line.input << LINE_BITS) | line.number);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_id_is_told() {
        let mut ids = Ids::new();
        let first = Line {
            input: 3,
            number: 41,
        };
        let second = Line {
            input: 4,
            number: 1,
        };
        assert_eq!(ids.claim("a", first), None);
        assert_eq!(ids.claim("b", second), None);
        assert_eq!(ids.claim("a", second), Some(first));
    }

    #[test]
    fn a_hundred_thousand_ids_are_told_apart() {
        let mut ids = Ids::new();
        for number in 1..=100_000 {
            let line = Line { input: 0, number };
            assert_eq!(ids.claim(&format!("job-{number}"), line), None, "{number}");
        }
    }
}

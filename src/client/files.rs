//! How many connections the files allow that a process may have open. Floor 4: doors.

use std::fs;

use rustix::process::{Resource, getrlimit, setrlimit};

/// The program opens so many files of its own after [`Room::now`], as `strace` tells: four for the runtime, timer,
/// results and their copy for `--fsync`, the input that is counted, a body from a file, and the certificates of
/// the system; and two for the look-up of a name.
const LATER: u64 = 12;

/// One is the connection of a slot, one a connect that came too late for it, or the look-up of a name; and as many
/// stay open between tries.
const FOR_A_SLOT: u64 = 3;

/// Numbers of files that are advised are round.
const ROUND: u64 = 256;

/// Where a process does not tell its open files.
const USUALLY_OPEN: u64 = 12;

/// What connections have at both ends in this process need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Ours: one file each.
    Ours,
    /// Ours and that of a server in this process: two files each.
    Both,
}

/// Room for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// So many files may be open.
    pub files: u64,
    /// So many of them are no connections.
    others: u64,
    /// Files of a connection.
    each: u64,
}

impl Room {
    /// What is free besides the files that are open now and those that the program opens later. `None`: any
    /// number.
    pub fn now(ends: Ends) -> Option<Self> {
        let files = getrlimit(Resource::Nofile).current?;
        Some(Self::of(files, open_below(files), ends))
    }

    fn of(files: u64, open: u64, ends: Ends) -> Self {
        Self {
            files,
            others: open + LATER,
            each: match ends {
                Ends::Ours => 1,
                Ends::Both => 2,
            },
        }
    }

    /// What is left where something else in this process opens so many files.
    #[must_use]
    pub fn beside(self, others: u64) -> Self {
        Self {
            others: self.others + others,
            ..self
        }
    }

    fn connections(self) -> u64 {
        self.files.saturating_sub(self.others) / self.each
    }

    /// The most tries in flight; zero: not one.
    ///
    pub fn slots(self) -> u64 {
        match self.connections() {
            0 => 0,
            some => (some / FOR_A_SLOT).max(1),
        }
    }

    /// The open files that so many slots need, rounded up: another time others may be open.
    pub fn files_for(self, slots: u64) -> u64 {
        let connections = slots.saturating_mul(FOR_A_SLOT);
        let files = connections.saturating_mul(self.each);
        let files = files.saturating_add(self.others);
        files.checked_next_multiple_of(ROUND).unwrap_or(u64::MAX)
    }

    /// The most connections that may stay open between tries, beside two files for each slot.
    pub fn kept(self, slots: u64) -> u64 {
        self.connections().saturating_sub(slots.saturating_mul(2))
    }
}

/// Of the files that may be open: descriptors are numbers below the limit, and one that was inherited from
/// above takes none of them.
fn open_below(limit: u64) -> u64 {
    let Ok(open) = fs::read_dir("/dev/fd") else {
        return USUALLY_OPEN;
    };
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<u64>().ok();
    let numbers = open.filter_map(|entry| number(entry.ok()?.file_name()));
    let open = numbers.filter(|number| *number < limit).count() as u64;
    // Reading them was one.
    open.saturating_sub(1)
}

/// The soft limit, which only `select` asks for, is raised to the hard one: connections to many origins need
/// many files. If it cannot be, there is less room.
pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_late_connects_kept_connections_and_own_files_fit_into_the_limit() {
        for ends in [Ends::Ours, Ends::Both] {
            for files in 0..3_000 {
                let open = 11;
                let room = Room::of(files, open, ends);
                let each = if ends == Ends::Both { 2 } else { 1 };
                for slots in 1..=room.slots() {
                    // A slot alone finds its connection free again, so none comes too late.
                    let used = if slots == 1 { 1 } else { 2 * slots };
                    let all = each * (used + room.kept(slots)) + open + LATER;
                    assert!(all <= files, "{slots} slots take {all} of {files}");
                    assert!(slots == 1 || room.kept(slots) >= slots, "{room:?}");
                }
            }
        }
    }

    #[test]
    fn the_files_that_are_advised_are_enough_for_the_slots_and_fewer_round_ones_are_not() {
        for ends in [Ends::Ours, Ends::Both] {
            for slots in [2, 3, 500, 5_000] {
                let advised = Room::of(64, 11, ends).beside(23).files_for(slots);
                let with = |files| Room::of(files, 11, ends).beside(23).slots();
                assert!(with(advised) >= slots && with(advised - ROUND) < slots);
            }
        }
    }

    #[test]
    fn one_connection_is_enough_for_one_slot() {
        let room = |files| Room::of(files, 10, Ends::Ours).slots();
        assert_eq!((room(9), room(22), room(23), room(64)), (0, 0, 1, 14));
        assert_eq!(Room::of(23, 10, Ends::Both).slots(), 0);
        assert_eq!(Room::of(24, 10, Ends::Both).slots(), 1);
    }
}

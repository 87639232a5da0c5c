//! Names that are each job's own: a server knows by them what it has had. Floor 4: doors.

use std::collections::HashMap;
use std::fmt::Write as _;

use twox_hash::XxHash3_64;

use crate::job::JobHash;

/// Makes the `Idempotency-Key` of each job (draft-ietf-httpapi-idempotency-key-header-06), or its `{{uuid}}`: the same for all of its
/// tries, and for those of a run that goes on with the results; another in every other run.
///
/// Equal jobs without ids are counted, each has a key of its own. Memory: some 16 bytes for each that differs.
pub(super) struct OnceKeys {
    /// What the run is known by.
    run: u64,
    equal: HashMap<JobHash, u32>,
}

impl OnceKeys {
    pub(super) fn new(run: u64) -> Self {
        Self {
            run,
            equal: HashMap::new(),
        }
    }

    /// Of the next job, a UUID of version 8 (RFC 9562 §5.8): its bits are as we choose.
    pub(super) fn next(&mut self, id: Option<&str>, hash: JobHash, round: u32) -> String {
        let text = if let Some(id) = id {
            let round = (round > 0).then(|| format!("round {round} "));
            format!("{}id {id}", round.unwrap_or_default())
        } else {
            let nth = self.equal.entry(hash).or_default();
            *nth += 1;
            format!("job {nth}")
        };
        let high = XxHash3_64::oneshot_with_seed(self.run ^ hash.0, text.as_bytes());
        let low = XxHash3_64::oneshot_with_seed(high, text.as_bytes());
        let bits = u128::from(high) << 64 | u128::from(low);
        let bits = bits & !(0xf << 76) & !(0b11 << 62) | 8 << 76 | 0b10 << 62;
        let mut key = String::with_capacity(36);
        for (nth, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            if nth > 0 {
                key.push('-');
            }
            let behind = [96, 80, 64, 48, 0][nth];
            let part = bits >> behind & ((1 << (4 * digits)) - 1);
            let _ = write!(key, "{part:0digits$x}");
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(run: u64, jobs: &[(Option<&str>, u64)]) -> Vec<String> {
        let mut keys = OnceKeys::new(run);
        let each = jobs.iter();
        each.map(|(id, hash)| keys.next(*id, JobHash(*hash), 0))
            .collect()
    }

    #[test]
    fn each_job_of_a_run_has_a_key_of_its_own_that_comes_again_in_the_same_run_alone() {
        let jobs = [
            (None, 1),
            (None, 1),
            (None, 2),
            (Some("a"), 1),
            (Some("b"), 1),
        ];
        let first = keys(7, &jobs);
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), jobs.len());
        assert_eq!(first, keys(7, &jobs));
        let others = keys(8, &jobs);
        assert!(first.iter().zip(&others).all(|(own, other)| own != other));
    }

    #[test]
    fn lines_between_them_change_no_key() {
        let apart = keys(7, &[(None, 1), (None, 9), (Some("a"), 3), (None, 1)]);
        let together = keys(7, &[(None, 1), (None, 1), (Some("a"), 3)]);
        assert_eq!((&apart[0], &apart[3]), (&together[0], &together[1]));
        assert_eq!(apart[2], together[2]);
    }

    #[test]
    fn a_key_is_a_uuid_that_says_how_it_was_made() {
        let text = &keys(7, &[(None, 1)])[0];
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{text}");
        assert_eq!(&text[14..15], "8");
        assert!("89ab".contains(&text[19..20]), "{text}");
    }
}

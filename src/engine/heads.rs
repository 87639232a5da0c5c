//! Heads of lanes by their age. Floor 3: rules.

use std::collections::BTreeSet;

/// Number of a lane, for as long as it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId(pub(super) u32);

impl LaneId {
    /// The lowest number.
    pub(super) const FIRST: Self = Self(0);

    /// The next number, of a lane or not.
    fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A head: the position of its job in the input, and its lane.
pub(super) type Head = (u64, LaneId);

/// Heads by age. The oldest stands apart: nearly every run has one lane, and a tree of one makes and
/// drops its only node with every job.
#[derive(Debug, Default)]
pub(super) struct Heads {
    oldest: Option<Head>,
    /// All but the oldest.
    rest: BTreeSet<Head>,
}

impl Heads {
    pub(super) fn insert(&mut self, head: Head) {
        match self.oldest {
            Some(oldest) if oldest < head => drop(self.rest.insert(head)),
            Some(younger) => {
                self.rest.insert(younger);
                self.oldest = Some(head);
            }
            None => self.oldest = Some(head),
        }
    }

    pub(super) fn remove(&mut self, head: Head) {
        if self.oldest == Some(head) {
            self.oldest = self.rest.pop_first();
        } else {
            self.rest.remove(&head);
        }
    }

    /// A lane has another head, or had none, or has none any more.
    #[inline]
    pub(super) fn replace(&mut self, before: Option<Head>, after: Option<Head>) {
        if self.rest.is_empty() && self.oldest == before {
            self.oldest = after;
            return;
        }
        if let Some(before) = before {
            self.remove(before);
        }
        if let Some(after) = after {
            self.insert(after);
        }
    }

    pub(super) fn clear(&mut self) {
        self.oldest = None;
        self.rest.clear();
    }

    /// The oldest of all.
    pub(super) fn first(&self) -> Option<Head> {
        self.oldest
    }

    /// The oldest that is younger than `after`.
    pub(super) fn next(&self, after: Option<Head>) -> Option<Head> {
        match after {
            None => self.oldest,
            Some(after) if self.oldest.is_some_and(|oldest| oldest > after) => self.oldest,
            Some(_) if self.rest.is_empty() => None,
            Some((seq, lane)) => self.rest.range((seq, lane.next())..).next().copied(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }
}

#[cfg(test)]
impl Heads {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.rest.len() + usize::from(self.oldest.is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_a_set_in_order(steps in prop::collection::vec((0..12_u64, any::<bool>()), 0..60)) {
            let (mut heads, mut set) = (Heads::default(), BTreeSet::new());
            for (seq, comes) in steps {
                let head = (seq, LaneId::FIRST);
                if comes {
                    if set.insert(head) {
                        heads.insert(head);
                    }
                } else if set.remove(&head) {
                    // Its lane has none any more, or a younger one.
                    let after = Some((seq + 12, LaneId::FIRST)).filter(|next| set.insert(*next));
                    heads.replace(Some(head), after);
                } else if let Some(oldest) = set.pop_first() {
                    heads.remove(oldest);
                }
                let mut after = None;
                let each = std::iter::from_fn(|| {
                    after = heads.next(after);
                    after
                });
                prop_assert!(each.eq(set.iter().copied()), "{heads:?}");
                prop_assert_eq!((heads.first(), heads.len()), (set.first().copied(), set.len()));
                prop_assert_eq!(heads.is_empty(), set.is_empty());
            }
        }
    }
}

//! The limits that files of results were written under, as far as they are told. Floor 6: front.

use crate::limit::Spec;
use crate::manifest::{Before, Manifest};
use crate::metrics::Owner;

/// All limits, and which of them are held against what was sent.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// Each once; those that are to be proved stand first.
    pub(super) all: Vec<Spec>,
    /// How many of them are to be proved.
    pub(super) proved: usize,
}

/// The limits of one run.
pub(super) type Told = Result<Vec<Spec>, String>;

/// Those of each run that has written to a file, the last one last.
pub(super) fn of(run: &Manifest) -> Vec<Told> {
    let earlier = run.earlier.iter().map(Before::specs);
    earlier.chain([run.specs()]).collect()
}

impl Limits {
    /// Given ones are proved, else those that all runs have had. `runs` are all that are told of; says why none
    /// is proved.
    pub(super) fn of(
        given: Vec<Spec>,
        runs: &[&Told],
        files_untold: usize,
    ) -> (Self, Option<String>) {
        let told: Vec<&Vec<Spec>> = runs.iter().filter_map(|run| run.as_ref().ok()).collect();
        let wrong = runs.iter().find_map(|run| run.as_ref().err());
        let differ = told.windows(2).any(|pair| pair[0] != pair[1]);
        let why = if !given.is_empty() {
            None
        } else if let Some(why) = wrong {
            Some(format!("no limit is proved: {why}"))
        } else if files_untold > 0 {
            let of = if told.is_empty() { "" } else { " of some" };
            Some(format!(
                "nothing tells the limits{of}: give them by options, as to the run (--qps, --window, --tpm)"
            ))
        } else if differ {
            Some(
                "its runs had different limits, so none is proved: give those to prove by options"
                    .to_owned(),
            )
        } else {
            None
        };
        let mut all = given;
        if all.is_empty() && why.is_none() {
            all = told.first().copied().cloned().unwrap_or_default();
        }
        let proved = all.len();
        for limit in told.into_iter().flatten() {
            if !all.contains(limit) {
                all.push(limit.clone());
            }
        }
        (Self { all, proved }, why)
    }

    /// Those that are to be proved.
    pub(super) fn to_prove(&self) -> &[Spec] {
        &self.all[..self.proved]
    }

    /// An owner of a run with these limits, as it is called among all.
    pub(super) fn named(&self, own: &[Spec], owner: Owner) -> Option<Owner> {
        let Owner::Limit(number) = owner else {
            return Some(owner);
        };
        let limit = own.get(number)?;
        self.all.iter().position(|it| it == limit).map(Owner::Limit)
    }
}

//! What people are told of a store that goes away and comes back. Floor 5: drive.

use crate::engine::share::{OnLoss, Sharing, Word};
use crate::units::show_span;

/// What a run does without its store, in words.
pub(super) struct Loss {
    sharing: Option<Sharing>,
    members: u32,
    away: bool,
}

impl Loss {
    pub(super) fn new(sharing: Option<Sharing>) -> Self {
        Self {
            sharing,
            members: 1,
            away: false,
        }
    }

    /// What is said when the store says this; most words are for the engine alone.
    pub(super) fn note(&mut self, word: &Word) -> Option<String> {
        let sharing = self.sharing.as_ref()?;
        match word {
            // One warning, however often it is tried.
            Word::Away(..) if self.away => None,
            Word::Away(problem, _) => {
                self.away = true;
                let meanwhile = match sharing.on_loss {
                    OnLoss::Stop => format!(
                        "nothing is sent until it is back, and after {} the run ends (--store-grace)",
                        show_span(sharing.grace)
                    ),
                    OnLoss::Local => match self.members {
                        0 | 1 => "until it is back this process keeps the limits by itself".to_owned(),
                        all => format!(
                            "until it is back this process keeps 1/{all} of each limit by itself"
                        ),
                    },
                    OnLoss::Open => "until it is back no shared limit holds".to_owned(),
                };
                let at = &problem.place;
                Some(format!("warning: {at}: {}; {meanwhile}", problem.what))
            }
            Word::Back => {
                self.away = false;
                Some("the store is back: the limits are shared again".to_owned())
            }
            Word::Emptied => Some(
                "warning: the store has lost what it held: each limit began anew, so one more window or burst may go out"
                    .to_owned(),
            ),
            Word::Members(members) => {
                self.members = *members;
                None
            }
            Word::Answered(..) | Word::Learnt(..) | Word::Reach(_) | Word::Unfit(_) => None,
        }
    }
}

//! That no name acts on the page that it is shown on. Floor 4: doors.

use std::time::Duration;

use super::against::Against;
use super::comparison::{self, Seen};
use super::html::{self, Named};
use super::text::text;
use super::verified::{self, Unseen, Verified};
use super::{Look, Report, Source, Sources, samples};
use crate::letters::acts;
use crate::terminal::Columns;

/// A name with every kind of letter that would act on a terminal or on the direction of a line.
const ACTING: &str = "a\u{1b}[2J\u{9b}31m\r\n\u{7}\u{61c}\u{200f}\u{202e}\u{2066}b";

/// A run all of whose names are such.
fn named() -> Report {
    let Report {
        mut summary,
        mut setup,
        mut facts,
        ..
    } = samples::fullest();
    summary
        .tally
        .waits
        .add(&ACTING.into(), Duration::from_secs(1));
    summary.full_of = Some(ACTING.to_owned());
    setup.limits[0].name = ACTING.into();
    summary.proof = samples::proven(&setup.limits);
    facts.inputs = vec![ACTING.to_owned()];
    facts.transport = Some(ACTING.to_owned());
    Report::new(summary, setup, facts).from(Sources {
        files: vec![Source {
            name: ACTING.to_owned(),
            results: 1,
            replaced: 0,
            torn: None,
        }],
        runs: 1,
        notes: vec![ACTING.to_owned()],
    })
}

#[test]
fn no_name_acts_on_the_terminal_or_the_line_that_it_is_shown_in() {
    let both = Against {
        run: named(),
        against: samples::held_by_qps(),
    };
    let mut compared = comparison::tests::sample("10");
    compared.rows[0].name = ACTING.to_owned();
    compared.rows[2].seen = Seen::NotRun(ACTING.to_owned());
    compared.held[0].name = ACTING.to_owned();
    compared.jobs.inputs = vec![ACTING.to_owned()];
    let verified = Verified {
        files: vec![verified::Facts {
            name: ACTING.to_owned(),
            results: 1,
            sends: 1,
            torn: Some(2),
            unseen: Unseen::Unknown,
        }],
        proven: samples::proven(&both.run.setup.limits),
        slots: None,
        slack: Duration::ZERO,
        skew: Duration::ZERO,
    };
    for columns in [40, 70, 100] {
        let look = Look {
            columns: Columns::new(columns),
            ..Look::default()
        };
        let pages = [
            text(&both.run, look),
            both.text(look),
            comparison::text(&compared, look),
            verified.text(look.columns),
        ];
        for page in pages {
            let acting = page.lines().find(|line| line.contains(acts));
            assert_eq!(acting, None, "{columns}:\n{page}");
            assert!(
                page.contains("a\\u{1b}[2J"),
                "{columns}: it is not seen in\n{page}"
            );
        }
    }
    let named = [Named {
        name: ACTING,
        report: &both.run,
    }];
    for page in [html::page(&named), html::compared(&compared)] {
        let acting = page.lines().find(|line| line.contains(acts));
        assert_eq!(acting, None, "{page}");
        assert!(page.contains("a\\u{1b}[2J"));
    }
}

//! The report on pages of every width. Floor 4: doors.

use std::time::Duration;

use super::fold::width;
use super::said::waited_for;
use super::text::text;
use super::verified::{Facts, Unseen, Verified};
use super::{Look, Report, Standing, samples};
use crate::engine::End;
use crate::error::{Exit, Problem};
use crate::metrics::{Owner, Share};
use crate::terminal::Columns;

fn shown(report: &Report, columns: usize) -> String {
    let look = Look {
        columns: Columns::new(columns),
        ..Look::default()
    };
    text(report, look)
}

#[test]
fn no_page_is_wider_than_its_columns_and_none_tears_a_number_from_its_unit() {
    let reports = [
        samples::held_by_qps(),
        samples::held_by_slots(),
        samples::streamed(),
        samples::unconnected(),
        samples::empty(),
    ];
    for report in &reports {
        for columns in 1..=120 {
            let page = shown(report, columns);
            let room = columns.clamp(40, 100);
            for line in page.lines() {
                assert!(width(line) <= room, "{columns}: {line:?} in\n{page}");
                let last = line.trim_end();
                let next = |unit: &str| last.trim_start().starts_with(&format!("{unit} "));
                assert!(
                    !["s", "ms", "%", "/s"].iter().any(|unit| next(unit)),
                    "{columns}:\n{page}"
                );
                assert!(!last.ends_with("--qps"), "{columns}:\n{page}");
            }
        }
    }
}

#[test]
fn a_proof_keeps_to_its_columns_and_tells_the_line() {
    let limits = ["10/s burst=5", "tokens 4000/1m window"].map(|limit| limit.parse().unwrap());
    let verified = Verified {
        files: vec![Facts {
            name: format!("{}/results.jsonl", "folder".repeat(20)),
            results: 40,
            sends: 41,
            torn: Some(41),
            unseen: Unseen::CutOff(Some(5)),
        }],
        proven: samples::proven(&limits),
        slots: Some((5, 3)),
        slack: Duration::from_millis(2),
        skew: Duration::ZERO,
    };
    for columns in 40..=100 {
        let page = verified.text(Columns::new(columns));
        for line in page.lines() {
            assert!(width(line) <= columns, "{columns}: {line:?} in\n{page}");
        }
        let told = page.matches("results.jsonl").count();
        assert!(told > 4, "{columns}: the places are not told in\n{page}");
    }
}

/// The text, with single blanks.
fn words(report: &Report, columns: usize) -> String {
    let page = shown(report, columns);
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn whose_time_it_was_and_how_a_run_ended_are_told_to_the_end_on_every_page() {
    let mut report = samples::held_by_qps();
    let owners = [
        Owner::Limit(0),
        Owner::Nothing,
        Owner::Slot,
        Owner::Pause,
        Owner::Connect,
        Owner::Order,
        Owner::Sink,
    ];
    report.diagnosis.shares = owners
        .into_iter()
        .zip([40, 32, 11, 8, 5, 2, 2])
        .map(|(owner, percent)| Share {
            owner,
            name: report.setup.name_of(owner),
            span: Duration::from_secs(percent),
            percent,
        })
        .collect();
    let mend = "go on by the same command with --resume; none of the others is lost";
    let lost = Problem::new(
        Exit::Unwritten,
        "results cannot be written to /dev/full: No space left on device (os error 28)",
        format!("make room on the file system, or name another file with -o, and {mend}"),
    );
    report.facts.end = Standing::Over(End::SinkLost(lost));
    for columns in 40..=100 {
        let words = words(&report, columns);
        for share in &report.diagnosis.shares {
            let name = waited_for(Some(share.owner), &share.name);
            let percent = share.percent;
            let told = match share.owner {
                Owner::Nothing => format!("no job waited for {percent}.0 s ({percent} %)"),
                _ => format!("for {name} ({percent} %)"),
            };
            assert!(words.contains(&told), "{columns}: no `{told}` in {words}");
        }
        assert!(
            words.contains(mend) && !words.contains('…'),
            "{columns}: {words}"
        );
    }
}

#[test]
fn of_very_many_statuses_the_most_frequent_are_told_whole_and_the_others_counted() {
    let mut report = samples::held_by_qps();
    let statuses = (100..700).map(|status| (status, u64::from(status)));
    report.summary.tally.statuses = statuses.collect();
    for columns in 40..=100 {
        let words = words(&report, columns);
        let (_, told) = words.split_once("STATUSES ").expect("they are told");
        let (told, _) = told.split_once(" RATE").expect("it stands behind them");
        let (each, more) = told.split_once(" and ").expect("not all have room");
        let each: Vec<&str> = each.split(' ').collect();
        assert!(each.len() > 8, "{columns}: {told}");
        for (nth, pair) in (0..).zip(each.chunks(2)) {
            let status = (699 - nth).to_string();
            assert_eq!(pair, [&*status, &*status], "{columns}: {told}");
        }
        assert_eq!(more, format!("{} more", 600 - each.len() / 2), "{columns}");
    }
}

/// The page of a run that `--qps 10` held, in 40 columns: headings stand above their text, and fewer
/// percentiles in the table.
#[test]
fn a_narrow_page_reads_well() {
    assert_eq!(shown(&samples::held_by_qps(), 40), NARROW);
}

const NARROW: &str = "\
VERDICT
  the request limit chose this rate:
  --qps 10 was used up (100 % of the
  steady part)
JOBS
  read 600 = ok 600 + failed 0
  + invalid 0 + skipped 0 + cancelled 0
  in 60.0 s

THROUGHPUT
  observed 10.0/s
  theory 20 slots / 99.3 ms = 201/s
  5 % of it, 100 % of --qps 10
  answers per second, 59 whole seconds
  of 59.8 steady s (first 0.1 s and last
  0.1 s left out)
      9/s      1 s  █
     10/s     58 s  ████████████
           <- mean; --qps 10 binds
        :
    201/s      0 s
           <- 20 slots / 99.3 ms:
              Semaphore(20) alone ends
              here
LITTLE
  in flight 0.993 = rate 10.0/s x
  latency 99.3 ms     agrees to 0.0 %
  peak 1 of 20
HELD BACK
  of 59.8 s the next job waited 59.8 s
  for --qps 10 (100 %), 0 s for slots
ADVICE
  --concurrency 2 would do;
  20 slots begin to bind when the API is
  slower than 20/10 = 2.0 s

LATENCY
  service time: first byte written to
  last byte read;
  since due: due to last byte read
                p50      p99      max
  service time
  ok        99.3 ms  99.3 ms  99.3 ms
  since due
  ok        99.3 ms  99.3 ms  99.3 ms

RETRIES
  tries 600, retries 0, pauses asked 0
STATUSES
  200 600
RATE
  reached 10.0/s = (600 - 1) sends /
  59.9 s from the first to the last
RUN
  seed 42, transport reqwest, input
  jobs.jsonl
";

//! Jobs of a log that knows whole seconds only, spread over the second in which they ended. Floor 4: doors.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::Item;

/// More items are not held, nor more bytes of them: then those of a second so far are spread as if they were all.
const ITEMS: usize = 10_000;
const BYTES: u64 = 16 << 20;

/// Items in their order. Jobs that ended in one second wait until all of it is there: the i-th of n gets i/n of a second
/// more, from i = 0.
#[derive(Default)]
pub(super) struct Spread {
    items: VecDeque<Item>,
    /// So many of the items, the first ones, wait for nothing.
    ready: usize,
    /// The second of the others, since the Unix epoch.
    second: Option<u64>,
    /// The jobs among these, and roughly their bytes.
    jobs: u32,
    bytes: u64,
}

impl Spread {
    /// An item that waits for nothing.
    pub(super) fn next(&mut self) -> Option<Item> {
        self.ready = self.ready.checked_sub(1)?;
        self.items.pop_front()
    }

    /// Whether an item waits for nothing.
    pub(super) fn is_ready(&self) -> bool {
        self.ready > 0
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The next item, and the second in which it ended if it is a job of which no more is known. It comes back where
    /// neither it nor one before it has to wait.
    pub(super) fn pass(&mut self, item: Item, second: Option<u64>) -> Option<Item> {
        match &item {
            Ok(Ok(_)) if second == self.second => {}
            Ok(Ok(_)) => {
                self.settle();
                self.second = second;
            }
            Ok(Err(_)) => {}
            Err(_) => self.settle(),
        }
        if self.items.is_empty() && self.second.is_none() {
            return Some(item);
        }
        if let Ok(Ok(job)) = &item {
            self.jobs += 1;
            self.bytes += job.size();
        }
        self.items.push_back(item);
        let is_full = self.items.len() - self.ready >= ITEMS || self.bytes >= BYTES;
        if is_full || self.second.is_none() {
            self.settle();
        }
        None
    }

    /// Spreads what is held: no more of its second comes.
    pub(super) fn settle(&mut self) {
        let held = self.items.range_mut(self.ready..);
        for (nth, job) in (0u64..).zip(held.flatten().flatten()) {
            let later = Duration::from_nanos(1_000_000_000 * nth / u64::from(self.jobs));
            job.at = job.at.map(|at| at.saturating_add(later));
        }
        self.ready = self.items.len();
        self.second = None;
        self.jobs = 0;
        self.bytes = 0;
    }
}

/// Who fills a pipe may take so long from one write to the next: many times what a program needs for it, and little
/// beside the second that is spread.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether nothing comes of an input for a while.
pub(super) fn is_silent(input: &OwnedFd) -> bool {
    let mut input = [PollFd::new(input, PollFlags::IN)];
    let patience = Timespec::try_from(PATIENCE).ok();
    matches!(poll(&mut input, patience.as_ref()), Ok(0))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::pipe::fcntl_setpipe_size;

    use crate::source::cases::{self, pipe, text};
    use crate::source::{Format, Shard, Spec, Times, open};

    /// An access log.
    fn log(lines: impl AsRef<[u8]>) -> Spec {
        Spec {
            format: Some(Format::ACCESS_LOG),
            base_url: Some("http://h".parse().unwrap()),
            ..text(lines)
        }
    }

    /// A line of a log at this second of an hour, whose request took so long.
    fn logged(second: u32, took: &str) -> String {
        let (minute, second) = (second / 60, second % 60);
        format!(
            "h - - [01/Jan/1970:00:{minute:02}:{second:02} +0000] \"GET /a HTTP/1.1\" 200 5 {took}\n"
        )
    }

    /// Microseconds at which jobs of this log began, when it is replayed.
    fn replayed(spec: &Spec) -> Vec<u128> {
        let spec = Spec {
            times: Times::Needed,
            ..spec.clone()
        };
        let jobs = cases::lines(&spec).into_iter().flatten();
        jobs.map(|job| job.at.unwrap().as_micros()).collect()
    }

    #[test]
    fn requests_that_ended_in_one_second_are_spread_over_it() {
        let five = logged(10, "").repeat(5);
        let spread = [10_000_000, 10_200_000, 10_400_000, 10_600_000, 10_800_000];
        let spec = log(&five);
        assert_eq!(replayed(&spec), spread);
        let read = Spec {
            times: Times::Read,
            ..spec.clone()
        };
        let at = cases::jobs(&read)
            .into_iter()
            .map(|job| job.at.unwrap().as_micros());
        assert_eq!(at.collect::<Vec<_>>(), [10_000_000; 5], "only in a replay");
        let mut two = spec;
        two.inputs.push(two.inputs[0].clone());
        assert_eq!(
            replayed(&two),
            [spread, spread].concat(),
            "each file is one"
        );
    }

    #[test]
    fn the_second_in_which_a_request_ended_counts_and_what_it_took_is_taken_off() {
        let lines =
            logged(10, "0.250") + &logged(10, "3.000") + &logged(11, "0.500") + &logged(10, "");
        let spec = log(lines);
        assert_eq!(
            replayed(&spec),
            [9_750_000, 7_500_000, 10_500_000, 10_000_000]
        );
    }

    #[test]
    fn a_log_that_knows_parts_of_a_second_is_not_spread() {
        let lines = "{\"time\":\"1970-01-01T00:00:10.000Z\",\"request\":\"GET /a\"}\n".repeat(2)
            + &"{\"msec\":\"11.000\",\"request\":\"GET /b\"}\n".repeat(2)
            + &"{\"time\":12,\"request\":\"GET /c\"}\n".repeat(2)
            + "{\"time\":12.5,\"request\":\"GET /d\"}\n"
            + "{\"time\":\"1970-01-01T00:00:12Z\",\"request\":\"GET /e\"}\n";
        let spec = log(lines);
        let millis: Vec<_> = replayed(&spec).iter().map(|at| at / 1000).collect();
        let wanted = [
            10_000, 10_000, 11_000, 11_000, 12_000, 12_500, 12_500, 12_000,
        ];
        assert_eq!(millis, wanted);
    }

    #[test]
    fn what_makes_no_job_keeps_its_place_in_its_second() {
        let post = logged(10, "").replace("GET", "POST");
        let lines = post.clone() + &logged(10, "") + "{}\n" + &post + &logged(10, "") + "noise\n";
        let mut spec = log(lines);
        spec.times = Times::Needed;
        let order = cases::lines(&spec).into_iter().map(|line| match line {
            Ok(job) => (job.place.line, job.at.map(|at| at.as_millis())),
            Err(bad) => (bad.place.line, None),
        });
        let (first, second) = (Some(10_000), Some(10_500));
        let wanted = [
            (1, None),
            (2, first),
            (3, None),
            (4, None),
            (5, second),
            (6, None),
        ];
        assert_eq!(order.collect::<Vec<_>>(), wanted);
        spec.pick.shard = Some(Shard::of("4/6", |_| None).unwrap());
        assert_eq!(replayed(&spec), [10_500_000], "of all that the second has");
        spec.pick.shard = None;
        spec.limit_jobs = Some(2);
        assert_eq!(
            replayed(&spec),
            [10_000_000],
            "and so of those that are read"
        );
    }

    #[test]
    fn how_a_file_is_read_does_not_show_in_its_times() {
        let lines: String = (0..900)
            .map(|second| logged(second, "").repeat(7))
            .collect();
        assert!(lines.len() > 4 << 16);
        let wanted: Vec<_> = (0..900)
            .flat_map(|second| (0..7).map(move |nth| second * 1_000_000 + nth * 1_000_000 / 7))
            .collect();
        let mut spec = log(&lines);
        assert_eq!(replayed(&spec), wanted);
        spec.times = Times::Needed;
        let mut source = open(&spec).unwrap();
        let as_a_run_does = || source.next_here().or_else(|| source.next());
        let jobs = std::iter::from_fn(as_a_run_does).flatten().flatten();
        let at = jobs.map(|job| job.at.unwrap().as_micros());
        assert_eq!(at.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn ten_thousand_of_one_second_are_spread_as_if_they_were_all() {
        let spec = log(logged(10, "").repeat(10_002));
        let wanted = (0..10_000)
            .map(|nth| 10_000_000 + nth * 100)
            .chain([10_000_000, 10_500_000]);
        assert_eq!(replayed(&spec), wanted.collect::<Vec<_>>());
    }

    #[test]
    fn what_a_pipe_gives_in_parts_is_spread_as_if_it_came_at_once() {
        let lines = logged(10, "").repeat(4_000);
        assert!(lines.len() > 3 << 16, "more than is read at once");
        let (spec, _reader, mut writer) = pipe();
        fcntl_setpipe_size(&writer, lines.len()).unwrap();
        writer.write_all(lines.as_bytes()).unwrap();
        drop(writer);
        let spec = Spec {
            inputs: spec.inputs,
            ..log("")
        };
        assert_eq!(replayed(&spec), replayed(&log(lines)));
    }

    #[test]
    fn a_pipe_that_stalls_holds_no_job_back() {
        let (spec, _reader, mut writer) = pipe();
        let spec = Spec {
            times: Times::Needed,
            inputs: spec.inputs,
            ..log("")
        };
        let mut source = open(&spec).unwrap();
        let mut next = || {
            source
                .next()
                .unwrap()
                .unwrap()
                .unwrap()
                .at
                .unwrap()
                .as_millis()
        };
        for _ in 0..2 {
            writer
                .write_all(logged(10, "").repeat(2).as_bytes())
                .unwrap();
            assert_eq!([next(), next()], [10_000, 10_500]);
        }
    }
}

//! A sample of the jobs of a run, drawn by its seed. Floor 5: drive.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;

use crate::dice::mix;
use crate::job::{BadLine, Job, Keys, Origin, Place, Target, Units};
use crate::retry::RetryUnsafe;

/// Jobs of a sample of which a dozen runs take a second.
pub const SAMPLE: usize = 50_000;

/// Draws jobs as they pass. Every job has the same chance, and the same seed draws the same ones, whatever the
/// order in which they are offered.
#[derive(Debug)]
pub struct Sampler {
    seed: u64,
    most: usize,
    offered: u64,
    drawn: Vec<(u64, Sampled)>,
    /// The lots of those that are drawn, and where each stands. The highest goes first.
    lots: BinaryHeap<(u64, u32)>,
}

/// What decides when a job goes.
#[derive(Debug, Clone)]
struct Sampled {
    origin: Origin,
    keys: Keys,
    units: Option<Units>,
    at: Option<Duration>,
    round: u32,
    /// Whether a try that may have been served can be made again without harm.
    repeats: bool,
}

/// The jobs that were drawn, in the order of the input.
#[derive(Debug, Clone)]
pub struct Drawn {
    jobs: Vec<(u64, Sampled)>,
    of: u64,
}

impl Sampler {
    /// Nothing drawn yet, and never more than `most`.
    pub fn new(seed: u64, most: usize) -> Self {
        Self {
            seed: mix(seed),
            most,
            offered: 0,
            drawn: Vec::new(),
            lots: BinaryHeap::new(),
        }
    }

    /// The job at the position `seq` of the input passes.
    pub fn offer(&mut self, seq: u64, job: &Job) {
        self.offered += 1;
        let lot = mix(self.seed ^ seq);
        let place = if self.drawn.len() < self.most {
            self.drawn.push((seq, Sampled::of(job)));
            self.drawn.len() - 1
        } else {
            match self.lots.peek() {
                Some(&(highest, place)) if lot < highest => {
                    self.lots.pop();
                    self.drawn[place as usize] = (seq, Sampled::of(job));
                    place as usize
                }
                Some(_) | None => return,
            }
        };
        let place = u32::try_from(place).expect("a sample is small");
        self.lots.push((lot, place));
    }

    /// What was drawn.
    pub fn close(mut self) -> Drawn {
        self.drawn.sort_unstable_by_key(|(seq, _)| *seq);
        Drawn {
            jobs: self.drawn,
            of: self.offered,
        }
    }
}

impl Sampled {
    fn of(job: &Job) -> Self {
        Self {
            origin: job.origin.clone(),
            keys: job.keys.clone(),
            units: job.units,
            at: job.at,
            round: job.round,
            repeats: RetryUnsafe::Idempotent.allows(job),
        }
    }

    fn job(&self, place: Place, target: Arc<Target>) -> Job {
        let method = if self.repeats {
            Method::GET
        } else {
            Method::POST
        };
        Job {
            method,
            keys: self.keys.clone(),
            units: self.units,
            at: self.at,
            round: self.round,
            ..Job::get(place, target, self.origin.clone())
        }
    }
}

impl Drawn {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// How many they were drawn from.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// Whether some were left out.
    pub fn is_part(&self) -> bool {
        self.of > self.len()
    }

    /// The jobs, in order. They have the origin, keys and units of those of the input, and nothing else.
    ///
    /// If they are all of them, the lines between them that make no job are there too: what is drawn for a job
    /// goes by its place in the input.
    pub(super) fn lines(&self) -> impl Iterator<Item = Result<Job, BadLine>> + '_ {
        let target: Target = "http://sample/".parse().expect("it is a URL");
        let target = Arc::new(target);
        let file: Arc<str> = "sample".into();
        let mut next = 0;
        self.jobs.iter().flat_map(move |(seq, job)| {
            let from = if self.is_part() { *seq } else { next };
            next = seq + 1;
            let file = file.clone();
            let place = move |seq| Place::new(file.clone(), seq + 1);
            let job = job.job(place(*seq), target.clone());
            let bad = (from..*seq).map(move |seq| Err(BadLine::new(place(seq), "", "")));
            bad.chain([Ok(job)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::UnitsFrom;

    fn drawn(seed: u64, most: usize, order: impl Iterator<Item = u64>) -> Drawn {
        let mut sampler = Sampler::new(seed, most);
        for seq in order {
            let sampled = Sampled {
                origin: Origin("http://h".into()),
                keys: Keys::default(),
                units: Some(Units {
                    input: seq,
                    output: 1,
                    source: UnitsFrom::Job,
                }),
                at: None,
                round: 0,
                repeats: !seq.is_multiple_of(3),
            };
            let target: Target = "http://h/".parse().unwrap();
            let job = sampled.job(Place::new("jobs", seq + 1), target.into());
            sampler.offer(seq, &job);
        }
        sampler.close()
    }

    fn inputs(drawn: &Drawn) -> Vec<u64> {
        let jobs = drawn.lines().map(Result::unwrap);
        jobs.map(|job| job.units.unwrap().input).collect()
    }

    #[test]
    fn few_jobs_are_all_drawn_as_they_are() {
        let all = drawn(1, 100, 0..100);
        assert_eq!((all.len(), all.of(), all.is_part()), (100, 100, false));
        assert_eq!(inputs(&all), (0..100).collect::<Vec<_>>());
        for (seq, job) in all.lines().enumerate() {
            let job = job.unwrap();
            let repeats = RetryUnsafe::Idempotent.allows(&job);
            assert_eq!(repeats, !seq.is_multiple_of(3), "{seq}");
            assert_eq!(job.place.line, seq as u64 + 1);
        }
    }

    #[test]
    fn lines_between_jobs_that_make_none_keep_their_places_where_all_are_drawn() {
        let odd = || (0..50).map(|nth| 2 * nth + 1);
        let lines: Vec<bool> = drawn(1, 50, odd())
            .lines()
            .map(|line| line.is_ok())
            .collect();
        assert_eq!(lines, [false, true].repeat(50));
        assert_eq!(drawn(1, 49, odd()).lines().count(), 49);
    }

    #[test]
    fn a_sample_is_even_and_in_order_and_the_seed_decides_it() {
        let sample = drawn(7, 1000, 0..50_000);
        assert_eq!((sample.len(), sample.of()), (1000, 50_000));
        let seqs = inputs(&sample);
        assert!(seqs.is_sorted());
        let first = seqs.iter().filter(|seq| **seq < 25_000).count();
        assert!(
            (440..=560).contains(&first),
            "{first} of 500 in the first half"
        );
        assert_eq!(inputs(&drawn(7, 1000, (0..50_000).rev())), seqs);
        assert_ne!(inputs(&drawn(8, 1000, 0..50_000)), seqs);
    }
}

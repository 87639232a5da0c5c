//! What a job costs beside its request, from its line to the line of its result: `cargo bench --bench jobs [-- JOBS]`
//! (half a minute; promise: under 3 us on one core to read 550 bytes, decide over slots and four limits, and write).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod support;

use std::env;
use std::io::Write as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use support::life;

/// Jobs of a round, if the command line says nothing else.
const JOBS: u64 = 200_000;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 7;

fn main() {
    let count = env::args().find_map(|word| word.parse().ok());
    let count: u64 = count.unwrap_or(JOBS);
    let mut file = tempfile::NamedTempFile::new().expect("a file for jobs");
    file.write_all(life::lines(count).as_bytes())
        .expect("there is room for jobs");
    let (mut reading, mut deciding, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reading.push(time(|| {
            let jobs = life::jobs(file.path()).flatten().count();
            assert_eq!(jobs as u64, count, "every line is a job");
        }));
        deciding.push(time(|| life::run(file.path(), &mut |_| {})));
        whole.push(time(|| life::whole(file.path())));
    }
    let [reading, deciding, whole] = [reading, deciding, whole].map(|rounds| middle(rounds, count));
    println!("read a line into a job:              {reading:.2} us");
    println!(
        "decide over slots and four limits:   {:.2} us",
        deciding - reading
    );
    println!(
        "write the line of its result:        {:.2} us",
        whole - deciding
    );
    println!("all of it:                           {whole:.2} us");
}

fn time(work: impl FnOnce()) -> Duration {
    let before = cpu();
    work();
    cpu().saturating_sub(before)
}

/// What this process has had of a core: other programs do not count.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("it does not run backwards")
}

/// In microseconds for each job.
fn middle(mut rounds: Vec<Duration>, count: u64) -> f64 {
    rounds.sort();
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let each = rounds[ROUNDS / 2].as_secs_f64() * 1e6 / count as f64;
    each
}

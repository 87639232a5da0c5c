//! What a decision costs that several processes share: `cargo bench --bench store` (half a minute, with a `redis-server`
//! of its own on this machine; promises on two cores: 15 000 decisions a second one by one, 100 000 with leases, at
//! 1000 a second 99 of 100 answers within 1.5 ms, and of a limit that four want more of at least 98 %, undisturbed).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

#[path = "../tests/support/redis.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod server;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use shaper::clock::{Alarm, Clock};
use shaper::engine::share::{Answer, AskId, Bill, Common, Part, Wish, Word};
use shaper::limit::{Setting, Spec};
use shaper::store::{Shared, Store};
use shaper::units::{Cost, Tick};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use server::Server;

/// How long each measurement takes.
const MEASURED: Duration = Duration::from_secs(4);

/// Asks without an answer, where as many are made as are answered.
const OUTSTANDING: [usize; 3] = [1, 32, 256];

/// Granted ahead at once.
const AHEAD: u64 = 20;

/// How far ahead they may be.
const REACH: Duration = Duration::from_millis(50);

/// Those who want all of one limit together, and the limits, each with what it lets through in a second.
const WANTING: usize = 4;
const WANTED: [(&str, u32); 5] = [
    ("50/s", 50),
    ("200/s", 200),
    ("1000/s burst=20", 1000),
    ("100/500ms window", 200),
    ("100/500ms fixed anchor=first", 200),
];

/// The pace at which latency is measured.
const STEP: Duration = Duration::from_millis(1);

/// What may be taken at once, and never runs out here; and four at once.
const ROOMY: &str = "1000000000/s burst=1000000";
const STACK: [&str; 4] = [
    ROOMY,
    "tokens 1000000000/s burst=1000000",
    "1000000/s window",
    "1000000/s fixed",
];

struct Run {
    store: Store,
    words: UnboundedReceiver<(Word, Tick)>,
    clock: Clock,
    parts: Box<[Part]>,
    /// So many by each ask, if they are granted ahead.
    ahead: Option<u64>,
    asked: u64,
}

impl Run {
    async fn new(server: &Server, texts: &[&str], ahead: Option<u64>) -> Self {
        let specs = texts
            .iter()
            .map(|text| text.parse::<Spec>().expect("it is a limit"));
        let clock = Clock::start();
        let shared = Shared {
            name: format!("{texts:?} {ahead:?}"),
            limits: specs
                .enumerate()
                .map(|(number, spec)| (Common::Limit(number), spec))
                .collect(),
            setting: Setting::VIRTUAL,
            slots: None,
            learnt_per: None,
            slack: Duration::from_millis(2),
            sends: Duration::ZERO,
            hold: Duration::from_secs(60),
            timeout: Duration::from_secs(1),
        };
        let (tell, words) = unbounded_channel();
        let address = server.url().parse().expect("it is an address");
        let store = Store::join(&address, &shared, MEASURED, clock, move |word, at| {
            let _ = tell.send((word, at));
        });
        let part = |number| Part {
            of: Common::Limit(number),
            key: None,
            cost: Cost::ONE,
        };
        Self {
            store: store.await.expect("it is there"),
            words,
            clock,
            parts: (0..texts.len()).map(part).collect(),
            ahead,
            asked: 0,
        }
    }

    fn asks(&mut self) -> AskId {
        self.asks_since(self.clock.now())
    }

    /// Asks for a try that could have gone since then.
    fn asks_since(&mut self, could_go: Tick) -> AskId {
        self.asked += 1;
        let id = AskId(self.asked);
        let (lane, parts) = ("lane".into(), self.parts.clone());
        self.store.wish(match self.ahead {
            None => Wish::Admit {
                id,
                lane,
                could_go,
                parts,
            },
            Some(most) => Wish::Lease {
                id,
                lane,
                could_go,
                parts,
                most,
                reach: REACH,
            },
        });
        id
    }

    /// The next answer, and how many tries it lets go.
    async fn hears(&mut self) -> (AskId, u64, Tick) {
        loop {
            match self.words.recv().await.expect("it goes on") {
                (Word::Answered(id, Answer::Granted(_)), at) => return (id, 1, at),
                (Word::Answered(id, Answer::Leased(leased)), at) => {
                    return (id, leased.after.len() as u64, at);
                }
                (Word::Members(_), _) => {}
                (other, _) => panic!("{other:?}"),
            }
        }
    }

    /// Tries let go in a second, with so many asks without an answer.
    async fn rate(&mut self, outstanding: usize) -> f64 {
        let began = self.clock.now();
        let until = began.after(MEASURED);
        let mut open = 0;
        let mut went = 0;
        loop {
            let more = self.clock.now() < until;
            while more && open < outstanding {
                self.asks();
                open += 1;
            }
            if open == 0 {
                break;
            }
            went += self.hears().await.1;
            open -= 1;
        }
        let span = self.clock.now().since(began).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let went = went as f64;
        went / span
    }

    /// Grants until then, of one who has always another job.
    async fn takes(mut self, until: Tick) -> u64 {
        let mut granted = 0;
        let mut alarm = Alarm::new(self.clock).expect("it is given a timer");
        let mut could_go = self.clock.now();
        while self.clock.now() < until {
            self.asks_since(could_go);
            let answer = loop {
                match self.words.recv().await.expect("it goes on").0 {
                    Word::Answered(_, answer) => break answer,
                    Word::Members(_) => {}
                    other => panic!("{other:?}"),
                }
            };
            match answer {
                Answer::Granted(charged) => {
                    granted += 1;
                    could_go = self.clock.now();
                    // It leaves at once; a window counts it from then on.
                    let bill = Bill {
                        of: self.parts[0].of,
                        key: None,
                        mark: charged[0],
                        cost: Cost::ONE,
                    };
                    self.store.wish(Wish::Moved(bill, self.clock.now()));
                }
                Answer::Refused(_, wait) => {
                    let again = self.clock.now().after(wait).min(until);
                    alarm.wait_until(again).await;
                }
                Answer::Leased(leased) => panic!("{leased:?} was not asked for"),
            }
        }
        self.store.leave().await;
        granted
    }

    /// From an ask to its answer, sorted, at one in each step.
    async fn latencies(&mut self) -> Vec<Duration> {
        let began = self.clock.now();
        let until = began.after(MEASURED);
        let mut asked = HashMap::new();
        let mut took = Vec::new();
        let mut next = began;
        loop {
            if next < until && self.clock.now() >= next {
                let id = self.asks();
                asked.insert(id, self.clock.now());
                next = next.after(STEP);
            }
            if next >= until && asked.is_empty() {
                break;
            }
            let mut alarm = std::pin::pin!(self.clock.sleep_until(next));
            tokio::select! {
                (word, at) = async { self.words.recv().await.expect("it goes on") } => {
                    if let Word::Answered(id, _) = word {
                        let since = asked.remove(&id).expect("it was asked");
                        took.push(at.since(since));
                    }
                }
                () = &mut alarm, if next < until => {}
            }
        }
        took.sort_unstable();
        took
    }
}

/// Which part of a limit is used that several want more of; what a bucket holds at the start is left out.
async fn used(server: &Server, text: &str, each_second: u32) -> f64 {
    let mut all = Vec::new();
    for _ in 0..WANTING {
        all.push(Run::new(server, &[text], None).await);
    }
    let spec: Spec = text.parse().expect("it is a limit");
    let at_once = if spec.kind.has_burst() {
        spec.burst.get()
    } else {
        0
    };
    let tasks = all.into_iter().map(|run| {
        let until = run.clock.now().after(MEASURED);
        tokio::spawn(run.takes(until))
    });
    let tasks: Vec<_> = tasks.collect();
    let mut granted = 0;
    for task in tasks {
        granted += task.await.expect("it ends");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let later = granted.saturating_sub(at_once) as f64;
    later / (f64::from(each_second) * MEASURED.as_secs_f64())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = Server::start();
    println!("decisions a second                 1 asked   32 asked  256 asked");
    for (name, texts, ahead) in [
        ("a bucket, one by one", &STACK[..1], None),
        ("a bucket, twenty ahead", &STACK[..1], Some(AHEAD)),
        ("a window, one by one", &STACK[2..3], None),
        ("four limits, one by one", &STACK[..], None),
    ] {
        let mut run = Run::new(&server, texts, ahead).await;
        let mut line = format!("{name:<32}");
        for outstanding in OUTSTANDING {
            let rate = run.rate(outstanding).await;
            let _ = write!(line, " {rate:>10.0}");
        }
        println!("{line}");
        run.store.leave().await;
    }
    println!("of a limit that {WANTING} want more of");
    for (text, each_second) in WANTED {
        let used = used(&server, text, each_second).await;
        println!("{text:<32} {:>9.1} % is used", used * 100.0);
    }
    let mut run = Run::new(&server, &STACK[..1], None).await;
    let took = run.latencies().await;
    let at = |share: usize| took[took.len() * share / 100].as_secs_f64() * 1e3;
    println!(
        "at 1000/s an answer takes p50 {:.2} ms, p99 {:.2} ms, {} of them",
        at(50),
        at(99),
        took.len()
    );
    run.store.leave().await;
}

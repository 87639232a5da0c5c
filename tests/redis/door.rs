//! The door to a store: what a run hears when the server is there, goes away, comes back, or never was there.

use std::cell::Cell;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use shaper::clock::Clock;
use shaper::engine::share::{Answer, AskId, Bill, Common, HeldBy, Mark, Part, Wish, Word};
use shaper::error::{Exit, Problem};
use shaper::limit::{Spec, Used};
use shaper::shared::Status;
use shaper::store::{Address, Shared, Store, status};
use shaper::units::{Cost, Tick};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::server::Server;
use crate::{granted, part, shared, slot};

/// How long a run waits for the store at its start.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longer than anything here takes on a busy machine: reaching it means that something hangs.
const HANGS: Duration = Duration::from_secs(120);

/// A run that shares limits.
pub(super) struct Run {
    store: Store,
    words: UnboundedReceiver<(Word, Tick)>,
    clock: Clock,
    asked: Cell<u64>,
}

impl Run {
    async fn join(url: &str, shared: &Shared) -> Result<Self, Problem> {
        Self::join_at(&url.parse().unwrap(), shared).await
    }

    pub(super) async fn join_at(address: &Address, shared: &Shared) -> Result<Self, Problem> {
        let clock = Clock::start();
        let (tell, words) = unbounded_channel();
        let tell = move |word, at| {
            let _ = tell.send((word, at));
        };
        Ok(Self {
            store: Store::join(address, shared, PATIENCE, clock, tell).await?,
            words,
            clock,
            asked: Cell::new(0),
        })
    }

    async fn hears(&mut self) -> Word {
        let late = self.clock.now().after(HANGS);
        tokio::select! {
            word = self.words.recv() => word.expect("the store says why it ends").0,
            () = self.clock.sleep_until(late) => panic!("nothing is heard"),
        }
    }

    /// The next word that is not of those that come by the way.
    pub(super) async fn hears_of_it(&mut self) -> Word {
        loop {
            match self.hears().await {
                Word::Members(_) => {}
                word => return word,
            }
        }
    }

    pub(super) fn asks(&self, parts: &[Part]) -> AskId {
        self.asked.set(self.asked.get() + 1);
        let id = AskId(self.asked.get());
        self.store.wish(Wish::Admit {
            id,
            lane: "lane".into(),
            could_go: self.clock.now(),
            parts: parts.into(),
        });
        id
    }

    pub(super) async fn answer(&mut self, id: AskId) -> Answer {
        match self.hears_of_it().await {
            Word::Answered(own, answer) if own == id => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn ask(&mut self, parts: &[Part]) -> Answer {
        let id = self.asks(parts);
        self.answer(id).await
    }

    /// Asks until it is granted.
    async fn gets(&mut self, parts: &[Part]) -> Mark {
        loop {
            match self.ask(parts).await {
                Answer::Granted(charged) => return charged[0],
                answer @ Answer::Leased(_) => panic!("{answer:?}"),
                Answer::Refused(_, wait) => {
                    let again = self.clock.now().after(wait);
                    self.clock.sleep_until(again).await;
                }
            }
        }
    }
}

pub(super) fn of(name: &str, texts: &[&str]) -> Shared {
    let limits: Vec<Spec> = texts.iter().map(|text| text.parse().unwrap()).collect();
    shared(name, &limits)
}

#[tokio::test]
async fn two_who_share_a_limit_hear_of_each_other_and_take_it_in_turns() {
    let server = Server::start();
    let what = of("two", &["200/s"]);
    let mut one = Run::join(&server.url(), &what).await.unwrap();
    assert_eq!(one.hears().await, Word::Members(1));
    let mut two = Run::join(&server.url(), &what).await.unwrap();
    assert_eq!(two.hears().await, Word::Members(2));
    let began = one.clock.now();
    let part = part(0, 1);
    for _ in 0..20 {
        one.gets(std::slice::from_ref(&part)).await;
        two.gets(std::slice::from_ref(&part)).await;
    }
    let took = one.clock.now().since(began);
    assert!(
        took >= Duration::from_millis(193),
        "40 at 200/s took {took:?}"
    );
    two.store.leave().await;
    one.gets(&[part]).await;
}

#[tokio::test]
async fn a_unix_socket_is_as_good_as_a_port() {
    let server = Server::start();
    let url = format!("unix:{}", server.socket().to_str().unwrap());
    let mut run = Run::join(&url, &of("unix", &["10/s"])).await.unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
}

#[tokio::test]
async fn a_flush_of_scripts_is_not_noticed_and_one_of_everything_is_told() {
    let server = Server::start();
    let mut run = Run::join(&server.url(), &of("flush", &["2/h window"]))
        .await
        .unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    server.says::<()>(&["SCRIPT", "FLUSH"]);
    granted(&run.ask(&[part(0, 1)]).await);
    assert!(matches!(run.ask(&[part(0, 1)]).await, Answer::Refused(..)));
    server.says::<()>(&["FLUSHALL"]);
    let id = run.asks(&[part(0, 2)]);
    assert_eq!(run.hears_of_it().await, Word::Emptied);
    granted(&run.answer(id).await);
    assert!(matches!(run.ask(&[part(0, 1)]).await, Answer::Refused(..)));
}

#[tokio::test]
async fn a_server_that_was_killed_is_waited_for_and_nobody_asks_twice() {
    let mut server = Server::start();
    let mut run = Run::join(&server.url(), &of("killed", &["10/s"]))
        .await
        .unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    server.kill();
    let id = run.asks(&[part(0, 1)]);
    let Word::Away(problem, _) = run.hears_of_it().await else {
        panic!("it is away");
    };
    assert_eq!(problem.exit, Exit::Store);
    assert!(problem.place.contains("127.0.0.1"), "{problem}");
    server.restart();
    assert_eq!(run.hears_of_it().await, Word::Back);
    assert_eq!(run.hears_of_it().await, Word::Emptied);
    granted(&run.answer(id).await);
}

#[tokio::test]
async fn a_server_that_stood_still_has_counted_what_it_had_read_and_nothing_twice() {
    let server = Server::start();
    let mut run = Run::join(&server.url(), &of("frozen", &["100/h window"]))
        .await
        .unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    server.freeze();
    let asked = run.clock.now();
    let id = run.asks(&[part(0, 10)]);
    assert!(matches!(run.hears_of_it().await, Word::Away(..)));
    assert!(run.clock.now().since(asked) >= Duration::from_secs(1));
    run.clock
        .sleep_until(asked.after(Duration::from_secs(3)))
        .await;
    server.thaw();
    assert_eq!(run.hears_of_it().await, Word::Back);
    let mark = granted(&run.answer(id).await)[0];
    granted(&run.ask(&[part(0, 89)]).await);
    assert!(matches!(run.ask(&[part(0, 1)]).await, Answer::Refused(..)));
    let bill = Bill {
        of: Common::Limit(0),
        key: None,
        mark,
        cost: Cost::new(10).unwrap(),
    };
    run.store
        .wish(Wish::Settle(bill, run.clock.now(), Used::NeverSent));
    granted(&run.ask(&[part(0, 10)]).await);
}

#[tokio::test]
async fn a_replica_is_left_alone_until_it_is_the_master_again() {
    let server = Server::start();
    let mut run = Run::join(&server.url(), &of("replica", &["100/h window"]))
        .await
        .unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    server.says::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    let id = run.asks(&[part(0, 98)]);
    let Word::Away(problem, _) = run.hears_of_it().await else {
        panic!("it may not be written to");
    };
    assert!(problem.what.contains("READONLY"), "{problem}");
    server.says::<()>(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(run.hears_of_it().await, Word::Back);
    granted(&run.answer(id).await);
    granted(&run.ask(&[part(0, 1)]).await);
    assert!(matches!(run.ask(&[part(0, 1)]).await, Answer::Refused(..)));
}

#[tokio::test]
async fn a_password_is_used_and_never_told() {
    let server = Server::with(&["--requirepass", "open-sesame"]);
    let what = of("password", &["10/s"]);
    let good = server.url().replace("redis://", "redis://:open-sesame@");
    let mut run = Run::join(&good, &what).await.unwrap();
    granted(&run.ask(&[part(0, 1)]).await);
    let bad = server.url().replace("redis://", "redis://:sesame-close@");
    for (url, why) in [(bad, "not taken"), (server.url(), "NOAUTH")] {
        let problem = Run::join(&url, &what).await.err().unwrap();
        assert!(problem.what.contains(why), "{problem}");
        assert!(!problem.to_string().contains("sesame"), "{problem}");
        assert!(problem.mend.contains("password"), "{problem}");
    }
}

#[tokio::test]
async fn where_nobody_listens_or_answers_the_problem_says_where_and_why() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("redis://:s3cret@{}", silent.local_addr().unwrap());
    let what = of("nobody", &["10/s"]);
    let told = async |url, place, why| {
        let problem = Run::join(url, &what).await.err().unwrap();
        assert_eq!(problem.exit, Exit::Store);
        assert!(problem.place.contains(place), "{problem}");
        assert!(problem.what.contains(why), "{problem}");
        assert!(!problem.to_string().contains("s3cret"), "{problem}");
    };
    tokio::join!(
        told("redis://127.0.0.1:1/0", "127.0.0.1:1", "refused"),
        told(
            "unix:/nowhere/redis.sock",
            "/nowhere/redis.sock",
            "no such file"
        ),
        told(&silent, "127.0.0.1", "no answer within"),
    );
}

#[tokio::test]
async fn one_who_comes_with_other_limits_is_told_both() {
    let server = Server::start();
    let mut run = Run::join(&server.url(), &of("differ", &["10/s"]))
        .await
        .unwrap();
    let problem = Run::join(&server.url(), &of("differ", &["11/s"])).await;
    let problem = problem.err().unwrap().to_string();
    assert!(
        problem.contains("10/s") && problem.contains("11/s"),
        "{problem}"
    );
    assert!(problem.contains("--redis-key"), "{problem}");
    granted(&run.ask(&[part(0, 1)]).await);
}

#[tokio::test]
async fn slots_of_one_that_left_are_free_and_those_of_one_that_was_not_heard_again_after_a_while() {
    let server = Server::start();
    let mut what = of("slots", &[]);
    what.slots = Cost::new(1);
    let slot = slot();
    let mut one = Run::join(&server.url(), &what).await.unwrap();
    let mut two = Run::join(&server.url(), &what).await.unwrap();
    let mark = one.gets(std::slice::from_ref(&slot)).await;
    let answer = two.ask(std::slice::from_ref(&slot)).await;
    assert!(matches!(
        answer,
        Answer::Refused(HeldBy::Limit(Common::Slots), _)
    ));
    let bill = Bill {
        of: Common::Slots,
        key: None,
        mark,
        cost: Cost::ONE,
    };
    one.store
        .wish(Wish::Settle(bill, one.clock.now(), Used::Unknown));
    one.store.leave().await;
    two.gets(&[slot]).await;
    let held = |(key, left): &(String, i64)| key.ends_with(":log") && *left <= 17_000;
    assert!(server.keys().iter().any(held));
}

#[tokio::test]
async fn those_who_look_see_who_is_there_and_what_is_left() {
    let server = Server::start();
    let address: Address = server.url().parse().unwrap();
    let clock = Clock::start();
    let look = |name: &'static str| {
        let address = address.clone();
        async move { status::look(&address, name, HANGS, clock).await.unwrap() }
    };
    assert_eq!(look("seen").await, None);
    let mut what = of(
        "seen",
        &["5/h window", "tokens 60/h burst=60", "1/h per=host"],
    );
    what.slots = Cost::new(3);
    let mut run = Run::join(&server.url(), &what).await.unwrap();
    let slot = slot();
    granted(&run.ask(&[part(0, 2), part(1, 50), slot]).await);
    assert!(matches!(
        run.ask(&[part(0, 1), part(1, 50)]).await,
        Answer::Refused(..)
    ));
    let seen = look("seen").await.unwrap();
    assert_eq!(seen.members.len(), 1);
    assert!(
        seen.members[0]
            .place
            .ends_with(&format!(":{}", std::process::id()))
    );
    let limits = seen.limits.iter();
    let limits: Vec<_> = limits
        .map(|limit| (&*limit.text, limit.most, limit.now))
        .collect();
    let expected = [
        ("5/h window", 5, Some((3, 1))),
        ("tokens 60/h bucket burst=60", 60, Some((10, 1))),
        ("1/h bucket burst=1 per=host", 1, None),
        ("3 slots", 3, Some((2, 0))),
    ];
    assert_eq!(limits, expected);
    let used = |seen: &Status| -> Vec<i64> {
        let limits = seen.limits.iter();
        limits.map(|limit| limit.used.iter().sum()).collect()
    };
    assert_eq!(used(&seen), [2, 50, 0, 1]);
    // Values of a key by their hashes, the one with the least first.
    let of_value = |value: &str| Part {
        key: Some(value.into()),
        ..part(2, 1)
    };
    granted(&run.ask(&[of_value("spare")]).await);
    let spent = [of_value("spent")];
    granted(&run.ask(&spent).await);
    assert!(matches!(run.ask(&spent).await, Answer::Refused(..)));
    let seen = look("seen").await.unwrap();
    let values = &seen.limits[2].values;
    assert_eq!(values.len(), 2, "{values:?}");
    assert!(values[0].fits <= values[1].fits, "{values:?}");
    assert!(values.iter().any(|value| value.waiting == 1), "{values:?}");
    assert!(values[0].name != values[1].name && values[0].name.len() == 12);
    assert!(!server.keys().iter().any(|(key, _)| key.contains("spent")));
    assert_eq!(used(&seen)[2], 2);
    run.store.leave().await;
    assert_eq!(look("seen").await.unwrap().members, []);
}

#[tokio::test]
async fn status_tells_people_and_programs_and_never_a_password() {
    let server = Server::with(&["--requirepass", "open-sesame"]);
    let url = server.url().replace("redis://", "redis://:open-sesame@");
    let mut run = Run::join(&url, &of("told", &["5/h window"])).await.unwrap();
    granted(&run.ask(&[part(0, 2)]).await);
    let status = |url: &str, form: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"));
        program.args(["status", "--redis-key", "told", "--report", form]);
        let output = program.env("SHAPER_REDIS", url).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert!(!told.contains("sesame"), "{told}");
        (output.status.code(), told)
    };
    let (exit, text) = status(&url, "text");
    assert_eq!(exit, Some(0), "{text}");
    for word in [
        "told at redis://127.0.0.1:",
        ": 1 run\n",
        "5/h window\n",
        "3 of 5 free",
        "2 in 1m",
    ] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    let (_, json) = status(&url, "json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["limits"][0]["free"], 3);
    let (exit, text) = status(&url.replace("open-", ""), "text");
    assert_eq!(exit, Some(4), "{text}");
}

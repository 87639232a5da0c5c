//! What becomes of the other streams of a connection of HTTP/2 when a server breaks a rule on one of them, or goes away.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use http::Method;
use shaper::client::{Client, ClientSpec, Http, Transport};
use shaper::clock::Clock;
use shaper::engine::{Event, Grant, Ticket};
use shaper::outcome::{Failure, FailureKind, Reached, Reply};

use super::hostile::{
    DATA, END_HEADERS, END_STREAM, GO_AWAY, HEADERS, RESET, SETTINGS, STATUS_200, frame,
};
use crate::{CLOCK, LONG, job, spec};

/// So many tries go out together.
const TRIES: u32 = 3;

/// A server that says this when it has the requests of all streams of its first connection, 1, 3 and 5, and then answers
/// some of them. It answers those of other connections, and counts them.
fn serve(says: Vec<u8>, answers: &'static [u32]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let again = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&again);
    thread::spawn(move || {
        let mut first = Some((says, answers));
        for stream in listener.incoming() {
            let (mut stream, plot) = (stream.unwrap(), first.take());
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                stream.read_exact(&mut [0; 24])?;
                stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
                match plot {
                    Some((says, answers)) => conspire(&mut stream, &says, answers),
                    None => read(&mut stream, u32::MAX, |stream, id| {
                        counted.fetch_add(1, Ordering::SeqCst);
                        stream.write_all(&good(id))
                    }),
                }
            });
        }
    });
    (address, again)
}

fn conspire(stream: &mut TcpStream, says: &[u8], answers: &[u32]) -> io::Result<()> {
    read(stream, TRIES, |_, _| Ok(()))?;
    stream.write_all(says)?;
    for id in answers {
        stream.write_all(&good(*id))?;
    }
    // What may go on goes on.
    if answers.is_empty() {
        return stream.shutdown(Shutdown::Write);
    }
    read(stream, u32::MAX, |stream, id| stream.write_all(&good(id)))
}

fn good(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &STATUS_200)
}

/// Reads so many requests, and does this with the stream of each.
fn read(
    stream: &mut TcpStream,
    requests: u32,
    then: impl Fn(&mut TcpStream, u32) -> io::Result<()>,
) -> io::Result<()> {
    let mut seen = 0;
    while seen < requests {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]);
        let mut payload = Read::by_ref(stream).take(length.into());
        io::copy(&mut payload, &mut io::sink())?;
        if [HEADERS, DATA].contains(&kind) && flags & END_STREAM != 0 {
            seen += 1;
            then(stream, u32::from_be_bytes(id))?;
        }
    }
    Ok(())
}

/// How POSTs end that go out together.
async fn ends(address: SocketAddr) -> Vec<Result<Reply, Failure>> {
    let mut client = Client::new(ClientSpec {
        http: Http::Two,
        ..spec(Transport::Reqwest, address)
    })
    .unwrap();
    let clock = *CLOCK.get_or_init(Clock::start);
    let now = clock.now();
    let grant = |seq| Grant {
        seq,
        due: now,
        charged_at: now,
        attempt: 1,
        began: now,
        give_up_at: now.after(LONG),
    };
    for number in 0..TRIES {
        let job = job(Method::POST, "http://h.test/");
        client.start(Ticket::numbered(number), &job, grant(number.into()), clock);
    }
    let (mut ends, mut events) = (HashMap::new(), Vec::new());
    while ends.len() < TRIES as usize {
        client.go_on().await;
        client.hear(&mut events);
        for event in events.drain(..) {
            if let Event::Ended(ticket, _, end) = event {
                assert!(ends.insert(ticket, *end).is_none(), "{ticket:?} ends twice");
            }
        }
    }
    ends.into_values().collect()
}

/// How many end well, and how many were sent again, where the others are resets after they were sent.
async fn good_and_again(says: Vec<u8>, answers: &'static [u32]) -> (usize, usize) {
    let (address, again) = serve(says, answers);
    let ends = ends(address).await;
    let good = ends.iter().filter(|end| end.is_ok()).count();
    for failure in ends.into_iter().filter_map(Result::err) {
        let told = (failure.kind, failure.reached);
        assert_eq!(told, (FailureKind::Reset, Reached::Sent), "{failure:?}");
    }
    (good, again.load(Ordering::SeqCst))
}

fn away(last: u8, error: u8) -> Vec<u8> {
    frame(GO_AWAY, 0, 0, &[0, 0, 0, last, 0, 0, 0, error])
}

#[tokio::test]
async fn an_answer_that_breaks_a_rule_of_its_stream_ends_no_other() {
    let twice = [STATUS_200, STATUS_200].concat();
    let forbidden = [&STATUS_200[..], &[0, 10], b"connection", &[1], b"x"].concat();
    for (what, says) in [
        ("two statuses", frame(HEADERS, END_HEADERS, 1, &twice)),
        (
            "a header of HTTP/1.1",
            frame(HEADERS, END_HEADERS, 1, &forbidden),
        ),
        ("a reset", frame(RESET, 0, 1, &[0, 0, 0, 2])),
    ] {
        assert_eq!(good_and_again(says, &[3, 5]).await, (2, 0), "{what}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_connection_ends_all_of_it_and_no_post_is_sent_again() {
    // For this the rules would have its stream alone end (RFC 9113 §8.2.1), the library does not.
    let upper = [&STATUS_200[..], &[0, 1], b"X", &[1], b"x"].concat();
    for (what, says) in [
        ("a large letter", frame(HEADERS, END_HEADERS, 1, &upper)),
        (
            "headers that are none",
            frame(HEADERS, END_HEADERS, 1, &[0x80]),
        ),
        ("data of no stream", frame(DATA, 0, 0, b"x")),
        // Which of them it has not looked at it says, but the library does not.
        ("a farewell with an error", away(1, 1)),
    ] {
        assert_eq!(good_and_again(says, &[]).await, (0, 0), "{what}");
    }
}

#[tokio::test]
async fn streams_that_a_server_has_not_looked_at_by_its_own_word_go_out_again() {
    assert_eq!(good_and_again(away(1, 0), &[1]).await, (3, 2));
    // On the same connection.
    let refused = frame(RESET, 0, 3, &[0, 0, 0, 7]);
    assert_eq!(good_and_again(refused, &[1, 5]).await, (3, 0));
}

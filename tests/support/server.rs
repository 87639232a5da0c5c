//! A scripted HTTP/1.1 server on loopback that remembers when it was sent what.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::PATIENCE;

/// Listens from [`Server::start`] until it is dropped, then ends every connection.
pub(crate) struct Server {
    address: SocketAddr,
    room: Arc<Room>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// When its last byte was read, since the server began; never earlier than that of the one before.
    pub(crate) at: Duration,
    /// Which connection brought it, from 0 in the order of their opening.
    pub(crate) connection: usize,
    /// As on the wire.
    pub(crate) method: String,
    /// As on the wire.
    pub(crate) target: String,
    /// In order, values byte for byte.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// After chunked coding is taken off.
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The first header of that name, in any case.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.headers.iter();
        let found = named.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }
}

/// Which request is to be answered.
pub(crate) struct Ask<'a> {
    /// Of all requests, from 0.
    pub(crate) nth: usize,
    /// Of the requests for the same target, from 0.
    pub(crate) nth_of_target: usize,
    /// As on the wire.
    pub(crate) target: &'a str,
}

type Script = dyn Fn(&Ask<'_>) -> Step + Send + Sync;

impl Server {
    /// Request n gets step n, and the last step repeats.
    pub(crate) fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps: Vec<Step> = steps.into_iter().collect();
        let last = steps.len().checked_sub(1).expect("at least one step");
        Self::answering(move |ask| steps[ask.nth.min(last)].clone())
    }

    /// Each request gets what `script` says.
    pub(crate) fn answering(script: impl Fn(&Ask<'_>) -> Step + Send + Sync + 'static) -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::answering_at(any, script)
    }

    /// Every address of this machine, each request gets `step`: `127.1.2.3` is a host as good as any.
    pub(crate) fn everywhere(step: Step) -> Self {
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Self::answering_at(any, move |_| step.clone())
    }

    /// The same at an address where another has been.
    pub(crate) fn answering_at(
        address: SocketAddr,
        script: impl Fn(&Ask<'_>) -> Step + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("it is bound");
        let room = Arc::new(Room {
            script: Box::new(script),
            began: Instant::now(),
            seen: Mutex::default(),
            open: Mutex::default(),
            connections: Mutex::default(),
            closing: Gate::default(),
        });
        let host = Arc::clone(&room);
        thread::spawn(move || host.receive(&listener));
        Self { address, room }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Address and port, as in a URL.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// A URL here.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// A URL list of `count` hosts, each asked once, for a server that is [`Server::everywhere`].
    pub(crate) fn hosts(&self, count: u16) -> String {
        let port = self.address.port();
        let url = |[high, low]: [u8; 2]| format!("http://127.1.{high}.{low}:{port}/\n");
        (0..count).map(u16::to_be_bytes).map(url).collect()
    }

    /// A URL list of `count` jobs: `/0`, `/1` and so on.
    pub(crate) fn list(&self, count: usize) -> String {
        (0..count)
            .map(|n| self.url(&format!("/{n}\n")))
            .collect::<String>()
    }

    /// Everything that came until now, in order.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        held(&self.room.seen).clone()
    }

    /// The targets of [`Server::requests`], sorted, as requests may overtake each other.
    pub(crate) fn targets(&self) -> Vec<String> {
        let mut targets: Vec<String> = self.requests().into_iter().map(|it| it.target).collect();
        targets.sort();
        targets
    }

    /// The most requests that ever stood open at once: read, and not yet answered or given up here.
    pub(crate) fn most_open(&self) -> usize {
        held(&self.room.open).1
    }

    /// The moments of [`Server::requests`].
    pub(crate) fn moments(&self) -> Vec<Duration> {
        self.requests().iter().map(|seen| seen.at).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.room.closing.open();
        for connection in held(&self.room.connections).iter() {
            if let Some(stream) = connection.upgrade() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        // Wakes the thread that accepts, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

/// What the threads of a server share.
struct Room {
    script: Box<Script>,
    began: Instant,
    seen: Mutex<Vec<Seen>>,
    /// Open requests now, and the most there ever were.
    open: Mutex<(usize, usize)>,
    /// Weak, as a connection is reset only when its last owner closes it.
    connections: Mutex<Vec<Weak<TcpStream>>>,
    closing: Gate,
}

impl Room {
    fn receive(self: Arc<Self>, listener: &TcpListener) {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { continue };
            let stream = Arc::new(stream);
            held(&self.connections).push(Arc::downgrade(&stream));
            // Asked after the connection is listed: whoever closes meanwhile finds it there.
            if self.closing.is_open() {
                return;
            }
            let room = Arc::clone(&self);
            // A connection that breaks is the other side's affair: the test looks at what came.
            thread::spawn(move || room.serve(&stream, number));
        }
    }

    fn serve(&self, stream: &TcpStream, connection: usize) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(seen) = read_request(&mut reader, connection)? {
            let head_only = seen.method == "HEAD";
            let step = self.note(seen);
            let answer = step.answer(&self.closing);
            // Before the answer leaves: whoever has it may ask again at once.
            held(&self.open).0 -= 1;
            let then = answer.map_or(Ok(Then::Close), |act| act.perform(stream, head_only))?;
            match then {
                Then::KeepAlive => {}
                Then::Close => return stream.shutdown(Shutdown::Both),
                Then::Reset => {
                    let at_once = Some(Duration::ZERO);
                    rustix::net::sockopt::set_socket_linger(stream, at_once)?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn note(&self, mut seen: Seen) -> Step {
        let (open, most) = &mut *held(&self.open);
        *open += 1;
        *most = (*most).max(*open);
        let mut all = held(&self.seen);
        seen.at = self.began.elapsed();
        let same = all.iter().filter(|other| other.target == seen.target);
        let step = (self.script)(&Ask {
            nth: all.len(),
            nth_of_target: same.count(),
            target: &seen.target,
        });
        all.push(seen);
        step
    }
}

/// What a request gets.
#[derive(Clone)]
pub(crate) struct Step {
    delay: Duration,
    gate: Option<Gate>,
    act: Act,
}

#[derive(Clone)]
enum Act {
    Answer(Answer),
    Close,
    Reset,
    Hang,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    framing: Framing,
}

#[derive(Clone)]
enum Framing {
    Length,
    Chunked,
    UntilClose,
    Cut {
        said: usize,
        sent: usize,
    },
    Torn,
    Trailed,
    Dripping(Duration),
    /// In chunked coding, a chunk for each event of the body, and so long a rest behind each.
    Events(Duration),
}

enum Then {
    KeepAlive,
    Close,
    Reset,
}

impl Step {
    /// An answer with that status and the body `ok`.
    pub(crate) fn status(status: u16) -> Self {
        Self::of(Act::Answer(Answer {
            status,
            headers: Vec::new(),
            body: b"ok".to_vec(),
            framing: Framing::Length,
        }))
    }

    /// A 200.
    pub(crate) fn ok() -> Self {
        Self::status(200)
    }

    /// No answer: the connection is closed (FIN).
    pub(crate) fn close() -> Self {
        Self::of(Act::Close)
    }

    /// No answer: the connection is reset (RST).
    pub(crate) fn reset() -> Self {
        Self::of(Act::Reset)
    }

    /// No answer, ever.
    pub(crate) fn hang() -> Self {
        Self::of(Act::Hang)
    }

    fn of(act: Act) -> Self {
        Self {
            delay: Duration::ZERO,
            gate: None,
            act,
        }
    }

    /// Only after a while.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Only when the gate is open.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// With one more header.
    pub(crate) fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let header = (name.to_owned(), value.as_ref().to_vec());
        self.changed(|answer| answer.headers.push(header))
    }

    /// With another body.
    pub(crate) fn body(self, body: impl AsRef<[u8]>) -> Self {
        self.changed(|answer| answer.body = body.as_ref().to_vec())
    }

    /// In chunked coding.
    pub(crate) fn chunked(self) -> Self {
        self.changed(|answer| answer.framing = Framing::Chunked)
    }

    /// Without a length: the body ends with the connection.
    pub(crate) fn until_close(self) -> Self {
        self.changed(|answer| answer.framing = Framing::UntilClose)
    }

    /// With a `Content-Length` of `said`, though the connection closes after `sent` bytes.
    pub(crate) fn cut(self, said: usize, sent: usize) -> Self {
        self.changed(|answer| answer.framing = Framing::Cut { said, sent })
    }

    /// In chunked coding, though the connection closes before the last chunk.
    pub(crate) fn torn(self) -> Self {
        self.changed(|answer| answer.framing = Framing::Torn)
    }

    /// In chunked coding, with an extension of each chunk and a trailer.
    pub(crate) fn trailed(self) -> Self {
        self.changed(|answer| answer.framing = Framing::Trailed)
    }

    /// A byte of the body at a time, each so long after the one before.
    pub(crate) fn dripping(self, gap: Duration) -> Self {
        self.changed(|answer| answer.framing = Framing::Dripping(gap))
    }

    /// As a stream of the events that the body has, so far apart at least.
    pub(crate) fn streamed(self, apart: Duration) -> Self {
        let streamed = self.header("Content-Type", "text/event-stream");
        streamed.changed(|answer| answer.framing = Framing::Events(apart))
    }

    fn changed(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        match &mut self.act {
            Act::Answer(answer) => change(answer),
            Act::Close | Act::Reset | Act::Hang => panic!("a step without an answer has no parts"),
        }
        self
    }

    /// Waits for the moment of the answer; `None` if the server closes first.
    fn answer(&self, closing: &Gate) -> Option<&Act> {
        if closing.wait(self.delay) {
            return None;
        }
        if let Some(gate) = &self.gate {
            while !gate.wait(Duration::from_millis(5)) {
                if closing.is_open() {
                    return None;
                }
            }
        }
        match &self.act {
            Act::Answer(_) | Act::Close | Act::Reset => Some(&self.act),
            Act::Hang => {
                closing.wait(2 * PATIENCE);
                None
            }
        }
    }
}

impl Act {
    fn perform(&self, stream: &TcpStream, head_only: bool) -> io::Result<Then> {
        match self {
            Self::Answer(answer) => answer.send(stream, head_only),
            Self::Close | Self::Hang => Ok(Then::Close),
            Self::Reset => Ok(Then::Reset),
        }
    }
}

impl Answer {
    fn send(&self, mut stream: &TcpStream, head_only: bool) -> io::Result<Then> {
        let mut wire = format!("HTTP/1.1 {} Scripted\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            write!(wire, "{name}: ")?;
            wire.extend_from_slice(value);
            wire.extend_from_slice(b"\r\n");
        }
        match self.framing {
            Framing::Length | Framing::Dripping(_) => {
                write!(wire, "Content-Length: {}\r\n\r\n", self.body.len())?;
            }
            Framing::Cut { said, .. } => write!(wire, "Content-Length: {said}\r\n\r\n")?,
            Framing::Chunked | Framing::Torn | Framing::Trailed | Framing::Events(_) => {
                wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            }
            Framing::UntilClose => wire.extend_from_slice(b"\r\n"),
        }
        if !head_only {
            match self.framing {
                Framing::Length | Framing::UntilClose => wire.extend_from_slice(&self.body),
                Framing::Cut { sent, .. } => wire.extend_from_slice(&self.body[..sent]),
                Framing::Chunked | Framing::Torn | Framing::Trailed => {
                    let (extension, end) = match self.framing {
                        Framing::Trailed => (";a=b", "0;c\r\nX-Sum: abc\r\n\r\n"),
                        Framing::Torn => ("", ""),
                        _ => ("", "0\r\n\r\n"),
                    };
                    for piece in self.body.chunks(7) {
                        chunk(piece, extension, &mut wire)?;
                    }
                    wire.extend_from_slice(end.as_bytes());
                }
                Framing::Events(apart) => {
                    for event in String::from_utf8_lossy(&self.body).split_inclusive("\n\n") {
                        chunk(event.as_bytes(), "", &mut wire)?;
                        stream.write_all(&wire)?;
                        wire.clear();
                        thread::sleep(apart);
                    }
                    wire.extend_from_slice(b"0\r\n\r\n");
                }
                Framing::Dripping(gap) => {
                    stream.write_all(&wire)?;
                    for byte in &self.body {
                        thread::sleep(gap);
                        stream.write_all(&[*byte])?;
                    }
                    return Ok(Then::KeepAlive);
                }
            }
        }
        stream.write_all(&wire)?;
        Ok(match self.framing {
            Framing::Length
            | Framing::Chunked
            | Framing::Trailed
            | Framing::Dripping(_)
            | Framing::Events(_) => Then::KeepAlive,
            Framing::UntilClose | Framing::Cut { .. } | Framing::Torn => Then::Close,
        })
    }
}

fn chunk(piece: &[u8], extension: &str, wire: &mut Vec<u8>) -> io::Result<()> {
    write!(wire, "{:x}{extension}\r\n", piece.len())?;
    wire.extend_from_slice(piece);
    wire.extend_from_slice(b"\r\n");
    Ok(())
}

/// Shut at first; once open it stays open. Clones are the same gate.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets everything through that waits, and all that comes.
    pub(crate) fn open(&self) {
        *held(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn is_open(&self) -> bool {
        *held(&self.0.0)
    }

    /// Waits for it to open, for `most` at most. Answers whether it is open.
    fn wait(&self, most: Duration) -> bool {
        let shut = |open: &mut bool| !*open;
        let waited = self.0.1.wait_timeout_while(held(&self.0.0), most, shut);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A test that panics elsewhere must not hide behind a poisoned lock.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Seen>> {
    let first = read_line(reader)?;
    if first.is_empty() {
        return Ok(None);
    }
    let first = String::from_utf8_lossy(&first).into_owned();
    let mut words = first.splitn(3, ' ').map(str::to_owned);
    let mut seen = Seen {
        at: Duration::ZERO,
        connection,
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let line = read_line(reader)?;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            break;
        };
        let name = String::from_utf8_lossy(&line[..colon]).into_owned();
        let value = line[colon + 1..].trim_ascii().to_vec();
        seen.headers.push((name, value));
    }
    let number = |text: &[u8], radix| {
        let text = String::from_utf8_lossy(text).into_owned();
        usize::from_str_radix(&text, radix).map_err(io::Error::other)
    };
    if seen.header("transfer-encoding").is_some() {
        loop {
            let size = number(&read_line(reader)?, 16)?;
            let before = seen.body.len();
            seen.body.resize(before + size, 0);
            reader.read_exact(&mut seen.body[before..])?;
            read_line(reader)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = seen.header("content-length") {
        seen.body = vec![0; number(length, 10)?];
        reader.read_exact(&mut seen.body)?;
    }
    Ok(Some(seen))
}

/// A line without its end; empty at the end of the connection too.
fn read_line(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(1 << 20).read_until(b'\n', &mut line)?;
    Ok(line.trim_ascii_end().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one request and reads to the end of the connection.
    fn said(server: &Server) -> io::Result<String> {
        let mut stream = TcpStream::connect(server.address)?;
        stream.write_all(b"POST /a HTTP/1.1\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn the_test_server_plays_its_steps_and_repeats_the_last() {
        let server = Server::start([
            Step::status(429).header("Retry-After", "2").until_close(),
            Step::ok().body("0123456789").cut(100, 3),
            Step::close(),
        ]);
        let first = said(&server).expect("an answer");
        assert_eq!(first, "HTTP/1.1 429 Scripted\r\nRetry-After: 2\r\n\r\nok");
        let second = said(&server).expect("part of an answer");
        assert!(
            second.ends_with("Content-Length: 100\r\n\r\n012"),
            "{second}"
        );
        assert_eq!(said(&server).expect("a clean end"), "");
        assert_eq!(said(&server).expect("a clean end"), "");
        let requests = server.requests();
        assert_eq!(requests.len(), 4);
        let last = &requests[3];
        assert_eq!(
            (last.connection, last.body.as_slice()),
            (3, b"hi".as_slice())
        );
        assert_eq!(last.header("x-a"), Some(b"1".as_slice()));
    }

    #[test]
    fn the_test_server_resets_when_it_says_so() {
        let server = Server::start([Step::reset()]);
        let broken = said(&server).expect_err("no end that looks clean");
        assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn the_test_server_ends_what_hangs() {
        let server = Server::start([Step::hang()]);
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        stream
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .expect("it reads");
        while server.requests().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        drop(server);
        let mut answer = Vec::new();
        let end = stream.read_to_end(&mut answer);
        assert_eq!(end.expect("a clean end"), 0);
    }
}

//! The messages that a person can meet, in one list: each says what, where, and how to mend it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tempfile::TempDir;

use crate::support::secure::secure_server;
use crate::support::server::{Ask, Server, Step};

/// The lines of a shell that end with a message, under headings; what they say stands in [`LIST`].
const LINES: &str = include_str!("messages.sh");

/// The list: each line, what it says, and its exit code.
const LIST: &str = "fixtures/messages.txt";

/// How to renew it.
const RENEW: &str =
    "SHAPER_BLESS=1 cargo test --all-features --test cli every_message_says_what_where_and_how";

/// How the last part of a message begins.
const MEND: &str = "\n  mend: ";

/// What the server does is told by the path.
fn answer(ask: &Ask<'_>) -> Step {
    let redirect = |to: &str| Step::status(302).header("Location", to);
    match ask.target {
        "/reset" => Step::reset(),
        "/cut" => Step::ok().body("0123456789").cut(100, 5),
        "/loop" => redirect("/loop"),
        "/astray" => redirect("ftp://there/"),
        "/hang" => Step::hang(),
        "/fault" => Step::ok().body(r#"{"error":"none left"}"#),
        "/spent" => Step::status(429).body(r#"{"error":{"code":"insufficient_quota"}}"#),
        "/hour" => Step::status(429).header("Retry-After", "3600"),
        target => {
            let status = target.trim_start_matches('/');
            Step::status(status.parse().unwrap_or(200))
        }
    }
}

/// The messages of a line, and its exit code.
type Said = (Vec<String>, Option<i32>);

/// Does a line in a folder of its own.
fn said(line: &str, server: &Server, secure: &str) -> Said {
    let home = TempDir::new().expect("there is room for a temporary directory");
    let programs = home.path().join(".bin");
    fs::create_dir(&programs).expect("the directory is ours");
    let program = Path::new(env!("CARGO_BIN_EXE_shaper"));
    symlink(program, programs.join("shaper")).expect("the directory is ours");
    let path = std::env::var("PATH").expect("there are programs");
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).current_dir(home.path());
    shell.env_clear().env("HOST", server.host());
    shell.env("SECURE", secure);
    shell.env(
        "FIXTURES",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"),
    );
    shell.env("PATH", format!("{}:{path}", programs.display()));
    let done = shell.output().expect("there is a bash");
    let text = [&done.stderr[..], &done.stdout[..]].concat();
    let text = String::from_utf8_lossy(&text)
        .replace(&server.host(), "HOST")
        .replace(secure, "HOST");
    let home = home.path().to_str().expect("its name is text");
    let text = without_the_system(&text.replace(home, "HERE"));
    (messages(&text), done.status.code())
}

/// Why a name has no address is told in words of the system, which depend on its network.
fn without_the_system(text: &str) -> String {
    const LOOKED_UP: &str = "failed to lookup address information: ";
    let lines = text.lines().map(|line| match line.find(LOOKED_UP) {
        Some(at) => format!("{}…", &line[..at + LOOKED_UP.len()]),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The messages of a text, each with the lines under it.
fn messages(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        // What is listed under a sentence is part of it.
        let lists = within && found.last().is_some_and(|message| !message.contains(MEND));
        let begins = line.starts_with("shaper: ")
            || line.starts_with("first ")
            || has_a_place(line) && !lists;
        within = begins || within && (line.starts_with("  ") || has_a_place(line));
        match found.last_mut() {
            _ if begins => found.push(line.to_owned()),
            Some(message) if within => message.extend(["\n", line]),
            Some(_) | None => {}
        }
    }
    found
        .into_iter()
        .map(|message| without_ports(&message))
        .collect()
}

/// `jobs.jsonl:2:61: …`
fn has_a_place(line: &str) -> bool {
    let Some((place, _)) = line.split_once(": ") else {
        return false;
    };
    let parts: Vec<&str> = place.split(':').collect();
    let number = |part: &&str| part.parse::<u64>().is_ok();
    parts.len() == 3 && !parts[0].contains(' ') && parts[1..].iter().all(number)
}

/// The port of the modelled API is another each time.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_digit());
        let (port, rest) = part.split_at(end.unwrap_or(part.len()));
        // Ports that a line names itself are short.
        let port = if port.len() >= 5 { "PORT" } else { port };
        let _ = write!(out, "127.0.0.1:{port}{rest}");
    }
    out
}

#[test]
fn every_message_says_what_where_and_how_to_mend_it() {
    let server = Server::answering(answer);
    let secure = secure_server().to_string();
    let lines: Vec<&str> = LINES.lines().collect();
    // A few at a time: what hangs is timed.
    let next = AtomicUsize::new(0);
    let told: Vec<Mutex<Option<Said>>> = lines.iter().map(|_| Mutex::default()).collect();
    thread::scope(|all| {
        for _ in 0..8 {
            all.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let Some(line) = lines.get(nth) else {
                        break;
                    };
                    if !line.is_empty() && !line.starts_with('#') {
                        let said = said(line, &server, &secure);
                        *told[nth].lock().expect("nobody panics with it") = Some(said);
                    }
                }
            });
        }
    });
    let mut list = String::new();
    let mut bad = String::new();
    for (line, told) in lines.iter().zip(told) {
        let told = told.into_inner().expect("nobody panics with it");
        let Some((messages, code)) = told else {
            let _ = writeln!(list, "{line}");
            continue;
        };
        let _ = writeln!(list, "$ {line}");
        for message in &messages {
            let _ = writeln!(list, "{message}");
            let mend = message.split_once(MEND).map(|(_, mend)| mend);
            if mend.is_none_or(|mend| mend.split(' ').count() < 2) {
                let _ = writeln!(bad, "no mend: $ {line}\n{message}");
            }
            if !says_where(line, message) {
                let _ = writeln!(bad, "not where: $ {line}\n{message}");
            }
        }
        let _ = writeln!(list, "exit {}\n", code.unwrap_or(-1));
        if messages.is_empty() {
            let _ = writeln!(bad, "no message: $ {line}");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("SHAPER_BLESS").is_some() {
        fs::write(&path, &list).expect("the repository is ours");
    }
    assert!(bad.is_empty(), "{bad}");
    if cfg!(not(target_os = "linux")) {
        // Other systems have other words for what fails there.
        return;
    }
    let kept = fs::read_to_string(&path).expect("the list is in the repository");
    for (now, before) in list.lines().zip(kept.lines()) {
        assert_eq!(
            now, before,
            "{LIST} is old; look at it, and renew it: {RENEW}"
        );
    }
    assert_eq!(
        list.lines().count(),
        kept.lines().count(),
        "renew {LIST}: {RENEW}"
    );
}

/// Whether a message names what it is about: a place, an option, a server, or a word of the line.
fn says_where(line: &str, message: &str) -> bool {
    const PLACES: [&str; 7] = [
        "HOST",
        "127.0.0.1:",
        "stdout",
        "standard input",
        "in this process",
        " --",
        "-:1",
    ];
    let first = message.lines().next().unwrap_or_default();
    let first = format!(" {}", first.trim_start_matches("shaper: "));
    let of_line = |letter: char| letter.is_whitespace() || "'\"=,|<>;".contains(letter);
    let words = line
        .split(of_line)
        .map(|word| word.trim_start_matches("http://"));
    let mut words = words.filter(|word| {
        let names = word.trim_end_matches('/').len() > 1 || *word == ".";
        names && *word != "shaper" && *word != "echo"
    });
    words.any(|word| first.contains(word.trim_end_matches('/')))
        || PLACES.iter().any(|place| first.contains(place))
        || message.lines().any(has_a_place)
}

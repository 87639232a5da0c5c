//! The order of the house: `src/lib.rs` lists the modules floor by floor, and this reads every
//! source file against that list. A complaint names file and line.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls that belong to few places: the call, where it may stand, and why.
const RESERVED: [Reserved; 9] = [
    Reserved("Instant::now", &[CLOCK]),
    Reserved("SystemTime::now", &[CLOCK]),
    Reserved("tokio::time", &[CLOCK]),
    Reserved("thread::sleep", &[CLOCK]),
    Reserved("println!", &STDOUT),
    Reserved("print!", &STDOUT),
    Reserved("stdout()", &STDOUT),
    Reserved("process::exit", &[MAIN]),
    Reserved("display()", &[LETTERS]),
];
const MAIN: Home = Home(
    "src/main.rs",
    "an exit elsewhere skips what is still to be written",
);
const CLOCK: Home = Home("src/clock.rs", "everything else is told the time");
const LETTERS: Home = Home(
    "src/letters.rs",
    "a name of a file that is shown may act on the terminal: `calm_path`",
);
/// Standard output carries results, or a report that was asked for there.
const STDOUT: [Home; 3] = [
    Home("src/command/", "without results, the report is the output"),
    Home("src/sink", "the results themselves"),
    Home("src/report", "`--report-file -`"),
];
/// What is left to do stands in the tracker, not in the source.
const UNFINISHED: [&str; 4] = ["TODO", "FIXME", "todo!", "dbg!"];

/// A call, and the places where it may stand.
struct Reserved<'a>(&'a str, &'a [Home<'a>]);

/// The beginning of a path, and why the call is at home there.
struct Home<'a>(
    &'a str,
    #[expect(dead_code, reason = "for readers")] &'a str,
);

/// One `pub mod` of `lib.rs`, with the floor it is listed on.
#[derive(Debug, PartialEq)]
struct Room {
    name: String,
    floor: u32,
    /// The floor's word: `rules` in `// Floor 3, rules: …`.
    word: String,
}

/// A source file, with its path from the root of the package.
struct Source {
    path: String,
    text: String,
}

#[test]
fn every_file_keeps_the_order_of_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(root);
    let map = sources.iter().find(|source| source.path == "src/lib.rs");
    let rooms = rooms(&map.expect("there is a library").text);
    assert!(
        !rooms.is_empty(),
        "src/lib.rs lists no modules under a floor"
    );
    let complaints: Vec<String> = sources
        .iter()
        .flat_map(|source| complaints(source, &rooms))
        .collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src is readable") {
            let path: PathBuf = entry.expect("src is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let own = path.strip_prefix(root).expect("it was found there");
                let own = own.to_str().expect("our names are ASCII");
                found.push(Source {
                    path: own.replace('\\', "/"),
                    text: fs::read_to_string(&path).expect("source is UTF-8"),
                });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The modules of `lib.rs` under their `// Floor N, word: …` lines.
fn rooms(lib: &str) -> Vec<Room> {
    let mut floor = None;
    let mut rooms = Vec::new();
    for line in lib.lines() {
        if let Some(rest) = line.strip_prefix("// Floor ") {
            let (number, rest) = rest.split_once(", ").expect("`// Floor N, word: …`");
            let number: u32 = number.parse().expect("floors are numbers");
            let word = rest.split(':').next().unwrap_or_default();
            floor = Some((number, word.to_owned()));
        }
        let name = line.trim_start_matches("pub ").strip_prefix("mod ");
        if let (Some(name), Some((floor, word))) = (name, &floor) {
            rooms.push(Room {
                name: name.trim_end_matches(';').to_owned(),
                floor: *floor,
                word: word.clone(),
            });
        }
    }
    rooms
}

fn complaints(source: &Source, rooms: &[Room]) -> Vec<String> {
    let code = bare(&source.text);
    let mut found = Vec::new();
    let mut complain = |at: usize, what: String| {
        let line = source.text[..at].matches('\n').count() + 1;
        found.push(format!("{}:{line}: {what}", source.path));
    };

    let first = source.path.trim_start_matches("src/").split('/').next();
    let own = first.unwrap_or_default().trim_end_matches(".rs");
    let own = rooms.iter().find(|room| room.name == own);
    let outside = ["src/lib.rs", "src/main.rs"].contains(&source.path.as_str());
    match own {
        Some(own) => {
            let sign = format!("Floor {}: {}", own.floor, own.word);
            if !header(&source.text).contains(&sign) {
                complain(0, format!("does not begin with `//! … {sign}.`"));
            }
        }
        None if outside => {
            if header(&source.text).is_empty() {
                complain(0, "does not begin with `//!`".to_owned());
            }
        }
        None => complain(0, "stands on no floor of src/lib.rs".to_owned()),
    }

    for (at, name) in uses(&code) {
        let room = rooms.iter().find(|room| room.name == name);
        match (own, room) {
            (Some(own), Some(room)) if room.floor > own.floor => complain(
                at,
                format!(
                    "uses `{name}` of floor {} on floor {}",
                    room.floor, own.floor
                ),
            ),
            (_, None) => complain(at, format!("`crate::{name}` is no module of src/lib.rs")),
            (_, Some(_)) => {}
        }
    }

    // From `code`, where a comment or a string cannot pretend to be the attribute.
    let tests = code.find("#[cfg(test)]").unwrap_or(code.len());
    for Reserved(call, homes) in &RESERVED {
        if homes
            .iter()
            .any(|Home(home, _)| source.path.starts_with(home))
        {
            continue;
        }
        for at in words(&code[..tests], call) {
            let homes: Vec<_> = homes.iter().map(|Home(home, _)| *home).collect();
            complain(at, format!("`{call}` is only for {}", homes.join(", ")));
        }
    }
    for word in UNFINISHED {
        for at in words(&source.text, word) {
            complain(at, format!("`{word}` is left"));
        }
    }
    found
}

/// The `//!` lines that a file begins with, joined.
fn header(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.collect::<Vec<_>>().join("")
}

/// The modules behind every `crate::` in bare code, and where each stands.
fn uses(code: &str) -> Vec<(usize, &str)> {
    const PREFIX: &str = "crate::";
    let mut found = Vec::new();
    for at in words(code, PREFIX) {
        let from = at + PREFIX.len();
        let rest = &code[from..];
        if !rest.starts_with('{') {
            found.push((from, name_at(code, from)));
            continue;
        }
        let mut depth = 0;
        let mut expected = true;
        for (offset, letter) in rest.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' => expected = true,
                _ if depth == 1 && expected && !letter.is_whitespace() => {
                    found.push((from + offset, name_at(code, from + offset)));
                    expected = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

fn name_at(code: &str, from: usize) -> &str {
    let rest = &code[from..];
    let end = rest.find(|letter| !is_of_a_name(letter));
    &rest[..end.unwrap_or(rest.len())]
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Where `word` stands by itself: `print!` is not in `eprint!`.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let ends_in_a_name = word.ends_with(is_of_a_name);
        let longer =
            before.is_some_and(is_of_a_name) || ends_in_a_name && after.is_some_and(is_of_a_name);
        (!longer).then_some(at)
    })
}

/// The text with comments and the insides of literals blanked out, every byte at its place.
fn bare(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end =
            at + literal_or_comment(&bytes[at..], at.checked_sub(1).map(|before| bytes[before]));
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("whole literals are blanked, so no letter is cut")
}

/// Length of the comment or literal that `rest` begins with; 0 if it begins with neither.
fn literal_or_comment(rest: &[u8], before: Option<u8>) -> usize {
    let find = |from: usize, what: &[u8]| {
        let inside = rest[from..].windows(what.len());
        let mut inside = inside.enumerate().filter(|(_, found)| *found == what);
        inside
            .next()
            .map_or(rest.len(), |(at, _)| from + at + what.len())
    };
    let in_a_name = before.is_some_and(|byte| is_of_a_name(char::from(byte)));
    match rest {
        [b'/', b'/', ..] => rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !in_a_name || before == Some(b'b') => {
            let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return 0;
            }
            let mut end = vec![b'"'];
            end.resize(1 + hashes, b'#');
            find(2 + hashes, &end)
        }
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        // A lifetime has no closing quote after its first letter.
        [b'\'', first, ..] => {
            let wide = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0.. => 4,
            };
            if rest.get(1 + wide) == Some(&b'\'') {
                2 + wide
            } else {
                0
            }
        }
        _ => 0,
    }
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    rest.len().min(at + 1)
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

const LIB: &str = "//! The map.\n\n// Floor 1, words: a.\npub mod units;\n\n// Floor 3, rules: b.\npub mod limit;\n\n// Floor 4, doors: c.\npub mod clock;\nmod sink;\n";

/// What is said of a file at `path` whose header is right and whose second line on is `code`.
fn said_of(path: &str, floor: &str, code: &str) -> Vec<String> {
    let source = Source {
        path: path.to_owned(),
        text: format!("//! A file. {floor}.\n{code}\n"),
    };
    complaints(&source, &rooms(LIB))
}

fn said_of_a_rule(code: &str) -> Vec<String> {
    said_of("src/limit/bucket.rs", "Floor 3: rules", code)
}

#[test]
fn the_map_is_read_floor_by_floor() {
    let read: Vec<_> = rooms(LIB)
        .into_iter()
        .map(|room| (room.name, room.floor, room.word))
        .collect();
    let room = |name: &str, floor, word: &str| (name.to_owned(), floor, word.to_owned());
    let expected = [
        room("units", 1, "words"),
        room("limit", 3, "rules"),
        room("clock", 4, "doors"),
        room("sink", 4, "doors"),
    ];
    assert_eq!(read, expected);
}

#[test]
fn an_import_may_go_up_the_list_and_not_down() {
    assert_eq!(said_of_a_rule("use crate::units::Tick;"), [""; 0]);
    assert_eq!(
        said_of_a_rule("use crate::limit::{Limit, window};"),
        [""; 0]
    );
    let down = "src/limit/bucket.rs:2: uses `clock` of floor 4 on floor 3";
    for code in [
        "use crate::clock::Clock;",
        "use crate::clock;",
        "use crate::{units::{Tick, Rate}, clock};",
        "fn late() { crate::clock::now() }",
        "#[cfg(test)] mod tests { use crate::clock; }",
    ] {
        assert_eq!(said_of_a_rule(code), [down], "{code}");
    }
    let named = "src/limit/bucket.rs:4: uses `clock` of floor 4 on floor 3";
    assert_eq!(
        said_of_a_rule("use crate::{\n    units,\n    clock,\n};"),
        [named]
    );
}

#[test]
fn an_import_of_no_module_of_the_map_is_told() {
    let unknown = "src/limit/bucket.rs:2: `crate::attic` is no module of src/lib.rs";
    assert_eq!(said_of_a_rule("use crate::attic::Box;"), [unknown]);
}

#[test]
fn a_reserved_call_is_told_away_from_home() {
    for (code, call) in [
        ("let now = std::time::Instant::now();", "Instant::now"),
        ("let now = SystemTime::now();", "SystemTime::now"),
        ("tokio::time::sleep(span).await;", "tokio::time"),
        ("std::thread::sleep(span);", "thread::sleep"),
    ] {
        let told = format!("src/limit/bucket.rs:2: `{call}` is only for src/clock.rs");
        assert_eq!(said_of_a_rule(code), [told]);
        assert_eq!(said_of("src/clock.rs", "Floor 4: doors", code), [""; 0]);
    }
    let exit = "src/sink.rs:2: `process::exit` is only for src/main.rs";
    let code = "std::process::exit(1);";
    assert_eq!(said_of("src/sink.rs", "Floor 4: doors", code), [exit]);
}

#[test]
fn printing_belongs_to_results_and_reports() {
    for code in ["println!(\"a\");", "print!(\"a\");", "io::stdout().lock();"] {
        assert_eq!(said_of_a_rule(code).len(), 1, "{code}");
        assert_eq!(said_of("src/sink.rs", "Floor 4: doors", code), [""; 0]);
    }
    assert_eq!(said_of_a_rule("eprintln!(\"a\"); eprint!(\"b\");"), [""; 0]);
}

#[test]
fn comments_strings_and_tests_may_name_a_reserved_call() {
    for code in [
        "// Instant::now() is not for us",
        "/* Instant::now() /* nor */ Instant::now() */",
        "let words = \"Instant::now() \\\" Instant::now()\";",
        "let words = r#\"\" Instant::now()\"#;",
        "let quote = '\"'; // Instant::now()",
        "/// [`crate::clock`]\nfn a<'a>(of: &'a str) {}",
        "#[cfg(test)]\nmod tests { fn now() { Instant::now(); } }",
    ] {
        assert_eq!(said_of_a_rule(code), [""; 0], "{code}");
    }
    let hidden = "let quote = '\"'; Instant::now(); let other = '\"';";
    assert_eq!(
        said_of_a_rule(hidden).len(),
        1,
        "a quote as a letter hides nothing"
    );
    let pretended = "// #[cfg(test)]\nInstant::now();";
    assert_eq!(
        said_of_a_rule(pretended).len(),
        1,
        "a comment starts no tests"
    );
}

#[test]
fn a_file_says_its_duty_and_its_own_floor() {
    let said = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        complaints(&Source { path, text }, &rooms(LIB))
    };
    let told = "src/units.rs:1: does not begin with `//! … Floor 1: words.`";
    assert_eq!(
        said("src/units.rs", "//! Units. Floor 1: words.\n"),
        [""; 0]
    );
    assert_eq!(
        said(
            "src/units.rs",
            "//! Units,\n//! two lines. Floor 1: words.\n"
        ),
        [""; 0]
    );
    assert_eq!(said("src/units.rs", "//! Units. Floor 3: rules.\n"), [told]);
    assert_eq!(said("src/units.rs", "use std::fmt;\n"), [told]);
    assert_eq!(
        said("src/main.rs", "//! Starts it.\nfn main() {}\n"),
        [""; 0]
    );
    assert_eq!(said("src/main.rs", "fn main() {}\n").len(), 1);
    let lost = "src/attic.rs:1: stands on no floor of src/lib.rs";
    assert_eq!(said("src/attic.rs", "//! Old. Floor 1: words.\n"), [lost]);
}

#[test]
fn nothing_is_left_to_do_in_the_source() {
    for code in ["// TODO: later", "// FIXME", "todo!()", "dbg!(x);"] {
        assert_eq!(said_of_a_rule(code).len(), 1, "{code}");
    }
    assert_eq!(said_of_a_rule("let mastodons = 1;"), [""; 0]);
}

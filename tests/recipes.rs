//! What README and the pages beside it promise: each command of README runs as it stands there, links lead somewhere,
//! and options that are named are options of the program.

#[path = "support/redis.rs"]
#[expect(dead_code, reason = "the tests of shared limits use more of it")]
mod redis_server;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use tempfile::TempDir;

/// The program under test.
const SHAPER: &str = env!("CARGO_BIN_EXE_shaper");
/// How README starts it where nothing is installed yet.
const FROM_A_CLONE: &str = "cargo run --release -- ";
/// The line of README that runs this test.
const ALL_TESTS: &str = ".ci/test";
/// Where README says that Redis is.
const REDIS: &str = "redis://127.0.0.1:6379";

/// A fenced block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    /// The heading that it stands under.
    heading: String,
    /// The word behind its fence.
    language: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README and the pages of `docs/`, each with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let docs = fs::read_dir(root().join("docs")).expect("there are pages");
    let docs = docs.map(|page| page.expect("there are pages").path());
    let docs = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut paths: Vec<_> = docs.chain([root().join("README.md")]).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a page is text");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// The fenced blocks of a page, and its lines outside of them.
fn parts(page: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut heading = "";
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(Block {
                    heading: heading.to_owned(),
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {
                let title = line
                    .strip_prefix('#')
                    .map(|rest| rest.trim_start_matches('#'));
                heading = title.map_or(heading, str::trim);
                prose.push(line);
            }
        }
    }
    assert_eq!(open, None, "a block is not closed");
    (blocks, prose)
}

/// Does what a block says, in a folder of its own where the fixtures are as in a clone.
fn done(script: &str) -> Output {
    let home = TempDir::new().expect("there is room for a temporary directory");
    let programs = home.path().join(".bin");
    fs::create_dir(&programs).expect("the directory is ours");
    symlink(SHAPER, programs.join("shaper")).expect("the directory is ours");
    symlink(root().join("fixtures"), home.path().join("fixtures")).expect("the directory is ours");
    let path = std::env::var("PATH").expect("there are programs");
    let mut shell = Command::new("bash");
    shell.args(["-e", "-u", "-o", "pipefail", "-c", script]);
    shell.current_dir(home.path()).env_clear();
    shell.env("HOME", home.path());
    shell.env("PATH", format!("{}:{path}", programs.display()));
    shell.output().expect("there is a bash")
}

#[test]
fn every_command_of_readme_runs_as_it_stands_there() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README is text");
    let (blocks, _) = parts(&readme);
    let redis = redis_server::Server::start();
    let mut commands = 0;
    let mut scripts = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if block.language != "sh" {
            continue;
        }
        let lines = block
            .text
            .lines()
            .filter(|line| !line.starts_with(ALL_TESTS));
        let script: Vec<_> = lines
            .map(|line| line.replace(FROM_A_CLONE, "shaper "))
            .collect();
        let script = script.join("\n").replace(REDIS, &redis.url());
        commands += script.matches("shaper ").count();
        let shown = blocks.get(at + 1);
        let shown = shown.filter(|next| next.language == "text" && next.heading == block.heading);
        scripts.push((block, script, shown));
    }
    assert!(commands >= 10, "only {commands} commands in README");
    thread::scope(|all| {
        for (block, script, shown) in &scripts {
            all.spawn(move || {
                let done = done(script);
                let (out, said) = (
                    String::from_utf8_lossy(&done.stdout),
                    String::from_utf8_lossy(&done.stderr),
                );
                let told = format!("{}:\n{script}\n{out}\n{said}", block.heading);
                // How long an answer takes on a busy machine is for no test to judge.
                let judged = script.contains("--fail-if") && done.status.code() == Some(5);
                assert!(done.status.success() || judged, "{}: {told}", done.status);
                if let Some(shown) = shown {
                    assert!(
                        out.contains(&shown.text),
                        "README shows\n{}{told}",
                        shown.text
                    );
                }
            });
        }
    });
}

/// As a heading is named in a link.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    let letters = letters.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
        _ => None,
    });
    letters.collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let headings = |page: &str| -> BTreeSet<String> {
        let (_, prose) = parts(page);
        let headings = prose.iter().filter_map(|line| line.strip_prefix('#'));
        headings
            .map(|rest| anchor(rest.trim_start_matches('#')))
            .collect()
    };
    let mut links = 0;
    for (path, page) in pages() {
        let (_, prose) = parts(&page);
        for target in prose.join("\n").split("](").skip(1) {
            let target = target.split(')').next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (file, part) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => path.clone(),
                file => path.parent().expect("a page lies in a folder").join(file),
            };
            assert!(file.exists(), "{}: {target} leads nowhere", path.display());
            if !part.is_empty() {
                let there = fs::read_to_string(&file).expect("a page is text");
                assert!(
                    headings(&there).contains(part),
                    "{}: {target}: no such heading, but {:?}",
                    path.display(),
                    headings(&there)
                );
            }
        }
    }
    assert!(links > 20, "only {links} links");
}

/// The names of options in a text: what stands behind two hyphens at the beginning of a word.
fn options(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|letter: char| letter.is_whitespace() || "`'\"[](),;:=|/".contains(letter));
    let named = |word: &&str| {
        word.strip_prefix("--")
            .is_some_and(|name| name.starts_with(|letter: char| letter.is_ascii_lowercase()))
    };
    let names = words.filter(named);
    let names = names.map(|word| word.trim_end_matches(['.', '…', '}']));
    let plain = |name: &&str| {
        name[2..]
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    names.filter(plain).map(str::to_owned).collect()
}

#[test]
fn options_that_pages_name_are_options_of_the_program() {
    // Of cargo, in commands that build, test and measure; and what --help itself is.
    const OTHERS: [&str; 12] = [
        "--release",
        "--bench",
        "--test",
        "--lib",
        "--doc",
        "--open",
        "--all-features",
        "--all-targets",
        "--target",
        "--profile",
        "--path",
        "--features",
    ];
    let commands = Command::new(SHAPER)
        .arg("--help")
        .output()
        .expect("it was built");
    let commands = String::from_utf8(commands.stdout).expect("help is text");
    let list = commands
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1);
    let names = list.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut known: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    known.extend(options(&commands));
    for name in names.filter(|name| !name.is_empty()) {
        let help = Command::new(SHAPER)
            .args([name, "--help"])
            .output()
            .expect("it was built");
        known.extend(options(&String::from_utf8_lossy(&help.stdout)));
    }
    assert!(known.len() > 80, "only {known:?}");
    for (path, page) in pages() {
        let unknown: Vec<_> = options(&page).difference(&known).cloned().collect();
        assert_eq!(unknown, [""; 0], "{}", path.display());
    }
}

//! What terminals of all sizes get, and files: colour on the stream that is one, lines that fit, one bar.

use std::time::Duration;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Gate, Server, Step};

const BOLD: &str = "\u{1b}[1m";

/// Twenty jobs at 50/s, one of which fails: long enough for a bar.
fn run(server: &Server) -> Shaper {
    Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["--qps", "50", "--max-attempts", "1", "-v"])
        .with_results()
}

fn server() -> Server {
    Server::answering(|ask| match ask.target {
        "/3" => Step::status(404),
        _ => Step::ok(),
    })
}

/// The report on stderr, and the one of another run on stdout while stderr is a pipe.
fn colours(env: &[(&str, &str)], args: &[&str]) -> [Output; 2] {
    let server = server();
    let with = |mut run: Shaper| {
        for (name, value) in env {
            run = run.env(name, value);
        }
        run.args(args)
    };
    let on_stderr = with(run(&server).stderr_is_a_terminal_of(100, 30)).output();
    let on_stdout = with(run(&server).stdout_is_a_terminal_of(100, 30));
    let on_stdout = on_stdout.args(["--report-file", "-"]).output();
    [on_stderr, on_stdout]
}

#[test]
fn each_stream_has_colour_if_it_is_a_terminal() {
    let [on_stderr, on_stdout] = colours(&[], &[]);
    on_stderr.exits(1).says(BOLD);
    assert!(!on_stderr.text().contains('\u{1b}'), "{on_stderr}");
    on_stdout.exits(1).never_says("\u{1b}");
    assert!(on_stdout.text().contains(BOLD), "{on_stdout}");
}

#[test]
fn no_color_is_no_escape_at_all() {
    for done in colours(&[("NO_COLOR", "1")], &[]) {
        done.exits(1).never_says("\u{1b}");
        assert!(!done.text().contains('\u{1b}'), "{done}");
    }
    let [on_stderr, _] = colours(&[("NO_COLOR", "")], &[]);
    on_stderr.exits(1).says(BOLD);
}

#[test]
fn color_always_and_never_win() {
    for done in colours(&[], &["--color", "never"]) {
        done.exits(1).never_says(BOLD);
        assert!(!done.text().contains('\u{1b}'), "{done}");
    }
    let [on_stderr, on_stdout] = colours(&[("NO_COLOR", "1")], &["--color", "always"]);
    on_stderr.says(BOLD);
    assert!(on_stdout.text().contains(BOLD), "{on_stdout}");
    let server = server();
    let piped = run(&server).args(["--color", "always"]).output();
    piped.says(BOLD);
    for (color, coloured) in [("auto", false), ("always", true)] {
        let into_a_file = run(&server)
            .args(["--color", color, "--report-file", "report.txt"])
            .stderr_is_a_terminal_of(100, 30)
            .output();
        let report = String::from_utf8(into_a_file.bytes("report.txt")).expect("it is text");
        assert_eq!(report.contains('\u{1b}'), coloured, "{report}");
    }
}

#[test]
fn help_has_the_colours_that_are_asked_for() {
    let help = |args: &[&str]| Shaper::plain().args(args);
    let plain = help(&["run", "--help"]).output();
    assert!(!plain.text().contains('\u{1b}'), "{plain}");
    let terminal = help(&["run", "--help"]).stdout_is_a_terminal_of(100, 30);
    assert!(terminal.output().text().contains(BOLD));
    let never = help(&["run", "--color", "never", "--help"]).stdout_is_a_terminal_of(100, 30);
    assert!(!never.output().text().contains('\u{1b}'));
    let no_color = help(&["run", "--help"]).stdout_is_a_terminal_of(100, 30);
    assert!(
        !no_color
            .env("NO_COLOR", "1")
            .output()
            .text()
            .contains('\u{1b}')
    );
    let always = help(&["run", "--color=always", "--help"]).output();
    assert!(always.text().contains(BOLD), "{always}");
    let wrong = help(&["run", "--nope", "--color", "always"]).ends(2);
    wrong.never_says("\u{1b}[");
}

/// The lines that stay, as they are seen.
fn seen(text: &str) -> Vec<String> {
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    let ends = lines.map(|line| line.rsplit('\r').next().unwrap_or_default());
    ends.map(str::to_owned).collect()
}

#[track_caller]
fn assert_fits(lines: &[String], columns: usize, what: &str) {
    for line in lines {
        let shown = line.replace("\u{1b}[J", "");
        // A word that is longer than the page cannot be folded.
        let words = shown.split_whitespace().count();
        let fits = shown.chars().count() <= columns || words == 1;
        assert!(fits, "{what}: {line:?} is wider than {columns}");
    }
}

#[test]
fn pages_fit_the_terminal_that_they_go_to() {
    let server = server();
    for columns in [40, 60, 80, 100] {
        let reported = run(&server)
            .env("NO_COLOR", "1")
            .stderr_is_a_terminal_of(columns, 30)
            .ends(1);
        reported.says("VERDICT");
        // What failed is told in one line, and the terminal breaks it.
        let mut page = seen(&reported.stderr);
        page.retain(|line| !line.starts_with("jobs.urls:4: "));
        assert_fits(&page, columns.into(), "report");
        for line in [
            "verify out.jsonl",
            "help limits",
            "run --help",
            "verify -h",
            "plan --help",
            "compare --help",
            "report --help",
            "--help",
        ] {
            let page = Shaper::plain()
                .file("out.jsonl", reported.bytes("out.jsonl"))
                .file("out.jsonl.run", reported.bytes("out.jsonl.run"))
                .args(line.split(' '))
                .env("NO_COLOR", "1")
                .stdout_is_a_terminal_of(columns, 30)
                .ends(0);
            assert_fits(&seen(page.text()), columns.into(), line);
        }
    }
    let without_size = run(&server).stderr_is_a_terminal_of(0, 0).ends(1);
    let widest = seen(&without_size.stderr)
        .iter()
        .map(|line| line.chars().count())
        .max();
    assert!(
        widest > Some(80),
        "a size of zero is unknown: {without_size}"
    );
}

#[test]
fn terminals_too_small_for_a_bar_get_plain_lines() {
    let server = server();
    for (columns, rows) in [(20, 5), (1, 1), (0, 0), (39, 30), (80, 7)] {
        let done = run(&server)
            .args(["--report", "none"])
            .stderr_is_a_terminal_of(columns, rows)
            .ends(1);
        done.never_says("\u{1b}")
            .never_says("in flight")
            .never_says("panicked");
        let drawn_over = done.stderr.replace("\r\n", "\n").contains('\r');
        assert!(!drawn_over, "{columns}x{rows}: {done}");
    }
}

/// What is on a terminal of 60 rows at last, each line whole; and the most bars that ever stood there at once.
fn left_on(text: &str, columns: u16) -> (String, usize) {
    let size = |of: u16| of.try_into().expect("it is above zero");
    let mut terminal = vt100::Parser::new(size(60), size(columns), 0);
    let mut most = 0;
    // Bytes are drawn in pieces: what stands there is looked at before each is taken away.
    for piece in text.split_inclusive("\u{1b}[J") {
        terminal.process(piece.trim_end_matches("\u{1b}[J").as_bytes());
        let lines = terminal.screen().contents();
        let bars = lines.lines().filter(|line| line.contains("in flight 1"));
        most = most.max(bars.count());
        terminal.process(b"\x1b[J");
    }
    (terminal.screen().contents(), most)
}

#[test]
fn a_warning_stands_in_a_line_of_its_own_above_the_bar() {
    let url = format!("/{}", "x".repeat(300));
    let server = Server::answering(move |ask| match ask.target.len() {
        301 => Step::status(404).after(Duration::from_millis(300)),
        _ => Step::ok().after(Duration::from_millis(300)),
    });
    let list = server.list(3) + &server.url(&url) + "\n" + &server.list(6);
    let done = Shaper::run()
        .jobs("jobs.urls", list)
        .args(["-c", "1", "-v", "--max-attempts", "1", "--report", "none"])
        .stderr_is_a_terminal_of(60, 60)
        .with_results()
        .ends(1);
    done.says("failed 0").says("failed 1");
    let (end, bars) = left_on(&done.stderr, 60);
    assert_eq!((bars, end.contains("in flight")), (1, false), "{done}");
    let warnings = end.lines().filter(|line| line.starts_with("jobs.urls:4: "));
    assert_eq!(warnings.count(), 1, "{end}");
}

#[test]
fn what_is_said_above_the_bar_is_whole_on_terminals_of_all_widths() {
    let gone = Server::answering(|_| Step::status(401).after(Duration::from_millis(50)));
    let job = |more: &str| format!("{{\"url\":\"{}\"{more}}}\n", gone.url("/"));
    let jobs = format!("{}\n{}", job(",\"tokns\":1"), job("").repeat(40));
    for (columns, mode) in [
        (80, "bar"),
        (60, "bar"),
        (30, "bar"),
        (60, "plain"),
        (20, "auto"),
    ] {
        let done = Shaper::run()
            .jobs("jobs.jsonl", jobs.clone())
            .args(["-c", "3", "--stop-if", "401>2"])
            .args(["--report", "none", "--progress", mode])
            .stderr_is_a_terminal_of(columns, 60)
            .with_results()
            .ends(1);
        let (end, _) = left_on(&done.stderr, columns);
        let end = end.split_whitespace().collect::<Vec<_>>().join(" ");
        for whole in [
            "unknown field \"tokns\"",
            "did you mean \"tokens\"?",
            "stopping early: 3 answers 401 (--stop-if '401>2'); finishing ",
        ] {
            assert!(end.contains(whole), "{columns} {mode}: {end}");
        }
    }
}

#[test]
fn a_terminal_that_becomes_too_small_has_no_bar_from_then_on() {
    let gate = Gate::default();
    let server = Server::start([Step::ok().behind(&gate)]);
    let mut running = Shaper::run()
        .jobs("jobs.urls", server.list(20))
        .args(["-c", "5", "--report", "none"])
        .stderr_is_a_terminal_of(120, 30)
        .with_results()
        .start();
    running.until_it_says("in flight 5");
    running.resize(30, 30);
    running.until_it_says("s 0/20 ok 0 failed 0");
    let before = running.resize(30, 30);
    gate.open();
    let done = running.wait();
    done.exits(0).never_says("panicked");
    let after = &done.stderr[before.len()..];
    assert!(!after.contains("in flight"), "{after:?} after {before:?}");
    let cleared = before.rsplit_once("\u{1b}[J").expect("it was taken away");
    assert!(
        !cleared.1.contains("in flight"),
        "the bar stays: {before:?}"
    );
}

#[test]
fn a_log_has_no_control_characters_and_few_lines() {
    let server = Server::start([Step::ok()]);
    for args in [&[][..], &["--progress", "bar"], &["--progress", "none"]] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(100))
            .args(["--qps", "200", "--report", "none"])
            .args(args)
            .with_results()
            .ends(0);
        done.never_says("\u{1b}").never_says("\r");
        assert!(done.stderr.len() < 4096, "{done}");
    }
}

//! How fast the input is read: `cargo bench --bench reading` (seconds; aim: 1.5 us for a job of 500 bytes).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::io::Write;
use std::time::Duration;

use shaper::clock::Clock;
use shaper::source::{self, Input};

/// Lines of an input.
const LINES: u64 = 200_000;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 5;

fn main() {
    read("URLs", |nth| format!("http://api.test/items/{nth}"));
    read("JSONL of 500 bytes with ids", |nth| {
        let job = format!(
            r#"{{"id":"job-{nth:06}","url":"http://api.test/v1/chat","method":"POST","headers":{{"authorization":"Bearer 0123456789abcdef"}},"body":{{"model":"small","max_tokens":200,"messages":[{{"role":"user","content":""#
        );
        let end = r#""}]}}"#;
        let text = "word ".repeat(100);
        let room = 500 - job.len() - end.len() - 1;
        format!("{job}{}{end}", &text[..room])
    });
}

fn read(name: &str, line: impl Fn(u64) -> String) {
    let mut file = tempfile::NamedTempFile::new().expect("a file for jobs");
    let text: String = (0..LINES).map(|nth| line(nth) + "\n").collect();
    file.write_all(text.as_bytes())
        .expect("there is room for jobs");
    let spec = source::Spec {
        inputs: vec![Input::File(file.path().to_owned())],
        ..source::Spec::default()
    };
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let clock = Clock::start();
            let source = source::open(&spec).expect("it was just written");
            let jobs = source.filter(|line| matches!(line, Ok(Ok(_)))).count();
            assert_eq!(jobs as u64, LINES, "every line is a job");
            Duration::from_nanos(clock.now().0).as_secs_f64()
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let seconds = rounds[ROUNDS / 2];
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let rate = LINES as f64 / seconds;
    println!("{name}: {rate:.0} lines/s, {:.2} us each", 1e6 / rate);
}

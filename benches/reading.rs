//! How fast the input is read: `cargo bench --bench reading` (seconds; aim: 700 000 native lines of 300 bytes a second
//! and core, half as many rows of a table).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::io::Write;
use std::time::Duration;

use shaper::clock::Clock;
use shaper::source::{self, Input};

/// Jobs of an input.
const JOBS: u64 = 200_000;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 5;

fn main() {
    read("URLs", &lines(|nth| format!("http://api.test/items/{nth}")));
    read("JSONL of 300 bytes", &lines(|nth| object(nth, 300)));
    read("JSONL of 500 bytes", &lines(|nth| object(nth, 500)));
    let array = lines(|nth| object(nth, 299) + ",");
    read(
        "JSON array of 300 bytes",
        &format!("[{}]", &array[..array.len() - 2]),
    );
    let head = "id,method,url,h:authorization,body\n";
    read(
        "CSV of 300 bytes",
        &(head.to_owned() + &lines(|nth| row(nth, 300))),
    );
}

fn lines(line: impl Fn(u64) -> String) -> String {
    (0..JOBS).map(|nth| line(nth) + "\n").collect()
}

/// A job of so many bytes, with what ends its line.
fn object(nth: u64, size: usize) -> String {
    let job = format!(
        r#"{{"id":"job-{nth:06}","url":"http://api.test/v1/chat","method":"POST","headers":{{"authorization":"Bearer 0123456789abcdef"}},"body":{{"model":"small","max_tokens":200,"messages":[{{"role":"user","content":""#
    );
    padded(&job, r#""}]}}"#, size)
}

/// The same as a row, whose body is quoted.
fn row(nth: u64, size: usize) -> String {
    let job = format!(
        r#"job-{nth:06},POST,http://api.test/v1/chat,Bearer 0123456789abcdef,"{{""model"":""small"",""max_tokens"":200,""messages"":[{{""role"":""user"",""content"":"""#
    );
    padded(&job, r#"""}]}""#, size)
}

fn padded(begin: &str, end: &str, size: usize) -> String {
    let text = "word ".repeat(size / 5);
    let room = size - begin.len() - end.len() - 1;
    format!("{begin}{}{end}", &text[..room])
}

fn read(name: &str, text: &str) {
    let mut file = tempfile::NamedTempFile::new().expect("a file for jobs");
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
            assert_eq!(jobs as u64, JOBS, "every one is a job");
            Duration::from_nanos(clock.now().0).as_secs_f64()
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let seconds = rounds[ROUNDS / 2];
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let rate = JOBS as f64 / seconds;
    println!("{name}: {rate:.0} jobs/s, {:.2} us each", 1e6 / rate);
}

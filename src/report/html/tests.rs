//! The page as a whole: what it may not hold, how large it is, and that a browser draws it. Floor 4: doors.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Named, page};
use crate::metrics::Metrics;
use crate::outcome::{FailureKind, Status, Try};
use crate::proof::Proof;
use crate::report::comparison::tests::sample;
use crate::report::samples::{self, HOSTILE};
use crate::report::text::text;
use crate::report::{Look, Report, html};
use crate::units::Tick;

fn page_of<const N: usize>(runs: &[(&str, &Report); N]) -> String {
    page(&runs.map(|(name, report)| Named { name, report }))
}

fn alone(report: &Report) -> String {
    page_of(&[("", report)])
}

/// Two runs, and what both are called.
fn together() -> String {
    let (one, other) = (samples::held_by_qps(), samples::held_by_slots());
    page_of(&[("qps 10", &one), (HOSTILE, &other)])
}

/// Disciplines, one of which has a name that would break out.
fn disciplines() -> String {
    let mut it = sample("10");
    it.rows[0].name = HOSTILE.to_owned();
    it.held[0].name = HOSTILE.to_owned();
    it.jobs.inputs = vec![HOSTILE.to_owned()];
    html::compared(&it)
}

#[test]
fn no_name_breaks_out_of_its_place() {
    for page in [alone(&samples::fullest()), together(), disciplines()] {
        // Three scripts and a style, and nothing that a name could have begun or ended.
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script").count(), 3);
        assert_eq!(page.matches("<style").count(), 1);
        assert!(!page.contains("<img") && !page.contains('\u{202e}'));
        assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    }
}

#[test]
fn a_page_says_when_its_run_began_if_that_is_told() {
    let date = "<time datetime=\"2026-11-30T16:10:06.975293Z\">2026-11-30 16:10:06 UTC</time>";
    assert_eq!(alone(&samples::held_by_qps()).matches(date).count(), 2);
    assert_eq!(together().matches(date).count(), 2);
    assert!(!alone(&samples::recorded()).contains("<time"));
}

#[test]
fn a_page_says_of_conditions_and_of_what_is_not_known_what_the_text_says() {
    let conditions = ["failed>5%", "rate<1/s"].map(|condition| condition.parse().unwrap());
    let report = samples::recorded().judged(&conditions);
    let text = text(&report, Look::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let page = alone(&report).replace("&gt;", ">").replace("&lt;", "<");
    for said in [
        "true: failed = 10 % > 5 % (400 of 4000)",
        "false: rate < 1.00/s, it is ",
        "nothing tells the limits",
        "nothing tells its steady part",
        "3940 of 4000 jobs were first sent over 100 ms after they were due, held by slots",
        "standing.jsonl: 4000 results, 7 of them replaced by a later one of the same job; line 4001 is torn",
    ] {
        assert!(text.contains(said), "{said} in {text}");
        assert!(page.contains(said), "{said} in the page");
    }
    let both = page_of(&[("a", &report), ("b", &samples::held_by_qps())]);
    let (heading, _) = both.split_once("</header>").unwrap();
    assert!(heading.contains("true: failed = 10 %"), "{heading}");
}

#[test]
fn nothing_is_asked_of_any_network_and_no_other_script_may_run() {
    for (name, report) in samples::all() {
        let page = alone(&report);
        let policy = "content=\"default-src 'none'; script-src 'sha256-";
        assert!(page.contains(policy), "{name}");
        assert!(
            !page.contains("unsafe-") && !page.contains("connect-src"),
            "{name}"
        );
        let beginnings = [
            "src=\"",
            "href=\"http",
            "url(",
            "@import",
            " style=\"",
            " onclick",
        ];
        // What the script of the charts has in its strings is no markup.
        let (markup, _) = page.split_once("<script>").unwrap();
        for begins in beginnings {
            assert!(!markup.contains(begins), "{name}: {begins}");
        }
    }
}

#[test]
fn every_id_is_there_once_and_every_link_leads_to_one() {
    for page in [alone(&samples::fullest()), together(), disciplines()] {
        let values = |attribute: &str| -> Vec<String> {
            let each = page.split(attribute).skip(1);
            each.map(|rest| rest.split('"').next().unwrap().to_owned())
                .collect()
        };
        let mut ids = values(" id=\"");
        ids.sort();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all, "{ids:?}");
        for link in values("href=\"#") {
            assert!(ids.contains(&link), "{link} of {ids:?}");
        }
    }
}

#[test]
fn a_million_jobs_make_a_page_far_below_three_megabytes() {
    let mut metrics = Metrics::new(Duration::ZERO, Proof::nothing());
    let at = |nanos: u64| Tick(nanos);
    for job in 0..1_000_000_u64 {
        let (sent, end) = (
            at(job * 3_000_000),
            at(job * 3_000_000 + 2_000_000 + job % 999_983),
        );
        metrics.advance(sent);
        metrics.granted(sent, sent);
        metrics.advance(end);
        let done = Try {
            due: sent,
            granted: sent,
            sent: Some(sent),
            connected: None,
            first_byte: Some(end),
            done: end,
            status: http::StatusCode::from_u16(200 + u16::try_from(job % 300).unwrap()).ok(),
            retry_after: None,
            failure: None,
            units: None,
            stream: None,
            hops: Vec::new(),
        };
        metrics.ended(end, &done, &crate::job::Keys::default());
        metrics.read();
        metrics.recorded(Status::Ok);
    }
    let mut summary = metrics.close(at(3_000_000_000_000));
    summary.tally.failures.insert(FailureKind::Http, 1);
    for micros in 0..1_000_000 {
        summary
            .tally
            .service
            .ok
            .add(Duration::from_micros(micros * 7));
        summary
            .tally
            .since_due
            .failed
            .add(Duration::from_micros(micros * 3_000));
    }
    let report = Report::new(
        summary,
        samples::setup(20, &[("qps", "10")]),
        samples::facts(),
    );
    let size = alone(&report).len();
    assert!((60_000..400_000).contains(&size), "{size}");
}

/// The first browser of this family that is installed.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|it| it.status.success())
    };
    names.into_iter().find(is_there)
}

/// The page as it is when its scripts have run.
fn drawn(browser: &str, folder: &Path, page: &str) -> String {
    let path = folder.join("page.html");
    std::fs::write(&path, page).unwrap();
    let done = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1280,2000",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").to_string_lossy()
        ))
        .args(["--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("file://{}", path.to_string_lossy()))
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_browser_draws_every_chart_without_an_error() {
    let Some(browser) = browser() else {
        // Told although the test passes.
        let _ = writeln!(io::stderr(), "not drawn: no Chromium is installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [whole, empty, fullest] =
        [samples::held_by_qps(), samples::empty(), samples::fullest()].map(|it| alone(&it));
    let together = together().replace("<details class=\"run\">", "<details class=\"run\" open>");
    for (page, charts) in [
        (whole, 5),
        (empty, 0),
        (fullest, 5),
        (together, 3 + 2 * 5),
        (disciplines(), 1),
    ] {
        let dom = drawn(browser, folder.path(), &page);
        let (root, _) = dom.split_once("<head>").unwrap_or((&dom, ""));
        assert!(!root.contains("data-error"), "{root}");
        assert_eq!(dom.matches("data-chart=\"").count(), charts, "{root}");
        assert_eq!(dom.matches("data-drawn=\"").count(), charts, "{root}");
        assert_eq!(
            dom.matches("<ul class=\"legend\">").count(),
            charts,
            "{root}"
        );
    }
}

//! A real nginx that takes five requests on each connection and then goes away, as it does by default after a thousand.

use crate::support::nginx::Nginx;
use crate::support::program::Shaper;
use crate::support::secure::fixture;

/// Which of its addresses is asked.
type Base = fn(&Nginx) -> String;

/// Jobs of a run, and how many of them are in flight.
const JOBS: usize = 400;
const SLOTS: &str = "20";

#[test]
fn a_server_that_goes_away_after_five_requests_sees_each_job_once_in_one_try() {
    for (base, version, options) in [
        (Nginx::http_1 as Base, "HTTP/1.1", ["--transport", "direct"]),
        (Nginx::http_1, "HTTP/1.1", ["--transport", "reqwest"]),
        (Nginx::http_2, "HTTP/2.0", ["--transport", "auto"]),
        (Nginx::https, "HTTP/2.0", ["--transport", "auto"]),
    ] {
        let nginx = Nginx::closing_after(5);
        let base = base(&nginx);
        let list: Vec<_> = (0..JOBS).map(|job| format!("{base}/{job}")).collect();
        let authority = fixture("ca.pem");
        let done = Shaper::run()
            .args(["-", "-c", SLOTS, "-X", "POST", "--data", "x"])
            .args(["--cacert", &authority])
            .args(options)
            .args((version == "HTTP/2.0").then_some("--http2"))
            .stdin(list.join("\n"))
            .with_results()
            .ends(0);
        let results = done.results();
        assert_eq!(results.len(), JOBS, "{base}");
        for result in &results {
            assert_eq!(result["attempts"], 1, "{base}: {result}");
        }
        let mut expected: Vec<_> = (0..JOBS).map(|job| format!("/{job} {version}")).collect();
        expected.sort_unstable();
        assert_eq!(nginx.log(JOBS), expected, "{base} {options:?}");
    }
}

//! Pages about comparisons, on every width. Floor 4: doors.

use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::report::{Glyphs, Look, Paint, html};
use crate::terminal::Columns;
use crate::units::Tick;

fn raster(rate: &Rate) -> Raster {
    let mut raster = Raster::new(rate, rate);
    for nth in 0..30 {
        let at = Tick(nth * 70_000_000);
        raster.sent(at);
        if nth % 3 == 0 {
            raster.refused(at);
        }
    }
    raster
}

fn figures(rate: &Rate, refused: u64) -> Box<Figures> {
    let mut timeline = Timeline::default();
    timeline.sent(Tick::ZERO);
    Box::new(Figures {
        sends: 1_000,
        rate: Some(408.0),
        most_in_short: 40,
        most_in_long: 400,
        not_sent: 7,
        ok: 993 - refused,
        refused,
        others: Others::default(),
        p50: Some(Duration::from_millis(1_250)),
        p99: Some(Duration::from_secs(2_500)),
        peak_in_flight: 20,
        finish: Duration::from_millis(2_500),
        bound_by: "slots".to_owned(),
        mean: Some(Duration::from_millis(50)),
        means: Some(Means {
            ended: 900,
            rate: 400.0,
            latency: Duration::from_millis(50),
        }),
        raster: raster(rate),
        timeline,
    })
}

/// A semaphore that is refused, a rate, one that was not run, and whatever the user has named.
pub(in crate::report) fn sample(rate: &str) -> Comparison {
    let rate: Rate = rate.parse().unwrap();
    let row = |key, name: &str, seen| Row {
        key,
        name: name.to_owned(),
        seen,
    };
    let still = Still {
        rate: 400.0,
        in_flight: Some(20.0),
    };
    let held = |key, name: &str| Held {
        key,
        name: name.to_owned(),
        columns: vec![still; 4],
    };
    Comparison {
        numbers: Numbers {
            slots: Cost::new(20).unwrap(),
            burst: Cost::new(40).unwrap(),
            window: rate.clone(),
            tpm: None,
            own: Vec::new(),
            seed: 3,
            rate: rate.clone(),
        },
        jobs: Jobs {
            count: 1_000,
            units: None,
            inputs: vec!["jobs.jsonl".to_owned()],
            invalid: 2,
            span: Duration::from_secs(12),
        },
        world: World::Virtual("latency=50ms,limit=10/s window".parse().unwrap()),
        latencies: [50, 100, 2_000, 5_000]
            .map(|millis| Latency::Fixed(Duration::from_millis(millis)))
            .into(),
        held: vec![
            held("semaphore", "semaphore 20"),
            held("qps", "qps 10"),
            held("both", "semaphore 20 + qps 10"),
        ],
        rows: vec![
            row("semaphore", "semaphore 20", Seen::Run(figures(&rate, 970))),
            row("qps", "qps 10", Seen::Run(figures(&rate, 0))),
            row(
                "early",
                "permits early",
                Seen::NotRun("in virtual time only".to_owned()),
            ),
            row(
                "limit",
                "--limit tokens 4000/m bucket burst=4000 + 100/m window",
                Seen::Run(figures(&rate, 12)),
            ),
        ],
        spike: Some(Spike {
            jobs: 100,
            before: Duration::from_millis(50),
            rows: vec![Spiked {
                key: "fixed",
                name: "fixed window 100/s".to_owned(),
                most: 200,
                not_sent: 0,
            }],
        }),
        cut: Some(Signal::Interrupt),
    }
}

fn page(comparison: &Comparison, columns: usize) -> String {
    let look = Look {
        columns: Columns::new(columns),
        ..Look::default()
    };
    text(comparison, look)
}

#[test]
fn no_page_is_wider_than_its_columns_and_none_tears_a_number_from_its_unit() {
    for columns in 40..=100 {
        for rate in ["10", "1/h", "1000000/s"] {
            let page = page(&sample(rate), columns);
            for line in page.lines() {
                assert!(
                    line.chars().count() <= columns,
                    "{columns}: {line:?} in\n{page}"
                );
                let first = line.split_whitespace().next().unwrap_or_default();
                assert!(
                    !["s", "ms", "min", "/s"].contains(&first),
                    "{columns}:\n{page}"
                );
                assert_eq!(line, line.trim_end(), "{columns}:\n{page}");
            }
            for word in [
                "993",
                "2000/s",
                "41m 40s",
                "2 invalid lines",
                "Ctrl-C",
                "THEORY",
            ] {
                let flat = page.replace('\n', " ");
                let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(flat.contains(word), "no {word} at {columns}:\n{page}");
            }
        }
    }
}

#[test]
fn a_discipline_that_was_not_run_says_why() {
    let page = page(&sample("10"), 100);
    let line = page
        .lines()
        .find(|line| line.contains("in virtual time only"));
    let line = line.unwrap_or_else(|| panic!("{page}"));
    assert!(
        line.starts_with("  permits early  ") && line.contains(" — in"),
        "{page}"
    );
    let object = json(&sample("10"));
    let rows = object["disciplines"].as_array().unwrap();
    assert_eq!(rows[2]["not_run"], "in virtual time only");
    assert_eq!(rows[2]["sends"], Value::Null);
}

#[test]
fn refused_sends_are_red_and_only_where_colour_is_wanted() {
    let sample = sample("10");
    assert!(!page(&sample, 100).contains('\u{1b}'));
    let colour = text(
        &sample,
        Look {
            paint: Paint::Colour,
            ..Look::default()
        },
    );
    assert!(colour.contains("\u{1b}[31m▁\u{1b}[0m▁"), "{colour}");
    for heading in [
        "WHAT STAYS CONSTANT",
        "THE SAME 1000 JOBS AT 50 ms",
        "FIGURES",
        "THEORY",
    ] {
        assert!(
            colour.contains(&format!("\u{1b}[1m{heading}\u{1b}[0m")),
            "{colour}"
        );
    }
    let plain = colour.replace("\u{1b}[31m", "").replace("\u{1b}[1m", "");
    assert_eq!(plain.replace("\u{1b}[0m", ""), page(&sample, 100));
}

#[test]
fn a_page_in_ascii_has_seven_bits() {
    let look = Look {
        glyphs: Glyphs::Ascii,
        ..Look::default()
    };
    let page = text(&sample("10"), look);
    assert!(page.is_ascii(), "{page}");
}

#[test]
fn the_object_for_programs_has_every_figure_and_what_was_sent_when() {
    let object = json(&sample("10"));
    let row = &object["disciplines"][0];
    for (key, value) in [
        ("sends", 1_000),
        ("most_in_100_ms", 40),
        ("most_in_1_s", 400),
        ("not_sent", 7),
        ("ok", 23),
        ("refused_429", 970),
        ("peak_in_flight", 20),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    assert_eq!(
        (&row["p50_ms"], &row["done_ms"]),
        (&1_250.0.into(), &2_500.0.into())
    );
    assert_eq!(row["raster"]["sent"].as_array().unwrap().len(), CELLS);
    assert_eq!(row["timeline"]["sent"][0], 1);
    assert_eq!(object["ended"], "interrupted");
    assert_eq!(object["spike"]["disciplines"][0]["rate_per_s"], 2_000.0);
    let flat = figures_only(object);
    assert_eq!(flat["disciplines"][0]["raster"], Value::Null);
    assert_eq!(flat["disciplines"][0]["ok"], 23);
}

#[test]
fn the_page_with_charts_has_the_figures_of_the_text_and_draws_what_was_sent() {
    let sample = sample("10");
    let html = html::compared(&sample);
    let flat = page(&sample, 100);
    for row in &sample.rows {
        assert!(html.contains(&format!("<bdi>{}</bdi>", row.name)), "{html}");
        let Some(seen) = row.figures() else {
            assert!(html.contains("\u{2014} in virtual time only"), "{html}");
            continue;
        };
        let cells = words::figures(seen, "-");
        let mut lines = flat.lines();
        let line = lines.find(|line| cells.iter().all(|cell| line.contains(&**cell)));
        assert!(line.is_some(), "{cells:?} in {flat}");
        let cells = cells.iter().map(|cell| format!("<bdi>{cell}</bdi></td>"));
        let (_, rest) = html
            .split_once(&format!("<bdi>{}</bdi>", row.name))
            .unwrap();
        let (own, _) = rest.split_once("</tr>").unwrap();
        for cell in cells {
            assert!(own.contains(&cell), "no {cell} in {own}");
        }
    }
    for told in [sample.theory().unwrap(), sample.crossing().unwrap()] {
        let told = told.replace('\'', "&#39;");
        assert!(html.contains(&told), "no {told}");
    }
    for told in ["Ended early by Ctrl-C", ">2000/s</td>", ">200</td>"] {
        assert!(html.contains(told), "no {told}");
    }
    let (_, data) = html.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let runs = data["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    let time = &runs[0]["time"];
    let sent = time["sent"][0].as_f64().unwrap() * time["width"].as_f64().unwrap();
    assert!((sent - 1.0).abs() < 1e-9, "{time}");
}

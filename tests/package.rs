//! What goes out as a package: whose licences are in it, and that what it says of itself is true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask of a program for no more than that their text goes with it.
const LICENCES: [&str; 9] = [
    "0BSD",
    "Apache-2.0",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// What cargo prints.
fn cargo(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    let done = command.output().expect("cargo runs this test");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "cargo {args:?}: {said}");
    String::from_utf8(done.stdout).expect("cargo prints text")
}

/// Whether a licence of SPDX is one of ours: of alternatives one, of what is joined all.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.replace(['(', ')'], " ").replace('/', " OR ");
    licence.split(" AND ").all(|part| {
        let mut choices = part.split(" OR ").map(str::trim);
        choices.any(|choice| LICENCES.contains(&choice))
    })
}

#[test]
fn a_licence_is_read_as_it_is_meant() {
    for licence in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "Apache-2.0 AND ISC",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
    ] {
        assert!(is_allowed(licence), "{licence}");
    }
    for licence in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND MPL-2.0", ""] {
        assert!(!is_allowed(licence), "{licence}");
    }
}

#[test]
fn every_crate_in_the_program_has_a_licence_that_asks_for_no_more_than_its_text() {
    let host = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("there is a compiler");
    let host = String::from_utf8(host.stdout).expect("it prints text");
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("it tells its host");
    let told = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--offline",
        "--filter-platform",
        host,
    ]);
    let told: Value = serde_json::from_str(&told).expect("it is JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, Value> = list(&told["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let mut inside = BTreeSet::new();
    let mut ahead = vec![text(&told["resolve"]["root"])];
    while let Some(id) = ahead.pop() {
        for dependency in list(&nodes[&id]["deps"]) {
            let mut kinds = list(&dependency["dep_kinds"]).into_iter();
            if kinds.any(|kind| kind["kind"] != "dev") && inside.insert(text(&dependency["pkg"])) {
                ahead.push(text(&dependency["pkg"]));
            }
        }
    }
    assert!(inside.len() > 100, "only {inside:?}");
    for package in list(&told["packages"]) {
        let licence = text(&package["license"]);
        if inside.contains(&text(&package["id"])) {
            assert!(is_allowed(&licence), "{}: {licence}", package["name"]);
        }
    }
}

#[test]
fn the_package_has_the_texts_of_its_licences_and_all_that_readme_leads_to() {
    let licence = read("LICENSE");
    for words in [
        "MIT License",
        "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
        "uPlot",
    ] {
        assert!(licence.contains(words), "no {words:?} in LICENSE");
    }
    assert!(read("src/report/html/uplot/LICENSE").contains("MIT"));
    let inside = cargo(&["package", "--list", "--allow-dirty", "--offline", "--quiet"]);
    let inside: BTreeSet<&str> = inside.lines().collect();
    for name in [
        "LICENSE",
        "README.md",
        "docs/CONTRIBUTING.md",
        "fixtures/report.svg",
        "src/report/html/uplot/LICENSE",
        "completions/_shaper",
    ] {
        assert!(inside.contains(name), "{name} is not in the package");
    }
}

#[test]
fn the_oldest_rust_that_is_enough_is_the_same_wherever_it_is_told() {
    let manifest = read("Cargo.toml");
    let told = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    let told = told.expect("it is told").trim_matches('"');
    assert!(read("README.md").contains(&format!("Rust {told} or later")));
}

/// Clippy knows since when a function of the library is there, and not since when the language has a form.
#[test]
fn no_arm_has_a_guard_that_binds_which_older_compilers_do_not_know() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src is readable") {
            let path = entry.expect("src is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("source is UTF-8");
                for (nth, line) in text.lines().enumerate() {
                    let line = line.trim();
                    let guard = line.split_once(" if let ");
                    let guards = guard.is_some_and(|(before, behind)| {
                        !before.ends_with("else") && behind.contains(" => ")
                    });
                    assert!(!guards, "{}:{}: {line}", path.display(), nth + 1);
                }
            }
        }
    }
}

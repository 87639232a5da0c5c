//! The normative vectors: requests, limiters, and the exact moments of admission.

use std::time::Duration;

use serde_json::{Value, json};
use shaper::limit::{Anchor, Counts, Kind, Spec};
use shaper::units::{Cost, Rate};

/// All of them.
pub(crate) fn vectors() -> Vec<Value> {
    let text = include_str!("../../fixtures/vectors/limits.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let all = list(&all["scenarios"]).to_vec();
    assert_eq!(all.len(), 27);
    all
}

/// The requests of one; those of the longest are said in words.
pub(crate) fn requests(vector: &Value) -> Vec<Value> {
    match list(&vector["requests"]) {
        [] => (0..5000)
            .map(|id| json!({"id": id, "t": 0, "cost": {"l": 1}}))
            .collect(),
        requests => requests.to_vec(),
    }
}

/// The limit that a limiter is, by what a number of its times means.
pub(crate) fn limit(spec: &Value, counts: Counts, time: fn(u64) -> Duration) -> Spec {
    let number = |key: &str| spec[key].as_u64();
    let rate = Rate::new(number("limit").unwrap(), time(number("period").unwrap())).unwrap();
    let capacity = number("cap")
        .or(number("burst"))
        .unwrap_or(rate.count.get());
    let mut limit = Spec::bucket("l", counts, rate, Cost::new(capacity).unwrap());
    limit.start = number("initial").unwrap_or(capacity);
    limit.kind = match spec["kind"].as_str().unwrap() {
        "token_bucket" => Kind::BUCKET,
        "gcra" => Kind::LEAKY,
        "sliding_log" => Kind::WINDOW,
        "sliding_counter" => Kind::COUNTER,
        "fixed_window" => Kind::FIXED,
        other => panic!("{other} is not tried here"),
    };
    if spec["anchor"] == "first" {
        limit.anchor = Anchor::First;
    }
    limit
}

/// The elements of an array, none of what is no array.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A member that is there.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap()
}

//! What a store holds, for those who only look: who shares its limits, and what is left of each. Floor 4: doors.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::address::Address;
use super::link::Link;
use super::lore::lore;
use super::request::{Request, common_keys};
use super::shared::{LEARNT, as_json};
use crate::clock::Clock;
use crate::error::{Exit, Problem};
use crate::shared::{Lane, Member, Shared, Status, Value};

/// So many digits tell a lane or a value from others.
const NAME: usize = 12;

/// Without a mark of its own: it is no member.
#[derive(Serialize)]
struct Asks<'a> {
    member: &'a str,
    mark: &'a str,
    slack: u64,
    states: Vec<(usize, usize)>,
    look: Seen<'a>,
}

/// Members to be told of, and the number of the key before their first.
#[derive(Serialize)]
struct Seen<'a> {
    members: &'a [String],
    first: usize,
}

/// What of a limit matters here.
#[derive(Deserialize)]
struct Rule {
    kind: String,
    per: String,
}

/// Looks once. `None` if nobody shares limits under this name, or has of late.
pub async fn look(
    address: &Address,
    name: &str,
    timeout: Duration,
    clock: Clock,
) -> Result<Option<Status>, Problem> {
    let mut link = Link::new(address.clone(), timeout, clock);
    let mut keys = common_keys(name, "");
    let mut command = redis::cmd("HMGET");
    command
        .arg(&keys[0])
        .arg(&["mark", "limits", "texts", "stems"]);
    let asked = link.asks(&command).await;
    let run: Vec<Option<String>> = asked.map_err(|trouble| link.problem(&trouble))?;
    let [Some(mark), Some(limits), Some(texts), Some(stems)] = &run[..] else {
        return Ok(None);
    };
    let (rules, texts, stems) = (read::<Rule>(limits)?, read(texts)?, read::<String>(stems)?);
    let mut command = redis::cmd("ZRANGE");
    command.arg(&keys[1]).arg(0).arg(-1);
    let asked = link.asks(&command).await;
    let members: Vec<String> = asked.map_err(|trouble| link.problem(&trouble))?;
    let mut command = redis::cmd("ZRANGE");
    command.arg(&keys[6]).arg(0).arg(-1);
    let asked = link.asks(&command).await;
    let recent: Vec<String> = asked.map_err(|trouble| link.problem(&trouble))?;
    let mut states = Vec::new();
    let before = keys.len();
    for (place, (rule, stem)) in rules.iter().zip(stems).enumerate() {
        let of_values = format!("{stem}:");
        let all = if rule.per.is_empty() {
            vec![stem]
        } else {
            let own = recent.iter().filter(|key| key.starts_with(&of_values));
            own.cloned().collect()
        };
        for state in all {
            states.push((place, keys.len() - before));
            let log = ["window", "slots"]
                .contains(&&*rule.kind)
                .then(|| format!("{state}:log"));
            keys.push(state);
            keys.extend(log);
        }
    }
    let asks = Asks {
        member: "",
        mark,
        slack: 0,
        states,
        look: Seen {
            members: &members,
            first: keys.len(),
        },
    };
    let body = as_json(&asks);
    let records = members
        .iter()
        .map(|member| common_keys(name, member).swap_remove(2));
    keys.extend(records);
    let asked = link.send(&Request { keys, body }).await;
    let reply = asked.map_err(|trouble| link.problem(&trouble))?;
    if reply == "emptied" {
        return Ok(None);
    }
    let seen: Json = serde_json::from_str(&reply).map_err(|_| unread())?;
    Ok(Some(Status {
        members: list(&seen["members"]).map(member).collect(),
        limits: list(&seen["limits"])
            .zip(&rules)
            .zip(texts)
            .map(limit)
            .filter(Shared::tells)
            .collect(),
    }))
}

fn member(seen: &Json) -> Member {
    Member {
        place: seen["place"].as_str().unwrap_or_default().to_owned(),
        since: Duration::from_micros(number(&seen["since"])),
        heard: Duration::from_micros(number(&seen["heard"])),
        asks: number(&seen["waiting"]),
    }
}

fn lane(seen: &Json) -> Option<Lane> {
    let lore = lore(seen)?;
    Some(Lane {
        name: name(&lore.key),
        known: lore.known,
    })
}

fn value(seen: &Json) -> Value {
    Value {
        name: name(seen["key"].as_str().unwrap_or_default()),
        fits: number(&seen["fits"]),
        waiting: number(&seen["waiting"]),
    }
}

/// The beginning of the hash at the end of a key.
fn name(key: &str) -> String {
    let hash = key.rsplit(':').next().unwrap_or_default();
    hash.chars().take(NAME).collect()
}

fn limit(((seen, rule), text): ((&Json, &Rule), String)) -> Shared {
    let fits = seen.get("fits").map(number);
    let learns = rule.kind == LEARNT;
    let mut values: Vec<Value> = list(&seen["values"]).map(value).collect();
    values.sort_by_key(|value| value.fits);
    let used = list(&seen["used"]).map(|used| used.as_str()?.parse().ok());
    Shared {
        text,
        most: number(&seen["most"]),
        now: fits.map(|fits| (fits, number(&seen["waiting"]))),
        used: used.map(Option::unwrap_or_default).collect(),
        values,
        learnt: learns.then(|| list(&seen["learnt"]).filter_map(lane).collect()),
    }
}

/// The script writes an empty list like an empty object.
fn list(seen: &Json) -> impl Iterator<Item = &Json> {
    seen.as_array().into_iter().flatten()
}

/// Large ones are texts, which no reader rounds.
fn number(seen: &Json) -> u64 {
    let text = seen.as_str().and_then(|text| text.parse().ok());
    text.or(seen.as_u64()).unwrap_or_default()
}

fn read<T: for<'a> Deserialize<'a>>(text: &str) -> Result<Vec<T>, Problem> {
    serde_json::from_str(text).map_err(|_| unread())
}

fn unread() -> Problem {
    let what = "the store holds what cannot be read";
    Problem::new(
        Exit::Store,
        what,
        "use one version of this program for all who share it",
    )
}

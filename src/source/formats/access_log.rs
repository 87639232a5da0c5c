//! Lines of access logs: the combined form of nginx and Apache, and JSON with their names. Floor 4: doors.

use std::borrow::Cow;
use std::time::Duration;

use http::Method;

use super::{Asked, Known, Needs, Read, Shows};
use crate::json::{Member, Pointer};
use crate::source::at::{self, At, Stamp};
use crate::source::draft::{self, Content, Draft, Fault, Reach};
use crate::source::framing::Frame;
use crate::source::log_fields::{self, LogFields, Took};
use crate::source::members::{self, Context, Said};
use crate::source::opening::First;

pub(super) const FORMAT: Known = Known {
    name: "access-log",
    extensions: &["log"],
    shows,
    frame: |_| Some(Frame::Lines),
    is_comment,
    needs: Needs::Base,
    has_rows: false,
    fields: &[],
    read,
};

/// A line with a moment in brackets and a quoted request behind it, or an object with a `request` and no `url`.
fn shows(first: &First<'_>) -> Shows {
    if first.byte() == Some(b'{') {
        return first.shows_object(|names| {
            let has_one = |of: &[&str]| of.iter().any(|name| names.contains(&name.as_bytes()));
            has_one(&REQUESTS) || has_one(&METHODS) && has_one(&TARGETS)
        });
    }
    if first.byte() == Some(b'[') {
        return Shows::ByName;
    }
    match first.line() {
        Some(line) if str::from_utf8(line).is_ok_and(|line| bracketed(line).is_some()) => {
            Shows::Surely
        }
        Some(_) => Shows::ByName,
        None => Shows::Open,
    }
}

/// `#` begins a remark of the server.
fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

/// Names that a JSON log may have for a request line, and for its parts.
const REQUESTS: [&str; 1] = ["request"];
const METHODS: [&str; 3] = ["request_method", "method", "verb"];
const TARGETS: [&str; 4] = ["request_uri", "uri", "path", "request_path"];
/// For the moment at which it ended, and for the seconds that it took.
const MOMENTS: [&str; 6] = [
    "time_iso8601",
    "time_local",
    "@timestamp",
    "timestamp",
    "time",
    "msec",
];
const SPANS: [&str; 2] = ["request_time", "duration"];

/// Reads a line.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let entry = asked.record.text().and_then(|line| {
        if line.trim_start().starts_with('{') {
            let members = members::read(line, asked.record.end)?;
            match asked.log_fields {
                Some(fields) => mapped(line, &members, fields, asked.has_base),
                None => object(line, &members),
            }
        } else {
            combined(line)
        }
    });
    let draft = entry.and_then(|entry| {
        asked.keeper.second = entry.second;
        entry.draft()
    });
    (None, draft)
}

/// What a line tells of a request, and where.
struct Entry<'a> {
    /// `None` if the log does not tell.
    method: Option<String>,
    /// What the target is on, if that is not for the command line to say.
    server: Option<String>,
    target: String,
    body: Said<'a>,
    column: u64,
    /// When it began.
    at: Stamp<'a>,
    /// In which second it ended, if no more is known of that.
    second: Option<u64>,
}

/// What a log says of when a request ended.
#[derive(Clone, Copy)]
struct Moment {
    /// Since the Unix epoch.
    at: Duration,
    grain: Grain,
}

#[derive(Clone, Copy)]
enum Grain {
    Second,
    Finer,
}

impl Moment {
    /// Of a text that is a date, as logs or as RFC 3339 write it, or seconds.
    fn of(text: &str) -> Option<Self> {
        let at = date(text)
            .or_else(|| at::date_time(text))
            .or_else(|| seconds(text))?;
        let grain = if text.contains('.') {
            Grain::Finer
        } else {
            Grain::Second
        };
        Some(Self { at, grain })
    }

    /// The same of a JSON value.
    fn of_json(value: &str) -> Option<Self> {
        match serde_json::from_str::<String>(value) {
            Ok(text) => Self::of(&text),
            Err(_) => Self::of(value),
        }
    }

    /// What was taken for seconds and is too late for that, 3000 years from now, is milliseconds.
    fn or_millis(self) -> Self {
        const LATE: Duration = Duration::from_secs(100_000_000_000);
        if self.at < LATE {
            return self;
        }
        Self {
            at: self.at / 1000,
            grain: Grain::Finer,
        }
    }

    /// The second, if no more is known.
    fn second(self) -> Option<u64> {
        match self.grain {
            Grain::Second => Some(self.at.as_secs()),
            Grain::Finer => None,
        }
    }
}

impl<'a> Entry<'a> {
    fn draft(self) -> Result<Draft<'a>, Fault> {
        let is_plain = self.method.as_ref().is_none_or(|method| {
            !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
        });
        let why = match (self.method.as_deref(), &*self.target) {
            _ if !is_plain => Some("malformed request"),
            (Some("CONNECT"), _) => Some("a tunnel (CONNECT), and no request to a server"),
            (_, "*") => Some("asks for no path (*)"),
            (_, target) if !target.starts_with('/') => Some("malformed request"),
            (..) => None,
        };
        if let Some(why) = why {
            return Err(Fault::skipped(self.column, why));
        }
        let method = self.method.as_deref().and_then(draft::method);
        let has_body = [Method::POST, Method::PUT, Method::PATCH];
        let lacks = method
            .as_ref()
            .is_some_and(|method| has_body.contains(method));
        let (body, content) = self.body;
        let url = match self.server {
            Some(server) => server + &self.target,
            None => draft::on_its_server(&self.target).into_owned(),
        };
        Ok(Draft {
            method,
            reach: Reach::Base,
            body,
            content,
            lacks_body: lacks.then_some("a log has no body of it, and --data gives none"),
            at: Some(self.at),
            ..Draft::of_url(url, self.column)
        })
    }
}

fn no_line(column: u64) -> Fault {
    Fault::new(
        column,
        "this is no line of an access log",
        "a line has [10/Oct/2025:13:55:36 +0000] \"GET /a HTTP/1.1\", or is an object",
    )
}

/// `host ident user [moment] "request" status bytes "referer" "agent"`, and the seconds that it took, if they are there.
fn combined(line: &str) -> Result<Entry<'_>, Fault> {
    let (moment, behind) = bracketed(line).ok_or_else(|| no_line(1))?;
    let column = (line.len() - behind.len()) as u64 + 1;
    let quoted = behind
        .trim_start()
        .strip_prefix('"')
        .ok_or_else(|| no_line(column))?;
    let column = (line.len() - quoted.len()) as u64 + 1;
    let end = closing(quoted).ok_or_else(|| no_line(column))?;
    let request = unescaped(&quoted[..end]);
    let (method, target) = parts(&request);
    let last = quoted[end + 1..].rsplit(' ').next().unwrap_or_default();
    let took = last.contains('.').then(|| seconds(last)).flatten();
    let ended = Moment::of(moment);
    let at = ended.map(|ended| At::Known(ended.at.saturating_sub(took.unwrap_or_default())));
    Ok(Entry {
        method: Some(method.to_owned()),
        target: target.into_owned(),
        column,
        at: stamp("time_local", at),
        second: ended.and_then(Moment::second),
        server: None,
        body: (None, Content::Other),
    })
}

/// The moment in brackets that a line has before its request, and what stands behind it.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = line[from..].find('[') {
        from += at + 1;
        let (moment, behind) = line[from..].split_once(']')?;
        if date(moment).is_some() {
            return Some((moment, behind));
        }
    }
    None
}

/// Where a quoted text ends.
fn closing(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// A quoted text as it was: nginx writes `\xHH` for what is no plain ASCII, others `\"` and `\\`, too.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        let escaped = match (byte, behind) {
            (b'\\', [b'x', high, low, ..]) => hex(*high, *low).map(|byte| (byte, 4)),
            (b'\\', [quoted @ (b'"' | b'\\'), ..]) => Some((*quoted, 2)),
            _ => None,
        };
        let (byte, length) = escaped.unwrap_or((*byte, 1));
        plain.push(byte);
        rest = &rest[length..];
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// Method and target of a request line. A target may have blanks; a version stands behind the last one. Proxies are asked
/// for whole URLs, and servers may be (RFC 9112 §3.2.2): all goes to one server, whichever they name.
fn parts(request: &str) -> (&str, Cow<'_, str>) {
    let (method, rest) = request.split_once(' ').unwrap_or((request, ""));
    let split = rest
        .rsplit_once(' ')
        .filter(|(_, last)| last.starts_with("HTTP/"));
    let (_, target) = placed(split.map_or(rest, |(target, _)| target));
    (method, target)
}

/// `10/Oct/2025:13:55:36 +0000`, since the Unix epoch.
fn date(text: &str) -> Option<Duration> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (date, zone) = text.split_once(' ')?;
    let (day, rest) = date.split_once('/')?;
    let (month, rest) = rest.split_once('/')?;
    let (year, time) = rest.split_once(':')?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let (hours, minutes) = zone.split_at_checked(3)?;
    at::date_time(&format!("{year}-{month:02}-{day}T{time}{hours}:{minutes}"))
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// A JSON log, by the names that nginx and others have for its parts.
fn object<'a>(line: &'a str, members: &[Member<'a>]) -> Result<Entry<'a>, Fault> {
    let context = Context { line };
    let named = |names: &[&'static str]| {
        let mut found = names.iter().filter_map(|wanted| {
            let (_, value) = members.iter().find(|(name, _)| name == wanted)?;
            Some((*wanted, *value))
        });
        found.next()
    };
    let field = |names: &[&'static str]| named(names).map(|(_, value)| value);
    let text = |names: &[&'static str]| match named(names) {
        Some((name, value)) => context.text(name, Some(value)),
        None => Ok(None),
    };
    let (method, target, column) = match (text(&REQUESTS)?, text(&METHODS)?, text(&TARGETS)?) {
        (Some(request), ..) => {
            let (method, target) = parts(&request);
            (method.to_owned(), target.into_owned(), field(&REQUESTS))
        }
        (None, Some(method), Some(target)) => {
            let (_, target) = placed(&target);
            (method.into_owned(), target.into_owned(), field(&TARGETS))
        }
        (None, ..) => return Err(no_line(1)),
    };
    let (name, moment) = named(&MOMENTS).unzip();
    let ended = moment.and_then(Moment::of_json);
    let took = field(&SPANS).and_then(|value| seconds(value.trim_matches('"')));
    let at = moment.map(|moment| match ended {
        Some(ended) => At::Known(ended.at.saturating_sub(took.unwrap_or_default())),
        None => At::Unread(context.column(moment).into()),
    });
    Ok(Entry {
        method: Some(method),
        target,
        column: context.column_of(column),
        at: stamp(name.unwrap_or(MOMENTS[0]), at),
        second: ended.and_then(Moment::second),
        server: None,
        body: (None, Content::Other),
    })
}

/// A JSON log, by the names that the command line gives.
fn mapped<'a>(
    line: &'a str,
    members: &[Member<'a>],
    fields: &LogFields,
    has_base: bool,
) -> Result<Entry<'a>, Fault> {
    let context = Context { line };
    let find = |pointer: &Option<Pointer>| log_fields::find(pointer.as_ref()?, members);
    let text = |pointer: &Option<Pointer>| match pointer {
        Some(name) => context.text(&log_fields::name(name), find(pointer)),
        None => Ok(None),
    };
    let found = log_fields::find(&fields.url, members);
    let url = context.required(&log_fields::name(&fields.url), found)?;
    let (server, target) = placed(&url);
    let host = text(&fields.host)?.filter(|host| !host.is_empty());
    let host = host.map(|host| format!("http://{host}"));
    let ended = find(&fields.at)
        .and_then(Moment::of_json)
        .map(Moment::or_millis);
    let body = match (&fields.body, find(&fields.body)) {
        (Some(pointer), Some(value)) => context.written_body(&log_fields::name(pointer), value)?,
        (Some(_) | None, _) => (None, Content::Other),
    };
    Ok(Entry {
        method: text(&fields.method)?.map(|method| method.to_ascii_uppercase()),
        server: server.map(str::to_owned).or(host).filter(|_| !has_base),
        target: target.into_owned(),
        body,
        column: context.column_of(found),
        at: began(&context, members, fields, ended),
        second: ended.and_then(Moment::second),
    })
}

/// When a request began, of what is told of its end by the fields that the command line names.
fn began<'a>(
    context: &Context<'a>,
    members: &[Member<'a>],
    fields: &LogFields,
    ended: Option<Moment>,
) -> Stamp<'a> {
    let find = |pointer: &Pointer| log_fields::find(pointer, members);
    let (pointer, parts) = match &fields.took {
        Some(Took::Seconds(pointer)) => (Some(pointer), 1),
        Some(Took::Millis(pointer)) => (Some(pointer), 1000),
        None => (None, 1),
    };
    let mut took = Duration::ZERO;
    // nginx writes `-` for what is not known.
    if let Some(pointer) = pointer
        && let Some(value) = find(pointer).filter(|value| !["\"\"", "\"-\""].contains(value))
    {
        match seconds(value.trim_matches('"')) {
            Some(whole) => took = whole / parts,
            None => {
                return Stamp {
                    name: log_fields::name(pointer).into_owned().into(),
                    at: Some(At::Unread(context.column(value).into())),
                    form: "write how long it took as a number: took=FIELD is in seconds, took_ms=FIELD in milliseconds",
                };
            }
        }
    }
    let Some(pointer) = &fields.at else {
        return Stamp {
            form: "name the field that says when it ended: --log-fields at=FIELD",
            ..stamp("at", None)
        };
    };
    let at = find(pointer).map(|value| match ended {
        Some(ended) => At::Known(ended.at.saturating_sub(took)),
        None => At::Unread(context.column(value).into()),
    });
    stamp(log_fields::name(pointer).into_owned(), at)
}

/// That of a line that says when the request ended.
fn stamp<'a>(name: impl Into<Cow<'a, str>>, at: Option<At<'a>>) -> Stamp<'a> {
    Stamp {
        name: name.into(),
        at,
        form: "write a date (\"2026-11-30T09:00:00.250Z\"), or seconds since 1970; --log-fields at=FIELD names another field",
    }
}

/// Scheme and server of a URL, if it has them, and what is asked of the server.
fn placed(url: &str) -> (Option<&str>, Cow<'_, str>) {
    let scheme = url.find("://").filter(|length| {
        ["http", "https"]
            .iter()
            .any(|known| url[..*length].eq_ignore_ascii_case(known))
    });
    let Some(scheme) = scheme else {
        return (None, Cow::Borrowed(url));
    };
    let server = scheme + "://".len();
    let target = url[server..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| server + at);
    let (server, target) = url.split_at(target);
    let target = if target.starts_with('/') {
        Cow::Borrowed(target)
    } else {
        Cow::Owned(format!("/{target}"))
    };
    (Some(server), target)
}

//! A request to make, as it was read. Floor 2: records.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use memchr::memchr3;
use url::{ParseError, Position, Url};

use crate::headers::Lines;
use crate::kept::Kept;
use crate::letters::calm;
use crate::secret::Hidden;
use crate::units::Cost;

/// One request of the input, ready to be sent any number of times.
#[derive(Debug, Clone)]
pub struct Job {
    /// Where it was read.
    pub place: Place,
    /// The user's own name for it, unique in the run.
    pub id: Option<Box<str>>,
    /// As given; GET without a body and POST with one, if not.
    pub method: Method,
    /// Where it goes. Jobs with one URL share it.
    pub target: Arc<Target>,
    /// The lane it waits in: scheme, host and port of its own URL.
    pub origin: Origin,
    /// Its headers, body and meta.
    pub kept: Kept,
    /// The units (LLM tokens, rows, bytes) that it reserves; `None` where no limit counts units.
    pub units: Option<Units>,
    /// Its values of the keys that the run's limits are kept for, in the order of the run.
    pub keys: Keys,
    /// How many slots a try of it holds; every source says one.
    pub slots: Cost,
    /// When it was recorded, where that counts: seconds, or since the Unix epoch. Only differences count.
    pub at: Option<Duration>,
    /// Names the request by its content; see [`JobHash`].
    pub hash: JobHash,
    /// Which of its tries may be repeated.
    pub repeat: Repeat,
    /// The round of the input in which it was read, from 0.
    pub round: u32,
    /// What earlier runs have made of it.
    pub history: History,
}

/// Whether a try that the server may have acted on may be repeated, where nothing else is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeat {
    /// By the method, or an idempotency key.
    #[default]
    ByMethod,
    /// It may: what it asks for changes nothing, whatever its method.
    Always,
}

/// What earlier runs have made of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// It has no result.
    #[default]
    New,
    /// It has failed and is run again: its result takes the place of that one.
    Failed,
}

impl Job {
    /// A GET and nothing else: no headers, body or units, one slot, and a hash of zero.
    pub fn get(place: Place, target: impl Into<Arc<Target>>, origin: Origin) -> Self {
        Self {
            place,
            id: None,
            method: Method::GET,
            target: target.into(),
            origin,
            kept: Kept::default(),
            units: None,
            keys: Keys::default(),
            slots: Cost::ONE,
            at: None,
            hash: JobHash(0),
            repeat: Repeat::ByMethod,
            round: 0,
            history: History::New,
        }
    }

    /// Its own headers, and those of the command line that it does not set itself.
    pub fn headers(&self) -> Lines<'_> {
        self.kept.headers()
    }

    /// Goes out byte for byte as it stands here; `None` is no body at all.
    pub fn body(&self) -> Option<&[u8]> {
        self.kept.body()
    }

    /// The same to be held without the job; no body is an empty one. Only a short one is copied.
    pub fn shared_body(&self) -> Bytes {
        self.kept.shared_body()
    }

    /// A JSON text, echoed in the result as it was written; `None` if it has none.
    pub fn meta(&self) -> Option<&[u8]> {
        self.kept.meta()
    }

    /// Roughly what it occupies in memory, in bytes.
    pub fn size(&self) -> u64 {
        (512 + 2 * self.target.written.len() + self.kept.len()) as u64
    }
}

/// What a job reserves of the limits that count units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// What it sends.
    pub input: u64,
    /// The most that its answer may take.
    pub output: u64,
    /// Whether the job said so itself or it was estimated.
    pub source: UnitsFrom,
}

impl Units {
    /// Input and output together; a sum above 64 bits stays at the largest.
    pub fn reserve(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// A job's value of each key that a limit of the run is kept for, as it may be shown: a credential
/// is `key 1`, `key 2` in the order in which they were met.
pub type Keys = Box<[Arc<str>]>;

/// Where a reserve comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitsFrom {
    /// The job's own fields.
    Job,
    /// Bytes of text / 4 and its maximum output.
    Estimate,
}

/// Where a job goes: the text of the file, and the URL that its rules make of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// As the user wrote it, after `--base-url`. For results, use [`Target::shown`].
    pub written: Box<str>,
    /// As it goes on the wire, by the WHATWG URL rules.
    pub url: Url,
    /// What of it is not shown, whatever its place.
    pub hidden: Hidden,
}

/// Names of query parameters whose values are credentials, in lower case without `-` and `_`.
const SECRET_PARAMETERS: [&str; 38] = [
    "key",
    "apikey",
    "accesskey",
    "subscriptionkey",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "auth",
    "authorization",
    "password",
    "passwd",
    "secret",
    "clientsecret",
    "sig",
    "signature",
    "hmac",
    "bearer",
    "jwt",
    "credential",
    "pass",
    "passphrase",
    "pwd",
    "otp",
    "session",
    "sessionid",
    "sid",
    "sas",
    "ticket",
    "assertion",
    "samlresponse",
    "csrf",
    "xsrf",
    // Signed links of the large object stores.
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
];

impl From<Url> for Target {
    /// Written as it goes on the wire, and with nothing of it hidden.
    fn from(url: Url) -> Self {
        Self {
            written: url.as_str().into(),
            url,
            hidden: Hidden::default(),
        }
    }
}

impl FromStr for Target {
    type Err = ParseError;

    /// Written so, and with nothing of it hidden.
    fn from_str(written: &str) -> Result<Self, ParseError> {
        Ok(Self {
            written: written.into(),
            ..Self::from(Url::parse(written)?)
        })
    }
}

impl Target {
    /// The text of the file with credentials (user info, keys in query and fragment) as `***`.
    pub fn shown(&self) -> Cow<'_, str> {
        let text = &*self.written;
        // User info ends in the first of these, query and fragment begin with the others.
        match memchr3(b'@', b'?', b'#', text.as_bytes()) {
            Some(_) => Cow::Owned(without_credentials(text)),
            None => Cow::Borrowed(text),
        }
    }

    /// The URL with credentials as `***`.
    pub fn shown_url(&self) -> String {
        without_credentials(&self.hidden.mask(self.url.as_str().to_owned()))
    }

    /// The same, of which this is not shown, wherever it stands.
    #[must_use]
    pub fn hiding(self, hidden: &Hidden) -> Self {
        Self {
            written: hidden.mask(self.written.into()).into(),
            hidden: hidden.clone(),
            ..self
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown())
    }
}

/// A URL with its credentials (user info, keys in query and fragment) as `***`.
pub fn without_credentials(text: &str) -> String {
    let (before, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let mut shown = without_user(before);
    let marks = ['?', '&', '#', ';'];
    for piece in rest.split_inclusive(marks) {
        let (pair, end) = piece.split_at(piece.trim_end_matches(marks).len());
        let name = pair.split('=').next().unwrap_or(pair);
        if name.len() < pair.len() && is_secret_parameter(name) {
            shown.push_str(name);
            shown.push_str("=***");
        } else {
            shown.push_str(pair);
        }
        shown.push_str(end);
    }
    shown
}

/// By its name, which may be escaped, or be that of a member: `user[token]`.
pub(crate) fn is_secret_parameter(name: &str) -> bool {
    let name = url::form_urlencoded::parse(name.as_bytes()).next();
    let name = name.map(|(name, _)| name).unwrap_or_default();
    let inner = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['));
    let name = inner.map_or(&*name, |(_, inner)| inner);
    let plain = name.to_ascii_lowercase().replace(['-', '_'], "");
    SECRET_PARAMETERS.contains(&plain.as_str())
}

/// Scheme, authority and path with the user info as `***`. By the WHATWG URL rules any slashes, either
/// way round, begin the authority.
fn without_user(before: &str) -> String {
    let slash = ['/', '\\'];
    let Some((scheme, rest)) = before.split_once(':') else {
        return before.to_owned();
    };
    let authority = rest.trim_start_matches(slash);
    let end = authority.find(slash).unwrap_or(authority.len());
    match authority[..end].rfind('@') {
        Some(at) => {
            let slashes = &rest[..rest.len() - authority.len()];
            format!("{scheme}:{slashes}***{}", &authority[at..])
        }
        None => before.to_owned(),
    }
}

/// Scheme, host and port: what a server's pause applies to, and what a lane is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(pub Arc<str>);

/// Scheme, host and port, the last only if it is not the scheme's own.
pub fn origin_of(url: &Url) -> Cow<'_, str> {
    if url.username().is_empty() && url.password().is_none() {
        Cow::Borrowed(&url[..Position::AfterPort])
    } else {
        Cow::Owned(url.origin().ascii_serialization())
    }
}

/// The host, with its port if that is not the scheme's own.
pub fn host_of(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// 64 bits over method, URL after `--base-url`, body bytes and the job's own headers except
/// credentials; over the raw line, if that is invalid. Shown as 16 hex digits, the same in every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobHash(pub u64);

impl JobHash {
    /// As it is shown: 16 hex digits; `None` of any other text.
    pub fn of(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = u64::from_str_radix(text, 16).ok().filter(|_| digits);
        hash.map(Self)
    }
}

impl fmt::Display for JobHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// A line of an input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file as given; `-` for standard input.
    pub file: Arc<str>,
    /// Physical line, from 1.
    pub line: u64,
}

impl Place {
    /// This line of this file.
    pub fn new(file: impl Into<Arc<str>>, line: u64) -> Self {
        let file = file.into();
        Self { file, line }
    }

    /// The file that this is a line of.
    pub fn path(&self) -> &Path {
        Path::new(&*self.file)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", calm(&self.file), self.line)
    }
}

/// A line, or what stands for one, that makes no job: it becomes one result, `invalid` or `skipped`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line.
    pub place: Place,
    /// Lines below its first one at which it went wrong: 0, but for records of several lines.
    pub below: u64,
    /// Byte of that line at which it did, from 1.
    pub column: u64,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub mend: String,
    /// Its id, if that could be read.
    pub id: Option<Box<str>>,
    /// Hash of the raw line.
    pub hash: JobHash,
    /// Whether somebody has to mend it.
    pub why: NoJob,
}

/// Why a line makes no job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoJob {
    /// It is not as its format has it.
    Invalid,
    /// It is understood, and by its format not sent: noise in a log, a POST whose body was not recorded.
    Skipped,
}

impl BadLine {
    /// Invalid from its first byte on, without an id, and with a hash of zero.
    pub fn new(place: Place, what: &str, mend: &str) -> Self {
        Self {
            place,
            below: 0,
            column: 1,
            what: what.to_owned(),
            mend: mend.to_owned(),
            id: None,
            hash: JobHash(0),
            why: NoJob::Invalid,
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}:{}:{}: {}\n  mend: {}",
            calm(&self.place.file),
            self.place.line + self.below,
            self.column,
            self.what,
            self.mend
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(written: &str) -> String {
        let target = Target {
            written: written.into(),
            ..Url::parse("http://127.0.0.1/").unwrap().into()
        };
        target.shown().into_owned()
    }

    #[test]
    fn names_of_credentials_are_known_however_they_are_written() {
        for query in [
            "pass=c",
            "pwd=c",
            "jwt=c",
            "SID=c",
            "session-id=c",
            "user[token]=c",
            "%74oken=c",
            "to%6Ben=c",
            "a=1;token=c",
            "SAMLResponse=c",
        ] {
            let text = format!("http://h/?{query}&b=2");
            let shown = without_credentials(&text);
            assert_eq!(shown, text.replace("=c", "=***"), "{query}");
        }
        for query in [
            "code=US", "page=c", "tokens=c", "x[y]=c", "[]=c", "]=c", "author=c",
        ] {
            let text = format!("http://h/?{query}");
            assert_eq!(without_credentials(&text), text);
        }
    }

    #[test]
    fn credentials_of_a_url_are_not_shown() {
        assert_eq!(
            shown("http://h/y?token=canary&ok=1"),
            "http://h/y?token=***&ok=1"
        );
        assert_eq!(
            shown("http://u:canary@h/?api_key=canary"),
            "http://***@h/?api_key=***"
        );
        assert_eq!(shown("http://h/a@b?q=x@y"), "http://h/a@b?q=x@y");
        assert_eq!(
            shown("http:\\\\u:canary@h\\y#access_token=canary&ok=1"),
            "http:\\\\***@h\\y#access_token=***&ok=1"
        );
        assert_eq!(
            shown("http:/u:canary@h/?X-Amz-Signature=canary#q"),
            "http:/***@h/?X-Amz-Signature=***#q"
        );
        assert_eq!(shown("http://h?a=1&&b#c?d"), "http://h?a=1&&b#c?d");
        assert_eq!(shown("http://h:80/a/b;c=d"), "http://h:80/a/b;c=d");
    }
}

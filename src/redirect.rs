//! Where an answer sends its request on to, RFC 9110 §15.4. Floor 3: rules.

use std::fmt;

use http::header::{HOST, LOCATION};
use http::{Method, StatusCode};
use url::Url;

use crate::headers::Headers;
use crate::job::{Job, Keys, Origin, Target, origin_of};
use crate::kept::{Body, Kept};
use crate::outcome::{Credentials, Head};
use crate::secret::is_secret_header;

/// What is done with an answer that sends its request on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follow {
    /// It is the result.
    #[default]
    Nothing,
    /// The request goes on.
    Redirects,
}

/// So many redirects are followed in one try.
pub const MOST: usize = 10;

/// A length means another body, and these what is left of the one that is gone. RFC 9110 §15.4.
const OF_BODY: [&[u8]; 5] = [
    b"digest",
    b"expect",
    b"last-modified",
    b"trailer",
    b"transfer-encoding",
];

/// What was asked in one try so far, in order.
pub struct Trail(Vec<Asked>);

impl fmt::Debug for Trail {
    /// Places of servers may hold credentials.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Trail({})", self.0.len())
    }
}

/// A request. Headers are only ever left out, so their bytes tell which it has.
#[derive(PartialEq, Eq)]
struct Asked {
    method: Method,
    url: Url,
    headers: usize,
}

impl Asked {
    fn of(job: &Job) -> Self {
        let headers = job.headers().iter();
        Self {
            method: job.method.clone(),
            url: job.target.url.clone(),
            headers: headers.map(|(name, value)| name.len() + value.len()).sum(),
        }
    }
}

/// The request that a redirect asks for.
#[derive(Debug)]
pub struct Step {
    /// It reserves no units, and has the keys of the job: those of another host are for the caller to set.
    pub job: Job,
    /// Whether credentials of the request before stay behind.
    pub credentials: Credentials,
}

/// Whether an answer of this status sends its request on. RFC 9110 §15.4.2 to §15.4.4, §15.4.8, §15.4.9.
pub fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

impl Trail {
    /// Of a try of this job that was sent.
    pub fn of(job: &Job) -> Self {
        Self(vec![Asked::of(job)])
    }

    /// What this answer to `asked`, the last request, asks for; or, as an error, why it leads nowhere, for people.
    pub fn follow(&mut self, asked: &Job, head: &Head) -> Result<Step, String> {
        let step = location(head, &asked.target.url).and_then(|url| {
            let step = Step::to(url, asked, head.status);
            let next = Asked::of(&step.job);
            if self.0.contains(&next) {
                Err("goes round in a circle".to_owned())
            } else if self.0.len() > MOST {
                Err(format!("is one too many, {MOST} are followed"))
            } else {
                self.0.push(next);
                Ok(step)
            }
        });
        step.map_err(|why| {
            let (count, last) = (self.0.len(), asked.target.shown_url());
            format!(
                "redirect {count} (status {}) {why}; it came from {last}",
                head.status.as_u16()
            )
        })
    }
}

/// The place that an answer names, without a fragment: that is never sent. RFC 9110 §10.2.2.
fn location(head: &Head, asked: &Url) -> Result<Url, String> {
    let mut values = head.headers.get_all(&LOCATION);
    let value = values.next().unwrap_or_default();
    if values.any(|other| other != value) {
        return Err("names several places".to_owned());
    }
    let text = str::from_utf8(value).map_err(|_| "has a Location that is no text")?;
    if text.trim().is_empty() {
        return Err("has no Location".to_owned());
    }
    let url = asked.join(text);
    let mut url = url.map_err(|why| format!("has a Location that is no URL ({why})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("has a Location that is no http or https URL".to_owned());
    }
    url.set_fragment(None);
    Ok(url)
}

impl Step {
    fn to(url: Url, asked: &Job, status: StatusCode) -> Self {
        let before = &asked.target.url;
        let is_same = url.origin() == before.origin();
        // User info that a server writes into a Location is nobody's who asked.
        let url = with_user_of(is_same.then_some(before), url);
        let method = method_after(status, &asked.method);
        let keeps_body = keeps_body(status, &asked.method);
        let goes = |name: &[u8]| {
            let is_of_body = name.starts_with(b"content-") || OF_BODY.contains(&name);
            (keeps_body || !is_of_body) && (is_same || !is_of_origin(name))
        };
        let mut headers = Headers::default();
        headers.add_some(asked.headers(), goes);
        let body = asked.body().filter(|_| keeps_body);
        let body = body.map(|_| Body::from(asked.shared_body()));
        let had_user = !before.username().is_empty() || before.password().is_some();
        let had_secret = had_user || asked.headers().iter().any(|(name, _)| is_secret(name));
        let target = Target::from(url).hiding(&asked.target.hidden);
        let origin = Origin(origin_of(&target.url).into());
        let job = Job {
            id: asked.id.clone(),
            method,
            kept: Kept::of(&headers, body, None),
            keys: Keys::clone(&asked.keys),
            slots: asked.slots,
            at: asked.at,
            hash: asked.hash,
            history: asked.history,
            ..Job::get(asked.place.clone(), target, origin)
        };
        Self {
            job,
            credentials: if had_secret && !is_same {
                Credentials::Dropped
            } else {
                Credentials::Kept
            },
        }
    }
}

/// The same URL with this one's user info, or without any.
fn with_user_of(one: Option<&Url>, mut url: Url) -> Url {
    let (user, password) = one.map_or(("", None), |one| (one.username(), one.password()));
    let set = url.set_username(user);
    let set = set.and_then(|()| url.set_password(password));
    set.expect("http and https URLs have a host");
    url
}

/// RFC 9110 §15.4: a POST is not repeated after 301 and 302, as nearly all clients have it.
fn method_after(status: StatusCode, method: &Method) -> Method {
    if keeps_body(status, method) || *method == Method::HEAD {
        method.clone()
    } else {
        Method::GET
    }
}

/// Whether a redirect of this status says that its request, of this method, is done: what it names is only looked at.
pub fn tells_where_to_look(status: StatusCode, method: &Method) -> bool {
    !keeps_body(status, method)
}

fn keeps_body(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => false,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method != Method::POST,
        _ => true,
    }
}

/// Whether a header is for one origin alone.
fn is_of_origin(name: &[u8]) -> bool {
    name == HOST.as_str().as_bytes() || is_secret(name)
}

fn is_secret(name: &[u8]) -> bool {
    str::from_utf8(name).is_ok_and(is_secret_header)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;
    use crate::fields::Fields;
    use crate::job::{Place, Units, UnitsFrom};
    use crate::units::Tick;

    const SENT: [(&str, &str); 7] = [
        ("authorization", "canary"),
        ("content-type", "text/plain"),
        ("content-encoding", "identity"),
        ("cookie", "canary"),
        ("host", "h.test"),
        ("x-api-key", "canary"),
        ("x-a", "1"),
    ];

    fn job(method: Method, url: &str) -> Job {
        let target = Target::from(Url::parse(url).unwrap());
        let origin = Origin(origin_of(&target.url).into());
        let mut headers = Headers::default();
        for (name, value) in SENT {
            headers.add(&name.parse().unwrap(), &value.parse().unwrap());
        }
        let body = Some(Body::InLine(b"body"));
        Job {
            method,
            kept: Kept::of(&headers, body, Some("[1]")),
            units: Some(Units {
                input: 1,
                output: 1,
                source: UnitsFrom::Job,
            }),
            ..Job::get(Place::new("-", 1), target, origin)
        }
    }

    fn head(status: u16, locations: &[&[u8]]) -> Head {
        let fields = locations.iter().map(|value| ("location", value));
        Head {
            at: Tick::ZERO,
            wall: UNIX_EPOCH,
            status: StatusCode::from_u16(status).unwrap(),
            headers: Fields::of(fields),
        }
    }

    fn follow(job: &Job, status: u16, location: &str) -> Result<Step, String> {
        Trail::of(job).follow(job, &head(status, &[location.as_bytes()]))
    }

    fn names(job: &Job) -> Vec<String> {
        let names = job.headers().iter();
        names
            .map(|(name, _)| String::from_utf8(name.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn method_and_body_are_as_the_rfc_says() {
        let with = [
            (307, "POST", "POST"),
            (308, "POST", "POST"),
            (307, "PUT", "PUT"),
            (301, "PUT", "PUT"),
            (302, "DELETE", "DELETE"),
            (301, "HEAD", "HEAD"),
            (308, "HEAD", "HEAD"),
        ];
        let without = [
            (301, "POST", "GET"),
            (302, "POST", "GET"),
            (303, "POST", "GET"),
            (303, "PUT", "GET"),
            (303, "GET", "GET"),
            (303, "HEAD", "HEAD"),
        ];
        let all = with.map(|row| (row, true)).into_iter();
        for ((status, method, next), keeps) in all.chain(without.map(|row| (row, false))) {
            let job = job(method.parse().unwrap(), "http://h.test/a");
            let step = follow(&job, status, "/b").unwrap().job;
            let what = format!("{status} {method}");
            assert_eq!(step.method.as_str(), next, "{what}");
            assert_eq!(step.body(), keeps.then_some(&b"body"[..]), "{what}");
            let has = |name: &str| names(&step).iter().any(|own| own == name);
            assert_eq!(has("content-type"), keeps, "{what}");
            assert_eq!(has("content-encoding"), keeps, "{what}");
            assert!(has("authorization") && has("x-a"), "{what}");
            assert_eq!((step.units, step.meta()), (None, None));
        }
    }

    #[test]
    fn no_other_status_is_a_redirect() {
        let all = (100..1000).filter(|code| is_redirect(StatusCode::from_u16(*code).unwrap()));
        assert!(all.eq([301, 302, 303, 307, 308]));
    }

    #[test]
    fn a_place_is_resolved_against_the_request_before() {
        for (location, url) in [
            ("/b", "http://u:p@h.test/b"),
            ("b?q#f", "http://u:p@h.test/d/b?q"),
            ("?q", "http://u:p@h.test/d/a?q"),
            ("//h.test:80/b", "http://u:p@h.test/b"),
            ("http://x:y@h.test/b", "http://u:p@h.test/b"),
            ("http://x:y@other.test/b", "http://other.test/b"),
            ("https://h.test/d/a", "https://h.test/d/a"),
            ("http://h.test:81/", "http://h.test:81/"),
            ("  /é ", "http://u:p@h.test/%C3%A9"),
        ] {
            let job = job(Method::GET, "http://u:p@h.test/d/a?x");
            let step = follow(&job, 302, location).unwrap();
            assert_eq!(step.job.target.url.as_str(), url, "{location}");
            let is_same = url.starts_with("http://u:p@h.test/");
            assert_eq!(step.credentials == Credentials::Kept, is_same, "{location}");
            let wanted: Vec<_> = if is_same {
                SENT.map(|(name, _)| name).to_vec()
            } else {
                vec!["content-type", "content-encoding", "x-a"]
            };
            assert_eq!(names(&step.job), wanted, "{location}");
        }
    }

    #[test]
    fn credentials_that_were_dropped_do_not_come_back() {
        let job = job(Method::POST, "http://u:p@h.test/a");
        let mut trail = Trail::of(&job);
        let away = head(307, &[b"http://h.test:81/x"]);
        let step = trail.follow(&job, &away).unwrap();
        assert_eq!(step.credentials, Credentials::Dropped);
        let back = head(308, &[b"http://h.test/a"]);
        let step = trail.follow(&step.job, &back).unwrap();
        assert_eq!(step.credentials, Credentials::Kept, "there were none");
        assert_eq!(step.job.target.url.as_str(), "http://h.test/a");
        assert_eq!(
            names(&step.job),
            ["content-type", "content-encoding", "x-a"]
        );
        let again = trail.follow(&step.job, &away).unwrap_err();
        assert!(again.contains("circle"), "{again}");
    }

    #[test]
    fn what_leads_nowhere_is_told_without_credentials() {
        let job = job(Method::GET, "http://u:canary@h.test/?token=canary");
        let two = [&b"/a"[..], b"/b"];
        for (locations, word) in [
            (&[][..], "no Location"),
            (&[&b" "[..]][..], "no Location"),
            (&two[..], "several"),
            (&[&b"\xff"[..]][..], "no text"),
            (&[&b"http://canary@["[..]][..], "no URL"),
            (&[&b"ftp://canary@h/"[..]][..], "no http"),
            (&[&b"mailto:canary"[..]][..], "no http"),
            (&[&b"#canary"[..]][..], "circle"),
        ] {
            let told = Trail::of(&job).follow(&job, &head(301, locations));
            let told = told.unwrap_err();
            assert!(told.contains(word), "{told}");
            assert!(told.contains("http://***@h.test/?token=***"), "{told}");
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn ten_are_followed_and_a_circle_is_seen_at_once() {
        let mut asked = job(Method::GET, "http://h.test/0");
        let mut trail = Trail::of(&asked);
        for nth in 1..=MOST {
            let place = format!("/{nth}");
            let head = head(302, &[place.as_bytes()]);
            asked = trail.follow(&asked, &head).unwrap().job;
        }
        let why = trail.follow(&asked, &head(302, &[b"/11"])).unwrap_err();
        assert!(
            why.starts_with("redirect 11 (status 302) is one too many"),
            "{why}"
        );
        let why = trail.follow(&asked, &head(302, &[b"/3"])).unwrap_err();
        assert!(
            why.contains("circle") && why.ends_with("http://h.test/10"),
            "{why}"
        );
    }

    proptest! {
        #[test]
        fn whatever_a_location_says_no_credential_leaves_its_origin(
            status in prop::sample::select(vec![301, 302, 303, 307, 308]),
            location in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "(http:|https:|ftp:|)[/\\\\]{0,3}(x:y@|)(h\\.test|H.TEST|h|)(:80|:443|:81|)[/?#@:a]{0,5}"
                    .prop_map(String::into_bytes),
            ],
        ) {
            let job = job(Method::POST, "http://u:canary@h.test/");
            let followed = Trail::of(&job).follow(&job, &head(status, &[&location]));
            let Ok(Step { job: next, credentials }) = followed else {
                prop_assert!(!followed.unwrap_err().contains("canary"));
                return Ok(());
            };
            let url = &next.target.url;
            prop_assert!(matches!(url.scheme(), "http" | "https"));
            prop_assert_eq!(url.fragment(), None);
            prop_assert_eq!(&*next.origin.0, url.origin().ascii_serialization());
            let is_same = next.origin == job.origin;
            prop_assert_eq!(credentials == Credentials::Kept, is_same);
            let user = (url.username(), url.password());
            prop_assert_eq!(user, if is_same { ("u", Some("canary")) } else { ("", None) });
            let has_secret = next.headers().iter().any(|(_, value)| value == b"canary");
            prop_assert_eq!(has_secret, is_same);
        }
    }
}

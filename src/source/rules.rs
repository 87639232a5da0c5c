//! The job that a line makes, by the rules of the command line. Floor 4: doors.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method};

use super::at::Moments;
use super::draft::{Content, Draft, Fault, Reach, SaidUnits};
use super::filling::Filling;
use super::formats::{Format, Needs};
use super::keys::KeyTable;
use super::once::OnceKeys;
use super::rewrite::Rewrite;
use super::spec::{Spec, Times, UnitsRule};
use super::target::{self, Base, HttpUrl, NoTarget};
use super::template::is_json;
use super::{LogFields, at, hash};
use crate::error::Problem;
use crate::estimate::Estimate;
use crate::headers::Headers;
use crate::job::{History, Job, Origin, Place, Repeat, Target, Units, UnitsFrom, origin_of};
use crate::kept::{Body, Kept};
use crate::retry::IDEMPOTENCY_KEY;
use crate::units::Cost;

/// What the command line adds to every line.
pub(super) struct Rules {
    base: Option<Base>,
    headers: Headers,
    rewrites: Vec<Rewrite>,
    once: Option<OnceKeys>,
    method: Option<Method>,
    /// Of jobs that have none, and what it is.
    body: Option<(Bytes, Content)>,
    pub(super) units: UnitsRule,
    pub(super) times: Times,
    moments: Moments,
    batches: Repeat,
    pub(super) request_url: Option<HttpUrl>,
    /// The round of the input that is read, from 0.
    pub(super) round: u32,
    pub(super) log_fields: Option<LogFields>,
    pub(super) keys: KeyTable,
    /// What the job before made of its URL: many inputs have one URL for all, and nearly all have few
    /// origins. Reading a URL takes longer than reading the rest of a small job.
    last: Option<(Box<str>, Arc<Target>, Origin)>,
}

impl Rules {
    /// A usage problem if a key is none.
    pub(super) fn new(spec: &Spec) -> Result<Self, Problem> {
        Ok(Self {
            base: spec.base_url.clone().map(Base::new),
            headers: spec.headers.clone(),
            rewrites: spec.rewrites.clone(),
            once: spec.once.map(OnceKeys::new),
            method: spec.method.clone(),
            body: spec.body.clone().map(|body| {
                let is_json = str::from_utf8(&body).is_ok_and(is_json);
                (body, Content::of(is_json))
            }),
            units: spec.units,
            times: spec.times,
            moments: Moments::default(),
            batches: spec.batches,
            request_url: spec.request_url.clone(),
            round: 0,
            log_fields: spec.log_fields.clone(),
            keys: KeyTable::new(&spec.per, spec.credentials)?,
            last: None,
        })
    }

    /// Whether relative URLs have something to be relative to.
    pub(super) fn has_base(&self) -> bool {
        self.base.is_some()
    }

    /// A usage problem if the command line lacks what records of this format need.
    pub(super) fn suit(&self, format: Format, filling: Option<&Filling>) -> Result<(), Problem> {
        let beside = match format.needs() {
            _ if filling.is_some_and(Filling::has_url) && !format.has_rows() => Some((
                "--url",
                "it is filled from rows: say --format csv, tsv, jsonl or json if these are some",
            )),
            _ if self.log_fields.is_some() && format != Format::ACCESS_LOG => Some((
                "--log-fields",
                "it names fields of a log: --format access-log",
            )),
            Needs::RequestUrl => None,
            _ => self.request_url.as_ref().map(|_| {
                (
                    "--request-url",
                    "it is for --format cookbook; relative URLs need --base-url",
                )
            }),
        };
        if let Some((option, mend)) = beside {
            let what = format!("is read as {format}, which has nothing for {option}");
            return Err(Problem::usage(what, mend));
        }
        let (option, mend) = match format.needs() {
            Needs::Base if self.base.is_none() && self.log_fields.is_none() => (
                "--base-url",
                "name the server that its jobs go to: --base-url https://HOST",
            ),
            Needs::RequestUrl if self.request_url.is_none() => (
                "--request-url",
                "name where its bodies go: --request-url https://HOST/v1/chat/completions",
            ),
            Needs::Nothing | Needs::Columns | Needs::Base | Needs::RequestUrl => return Ok(()),
        };
        Err(Problem::usage(
            format!("is read as {format}, which needs {option}"),
            mend,
        ))
    }

    /// The job that a line makes, with its own headers and others that are added to them. It takes the id,
    /// unless it is a fault.
    pub(super) fn job(
        &mut self,
        place: impl Fn() -> Place,
        id: &mut Option<Box<str>>,
        draft: Draft<'_>,
        headers: &mut Headers,
    ) -> Result<Job, Fault> {
        let (target, origin) = self
            .target(&draft.url, draft.filling)
            .map_err(|(what, mend)| Fault::new(draft.url_at, what, mend))?;
        self.within(&origin, &draft)?;
        let (body, content) = match (draft.body, &self.body) {
            (None, Some((given, content))) => (Some(Body::from(given.clone())), *content),
            (own, _) => (own, draft.content),
        };
        if let (None, Some(why)) = (&body, draft.lacks_body) {
            return Err(Fault::skipped(draft.url_at, why));
        }
        let by_body = if body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let method = draft.method.or_else(|| self.method.clone());
        let method = method.unwrap_or(by_body);
        let at = match self.times {
            Times::Ignored => None,
            Times::Read | Times::Needed => match &draft.at {
                Some(stamp) if stamp.at.is_some() || self.times == Times::Needed => {
                    Some(self.moments.read(stamp, &place)?)
                }
                None if self.times == Times::Needed => return Err(at::nowhere()),
                Some(_) | None => None,
            },
        };
        let bytes = body.as_deref();
        let known_by = draft.known_by.as_deref().map(str::as_bytes).or(bytes);
        let hash = hash::of_job(&method, &target.written, known_by, headers.lines());
        let common = draft
            .filling
            .map_or(&self.headers, |filling| &filling.common);
        add_to(headers, common, content, draft.also);
        if let Some(keys) = &mut self.once
            && !headers.lines().has(&IDEMPOTENCY_KEY)
        {
            let key = HeaderValue::from_str(&keys.next(id.as_deref(), hash, self.round));
            headers.add(&IDEMPOTENCY_KEY, &key.expect("digits can be sent"));
        }
        Ok(Job {
            origin,
            units: self.units_of(draft.units, bytes),
            keys: self.keys.of(&draft.fields, &target.url, headers.lines()),
            kept: Kept::of(headers, body, draft.meta.as_deref()),
            place: place(),
            id: id.take(),
            method,
            target,
            slots: Cost::ONE,
            at,
            hash,
            repeat: match self.batches {
                Repeat::ByMethod => Repeat::ByMethod,
                Repeat::Always => draft.repeat,
            },
            round: self.round,
            history: History::New,
        })
    }

    /// A fault if the record names another server than it may.
    fn within(&self, origin: &Origin, draft: &Draft<'_>) -> Result<(), Fault> {
        match (draft.reach, &self.base) {
            (Reach::Base, Some(base)) if base.origin() != *origin.0 => Err(Fault::new(
                draft.url_at,
                "other origin than --base-url",
                "write only its path, or name this server with --base-url",
            )),
            (Reach::Base | Reach::Any, Some(_) | None) => Ok(()),
        }
    }

    fn target(
        &mut self,
        text: &str,
        filling: Option<&Filling>,
    ) -> Result<(Arc<Target>, Origin), NoTarget> {
        if let Some((last, target, origin)) = &self.last
            && **last == *text
        {
            return Ok((target.clone(), origin.clone()));
        }
        let mut target = target::resolve(text, self.base.as_ref())?;
        for rewrite in &self.rewrites {
            if let Some(text) = rewrite.of(&target.written) {
                target = target::resolve(&text, None)?;
            }
        }
        if let Some(filling) = filling {
            target = target.hiding(&filling.hidden);
        }
        let target = Arc::new(target);
        let name = origin_of(&target.url);
        let origin = match &self.last {
            Some((_, _, last)) if *last.0 == *name => last.clone(),
            Some(_) | None => Origin(name.into()),
        };
        self.last = Some((text.into(), target.clone(), origin.clone()));
        Ok((target, origin))
    }

    fn units_of(&self, said: SaidUnits, body: Option<&[u8]>) -> Option<Units> {
        let estimator = match self.units {
            UnitsRule::Ignored => return None,
            UnitsRule::Learn(_) if said == SaidUnits::default() && body.is_none() => return None,
            UnitsRule::Reserve(estimator)
            | UnitsRule::Learn(estimator)
            | UnitsRule::Price(estimator) => estimator,
        };
        let body = body.unwrap_or_default();
        let (input, output, source) = match said {
            SaidUnits {
                whole: None,
                input: None,
                output: None,
            } => {
                let Estimate { input, output } = estimator.estimate(body);
                (input, output, UnitsFrom::Estimate)
            }
            SaidUnits {
                whole: None,
                input,
                output,
            } => (input.unwrap_or(0), output.unwrap_or(0), UnitsFrom::Job),
            SaidUnits {
                whole: Some(whole),
                input,
                output,
            } => {
                let rest = || input.map(|input| whole.saturating_sub(input));
                let output = output.or_else(rest);
                let output = output.unwrap_or_else(|| estimator.output(body)).min(whole);
                (whole - output, output, UnitsFrom::Job)
            }
        };
        Some(Units {
            input,
            output,
            source,
        })
    }
}

fn add_to(
    headers: &mut Headers,
    common: &Headers,
    content: Content,
    also: Option<(&'static str, &'static str)>,
) {
    headers.add_missing(common.lines());
    if let Some((name, value)) = also {
        let name = HeaderName::from_static(name);
        if !headers.lines().has(&name) {
            headers.add(&name, &HeaderValue::from_static(value));
        }
    }
    if content == Content::Json && !headers.lines().has(&CONTENT_TYPE) {
        headers.add(&CONTENT_TYPE, &HeaderValue::from_static("application/json"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(spec: &Spec, draft: Draft<'_>) -> Job {
        job_with(spec, draft, Headers::default())
    }

    fn job_with(spec: &Spec, draft: Draft<'_>, mut own: Headers) -> Job {
        let place = || Place::new("-", 1);
        let mut rules = Rules::new(spec).unwrap();
        rules.job(place, &mut None, draft, &mut own).unwrap()
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> Headers {
        let mut headers = Headers::default();
        for (name, value) in pairs {
            headers.add(
                &HeaderName::from_static(name),
                &HeaderValue::from_static(value),
            );
        }
        headers
    }

    #[test]
    fn a_header_of_the_command_line_does_not_change_the_hash() {
        let spec = Spec {
            headers: headers(&[("x-a", "1")]),
            ..Spec::default()
        };
        let bare = job(&Spec::default(), Draft::of_url("http://h/", 1));
        assert_eq!(job(&spec, Draft::of_url("http://h/", 1)).hash, bare.hash);
    }

    #[test]
    fn an_own_header_wins_over_the_command_line() {
        let spec = Spec {
            headers: headers(&[("x-a", "line"), ("x-b", "line"), ("x-b", "again")]),
            ..Spec::default()
        };
        let own = headers(&[("x-a", "own")]);
        let wanted = headers(&[("x-a", "own"), ("x-b", "line"), ("x-b", "again")]);
        let job = job_with(&spec, Draft::of_url("http://h/", 1), own);
        assert!(job.headers() == wanted.lines());
    }

    #[test]
    fn the_command_line_gives_method_and_body_to_jobs_that_have_none() {
        let with_body = Spec {
            body: Some(Bytes::from_static(b"x")),
            ..Spec::default()
        };
        let job_of = |spec: &Spec| job(spec, Draft::of_url("http://h/", 1));
        assert_eq!(job_of(&with_body).method, Method::POST);
        assert_eq!(job_of(&with_body).body(), Some(&b"x"[..]));
        let with_method = Spec {
            method: Some(Method::PUT),
            ..with_body
        };
        assert_eq!(job_of(&with_method).method, Method::PUT);
        let mut draft = Draft::of_url("http://h/", 1);
        draft.method = Some(Method::PATCH);
        draft.body = Some(Body::InLine(b"own"));
        let own = job(&with_method, draft);
        assert_eq!(
            (&own.method, own.body()),
            (&Method::PATCH, Some(&b"own"[..]))
        );
    }

    #[test]
    fn jobs_of_one_origin_share_its_name() {
        let mut rules = Rules::new(&Spec::default()).unwrap();
        let mut target = |url| rules.target(url, None).unwrap();
        let (first, origin) = target("http://h/a");
        assert_eq!(target("http://h/a"), (first, origin.clone()));
        let (other, same) = target("http://h/b");
        assert_eq!(other.url.path(), "/b");
        assert!(Arc::ptr_eq(&origin.0, &same.0));
        assert_ne!(target("http://h:1/b").1, origin);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_without_credentials() {
        let origin = |url| {
            job(&Spec::default(), Draft::of_url(url, 1))
                .origin
                .to_string()
        };
        assert_eq!(origin("http://h:8080/a"), "http://h:8080");
        assert_eq!(origin("http://u:canary@h:8080/a"), "http://h:8080");
        assert_eq!(origin("HTTP://H:80/a"), "http://h");
        assert_eq!(origin("https://[::1]/a?b#c"), "https://[::1]");
    }
}

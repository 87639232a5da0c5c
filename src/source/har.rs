//! Entries of a HAR 1.2 file, as browsers and proxies record them. Floor 4: doors.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use url::form_urlencoded;

use super::at::At;
use super::draft::{self, Draft, Fault};
use super::formats::{Asked, Read, Shows};
use super::jsonl::{self, Context};
use super::keeper::Keeper;
use super::opening::First;
use crate::kept::Body;

/// The path of its entries.
pub(super) const PATH: &[&str] = &["log", "entries"];

/// An object that begins with its `log`; by its name, any object.
pub(super) fn shows(first: &First<'_>) -> Shows {
    match (first.byte(), first.first_name()) {
        (Some(b'{'), Some(b"log")) => Shows::Surely,
        (Some(b'{'), Some(_)) => Shows::ByName,
        (Some(b'{'), None) => Shows::Open,
        (Some(_) | None, _) => Shows::No,
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Vec<Pair<'a>>,
    #[serde(borrow, rename = "postData")]
    post_data: Option<PostData<'a>>,
    /// Of the body, -1 where it is not known.
    #[serde(rename = "bodySize")]
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct Pair<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Cow<'a, str>,
}

/// `text` and `params` exclude each other. `encoding` is of a proposal for 1.3.
#[derive(Deserialize)]
struct PostData<'a> {
    #[serde(borrow, rename = "mimeType", default)]
    mime_type: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Vec<Pair<'a>>,
    #[serde(borrow)]
    encoding: Option<Cow<'a, str>>,
}

/// Reads an entry. What an API was told beside its request, and what it answered, is passed over.
pub(super) fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    (None, entry(asked))
}

fn entry<'a>(asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
    let text = asked.record.text()?;
    let members = jsonl::members(text, asked.record.end)?;
    let context = Context { line: text };
    let field = |wanted: &str| {
        let mut fields = members.iter().filter(|(name, _)| name == wanted);
        fields.next().map(|(_, value)| *value)
    };
    let value = context.object("request", field("request"))?;
    let request: Request = serde_json::from_str(value).map_err(|why| {
        let lines = value
            .split_inclusive('\n')
            .take(why.line().saturating_sub(1));
        let before = lines.map(str::len).sum::<usize>() as u64;
        let at = context.column(value) + before + (why.column() as u64).saturating_sub(1);
        let text = why.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default();
        Fault::new(
            at,
            format!("\"request\" is none of HAR: {reason}"),
            "write it as HAR 1.2 has it",
        )
    })?;
    let at = context.column(value);
    let other = request.url.split_once(':').map(|(scheme, _)| scheme);
    if let Some(scheme) = other.filter(|it| !matches!(*it, "http" | "https")) {
        return Err(Fault::skipped(
            at,
            format!("no request of HTTP: {scheme:?}"),
        ));
    }
    let method = draft::method(&request.method).ok_or_else(|| jsonl::no_method(at))?;
    headers(&request, asked.keeper, at)?;
    let body = request
        .post_data
        .as_ref()
        .map(|data| body(data, at))
        .transpose()?;
    let is_lost = body.is_none() && request.body_size.is_some_and(|size| size > 0.0);
    Ok(Draft {
        method: Some(method),
        body: body.map(|bytes| Body::Apart(bytes.into())),
        lacks_body: is_lost.then_some("its body was not recorded"),
        at: field("startedDateTime").map(|value| At::Json(value, context.column(value).into())),
        ..Draft::of_url(request.url, at)
    })
}

fn headers(request: &Request<'_>, keeper: &mut Keeper, at: u64) -> Result<(), Fault> {
    for Pair { name, value } in &request.headers {
        if draft::is_of_connection(name) {
            continue;
        }
        let added = keeper
            .names
            .of(name)
            .map(|name| keeper.headers.add_text(name, value));
        if added != Some(true) {
            return Err(Fault::new(
                at,
                "a header of it cannot be sent",
                "leave that header out",
            ));
        }
    }
    let said = request.post_data.as_ref().map(|data| &*data.mime_type);
    if let Some(said) = said.filter(|it| !it.is_empty())
        && !keeper.headers.lines().has(&CONTENT_TYPE)
        && !keeper.headers.add_text(&CONTENT_TYPE, said)
    {
        return Err(Fault::new(
            at,
            "its mimeType cannot be sent",
            "write it as a header has it",
        ));
    }
    Ok(())
}

fn body(data: &PostData<'_>, at: u64) -> Result<Vec<u8>, Fault> {
    match (&data.text, data.encoding.as_deref()) {
        (Some(text), Some("base64")) => STANDARD.decode(&**text).map_err(|why| {
            Fault::new(
                at,
                format!("its text is not base64: {why}"),
                "leave \"encoding\" out where it is not",
            )
        }),
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, _) if data.mime_type.starts_with("multipart/") => Err(Fault::skipped(
            at,
            "of its multipart body only the names are recorded",
        )),
        (None, _) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for Pair { name, value } in &data.params {
                form.append_pair(name, value);
            }
            Ok(form.finish().into_bytes())
        }
    }
}

//! Entries of a HAR 1.2 file, as browsers and proxies record them. Floor 4: doors.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use url::form_urlencoded;

use super::{Asked, Known, Needs, Read, Shows};
use crate::json::{self, Member};
use crate::kept::Body;
use crate::source::at::{At, Stamp};
use crate::source::draft::{self, Draft, Fault, Spot};
use crate::source::elements::Elements;
use crate::source::framing::Frame;
use crate::source::keeper::Keeper;
use crate::source::members::{self, Context};
use crate::source::opening::First;

pub(super) const FORMAT: Known = Known {
    name: "har",
    extensions: &["har"],
    shows,
    frame: |_| Some(Frame::Cut(|| Box::new(Elements::new(&["log", "entries"])))),
    is_comment: |_| false,
    needs: Needs::Nothing,
    has_rows: false,
    fields: &[],
    read,
};

/// An object that begins with its `log`; by its name, any object.
fn shows(first: &First<'_>) -> Shows {
    match (first.byte(), first.first_name()) {
        (Some(b'{'), Some(b"log")) => Shows::Surely,
        (Some(b'{'), Some(_)) => Shows::ByName,
        (Some(b'{'), None) => Shows::Open,
        (Some(_) | None, _) => Shows::No,
    }
}

/// What of a request is sent again.
struct Request<'a> {
    method: Method,
    url: Cow<'a, str>,
    url_at: u64,
    headers: Vec<Pair<'a>>,
    data: Option<PostData<'a>>,
    /// Whether it had a body, recorded or not; its size is -1 where that is not known.
    had_body: bool,
}

/// A header, or a field of a form.
struct Pair<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
    at: u64,
}

/// `text` and `params` exclude each other. `encoding` is of a proposal for 1.3.
struct PostData<'a> {
    at: u64,
    mime_type: Cow<'a, str>,
    text: Option<(Cow<'a, str>, u64)>,
    params: Vec<Pair<'a>>,
    encoding: Option<Cow<'a, str>>,
}

/// An object within an entry.
struct Within<'c, 'a> {
    entry: &'c Context<'a>,
    members: Vec<Member<'a>>,
}

impl<'c, 'a> Within<'c, 'a> {
    fn of(entry: &'c Context<'a>, name: &str, field: Option<&'a str>) -> Result<Self, Fault> {
        let value = entry.object(name, field)?;
        // It is a part of a text that was read as JSON.
        let members = json::members(value).unwrap_or_default();
        Ok(Self { entry, members })
    }

    fn field(&self, wanted: &str) -> Option<&'a str> {
        let mut members = self.members.iter();
        let found = members.find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    }

    fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        self.entry.text(name, self.field(name))
    }

    /// Objects with a `name` and a `value`.
    fn pairs(&self, name: &str) -> Result<Vec<Pair<'a>>, Fault> {
        let Some(value) = self.field(name).filter(|value| *value != "null") else {
            return Ok(Vec::new());
        };
        let none = |value: &str| {
            let mend = "write [{\"name\":\"...\",\"value\":\"...\"}]";
            let what = format!("{name:?} must be an array of objects");
            self.entry.fault(value, what, mend)
        };
        let all: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| none(value))?;
        let pair = |value: &'a RawValue| {
            let pair = Within::of(self.entry, name, Some(value.get()));
            let pair = pair.map_err(|_| none(value.get()))?;
            let name = self.entry.required("name", pair.field("name"));
            Ok(Pair {
                name: name
                    .map_err(|fault| self.entry.fault(value.get(), fault.what, fault.mend))?,
                value: pair.text("value")?.unwrap_or_default(),
                at: self.entry.column(value.get()),
            })
        };
        all.into_iter().map(pair).collect()
    }
}

impl<'a> Request<'a> {
    fn of(entry: &Context<'a>, field: Option<&'a str>) -> Result<Self, Fault> {
        let request = Within::of(entry, "request", field)?;
        let at = entry.column_of(field);
        let missing = |fault: Fault| match fault.at {
            Spot::Byte(1) => Fault {
                at: at.into(),
                ..fault
            },
            Spot::Byte(_) | Spot::Cell(_) => fault,
        };
        let (method, url) = (request.field("method"), request.field("url"));
        let url_text = entry.required("url", url).map_err(missing)?;
        let url_at = entry.column_of(url);
        if let Some((scheme, _)) = url_text.split_once(':')
            && !matches!(scheme, "http" | "https")
        {
            let what = format!("no request of HTTP: {scheme:?}");
            return Err(Fault::skipped(url_at, what));
        }
        entry.required("method", method).map_err(missing)?;
        let method = entry.method(method)?;
        let data = request.field("postData").filter(|value| *value != "null");
        let size = request.field("bodySize").and_then(|size| size.parse().ok());
        Ok(Self {
            method: method.expect("it is there"),
            url: url_text,
            url_at,
            headers: request.pairs("headers")?,
            data: data.map(|data| PostData::of(entry, data)).transpose()?,
            had_body: size.is_some_and(|size: f64| size > 0.0),
        })
    }
}

impl<'a> PostData<'a> {
    fn of(entry: &Context<'a>, value: &'a str) -> Result<Self, Fault> {
        let data = Within::of(entry, "postData", Some(value))?;
        let text = data.text("text")?;
        Ok(Self {
            at: entry.column(value),
            mime_type: data.text("mimeType")?.unwrap_or_default(),
            text: text.map(|text| (text, entry.column_of(data.field("text")))),
            params: data.pairs("params")?,
            encoding: data.text("encoding")?,
        })
    }
}

/// Reads an entry. What an API was told beside its request, and what it answered, is passed over.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    (None, entry(asked))
}

fn entry<'a>(asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
    let text = asked.record.text()?;
    let members = members::read(text, asked.record.end)?;
    let context = Context { line: text };
    let field = |wanted: &str| {
        let mut fields = members.iter().filter(|(name, _)| name == wanted);
        fields.next().map(|(_, value)| *value)
    };
    let request = Request::of(&context, field("request"))?;
    headers(&request, asked.keeper)?;
    let body = request.data.as_ref().map(body).transpose()?;
    let is_lost = body.is_none() && request.had_body;
    Ok(Draft {
        method: Some(request.method),
        body: body.map(|bytes| Body::Apart(bytes.into())),
        lacks_body: is_lost.then_some("its body was not recorded"),
        at: Some(Stamp {
            name: Cow::Borrowed("startedDateTime"),
            at: field("startedDateTime").map(|value| At::Json(value, context.column(value).into())),
            form: "write a date of RFC 3339: \"2026-11-30T09:00:00.250Z\"",
        }),
        ..Draft::of_url(request.url, request.url_at)
    })
}

fn headers(request: &Request<'_>, keeper: &mut Keeper) -> Result<(), Fault> {
    for Pair { name, value, at } in &request.headers {
        if draft::is_of_connection(name) {
            continue;
        }
        let added = keeper
            .names
            .of(name)
            .map(|name| keeper.headers.add_text(name, value));
        if added != Some(true) {
            let what = "this header cannot be sent";
            return Err(Fault::new(*at, what, "leave it out"));
        }
    }
    let Some(data) = &request.data else {
        return Ok(());
    };
    if !data.mime_type.is_empty()
        && !keeper.headers.lines().has(&CONTENT_TYPE)
        && !keeper.headers.add_text(&CONTENT_TYPE, &data.mime_type)
    {
        let what = "its mimeType cannot be sent";
        return Err(Fault::new(data.at, what, "write it as a header has it"));
    }
    Ok(())
}

fn body(data: &PostData<'_>) -> Result<Vec<u8>, Fault> {
    match (&data.text, data.encoding.as_deref()) {
        (Some((text, at)), Some("base64")) => STANDARD.decode(&**text).map_err(|why| {
            Fault::new(
                *at,
                format!("its text is not base64: {why}"),
                "leave \"encoding\" out where it is not",
            )
        }),
        (Some((text, _)), _) => Ok(text.as_bytes().to_vec()),
        (None, _) if data.mime_type.starts_with("multipart/") => Err(Fault::skipped(
            data.at,
            "of its multipart body only the names are recorded",
        )),
        (None, _) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for Pair { name, value, .. } in &data.params {
                form.append_pair(name, value);
            }
            Ok(form.finish().into_bytes())
        }
    }
}

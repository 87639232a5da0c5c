//! What is had out of a whole body: at once, or beside the loop where that takes as long as many sends. Floor 4: doors.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::ClientSpec;
use super::aside::Aside;
use super::coding::{Coding, Spoilt, undone};
use super::coming::Coming;
use crate::json::is_deeper;
use crate::outcome::Usage;
use crate::sse::{self, Meter};
use crate::units::Tick;
use crate::usage::UsageRule;

/// A body of more bytes than this is looked at beside the loop.
const LARGE: usize = 1 << 20;

/// JSON that nests deeper is not looked into: reading it takes up to two bytes for each bracket that is open, and while
/// that room grows half of it again.
const DEEPEST: usize = 256 << 10;

/// What is to be had out of a body.
pub(super) struct Digest {
    /// How it is compressed, first to last.
    pub(super) codings: Result<Vec<Coding>, Spoilt>,
    pub(super) kind: Kind,
}

/// What a body is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An answer with a status of success.
    Whole,
    /// Such an answer that is a stream of events, which were counted as they came.
    Stream,
    /// The same, and they are still to be counted.
    UnseenStream,
    /// Any other answer.
    Refusal,
}

/// What was had out of it.
#[derive(Debug)]
pub(super) struct Digested {
    /// As it was before it was compressed.
    pub(super) body: Bytes,
    pub(super) used: Option<Usage>,
    pub(super) fault: Option<Box<str>>,
    /// The tokens that a stream tells.
    pub(super) output: Option<u64>,
    /// Of a stream whose events were still to be counted.
    pub(super) meter: Option<Box<Meter>>,
}

/// What is awaited.
pub(super) enum Digesting {
    Done(Option<Result<Digested, Spoilt>>),
    Beside(oneshot::Receiver<Result<Digested, Spoilt>>),
}

impl Future for Digesting {
    type Output = Result<Digested, Spoilt>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Done(done) => Poll::Ready(done.take().expect("it is asked for once")),
            Self::Beside(told) => {
                let told = ready!(Pin::new(told).poll(cx));
                Poll::Ready(told.expect("it is told, unless that broke off"))
            }
        }
    }
}

impl Digest {
    pub(super) fn begin(self, body: Coming, spec: &Arc<ClientSpec>, aside: &Aside) -> Digesting {
        match self.at_once(body, spec) {
            Ok(done) => Digesting::Done(Some(done)),
            Err(body) => {
                let spec = Arc::clone(spec);
                Digesting::Beside(aside.work(move || self.whole(body, &spec)))
            }
        }
    }

    /// If it takes no longer than some sends; else it returns the body.
    fn at_once(&self, body: Coming, spec: &ClientSpec) -> Result<Result<Digested, Spoilt>, Coming> {
        let codings = match &self.codings {
            Ok(codings) if codings.is_empty() => {
                return if body.len() <= LARGE || !self.looks(spec) {
                    Ok(Ok(self.look(body.into_whole(), spec)))
                } else {
                    Err(body)
                };
            }
            // As that of a HEAD.
            _ if body.len() == 0 => return Ok(Ok(self.look(Vec::new(), spec))),
            Ok(codings) => codings,
            Err(spoilt) => return Ok(Err(spoilt.clone())),
        };
        let most = spec.max_body;
        match body.only().filter(|all| all.len() <= LARGE) {
            Some(all) => match undone(codings, Box::new(all), most.min(LARGE as u64), || 0) {
                Err(Spoilt::TooLong | Spoilt::TooManyParts) if most > LARGE as u64 => Err(body),
                undone => Ok(undone.map(|body| self.look(body, spec))),
            },
            None => Err(body),
        }
    }

    /// However long it takes.
    fn whole(self, body: Coming, spec: &ClientSpec) -> Result<Digested, Spoilt> {
        let body = match &*self.codings.clone()? {
            [] => body.into_whole(),
            codings => {
                let parts = body.into_parts();
                let left = parts.left();
                undone(codings, Box::new(parts), spec.max_body, || left.get())?
            }
        };
        Ok(self.look(body, spec))
    }

    /// Whether anything is looked for in the body.
    fn looks(&self, spec: &ClientSpec) -> bool {
        let for_usage = match self.kind {
            Kind::Whole => spec.usage != UsageRule::Ignored,
            Kind::Stream | Kind::UnseenStream => true,
            Kind::Refusal => false,
        };
        for_usage || spec.fault.is_some()
    }

    fn look(&self, body: Vec<u8>, spec: &ClientSpec) -> Digested {
        let (usage, at) = (&spec.usage, spec.fault.as_ref());
        let (mut output, mut meter) = (None, None);
        let looked_at = if self.looks(spec) && is_deeper(&body, DEEPEST) {
            &[]
        } else {
            &*body
        };
        let used = match self.kind {
            Kind::Whole => usage.read(looked_at),
            Kind::Stream | Kind::UnseenStream => {
                // Its rate is of the tokens that it tells, whether or not a limit counts them.
                let told = usage.or_found().read_stream(looked_at);
                output = told.and_then(|used| used.output);
                told.filter(|_| *usage != UsageRule::Ignored)
            }
            Kind::Refusal => None,
        };
        let fault = match self.kind {
            Kind::Stream | Kind::UnseenStream => sse::fault(looked_at, at),
            Kind::Whole | Kind::Refusal => at.and_then(|at| at.read(looked_at)),
        };
        if self.kind == Kind::UnseenStream {
            let counted = meter.insert(Box::<Meter>::default());
            counted.take(Tick::ZERO, &body);
        }
        Digested {
            body: body.into(),
            used,
            fault,
            output,
            meter,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::client::ClientSpec;
    use crate::client::coming::Shape;

    fn digest(codings: &[Coding]) -> Digest {
        Digest {
            codings: Ok(codings.to_vec()),
            kind: Kind::Whole,
        }
    }

    fn coming(shape: Shape, body: &[u8]) -> Coming {
        let mut coming = Coming::new(shape, None, u64::MAX).unwrap();
        for piece in body.chunks(1000) {
            coming.room(piece.len()).extend_from_slice(piece);
        }
        coming
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn counts() -> ClientSpec {
        ClientSpec {
            usage: UsageRule::Found,
            ..ClientSpec::default()
        }
    }

    /// A body of so many bytes that tells its usage.
    fn tells(length: usize) -> Vec<u8> {
        let mut body = br#"{"usage":{"total_tokens":7},"text":""#.to_vec();
        body.resize(length - 2, b'x');
        body.extend_from_slice(b"\"}");
        body
    }

    #[tokio::test]
    async fn a_body_has_the_same_found_in_it_at_once_and_beside_the_loop() {
        for (length, is_beside) in [(LARGE, false), (LARGE + 1, true), (3 * LARGE, true)] {
            let body = tells(length);
            for (shape, codings, came) in [
                (Shape::Whole, &[][..], body.clone()),
                (Shape::Parts, &[Coding::Gzip], gzip(&body)),
                (Shape::Parts, &[Coding::Gzip; 2], gzip(&gzip(&body))),
            ] {
                let aside = Aside::default();
                let digesting =
                    digest(codings).begin(coming(shape, &came), &counts().into(), &aside);
                let what = format!("{length} bytes, {codings:?}");
                assert_eq!(
                    matches!(digesting, Digesting::Beside(_)),
                    is_beside,
                    "{what}"
                );
                let found = digesting.await.unwrap();
                assert!(found.body == body, "{what}");
                assert_eq!(found.used, Some(Usage::of(7)), "{what}");
            }
        }
    }

    #[test]
    fn a_large_body_in_which_nothing_is_looked_for_is_not_handed_over() {
        let body = coming(Shape::Whole, &vec![b'x'; 2 * LARGE]);
        let found = digest(&[]).at_once(body, &ClientSpec::default());
        assert!(matches!(found, Ok(Ok(_))));
    }

    #[tokio::test]
    async fn one_that_is_spoilt_is_told_at_once_and_beside_the_loop() {
        let aside = Aside::default();
        for (most, spoilt) in [
            (100, Spoilt::TooLong),
            (2 << 20, Spoilt::TooLong),
            (4 << 20, Spoilt::Damaged("no whole gzip".to_owned())),
        ] {
            let spec = ClientSpec {
                max_body: most,
                ..counts()
            };
            let whole = gzip(&vec![b'x'; 3 << 20]);
            let body = coming(Shape::Parts, &whole[..whole.len() - 4]);
            let told = digest(&[Coding::Gzip])
                .begin(body, &spec.into(), &aside)
                .await;
            match (told, spoilt) {
                (Err(Spoilt::TooLong), Spoilt::TooLong) => {}
                (Err(Spoilt::Damaged(why)), Spoilt::Damaged(begins)) => {
                    assert!(why.starts_with(&begins), "{why}");
                }
                (told, spoilt) => panic!("{told:?}, not {spoilt:?}"),
            }
        }
    }

    #[test]
    fn no_body_is_in_no_coding_whatever_its_head_says() {
        for codings in [
            Ok(vec![Coding::Gzip]),
            Err(Spoilt::Damaged("in no coding that is known".to_owned())),
        ] {
            let digest = Digest {
                codings,
                ..digest(&[])
            };
            let found = digest.at_once(Coming::default(), &counts());
            let found = found.unwrap().unwrap();
            assert!(found.body.is_empty());
        }
    }
}

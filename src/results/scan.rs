//! A first look at a file of results: which lines count, and when it all was. Floor 4: doors.

use super::done::Name;
use super::last::Lasts;
use super::row::{Made, Print, Row};
use super::{LineEnd, Raw, Results, no_result, unreadable};
use crate::error::Problem;
use crate::outcome::Status;
use crate::units::Tick;

/// What a first look finds.
#[derive(Debug, Default)]
pub struct Scan {
    /// Lines that are results.
    pub results: u64,
    /// Those that a later line of the same job replaces, in order.
    pub replaced: Vec<u64>,
    /// The last line, if it is not whole: it is passed over.
    pub torn: Option<u64>,
    /// The last line that is read: more may be written meanwhile.
    pub last: u64,
    /// Tries that tell a moment.
    pub tries: u64,
    /// Those that were sent.
    pub sends: u64,
    /// The first line that was tried.
    pub first: Option<Print>,
    /// First grant and last end of what was granted before the first of some moments, from each of them to the
    /// next, and from the last on. Moments count from the Unix epoch.
    pub spans: Vec<Option<(Tick, Tick)>>,
}

impl Scan {
    /// Looks at all lines. `starts`, in order, are the starts of runs, since the Unix epoch.
    ///
    /// A last line without its end that is no result was torn; any other such line is a problem. Memory: that
    /// of the names of jobs, 16 bytes for each that has an id.
    pub fn of(results: &mut Results, starts: &[Tick]) -> Result<Self, Problem> {
        let (path, shown) = (results.path.clone(), results.shown());
        let unreadable = |why| unreadable(&path, &why);
        let mut scan = Self {
            spans: vec![None; starts.len() + 1],
            ..Self::default()
        };
        let mut lasts = Lasts::default();
        let mut lines = results.lines().map_err(unreadable)?;
        while let Some(raw) = lines.next().map_err(unreadable)? {
            scan.last = raw.number;
            match read(&raw) {
                Ok(row) => scan.add(&row, raw.number, starts, &mut lasts),
                Err(_) if is_torn(&raw) => scan.torn = Some(raw.number),
                Err(why) => return Err(damaged(&shown, &raw, &why, "| shaper report -")),
            }
        }
        scan.replaced = lasts.replaced();
        Ok(scan)
    }

    /// As if nothing told of runs.
    pub fn forget_runs(&mut self) {
        let whole = self.span();
        self.spans = vec![whole];
    }

    /// First grant and last end of all; `None` where no try tells its moments.
    pub fn span(&self) -> Option<(Tick, Tick)> {
        let spans = self.spans.iter().flatten();
        let from = spans.clone().map(|span| span.0).min();
        from.zip(spans.map(|span| span.1).max())
    }

    fn add(&mut self, row: &Seen, line: u64, starts: &[Tick], lasts: &mut Lasts) {
        self.results += 1;
        if let Some(name) = row.name {
            let seq = row.row.seq.unwrap_or(line);
            lasts.add(name, row.status, seq, line, row.row.history());
        }
        self.sends += row
            .row
            .tries()
            .iter()
            .filter(|made| made.was_sent())
            .count() as u64;
        self.first = self.first.or_else(|| row.row.print());
        for (granted, done) in row.row.tries().iter().filter_map(Made::span) {
            self.tries += 1;
            let run = starts.partition_point(|start| *start <= granted);
            let span = self.spans[run].get_or_insert((granted, done));
            *span = (span.0.min(granted), span.1.max(done));
        }
    }
}

/// A line that is a result.
pub(super) struct Seen<'a> {
    pub(super) row: Row<'a>,
    pub(super) status: Status,
    /// `None` if it names no job: nothing can replace it.
    name: Option<Name>,
}

/// The column is that of the text, if that is what is wrong.
pub(super) struct NoResult {
    why: String,
    column: Option<usize>,
}

impl From<String> for NoResult {
    fn from(why: String) -> Self {
        Self { why, column: None }
    }
}

pub(super) fn read<'a>(raw: &Raw<'a>) -> Result<Seen<'a>, NoResult> {
    let row: Row = serde_json::from_slice(raw.bytes).map_err(|why| NoResult {
        column: Some(why.column().max(1)),
        why: why.to_string(),
    })?;
    row.tries().iter().try_for_each(Made::is_in_order)?;
    let word = row.status.as_deref();
    let word = word.ok_or_else(|| "missing field `status`".to_owned())?;
    let status = Status::of(word).ok_or_else(|| format!("unknown status {word:?}"))?;
    let named = row.id.is_some() || row.job.is_some();
    let name = named.then(|| Name::of_row(&row)).transpose()?;
    Ok(Seen {
        name: name.map(|(name, _)| name),
        row,
        status,
    })
}

/// Whether a line that is no result is the beginning of one.
pub(super) fn is_torn(raw: &Raw<'_>) -> bool {
    raw.end == LineEnd::File && !is_foreign(raw.bytes)
}

/// Whether these bytes are the beginning of something else.
fn is_foreign(bytes: &[u8]) -> bool {
    !matches!(bytes.first(), Some(b'{' | 0))
}

/// `unpacked` is how its reader takes what was packed.
pub(super) fn damaged(shown: &str, raw: &Raw, wrong: &NoResult, unpacked: &str) -> Problem {
    let what = no_result(&wrong.why);
    let mend = match raw.number {
        1 if raw.bytes.starts_with(GZIP) => {
            format!("unpack it: zcat FILE {unpacked}")
        }
        1 => "name a file that `shaper run -o` has written, without --output-format".to_owned(),
        _ => "the lines before it are whole: keep those in a file of their own".to_owned(),
    };
    let place = format!("{shown}:{}", raw.number);
    let column = wrong.column.map(|column| format!(":{column}"));
    Problem::usage(what, mend).at(place + &column.unwrap_or_default())
}

/// RFC 1952 §2.3.1.
const GZIP: &[u8] = &[0x1f, 0x8b];

//! Results with what is told beside them: `FILE.run`. Floor 6: front.

use std::env;
use std::fs::File;
use std::path::Path;

use memchr::memmem;
use tokio::sync::mpsc::UnboundedSender;

use super::args::RunArgs;
use crate::clock::Clock;
use crate::drive::live::SLACK;
use crate::engine::Event;
use crate::error::Problem;
use crate::manifest::{
    self, Before, Ended, Given, Input, Limit, Manifest, Owners, Shared, Withheld,
};
use crate::metrics::Setup;
use crate::report::Report;
use crate::sink::{self, Existing, Sink, SinkSpec, Target};
use crate::source::HttpUrl;
use crate::units::{Tick, nanos};

/// Whether a program writes to these results now.
pub(super) fn is_being_written(results: &Path) -> bool {
    let file = File::open(results);
    file.is_ok_and(|file| sink::holder(&file).is_some())
}

/// Results and their manifest.
pub(super) struct Kept {
    pub(super) sink: SinkSpec,
    manifest: Manifest,
    /// The results that are gone on with.
    held: Option<File>,
}

/// Refuses what [`Kept::open`] would replace and should not.
pub(super) fn check(sink: &SinkSpec) -> Result<(), Problem> {
    let Target::File(path) = &sink.target else {
        return Ok(());
    };
    match sink.existing {
        Existing::Refuse if path.is_file() || !path.exists() => manifest::check(path),
        // What is gone on with is read there.
        Existing::Continue if !path.exists() => manifest::check(path),
        Existing::Refuse | Existing::Continue | Existing::Overwrite => Ok(()),
    }
}

fn given(args: &RunArgs) -> Given {
    let (format, method) = (args.input.format(), args.http.job.method.as_ref());
    let is_filled = || {
        let headers = args.http.job.headers().unwrap_or_default();
        let mut lines = headers.lines().iter();
        lines.any(|(_, value)| memmem::find(value, b"{{").is_some())
    };
    let url = args.input.url.as_ref();
    Given {
        url: url.map(|_| Withheld::Value),
        header: url.filter(|_| is_filled()).map(|_| Withheld::Value),
        format: format.map(|format| format.to_string()),
        method: method.map(ToString::to_string),
        data: args.http.job.data.as_ref().map(|_| Withheld::Value),
        rewrite: args.input.rewrite.first().map(|_| Withheld::Value),
        shard: args.input.pick().shard.map(|shard| shard.to_string()),
        log_fields: args.input.log_fields.as_ref().map(ToString::to_string),
        request_url: args.input.request_url.as_ref().map(HttpUrl::to_string),
    }
}

impl Kept {
    /// The results of a run that begins now.
    pub(super) fn new(
        sink: SinkSpec,
        args: &RunArgs,
        setup: &Setup,
        inputs: &[String],
        clock: &Clock,
        seed: u64,
    ) -> Self {
        let base_url = args.http.job.base_url.as_ref();
        let manifest = Manifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            limits: setup.limits.iter().map(Limit::from).collect(),
            concurrency: setup.slots,
            slots_by: setup.slots_by,
            per_host: setup.per_host,
            slack_us: nanos(SLACK) / 1_000,
            inputs: inputs.iter().cloned().map(Input::named).collect(),
            base_url: base_url.map(HttpUrl::to_string),
            folder: env::current_dir()
                .ok()
                .map(|it| it.to_string_lossy().into_owned()),
            given: Some(given(args)),
            transport: Some(args.http.transport.transport.to_string()),
            arrivals: args.rules.arrivals().ok().map(|it| it.to_string()),
            refund: Some(args.rules.units.refund.to_string()),
            shared: None,
            redirects: Some(args.http.redirects()),
            seed,
            host: manifest::host(),
            started_us: clock.epoch_micros(Tick::ZERO),
            ended: None,
            earlier: Vec::new(),
            owners: None,
        };
        Self {
            sink,
            manifest,
            held: None,
        }
    }

    /// What its limits are shared through, if they are.
    pub(super) fn shares(&mut self, shared: Option<Shared>) {
        self.manifest.shared = shared;
    }

    /// It goes on from the results of earlier runs.
    pub(super) fn go_on(&mut self, before: Vec<Before>, owners: Option<Owners>, held: File) {
        self.manifest.earlier = before;
        self.manifest.owners = owners;
        self.held = Some(held);
    }

    /// Opens the results and says beside them by which rules they come.
    pub(super) fn open(
        &mut self,
        clock: Clock,
        tell: UnboundedSender<Event>,
    ) -> Result<Sink, Problem> {
        let sink = Sink::open(&self.sink, self.held.take(), clock, tell)?;
        if let Some(path) = self.path() {
            self.manifest.write(path)?;
        }
        Ok(sink)
    }

    /// Adds what became of the run.
    pub(super) fn close(self, report: &Report) -> Result<(), Problem> {
        let started_us = self.manifest.started_us;
        let timeline = &report.summary.tally.timeline;
        let before = self.manifest.owners.as_ref();
        let whole = Manifest {
            transport: report.facts.transport.clone(),
            ended: Ended::of(report, started_us),
            owners: Some(Owners::of(timeline, started_us, before)),
            ..self.manifest.clone()
        };
        self.path().map_or(Ok(()), |path| whole.write(path))
    }

    /// The file of results; `None` if they are in no regular file.
    fn path(&self) -> Option<&Path> {
        match &self.sink.target {
            Target::File(path) => path.is_file().then_some(path),
            Target::Stdout | Target::Nowhere => None,
        }
    }
}

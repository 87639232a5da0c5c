//! Brings results to the disk while more are written. Floor 4: doors.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::worker::Waiting;
use super::writer::Handle;
use crate::engine::Event;
use crate::error::Problem;

/// A thread that brings a file to the disk each time that so much has passed: it may take long, and results
/// are written meanwhile.
pub(super) fn waiting(
    each: Duration,
    tell: UnboundedSender<Event>,
) -> Result<Waiting<Handle, ()>, Problem> {
    Waiting::spawn(
        "fsync",
        "bring results to the disk",
        move |file: Handle, over| {
            while over.recv_timeout(each) == Err(RecvTimeoutError::Timeout) {
                file.sync().inspect_err(|problem| {
                    let _ = tell.send(Event::SinkLost(problem.clone()));
                })?;
            }
            Ok(())
        },
    )
}

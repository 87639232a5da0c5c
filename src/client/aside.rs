//! A thread beside the loop that sends, for what takes as long as many sends. Floor 4: doors.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::{io, thread};

use tokio::sync::oneshot;

type Work = Box<dyn FnOnce() + Send>;

/// Does one thing after the other, so that no more than one of them holds memory. Its thread begins with the first and
/// ends with this.
#[derive(Debug, Default)]
pub(super) struct Aside(OnceCell<Option<Sender<Work>>>);

impl Aside {
    /// Has it done, where there is no thread to be had here and at once. Tells nothing if it panics.
    pub(super) fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (tell, told) = oneshot::channel();
        let work: Work = Box::new(move || {
            // Nobody may want to know it any more.
            let _ = tell.send(work());
        });
        let left = match self.0.get_or_init(|| thread().ok()) {
            Some(to) => to.send(work).err().map(|not_sent| not_sent.0),
            None => Some(work),
        };
        if let Some(work) = left {
            work();
        }
        told
    }
}

fn thread() -> io::Result<Sender<Work>> {
    let (to, works) = channel::<Work>();
    let work = move || {
        for work in works {
            // Those behind it are done all the same.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    };
    let thread = thread::Builder::new().name("bodies".to_owned());
    thread.spawn(work).map(|_| to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_panics_tells_nothing_and_what_is_behind_it_is_done() {
        let aside = Aside::default();
        let panics = aside.work::<()>(|| panic!("on purpose, for this test"));
        let here = thread::current().id();
        let next = aside.work(move || thread::current().id() != here);
        assert!(panics.await.is_err());
        assert_eq!(next.await, Ok(true));
    }

    #[tokio::test]
    async fn without_a_thread_it_is_done_at_once() {
        let aside = Aside(OnceCell::from(None));
        assert_eq!(aside.work(|| 7).try_recv(), Ok(7));
    }
}

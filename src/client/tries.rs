//! The tries under way, each in a place that is used again. Floor 4: doors.
//!
//! The loop that decides goes on with them itself: a task of the runtime for each would cost more than all that the try
//! does besides talking to the system.

use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::task::coop::has_budget_remaining;

/// What goes on until a try has ended.
enum Course<F> {
    /// The usual one, which stands in its place: no memory is got for it.
    Usual(F),
    Other(Pin<Box<dyn Future<Output = ()>>>),
}

/// All tries of a client.
pub(super) struct Tries<F> {
    places: Vec<Place<F>>,
    /// Those without a try; the one used last is at the back.
    free: Vec<usize>,
    woken: Arc<Woken>,
    /// Places that are gone on with now; its memory is used again.
    turn: Vec<usize>,
}

/// Where a try is.
struct Place<F> {
    course: Option<Course<F>>,
    waker: Waker,
    bell: Arc<Bell>,
}

/// Wakes the try of a place; one that is there later is woken for nothing at worst.
struct Bell {
    place: usize,
    rung: AtomicBool,
    woken: Arc<Woken>,
}

/// The places whose bells have rung, and who waits for that.
#[derive(Default)]
struct Woken(Mutex<Waits>);

#[derive(Default)]
struct Waits {
    places: Vec<usize>,
    waker: Option<Waker>,
}

impl Woken {
    /// What a panic left behind is a place that is woken for nothing at worst.
    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.rung.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut waits = self.woken.waits();
        waits.places.push(self.place);
        let waker = waits.waker.take();
        drop(waits);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<F> Default for Tries<F> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            woken: Arc::default(),
            turn: Vec::new(),
        }
    }
}

impl<F: Future<Output = ()> + Unpin> Tries<F> {
    /// Begins a try, and goes on with it as far as that is possible at once.
    pub(super) fn begin(&mut self, course: F) {
        self.put(Course::Usual(course));
    }

    /// The same for one that is not of the usual kind.
    pub(super) fn begin_other(&mut self, course: impl Future<Output = ()> + 'static) {
        self.put(Course::Other(Box::pin(course)));
    }

    fn put(&mut self, course: Course<F>) {
        let place = self.free.pop().unwrap_or_else(|| self.add());
        self.places[place].course = Some(course);
        self.go_on(place);
    }

    fn add(&mut self) -> usize {
        let bell = Arc::new(Bell {
            place: self.places.len(),
            rung: AtomicBool::new(false),
            woken: Arc::clone(&self.woken),
        });
        self.places.push(Place {
            course: None,
            waker: Arc::clone(&bell).into(),
            bell,
        });
        self.places.len() - 1
    }

    /// Goes on with all that were woken, and has `cx` woken when there are more.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        mem::swap(&mut self.turn, &mut self.woken.waits().places);
        let mut turn = mem::take(&mut self.turn);
        let mut left = turn.drain(..);
        for place in left.by_ref() {
            self.places[place].bell.rung.store(false, Ordering::Release);
            self.go_on(place);
            // The runtime wants others to go on, too.
            if !has_budget_remaining() {
                break;
            }
        }
        let mut waits = self.woken.waits();
        waits.places.extend(left);
        if waits.places.is_empty() {
            match &mut waits.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                None => waits.waker = Some(cx.waker().clone()),
            }
        } else {
            cx.waker().wake_by_ref();
        }
        drop(waits);
        self.turn = turn;
    }

    /// A try that breaks off has ended: it tells so itself when it is dropped.
    fn go_on(&mut self, at: usize) {
        let place = &mut self.places[at];
        let Some(course) = &mut place.course else {
            return;
        };
        let mut context = Context::from_waker(&place.waker);
        let went = catch_unwind(AssertUnwindSafe(|| match course {
            Course::Usual(course) => Pin::new(course).poll(&mut context),
            Course::Other(course) => course.as_mut().poll(&mut context),
        }));
        match went {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) | Err(_) => {
                place.course = None;
                self.free.push(at);
            }
        }
    }
}

impl<F> fmt::Debug for Tries<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under_way = self.places.len() - self.free.len();
        out.debug_struct("Tries")
            .field("under_way", &under_way)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::{mpsc, oneshot};
    use tokio::task::coop;

    use super::*;

    type Boxed = Pin<Box<dyn Future<Output = ()>>>;

    /// Goes on until `until` is ready.
    async fn go_on<T>(tries: &mut Tries<Boxed>, until: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            () = poll_fn(|cx| { tries.poll(cx); Poll::Pending }) => unreachable!("it is never over"),
            value = until => value,
        }
    }

    #[tokio::test]
    async fn a_try_goes_on_when_what_it_waits_for_is_there() {
        let mut tries = Tries::<Boxed>::default();
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut senders = Vec::new();
        for nth in 0..3 {
            let (send, wait) = oneshot::channel::<()>();
            let tell = tell.clone();
            let course = async move {
                wait.await.unwrap();
                tell.send(nth).unwrap();
            };
            match nth {
                1 => tries.begin_other(course),
                _ => tries.begin(Box::pin(course)),
            }
            senders.push(send);
        }
        for (nth, send) in senders.into_iter().enumerate().rev() {
            // From another thread, too.
            std::thread::spawn(move || send.send(()))
                .join()
                .unwrap()
                .unwrap();
            assert_eq!(go_on(&mut tries, told.recv()).await, Some(nth));
        }
    }

    #[tokio::test]
    async fn a_place_is_used_again_and_a_late_bell_of_it_harms_nobody() {
        let mut tries = Tries::<Boxed>::default();
        let mut bells = Vec::new();
        for _ in 0..100 {
            let (send, wait) = oneshot::channel();
            tries.begin_other(async move {
                let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
                send.send(waker).unwrap();
            });
            bells.push(wait.await.unwrap());
        }
        assert_eq!(tries.places.len(), 1);
        let (send, wait) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        tries.begin_other(async move { tell.send(wait.await).unwrap() });
        bells.into_iter().for_each(Waker::wake);
        tokio::spawn(async { send.send(()) });
        assert_eq!(go_on(&mut tries, told).await, Ok(Ok(())));
    }

    #[tokio::test]
    async fn one_that_panics_is_dropped_and_the_others_go_on() {
        struct Dropped(Arc<AtomicUsize>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut tries = Tries::<Boxed>::default();
        let drops = Arc::new(AtomicUsize::new(0));
        let (send, wait) = oneshot::channel::<()>();
        let held = Dropped(Arc::clone(&drops));
        tries.begin_other(async move {
            let _held = held;
            wait.await.unwrap();
            panic!("on purpose, for this test");
        });
        let (tell, told) = oneshot::channel();
        tries.begin_other(async move {
            tokio::task::yield_now().await;
            tell.send(()).unwrap();
        });
        send.send(()).unwrap();
        go_on(&mut tries, told).await.unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn one_that_has_always_something_to_do_lets_the_loop_go_on() {
        let mut tries = Tries::<Boxed>::default();
        tries.begin_other(async {
            loop {
                coop::consume_budget().await;
            }
        });
        for _ in 0..100 {
            go_on(&mut tries, tokio::task::yield_now()).await;
        }
    }
}

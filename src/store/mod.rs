//! The store through which several runs share their limits: Redis, or what speaks its protocol. Floor 4: doors.
//!
//! A run has a [`Store`]; it hands on wishes and says words ([`crate::engine::share`]). Behind it one task has one call in
//! flight, which carries everything that was wished since the last one. The server decides, in one script, by its own
//! clock: nothing that one process believes of the others is ever needed.

mod address;
mod call;
mod connect;
mod door;
mod link;
mod lore;
mod request;
pub mod script;
mod shared;
pub mod status;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use twox_hash::XxHash3_64;

pub use address::{ADDRESS_FORMS, Address};
pub use call::{Call, Caller, Chore, Heard, Who};
pub use request::{Request, Time};
pub use shared::Shared;

use crate::clock::Clock;
use crate::engine::share::{Wish, Word};
use crate::error::Problem;
use crate::manifest;
use crate::units::Tick;
use door::{Door, Order, State};
use link::Link;

/// How long leaving may take: what is not told by then ends by itself.
const LEAVING: Duration = Duration::from_secs(1);

/// A run's handle.
#[derive(Debug)]
pub struct Store {
    orders: UnboundedSender<Order>,
    task: JoinHandle<()>,
    clock: Clock,
    caution: Option<String>,
}

impl Store {
    /// Joins those who share these limits, within `patience`. What the store says is told by `tell`, with its moment.
    ///
    /// It is a problem of usage if others share other limits under this name, or the store cannot count these
    /// ([`Caller::new`]); one of the store if it refuses this user, cannot run the script, or is not there within `patience`:
    /// it is asked again until then, with rests between.
    ///
    /// To be called within a tokio runtime, as the others.
    pub async fn join(
        address: &Address,
        shared: &Shared,
        patience: Duration,
        clock: Clock,
        tell: impl Fn(Word, Tick) + Send + 'static,
    ) -> Result<Self, Problem> {
        let (orders, heard) = unbounded_channel();
        let mut door = door(address, shared, clock, tell, heard)?;
        door.join_within(patience).await?;
        door.sets_its_watch().await;
        let policy = door.link.info("memory", "maxmemory_policy").await;
        let caution = policy.filter(|policy| policy.starts_with("allkeys"));
        let caution = caution.map(|policy| {
            format!("{address}: maxmemory-policy {policy} may throw out limits that count: use noeviction")
        });
        Ok(Self {
            orders,
            task: tokio::spawn(door.run()),
            clock,
            caution,
        })
    }

    /// The same without waiting for it: it goes on trying, and says `Away` and `Back` as later in a run. Fails at once only
    /// for limits that the store cannot count; all else that is wrong with it is told as `Unfit`.
    pub fn join_later(
        address: &Address,
        shared: &Shared,
        clock: Clock,
        tell: impl Fn(Word, Tick) + Send + 'static,
    ) -> Result<Self, Problem> {
        let (orders, heard) = unbounded_channel();
        let door = door(address, shared, clock, tell, heard)?;
        Ok(Self {
            orders,
            task: tokio::spawn(door.run()),
            clock,
            caution: None,
        })
    }

    /// What should be said of this store before a run, though it works: that it may throw out keys that count. `None` if it
    /// does not, does not tell, or was not waited for.
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }

    /// Goes with the next call. After `Unfit` nothing comes of it.
    pub fn wish(&self, wish: Wish) {
        // The task ends by itself only when it has said why.
        let _ = self.orders.send(Order::Wish(wish));
    }

    /// Says what is still wished, and leaves; gives up after a second.
    pub async fn leave(mut self) {
        let _ = self.orders.send(Order::Leave);
        let until = self.clock.now().after(LEAVING);
        tokio::select! {
            _ = &mut self.task => {}
            () = self.clock.sleep_until(until) => self.task.abort(),
        }
    }
}

fn door<T>(
    address: &Address,
    shared: &Shared,
    clock: Clock,
    tell: T,
    orders: UnboundedReceiver<Order>,
) -> Result<Door<T>, Problem> {
    Ok(Door {
        link: Link::new(address.clone(), shared.timeout, clock),
        caller: Caller::new(shared, who(clock))?,
        clock,
        slack: shared.slack,
        tell,
        orders,
        members: 0,
        state: State::Outside,
        began: 0,
    })
}

/// This run, told apart from every other.
fn who(clock: Clock) -> Who {
    static STORES: AtomicU64 = AtomicU64::new(0);
    let (host, process) = (manifest::host(), std::process::id());
    let nth = STORES.fetch_add(1, Ordering::Relaxed);
    let since = clock.epoch_micros(Tick::ZERO);
    let text = format!("{host} {process} {nth} {since} {}", clock.seed());
    Who {
        member: format!("{:016x}", XxHash3_64::oneshot(text.as_bytes())),
        place: format!("{host}:{process}"),
        since,
    }
}

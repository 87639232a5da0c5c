//! The same work for many items, on all cores. Floor 5: drive.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results in the order of the items. Without a thread to be had the work is done here.
pub(super) fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            done.push((at, work(item)));
        }
        done
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(items.len()))
            .filter_map(|_| {
                let thread = thread::Builder::new().name("simulates".to_owned());
                thread.spawn_scoped(scope, some).ok()
            })
            .collect();
        let mut done = some();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

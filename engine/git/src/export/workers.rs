//! Work on all cores whose results come in order.

use crate::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Results on their way, and who takes them.
struct Queue<T, F> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    sink: F,
    outcome: Result<()>,
}

/// Makes `count` things, each thread with a state of its own, and hands them to `sink` from the first to the last.
///
/// # Errors
/// The first that `make` or `sink` meets; the rest is not made then.
pub(super) fn in_order<S, T: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize) -> Result<T> + Sync,
    sink: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    let begun = AtomicUsize::new(0);
    let queue = Mutex::new(Queue { next: 0, waiting: BTreeMap::new(), sink, outcome: Ok(()) });
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        let mut state = state();
        loop {
            let n = begun.fetch_add(1, Ordering::Relaxed);
            if n >= count || lock().outcome.is_err() {
                return;
            }
            let made = make(&mut state, n);
            let mut queue = lock();
            match made {
                Ok(made) => queue.take(n, made),
                Err(error) if queue.outcome.is_ok() => queue.outcome = Err(error),
                Err(_) => {}
            }
        }
    };
    let threads = rayon::current_num_threads().min(count);
    if threads <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    queue.into_inner().unwrap_or_else(PoisonError::into_inner).outcome
}

impl<T, F: FnMut(T) -> Result<()>> Queue<T, F> {
    fn take(&mut self, n: usize, made: T) {
        self.waiting.insert(n, made);
        while self.outcome.is_ok()
            && let Some(made) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            self.outcome = (self.sink)(made);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GitError;

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let mut seen = Vec::new();
        in_order(
            1000,
            || 0,
            |_, n| Ok(n * 2),
            |n| {
                seen.push(n);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, (0..1000).map(|n| n * 2).collect::<Vec<_>>());
        let refused = || GitError::Refused { reason: "enough".to_owned() };
        let mut seen = 0;
        let sink = |_| {
            seen += 1;
            if seen == 10 { Err(refused()) } else { Ok(()) }
        };
        assert!(in_order(1000, || (), |_, n| Ok(n), sink).is_err());
        assert_eq!(seen, 10);
        assert!(in_order(5, || (), |_, n| if n == 3 { Err(refused()) } else { Ok(n) }, |_| Ok(())).is_err());
        in_order(0, || (), |_, n| Ok(n), |_| Ok(())).unwrap();
    }
}

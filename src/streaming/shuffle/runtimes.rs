//! Runtimes for threads that fetch, kept from one fetch to the next: to build one costs more than a small fetch.

use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

/// Idle runtimes, never more than fetches that ran at one time.
#[derive(Debug, Default)]
pub(super) struct Runtimes(Mutex<Vec<Runtime>>);

/// A runtime for one fetch, idle again when it is dropped.
pub(super) struct BorrowedRuntime<'a> {
    owner: &'a Runtimes,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

impl Runtimes {
    /// # Errors
    /// A new one is needed, and the system refuses its descriptors.
    pub(super) fn borrow(&self) -> io::Result<BorrowedRuntime<'_>> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let runtime = match idle {
            Some(runtime) => runtime,
            None => Builder::new_current_thread().enable_all().build()?,
        };
        Ok(BorrowedRuntime { owner: self, runtime: Some(runtime) })
    }
}

impl BorrowedRuntime<'_> {
    /// Runs a future on this thread.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for BorrowedRuntime<'_> {
    fn drop(&mut self) {
        self.owner.0.lock().unwrap_or_else(PoisonError::into_inner).extend(self.runtime.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_one_after_another_share_a_runtime() {
        let runtimes = Runtimes::default();
        for _ in 0..3 {
            assert_eq!(runtimes.borrow().unwrap().block_on(async { Ok(1) }).unwrap(), 1);
        }
        assert_eq!(runtimes.0.lock().unwrap().len(), 1);
        let (_first, _second) = (runtimes.borrow().unwrap(), runtimes.borrow().unwrap());
        assert_eq!(runtimes.0.lock().unwrap().len(), 0);
    }
}

//! Reads of the ledger beside the owner, few at a time: each occupies the disk and a thread.

use std::fmt::Display;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::store::{LedgerReader, StoreError};
use crate::web::LedgerUnreadable;

const STATEMENTS_AT_ONE_TIME: usize = 2;

/// Reader of statements and histories, with its concurrency limits.
#[derive(Clone, Debug)]
pub(super) struct LedgerReads {
    reader: LedgerReader,
    pub(super) statements: Arc<Semaphore>,
    /// Prices are public, so they have a limit of their own: signed requests do not wait behind them.
    pub(super) prices: Arc<Semaphore>,
}

impl LedgerReads {
    pub(super) fn new(reader: LedgerReader) -> Self {
        let statements = Arc::new(Semaphore::new(STATEMENTS_AT_ONE_TIME));
        Self { reader, statements, prices: Arc::new(Semaphore::new(1)) }
    }

    /// Reads on a thread of the pool, within the concurrency limit.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        limit: impl FnOnce(&Self) -> &Arc<Semaphore>,
        read: impl FnOnce(&LedgerReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        let unreadable = |reason: &dyn Display| LedgerUnreadable(reason.to_string());
        let permit = limit(self).clone().acquire_owned().await.map_err(|error| unreadable(&error))?;
        let reader = self.reader.clone();
        let read = tokio::task::spawn_blocking(move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            read(&reader)
        });
        read.await.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))
    }
}

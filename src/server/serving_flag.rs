//! Whether calls are taken, shared by all that ask or say so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Not before it is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServingFlag(Arc<AtomicBool>);

impl ServingFlag {
    pub(crate) fn set(&self, is_serving: bool) {
        self.0.store(is_serving, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

//! Pauses between tries, which tests leave out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone)]
pub struct Pauses(Arc<dyn Fn(Duration) + Send + Sync>);

impl Pauses {
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "a pause between tries waits for nothing but the clock")]
    pub(crate) fn sleeping() -> Self {
        Self(Arc::new(std::thread::sleep))
    }

    /// `pause` is called with each pause.
    pub fn through(pause: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(pause))
    }

    pub(crate) fn pause(&self, length: Duration) {
        (self.0)(length);
    }
}

impl Default for Pauses {
    fn default() -> Self {
        Self::sleeping()
    }
}

impl fmt::Debug for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pauses")
    }
}

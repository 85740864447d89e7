//! What read-only sessions of pages and programs are signed with.

use std::fmt;

pub(crate) const SESSION_KEY_BYTES: usize = 32;

/// The key of sessions. It does not print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionKey([u8; SESSION_KEY_BYTES]);

impl SessionKey {
    #[must_use]
    pub const fn new(bytes: [u8; SESSION_KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes to sign with, and to keep. Secret.
    #[must_use]
    pub(crate) const fn as_bytes(&self) -> &[u8; SESSION_KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SessionKey(…)")
    }
}

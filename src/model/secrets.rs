//! Secrets to sign with: of applications, and of read-only sessions of pages and programs.

use std::fmt;

use super::text::hex;

const SECRET_BYTES: usize = 20;

/// The secret of one application. It does not print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ApplicationSecret([u8; SECRET_BYTES]);

impl ApplicationSecret {
    #[must_use]
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// A secret that was kept; none if these bytes are not one.
    #[must_use]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes to keep. Secret.
    #[must_use]
    pub(crate) const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As its application gets it and signs with it: 40 lower-case hex digits. Secret.
    #[must_use]
    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for ApplicationSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApplicationSecret(…)")
    }
}

pub(crate) const SESSION_KEY_BYTES: usize = 32;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_in_hex_and_never_printed() {
        let secret = ApplicationSecret::new([0xa5; SECRET_BYTES]);
        assert_eq!(secret.to_hex(), "a5".repeat(SECRET_BYTES));
        assert_eq!(ApplicationSecret::from_bytes(secret.as_bytes()), Some(secret));
        assert_eq!(ApplicationSecret::from_bytes(b"short"), None);
        assert_eq!(format!("{secret:?}"), "ApplicationSecret(…)");
    }
}

//! The secret that a user signs with; never printed.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::market::money::KeyId;

/// The secret that a user signs with.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

// === impl Key ===

impl Key {
    /// A key from the text in the list.
    pub fn new(text: &str) -> Self {
        Key(Box::from(text))
    }

    /// The text, for a file that has keys.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The bytes to sign with: UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The id of this key.
    pub fn key_id(&self) -> KeyId {
        let digest: [u8; 32] = Sha256::digest(self.as_bytes()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        KeyId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// Never prints the key.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

//! A hash of everything that was decided, so that two runs can be compared (law 7): over the text of each fact, effect,
//! wait and reply. Another member of any of them is another hash.

use std::fmt::{self, Write};

use sha2::{Digest as _, Sha256};

/// A running hash.
#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    hash: Sha256,
    /// The text that is added next: many small pieces.
    text: String,
}

// === impl Digest ===

impl Digest {
    /// The first 64 bits of it.
    pub(super) fn value(&self) -> u64 {
        let hash: [u8; 32] = self.hash.clone().finalize().into();
        hash[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    pub(super) fn add(&mut self, decided: &impl fmt::Debug) {
        self.text.clear();
        // A string takes all text.
        let _ = writeln!(self.text, "{decided:?}");
        self.hash.update(&self.text);
    }
}

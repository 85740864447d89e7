//! The policies to choose from, with their options.

use super::FifoOptions;
use super::compatible_fifo::CompatibleFifo;
use super::dynamic::Dynamic;
use super::fifo::Fifo;
use super::policy::Policy;

/// A policy with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOptions {
    /// First in, first out.
    Fifo(FifoOptions),
    /// The market.
    Dynamic,
}

// === impl PolicyOptions ===

impl PolicyOptions {
    pub(super) fn build(self) -> Box<dyn Policy> {
        match self {
            Self::Fifo(FifoOptions { compatible: true, pad_millionths }) => {
                Box::new(CompatibleFifo::new(pad_millionths))
            }
            Self::Fifo(FifoOptions { compatible: false, pad_millionths }) => Box::new(Fifo::new(pad_millionths)),
            Self::Dynamic => Box::new(Dynamic::default()),
        }
    }
}

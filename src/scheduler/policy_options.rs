//! The policies to choose from, with their options.

use std::sync::Arc;

use super::FifoOptions;
use super::capacity::{Capacity, CapacityConfig};
use super::constraint::{Constraint, ConstraintConfig};
use super::dynamic::Dynamic;
use super::fair::allocations::Allocations;
use super::fair::options::FairOptions;
use super::fair::policy::Fair;
use super::fifo::{CompatibleFifo, Fifo};
use super::policy::Policy;

#[derive(Clone, Debug, PartialEq)]
pub enum PolicyOptions {
    Fifo(FifoOptions),
    Capacity {
        config: Arc<CapacityConfig>,
        /// Whether a heartbeat grants exactly what Hadoop 1.2.1 would.
        is_compatible: bool,
    },
    Fair {
        options: FairOptions,
        allocations: Arc<Allocations>,
    },
    Constraint(ConstraintConfig),
    Dynamic,
}

impl PolicyOptions {
    pub(super) fn build(self) -> Box<dyn Policy> {
        match self {
            Self::Fifo(FifoOptions { compatible: true, pad_millionths }) => {
                Box::new(CompatibleFifo::new(pad_millionths))
            }
            Self::Fifo(FifoOptions { compatible: false, pad_millionths }) => Box::new(Fifo::new(pad_millionths)),
            Self::Capacity { config, is_compatible } => {
                Box::new(Capacity::new(Arc::unwrap_or_clone(config), is_compatible))
            }
            Self::Fair { options, allocations } => Box::new(Fair::new(options, allocations)),
            Self::Constraint(config) => Box::new(Constraint::new(config)),
            Self::Dynamic => Box::new(Dynamic::default()),
        }
    }
}

//! All that is shown at one moment.

use std::fmt;
use std::sync::Arc;

use crate::engine::ClusterSnapshot;
use crate::model::FactNumber;

use super::read_model::Views;
use super::samples::Samples;

/// One publication, for readers: facts and what the owner said beside them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// What facts have made.
    pub(crate) views: Views,
    /// The cluster, with what is no fact.
    pub(crate) overview: Arc<ClusterSnapshot>,
    /// What was sampled of what is no fact.
    pub(crate) samples: Samples,
    /// Which publication it is.
    pub(crate) generation: Generation,
}

/// The last fact of a publication, and how many deltas of a run of the daemon are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    pub(super) fact: FactNumber,
    pub(super) deltas: u64,
}

impl Generation {
    /// Reads what it is written as.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (fact, deltas) = text.split_once('.')?;
        Some(Self { fact: FactNumber(fact.parse().ok()?), deltas: deltas.parse().ok()? })
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.fact.0, self.deltas)
    }
}

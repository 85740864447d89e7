//! What a container or an attempt uses, as its worker measures it, and sums of that.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredUse {
    /// Resident memory, MB.
    pub(crate) memory_mb: u64,
    /// The most of it, MB.
    pub(crate) peak_memory_mb: u64,
    pub(crate) cpu_ms: u64,
}

/// What several of them use, with its sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MeasuredUses<K> {
    of: BTreeMap<K, MeasuredUse>,
    total: MeasuredUse,
}

impl<K> Default for MeasuredUses<K> {
    fn default() -> Self {
        Self { of: BTreeMap::new(), total: MeasuredUse::default() }
    }
}

impl<K: Ord> MeasuredUses<K> {
    /// Takes a measurement: CPU time does not decrease.
    pub(super) fn set(&mut self, key: K, memory_mb: u64, cpu_ms: u64) {
        let before = self.remove(&key);
        let peak_memory_mb = before.peak_memory_mb.max(memory_mb);
        let measured = MeasuredUse { memory_mb, peak_memory_mb, cpu_ms: before.cpu_ms.max(cpu_ms) };
        self.of.insert(key, measured);
        // Both are bounded far below the range for each, and each worker has few.
        self.total.memory_mb = self.total.memory_mb.saturating_add(measured.memory_mb);
        self.total.cpu_ms = self.total.cpu_ms.saturating_add(measured.cpu_ms);
    }

    pub(super) fn remove(&mut self, key: &K) -> MeasuredUse {
        let Some(gone) = self.of.remove(key) else { return MeasuredUse::default() };
        self.total.memory_mb = self.total.memory_mb.saturating_sub(gone.memory_mb);
        self.total.cpu_ms = self.total.cpu_ms.saturating_sub(gone.cpu_ms);
        gone
    }

    /// What one uses; none: it was not measured.
    pub(crate) fn get(&self, key: &K) -> Option<MeasuredUse> {
        self.of.get(key).copied()
    }

    /// What all use; the peak is not known.
    pub(crate) fn total(&self) -> MeasuredUse {
        self.total
    }
}

pub(super) fn sum(of: impl IntoIterator<Item = MeasuredUse>) -> MeasuredUse {
    of.into_iter().fold(MeasuredUse::default(), |sum, one| MeasuredUse {
        memory_mb: sum.memory_mb.saturating_add(one.memory_mb),
        peak_memory_mb: 0,
        cpu_ms: sum.cpu_ms.saturating_add(one.cpu_ms),
    })
}

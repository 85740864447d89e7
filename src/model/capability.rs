//! What a container takes of a node: memory and cores.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Memory and cores: of one container, of a node, of one slot.
///
/// Ordered by memory, then cores. In JSON `{"memory": 1024, "vCores": 1}`, as Hadoop 2 writes it; another member is an
/// error, since an amount of a kind that is not known here could not be kept free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    #[serde(rename = "memory")]
    pub memory_mb: u32,
    #[serde(rename = "vCores")]
    pub vcores: u32,
}

impl Capability {
    pub const fn new(memory_mb: u32, vcores: u32) -> Self {
        Self { memory_mb, vcores }
    }

    #[must_use]
    pub(crate) const fn fits(self, free: Self) -> bool {
        self.memory_mb <= free.memory_mb && self.vcores <= free.vcores
    }

    /// What is asked as it is given: memory rounded up to a multiple of the minimum, and at least as many cores. Saturates.
    #[must_use]
    pub(crate) fn rounded_up(self, minimum: Self) -> Self {
        let step_mb = minimum.memory_mb.max(1);
        let steps = self.memory_mb.div_ceil(step_mb).max(1);
        Self { memory_mb: steps.saturating_mul(step_mb), vcores: self.vcores.max(minimum.vcores) }
    }

    /// Slots that it stands for in quotas, orders and charges: its larger part, in whole slots of the size `slot`; one at least.
    #[must_use]
    pub(crate) fn slots(self, slot: Self) -> u32 {
        let by_memory = self.memory_mb.div_ceil(slot.memory_mb.max(1));
        by_memory.max(self.vcores.div_ceil(slot.vcores.max(1))).max(1)
    }

    /// Whole slots of the size `slot` that it holds.
    #[must_use]
    pub(crate) fn whole_slots(self, slot: Self) -> u32 {
        (self.memory_mb / slot.memory_mb.max(1)).min(self.vcores / slot.vcores.max(1))
    }

    #[must_use]
    pub(crate) fn times_in(self, room: Self) -> u32 {
        let times = |all: u32, one: u32| all.checked_div(one).unwrap_or(u32::MAX);
        times(room.memory_mb, self.memory_mb).min(times(room.vcores, self.vcores))
    }

    /// The sum; none when it does not fit 32 bits.
    #[must_use]
    pub(crate) fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            memory_mb: self.memory_mb.checked_add(other.memory_mb)?,
            vcores: self.vcores.checked_add(other.vcores)?,
        })
    }

    /// What is left without the other, zero at least.
    #[must_use]
    pub(crate) const fn saturating_sub(self, other: Self) -> Self {
        Self {
            memory_mb: self.memory_mb.saturating_sub(other.memory_mb),
            vcores: self.vcores.saturating_sub(other.vcores),
        }
    }

    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self { memory_mb: self.memory_mb.saturating_mul(count), vcores: self.vcores.saturating_mul(count) }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.vcores == 1 { "core" } else { "cores" };
        write!(f, "{} MB, {} {cores}", self.memory_mb, self.vcores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Capability = Capability::new(1024, 1);

    #[test]
    fn the_larger_part_counts_in_whole_slots() {
        let slots = |memory_mb, vcores| Capability::new(memory_mb, vcores).slots(SLOT);
        assert_eq!((slots(2048, 1), slots(1024, 3), slots(1025, 1), slots(512, 1)), (2, 3, 2, 1));
        assert_eq!(Capability::default().slots(Capability::default()), 1);
    }

    #[test]
    fn a_node_has_as_many_slots_as_its_smaller_part() {
        assert_eq!(Capability::new(16_384, 8).whole_slots(SLOT), 8);
        assert_eq!(Capability::new(4_095, 8).whole_slots(SLOT), 3);
    }

    #[test]
    fn memory_is_rounded_up_to_the_minimum() {
        let minimum = Capability::new(512, 1);
        assert_eq!(Capability::new(600, 0).rounded_up(minimum), Capability::new(1024, 1));
        assert_eq!(Capability::new(0, 2).rounded_up(minimum), Capability::new(512, 2));
        assert_eq!(Capability::new(u32::MAX, 1).rounded_up(minimum).memory_mb, u32::MAX);
    }

    #[test]
    fn another_kind_of_amount_is_an_error() {
        let read = serde_json::from_str::<Capability>;
        assert_eq!(read(r#"{"memory":1024,"vCores":1}"#).unwrap(), SLOT);
        let error = read(r#"{"memory":1024,"vCores":1,"gpus":1}"#).unwrap_err();
        assert!(error.to_string().contains("gpus"), "{error}");
    }
}

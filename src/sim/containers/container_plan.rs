//! The part of a seed's world that is about containers: what nodes have for them, and how applications behave.

use crate::model::{Capability, ContainerSettings, PerKind};
use crate::sim::random::Random;

#[derive(Clone, Debug)]
pub(in crate::sim) struct ContainerPlan {
    /// What the workers have, by place; none: a stock tracker.
    pub(crate) bags: Vec<Option<Capability>>,
    pub(crate) settings: ContainerSettings,
    /// Typical pause between two submissions, ms.
    pub(crate) submit_pause_ms: u64,
    /// Typical pause between two calls of an application, ms.
    pub(crate) call_pause_ms: u64,
    /// Typical time of a container, ms.
    pub(crate) run_ms: u64,
    /// Containers that fail, of 1,000.
    pub(crate) failing_permille: u64,
    pub(crate) most_live: usize,
}

/// The stream of chance that it is drawn from: all else in a seed is as it would be without.
const STREAM: u64 = 7;
/// The largest container that is asked for; the first node is as large.
pub(in crate::sim) const LARGEST: Capability = Capability::new(4_096, 4);

impl ContainerPlan {
    pub(in crate::sim) fn new(seed: u64, slots: impl Iterator<Item = PerKind<u32>>) -> Self {
        let mut random = Random::stream(seed, STREAM);
        let settings = ContainerSettings {
            launch_expiry_ms: random.between(2_000, 60_000),
            locality_delay: random.below(6) as u32,
            max_per_application: if random.one_in(5) { random.between(2, 12) as u32 } else { 100_000 },
            over_kept: random.between(0, 20) as usize,
            ..ContainerSettings::default()
        };
        let mut bags = Vec::new();
        for (place, slots) in slots.enumerate() {
            let bag = bag(&mut random, slots, settings.slot);
            // The first node can run everything, and is never left out.
            let bag = match place {
                0 => Some(Capability::new(bag.memory_mb.max(LARGEST.memory_mb), bag.vcores.max(LARGEST.vcores))),
                _ => (!random.one_in(4)).then_some(bag),
            };
            bags.push(bag);
        }
        Self {
            bags,
            settings,
            submit_pause_ms: random.between(500, 15_000),
            call_pause_ms: random.between(50, 3_000),
            run_ms: random.between(50, 8_000),
            failing_permille: random.below(250),
            most_live: random.between(1, 12) as usize,
        }
    }
}

/// Sometimes less than what the slots of the node take: then it is raised.
fn bag(random: &mut Random, slots: PerKind<u32>, slot: Capability) -> Capability {
    let slots = slots.map + slots.reduce;
    let by_slots = slot.times(slots);
    let memory_mb = by_slots.memory_mb / 2 + 512 * random.between(1, 16) as u32;
    Capability::new(memory_mb, by_slots.vcores / 2 + random.between(1, 8) as u32)
}

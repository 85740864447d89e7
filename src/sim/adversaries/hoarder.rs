//! The hoarder: asks for all there is, launches nothing, gives back after a part of an interval and asks again in the same
//! call.

use super::job_shape::ONE_SLOT;
use crate::api::applications::AllocateCall;
use crate::sim::containers::{SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn hoard(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        self.have_applications(place, 2, random)
    }
}

/// Some give back so soon that it is free, most do not.
pub(super) fn call(application: &mut SimApplication, interval_ms: u64, now_mono_ms: u64) -> Result<AllocateCall, u64> {
    const MANY: u32 = 12;
    if now_mono_ms < application.holds_until_ms {
        return Err(application.holds_until_ms - now_mono_ms);
    }
    let parts = [3, 10, 40, 70, 95][application.random.below(5) as usize];
    application.holds_until_ms = now_mono_ms + (interval_ms * parts / 100).max(1);
    let release = application.known().collect();
    Ok(AllocateCall { ask: vec![row(1, 0, ONE_SLOT, MANY)], release, ..AllocateCall::default() })
}

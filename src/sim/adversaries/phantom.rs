//! The phantom: bids high, so that others are not sold what it will never run. Its job writes more than any disk has room
//! for; its applications ask for a container larger than any node, or for a host that does not exist.

use super::job_shape::{JobShape, ONE_SLOT};
use crate::api::applications::{AllocateCall, Placement};
use crate::model::Capability;
use crate::sim::containers::{SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn want_what_fits_nowhere(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MAPS: u32 = 10;
        self.have_applications(place, 2, random)?;
        if self.live_jobs_of(place) > 0 || (self.plan.containers.is_some() && random.one_in(2)) {
            return Ok(());
        }
        // Once one of ten maps has ended the others are known to fit nowhere.
        self.submit_shaped(place, MAPS, JobShape { task_ms: 50, output_bytes: i64::MAX / 100 })
    }
}

pub(super) fn call(application: &mut SimApplication) -> Result<AllocateCall, u64> {
    const HUGE: Capability = Capability::new(1_048_576, 1);
    const REPEAT_MS: u64 = 5_000;
    let mut call = AllocateCall { wait_ms: REPEAT_MS, ..AllocateCall::default() };
    if application.wanted.values().any(|wanted| *wanted > 0) {
        return Ok(call);
    }
    if application.random.one_in(2) {
        call.ask.push(row(1, 0, HUGE, application.random.between(1, 3) as u32));
    } else {
        let mut any = row(1, 0, ONE_SLOT, 8);
        any.relax_locality = false;
        let mut nowhere = row(1, 0, ONE_SLOT, 8);
        nowhere.resource_name = Placement::Host("h99".to_owned());
        call.ask.extend([nowhere, any]);
    }
    Ok(call)
}

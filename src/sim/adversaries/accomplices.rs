//! The accomplices: a phantom buys what it never uses, and a free rider, who bids one unit, runs on it beyond its quota:
//! long maps, and containers that have no end of their own.

use super::job_shape::{JobShape, ONE_SLOT};
use crate::api::applications::AllocateCall;
use crate::sim::containers::{Program, SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn ride_free(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        self.have_applications(place, 1, random)?;
        if self.live_jobs_of(place) > 0 {
            return Ok(());
        }
        let task_ms = self.game_interval_ms() * random.between(1, 5);
        self.submit_shaped(place, random.between(2, 20) as u32, JobShape { task_ms, output_bytes: 100 })
    }
}

pub(super) fn call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let program = Program { run_ms: interval_ms * 40, ignores_term: false, kill_grace_ms: 0 };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 8));
    }
    Ok(call)
}

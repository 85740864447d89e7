//! The splitter: one tenant with many queues that bid little, each with many jobs of one task and applications of one
//! container, so that rounding, smallest shares and places in limits are all its own.

use super::job_shape::{JobShape, ONE_SLOT};
use crate::api::applications::AllocateCall;
use crate::sim::containers::{Program, SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn split(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MOST_JOBS: usize = 6;
        self.have_applications(place, 4, random)?;
        if self.live_jobs_of(place) >= MOST_JOBS {
            return Ok(());
        }
        let task_ms = random.between(10, self.game_interval_ms() * 2);
        self.submit_shaped(place, 1, JobShape { task_ms, output_bytes: 100 })
    }
}

/// One container after the other.
pub(super) fn call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let run_ms = application.random.between(10, interval_ms * 2);
    let program = Program { run_ms, ignores_term: false, kill_grace_ms: 0 };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 1));
    }
    Ok(call)
}

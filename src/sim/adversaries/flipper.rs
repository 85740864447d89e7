//! The flipper: bids high right before a tick and next to nothing right after it, or the other way round, with long tasks
//! that stay where they are.

use super::job_shape::{JobShape, ONE_SLOT};
use crate::api::applications::AllocateCall;
use crate::model::Credits;
use crate::sim::containers::{Program, SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn flip(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const HIGH_FACTOR: i128 = 200;
        let interval_ms = self.game_interval_ms();
        let low = self.plan.users[place].rate;
        let is_high = (self.until_tick_ms(interval_ms) <= 3) != random.one_in(4);
        let rate = if is_high { Credits::from_units(low.units() * HIGH_FACTOR) } else { low };
        self.bid(place, rate)?;
        self.have_applications(place, 1, random)?;
        if self.live_jobs_of(place) < 2 {
            let task_ms = random.between(interval_ms / 2, interval_ms * 4);
            self.submit_shaped(place, random.between(4, 30) as u32, JobShape { task_ms, output_bytes: 100 })?;
        }
        Ok(())
    }
}

/// As many containers as there is room for, for long.
pub(super) fn call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    let run_ms = application.random.between(interval_ms / 2, interval_ms * 6);
    let program = Program { run_ms, ignores_term: false, kill_grace_ms: interval_ms };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, 6));
    }
    Ok(call)
}

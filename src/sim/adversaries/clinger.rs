//! The clinger: buys slots, then bids nothing and stays: its containers ignore TERM, and it asked for the longest grace.

use super::job_shape::ONE_SLOT;
use crate::api::applications::AllocateCall;
use crate::model::Credits;
use crate::sim::containers::{Program, SimApplication, row};
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn cling(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        let rate = self.plan.users[place].rate;
        self.bid(place, if random.one_in(2) { rate } else { Credits::from_units(1) })?;
        self.have_applications(place, 2, random)
    }
}

pub(super) fn call(application: &mut SimApplication, interval_ms: u64) -> Result<AllocateCall, u64> {
    const LONGEST_GRACE_MS: u64 = 600_000;
    let run_ms = interval_ms * application.random.between(2, 30);
    let program = Program { run_ms, ignores_term: true, kill_grace_ms: LONGEST_GRACE_MS };
    let mut call = AllocateCall { wait_ms: interval_ms, ..AllocateCall::default() };
    call.launch = application.starts(program);
    if application.wanted.values().all(|wanted| *wanted == 0) {
        call.ask.push(row(1, 0, ONE_SLOT, application.random.between(1, 6) as u32));
    }
    Ok(call)
}

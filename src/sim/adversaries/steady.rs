//! The steady bidder, who plays no trick: its bid stays, and it always has more to run than there are slots.

use super::job_shape::JobShape;
use crate::model::Kind;
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    /// Submits more while less waits than all map slots could run.
    pub(super) fn keep_busy(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MAPS: u32 = 60;
        const MOST_JOBS: usize = 4;
        let rate = self.plan.users[place].rate;
        self.bid(place, rate)?;
        let scheduler = self.engine.inspect().scheduler();
        let name = self.plan.users[place].name.as_str();
        let waiting = scheduler.group(name).map_or(0, |group| scheduler.waiting(group)[Kind::Map]);
        let slots = scheduler.totals().slots[Kind::Map];
        if u64::from(waiting) >= 2 * slots || self.live_jobs_of(place) >= MOST_JOBS {
            return Ok(());
        }
        let interval_ms = self.game_interval_ms();
        let task_ms = random.between(interval_ms / 10 + 20, interval_ms / 2 + 40);
        self.submit_shaped(place, MAPS, JobShape { task_ms, output_bytes: 100 })
    }
}

//! The clock player: one long map keeps its queue active; right after each tick it submits short ones that end before the
//! next.

use super::job_shape::JobShape;
use crate::sim::laws::Violation;
use crate::sim::random::Random;
use crate::sim::world::World;

impl World<'_> {
    pub(super) fn play_the_clock(&mut self, place: usize, random: &mut Random) -> Result<(), Violation> {
        const MOST_JOBS: usize = 6;
        let interval_ms = self.game_interval_ms();
        let live = self.live_jobs_of(place);
        if live == 0 {
            self.submit_shaped(place, 1, JobShape { task_ms: interval_ms * 12, output_bytes: 100 })?;
        }
        if live >= MOST_JOBS {
            return Ok(());
        }
        let task_ms = random.between(interval_ms / 10 + 1, interval_ms * 6 / 10 + 1);
        self.submit_shaped(place, random.between(1, 8) as u32, JobShape { task_ms, output_bytes: 100 })
    }
}

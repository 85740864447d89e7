//! Says to the views what is no fact: once a second while somebody looks, else rarely, in slices between other work.

use std::rc::Rc;
use std::time::Duration;

use crate::engine::VolatileWalk;
use crate::views::ViewsFeed;

use super::owner::Owner;

/// Between two deltas while somebody looks, ms.
const LOOKED_AT_MS: u64 = 1_000;
/// The same once the last look is long ago, and between two looks at the jobs: for samples.
const IDLE_MS: u64 = 10_000;
/// Least time between two deltas, where a reader waits for one: it looks again after a while, or it has changed something.
const LEAST_MS: u64 = 250;

/// Feeds the views. Never completes.
pub(crate) async fn feed_views(owner: Rc<Owner>, views: ViewsFeed) {
    let clock = owner.clock();
    let mut walk = VolatileWalk::default();
    let (mut due_ms, mut earliest_ms, mut jobs_due_ms) = (clock.mono_ms(), 0, 0);
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(clock.instant(due_ms)) => {}
            () = views.wanted() => tokio::time::sleep_until(clock.instant(earliest_ms)).await,
        }
        let began_ms = clock.mono_ms();
        if !views.is_delta_waiting() {
            // Why they wait is sampled, whether anybody looks at them or not.
            let with_jobs = views.are_jobs_looked_at(began_ms) || began_ms >= jobs_due_ms;
            if with_jobs {
                jobs_due_ms = began_ms + IDLE_MS;
            }
            walk.say(views.jobs_to_explain(began_ms), views.to_watch(began_ms));
            let delta = loop {
                let now = clock.now();
                match owner.with_engine(|engine| engine.walk_volatile(&mut walk, with_jobs, now)) {
                    Some(delta) => break delta,
                    // Heartbeats go first.
                    None => tokio::task::yield_now().await,
                }
            };
            views.send(delta);
        }
        earliest_ms = began_ms + LEAST_MS;
        due_ms = began_ms + if views.is_looked_at(began_ms) { LOOKED_AT_MS } else { IDLE_MS };
    }
}

/// Longest wait of a page for what it shows; then the last there was is shown.
pub(super) const VIEWS_TIMEOUT: Duration = Duration::from_secs(2);
/// The same while the store cannot write.
pub(super) const FAILING_TIMEOUT: Duration = Duration::from_millis(50);

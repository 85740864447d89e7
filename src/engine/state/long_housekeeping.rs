//! Setups, job-cleanups and task-cleanups: free for a while, since the framework needs them; a longer one runs a user's own
//! code and counts as a map of its job from then on.

use std::collections::BTreeMap;

use crate::scheduler::AppId;

/// How long a setup or cleanup is free, ms.
const FREE_MS: u64 = 10_000;

/// Attempts of one app that were launched at the same time, ms of the monotonic clock.
type Launch = (u64, AppId);

#[derive(Debug, Default)]
pub(crate) struct LongHousekeeping {
    /// Those that are free so far, in the order of their launch.
    free: BTreeMap<Launch, u32>,
    counting: BTreeMap<Launch, u32>,
}

impl LongHousekeeping {
    pub(crate) fn begin(&mut self, app: AppId, launch_mono_ms: u64) {
        *self.free.entry((launch_mono_ms, app)).or_default() += 1;
    }

    /// One that was launched then is over; returns whether it has counted.
    pub(crate) fn end(&mut self, app: AppId, launch_mono_ms: u64) -> bool {
        let launch = (launch_mono_ms, app);
        if take(&mut self.free, launch) { false } else { take(&mut self.counting, launch) }
    }

    /// The next one that counts from a time on that is not after `mono_ms`; it does from now on.
    pub(crate) fn pop_due(&mut self, mono_ms: u64) -> Option<(u64, AppId)> {
        let (&(launch_mono_ms, app), _) = self.free.first_key_value()?;
        let due_mono_ms = launch_mono_ms.saturating_add(FREE_MS);
        if due_mono_ms > mono_ms {
            return None;
        }
        take(&mut self.free, (launch_mono_ms, app));
        *self.counting.entry((launch_mono_ms, app)).or_default() += 1;
        Some((due_mono_ms, app))
    }

    pub(crate) fn is_due(&self, mono_ms: u64) -> bool {
        self.free.first_key_value().is_some_and(|((launch, _), _)| launch.saturating_add(FREE_MS) <= mono_ms)
    }

    /// How many of each app count.
    pub(crate) fn counting(&self) -> impl Iterator<Item = (AppId, u32)> {
        self.counting.iter().map(|((_, app), count)| (*app, *count))
    }
}

fn take(attempts: &mut BTreeMap<Launch, u32>, launch: Launch) -> bool {
    let Some(count) = attempts.get_mut(&launch) else { return false };
    *count -= 1;
    if *count == 0 {
        attempts.remove(&launch);
    }
    true
}

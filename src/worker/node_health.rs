//! The worker's own health: what it lacks, and how much it offers meanwhile. Its heartbeats and beats both follow it.
//!
//! What cannot start for want of processes, descriptors or memory halves what is offered, at least to what runs, once for all that was
//! launched together; then nothing is taken for a pause, which is twice as long while nothing starts in between. What is offered grows
//! again by an eighth at a time. Disks without room mean that nothing is taken until they have some.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// All that is offered in good health.
pub(crate) const WHOLE_PERMILLE: u32 = 1000;
/// Pause after the first failure for want of something; each further one without a start in between is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Time without a shortage before what is offered grows.
const GROWTH_INTERVAL: Duration = Duration::from_secs(5);
/// For so long heartbeats have been answered and beats about containers have not before these are lost: while the JobTracker is
/// away, or starts, neither is anything wrong with the worker.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// Free room that a disk must have, whatever `mapred.local.dir.minspacestart` says: for the logs of what is taken.
const LEAST_FREE_BYTES: u64 = 512 << 10;
/// Free inodes that a disk must have.
const LEAST_FREE_INODES: u64 = 64;
/// Longest part of an error that is repeated, bytes.
const MAX_REASON_BYTES: usize = 300;

/// What is free on the disk with the most room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    pub(crate) bytes: u64,
    /// Inodes; none: its file system does not count them.
    pub(crate) inodes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkOffer {
    /// Of what it has, parts in a thousand, at least one.
    pub(crate) share_permille: u32,
    pub(crate) takes_work: bool,
    /// Whether it is ill: none of its slots counts.
    pub(crate) is_ill: bool,
    /// What is wrong; none: nothing.
    pub(crate) complaint: Option<String>,
}

#[derive(Debug)]
pub(crate) struct NodeHealth {
    min_free_bytes: u64,
    state: Mutex<HealthState>,
}

#[derive(Debug)]
struct HealthState {
    share_permille: u32,
    /// Counts how often what is offered was lowered.
    wave: u64,
    /// What could not start for want of something, while less is offered.
    shortage: Option<String>,
    pause: Duration,
    resumes_at: Option<Instant>,
    grows_at: Option<Instant>,
    /// Something has started since the last pause.
    has_started: bool,
    disk: Option<String>,
    /// Since when beats about containers do not reach the JobTracker, and why.
    lost_beats: Option<(Instant, String)>,
    /// Since when all heartbeats have been answered; none: the last one has not.
    answered_since: Option<Instant>,
}

impl NodeHealth {
    /// Of a worker that lacks nothing and wants this free room on a disk.
    pub(crate) fn new(min_free_bytes: u64) -> Self {
        let state = HealthState {
            share_permille: WHOLE_PERMILLE,
            wave: 0,
            shortage: None,
            pause: FIRST_PAUSE,
            resumes_at: None,
            grows_at: None,
            has_started: true,
            disk: None,
            lost_beats: None,
            answered_since: None,
        };
        Self { min_free_bytes, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of what is launched now: see [`Self::on_shortage`].
    pub(crate) fn wave(&self) -> u64 {
        self.state().wave
    }

    pub(crate) fn on_started(&self) {
        self.state().has_started = true;
    }

    /// Something that was launched in this wave could not start or continue for want of something, while so much of what is offered runs.
    pub(crate) fn on_shortage(&self, wave: u64, why: &str, used_permille: u32, now: Instant) {
        let mut state = self.state();
        if wave != state.wave || state.resumes_at.is_some_and(|resumes_at| now < resumes_at) {
            // What was granted before the JobTracker knows of the lower offer is no further try, also where it is launched after that.
            return;
        }
        let mut why = why.lines().next().unwrap_or_default().to_owned();
        crate::wire::limits::shorten(&mut why, MAX_REASON_BYTES);
        if state.shortage.is_none() {
            tracing::warn!(
                "this worker lacks what it needs to run what it offers: {why}; it offers less: raise its limits, or set less"
            );
        }
        state.wave += 1;
        // An eighth less than what runs: the worker itself needs something too.
        let running = (u64::from(used_permille) * 7 / 8).min(u64::from(WHOLE_PERMILLE));
        let running = u32::try_from(running).unwrap_or(WHOLE_PERMILLE);
        state.share_permille = running.max(state.share_permille / 2).min(state.share_permille).max(1);
        state.pause =
            if std::mem::take(&mut state.has_started) { FIRST_PAUSE } else { (state.pause * 2).min(MAX_PAUSE) };
        let resumes_at = now + state.pause;
        state.resumes_at = Some(resumes_at);
        state.grows_at = Some(resumes_at + GROWTH_INTERVAL);
        state.shortage = Some(why);
    }

    /// The disks were looked at; none: they cannot be.
    pub(crate) fn set_free_space(&self, free: Option<FreeSpace>) {
        let least = self.min_free_bytes.max(LEAST_FREE_BYTES);
        let why = free.and_then(|FreeSpace { bytes, inodes }| match inodes {
            _ if bytes < least => Some(format!(
                "its disks have less free room than mapred.local.dir.minspacestart, {} kB of at least {} kB",
                bytes >> 10,
                least >> 10
            )),
            Some(inodes) if inodes < LEAST_FREE_INODES => {
                Some(format!("its disks have {inodes} inodes free; it needs {LEAST_FREE_INODES} to take work"))
            }
            _ => None,
        });
        let mut state = self.state();
        match (&state.disk, &why) {
            (None, Some(why)) => tracing::warn!("this worker takes no work: {why}"),
            (Some(_), None) => tracing::info!("the disks of this worker have room again: it takes work"),
            // The first text stays: numbers that move are no news.
            (Some(_), Some(_)) => return,
            (None, None) => {}
        }
        state.disk = why;
    }

    /// Beats about containers have not reached the JobTracker since this time, for this reason; none: they do.
    pub(crate) fn set_lost_beats(&self, lost: Option<(Instant, String)>) {
        self.state().lost_beats = lost;
    }

    /// A heartbeat was answered, or could not be sent.
    pub(crate) fn on_heartbeat(&self, is_answered: bool, now: Instant) {
        let mut state = self.state();
        state.answered_since = is_answered.then(|| state.answered_since.unwrap_or(now));
    }

    /// What is offered now. What was lowered grows with time.
    pub(crate) fn offer(&self, now: Instant) -> WorkOffer {
        let mut state = self.state();
        while let Some(grows_at) = state.grows_at.filter(|at| *at <= now) {
            state.share_permille = (state.share_permille + (state.share_permille / 8).max(5)).min(WHOLE_PERMILLE);
            let is_whole = state.share_permille == WHOLE_PERMILLE;
            state.grows_at = (!is_whole).then(|| grows_at + GROWTH_INTERVAL);
            if is_whole && state.shortage.take().is_some() {
                tracing::info!("this worker offers all that it has again");
            }
        }
        let HealthState { share_permille, resumes_at, .. } = *state;
        let short = state
            .shortage
            .as_ref()
            .map(|why| format!("it lacks what it needs to run what it offers, and offers less until it can: {why}"));
        let lost = state.lost_beats.as_ref().zip(state.answered_since);
        let lost = lost.filter(|((since, _), answered)| now >= *since.max(answered) + LOST_AFTER);
        let lost = lost.map(|((_, why), _)| format!("its beats about containers do not reach the JobTracker: {why}"));
        let complaints: Vec<&str> = [&state.disk, &short, &lost].into_iter().flatten().map(String::as_str).collect();
        WorkOffer {
            share_permille,
            takes_work: state.disk.is_none() && resumes_at.is_none_or(|at| at <= now),
            is_ill: state.disk.is_some(),
            complaint: (!complaints.is_empty()).then(|| complaints.join("; ")),
        }
    }
}

impl WorkOffer {
    /// So much of an amount, rounded up.
    pub(crate) fn of(&self, amount: u32) -> u32 {
        let part = (u64::from(amount) * u64::from(self.share_permille)).div_ceil(u64::from(WHOLE_PERMILLE));
        u32::try_from(part).unwrap_or(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_THREAD: &str = "cannot start a thread: Resource temporarily unavailable (os error 11)";

    #[test]
    fn what_is_offered_is_lowered_once_for_a_wave_and_grows_slowly() {
        let (health, start) = (NodeHealth::new(0), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(
            health.offer(start),
            WorkOffer { share_permille: 1000, takes_work: true, is_ill: false, complaint: None }
        );
        let wave = health.wave();
        (0..180).for_each(|_| health.on_shortage(wave, NO_THREAD, 110, start));
        (0..180).for_each(|_| health.on_shortage(health.wave(), NO_THREAD, 0, at(50)));
        let offer = health.offer(at(50));
        assert_eq!((offer.share_permille, offer.takes_work, offer.is_ill), (500, false, false));
        assert!(offer.complaint.as_ref().unwrap().contains(NO_THREAD), "{offer:?}");
        assert_eq!((offer.of(200), offer.of(1), offer.of(0)), (100, 1, 0));
        assert!(health.offer(at(100)).takes_work);
        health.on_shortage(health.wave(), NO_THREAD, 440, at(200));
        assert_eq!(health.offer(at(200)).share_permille, 385, "what runs is not less than half");
        let after = |s: u64| health.offer(at(200 + s * 1000));
        assert_eq!([after(4), after(6)].map(|offer| offer.share_permille), [385, 433]);
        let well = after(120);
        assert_eq!((well.share_permille, well.complaint), (1000, None));
    }

    #[test]
    fn pauses_double_while_nothing_starts() {
        let (health, mut now) = (NodeHealth::new(0), Instant::now());
        let mut pauses = Vec::new();
        for round in 0..14 {
            if round == 12 {
                health.on_started();
            }
            health.on_shortage(health.wave(), NO_THREAD, 0, now);
            let from = now;
            while !health.offer(now).takes_work {
                now += Duration::from_millis(100);
            }
            pauses.push((now - from).as_millis());
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 100, 200]);
        assert!(health.offer(now).share_permille >= 1);
    }

    /// While the JobTracker restarts, heartbeats and beats stay unanswered alike, whichever is answered first afterwards.
    #[test]
    fn beats_are_lost_only_while_heartbeats_are_answered() {
        let (health, start) = (NodeHealth::new(0), Instant::now());
        let at = |s: u64| start + Duration::from_secs(s);
        let complaint = |s| health.offer(at(s)).complaint;
        health.on_heartbeat(true, at(0));
        health.set_lost_beats(Some((at(1), "connection refused".to_owned())));
        assert_eq!(complaint(30), None);
        health.on_heartbeat(false, at(30));
        assert_eq!(complaint(60), None, "the JobTracker is away");
        health.on_heartbeat(true, at(70));
        health.set_lost_beats(Some((at(1), "no TaskTracker of that name is registered".to_owned())));
        health.on_heartbeat(true, at(99));
        assert_eq!(complaint(99), None);
        let why = "its beats about containers do not reach the JobTracker: no TaskTracker of that name is registered";
        assert_eq!(complaint(100).as_deref(), Some(why));
        health.set_lost_beats(None);
        assert_eq!(complaint(100), None);
    }

    #[test]
    fn a_disk_without_room_or_inodes_is_an_illness_that_ends_with_it() {
        let health = NodeHealth::new(4 << 20);
        let offer = |bytes, inodes| {
            health.set_free_space(Some(FreeSpace { bytes, inodes }));
            health.offer(Instant::now())
        };
        let full = offer(3 << 20, None);
        assert!(full.is_ill && !full.takes_work);
        assert!(full.complaint.unwrap().starts_with(
            "its disks have less free room than mapred.local.dir.minspacestart, 3072 kB of at least 4096 kB"
        ));
        assert!(offer(5 << 20, None).takes_work);
        assert!(offer(5 << 20, Some(3)).complaint.unwrap().contains("3 inodes"));
        let well = offer(5 << 20, Some(1000));
        assert_eq!((well.is_ill, well.takes_work, well.complaint), (false, true, None));
        let least = NodeHealth::new(0);
        least.set_free_space(Some(FreeSpace { bytes: 100 << 10, inodes: None }));
        assert!(least.offer(Instant::now()).is_ill, "the logs of what is taken need some room");
    }
}

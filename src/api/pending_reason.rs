//! Reasons why a job has no more slots, and what they read as.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, counted};

use super::kind_word;

/// A reason why a job has no more slots, or the statement that there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum PendingReason {
    /// The job is finished.
    Over {
        /// Its state, in Hadoop's spelling.
        state: String,
    },
    /// Its end is decided; only its cleanup is left.
    Ending,
    /// Safe mode: no tasks are assigned.
    SafeMode,
    /// It is held.
    Held {
        /// The user who did it.
        by: String,
        /// Since when, epoch ms.
        since_ms: i64,
    },
    /// Its queue is paused.
    QueuePaused {
        /// The queue.
        queue: String,
        /// The user who did it.
        by: String,
        /// Since when, epoch ms.
        since_ms: i64,
    },
    /// The policy does not let it begin yet.
    WaitsToBegin,
    /// As many jobs, or tasks of jobs, have begun as a limit allows.
    BeginLimit {
        /// Whose limit it is.
        of: LimitHolder,
        /// Name of the queue or pool; absent for a limit of the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What the limit counts.
        counts: LimitCount,
        /// The limit.
        limit: u64,
        /// What has begun.
        used: u64,
    },
    /// A job of its queue or user that was submitted earlier begins first.
    BeginsLater,
    /// No worker is connected.
    NoWorker,
    /// No connected worker can run anything of it, were it idle.
    NoWorkerCanRun {
        /// Number of connected workers.
        workers: u32,
        /// Why not.
        because: String,
    },
    /// Some workers have missed three heartbeats; what runs there runs elsewhere once they count as lost.
    SilentWorkers {
        /// Number of silent workers.
        silent: u32,
        /// Number of all workers.
        workers: u32,
        /// Silence of the one that is silent longest, seconds.
        longest_s: u64,
        /// Silence after which a worker counts as lost, seconds.
        lost_after_s: u64,
    },
    /// Some workers are drained: they get no new tasks.
    DrainingWorkers {
        /// Number of connected workers that are drained.
        draining: u32,
        /// Number of all workers.
        workers: u32,
    },
    /// Its setup has no slot yet.
    SetupWaits,
    /// Its setup runs.
    SetupRuns,
    /// None of its tasks waits.
    NothingWaits,
    /// Applications hold memory and cores of workers for containers that they have not launched.
    HeldUnlaunched {
        /// How many applications.
        applications: u64,
        /// Slots that the containers stand for.
        slots: u64,
        /// How long at most, unless they launch them, seconds.
        left_s: u64,
    },
    /// Too few maps are done for its reduces.
    ReducesWait {
        /// Maps done or given up.
        maps_done: u32,
        /// Maps needed.
        maps_needed: u32,
    },
    /// Its queue bids nothing.
    NoBid,
    /// Its queue cannot pay one slot.
    NotFunded {
        /// Its balance.
        budget: Credits,
        /// Its bid.
        bid: Credits,
    },
    /// Its queue bids and can pay only since the last tick.
    NotBoughtYet,
    /// Its queue holds all slots that it has bought.
    QuotaFull {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Slots bought.
        quota: u32,
        /// Slots held.
        held: u32,
    },
    /// Its queue gets more as soon as slots become free.
    BelowQuota {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Slots bought.
        quota: u32,
        /// Slots held.
        held: u32,
    },
    /// Its queue or pool, or a pool around it, holds all slots that it may ever hold.
    GroupMaximum {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Whether it is a queue or a pool.
        of: LimitHolder,
        /// Its name.
        name: String,
        /// Most slots.
        maximum: u32,
        /// Slots held.
        held: u32,
    },
    /// Its user holds all slots of the queue that one user may hold now.
    UserLimit {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Most slots.
        limit: u64,
        /// Slots held.
        held: u32,
    },
    /// Trackers keep their free slots for it until they are enough for one of its tasks.
    Reservation {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Number of trackers.
        trackers: u32,
        /// Slots of one task.
        slots_per_task: u32,
    },
    /// Its reduces wait for its last map; or, with none left, for slots that no other deadline needs.
    AfterMaps {
        /// Whether maps are left.
        has_maps: bool,
    },
    /// The least that keeps its deadline, or what the scheduler allows a job with one: no more slots than that at a time.
    DeadlineLimit {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Most slots.
        limit: u32,
        /// Slots held.
        held: u32,
    },
    /// Its deadline gives it slots later, and none is free for as long as one of its tasks lasts before.
    PlannedStart {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// When, epoch ms.
        from_ms: i64,
        /// The time until then, ms.
        for_ms: u64,
    },
    /// All free slots are promised to jobs with deadlines.
    PromisedToDeadlines {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
    },
    /// Its maps wait for slots near their data.
    Locality {
        /// How far from their data they may run now.
        within: NearLevel,
        /// When they may run farther away, at the earliest, epoch ms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<i64>,
        /// The time until then, ms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<u64>,
        /// Heartbeats with free slots, but none near its data, after which they may run farther away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after_heartbeats: Option<u64>,
    },
    /// Other queues or pools are served before its own.
    EarlierGroups {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// How many.
        groups: u32,
    },
    /// Other jobs are served first: of its queue, or of all queues if the policy has only one order.
    EarlierJobs {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// How many.
        jobs: u32,
    },
    /// No slot is free.
    NoneFree {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
    },
    /// There are slots for it, assigned at the next heartbeats of their trackers.
    FreeForIt {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Slots that are free or being released.
        slots: u32,
    },
    /// It cannot run on some trackers at all.
    OnlyStock {
        /// Number of trackers that run only Hadoop Streaming.
        trackers: u32,
        /// The property of the job that they do not support.
        because: String,
    },
    /// Slots are free or being released where it cannot use them.
    Unusable {
        /// Kind of the slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Where too much of the job failed.
        avoided: u32,
        /// Where the disk has no room for the output of its maps.
        no_room: u32,
        /// Where each of its tasks that wait has failed.
        failed_there: u32,
        /// On trackers that are silent, unhealthy or accept no work.
        out_of_service: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHolder {
    Queue,
    Pool,
    /// The job's user.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitCount {
    Jobs,
    /// Maps and reduces of jobs.
    Tasks,
}

/// How near to its data a map must run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NearLevel {
    /// On a host with its data.
    Host,
    /// In a rack with its data.
    Rack,
}

impl PendingReason {
    /// Its name in JSON, such as `quota_full`.
    pub(crate) fn name(&self) -> Option<String> {
        Some(serde_json::to_value(self).ok()?.get("reason")?.as_str()?.to_owned())
    }

    /// Whether what waits counts in no price and buys nothing, whatever its queue bids.
    pub(crate) fn is_out_of_the_market(&self) -> bool {
        matches!(self, Self::NoWorkerCanRun { .. } | Self::Held { .. } | Self::QueuePaused { .. })
    }

    /// Whether it says what a queue has bought, bids or owns: while a market rules, these numbers give a rate away.
    pub(crate) fn is_of_market(&self) -> bool {
        matches!(
            self,
            Self::NoBid
                | Self::NotFunded { .. }
                | Self::NotBoughtYet
                | Self::QuotaFull { .. }
                | Self::BelowQuota { .. }
                | Self::EarlierGroups { .. }
        )
    }
}

impl fmt::Display for PendingReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PendingReason::Over { state } => write!(formatter, "it is finished: {state}"),
            PendingReason::Ending => formatter.write_str("it is being ended; only its cleanup is still to run"),
            PendingReason::SafeMode => formatter.write_str("the JobTracker is in safe mode and assigns no tasks"),
            PendingReason::Held { by, since_ms } => write!(formatter, "held by {by} since {}", utc_text(*since_ms)),
            PendingReason::QueuePaused { queue, by, since_ms } => {
                write!(formatter, "queue {queue} is paused by {by} since {}", utc_text(*since_ms))
            }
            PendingReason::WaitsToBegin => formatter.write_str("it waits until the scheduler lets it begin"),
            PendingReason::BeginLimit { of, name, counts, limit, used } => {
                let holder = holder_text(*of, name.as_deref());
                let most = match counts {
                    LimitCount::Jobs => counted(*limit, "job"),
                    LimitCount::Tasks => format!("{} of jobs", counted(*limit, "task")),
                };
                let have = if *used == 1 { "has" } else { "have" };
                write!(formatter, "{holder} may have {most} begun at once, and {used} {have} begun")
            }
            PendingReason::HeldUnlaunched { applications, slots, left_s } => {
                let (is, were) =
                    (if *slots == 1 { "is" } else { "are" }, if *applications == 1 { "was" } else { "were" });
                let (has, of) =
                    (if *applications == 1 { "has" } else { "have" }, counted(*applications, "application"));
                let slots = counted(*slots, "slot");
                write!(
                    formatter,
                    "{slots} {is} held for containers that {of} {were} granted and {has} not launched, for {left_s} s more \
                     at most"
                )
            }
            PendingReason::BeginsLater => {
                formatter.write_str("a job of its queue or user that was submitted earlier begins first")
            }
            PendingReason::GroupMaximum { kind, of, name, maximum, held } => write!(
                formatter,
                "{} may hold {} and holds {held}",
                holder_text(*of, Some(name)),
                slots_text(*maximum, *kind)
            ),
            PendingReason::UserLimit { kind, limit, held } => {
                write!(formatter, "its user may hold {} of the queue now and holds {held}", slots_text(*limit, *kind))
            }
            PendingReason::Reservation { kind, trackers, slots_per_task } => write!(
                formatter,
                "{} their free {} slots for it until {slots_per_task} are free, as many as one of its tasks needs",
                if *trackers == 1 { "1 tracker keeps".to_owned() } else { format!("{trackers} trackers keep") },
                kind_word::word(*kind)
            ),
            PendingReason::AfterMaps { has_maps: true } => {
                formatter.write_str("its reduces start after its last map, so that they hold no slot that waits")
            }
            PendingReason::AfterMaps { has_maps: false } => formatter.write_str(
                "its reduces start as soon as no other deadline needs the slots, at the latest when they must",
            ),
            PendingReason::DeadlineLimit { kind, limit, held } => {
                write!(formatter, "its deadline needs {} at a time, and it holds {held}", slots_text(*limit, *kind))
            }
            PendingReason::PlannedStart { kind, for_ms, .. } => write!(
                formatter,
                "the {} slots that keep its deadline are promised to others for {}.{} s more",
                kind_word::word(*kind),
                for_ms / 1000,
                for_ms % 1000 / 100
            ),
            PendingReason::PromisedToDeadlines { kind } => {
                write!(formatter, "the free {} slots are promised to jobs with deadlines", kind_word::word(*kind))
            }
            PendingReason::Locality { within, for_ms, after_heartbeats, .. } => {
                let place = match within {
                    NearLevel::Host => "on hosts",
                    NearLevel::Rack => "in racks",
                };
                write!(formatter, "its maps run only {place} with their data")?;
                if let Some(for_ms) = for_ms {
                    write!(formatter, " for at least {}.{} s more", for_ms / 1000, for_ms % 1000 / 100)?;
                }
                if let Some(heartbeats) = after_heartbeats {
                    let more = if *heartbeats == 1 { "tracker" } else { "trackers" };
                    write!(formatter, " until {heartbeats} more {more} had slots but none there")?;
                }
                Ok(())
            }
            PendingReason::EarlierGroups { kind, groups } => write!(
                formatter,
                "{} before its own in line for {} slots",
                match groups {
                    1 => "1 other queue or pool stands".to_owned(),
                    groups => format!("{groups} other queues or pools stand"),
                },
                kind_word::word(*kind)
            ),
            PendingReason::NoWorker => formatter.write_str("no worker is connected; start one: jobtracker tasktracker"),
            PendingReason::NoWorkerCanRun { workers, because } => {
                formatter.write_str(&no_worker_can_run(*workers, because))
            }
            PendingReason::SilentWorkers { silent, workers, longest_s, lost_after_s } => write!(
                formatter,
                "{silent} of {} silent, for up to {longest_s} s; after {lost_after_s} s one counts as lost, and \
                 its tasks run elsewhere",
                counted(*workers, "worker")
            ),
            PendingReason::DrainingWorkers { draining, workers } => write!(
                formatter,
                "{draining} of {} draining: no new task until an administrator resumes them (jobtracker workers list)",
                counted(*workers, "worker")
            ),
            PendingReason::SetupWaits => {
                formatter.write_str("its setup waits for a slot; no task may run before it is done")
            }
            PendingReason::SetupRuns => formatter.write_str("its setup runs; no task may run before it is done"),
            PendingReason::NothingWaits => formatter.write_str("none of its tasks waits: all run or are done"),
            PendingReason::ReducesWait { maps_done, maps_needed } => {
                let (needed, are) = (counted(*maps_needed, "map"), if *maps_needed == 1 { "is" } else { "are" });
                let done = if *maps_done == 1 { "is" } else { "are" };
                write!(formatter, "its reduces wait until {needed} {are} done; {maps_done} {done}")
            }
            PendingReason::NoBid => {
                formatter.write_str("its queue bids nothing, so it gets only slots that no other queue wants")
            }
            PendingReason::NotFunded { budget, bid } => write!(
                formatter,
                "its queue has {}, less than one slot costs at its rate of {}, so it gets only slots that no other queue wants",
                budget.amount_text(),
                bid.rate_text()
            ),
            PendingReason::NotBoughtYet => formatter.write_str(NOT_BOUGHT_YET),
            PendingReason::QuotaFull { kind, quota, held } => write!(
                formatter,
                "its queue has bought {} and holds {held}; more come only from what others leave free",
                slots_text(*quota, *kind)
            ),
            PendingReason::BelowQuota { kind, quota, held } => write!(
                formatter,
                "its queue has bought {} and holds {held}; it gets more as slots come free",
                slots_text(*quota, *kind)
            ),
            PendingReason::EarlierJobs { kind, jobs } => {
                let stand = if *jobs == 1 { "stands" } else { "stand" };
                let (jobs, kind) = (counted(*jobs, "other job"), kind_word::word(*kind));
                write!(formatter, "{jobs} {stand} before it in line for {kind} slots")
            }
            PendingReason::NoneFree { kind } => write!(formatter, "no {} slot is free", kind_word::word(*kind)),
            PendingReason::FreeForIt { kind, slots: 1 } => write!(
                formatter,
                "1 {} slot that it could use is free or comes free, and is given away as its tracker calls",
                kind_word::word(*kind)
            ),
            PendingReason::FreeForIt { kind, slots } => write!(
                formatter,
                "{slots} {} slots that it could use are free or come free, and are given away as their trackers call",
                kind_word::word(*kind)
            ),
            PendingReason::OnlyStock { trackers, because } => {
                write!(formatter, "{} cannot run it: {because}", counted(*trackers, "built-in tasktracker"))
            }
            PendingReason::Unusable { kind, avoided, no_room, failed_there, out_of_service } => {
                write!(formatter, "{} slots are free that it cannot use:", kind_word::word(*kind))?;
                let mut separator = "";
                for (slots, place) in [
                    (avoided, "where too much of it failed"),
                    (no_room, "where the disk has no room for its maps"),
                    (failed_there, "where each task that waits has failed"),
                    (out_of_service, "of trackers that are silent, unhealthy or take no work"),
                ] {
                    if *slots > 0 {
                        write!(formatter, "{separator} {slots} {place}")?;
                        separator = ",";
                    }
                }
                Ok(())
            }
        }
    }
}

fn slots_text(slots: impl TryInto<u128>, kind: Kind) -> String {
    counted(slots, &format!("{} slot", kind_word::word(kind)))
}

/// A time as people and programs read it, to the second.
fn utc_text(ms: i64) -> String {
    Timestamp::from_second(ms.div_euclid(1_000)).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}

/// Whether a text says that nothing of a job starts since it is held or its queue paused.
pub(crate) fn says_paused(text: &str) -> bool {
    text.starts_with("held by ") || (text.starts_with("queue ") && text.contains(" is paused by "))
}

/// How the sentence on a job begins that a limit keeps from beginning.
const MAY_NOT_BEGIN: &str = "may not begin yet: ";

/// That a limit keeps a job from beginning, for lists.
pub(crate) fn may_not_begin(limit: &PendingReason) -> String {
    format!("{MAY_NOT_BEGIN}{limit}")
}

/// Whether a text is that sentence.
pub(crate) fn says_may_not_begin(text: &str) -> bool {
    text.starts_with(MAY_NOT_BEGIN)
}

/// Where there is one worker.
const ONLY_WORKER: &str = "the only connected worker cannot run it: ";

/// Why a queue that bids has bought nothing: whatever it bids, it buys at a tick only, and what it wants then.
pub(crate) const NOT_BOUGHT_YET: &str =
    "its queue has bought nothing yet: it bid or wanted nothing at the last tick, and buys at the next one";

/// The one sentence about work that no connected worker can run, in every answer.
pub(crate) fn no_worker_can_run(workers: u32, because: &str) -> String {
    match workers {
        1 => format!("{ONLY_WORKER}{because}"),
        workers => format!("none of the {workers} connected workers can run it: {because}"),
    }
}

/// Whether a text is the sentence of [`no_worker_can_run`].
pub(crate) fn says_no_worker_can_run(text: &str) -> bool {
    text.starts_with(ONLY_WORKER)
        || (text.starts_with("none of the ") && text.contains(" connected workers can run it: "))
}

fn holder_text(of: LimitHolder, name: Option<&str>) -> String {
    match (of, name) {
        (LimitHolder::Queue, Some(name)) => format!("queue {name}"),
        (LimitHolder::Pool, Some(name)) => format!("pool {name}"),
        (LimitHolder::Queue, None) => "its queue".to_owned(),
        (LimitHolder::Pool, None) => "its pool".to_owned(),
        (LimitHolder::User, _) => "its user".to_owned(),
    }
}

#[cfg(test)]
#[path = "tests/pending_reason.rs"]
mod tests;

//! PendingReason a job has the slots it has and no more: the answer's parts. How they are found is in `explain`.
//!
//! Names of other queues stand only in fields that say so, and those are empty for whoever is no administrator.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, OrderClass, PerKind};

/// A job, what it holds, and what keeps it from more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Its id.
    pub job: String,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// Its state, as Hadoop spells it.
    pub state: String,
    /// Its tasks.
    pub tasks: PerKind<TaskCounts>,
    /// What it has cost at the last tick; none without a market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// PendingReason it has no more than it has, the most telling first.
    pub why: Vec<PendingReason>,
    /// Who holds the slots of the cluster.
    pub slots: PerKind<Holders>,
    /// Its queue as a buyer; none without a market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<Buyer>,
    /// What preemption took from it and may take; none where it is turned off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Preempted>,
}

/// Tasks of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// All.
    pub total: u32,
    /// Done.
    pub finished: u32,
    /// Attempts that hold a slot.
    pub running: u32,
    /// Neither done nor running.
    pub pending: u32,
}

/// Who holds the slots of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders {
    /// All slots of the cluster.
    pub total: u32,
    /// Held by this job.
    pub this_job: u32,
    /// Held by other jobs of its queue.
    pub own_queue: u32,
    /// Held by other queues.
    pub other_queues: u32,
    /// Of those, what their queues have bought.
    pub others_within_quota: u32,
    /// Of those, what is beyond the quota of queues that pay.
    pub others_above_quota: u32,
    /// Of those, what queues hold that pay nothing.
    pub others_unpaid: u32,
    /// Held by setups and cleanups of jobs.
    pub setup_and_cleanup: u32,
    /// Held by nobody.
    pub free: u32,
    /// Other queues that hold any, by name. For administrators only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_queue: Vec<QueueHolds>,
}

/// What another queue holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHolds {
    /// Its name.
    pub queue: String,
    /// The slots it holds.
    pub held: u32,
    /// The slots it has bought.
    pub quota: u32,
}

/// A job's queue as a buyer of slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buyer {
    /// Its balance.
    pub budget: Credits,
    /// The rate that its owner has set, for the next tick.
    pub bid: Credits,
    /// The rate that the open interval will be charged at; 0 when it has none.
    pub rate: Credits,
    /// The sum of the effective rates at the last tick.
    pub price: Credits,
    /// Its part of the cluster since then, as a decimal of nine digits.
    pub share: String,
    /// The slots it has bought.
    pub quota: PerKind<u32>,
    /// The slots it holds.
    pub held: PerKind<u32>,
    /// What it is in the order of those who wait, by kind; none where it waits for none.
    pub class: PerKind<Option<OrderClass>>,
    /// Queues that are asked before it.
    pub queues_before: PerKind<u32>,
    /// The smallest rate that would buy a slot more than it holds from the next tick on; none when there is none that it
    /// could pay.
    pub moving: Option<SufficientRate>,
}

/// A rate that would move something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SufficientRate {
    /// The rate.
    pub rate: Credits,
    /// The price with it.
    pub price: Credits,
    /// The share it buys.
    pub share: String,
    /// The slots it buys.
    pub quota: PerKind<u32>,
}

/// A job as a victim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preempted {
    /// From one round to the next, ms.
    pub interval_ms: u64,
    /// Attempts of the job that rounds have chosen so far; one that is done before its tracker calls stays.
    pub so_far: u64,
    /// Attempts of the job that a round would choose at this moment; none where so much runs that to find out would hold
    /// heartbeats up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_risk: Option<u32>,
    /// The last round that chose any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRound>,
}

/// A round of preemption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRound {
    /// When, epoch ms.
    pub at_ms: i64,
    /// Attempts of the job that were chosen.
    pub attempts: u32,
    /// Slots that other queues had bought, waited for and did not have.
    pub for_slots: u32,
    /// How many those queues were.
    pub for_queues: u32,
    /// Who they were, and of how many slots each was short. For administrators only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_queue: Vec<(String, u32)>,
}

/// Something that keeps a job from more slots, or tells that nothing does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum PendingReason {
    /// It is over.
    Over {
        /// As what, as Hadoop spells it.
        state: String,
    },
    /// Its end has been decided.
    Ending,
    /// Trackers get no work.
    SafeMode,
    /// Its setup has no slot yet.
    SetupWaits,
    /// Its setup runs.
    SetupRuns,
    /// None of its tasks waits.
    NothingWaits,
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
    /// Its queue bids and can pay, but not since before the last tick.
    NotBoughtYet,
    /// Its queue holds all that it has bought.
    QuotaFull {
        /// Of these slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Slots bought.
        quota: u32,
        /// Slots held.
        held: u32,
    },
    /// Its queue may have more, as soon as slots come free.
    BelowQuota {
        /// Of these slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Slots bought.
        quota: u32,
        /// Slots held.
        held: u32,
    },
    /// Other jobs are served first: of its queue, or of all where there is but one line.
    EarlierJobs {
        /// For these slots.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// How many.
        jobs: u32,
    },
    /// No slot is free.
    NoneFree {
        /// Of this kind.
        #[serde(with = "kind_word")]
        kind: Kind,
    },
    /// There are slots for it, given away when their trackers call.
    FreeForIt {
        /// Of this kind.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// How many are free or come free.
        slots: u32,
    },
    /// It cannot run on some trackers at all.
    OnlyStock {
        /// How many of the trackers run only Hadoop Streaming.
        trackers: u32,
        /// What it has that they do not run.
        because: String,
    },
    /// Slots are free or come free where it cannot use them.
    Unusable {
        /// Of this kind.
        #[serde(with = "kind_word")]
        kind: Kind,
        /// Where too much of the job failed.
        avoided: u32,
        /// Where the disk has no room for the output of its maps.
        no_room: u32,
        /// Where each of its tasks that wait has failed.
        failed_there: u32,
        /// Of trackers that are silent, unhealthy or take no work.
        out_of_service: u32,
    },
}

// === impl PendingReason ===

impl fmt::Display for PendingReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PendingReason::Over { state } => write!(formatter, "it is over: {state}"),
            PendingReason::Ending => formatter.write_str("it is being ended; only its cleanup is still to run"),
            PendingReason::SafeMode => formatter.write_str("the JobTracker is in safe mode and gives no work away"),
            PendingReason::SetupWaits => {
                formatter.write_str("its setup waits for a slot; no task may run before it is done")
            }
            PendingReason::SetupRuns => formatter.write_str("its setup runs; no task may run before it is done"),
            PendingReason::NothingWaits => formatter.write_str("none of its tasks waits: all run or are done"),
            PendingReason::ReducesWait { maps_done, maps_needed } => {
                write!(formatter, "its reduces wait until {maps_needed} maps are done; {maps_done} are")
            }
            PendingReason::NoBid => {
                formatter.write_str("its queue bids nothing, so it gets only what nobody else wants")
            }
            PendingReason::NotFunded { budget, bid } => write!(
                formatter,
                "its queue has {budget}, less than one slot costs at its rate of {bid}, so it gets only what nobody else wants"
            ),
            PendingReason::NotBoughtYet => {
                formatter.write_str("its queue has bought nothing yet: what it bids counts from the next tick on")
            }
            PendingReason::QuotaFull { kind, quota, held } => write!(
                formatter,
                "its queue has bought {quota} {kind} slots and holds {held}; more come only from what others leave free",
                kind = kind_word::word(*kind)
            ),
            PendingReason::BelowQuota { kind, quota, held } => write!(
                formatter,
                "its queue has bought {quota} {kind} slots and holds {held}; it gets more as slots come free",
                kind = kind_word::word(*kind)
            ),
            PendingReason::EarlierJobs { kind, jobs } => {
                write!(formatter, "{jobs} other jobs stand before it in line for {} slots", kind_word::word(*kind))
            }
            PendingReason::NoneFree { kind } => write!(formatter, "no {} slot is free", kind_word::word(*kind)),
            PendingReason::FreeForIt { kind, slots } => write!(
                formatter,
                "{slots} {} slots that it could use are free or come free, and are given away as their trackers call",
                kind_word::word(*kind)
            ),
            PendingReason::OnlyStock { trackers, because } => {
                write!(formatter, "{trackers} built-in tasktrackers cannot run it: {because}")
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

/// The kinds of slots as people write them.
mod kind_word {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::model::Kind;

    pub(super) fn word(kind: Kind) -> &'static str {
        match kind {
            Kind::Map => "map",
            Kind::Reduce => "reduce",
        }
    }

    pub(super) fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(word(*kind))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "map" => Ok(Kind::Map),
            "reduce" => Ok(Kind::Reduce),
            other => Err(serde::de::Error::custom(format!("{other:?} is no kind of slots"))),
        }
    }
}

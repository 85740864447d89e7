//! A tick as a value: for each queue the charge for the interval that closes and the interval that opens.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, PerKind, PerPool, Pool, QueueName};

use super::allocation::ContainerUse;
use super::interval::{Charge, Interval};
use super::laid_charge::LaidCharge;
use super::ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Reason};
use super::metered::is_default;

/// What a queue uses and wants at the time of a tick. Idle queues may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUse {
    pub queue: QueueName,
    /// Its running attempts, without setup and cleanup.
    pub running: PerKind<u32>,
    pub pending: u64,
    pub containers: ContainerUse,
    /// The slots of each pool that it holds, setups and cleanups that count as maps included, or could use now on the
    /// nodes that are there, were they empty.
    pub want: PerPool<u32>,
    /// The same of maps and reduces once its jobs are set up and their reduces may begin.
    pub later: PerKind<u32>,
}

/// After so many intervals in which a queue has held next to nothing of what it was sold, it is sold none that it cannot
/// use now, and few of each pool where it had too little to run for what it was sold: see [`super::Account`].
pub(super) const MOST_IN_VAIN: u8 = 2;

impl QueueUse {
    pub(super) fn idle(queue: &QueueName) -> Self {
        let (running, containers) = (PerKind::default(), ContainerUse::default());
        QueueUse {
            queue: queue.clone(),
            running,
            pending: 0,
            containers,
            want: PerPool::default(),
            later: PerKind::default(),
        }
    }

    /// The want of a queue that could use any number of map and reduce slots; `containers`: those for containers too.
    pub fn wants_all(containers: &ContainerUse) -> PerPool<u32> {
        PerPool::new(u32::MAX, u32::MAX, if containers.has_any() { u32::MAX } else { 0 })
    }

    /// What it may be sold after so many intervals in which it held next to nothing of what it was sold, at most so many of each pool.
    pub(super) fn want_after(&self, in_vain: PerKind<u8>, most: u32) -> PerPool<u32> {
        let of = |kind: Kind| {
            if in_vain[kind] < MOST_IN_VAIN { self.want[kind].max(self.later[kind]) } else { self.want[kind] }
        };
        let want = PerPool::new(of(Kind::Map), of(Kind::Reduce), self.want.container);
        Pool::ALL.into_iter().fold(want, |mut want, pool| {
            want[pool] = want[pool].min(most);
            want
        })
    }

    /// Whether anything of the queue runs or is held, or waits and may be sold slots.
    pub(super) fn is_active(&self, want: PerPool<u32>) -> bool {
        self.running != PerKind::default() || self.containers.held > 0 || want != PerPool::default()
    }

    pub(super) fn held(&self) -> PerPool<u32> {
        PerPool::new(self.running.map, self.running.reduce, self.containers.held)
    }

    /// Tasks and containers that wait, one by one.
    pub(super) fn waiting(&self) -> u64 {
        self.pending.saturating_add(self.containers.wanted)
    }
}

/// All changes of one tick, stored together so that no restart finds half of a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// Its number; the first is 1.
    pub number: u64,
    /// When, epoch ms.
    pub wall_ms: i64,
    /// The length of the interval that it opens, ms.
    pub interval_ms: u64,
    pub price: Credits,
    pub ledger: LedgerTotals,
    /// The queues that are active or have a charge, by name. All others have no open interval after this tick.
    pub queue_ticks: Vec<QueueTick>,
    /// What jobs and applications pay of the charges, by queue and the order of submissions.
    pub laid: Vec<LaidCharge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTick {
    pub queue: QueueName,
    /// The charge for the interval that closes.
    pub charge: Charge,
    /// The charges for the graces of preempted containers, by the rate of their grants; none is of nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graces: Vec<Charge>,
    pub balance: Credits,
    /// The interval that opens; none for a queue of which nothing runs or is held, and nothing that waits could run.
    pub interval: Option<Interval>,
    /// Intervals of which it has held next to nothing, and could have used less, since it last held more.
    #[serde(default)]
    pub in_vain: PerKind<u8>,
    /// Those in which it withdrew what it had been sold slots for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flickers: u8,
}

impl QueueTick {
    pub(crate) fn charges(&self) -> impl Iterator<Item = Charge> {
        let all = [self.charge].into_iter().chain(self.graces.iter().copied());
        all.filter(|charge| charge.amount() > Credits::ZERO)
    }
}

impl Tick {
    pub(crate) fn is_charged(&self) -> bool {
        self.queue_ticks.iter().any(|queue_tick| queue_tick.charges().next().is_some())
    }

    /// The ledger entries of this tick: one for each charge above 0.
    pub(crate) fn charges(&self) -> impl Iterator<Item = LedgerEntry> {
        let count = self.queue_ticks.iter().flat_map(QueueTick::charges).count() as u64;
        let of_queue = |queue_tick| QueueTick::charges(queue_tick).map(|charge| (&queue_tick.queue, charge));
        let numbers = self.ledger.rows + 1 - count..;
        self.queue_ticks.iter().flat_map(of_queue).zip(numbers).map(|((queue, charge), number)| {
            let Charge { rate, interval_ms, slot_ms } = charge;
            LedgerEntry {
                number,
                wall_ms: self.wall_ms,
                tick: self.number,
                debit: LedgerAccount::Queue(queue.clone()),
                credit: LedgerAccount::Revenue,
                amount: charge.amount(),
                reason: Reason::Charge { rate, interval_ms, slot_ms },
                by: String::new(),
                note: String::new(),
            }
        })
    }

    /// The active queues with their new intervals, by name; all others have none.
    pub fn intervals(&self) -> impl Iterator<Item = (&QueueName, &Interval)> {
        self.queue_ticks.iter().filter_map(|queue_tick| Some((&queue_tick.queue, queue_tick.interval.as_ref()?)))
    }
}

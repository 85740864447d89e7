//! First in, first out behind a gate: a test says how many more apps may begin.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::model::{Kind, Now, Pool};
use crate::scheduler::app::App;
use crate::scheduler::change::Reaction;
use crate::scheduler::fifo::Fifo;
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{HeartbeatLimits, Leaf, Policy, PolicyView};
use crate::scheduler::{AppId, AppSpec, GroupId, Scheduler};

#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<AtomicUsize>);

#[derive(Debug)]
struct GatedFifo {
    fifo: Fifo,
    gate: Gate,
}

impl Gate {
    pub(crate) fn admit(&self, apps: usize) {
        self.0.fetch_add(apps, Ordering::Relaxed);
    }
}

impl Policy for GatedFifo {
    fn leaf_of(&self, app: &AppSpec) -> Leaf {
        self.fifo.leaf_of(app)
    }

    fn app_key(&self, app: &App, pool: Pool) -> AppKey {
        self.fifo.app_key(app, pool)
    }

    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey {
        self.fifo.group_key(id, group, pool, first)
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        self.fifo.heartbeat_limits(kind, free, node, totals)
    }

    fn choose_beginners(
        &mut self,
        waiting: &BTreeSet<AppId>,
        _now: Now,
        _view: &PolicyView<'_>,
        _reaction: &mut Reaction<'_>,
    ) -> Vec<AppId> {
        let admitted = self.gate.0.load(Ordering::Relaxed).min(waiting.len());
        self.gate.0.fetch_sub(admitted, Ordering::Relaxed);
        waiting.iter().copied().take(admitted).collect()
    }
}

impl Scheduler {
    /// Rules by first in, first out behind a gate, which is shut. Call this before apps are added.
    pub(crate) fn set_gate(&mut self) -> Gate {
        let gate = Gate::default();
        self.policy = Box::new(GatedFifo { fifo: Fifo::new(0), gate: gate.clone() });
        gate
    }
}

//! Another policy takes over while apps live: demand and usage stay as they are, keys and orders are computed again.

use crate::model::{Kind, PerKind, TrackerId};

use super::compatible_fifo::CompatibleFifo;
use super::dynamic::Dynamic;
use super::fifo::Fifo;
use super::order::OrderEntry;
use super::policy::Policy;
use super::{AppId, FifoOptions, Scheduler};

/// A policy with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOptions {
    /// First in, first out.
    Fifo(FifoOptions),
    /// The market.
    Dynamic,
}

// === impl PolicyOptions ===

impl PolicyOptions {
    pub(super) fn build(self) -> Box<dyn Policy> {
        match self {
            Self::Fifo(FifoOptions { compatible: true, pad_millionths }) => {
                Box::new(CompatibleFifo::new(pad_millionths))
            }
            Self::Fifo(FifoOptions { compatible: false, pad_millionths }) => Box::new(Fifo::new(pad_millionths)),
            Self::Dynamic => Box::new(Dynamic::default()),
        }
    }
}

// === impl Scheduler: another policy ===

impl Scheduler {
    /// Orders all groups and apps by another policy from now on, in O(apps log apps + nodes). The market begins without
    /// allocations.
    pub fn replace_policy(&mut self, options: PolicyOptions) {
        self.policy = options.build();
        self.orders = PerKind::default();
        for id in self.apps_by_submission() {
            self.report_app(id);
            self.enqueue_waiting(id);
        }
        let mut nodes: Vec<TrackerId> = self.nodes.keys().copied().collect();
        nodes.sort_unstable();
        nodes.into_iter().for_each(|id| self.report_node(id));
    }

    fn apps_by_submission(&self) -> Vec<AppId> {
        let mut apps: Vec<(u64, AppId)> = self.apps.iter().map(|(&id, app)| (app.spec.order, id)).collect();
        apps.sort_unstable();
        apps.into_iter().map(|(_, id)| id).collect()
    }

    /// Reports the size of an app to a policy that has just taken over.
    fn report_app(&mut self, id: AppId) {
        let Some(app) = self.apps.get(&id) else { return };
        let spec = Some(&app.spec).filter(|_| !app.draining);
        self.policy.on_app_resized(id, spec, app.size, &mut self.violations);
    }

    /// Adds an app to the order of each kind that it waits for.
    pub(super) fn enqueue_waiting(&mut self, id: AppId) {
        for kind in self.waiting_kinds(id) {
            self.enqueue(id, kind);
        }
    }

    pub(super) fn waiting_kinds(&self, id: AppId) -> Vec<Kind> {
        let waits = |kind: &Kind| self.apps.get(&id).is_some_and(|app| app.tables[*kind].waiting() > 0);
        Kind::ALL.into_iter().filter(waits).collect()
    }

    /// Reports the last heartbeat of a node to a policy that has just taken over. Where the node resumes is a place in
    /// the order by leaf and key: it moves to where its app is now.
    fn report_node(&mut self, id: TrackerId) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        for kind in Kind::ALL {
            if let Some(in_use) = node.reported[kind] {
                self.policy.on_heartbeat(id, kind, in_use, &mut self.violations);
            }
            if let Some(place) = &mut node.resume[kind] {
                let app = self.apps.get(&place.app).filter(|_| *place != OrderEntry::FRONT);
                *place = app.map_or(OrderEntry::FRONT, |app| OrderEntry {
                    leaf: self.policy.leaf_of(app.spec.group),
                    app_key: self.policy.app_key(&app.spec),
                    app: place.app,
                });
            }
        }
    }
}

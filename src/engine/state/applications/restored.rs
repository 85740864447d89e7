//! Applications of earlier runs, as the store has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::applications::{ContainerState, Placement};
use crate::model::{ApplicationId, LaunchContext, Now};
use crate::scheduler::RequestType;

use super::application::Application;
use super::container::{Container, ContainerCost, ContainerTotals};
use super::lapses::RESTORED_WAIT_MS;
use super::record::{AskedType, ItemTrouble, RequestRow, Standing, SubmittedApplication, TypeLaunch};
use super::table::Applications;

#[derive(Clone, Debug)]
pub(crate) struct RestoredApplication {
    pub(crate) submitted: SubmittedApplication,
    pub(crate) standing: Standing,
    pub(crate) contexts: Vec<(u64, LaunchContext)>,
    pub(crate) specs: Vec<(String, u64)>,
    pub(crate) rows: Vec<(RequestType, Placement, RequestRow)>,
    /// What starts containers when they are granted, with the number of items that were taken.
    pub(crate) launches: Vec<(RequestType, TypeLaunch, u32)>,
    pub(crate) troubles: Vec<(RequestType, u32, ItemTrouble)>,
    pub(crate) blacklist: Vec<String>,
    /// Containers that live, and those whose status was perhaps not received.
    pub(crate) containers: Vec<Container>,
    pub(crate) totals: ContainerTotals,
    pub(crate) last_number: u64,
    /// The highest number of a complete container that is not among `containers`; 0: none.
    pub(crate) stored_through: u64,
    pub(crate) last_answer: Option<Arc<[u8]>>,
    pub(crate) cost: ContainerCost,
}

impl RestoredApplication {
    pub(super) fn into_application(self) -> Application {
        let mut application = Application::new(Arc::new(self.submitted), self.standing);
        application.contexts = self.contexts.into_iter().map(|(number, context)| (number, Arc::new(context))).collect();
        application.specs = self.specs.into_iter().collect();
        let mut tables: BTreeMap<RequestType, AskedType> = BTreeMap::new();
        for (request, place, row) in self.rows {
            tables.entry(request).or_default().rows.insert(place, row);
        }
        for (request, launch, taken) in self.launches {
            let table = tables.entry(request).or_default();
            table.items = launch.items.as_ref().and_then(|items| items.parse().ok()).unwrap_or_default();
            table.launch = Some(launch);
            table.taken = taken;
        }
        application.tables = tables;
        for (request, item, trouble) in self.troubles {
            application.set_trouble(request, item, Some(trouble));
        }
        application.blacklist = self.blacklist.into_iter().collect();
        application.last_answer = self.last_answer.filter(|_| !application.is_over());
        for container in self.containers {
            application.set_container(container);
        }
        application.cost = self.cost;
        application.counts.totals = self.totals;
        application.counts.last_number = self.last_number;
        application.counts.stored_through = self.stored_through;
        application.counts.bytes = application.recounted_bytes();
        application
    }
}

impl Applications {
    /// Adds an application of an earlier run. Its silence begins now.
    pub(crate) fn restore(&mut self, restored: RestoredApplication, now: Now) -> ApplicationId {
        let application = restored.into_application();
        let id = application.id();
        for container in application.live() {
            self.on_tracker.entry(Arc::clone(&container.node.tracker)).or_default().insert(container.id);
            if matches!(container.state, ContainerState::Allocated | ContainerState::Acquired) {
                self.launch_due.insert((now.mono_ms.saturating_add(self.settings.launch_expiry_ms), container.id));
            }
        }
        if application.is_over() && application.counts.live.is_empty() {
            self.over.insert((application.standing.finished_ms.unwrap_or_default(), id));
        }
        self.container_counts.count_whole(&application, self.settings.slot, &mut self.violations);
        self.live_bytes.add(&application.submitted.user, application.live_bytes());
        self.tallies.count_state(None, application.standing.outcome());
        for container in application.live() {
            self.tallies.count_container(None, container);
        }
        let has_unlaunched = !application.counts.unlaunched.is_empty();
        if application.has_program() && !application.is_over() {
            self.lapses.on_call(id, now.mono_ms, RESTORED_WAIT_MS);
            if has_unlaunched {
                self.lapses.on_grant(id, now.mono_ms);
            }
        }
        self.all.insert(id, application);
        self.hear(id, now);
        id
    }
}

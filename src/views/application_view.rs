//! An application as facts have it, and its rows for lists and programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{
    ApplicationRow, ApplicationState, ApplicationStatus, ContainerRow, ContainerState, ItemCounts, Placement,
    RequestLine,
};
use crate::engine::{
    ApplicationChange, Container, ContainerCost, ContainerTotals, ItemStanding, ItemTrouble, Items, RequestRow,
    RequestType, RestoredApplication, Standing, SubmittedApplication, TypeLaunch, is_master, shown_id,
};
use crate::model::{ApplicationId, Capability, Credits};

use super::shared_map::SharedMap;

/// An application. Its containers that are complete are in `state.db` alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApplicationView {
    submitted: Arc<SubmittedApplication>,
    standing: Arc<Standing>,
    requests: SharedMap<RequestType, Arc<RequestView>>,
    /// Types with items that are wanted no more: what became of the items is still to be seen. Not in `state.db`.
    dropped: SharedMap<RequestType, Arc<RequestView>>,
    troubles: SharedMap<(RequestType, u32), ItemTrouble>,
    live: SharedMap<u64, Arc<Container>>,
    live_sums: LiveSums,
    totals: ContainerTotals,
    cost: ContainerCost,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestView {
    rows: SharedMap<Placement, RequestRow>,
    launch: Option<Arc<LaunchView>>,
    /// How many of the items of `launch` were taken, in the order in which they are written.
    taken: u32,
}

/// What starts containers of a type when they are granted.
#[derive(Clone, Debug, PartialEq)]
struct LaunchView {
    launch: TypeLaunch,
    items: Items,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveSums {
    pub(crate) memory_mb: u64,
    pub(crate) cores: u64,
}

impl ApplicationView {
    pub(super) fn submitted_now(submitted: Arc<SubmittedApplication>, standing: &Standing) -> Self {
        Self {
            submitted,
            standing: Arc::new(standing.clone()),
            requests: SharedMap::default(),
            dropped: SharedMap::default(),
            troubles: SharedMap::default(),
            live: SharedMap::default(),
            live_sums: LiveSums::default(),
            totals: ContainerTotals::default(),
            cost: ContainerCost::default(),
        }
    }

    pub(super) fn stored(stored: &RestoredApplication) -> Self {
        let mut application = Self::submitted_now(Arc::new(stored.submitted.clone()), &stored.standing);
        for (request, place, row) in &stored.rows {
            application.change_request(*request, |known| known.rows.insert(place.clone(), *row));
        }
        for (request, launch, taken) in &stored.launches {
            application.change_request(*request, |known| {
                known.set_launch(Some(launch));
                known.taken = *taken;
            });
        }
        application.troubles =
            stored.troubles.iter().map(|(request, item, trouble)| ((*request, *item), *trouble)).collect();
        stored.containers.iter().for_each(|container| application.set_container(container));
        Self { totals: stored.totals, cost: stored.cost, ..application }
    }

    pub(super) fn apply(&mut self, change: &ApplicationChange) {
        match change {
            ApplicationChange::Stands { standing, .. } => self.standing = Arc::new((**standing).clone()),
            ApplicationChange::RowSet { request, place, count, relaxes, .. } => {
                let row = RequestRow { count: *count, relaxes: *relaxes };
                self.change_request(*request, |known| known.rows.insert(place.clone(), row));
            }
            ApplicationChange::TypeDropped { request, .. } => self.drop_request(*request),
            ApplicationChange::LaunchSet { request, launch, .. } => {
                self.change_request(*request, |known| known.set_launch(launch.as_deref()));
            }
            ApplicationChange::ItemsTaken { request, taken, .. } => {
                self.change_request(*request, |known| known.taken = *taken);
            }
            ApplicationChange::ItemTroubled { request, item, trouble, .. } => match trouble {
                Some(trouble) => self.troubles.insert((*request, *item), *trouble),
                None => drop(self.troubles.remove(&(*request, *item))),
            },
            ApplicationChange::Container(container) => self.set_container(container),
            ApplicationChange::Answered { response_id, containers, .. } => {
                let standing = Arc::make_mut(&mut self.standing);
                standing.response_id = *response_id;
                standing.taken_in = None;
                self.name(containers);
            }
            ApplicationChange::Listed { containers, .. } => self.name(containers),
            ApplicationChange::Charged { cost, .. } => self.cost = *cost,
            // What runs in its containers is its own, and the rest is of no application.
            ApplicationChange::Submitted { .. }
            | ApplicationChange::ContextKept { .. }
            | ApplicationChange::ContextDropped { .. }
            | ApplicationChange::SpecNamed { .. }
            | ApplicationChange::Blacklisted { .. }
            | ApplicationChange::IdGiven { .. }
            | ApplicationChange::Stamped(_)
            | ApplicationChange::StampsForgotten(_) => {}
        }
    }

    fn drop_request(&mut self, request: RequestType) {
        if let Some(known) = self.requests.get(&request).filter(|known| known.items().is_some()) {
            let without_rows = RequestView { rows: SharedMap::default(), ..(**known).clone() };
            self.dropped.insert(request, Arc::new(without_rows));
        }
        self.requests.remove(&request);
    }

    fn change_request(&mut self, request: RequestType, change: impl FnOnce(&mut RequestView)) {
        if self.requests.get(&request).is_none() {
            self.dropped.remove(&request);
            self.requests.insert(request, Arc::default());
        }
        if let Some(known) = self.requests.get_mut(&request) {
            let known = Arc::make_mut(known);
            change(known);
            if known.rows.is_empty() && known.launch.is_none() {
                self.requests.remove(&request);
            }
        }
    }

    /// A container is like this from now on; of answers that name it the views know nothing.
    fn set_container(&mut self, container: &Container) {
        let number = container.id.number;
        let was_live = self.live.get(&number).is_some();
        let Capability { memory_mb, vcores } = container.request.capability;
        let sums = &mut self.live_sums;
        match (container.is_live(), was_live) {
            (true, false) => {
                sums.memory_mb += u64::from(memory_mb);
                sums.cores += u64::from(vcores);
            }
            (false, true) => {
                sums.memory_mb = sums.memory_mb.saturating_sub(memory_mb.into());
                sums.cores = sums.cores.saturating_sub(vcores.into());
                self.totals.add(container);
                self.live.remove(&number);
            }
            (true, true) | (false, false) => {}
        }
        if container.is_live() {
            let shown = Container { named_in: None, status_in: None, ..container.clone() };
            self.live.insert(number, Arc::new(shown));
        }
    }

    /// An answer has named containers to their application.
    fn name(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Some(container) = self.live.get_mut(number)
                && container.state == ContainerState::Allocated
            {
                Arc::make_mut(container).state = ContainerState::Acquired;
            }
        }
    }

    pub(crate) fn id(&self) -> ApplicationId {
        self.submitted.id
    }

    pub(crate) fn submitted(&self) -> &Arc<SubmittedApplication> {
        &self.submitted
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Whether it is over and nothing of it lives.
    pub(crate) fn is_done(&self) -> bool {
        self.standing.state.is_over() && self.live.is_empty()
    }

    /// Its live containers, by number.
    pub(crate) fn live(&self) -> impl DoubleEndedIterator<Item = &Container> {
        self.live.values().map(|container| &**container)
    }

    /// Whether the container with this number lives.
    pub(super) fn has_live(&self, number: u64) -> bool {
        self.live.get(&number).is_some()
    }

    pub(crate) fn live_count(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn live_sums(&self) -> LiveSums {
        self.live_sums
    }

    /// What its complete containers leave.
    pub(crate) fn totals(&self) -> &ContainerTotals {
        &self.totals
    }

    /// What its containers have cost, up to the last tick.
    pub(crate) fn cost(&self) -> &ContainerCost {
        &self.cost
    }

    /// What it wants, by type, and then what it wants no more and has items.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&RequestType, &RequestView)> {
        self.requests.iter().chain(self.dropped.iter()).map(|(request, view)| (request, &**view))
    }

    #[cfg(test)]
    pub(super) fn as_loaded(&self) -> Self {
        Self { dropped: SharedMap::default(), ..self.clone() }
    }

    /// Containers that it still wants, of all types.
    pub(crate) fn wanted(&self) -> u64 {
        self.requests.values().map(|request| u64::from(request.wanted())).sum()
    }

    /// Items that did not end well at once, by type and number.
    pub(crate) fn troubles(&self) -> impl Iterator<Item = (RequestType, u32, &ItemTrouble)> {
        self.troubles.iter().map(|((request, item), trouble)| (*request, *item, trouble))
    }

    pub(crate) fn trouble(&self, request: RequestType, item: u32) -> Option<&ItemTrouble> {
        self.troubles.get(&(request, item))
    }

    /// Whether what ran at its end was cut off: which items that were is not recorded.
    pub(crate) fn may_be_cut(&self) -> bool {
        matches!(self.standing.state, ApplicationState::Failed | ApplicationState::Killed)
    }

    /// How many items it has, and how many of them have ended well; none without items, or where that is not recorded.
    pub(crate) fn item_counts(&self) -> Option<ItemCounts> {
        let mut counts = None;
        for (request, view) in self.requests().filter(|_| !self.may_be_cut()) {
            let Some(items) = view.items() else { continue };
            let live = self.live().filter(|container| container.request == *request);
            let mut not_done: BTreeSet<u32> = live.filter_map(|container| container.item()).collect();
            not_done.extend(self.troubles().filter(|(of, ..)| of == request).map(|(_, item, _)| item));
            let ItemCounts { total, done } = counts.get_or_insert_default();
            *total += u64::from(items.len());
            *done += u64::from(view.taken()).saturating_sub(not_done.len() as u64);
        }
        counts
    }

    /// Items of a type that wait again, in their order.
    pub(crate) fn waiting_again(&self, request: RequestType) -> Vec<u32> {
        let of_type = self.troubles.iter().filter(|((known, _), _)| *known == request);
        let mut turns: Vec<(u64, u32)> = of_type
            .filter_map(|((_, item), trouble)| match trouble.standing {
                ItemStanding::Waits(turn) => Some((turn, *item)),
                ItemStanding::Held | ItemStanding::Failed => None,
            })
            .collect();
        turns.sort_unstable();
        turns.into_iter().map(|(_, item)| item).collect()
    }

    /// As lists show it; `cost`: where that is shown.
    pub(crate) fn row(&self, cost: Option<Credits>) -> ApplicationRow {
        let (submitted, standing, totals) = (self.submitted(), self.standing(), self.totals());
        ApplicationRow {
            application: submitted.id,
            name: submitted.name.clone(),
            user: submitted.user.to_string(),
            queue: submitted.queue.to_string(),
            state: standing.state,
            final_status: standing.final_status.into(),
            started_ms: submitted.submitted_ms,
            finished_ms: standing.finished_ms,
            elapsed_ms: None,
            running_containers: self.live_count() as u64,
            pending_containers: self.wanted(),
            completed_containers: totals.complete,
            failed_containers: totals.failed,
            items: self.item_counts().filter(|_| !standing.state.is_over()),
            memory_mb: self.live_sums().memory_mb,
            cores: self.live_sums().cores,
            cost,
        }
    }

    /// By itself, with the first rows of what it wants; `slot`: one slot's worth. What its containers have used counts once
    /// they are complete.
    pub(crate) fn status(&self, cost: Option<Credits>, slot: Capability) -> ApplicationStatus {
        let (submitted, standing, totals) = (self.submitted(), self.standing(), self.totals());
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let asked = self.requests().filter(|(request, _)| !is_master(**request));
        ApplicationStatus {
            row: self.row(cost),
            r#type: submitted.application_type.clone(),
            unattended: submitted.is_unattended,
            attempt: standing.attempt,
            progress_percent: standing.progress_ppm as f64 / 10_000.0,
            url: standing.tracking_url.clone().filter(|url| !url.is_empty()),
            diagnostics: given(&standing.diagnostics),
            preempted_containers: totals.preempted,
            failed_items: given(&Items::shown(self.failed_items(), MAX_SHOWN_PARTS)),
            slots: Some(self.live().map(|container| u64::from(container.request.capability.slots(slot))).sum()),
            live_memory_mb: None,
            live_cpu_ms: None,
            unlaunched: None,
            held_by_others: None,
            memory_mb_s: totals.memory_mb_ms / 1_000,
            core_s: totals.vcore_ms / 1_000,
            requests: asked.flat_map(|(request, view)| self.request_lines(*request, view)).take(MAX_ROWS).collect(),
            cannot_run: None,
            why: None,
            containers: None,
        }
    }

    pub(crate) fn failed_items(&self) -> impl Iterator<Item = u32> + use<'_> {
        let has_failed = |(_, item, trouble): &(RequestType, u32, &ItemTrouble)| {
            trouble.standing == ItemStanding::Failed && *item != WITHOUT_ITEM
        };
        self.troubles().filter(has_failed).map(|(_, item, _)| item)
    }

    fn request_lines(&self, request: RequestType, view: &RequestView) -> Vec<RequestLine> {
        let items = view.items().map(|items| {
            let left = items.after_first(view.taken());
            let again = Items::shown(self.waiting_again(request), MAX_SHOWN_PARTS);
            match (left.is_empty(), again.is_empty()) {
                (_, true) => left.cut(MAX_SHOWN_PARTS),
                (true, false) => again,
                (false, false) => format!("{},{again}", left.cut(MAX_SHOWN_PARTS)),
            }
        });
        let line = |(place, row): (&Placement, &crate::engine::RequestRow)| RequestLine {
            priority: request.priority,
            allocation_request_id: shown_id(request),
            resource_name: place.clone(),
            memory_mb: request.capability.memory_mb,
            cores: request.capability.vcores,
            containers: row.count,
            relax_locality: row.relaxes,
            items: items.clone().filter(|_| *place == Placement::Any),
        };
        view.rows().take(MAX_ROWS).map(line).collect()
    }
}

impl RequestView {
    fn set_launch(&mut self, launch: Option<&TypeLaunch>) {
        self.taken = 0;
        self.launch = launch.map(|launch| {
            // They were checked when they came.
            let items = launch.items.as_ref().and_then(|items| items.parse().ok()).unwrap_or_default();
            Arc::new(LaunchView { launch: launch.clone(), items })
        });
    }

    /// Its rows, by place.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Placement, &RequestRow)> {
        self.rows.iter()
    }

    /// Containers that are still wanted.
    pub(crate) fn wanted(&self) -> u32 {
        self.rows.get(&Placement::Any).map_or(0, |row| row.count)
    }

    /// Its items in the order in which they are written; none unless it has items.
    pub(crate) fn items(&self) -> Option<&Items> {
        self.launch.as_deref().filter(|launch| launch.launch.items.is_some()).map(|launch| &launch.items)
    }

    /// How many of them were taken.
    pub(crate) fn taken(&self) -> u32 {
        self.taken
    }
}

/// Most parts of items in a text.
const MAX_SHOWN_PARTS: usize = 1_000;
/// Most rows of requests.
const MAX_ROWS: usize = 100;
/// Stands for all containers of a type that run no item, beyond all items.
const WITHOUT_ITEM: u32 = u32::MAX;

/// A container; what it uses while it lives is no fact.
pub(crate) fn container_row(container: &Container) -> ContainerRow {
    let end = container.end.as_ref();
    let kill_text = container.kill.as_ref().map(|kill| kill.diagnostics.clone());
    let text = end.map(|end| end.diagnostics.clone()).or(kill_text);
    ContainerRow {
        container: container.id,
        state: container.state,
        node: container.node.id.to_string(),
        rack: container.node.rack.to_string(),
        item: container.item(),
        item_attempt: container.item().and(container.launch).map(|launch| launch.item_attempt),
        exit_status: (container.state == ContainerState::Complete).then(|| container.exit()),
        diagnostics: text.filter(|text| !text.is_empty()),
        memory_mb: container.request.capability.memory_mb,
        cores: container.request.capability.vcores,
        granted_ms: container.granted_ms,
        started_ms: container.started_ms,
        finished_ms: end.map(|end| end.ended_ms),
        live_memory_mb: 0,
        peak_memory_mb: end.map_or(0, |end| end.peak_memory_mb),
        cpu_ms: end.map_or(0, |end| end.cpu_ms),
    }
}

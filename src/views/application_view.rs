//! An application as facts have it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{ApplicationState, ContainerState, ItemCounts, Placement};
use crate::engine::{
    ApplicationChange, Container, ContainerCost, ContainerTotals, ItemStanding, ItemTrouble, Items, RequestRow,
    RequestType, RestoredApplication, Standing, SubmittedApplication, TypeLaunch,
};
use crate::model::{ApplicationId, Capability};

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

/// What an application wants of one type.
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

/// Sums over live containers.
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

    /// One as it is stored.
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

    /// Takes in a change of it.
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

    /// What it was submitted with.
    pub(crate) fn submitted(&self) -> &Arc<SubmittedApplication> {
        &self.submitted
    }

    /// How it stands.
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

    /// How many they are.
    pub(crate) fn live_count(&self) -> usize {
        self.live.len()
    }

    /// What they hold.
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

    /// The same of one item.
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

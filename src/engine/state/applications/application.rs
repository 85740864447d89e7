//! One application: its standing, requests, contexts and containers, and how changes apply to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::api::applications::{ContainerState, ItemCounts, Placement};
use crate::model::{ApplicationId, Capability, LaunchContext};
use crate::scheduler::RequestType;

use super::change::ApplicationChange;
use super::container::{Container, ContainerCost, ContainerStep, ContainerTotals};
use super::record::{
    AskedType, ItemStanding, ItemTrouble, RequestRow, Standing, SubmittedApplication, WITHOUT_ITEM, container_bytes,
    is_master,
};
use super::settings::{COMPLETE_KEPT, COMPLETE_KEPT_WHEN_OVER};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Application {
    pub(crate) submitted: Arc<SubmittedApplication>,
    pub(crate) standing: Standing,
    pub(crate) contexts: BTreeMap<u64, Arc<LaunchContext>>,
    pub(crate) specs: BTreeMap<String, u64>,
    pub(crate) tables: BTreeMap<RequestType, AskedType>,
    /// Items that did not end well at once.
    pub(crate) troubles: BTreeMap<RequestType, BTreeMap<u32, ItemTrouble>>,
    pub(crate) blacklist: BTreeSet<String>,
    /// Containers by number: all that live, and some that are complete.
    pub(crate) containers: BTreeMap<u64, Container>,
    pub(crate) last_answer: Option<Arc<[u8]>>,
    pub(crate) cost: ContainerCost,
    pub(crate) counts: ContainerSums,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerSums {
    pub(crate) live: BTreeSet<u64>,
    /// Numbers of live containers that are not launched.
    pub(crate) unlaunched: BTreeSet<u64>,
    /// Numbers of containers that no answer has named.
    pub(crate) unnamed: BTreeSet<u64>,
    /// Numbers of complete containers whose status no answer has.
    pub(crate) unreported: BTreeSet<u64>,
    /// Complete containers in memory, in the order of their ends.
    pub(crate) complete: VecDeque<u64>,
    /// Live containers that run a context, by its number.
    pub(crate) context_uses: BTreeMap<u64, u32>,
    /// Items that wait again, by when they came to wait.
    pub(crate) waiting: BTreeMap<RequestType, BTreeSet<(u64, u32)>>,
    /// Memory and cores of live containers.
    pub(crate) memory_mb: u64,
    pub(crate) vcores: u64,
    pub(crate) bytes: u64,
    /// The highest number that a container has had.
    pub(crate) last_number: u64,
    /// The highest number of a complete container that is in the store alone.
    pub(crate) stored_through: u64,
    pub(crate) totals: ContainerTotals,
}

impl ContainerSums {
    /// Counts a container as it is now, and was before, among the live ones.
    fn count_live(&mut self, before: Option<&Container>, after: &Container) {
        let number = after.id.number;
        let was_live = before.is_some_and(Container::is_live);
        let Capability { memory_mb, vcores } = after.request.capability;
        let (memory_mb, vcores) = (u64::from(memory_mb), u64::from(vcores));
        if after.is_live() && !was_live {
            self.live.insert(number);
            self.memory_mb += memory_mb;
            self.vcores += vcores;
        }
        if !after.is_live() && was_live {
            self.live.remove(&number);
            self.memory_mb = self.memory_mb.saturating_sub(memory_mb);
            self.vcores = self.vcores.saturating_sub(vcores);
        }
    }

    fn count_context_uses(&mut self, before: Option<&Container>, after: &Container) {
        let context_of = |container: &Container| container.is_live().then_some(container.launch?.context);
        let (old, new) = (before.and_then(context_of), context_of(after));
        if old == new {
            return;
        }
        if let Some(old) = old {
            let uses = self.context_uses.get(&old).map_or(0, |uses| uses.saturating_sub(1));
            match uses {
                0 => drop(self.context_uses.remove(&old)),
                uses => drop(self.context_uses.insert(old, uses)),
            }
        }
        if let Some(new) = new {
            *self.context_uses.entry(new).or_default() += 1;
        }
    }
}

impl Application {
    pub(crate) fn new(submitted: Arc<SubmittedApplication>, standing: Standing) -> Self {
        let mut application = Self {
            submitted,
            standing,
            contexts: BTreeMap::new(),
            specs: BTreeMap::new(),
            tables: BTreeMap::new(),
            troubles: BTreeMap::new(),
            blacklist: BTreeSet::new(),
            containers: BTreeMap::new(),
            last_answer: None,
            cost: ContainerCost::default(),
            counts: ContainerSums::default(),
        };
        application.counts.bytes = application.recounted_bytes();
        application
    }

    /// What a restart keeps of it: all but complete containers whose end was acknowledged, and those of one without a program.
    #[cfg(test)]
    pub(crate) fn durable(&self) -> Self {
        let mut kept = self.clone();
        let is_needed = |container: &Container| {
            container.is_live()
                || (self.counts.unreported.contains(&container.id.number) && !self.is_over())
                || container.status_in.is_some_and(|answer| !self.is_acknowledged(answer) && !self.is_over())
        };
        kept.containers.retain(|_, container| is_needed(container));
        let has = |number: &u64| kept.containers.contains_key(number);
        kept.counts.unnamed.retain(has);
        kept.counts.unreported.retain(has);
        kept.counts.complete.clear();
        kept.counts.bytes = kept.recounted_bytes();
        kept.counts.stored_through = 0;
        kept
    }

    pub(crate) fn id(&self) -> ApplicationId {
        self.submitted.id
    }

    pub(crate) fn is_over(&self) -> bool {
        self.standing.state.is_over()
    }

    pub(crate) fn has_program(&self) -> bool {
        !self.submitted.is_unattended
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Container> {
        self.counts.live.iter().filter_map(|number| self.containers.get(number))
    }

    /// Live containers that are not launched, the oldest first.
    pub(crate) fn unlaunched(&self) -> impl Iterator<Item = &Container> {
        self.counts.unlaunched.iter().filter_map(|number| self.containers.get(number))
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.tables.values().map(|table| u64::from(table.outstanding())).sum()
    }

    /// Those of them that may be granted: a program whose containers have lapsed gets none before it calls.
    pub(crate) fn wanted(&self) -> u64 {
        if self.standing.has_lapsed { 0 } else { self.outstanding() }
    }

    pub(crate) fn spec(&self, name: &str) -> Option<(u64, &Arc<LaunchContext>)> {
        let number = *self.specs.get(name)?;
        Some((number, self.contexts.get(&number)?))
    }

    /// Whether an answer has reached its application: a later call said so.
    pub(crate) fn is_acknowledged(&self, (attempt, response_id): (u32, u64)) -> bool {
        let Standing { attempt: now, response_id: last, taken_in, .. } = &self.standing;
        attempt < *now || response_id < *last || (response_id == *last && taken_in.is_some())
    }

    pub(crate) fn apply(&mut self, change: &ApplicationChange) {
        match change {
            ApplicationChange::Submitted { standing, .. } | ApplicationChange::Stands { standing, .. } => {
                self.standing = (**standing).clone();
                // Calls of one that is over are refused, repeated ones too.
                if self.is_over() {
                    self.last_answer = None;
                }
                self.forget_oldest();
            }
            ApplicationChange::ContextKept { number, context, .. } => {
                self.contexts.insert(*number, Arc::clone(context));
            }
            ApplicationChange::ContextDropped { number, .. } => drop(self.contexts.remove(number)),
            ApplicationChange::SpecNamed { name, context, .. } => drop(self.specs.insert(name.clone(), *context)),
            ApplicationChange::RowSet { request, place, count, relaxes, .. } => {
                let row = RequestRow { count: *count, relaxes: *relaxes };
                self.tables.entry(*request).or_default().rows.insert(place.clone(), row);
            }
            ApplicationChange::TypeDropped { request, .. } => drop(self.tables.remove(request)),
            ApplicationChange::LaunchSet { request, launch, .. } => {
                let table = self.tables.entry(*request).or_default();
                let items = launch.as_ref().and_then(|launch| launch.items.as_ref());
                // They were checked when they came.
                table.items = items.and_then(|items| items.parse().ok()).unwrap_or_default();
                table.launch = launch.as_deref().cloned();
                table.taken = 0;
            }
            ApplicationChange::ItemsTaken { request, taken, .. } => {
                self.tables.entry(*request).or_default().taken = *taken;
            }
            ApplicationChange::ItemTroubled { request, item, trouble, .. } => {
                self.set_trouble(*request, *item, *trouble)
            }
            ApplicationChange::Blacklisted { name, is_on: true, .. } => drop(self.blacklist.insert(name.clone())),
            ApplicationChange::Blacklisted { name, is_on: false, .. } => drop(self.blacklist.remove(name)),
            ApplicationChange::Container(container) => self.set_container((**container).clone()),
            ApplicationChange::Answered { attempt, response_id, answer, containers, statuses, .. } => {
                self.standing.response_id = *response_id;
                self.standing.taken_in = None;
                self.last_answer = Some(Arc::clone(answer));
                self.name_in(containers, (*attempt, *response_id));
                self.report_statuses(statuses, (*attempt, *response_id));
                self.forget_oldest();
            }
            ApplicationChange::Listed { attempt, containers, statuses, .. } => {
                self.last_answer = None;
                self.name_in(containers, (*attempt, 0));
                self.withdraw_statuses(statuses);
            }
            ApplicationChange::Charged { cost, .. } => self.cost = *cost,
            ApplicationChange::Stamped(_)
            | ApplicationChange::StampsForgotten(_)
            | ApplicationChange::IdGiven { .. } => {}
        }
    }

    pub(super) fn set_trouble(&mut self, request: RequestType, item: u32, trouble: Option<ItemTrouble>) {
        let before = self.troubles.get(&request).and_then(|items| items.get(&item));
        let waiting = self.counts.waiting.entry(request).or_default();
        if let Some(ItemTrouble { standing: ItemStanding::Waits(turn), .. }) = before {
            waiting.remove(&(*turn, item));
        }
        if let Some(ItemTrouble { standing: ItemStanding::Waits(turn), .. }) = trouble {
            waiting.insert((turn, item));
        }
        if waiting.is_empty() {
            self.counts.waiting.remove(&request);
        }
        match trouble {
            Some(trouble) => drop(self.troubles.entry(request).or_default().insert(item, trouble)),
            None => {
                if let Some(items) = self.troubles.get_mut(&request) {
                    items.remove(&item);
                    if items.is_empty() {
                        self.troubles.remove(&request);
                    }
                }
            }
        }
    }

    fn name_in(&mut self, numbers: &[u64], answer: (u32, u64)) {
        for number in numbers {
            if let Some(container) = self.containers.get_mut(number) {
                if let Some(next) = container.after(ContainerStep::Named) {
                    *container = next;
                }
                container.named_in = Some(answer);
            }
            self.counts.unnamed.remove(number);
        }
    }

    fn report_statuses(&mut self, numbers: &[u64], answer: (u32, u64)) {
        for number in numbers {
            if let Some(container) = self.containers.get_mut(number) {
                container.status_in = Some(answer);
            }
            self.counts.unreported.remove(number);
        }
    }

    fn withdraw_statuses(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Some(container) = self.containers.get_mut(number) {
                container.status_in = None;
                self.counts.unreported.insert(*number);
            }
        }
    }

    pub(super) fn set_container(&mut self, container: Container) {
        let number = container.id.number;
        let before = self.containers.get(&number);
        let counts = &mut self.counts;
        let was_complete = before.is_some_and(|before| !before.is_live());
        counts.count_live(before, &container);
        if !container.is_live() && !was_complete {
            counts.complete.push_back(number);
            counts.totals.add(&container);
        }
        match container.is_live() && container.waits_for_launch() {
            true => drop(counts.unlaunched.insert(number)),
            false => drop(counts.unlaunched.remove(&number)),
        }
        let has_reader = !self.submitted.is_unattended && !is_master(container.request);
        if has_reader && container.named_in.is_none() {
            counts.unnamed.insert(number);
        }
        if has_reader && !container.is_live() && container.status_in.is_none() {
            counts.unreported.insert(number);
        }
        counts.count_context_uses(before, &container);
        counts.last_number = counts.last_number.max(number);
        counts.bytes = counts.bytes.saturating_add(container_bytes(&container));
        if let Some(replaced) = self.containers.insert(number, container) {
            self.counts.bytes = self.counts.bytes.saturating_sub(container_bytes(&replaced));
        }
        self.forget_oldest();
    }

    /// Forgets the oldest complete containers beyond those that are kept, but none whose status may have to be sent again.
    fn forget_oldest(&mut self) {
        let is_done = self.is_over() && self.counts.live.is_empty();
        let most = if is_done { COMPLETE_KEPT_WHEN_OVER } else { COMPLETE_KEPT };
        while self.counts.complete.len() > most {
            let Some(&number) = self.counts.complete.front() else { return };
            let answer = self.containers.get(&number).and_then(|container| container.status_in);
            let is_settled = match answer {
                _ if is_done => true,
                Some(answer) => self.is_acknowledged(answer),
                None => !self.counts.unreported.contains(&number),
            };
            if !is_settled {
                return;
            }
            self.counts.complete.pop_front();
            if let Some(forgotten) = self.containers.remove(&number) {
                self.counts.bytes = self.counts.bytes.saturating_sub(container_bytes(&forgotten));
            }
            self.counts.unnamed.remove(&number);
            self.counts.unreported.remove(&number);
            self.counts.stored_through = self.counts.stored_through.max(number);
        }
    }

    /// The first item that waits again, by when it came to wait.
    pub(crate) fn first_waiting(&self, request: RequestType) -> Option<(u32, ItemTrouble)> {
        let (_, item) = *self.counts.waiting.get(&request)?.first()?;
        Some((item, *self.troubles.get(&request)?.get(&item)?))
    }

    /// The turn of the next item that comes to wait.
    pub(crate) fn next_turn(&self, request: RequestType) -> u64 {
        let last = self.counts.waiting.get(&request).and_then(|waiting| waiting.last());
        last.map_or(0, |(turn, _)| turn + 1)
    }

    /// How many items it has, and how many of them have ended well; none without items, or once it is over.
    pub(crate) fn item_counts(&self) -> Option<ItemCounts> {
        let with_items = |table: &&AskedType| table.launch.as_ref().is_some_and(|launch| launch.items.is_some());
        let tables = self.tables.iter().filter(|(_, table)| with_items(table));
        let mut counts = None;
        for (request, table) in tables.filter(|_| !self.standing.state.is_over()) {
            let live = self.live().filter(|container| container.request == *request);
            let mut not_done: BTreeSet<u32> = live.filter_map(Container::item).collect();
            not_done.extend(self.troubles.get(request).into_iter().flatten().map(|(item, _)| *item));
            let ItemCounts { total, done } = counts.get_or_insert_default();
            *total += u64::from(table.items.len());
            *done += u64::from(table.taken).saturating_sub(not_done.len() as u64);
        }
        counts
    }

    pub(crate) fn failed_items(&self, request: RequestType) -> impl Iterator<Item = u32> {
        let items = self.troubles.get(&request).into_iter().flatten();
        items
            .filter(|(item, trouble)| trouble.standing == ItemStanding::Failed && **item != WITHOUT_ITEM)
            .map(|(item, _)| *item)
    }

    /// How many containers count on each row that were granted and not named by an answer.
    pub(crate) fn unnamed_on_rows(&self) -> BTreeMap<(RequestType, Placement), u32> {
        let mut on_rows = BTreeMap::new();
        for container in self.counts.unnamed.iter().filter_map(|number| self.containers.get(number)) {
            for place in container.lowered_rows() {
                *on_rows.entry((container.request, place)).or_default() += 1;
            }
        }
        on_rows
    }

    /// A number for a new context; that of a master has 0.
    pub(crate) fn next_context(&self) -> u64 {
        self.contexts.last_key_value().map_or(1, |(number, _)| number + 1)
    }

    pub(crate) fn needs_context(&self, number: u64) -> bool {
        self.specs.values().any(|named| *named == number)
            || self.counts.context_uses.contains_key(&number)
            || (number == 0 && self.submitted.master.is_some())
    }
}

impl Container {
    pub(crate) fn lowered_rows(&self) -> Vec<Placement> {
        let mut rows = vec![Placement::Any];
        rows.extend(self.lowered.rack_of(&self.node.rack).map(|rack| Placement::Rack(rack.to_owned())));
        if self.lowered.host {
            rows.push(Placement::Host(self.node.host.to_string()));
        }
        rows
    }

    pub(crate) fn waits_for_launch(&self) -> bool {
        matches!(self.state, ContainerState::Allocated | ContainerState::Acquired)
    }
}

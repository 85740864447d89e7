//! The books of containers, kept from the facts and from what applications sent: what was asked, what was granted for it,
//! and what became of it.

mod container_book;
mod holdings;
mod idle_room;
mod item_book;
mod kept_room;
mod quotas;
mod request_book;
mod victims;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::applications::{AllocateCall, ContainerState, Placement, Submission};
use crate::engine::{ApplicationChange, Container, Engine, Fact, RequestType, Standing, SubmittedApplication};
use crate::model::{ApplicationId, Capability, ContainerExit, ContainerId, TrackerId};

use super::law::Law;
use container_book::ContainerBook;
use item_book::ItemBook;
use kept_room::KeptRoom;
pub(in crate::sim) use request_book::OfferedNode;
use request_book::{RequestBook, Site, Unnamed};
pub(super) use victims::ContainerRound;

/// The cause of a step, as far as applications are concerned.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) enum ApplicationIntent {
    #[default]
    Nothing,
    Submission(Box<Submission>),
    Registration(ApplicationId),
    /// A call, with the digest of its body.
    Call(ApplicationId, Box<AllocateCall>, [u8; 32]),
}

/// An application that is not over, or has live containers.
#[derive(Clone, Debug)]
struct ApplicationBook {
    submitted: Arc<SubmittedApplication>,
    standing: Standing,
    requests: RequestBook,
    items: ItemBook,
    blacklist: BTreeSet<String>,
    /// Those that live, and those of which its program has not been sent the name and the end: of others nothing is needed.
    containers: BTreeMap<u64, ContainerBook>,
    /// Ends that a program which has registered again is sent once more, of containers that are not kept.
    relisted: BTreeSet<u64>,
    last_number: u64,
    master_starts: u32,
}

#[derive(Clone, Debug)]
pub(super) struct ContainerBooks {
    minimum: Capability,
    slot: Capability,
    applications: BTreeMap<ApplicationId, ApplicationBook>,
    on_tracker: BTreeMap<Arc<str>, BTreeSet<ContainerId>>,
    /// Containers that this step has granted, and those whose preemption it has ordered.
    granted: Vec<Container>,
    preempted: Vec<ContainerId>,
    /// Applications that have let grants lapse in it.
    lapsed: BTreeSet<ApplicationId>,
    /// Whether it has ordered the end of others, or seen it.
    has_other_ends: bool,
    kept: KeptRoom,
    /// Longest time between TERM and KILL of what a round takes, ms.
    preemption_grace_ms: u64,
    intent: ApplicationIntent,
    /// Rows as the facts of this step leave them.
    rows: BTreeMap<(ApplicationId, RequestType, Placement), u32>,
    /// Grants and ends so far: what is held changes with these alone.
    changes: u64,
}

type Judged = Result<(), (Law, String)>;

/// How the end of a container begins that was granted and never launched.
const LAPSED: &str = "not launched";

/// The request id of masters, which no application can ask with.
const MASTER_ID: u64 = u64::MAX;

pub(super) fn ends_in(changes: &[ApplicationChange]) -> u64 {
    let is_end = |change: &&ApplicationChange| matches!(change, ApplicationChange::Container(container) if container.state == ContainerState::Complete);
    changes.iter().filter(is_end).count() as u64
}

fn refuse(law: Law, text: String) -> Judged {
    Err((law, text))
}

impl ApplicationBook {
    fn is_over(&self) -> bool {
        self.standing.state.is_over()
    }

    /// Whether anything may be granted to it: not while its program has let the last grants lapse and has not called since.
    fn may_get_more(&self) -> bool {
        !self.is_over() && !self.standing.has_lapsed
    }

    fn live_of(&self, request: &RequestType) -> u32 {
        let of_type = self.containers.values().filter(|book| book.is_live() && book.request == *request);
        of_type.count() as u32
    }

    fn unnamed(&self) -> Vec<Unnamed> {
        let has_reader = |book: &&ContainerBook| !book.is_named && book.request.request_id != MASTER_ID;
        let unnamed = self.containers.values().filter(has_reader);
        unnamed
            .map(|book| Unnamed {
                request: book.request,
                rows: book.rows.clone(),
                item: book.launch.and_then(|launch| launch.item),
            })
            .collect()
    }

    /// An answer to a call of its program names containers and ends.
    fn answer(
        &mut self,
        id: ApplicationId,
        (attempt, response_id): (u32, u64),
        containers: &[u64],
        statuses: &[u64],
    ) -> Judged {
        if (attempt, response_id) != (self.standing.attempt, self.standing.response_id + 1) {
            return refuse(Law::Lives, format!("answer {response_id} of attempt {attempt} of {id} is out of order"));
        }
        self.standing.response_id = response_id;
        self.standing.taken_in = None;
        for number in containers {
            let named = self.containers.get_mut(number).filter(|container| !container.is_named);
            let Some(named) = named else {
                return refuse(Law::Lives, format!("{id} is sent its container {number} twice, or of none"));
            };
            named.is_named = true;
            if named.state == ContainerState::Allocated {
                named.state = ContainerState::Acquired;
            }
        }
        for number in statuses {
            if self.relisted.remove(number) {
                continue;
            }
            let ended =
                self.containers.get_mut(number).filter(|container| !container.is_live() && !container.is_reported);
            let Some(ended) = ended else {
                return refuse(Law::Lives, format!("{id} is sent the end of container {number} twice, or too soon"));
            };
            ended.is_reported = true;
            self.forget_if_done(*number);
        }
        Ok(())
    }

    /// A new attempt of its program registers, and is sent what lives.
    fn list(&mut self, id: ApplicationId, attempt: u32, containers: &[u64], statuses: &[u64]) -> Judged {
        if attempt != self.standing.attempt {
            return refuse(Law::Lives, format!("attempt {attempt} of {id} registers as {}", self.standing.attempt));
        }
        for number in containers {
            if let Some(named) = self.containers.get_mut(number) {
                named.is_named = true;
            }
        }
        for number in statuses {
            match self.containers.get_mut(number) {
                Some(ended) => ended.is_reported = false,
                None => drop(self.relisted.insert(*number)),
            }
        }
        Ok(())
    }
}

impl ContainerBooks {
    pub(super) fn note_kept_room(&mut self, engine: &Engine) {
        self.kept = KeptRoom::of(engine);
        self.preemption_grace_ms = engine.inspect().preemption_grace_ms();
    }

    /// Memory, MB, and cores that were earmarked on a node before the step.
    pub(super) fn earmarked_on(&self, node: TrackerId) -> (u64, u64) {
        self.kept.earmarked_on(node)
    }

    pub(super) fn new(minimum: Capability, slot: Capability) -> Self {
        Self {
            minimum,
            slot,
            applications: BTreeMap::new(),
            on_tracker: BTreeMap::new(),
            granted: Vec::new(),
            preempted: Vec::new(),
            lapsed: BTreeSet::new(),
            has_other_ends: false,
            kept: KeptRoom::default(),
            preemption_grace_ms: 0,
            intent: ApplicationIntent::Nothing,
            rows: BTreeMap::new(),
            changes: 0,
        }
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn note_intent(&mut self, intent: ApplicationIntent) {
        self.intent = intent;
    }

    pub(super) fn is_live(&self, id: ApplicationId) -> bool {
        self.applications.get(&id).is_some_and(|book| !book.is_over())
    }

    pub(super) fn knows(&self, id: ContainerId) -> bool {
        // Of what is over nothing needs to be known.
        self.applications.get(&id.application).is_none_or(|book| book.is_over() || id.number <= book.last_number)
    }

    /// Applications that are not over, and live containers.
    pub(super) fn left(&self) -> (usize, usize) {
        let live = self.applications.values().filter(|book| !book.is_over()).count();
        (live, self.on_tracker.values().map(BTreeSet::len).sum())
    }

    pub(super) fn oldest(&self) -> Option<String> {
        let (id, book) = self.applications.iter().next()?;
        let live: Vec<u64> =
            book.containers.iter().filter(|(_, book)| book.is_live()).map(|(number, _)| *number).collect();
        Some(format!("{id} ({:?}, containers {live:?}, wants {:?})", book.standing.state, book.requests.types))
    }

    pub(super) fn cannot_launch(&self, id: ContainerId, tracker: &str, incarnation: u64) -> Option<String> {
        // An answer may have been on its way while its application ended with all containers.
        let application = self.applications.get(&id.application)?;
        let Some(book) = application.containers.get(&id.number) else {
            return (id.number > application.last_number).then(|| "it was never granted".to_owned());
        };
        let text = match () {
            () if book.launch.is_none() => "it was not launched",
            () if *book.tracker != *tracker => "it belongs to another node",
            () if book.incarnation != incarnation => "it belongs to another process",
            () => return None,
        };
        Some(text.to_owned())
    }

    /// Takes the facts of a step. Nothing is expected of the next one.
    pub(super) fn apply_step(&mut self, facts: &[Fact]) -> Judged {
        let changes: Vec<&ApplicationChange> = facts
            .iter()
            .flat_map(|fact| match fact {
                Fact::Applications(changes) => changes.as_slice(),
                _ => &[],
            })
            .collect();
        let intent = std::mem::take(&mut self.intent);
        self.granted.clear();
        self.preempted.clear();
        self.has_other_ends = false;
        if changes.is_empty() {
            return Ok(());
        }
        self.rows.clear();
        self.take_call_in(&intent, &changes)?;
        for change in &changes {
            self.apply(change, &intent)?;
        }
        self.compare_rows()?;
        let lapsed = std::mem::take(&mut self.lapsed);
        let is_free = |id: &&ApplicationId| {
            let book = self.applications.get(id);
            book.is_some_and(|book| book.may_get_more() && !book.submitted.is_unattended)
        };
        if let Some(id) = lapsed.iter().find(is_free) {
            return refuse(Law::Holding, format!("{id} has let what it was granted lapse, and may get more"));
        }
        let done: Vec<ApplicationId> = changes.iter().filter_map(|change| change.application()).collect();
        for id in done {
            let kept = self.applications.get(&id).filter(|book| book.is_over()).and_then(|book| {
                book.containers.iter().find(|(_, container)| container.is_live() && container.kill_grace_ms.is_none())
            });
            if let Some((number, _)) = kept {
                return refuse(Law::End, format!("{id} is over and keeps its container {number}"));
            }
            let is_done = self
                .applications
                .get(&id)
                .is_some_and(|book| book.is_over() && !book.containers.values().any(ContainerBook::is_live));
            if is_done {
                self.applications.remove(&id);
            }
        }
        Ok(())
    }

    /// If a call is taken in by this step, what it asks for is wanted before anything is granted.
    fn take_call_in(&mut self, intent: &ApplicationIntent, changes: &[&ApplicationChange]) -> Judged {
        let ApplicationIntent::Call(id, call, digest) = intent else { return Ok(()) };
        let Some(book) = self.applications.get_mut(id) else { return Ok(()) };
        let taken_in = changes.iter().find_map(|change| match change {
            ApplicationChange::Stands { application, standing } if application == id => standing.taken_in.as_ref(),
            _ => None,
        });
        let Some(taken_in) = taken_in.filter(|taken_in| taken_in.digest == *digest) else { return Ok(()) };
        if book.standing.taken_in.as_ref().is_some_and(|waiting| waiting.digest == *digest) {
            // It waits already, and something else of the application has changed.
            return Ok(());
        }
        if book.standing.taken_in.is_some() {
            return refuse(Law::Requests, format!("a call of {id} is taken in before the last one is answered"));
        }
        let is_unknown = |container: &&ContainerId| {
            let known = book.containers.get(&container.number).filter(|_| container.application == *id);
            // One that stands twice in one call ends with the first.
            !known.is_some_and(ContainerBook::is_live)
        };
        let unknown: Vec<ContainerId> = call.release.iter().filter(is_unknown).copied().collect();
        let is_repeated = |place: usize| call.release[..place].contains(&call.release[place]);
        let has_repeated = (0..call.release.len()).any(is_repeated);
        if !has_repeated && unknown != taken_in.unknown_releases {
            let text = format!(
                "{id} releases {unknown:?}, which are unknown, and the answer says {:?}",
                taken_in.unknown_releases
            );
            return refuse(Law::Lives, text);
        }
        let unnamed = book.unnamed();
        book.requests.ask(&call.ask, &unnamed, self.minimum);
        Ok(())
    }

    fn apply(&mut self, change: &ApplicationChange, intent: &ApplicationIntent) -> Judged {
        match change {
            ApplicationChange::Submitted { submitted, standing } => return self.submit(submitted, standing, intent),
            ApplicationChange::Container(container) => return self.follow(container),
            _ => {}
        }
        let Some(id) = change.application() else { return Ok(()) };
        let Some(book) = self.applications.get_mut(&id) else { return Ok(()) };
        match change {
            ApplicationChange::Stands { standing, .. } => {
                if book.is_over() && !standing.state.is_over() {
                    return refuse(Law::End, format!("{id} was over and is {:?}", standing.state));
                }
                book.standing = (**standing).clone();
                if book.is_over() {
                    book.requests = RequestBook::default();
                }
            }
            ApplicationChange::Blacklisted { name, is_on, .. } => {
                if *is_on {
                    book.blacklist.insert(name.clone());
                } else {
                    book.blacklist.remove(name);
                }
            }
            ApplicationChange::RowSet { request, place, count, .. } => {
                self.rows.insert((id, *request, place.clone()), *count);
            }
            ApplicationChange::TypeDropped { request, .. } => return self.drop_type(id, request, intent),
            ApplicationChange::Answered { attempt, response_id, containers, statuses, .. } => {
                return book.answer(id, (*attempt, *response_id), containers, statuses);
            }
            ApplicationChange::Listed { attempt, containers, statuses, .. } => {
                return book.list(id, *attempt, containers, statuses);
            }
            _ => {}
        }
        Ok(())
    }

    fn drop_type(&mut self, id: ApplicationId, request: &RequestType, intent: &ApplicationIntent) -> Judged {
        let Some(book) = self.applications.get_mut(&id) else { return Ok(()) };
        self.rows.retain(|(application, of_type, _), _| (*application, *of_type) != (id, *request));
        let is_registering = matches!(intent, ApplicationIntent::Registration(of) if *of == id);
        let dropped = book.requests.types.get(request);
        let is_wanted = dropped.is_some_and(|dropped| dropped.wanted() > 0);
        if is_wanted && !is_registering && !book.is_over() && !book.items.has_too_many_failures(request) {
            return refuse(Law::Requests, format!("{id} wants {request}, and nothing of it is kept"));
        }
        book.requests.types.remove(request);
        Ok(())
    }

    fn submit(
        &mut self,
        submitted: &Arc<SubmittedApplication>,
        standing: &Standing,
        intent: &ApplicationIntent,
    ) -> Judged {
        let id = submitted.id;
        let ApplicationIntent::Submission(submission) = intent else {
            return refuse(Law::Order, format!("{id} is there, and was not submitted"));
        };
        let mut requests = RequestBook::default();
        requests.ask(submission.unattended.as_deref().unwrap_or_default(), &[], self.minimum);
        if let Some(master) = &submission.master {
            requests.want_master(master_request(master.capability.rounded_up(self.minimum)));
        }
        let book = ApplicationBook {
            items: ItemBook::new(submitted.is_unattended),
            submitted: Arc::clone(submitted),
            standing: standing.clone(),
            requests,
            blacklist: BTreeSet::new(),
            containers: BTreeMap::new(),
            relisted: BTreeSet::new(),
            last_number: 0,
            master_starts: 0,
        };
        match self.applications.insert(id, book) {
            None => Ok(()),
            Some(_) => refuse(Law::Order, format!("{id} is submitted twice")),
        }
    }

    /// A container is new, or moves on.
    fn follow(&mut self, container: &Container) -> Judged {
        let (id, tracker) = (container.id, Arc::clone(&container.node.tracker));
        let Some(book) = self.applications.get_mut(&id.application) else {
            return refuse(Law::Order, format!("{id} belongs to no application"));
        };
        match book.containers.get_mut(&id.number) {
            None => {
                book.grant(container)?;
                self.changes += 1;
                self.granted.push(container.clone());
                self.on_tracker.entry(tracker).or_default().insert(id);
            }
            Some(known) => {
                let before_ms = known.kill_grace_ms;
                known.advance(container).map_err(|text| (Law::Lives, text))?;
                let exit = container.kill.as_ref().map(|kill| kill.exit).or(known.exit);
                let is_preempted = container.kill.as_ref().is_some_and(|kill| kill.is_preemption);
                let is_cut = before_ms.is_some_and(|before_ms| before_ms > self.preemption_grace_ms)
                    && is_preempted
                    && known.is_live()
                    && known.kill_grace_ms.is_some_and(|now_ms| now_ms <= self.preemption_grace_ms);
                if is_cut || before_ms.is_none() && exit == Some(ContainerExit::PREEMPTED) {
                    self.preempted.push(id);
                } else if known.kill_grace_ms != before_ms || !known.is_live() {
                    self.has_other_ends = true;
                }
                if !known.is_live() {
                    if container.end.as_ref().is_some_and(|end| end.diagnostics.starts_with(LAPSED)) {
                        self.lapsed.insert(id.application);
                    }
                    if let Some(here) = self.on_tracker.get_mut(&tracker) {
                        here.remove(&id);
                        if here.is_empty() {
                            self.on_tracker.remove(&tracker);
                        }
                    }
                    book.settle(id.number);
                    book.forget_if_done(id.number);
                    self.changes += 1;
                }
            }
        }
        Ok(())
    }

    fn compare_rows(&self) -> Judged {
        for ((id, request, place), count) in &self.rows {
            let Some(book) = self.applications.get(id).filter(|book| !book.is_over()) else { continue };
            let known = book.requests.types.get(request).and_then(|book| book.row(place)).map(|row| row.count);
            if known != Some(*count) {
                let text =
                    format!("{id} wants {known:?} of {request} at {place:?} by the books, and {count} by the facts");
                return refuse(Law::Requests, text);
            }
        }
        Ok(())
    }

    pub(super) fn compare(&self, engine: &Engine) -> Result<(), String> {
        let (_, live) = self.left();
        let ids = self.on_tracker.values().flatten();
        let held: u64 = ids
            .filter_map(|id| self.container(*id))
            .map(|book| u64::from(book.request.capability.slots(self.slot)))
            .sum();
        let totals = engine.inspect().scheduler().totals();
        let (running, counted) = (totals.running.container, totals.held.container);
        if (running, counted) == (live as u64, held) {
            return Ok(());
        }
        Err(format!("{live} containers of {held} slots live by the facts, {running} of {counted} by the engine"))
    }

    fn container(&self, id: ContainerId) -> Option<&ContainerBook> {
        self.applications.get(&id.application)?.containers.get(&id.number)
    }
}

impl ApplicationBook {
    fn grant(&mut self, container: &Container) -> Judged {
        let (id, request) = (container.id, container.request);
        let text = |what: &str| format!("{id} is granted, but {what}");
        if self.is_over() {
            return refuse(Law::End, text("its application is over"));
        }
        if self.standing.has_lapsed {
            return refuse(Law::Requests, text("its application let the last ones lapse and has not called since"));
        }
        if id.number <= self.last_number || id.attempt != self.standing.attempt {
            return refuse(Law::Lives, text("its number is not the next"));
        }
        let site = Site { host: &container.node.host, rack: &container.node.rack };
        if self.blacklist.contains(site.host) || self.blacklist.contains(site.rack) {
            return refuse(Law::Requests, text("its node is on the blacklist"));
        }
        let strict_gates = self.submitted.strict_gates;
        let Some(book) = self.requests.types.get(&request) else {
            return refuse(Law::Requests, text("nothing of its type is wanted"));
        };
        if book.grantable(self.live_of(&request)) == 0 {
            return refuse(Law::Requests, text("no more of its type is wanted, or may run"));
        }
        if let Some(wrong) = book.wrong_grant(site, container.locality, container.lowered, strict_gates) {
            return refuse(Law::Requests, text(&wrong));
        }
        let earlier = self.requests.types.range(..request);
        let mut first = earlier
            .filter(|(other, book)| book.grantable(self.live_of(other)) > 0 && book.is_possible(site, strict_gates));
        if let Some((other, _)) = first.next() {
            return refuse(Law::Requests, text(&format!("{other} comes first on its node")));
        }
        let granted = ContainerBook::granted(container);
        let Some(book) = self.requests.types.get_mut(&request) else { return Ok(()) };
        book.lower(&granted.rows);
        self.items.take(request, book, granted.launch).map_err(|what| (Law::Lives, text(&what)))?;
        self.last_number = id.number;
        self.containers.insert(id.number, granted);
        Ok(())
    }

    /// Drops a container that is complete once nothing is to be said of it.
    fn forget_if_done(&mut self, number: u64) {
        let has_reader = !self.submitted.is_unattended;
        let is_done = |book: &ContainerBook| !book.is_live() && (!has_reader || book.is_named && book.is_reported);
        if self.containers.get(&number).is_some_and(is_done) {
            self.containers.remove(&number);
        }
    }

    fn settle(&mut self, number: u64) {
        let Some(ended) = self.containers.get(&number) else { return };
        let (request, launch, Some(exit)) = (ended.request, ended.launch, ended.exit) else { return };
        if self.is_over() {
            return;
        }
        if request.request_id == MASTER_ID {
            self.master_starts += 1;
            if self.submitted.master.is_some_and(|master| self.master_starts < master.max_attempts) {
                self.requests.want_master(request);
            }
            return;
        }
        if let Some(launch) = launch {
            self.items.settle(request, self.requests.types.get_mut(&request), launch, exit);
        }
    }
}

fn master_request(capability: Capability) -> RequestType {
    RequestType { priority: 0, request_id: MASTER_ID, capability }
}

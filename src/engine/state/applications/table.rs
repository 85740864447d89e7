//! All applications, the workers of their containers, and what has changed in this step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::ContextId;
use crate::api::applications::{ApplicationState, Placement};
use crate::market::{
    Consumer, ContainerUse, EVERYONE, ForgottenStamps, GivenBack, GraceStep, LaidCharge, MarketConfig, ReplayGuard,
    Signature, SlotHolder, Tick,
};
use crate::model::{ApplicationId, ContainerId, ContainerSettings, Credits, FactNumber, Now, TrackerId, Violations};
use crate::scheduler::AppId;

use super::application::Application;
use super::change::ApplicationChange;
use super::container::{Container, ContainerCost, ContainerStep};
use super::container_counts::{QueueContainerCounts, held_slots};
use super::lapses::{Lapses, StoreDoubt};
use super::live_bytes::LiveBytes;
use super::record::Standing;
use super::refusal::ApplicationRefusal;
use super::row_page::CachedReport;
use super::settings::UNUSED_ID_MS;
use super::tallies::ApplicationTallies;
use super::worker::ContainerWorker;

#[derive(Debug)]
pub(crate) struct Applications {
    pub(crate) settings: ContainerSettings,
    /// Epoch ms in the ids of this run.
    pub(super) start_ms: u64,
    pub(super) last_number: u32,
    pub(super) all: BTreeMap<ApplicationId, Application>,
    /// Those that are over, oldest end first, once nothing of them lives.
    pub(super) over: BTreeSet<(i64, ApplicationId)>,
    pub(crate) last_report: Option<CachedReport>,
    /// Ids that were given out and not used: their owners, and until when they are good, ms of the monotonic clock.
    pub(super) unused: BTreeMap<ApplicationId, (Arc<str>, u64)>,
    pub(super) stamps: ReplayGuard,
    pub(super) workers: BTreeMap<Arc<str>, ContainerWorker>,
    /// Live containers by the names of their trackers.
    pub(super) on_tracker: BTreeMap<Arc<str>, BTreeSet<ContainerId>>,
    /// Memory of those that are not over.
    pub(super) live_bytes: LiveBytes,
    pub(super) container_counts: QueueContainerCounts,
    /// The workers that were sent a context that is still there.
    pub(super) context_holders: BTreeMap<ContextId, BTreeSet<Arc<str>>>,
    pub(super) worker_names: BTreeMap<TrackerId, Arc<str>>,
    /// The nodes of live containers in the scheduler; those that are not back after a restart have none.
    pub(super) placed: BTreeMap<ContainerId, TrackerId>,
    /// When containers must be launched, ms of the monotonic clock.
    pub(super) launch_due: BTreeSet<(u64, ContainerId)>,
    /// When applications have been silent for too long, ms of the monotonic clock.
    pub(super) silent_at: BTreeMap<ApplicationId, u64>,
    pub(super) silence_due: BTreeSet<(u64, ApplicationId)>,
    /// When containers that are not launched were granted, ms of the monotonic clock, in this run of the daemon.
    pub(super) unlaunched_since: BTreeMap<ContainerId, u64>,
    /// Containers that ended in this step without having been launched.
    pub(super) given_back: Vec<GivenBack>,
    /// Graces of preempted containers that have begun or ended since they were asked for.
    pub(super) grace_steps: Vec<GraceStep>,
    /// When programs have called, and when what they have not launched lapses.
    pub(super) lapses: Lapses,
    pub(crate) tallies: ApplicationTallies,
    /// Why nothing is too late now.
    pub(super) doubt: Option<StoreDoubt>,
    pub(super) changes: Vec<ApplicationChange>,
    /// How many of them the scheduler knows.
    pub(super) passed_on: usize,
    /// The last fact before this run: the version of what has not changed since.
    pub(super) base_version: FactNumber,
    /// The fact that holds the last change of each application.
    pub(super) versions: BTreeMap<ApplicationId, FactNumber>,
    apps: BTreeMap<ApplicationId, AppId>,
    of_app: BTreeMap<AppId, ApplicationId>,
    /// Applications that have something to say since the last step.
    pub(super) news: BTreeSet<ApplicationId>,
    /// Trackers whose workers have something to do since the last step.
    pub(super) worker_news: BTreeSet<Arc<str>>,
    pub(super) violations: Violations,
}

impl Applications {
    /// None yet. Ids carry `start_ms`, epoch ms, which no earlier run has used; `last_fact` is the last one of those.
    pub(crate) fn new(settings: ContainerSettings, start_ms: u64, last_fact: FactNumber) -> Self {
        Self {
            settings,
            start_ms,
            last_number: 0,
            all: BTreeMap::new(),
            over: BTreeSet::new(),
            last_report: None,
            unused: BTreeMap::new(),
            stamps: ReplayGuard::new(i64::try_from(start_ms).unwrap_or(i64::MAX)),
            workers: BTreeMap::new(),
            on_tracker: BTreeMap::new(),
            live_bytes: LiveBytes::default(),
            container_counts: QueueContainerCounts::default(),
            context_holders: BTreeMap::new(),
            worker_names: BTreeMap::new(),
            placed: BTreeMap::new(),
            launch_due: BTreeSet::new(),
            silent_at: BTreeMap::new(),
            silence_due: BTreeSet::new(),
            unlaunched_since: BTreeMap::new(),
            given_back: Vec::new(),
            grace_steps: Vec::new(),
            lapses: Lapses::default(),
            tallies: ApplicationTallies::default(),
            doubt: None,
            changes: Vec::new(),
            passed_on: 0,
            base_version: last_fact,
            versions: BTreeMap::new(),
            apps: BTreeMap::new(),
            of_app: BTreeMap::new(),
            news: BTreeSet::new(),
            worker_news: BTreeSet::new(),
            violations: Violations::default(),
        }
    }

    /// Makes a change, which becomes part of this step's fact.
    pub(super) fn change(&mut self, change: ApplicationChange) {
        self.apply(&change);
        self.changes.push(change);
    }

    /// Applies a change: the only way in which what is stored changes.
    pub(crate) fn apply(&mut self, change: &ApplicationChange) {
        self.count(change);
        match change {
            ApplicationChange::Stamped(stamp) => self.stamps.apply(stamp),
            ApplicationChange::StampsForgotten(forgotten) => self.stamps.forget(forgotten),
            ApplicationChange::Submitted { submitted, standing } => {
                let application = Application::new(Arc::clone(submitted), (**standing).clone());
                self.live_bytes.add(&submitted.user, application.live_bytes());
                self.all.insert(submitted.id, application);
            }
            ApplicationChange::Container(container) => self.place_container(container),
            ApplicationChange::ContextDropped { application, number } => {
                self.drop_context(ContextId { application: *application, number: *number });
            }
            _ => {}
        }
        let Some(id) = change.application() else { return };
        let Some(application) = self.all.get_mut(&id) else { return };
        let slot = self.settings.slot;
        let counted = |application: &Application| match change {
            ApplicationChange::Container(container) => {
                application.containers.get(&container.id.number).and_then(|container| held_slots(container, slot))
            }
            _ => None,
        };
        let is_turned = matches!(change, ApplicationChange::Stands { standing, .. }
            if standing.has_lapsed != application.standing.has_lapsed);
        let wanted = |application: &Application| match change {
            _ if application.standing.has_lapsed => 0,
            ApplicationChange::RowSet { request, place: Placement::Any, .. }
            | ApplicationChange::TypeDropped { request, .. } => {
                application.tables.get(request).map_or(0, |table| u64::from(table.outstanding()))
            }
            _ if is_turned => application.outstanding(),
            _ => 0,
        };
        let (counted_before, wanted_before) = (counted(application), wanted(application));
        let (live_before, part_before) = (application.live_bytes(), application.part_bytes(change));
        application.apply(change);
        let bytes = application.counts.bytes.saturating_add(application.part_bytes(change));
        application.counts.bytes = bytes.saturating_sub(part_before);
        let live_bytes = application.live_bytes();
        let (counted, wanted) = (counted(application), wanted(application));
        let of = &application.submitted;
        self.container_counts.change(of, counted_before, counted, &mut self.violations);
        self.container_counts.change_wanted(of, wanted_before, wanted, &mut self.violations);
        self.live_bytes.add(&of.user, live_bytes.saturating_sub(live_before));
        self.live_bytes.remove(&of.user, live_before.saturating_sub(live_bytes), &mut self.violations);
        if application.is_over() && application.counts.live.is_empty() {
            self.over.insert((application.standing.finished_ms.unwrap_or_default(), id));
        }
    }

    fn count(&mut self, change: &ApplicationChange) {
        match change {
            ApplicationChange::Submitted { standing, .. } => {
                self.tallies.submitted += 1;
                self.tallies.count_state(None, standing.outcome());
            }
            ApplicationChange::Stands { application, standing } => {
                let before = self.all.get(application).map(|before| before.standing.outcome());
                self.tallies.count_state(before, standing.outcome());
            }
            ApplicationChange::Container(container) => {
                let of_application = self.all.get(&container.id.application);
                let before = of_application.and_then(|known| known.containers.get(&container.id.number));
                self.tallies.granted += u64::from(before.is_none());
                self.tallies.count_container(before, container);
            }
            _ => {}
        }
    }

    fn drop_context(&mut self, id: ContextId) {
        for tracker in self.context_holders.remove(&id).into_iter().flatten() {
            if let Some(worker) = self.workers.get_mut(&tracker) {
                worker.contexts.remove(&id);
                worker.dropped_contexts.insert(id);
            }
        }
    }

    fn place_container(&mut self, container: &Container) {
        let tracker = &container.node.tracker;
        if let Some(worker) = self.workers.get_mut(tracker) {
            worker.note_what_is_owed(container);
        }
        if container.is_live() {
            self.on_tracker.entry(Arc::clone(tracker)).or_default().insert(container.id);
        } else if let Some(here) = self.on_tracker.get_mut(tracker) {
            here.remove(&container.id);
            if here.is_empty() {
                self.on_tracker.remove(tracker);
            }
        }
    }

    /// Takes the changes of this step; `fact` is the number of the fact that holds them.
    pub(crate) fn take_changes(&mut self, fact: FactNumber) -> Vec<ApplicationChange> {
        let reported = self.changes.iter().filter(|change| change.is_reported());
        for application in reported.filter_map(ApplicationChange::application) {
            self.versions.insert(application, fact);
            self.news.insert(application);
        }
        self.passed_on = 0;
        std::mem::take(&mut self.changes)
    }

    /// Takes the changes of this step that the scheduler does not know; [`Self::passed_on`] gives them back.
    pub(crate) fn pass_on(&mut self) -> Vec<ApplicationChange> {
        self.changes.split_off(self.passed_on.min(self.changes.len()))
    }

    /// The scheduler knows these changes from now on.
    pub(crate) fn passed_on(&mut self, changes: Vec<ApplicationChange>) {
        self.changes.extend(changes);
        self.passed_on = self.changes.len();
    }

    /// The scheduler knows all changes of this step: it made them.
    pub(crate) fn mark_passed_on(&mut self) {
        self.passed_on = self.changes.len();
    }

    /// Takes the node that a container was placed on; none: it never was, in this run.
    pub(crate) fn take_place(&mut self, container: ContainerId) -> Option<TrackerId> {
        self.placed.remove(&container)
    }

    /// Containers of a tracker that were restored and have no node in the scheduler. They have this one from now on.
    pub(crate) fn place_restored(&mut self, tracker: &str, node: TrackerId) -> Vec<ContainerId> {
        let here = self.on_tracker.get(tracker).into_iter().flatten().copied();
        let restored: Vec<ContainerId> = here.filter(|id| !self.placed.contains_key(id)).collect();
        self.placed.extend(restored.iter().map(|id| (*id, node)));
        restored
    }

    /// A worker that has sent a whole list, by its tracker's name.
    pub(crate) fn worker(&self, tracker: &str) -> Option<&ContainerWorker> {
        self.workers.get(tracker)
    }

    /// Memory and cores of all workers together, MB, and their number.
    pub(crate) fn declared(&self) -> (u64, u64, u64) {
        self.workers.values().fold((0, 0, 0), |(memory_mb, vcores, workers), worker| {
            let capability = worker.capability;
            (memory_mb + u64::from(capability.memory_mb), vcores + u64::from(capability.vcores), workers + 1)
        })
    }

    pub(crate) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Takes the graces of preempted containers that have begun or ended since the last call.
    pub(crate) fn take_grace_steps(&mut self) -> Vec<GraceStep> {
        std::mem::take(&mut self.grace_steps)
    }

    /// The containers of an application that are in their grace since they were preempted.
    pub(crate) fn graces_of(&self, holder: SlotHolder) -> impl Iterator<Item = GraceStep> {
        let application = match holder {
            SlotHolder::Application(application) => self.get(application),
            SlotHolder::Job(_) => None,
        };
        let live = application.into_iter().flat_map(|application| application.live());
        live.filter(|container| container.is_in_grace()).map(|container| container.grace_step(self.settings.slot))
    }

    /// Takes the containers that have ended without having been launched.
    pub(crate) fn take_given_back(&mut self) -> Vec<GivenBack> {
        std::mem::take(&mut self.given_back)
    }

    pub(crate) fn take_news(&mut self) -> BTreeSet<ApplicationId> {
        std::mem::take(&mut self.news)
    }

    pub(crate) fn take_worker_news(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.worker_news)
    }

    /// Moves the invariants found broken since the last call to `violations`.
    pub(crate) fn report_violations(&mut self, violations: &mut Violations) {
        violations.append(&mut self.violations);
    }

    /// Compares the counts of queues' containers with a recount of all applications.
    pub(crate) fn check_container_counts(&self, violations: &mut Violations) {
        let recounted = QueueContainerCounts::recounted(self.all.values(), self.settings.slot);
        violations.check(self.container_counts == recounted, || {
            format!("containers of queues are counted as {:?}, they are {recounted:?}", self.container_counts)
        });
    }

    /// Forgets the oldest applications that are over, beyond those that are kept, each once nothing of it is still to be charged.
    pub(crate) fn forget_oldest_over(&mut self, may_be_charged: impl Fn(ApplicationId) -> bool) {
        while self.over.len() > self.settings.over_kept {
            let Some(&(finished_ms, id)) = self.over.first() else { return };
            if may_be_charged(id) {
                return;
            }
            self.over.remove(&(finished_ms, id));
            self.all.remove(&id);
            self.versions.remove(&id);
            self.stamps.remove_user(Consumer::Secret, &id.to_string());
        }
    }

    /// Epoch ms in the ids of this run.
    pub(crate) fn start_ms(&self) -> u64 {
        self.start_ms
    }

    pub(crate) fn enter_app(&mut self, application: ApplicationId, app: AppId) {
        self.apps.insert(application, app);
        self.of_app.insert(app, application);
    }

    pub(crate) fn app(&self, application: ApplicationId) -> Option<AppId> {
        self.apps.get(&application).copied()
    }

    pub(crate) fn of_app(&self, app: AppId) -> Option<ApplicationId> {
        self.of_app.get(&app).copied()
    }

    pub(crate) fn leave_app(&mut self, application: ApplicationId) -> Option<AppId> {
        let app = self.apps.remove(&application)?;
        self.of_app.remove(&app);
        Some(app)
    }

    pub(crate) fn get(&self, id: ApplicationId) -> Option<&Application> {
        self.all.get(&id)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Application> {
        self.all.values()
    }

    pub(super) fn known(&self, id: ApplicationId) -> Result<&Application, ApplicationRefusal> {
        self.all.get(&id).ok_or(ApplicationRefusal::NoSuchApplication(id))
    }

    pub(super) fn unfinished(&self, id: ApplicationId) -> Result<&Application, ApplicationRefusal> {
        let application = self.known(id)?;
        if application.is_over() {
            return Err(ApplicationRefusal::ApplicationOver { application: id, state: application.standing.state });
        }
        Ok(application)
    }

    pub(crate) fn container(&self, id: ContainerId) -> Option<&Container> {
        self.all.get(&id.application)?.containers.get(&id.number).filter(|container| container.id == id)
    }

    /// Whether a worker may have a container: it is launched there, by this process, and not complete.
    pub(super) fn is_here(&self, id: ContainerId, tracker: &str, incarnation: u64) -> bool {
        self.container(id).is_some_and(|container| {
            container.is_launched() && *container.node.tracker == *tracker && container.node.incarnation == incarnation
        })
    }

    pub(crate) fn version(&self, id: ApplicationId) -> u64 {
        self.versions.get(&id).unwrap_or(&self.base_version).0
    }

    /// Makes a step of a container. Returns the container after it; none: it was further already.
    pub(super) fn step_container(&mut self, id: ContainerId, step: ContainerStep) -> Option<Container> {
        let before = self.container(id)?;
        let (was_in_grace, next) = (before.is_in_grace(), before.after(step)?);
        if next.is_in_grace() != was_in_grace {
            self.grace_steps.push(next.grace_step(self.settings.slot));
        }
        self.change(ApplicationChange::Container(Box::new(next.clone())));
        Some(next)
    }

    pub(super) fn restand(&mut self, id: ApplicationId, change: impl FnOnce(&mut Standing)) {
        let Some(application) = self.all.get(&id) else { return };
        let mut standing = Box::new(application.standing.clone());
        change(&mut standing);
        if *standing != application.standing {
            self.change(ApplicationChange::Stands { application: id, standing });
        }
    }

    pub(crate) fn new_id(&mut self, user: &Arc<str>, now: Now) -> Result<ApplicationId, ApplicationRefusal> {
        self.unused.retain(|_, (_, until_ms)| *until_ms > now.mono_ms);
        let of_user = self.unused.values().filter(|(owner, _)| owner == user).count();
        if of_user >= super::settings::MAX_UNUSED_IDS {
            let limit = super::settings::MAX_UNUSED_IDS;
            return Err(ApplicationRefusal::TooMany(format!(
                "{user} has {limit} application ids that are not used, which is the limit"
            )));
        }
        self.last_number = self.last_number.saturating_add(1);
        let id = ApplicationId::new(self.start_ms, self.last_number);
        self.unused.insert(id, (Arc::clone(user), now.mono_ms.saturating_add(UNUSED_ID_MS)));
        let until_ms = now.wall_ms.saturating_add_unsigned(UNUSED_ID_MS);
        self.change(ApplicationChange::IdGiven { application: id, user: Arc::clone(user), until_ms });
        Ok(id)
    }

    /// An id that an earlier run has given out is good for what is left of its time, which ends at `until_ms`, epoch ms.
    pub(crate) fn restore_id(&mut self, id: ApplicationId, user: Arc<str>, until_ms: i64, now: Now) {
        let left_ms = until_ms.saturating_sub(now.wall_ms).max(0).cast_unsigned().min(UNUSED_ID_MS);
        if left_ms > 0 {
            self.unused.insert(id, (user, now.mono_ms.saturating_add(left_ms)));
        }
    }

    /// Uses a signature of a user or an application. An application that is not in memory is over: its requests change
    /// nothing, so what it has used is not kept.
    pub(crate) fn use_signature(&mut self, signature: &Signature<'_>, now: Now) -> Result<(), ApplicationRefusal> {
        let config = MarketConfig { signature_window_ms: self.settings.signature_window_ms, ..MarketConfig::default() };
        let stamp = self
            .stamps
            .check(signature, now.wall_ms, &config)
            .map_err(|refusal| ApplicationRefusal::Timestamp { refusal, server_time_ms: now.wall_ms })?;
        if signature.consumer == Consumer::Secret && !self.has(signature.user) {
            return Ok(());
        }
        self.change(ApplicationChange::Stamped(stamp));
        if let Some(forgotten) = self.stamps.next_to_forget(signature, now.wall_ms, &config) {
            self.change(ApplicationChange::StampsForgotten(forgotten));
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        name.parse().is_ok_and(|id| self.all.contains_key(&id))
    }

    /// Accepts nothing that was signed before now: what was used of it is lost.
    pub(crate) fn forget_lost_signatures(&mut self, now: Now) {
        for consumer in [Consumer::Application, Consumer::Secret] {
            self.change(ApplicationChange::StampsForgotten(ForgottenStamps::of_everyone(consumer, now.wall_ms)));
        }
    }

    /// Restores what was used, or forgotten, before this run; after the applications.
    pub(crate) fn restore_stamps(&mut self, stamp: &ApplicationChange) {
        let (consumer, user) = match stamp {
            ApplicationChange::Stamped(stamp) => (stamp.consumer, &stamp.user),
            ApplicationChange::StampsForgotten(forgotten) => (forgotten.consumer, &forgotten.user),
            _ => return,
        };
        if consumer != Consumer::Secret || user == EVERYONE || self.has(user) {
            self.apply(stamp);
        }
    }

    pub(super) fn hear(&mut self, application: ApplicationId, now: Now) {
        self.hear_until(application, now.mono_ms);
    }

    /// Marks an application as alive until a time of the monotonic clock, ms: a call of it may wait that long.
    pub(super) fn hear_until(&mut self, application: ApplicationId, mono_ms: u64) {
        let Some(calling) = self.all.get(&application).filter(|calling| !calling.is_over() && calling.has_program())
        else {
            return;
        };
        // A master in a container that has not registered is started again when it ends.
        if calling.submitted.master.is_some() && calling.standing.state == ApplicationState::Accepted {
            return;
        }
        let due_ms = mono_ms.saturating_add(calling.submitted.expiry_ms);
        self.forget_silence(application);
        self.silent_at.insert(application, due_ms);
        self.silence_due.insert((due_ms, application));
    }

    pub(super) fn forget_silence(&mut self, application: ApplicationId) {
        if let Some(due_ms) = self.silent_at.remove(&application) {
            self.silence_due.remove(&(due_ms, application));
        }
    }

    pub(crate) fn containers_of_queue(&self, queue: &str) -> ContainerUse {
        self.container_counts.of_queue(queue)
    }

    /// Adds what a tick has laid on applications. Invariant: with the costs of the queue's jobs that sums to what it was charged, exactly.
    pub(crate) fn charge(&mut self, tick: &Tick) {
        for LaidCharge { holder, slot_ms, amount } in &tick.laid {
            let SlotHolder::Application(application) = *holder else { continue };
            let before = self.all.get(&application).map(|charged| charged.cost);
            self.violations.check(before.is_some(), || format!("{application} pays {amount} and is not known"));
            let Some(before) = before else { continue };
            // No overflow: no application costs more than its queue ever had, far below the range.
            let cost = Credits::from_units(before.cost.units() + amount.units());
            let slot_ms = before.slot_ms.saturating_add(slot_ms.container);
            let cost = ContainerCost { tick: tick.number, slot_ms, cost, ..before };
            self.change(ApplicationChange::Charged { application, cost });
        }
    }
}

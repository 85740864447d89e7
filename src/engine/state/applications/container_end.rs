//! Containers from their grant to their end: a grant comes to a node, and starts there at once if its request says so; what
//! follows from a kill or an end: for its item, its context, its master, its application.

use std::sync::Arc;

use crate::api::ContainerEnd;
use crate::api::applications::{ApplicationState, ContainerState, FinalStatus, ItemRules, Locality, Placement};
use crate::market::{GivenBack, SlotHolder};
use crate::model::{ApplicationId, ContainerExit, ContainerId, Credits, LaunchContext, Now};
use crate::scheduler::{ContainerGrant, RequestType, rack_path};

use super::change::ApplicationChange;
use super::container::{Container, ContainerNode, ContainerStep, Kill, Launched, LoweredRows};
use super::record::{
    GrantedContext, ItemStanding, ItemTrouble, RequestRow, TypeLaunch, WITHOUT_ITEM, is_master, master_request,
};
use super::table::Applications;
use super::worker::ContainerWorker;

impl Applications {
    /// Kills a container: at once where its worker has nothing of it, else by its worker.
    pub(super) fn kill_container(&mut self, id: ContainerId, kill: Kill, now: Now) {
        let Some(container) = self.container(id).filter(|container| container.is_live()) else { return };
        let worker = self.workers.get(&container.node.tracker);
        // After a restart nothing is known of what was sent, until the worker has listed what it has.
        let was_never_sent = worker.is_some_and(|worker| !worker.sent.contains(&id) && !worker.has.contains(&id));
        if container.waits_for_launch() || was_never_sent {
            self.end_without_report(id, kill.exit, kill.diagnostics, now);
            return;
        }
        if let Some(killed) = self.step_container(id, ContainerStep::Kill(kill)) {
            self.owe(&killed.node.tracker);
        }
    }

    /// Takes a container from its application for a queue that has bought what it holds: at once where it was never
    /// launched, else after its grace, `most_ms` at most.
    pub(crate) fn preempt_container(&mut self, id: ContainerId, why: &str, most_ms: u64, now: Now) {
        let (exit, grace_ms) = (ContainerExit::PREEMPTED, self.grace_ms(id).min(most_ms));
        let kill = Kill { is_preemption: true, ..Kill::new(exit, why.to_owned(), grace_ms) };
        self.kill_container(id, kill, now);
    }

    pub(super) fn end_without_report(&mut self, id: ContainerId, exit: ContainerExit, diagnostics: String, now: Now) {
        let ended_ms = now.wall_ms;
        let end = ContainerEnd { exit, diagnostics, started_ms: None, ended_ms, peak_memory_mb: 0, cpu_ms: 0 };
        self.end_container(id, end, now);
    }

    /// Ends a container; one that is complete stays as it is.
    pub(super) fn end_container(&mut self, id: ContainerId, end: ContainerEnd, now: Now) {
        let Some(ended) = self.step_container(id, ContainerStep::Ended(end)) else { return };
        if let Some(worker) = self.workers.get_mut(&ended.node.tracker) {
            worker.has.remove(&id);
            worker.sent.remove(&id);
            worker.container_use.remove(&id);
        }
        let application = id.application;
        if let Some(since_ms) = self.unlaunched_since.remove(&id) {
            let slots = ended.request.capability.slots(self.settings.slot);
            let held_ms = now.mono_ms.saturating_sub(since_ms);
            self.given_back.push(GivenBack { holder: SlotHolder::Application(application), slots, held_ms });
        }
        self.settle_item(&ended, now);
        if let Some(launch) = ended.launch {
            self.drop_unneeded_context(application, launch.context);
        }
        if is_master(ended.request) {
            self.settle_master(application, &ended, now);
        }
        self.end_if_done(application, now);
        self.settle_when_over(application);
    }

    /// What becomes of the item of a container that ended.
    fn settle_item(&mut self, ended: &Container, now: Now) {
        let (application, request) = (ended.id.application, ended.request);
        let Some(running) = self.all.get(&application).filter(|running| !running.is_over()) else { return };
        if is_master(request) || ended.launch.is_none() {
            return;
        }
        let launch = running.tables.get(&request).and_then(|table| table.launch.as_ref());
        let retries = launch.filter(|_| running.submitted.is_unattended);
        let item = ended.item().unwrap_or(WITHOUT_ITEM);
        if item == WITHOUT_ITEM && !running.submitted.is_unattended {
            return;
        }
        let before = running.troubles.get(&request).and_then(|items| items.get(&item)).copied();
        let mut trouble = before.unwrap_or(ItemTrouble { failures: 0, faultless: 0, standing: ItemStanding::Held });
        let exit = ended.exit();
        if exit == ContainerExit::SUCCESS {
            if before.is_some() && item != WITHOUT_ITEM {
                self.change(ApplicationChange::ItemTroubled { application, request, item, trouble: None });
            }
            return;
        }
        let comes_again = if exit.is_own_fault() {
            trouble.failures += 1;
            let most = retries.and_then(|launch| launch.rules.max_attempts).unwrap_or(1);
            retries.is_some() && item != WITHOUT_ITEM && trouble.failures < most
        } else {
            // As often as it takes: their times are apart, since workers rest that cannot start what they get.
            trouble.faultless = trouble.faultless.saturating_add(1);
            retries.is_some()
        };
        let is_final = exit.is_own_fault() || running.submitted.is_unattended;
        if !comes_again && !is_final {
            return;
        }
        let was_failed = trouble.standing == ItemStanding::Failed;
        trouble.standing = match (comes_again, item) {
            (true, WITHOUT_ITEM) => trouble.standing,
            (true, _) => ItemStanding::Waits(running.next_turn(request)),
            // What was dropped with the rest has not failed.
            (false, _) if !exit.is_own_fault() && retries.is_none() => return,
            (false, _) => ItemStanding::Failed,
        };
        let max_fails = retries.and_then(|launch| launch.rules.max_fails);
        let row = running.tables.get(&request).and_then(|table| table.rows.get(&Placement::Any)).copied();
        self.change(ApplicationChange::ItemTroubled { application, request, item, trouble: Some(trouble) });
        if comes_again {
            let count = row.map_or(0, |row| row.count).saturating_add(1);
            let (place, relaxes) = (Placement::Any, row.is_none_or(|row| row.relaxes));
            self.change(ApplicationChange::RowSet { application, request, place, count, relaxes });
        }
        let has_failed = trouble.standing == ItemStanding::Failed && (!was_failed || item == WITHOUT_ITEM);
        if let Some(max_fails) = max_fails.filter(|_| has_failed) {
            self.drop_after_failures(application, request, max_fails, now);
        }
    }

    /// Drops and kills what is left of a type once more of it has failed than it allows.
    fn drop_after_failures(&mut self, application: ApplicationId, request: RequestType, max_fails: u32, now: Now) {
        let Some(running) = self.all.get(&application) else { return };
        let without_item = running.troubles.get(&request).and_then(|items| items.get(&WITHOUT_ITEM));
        let failed =
            running.failed_items(request).count() + without_item.map_or(0, |trouble| trouble.failures as usize);
        if failed <= max_fails as usize {
            return;
        }
        let waiting: Vec<u32> =
            running.counts.waiting.get(&request).into_iter().flatten().map(|(_, item)| *item).collect();
        let live: Vec<ContainerId> =
            running.live().filter(|container| container.request == request).map(|container| container.id).collect();
        for item in waiting {
            self.change(ApplicationChange::ItemTroubled { application, request, item, trouble: None });
        }
        self.change(ApplicationChange::TypeDropped { application, request });
        for id in live {
            let diagnostics = format!("more than {max_fails} of its application's items have failed");
            let grace_ms = self.grace_ms(id);
            let kill = Kill::new(ContainerExit::KILLED_AFTER_APPLICATION, diagnostics, grace_ms);
            self.kill_container(id, kill, now);
        }
    }

    pub(super) fn ask_for_master(&mut self, application: ApplicationId) {
        let Some(master) = self.all.get(&application).and_then(|asking| asking.submitted.master) else { return };
        let request = master_request(master.capability);
        let rules = ItemRules::default();
        let launch = TypeLaunch { source: GrantedContext::Master, items: None, max_running: Some(1), rules };
        self.change(ApplicationChange::LaunchSet { application, request, launch: Some(Box::new(launch)) });
        let place = Placement::Any;
        self.change(ApplicationChange::RowSet { application, request, place, count: 1, relaxes: true });
    }

    /// A master has ended before its application: another one is started, as often as it may be.
    fn settle_master(&mut self, application: ApplicationId, ended: &Container, now: Now) {
        let Some(running) = self.all.get(&application).filter(|running| !running.is_over()) else { return };
        let Some(master) = running.submitted.master else { return };
        let starts = running.standing.master_starts.saturating_add(1);
        self.restand(application, |standing| standing.master_starts = starts);
        if starts < master.max_attempts {
            self.ask_for_master(application);
            return;
        }
        let why = ended.end.as_ref().map(|end| end.diagnostics.as_str()).unwrap_or_default();
        let diagnostics = format!("its master ended {starts} times, last with exit status {}: {why}", ended.exit().0);
        let end = ApplicationEnd {
            state: ApplicationState::Failed,
            final_status: FinalStatus::Failed,
            diagnostics,
            is_by_owner: false,
        };
        self.finish(application, end, ContainerExit::KILLED_AFTER_APPLICATION, now);
    }

    pub(super) fn end_if_done(&mut self, application: ApplicationId, now: Now) {
        let Some(running) = self.all.get(&application) else { return };
        let is_done = running.outstanding() == 0 && running.counts.live.is_empty();
        if !running.submitted.is_unattended || running.is_over() || !is_done {
            return;
        }
        let failed = running.troubles.values().flat_map(|items| items.values());
        let failed = failed.filter(|trouble| trouble.standing == ItemStanding::Failed).count();
        let (final_status, diagnostics) = match failed {
            0 => (FinalStatus::Succeeded, String::new()),
            failed => (FinalStatus::Failed, format!("{failed} of its items failed")),
        };
        let end = ApplicationEnd { state: ApplicationState::Finished, final_status, diagnostics, is_by_owner: true };
        self.finish(application, end, ContainerExit::KILLED_AFTER_APPLICATION, now);
    }

    /// Ends an application: nothing more is granted to it, and what lives of it is killed with this status.
    pub(super) fn finish(&mut self, application: ApplicationId, end: ApplicationEnd, exit: ContainerExit, now: Now) {
        let Some(ending) = self.all.get(&application).filter(|ending| !ending.is_over()) else { return };
        let types: Vec<RequestType> = ending.tables.keys().copied().collect();
        let live: Vec<ContainerId> = ending.live().map(|container| container.id).collect();
        let ApplicationEnd { state, final_status, diagnostics, is_by_owner } = end;
        self.restand(application, |standing| {
            standing.state = state;
            standing.final_status = Some(final_status);
            standing.diagnostics = diagnostics;
            standing.finished_ms = Some(now.wall_ms);
            standing.taken_in = None;
        });
        for request in types {
            self.change(ApplicationChange::TypeDropped { application, request });
        }
        self.forget_silence(application);
        self.lapses.forget(application);
        for id in live {
            let diagnostics = match exit {
                ContainerExit::KILLED_BY_ADMINISTRATOR => "its application was killed",
                _ => "its application has ended",
            };
            let grace_ms = if is_by_owner { self.grace_ms(id) } else { self.bounded_grace_ms(id) };
            self.kill_container(id, Kill::new(exit, diagnostics.to_owned(), grace_ms), now);
        }
        self.settle_when_over(application);
    }

    /// Once an application is over and none of its containers lives: keeps their sums, drops what it kept for them.
    fn settle_when_over(&mut self, application: ApplicationId) {
        let Some(over) = self.all.get(&application) else { return };
        if !over.is_over() || !over.counts.live.is_empty() {
            return;
        }
        let (totals, numbers): (_, Vec<u64>) = (over.counts.totals, over.contexts.keys().copied().collect());
        let blacklist: Vec<String> = over.blacklist.iter().cloned().collect();
        self.restand(application, |standing| standing.totals = Some(totals));
        for number in numbers {
            self.change(ApplicationChange::ContextDropped { application, number });
        }
        for name in blacklist {
            self.change(ApplicationChange::Blacklisted { application, name, is_on: false });
        }
    }

    /// Time between TERM and KILL of a container that its owner does not end, ms.
    pub(super) fn bounded_grace_ms(&self, id: ContainerId) -> u64 {
        self.grace_ms(id).min(self.settings.max_kill_grace_ms)
    }

    /// Time between TERM and KILL of a container as its owner asks for it, ms.
    pub(super) fn grace_ms(&self, id: ContainerId) -> u64 {
        let context = self.container(id).and_then(|container| {
            let launch = container.launch?;
            self.get(id.application)?.contexts.get(&launch.context)
        });
        context.map_or(LaunchContext::DEFAULT_KILL_GRACE_MS, |context| context.kill_grace_ms)
    }

    pub(super) fn owe(&mut self, tracker: &Arc<str>) {
        if let Some(worker) = self.workers.get_mut(tracker) {
            worker.has_news = true;
            self.worker_news.insert(Arc::clone(tracker));
        }
    }

    /// Makes a container of a grant, for which its queue pays so much now. None: nothing is wanted, the application holds as many as
    /// it may, or its worker is gone.
    pub(crate) fn grant(
        &mut self,
        application: ApplicationId,
        grant: &ContainerGrant,
        rate: Credits,
        now: Now,
    ) -> Option<ContainerId> {
        let request = grant.request;
        let tracker = Arc::clone(self.worker_names.get(&grant.node)?);
        let worker = self.workers.get(&tracker)?;
        let asking = self.all.get(&application).filter(|asking| !asking.is_over())?;
        if asking.counts.live.len() >= self.settings.max_per_application as usize {
            return None;
        }
        let table = asking.tables.get(&request).filter(|table| table.outstanding() > 0)?;
        let lowered = rows_lowered_by(grant, &worker.rack);
        let rows = table.lowered(lowered, &worker.host, &worker.rack);
        let row = grant.row_name();
        let locality = match row {
            Placement::Host(_) => Locality::NodeLocal,
            Placement::Rack(_) => Locality::RackLocal,
            Placement::Any => Locality::OffSwitch,
        };
        let id = application.container(asking.standing.attempt, asking.counts.last_number + 1);
        let node = node_of(&tracker, worker);
        let granted = Container {
            id,
            request,
            node,
            locality,
            row,
            lowered,
            granted_ms: now.wall_ms,
            rate,
            launch: None,
            started_ms: None,
            kill: None,
            end: None,
            state: ContainerState::Allocated,
            named_in: None,
            status_in: None,
        };
        let launch = self.launch_of_grant(application, request, now);
        let container = launch.and_then(|launch| granted.after(ContainerStep::Launch(launch)));
        let is_launched = container.is_some();
        self.change(ApplicationChange::Container(Box::new(container.unwrap_or(granted))));
        self.placed.insert(id, grant.node);
        for (place, RequestRow { count, relaxes }) in rows {
            self.change(ApplicationChange::RowSet { application, request, place, count, relaxes });
        }
        if is_launched {
            self.owe(&tracker);
        } else {
            let due_ms = now.mono_ms.saturating_add(self.settings.launch_expiry_ms);
            self.launch_due.insert((due_ms, id));
            self.lapses.on_grant(application, now.mono_ms);
            self.unlaunched_since.insert(id, now.mono_ms);
        }
        Some(id)
    }

    /// What a container of a type runs that starts when it is granted; takes its item.
    fn launch_of_grant(&mut self, application: ApplicationId, request: RequestType, now: Now) -> Option<Launched> {
        let asking = self.all.get(&application)?;
        let table = asking.tables.get(&request)?;
        let launch = table.launch.as_ref()?;
        let context = match &launch.source {
            GrantedContext::Spec(name) => asking.spec(name)?.0,
            GrantedContext::Master => 0,
        };
        let at_ms = now.wall_ms;
        if launch.items.is_none() {
            return Some(Launched { context, item: None, item_attempt: 1, at_ms });
        }
        if let Some(item) = table.items.at(table.taken) {
            let taken = table.taken + 1;
            let before = asking.troubles.get(&request).and_then(|items| items.get(&item));
            let item_attempt = before.map_or(1, attempts_with_next);
            self.change(ApplicationChange::ItemsTaken { application, request, taken });
            return Some(Launched { context, item: Some(item), item_attempt, at_ms });
        }
        let (item, trouble) = asking.first_waiting(request)?;
        let held = ItemTrouble { standing: ItemStanding::Held, ..trouble };
        self.change(ApplicationChange::ItemTroubled { application, request, item, trouble: Some(held) });
        Some(Launched { context, item: Some(item), item_attempt: attempts_with_next(&trouble), at_ms })
    }
}

#[derive(Clone, Debug)]
pub(super) struct ApplicationEnd {
    pub(super) state: ApplicationState,
    pub(super) final_status: FinalStatus,
    pub(super) diagnostics: String,
    /// Whether its owner or its program ended it: its containers have the grace that they ask for then.
    pub(super) is_by_owner: bool,
}

fn node_of(tracker: &Arc<str>, worker: &ContainerWorker) -> ContainerNode {
    ContainerNode {
        tracker: Arc::clone(tracker),
        incarnation: worker.incarnation,
        id: Arc::clone(&worker.node),
        host: Arc::clone(&worker.host),
        rack: Arc::clone(&worker.rack),
    }
}

/// The rows that a grant lowers on a node in a rack.
fn rows_lowered_by(grant: &ContainerGrant, rack: &str) -> LoweredRows {
    let rack_row = grant.counted.rack.as_deref();
    let above = rack_path(rack).position(|path| Some(path) == rack_row);
    let above = above.and_then(|above| u8::try_from(above).ok()).unwrap_or(0);
    LoweredRows { host: grant.counted.host.is_some(), rack: rack_row.is_some(), above }
}

fn attempts_with_next(trouble: &ItemTrouble) -> u32 {
    trouble.failures.saturating_add(trouble.faultless).saturating_add(1)
}

//! Containers and the scheduler: what of the applications' changes it must know, and what it grants.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{Placement, WaitingReason, WaitingRequest};
use crate::engine::core::Engine;
use crate::engine::state::{Application, ApplicationChange, Applications, Effect, Fact, Headroom, MarketState};
use crate::market::SlotHolder;
use crate::model::{ApplicationId, Capability, Credits, JobId, Now, PerKind, Pool, QueueName, TrackerId};
use crate::scheduler::{
    AppId, AppSpec, AskedRow, ContainerGrant, ContainerReason, ContainerSource, RequestType, WaitingHousekeeping,
};

struct ContainerTaker<'a> {
    applications: &'a mut Applications,
    market: Option<&'a MarketState>,
    now: Now,
}

impl ContainerSource for ContainerTaker<'_> {
    fn take_container(&mut self, grant: &ContainerGrant) -> bool {
        let application = self.applications.of_app(grant.app);
        application.is_some_and(|application| {
            let rate = self.rate_of(application);
            self.applications.grant(application, grant, rate, self.now).is_some()
        })
    }
}

impl ContainerTaker<'_> {
    /// What the queue of an application pays now for a slot; before it was sold any, what it bids.
    fn rate_of(&self, application: ApplicationId) -> Credits {
        let queue = self.applications.get(application).map(|asking| &asking.submitted.queue);
        let account = queue.and_then(|queue| self.market?.accounts.account(queue));
        account
            .map_or(Credits::ZERO, |account| account.interval().map_or(account.bid(), |interval| interval.share.rate()))
    }
}

impl Engine {
    /// After each event: what can be granted is granted, what has changed becomes one fact, and who waits learns of it.
    pub(super) fn settle_applications(&mut self, now: Now) {
        if !self.applications.settings.is_enabled {
            return;
        }
        self.take_back_from_silent(now);
        self.grant_containers(now);
        if self.applications.has_changes() {
            let changes = self.applications.take_changes(self.outbox.next_fact());
            self.outbox.record(Fact::Applications(changes));
            let meter = self.market.as_ref().map(|market| market.accounts.meter());
            self.applications.forget_oldest_over(|application| {
                meter.is_some_and(|meter| meter.may_charge(SlotHolder::Application(application)))
            });
        }
        for application in self.applications.take_news() {
            self.outbox.request(Effect::ApplicationHasNews(application));
        }
        for tracker in self.applications.take_worker_news() {
            self.outbox.request(Effect::WorkerHasNews { tracker });
        }
    }

    /// Takes back what silent programs have not launched, where others wait.
    fn take_back_from_silent(&mut self, now: Now) {
        let waiting = self.cluster.scheduler.totals().waiting;
        if waiting.map == 0 && waiting.reduce == 0 && waiting.container == 0 {
            return;
        }
        let silent: Vec<ApplicationId> =
            self.applications.silent_holders().filter(|id| self.others_wait(*id)).collect();
        silent.into_iter().for_each(|id| self.applications.lapse_unlaunched(id, now));
    }

    /// Whether anything but an application waits for slots or containers.
    fn others_wait(&self, application: ApplicationId) -> bool {
        let scheduler = &self.cluster.scheduler;
        let waiting = scheduler.totals().waiting;
        let own = self.applications.app(application).map_or(0, |app| scheduler.app_containers(app).waiting);
        waiting.map > 0 || waiting.reduce > 0 || waiting.container > own
    }

    /// Grants what is wanted and fits.
    pub(super) fn grant_containers(&mut self, now: Now) {
        self.pass_on_changes();
        if self.is_in_safe_mode() {
            return;
        }
        self.cluster.scheduler.set_waiting_housekeeping(self.waiting_housekeeping());
        let mut taker = ContainerTaker { applications: &mut self.applications, market: self.market.as_ref(), now };
        self.cluster.scheduler.grant_containers(&mut taker);
        self.applications.mark_passed_on();
    }

    /// Setups, cleanups and task-cleanups that wait, one for each job.
    fn waiting_housekeeping(&self) -> WaitingHousekeeping {
        let queue = &self.cluster.housekeeping;
        let count = |jobs: &BTreeSet<JobId>| u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        WaitingHousekeeping {
            of_either_kind: count(&queue.setup).saturating_add(count(&queue.cleanup)),
            of_kind: PerKind::new(count(&queue.task_cleanup.map), count(&queue.task_cleanup.reduce)),
        }
    }

    /// Offers a node to containers: once in each heartbeat of its tracker.
    pub(super) fn offer_to_containers(&mut self, node: TrackerId, now: Now) {
        self.pass_on_changes();
        // A stock tracker declares none: its heartbeat looks for no worker of its name.
        if self.cluster.scheduler.slot_room(node).is_none() {
            return;
        }
        let may_take = self.may_take_containers(node, now);
        self.cluster.scheduler.set_takes_containers(node, may_take);
        if may_take && !self.is_in_safe_mode() {
            let mut taker = ContainerTaker { applications: &mut self.applications, market: self.market.as_ref(), now };
            self.cluster.scheduler.grant_containers_on(node, &mut taker);
            self.applications.mark_passed_on();
        }
    }

    /// Whether a node may get containers: its worker has listed what it has and is well, and so is its tracker; and its rack
    /// is known, by which rows count for it.
    pub(super) fn may_take_containers(&self, node: TrackerId, now: Now) -> bool {
        let Some(tracker) = self.trackers.get(node) else { return false };
        let worker = self.applications.worker(&tracker.name);
        worker.is_some_and(|worker| worker.complaint.is_none() && worker.rest.is_over(now.mono_ms))
            && self.can_take_work(tracker, now)
            && !self.trackers.unresolved_hosts.contains(&tracker.host)
    }

    /// Gives the scheduler the changes of this step that it did not make.
    pub(super) fn pass_on_changes(&mut self) {
        let changes = self.applications.pass_on();
        let known: Vec<&ApplicationChange> = changes.iter().filter(|change| is_for_scheduler(change)).collect();
        // Rows stay together: a type without its row for any node would lose the others.
        for together in known.chunk_by(|a, b| asks_for(a).is_some() && asks_for(a) == asks_for(b)) {
            match together.first() {
                Some(first) if let Some(application) = asks_for(first) => self.ask_scheduler(application, together),
                Some(first) => self.pass_on_change(first),
                None => {}
            }
        }
        // After all of them: an app ends once each of its containers has.
        for application in changes.iter().filter_map(ApplicationChange::application) {
            self.end_app_when_done(application);
        }
        self.applications.passed_on(changes);
    }

    fn pass_on_change(&mut self, change: &ApplicationChange) {
        match change {
            ApplicationChange::Submitted { submitted, .. } => self.enter_application(submitted.id),
            ApplicationChange::Stands { application, standing } if standing.state.is_over() => {
                if let Some(app) = self.applications.app(*application) {
                    self.cluster.scheduler.remove_app(app);
                }
            }
            ApplicationChange::Stands { application, standing } => {
                if let Some(app) = self.applications.app(*application) {
                    self.cluster.scheduler.set_withheld(app, standing.has_lapsed);
                }
            }
            ApplicationChange::Blacklisted { application, name, is_on } => {
                let Some(app) = self.applications.app(*application) else { return };
                let name = [Arc::from(name.as_str())];
                let (additions, removals): (&[_], &[_]) = if *is_on { (&name, &[]) } else { (&[], &name) };
                self.cluster.scheduler.blacklist(app, additions, removals);
            }
            ApplicationChange::Container(container) if !container.is_live() => {
                let node = self.applications.take_place(container.id).unwrap_or(TrackerId::NONE);
                if let Some(app) = self.applications.app(container.id.application) {
                    self.cluster.scheduler.end_container(app, node, container.request);
                }
            }
            _ => {}
        }
    }

    /// Ends the app of an application that is over once nothing of it lives.
    fn end_app_when_done(&mut self, application: ApplicationId) {
        let is_done = self.applications.get(application).is_none_or(|one| one.is_over() && one.live().next().is_none());
        if is_done && let Some(app) = self.applications.leave_app(application) {
            self.cluster.scheduler.end_app(app);
        }
    }

    fn ask_scheduler(&mut self, application: ApplicationId, changes: &[&ApplicationChange]) {
        let Some(app) = self.applications.app(application) else { return };
        let Some(asking) = self.applications.get(application).filter(|asking| !asking.is_over()) else { return };
        let row = |change: &&ApplicationChange| match change {
            ApplicationChange::RowSet { request, place, count, relaxes, .. } => {
                Some(asked_row(asking, *request, place, *count, *relaxes))
            }
            ApplicationChange::TypeDropped { request, .. } => {
                Some(asked_row(asking, *request, &Placement::Any, 0, true))
            }
            _ => None,
        };
        let rows: Vec<AskedRow> = changes.iter().filter_map(row).collect();
        self.cluster.scheduler.ask(app, &rows);
    }

    /// Adds an application to the scheduler, without its requests.
    pub(super) fn enter_application(&mut self, id: ApplicationId) {
        let Some(application) = self.applications.get(id) else { return };
        let (submitted, has_lapsed) = (Arc::clone(&application.submitted), application.standing.has_lapsed);
        let app = self.jobs.next_app_id();
        let group = self.open_application_group(&submitted.queue);
        let spec = AppSpec {
            id: app,
            group,
            user: Arc::clone(&submitted.user),
            priority: submitted.priority as u8,
            start_ms: submitted.submitted_ms,
            order: submitted.order,
            slots_per_task: AppSpec::ONE_SLOT,
        };
        let scheduler = &mut self.cluster.scheduler;
        let added = scheduler.add_app(spec);
        self.outbox.violations.check(added.is_ok(), || format!("{id} cannot be added: {added:?}"));
        scheduler.resume_app(app);
        scheduler.set_strict_gates(app, submitted.strict_gates);
        scheduler.set_withheld(app, has_lapsed);
        scheduler.set_paused(app, self.administration.pauses.of(None, &submitted.queue).is_some());
        self.applications.enter_app(id, app);
    }

    /// Adds an application of an earlier run to the scheduler, with its requests and containers.
    pub(super) fn reenter_application(&mut self, id: ApplicationId) {
        self.enter_application(id);
        let (Some(app), Some(application)) = (self.applications.app(id), self.applications.get(id)) else { return };
        let rows: Vec<AskedRow> = application
            .tables
            .iter()
            .flat_map(|(request, table)| {
                table.rows.iter().map(|(place, row)| asked_row(application, *request, place, row.count, row.relaxes))
            })
            .collect();
        let names: Vec<Arc<str>> = application.blacklist.iter().map(|name| Arc::from(name.as_str())).collect();
        let requests: Vec<RequestType> = application.live().map(|container| container.request).collect();
        let is_over = application.is_over();
        let scheduler = &mut self.cluster.scheduler;
        scheduler.blacklist(app, &names, &[]);
        scheduler.restore_rows(app, &rows);
        for request in requests {
            scheduler.restore_container(app, TrackerId::NONE, request);
        }
        if is_over {
            scheduler.remove_app(app);
            self.end_app_when_done(id);
        }
    }

    /// What is free for an application now.
    pub(super) fn headroom_of(&self, application: ApplicationId) -> Headroom {
        let scheduler = &self.cluster.scheduler;
        let limit = self.applications.app(application).map_or(Capability::default(), |app| scheduler.headroom(app));
        Headroom { limit, nodes: u32::try_from(scheduler.container_nodes()).unwrap_or(u32::MAX) }
    }

    pub(super) fn why_containers_wait(&self, application: &Application) -> Vec<WaitingRequest> {
        let Some(app) = self.applications.app(application.id()) else { return Vec::new() };
        let waiting = self.cluster.scheduler.waiting_containers(app).into_iter();
        let is_limited = |request: &RequestType| self.cluster.scheduler.is_container_limited(app, request);
        waiting
            .map(|waiting| WaitingRequest {
                priority: waiting.request.priority,
                capability: waiting.request.capability,
                reason: match waiting.reason {
                    _ if self.is_in_safe_mode() => WaitingReason::SafeMode,
                    ContainerReason::Withheld => WaitingReason::NoCall,
                    ContainerReason::MaxRunning => WaitingReason::MaxRunning,
                    ContainerReason::NoNodeFits => WaitingReason::NoNodeFits,
                    ContainerReason::Gates => WaitingReason::Gates,
                    // Limits on running jobs admit them in order; the others are on what a queue or a user holds.
                    _ if is_limited(&waiting.request) && self.config.policy.has_pools() => WaitingReason::EarlierJobs,
                    _ if is_limited(&waiting.request) => WaitingReason::QuotaFull,
                    ContainerReason::LocalityDelay => WaitingReason::LocalityDelay,
                    _ if self.cluster.scheduler.is_room_kept_from(app, &waiting.request) => WaitingReason::RoomKept,
                    reason => self.why_market_waits(application, app, waiting.request).unwrap_or(match reason {
                        ContainerReason::NoneFree => WaitingReason::NoneFree,
                        _ => WaitingReason::EarlierJobs,
                    }),
                },
                unmet_rows: waiting.unmet_rows,
                unmet: waiting.unmet.iter().map(|name| name.to_string()).collect(),
            })
            .collect()
    }

    /// Why an application gets no container that would fit somewhere, as far as its queue's bid decides it; none where no
    /// market rules, or where it is its queue's turn.
    fn why_market_waits(&self, application: &Application, app: AppId, request: RequestType) -> Option<WaitingReason> {
        let account = self.ruling_market()?.account(&application.submitted.queue)?;
        let scheduler = &self.cluster.scheduler;
        let group = scheduler.group_of(app)?;
        let bought = scheduler.allocation(group);
        let bidding = QueueName::new(&application.submitted.queue).ok().and_then(|queue| self.bidding(&queue));
        let bid = account.bid();
        if bid.units() == 0 {
            return Some(WaitingReason::NoBid);
        }
        if bidding.is_some_and(|bidding| !bidding.is_funded(bid)) {
            return Some(WaitingReason::NotFunded);
        }
        if bought.rate_units <= 0 {
            return Some(WaitingReason::NotBoughtYet);
        }
        let held = scheduler.group_containers(group).held;
        let next = request.capability.slots(scheduler.slot_size());
        if held.saturating_add(next) > bought.quota.left_for_containers(scheduler.usage(group)) {
            return Some(WaitingReason::QuotaFull);
        }
        let place = scheduler.queue_position(app, Pool::Container)?;
        (place.groups_before > 0).then_some(WaitingReason::BelowQuota)
    }
}

/// Whether the scheduler must know a change.
fn is_for_scheduler(change: &ApplicationChange) -> bool {
    matches!(
        change,
        ApplicationChange::Submitted { .. }
            | ApplicationChange::Stands { .. }
            | ApplicationChange::Blacklisted { .. }
            | ApplicationChange::Container(_)
    ) || asks_for(change).is_some()
}

/// The application whose rows a change sets or drops.
fn asks_for(change: &ApplicationChange) -> Option<ApplicationId> {
    match change {
        ApplicationChange::RowSet { application, .. } | ApplicationChange::TypeDropped { application, .. } => {
            Some(*application)
        }
        _ => None,
    }
}

fn asked_row(asking: &Application, request: RequestType, name: &Placement, count: u32, relaxes: bool) -> AskedRow {
    let launch = asking.tables.get(&request).and_then(|table| table.launch.as_ref());
    let max_running = launch.and_then(|launch| launch.max_running).and_then(std::num::NonZeroU32::new);
    AskedRow { request, name: name.clone(), count, relax_locality: relaxes, max_running }
}

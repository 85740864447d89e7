//! The heartbeat: who calls, what it reports, what it gets (1.2.1 `JobTracker.heartbeat`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{AttemptOrder, NodeInfo};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, FactNumber, JobId, Kind, Now, PerKind};
use crate::scheduler::NodeId;
use crate::wire::limits::{HEALTH_REPORT_BYTES, HOST_NAME_BYTES, cut, excerpt, is_node_name};
use crate::wire::{
    Action, HealthStatus, HeartbeatRequest, HeartbeatResponse, Phase, TaskStatus, TaskTrackerStatus,
    runs_streaming_only,
};

use super::adoption::{Adopted, Back, mend_diagnostics};
use super::engine::{Engine, Wait, job_context};
use super::succession::Strays;
use super::tracker::{Adoption, LastAnswer, Tracker};
use super::{Effect, Fact, HeartbeatAnswer, LogLevel, Refusal, Reply};

/// What the reports of one heartbeat ask to be answered, in the order of 1.2.1.
#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) kill_tasks: Vec<AttemptId>,
    /// Jobs that are unknown here: the tracker shall forget them.
    pub(super) forget_jobs: BTreeSet<JobId>,
    pub(super) commits: Vec<AttemptId>,
    /// The tracker forgets something once it is answered.
    pub(super) must_be_durable: bool,
}

/// A tracker that registers under the name of one that was heard within this time, on a connection that is still open,
/// is another one: ms beyond twice the longest interval.
const ALIVE_GRACE_MS: u64 = 10_000;
/// What a tracker that there is no room for waits until it calls again; it is unknown then and starts anew.
const FULL_INTERVAL_MS: i32 = 10_000;
/// Attempts that a tracker may report and nobody here has launched, beyond twice its slots: each of them is told to be dropped.
/// Further ones are not looked at until it reports fewer.
const STRAYS_BESIDE_SLOTS: usize = 100;

// === impl Engine: heartbeats ===

impl Engine {
    pub(super) fn heartbeat(&mut self, request: HeartbeatRequest, connection: u64, now: Now) -> (Reply, Wait) {
        self.tallies.heartbeats += 1;
        if let Some(refusal) = self.refuse_tracker(&request, connection, now) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        if request.initial_contact
            && !self.trackers.contains_key(&*request.status.name)
            && !self.has_room_for_trackers()
        {
            // Disallowed it would end for good, though it may be an honest one among liars.
            let text = format!(
                "{} is not registered, for {} TaskTrackers are, which is the limit: it comes again",
                request.status.name,
                self.trackers.len()
            );
            self.log_line(LogLevel::Warning, text);
            let answer = Tracker::idle_answer(request.response_id.wrapping_add(1), FULL_INTERVAL_MS);
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(answer)), Wait::Nothing);
        }
        self.review_faults(&request, now);
        let mut is_successor = false;
        let back = match self.adopt(&request, connection, now) {
            Adopted::Repeat(answer) => return (Reply::Heartbeat(answer), Wait::Nothing),
            Adopted::Back(back) => back,
        };
        let name = &*request.status.name;
        match self.trackers.get_mut(name) {
            // That it was lost may still have to become durable: a crash that undid it would find its work forgotten.
            None if !request.initial_contact => return (Reply::Heartbeat(reinit(request.response_id)), Wait::All),
            Some(tracker) if !request.initial_contact && tracker.response_id != request.response_id => {
                // The last answer was lost.
                tracker.last_seen_mono_ms = now.mono_ms;
                tracker.answer_waits_for = self.log.last();
                return (Reply::Heartbeat(tracker.repeat_answer()), Wait::All);
            }
            Some(_) if request.initial_contact => {
                let name: Arc<str> = name.into();
                self.lose_tracker(&name, "registered anew", now);
                is_successor = true;
            }
            _ => {}
        }
        if request.initial_contact {
            self.register(&request.status);
        }
        let name = self.note_status(&request, connection, now);
        if request.initial_contact && !is_successor {
            self.introduce(&name);
        }
        self.settle_kill_debts(&name);
        let node = self.trackers.get(&name).map(|tracker| tracker.node);
        let Some(node) = node else { return (Reply::Heartbeat(reinit(request.response_id)), Wait::Nothing) };
        // Before it has told afresh what it runs nobody knows how many slots are free.
        let is_known = back != Back::First;
        let accepts = request.accept_new_tasks && request.status.health.healthy && !self.is_in_safe_mode() && is_known;
        let mentioned = back.mentioned(&request.status.tasks);
        let mut orders = self.take_reports(&name, node, request.status.tasks, back, now);
        if back == Back::Second {
            self.miss_attempts(&name, node, &mentioned, now);
        }
        // What its predecessor ran is lost, and it will never report it.
        orders.must_be_durable |= is_successor;
        self.record_job_facts();
        self.answer(&name, node, request.response_id.wrapping_add(1), accepts, orders, now)
    }

    /// Hosts that may not serve, and a second tracker under the name of a living one.
    fn refuse_tracker(&mut self, request: &HeartbeatRequest, connection: u64, now: Now) -> Option<Refusal> {
        let (name, host) = (&request.status.name, &request.status.host);
        if let Some(text) = refuse_names(name, host) {
            self.log_line(LogLevel::Warning, text.clone());
            return Some(Refusal::DisallowedTracker(text));
        }
        if !self.config.hosts.admits(host) {
            // 1.2.1 names the tracker in this text.
            return Some(Refusal::DisallowedTracker(format!(
                "Tasktracker denied communication with jobtracker: {name}"
            )));
        }
        let tracker = self.trackers.get(&**name)?;
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        let is_heard = silent_ms <= self.longest_silence_ms();
        let alive = self.connections.contains(&tracker.connection) && is_heard;
        if request.initial_contact && tracker.connection != connection && alive {
            let text = format!(
                "another TaskTracker named {name} is alive on host {}: its last heartbeat came {silent_ms} ms ago; \
                 give this one a name of its own (slave.host.name, mapred.task.tracker.report.address)",
                tracker.host
            );
            self.log_line(LogLevel::Warning, format!("refused a TaskTracker on host {host}: {text}"));
            return Some(Refusal::DisallowedTracker(text));
        }
        None
    }

    /// Nobody else had the name when the tracker registered: who comes with it on another connection is another one.
    fn introduce(&mut self, name: &Arc<str>) {
        if let Some(tracker) = self.trackers.get_mut(name) {
            tracker.is_introduced = true;
        }
    }

    /// Whether one more tracker may register.
    pub(super) fn has_room_for_trackers(&self) -> bool {
        self.trackers.len() < self.config.limits.max_trackers
    }

    /// How long a tracker that is well may be silent, ms.
    pub(super) fn longest_silence_ms(&self) -> u64 {
        2 * self.config.heartbeat.interval_ms(self.trackers.len(), true) as u64 + ALIVE_GRACE_MS
    }

    /// How many attempts that nobody here has launched are looked at in one heartbeat of a tracker.
    fn strays_allowed(&self, name: &Arc<str>) -> usize {
        let slots = self.trackers.get(name).map(|tracker| tracker.slots).unwrap_or_default();
        2 * (slots.map as usize + slots.reduce as usize) + STRAYS_BESIDE_SLOTS
    }

    /// Enters a tracker. Its rack is asked for; until the answer it stands in the default rack.
    fn register(&mut self, status: &TaskTrackerStatus) {
        let name: Arc<str> = (&*status.name).into();
        self.log_line(LogLevel::Info, format!("{name} registered"));
        let http = format!("http://{}:{}", status.host, status.http_port);
        self.enter_tracker(name, &status.host, http, Adoption::Settled);
    }

    /// Enters a tracker, still without slots.
    pub(super) fn enter_tracker(&mut self, name: Arc<str>, host: &str, http: String, adoption: Adoption) -> NodeId {
        let host: Arc<str> = host.into();
        let topology = self.scheduler.topology_mut();
        let host_id = topology.intern_host(&host, DEFAULT_RACK);
        topology.hold_for_node(host_id);
        let node = self.scheduler.add_node(host_id, PerKind::default());
        let topology = self.scheduler.topology();
        let rack = topology.rack_of(host_id);
        // The splits of a job may have named it before, when its rack could not be told. For the first tracker there it is asked
        // for, and the answer holds for all.
        if topology.rack_name(rack) == DEFAULT_RACK && self.nodes.on_host(host_id) == 0 {
            self.effects.push(Effect::ResolveRack { host: host.clone() });
        }
        let streaming_only = runs_streaming_only(&name);
        let http = http.into();
        let info = NodeInfo { name: name.clone(), host: host_id, rack, http, streaming_only, free_disk_bytes: None };
        self.nodes.insert(node, info);
        self.nodes.set_slots(node, PerKind::default());
        let tracker = Tracker {
            name: name.clone(),
            host,
            node,
            http_port: 0,
            slots: PerKind::default(),
            busy: PerKind::default(),
            healthy: true,
            refuses_work: false,
            complaint: String::new(),
            connection: 0,
            connected_mono_ms: 0,
            is_introduced: false,
            last_seen_mono_ms: 0,
            response_id: 0,
            last_answer: LastAnswer::Idle(0),
            has_launch_answer: matches!(adoption, Adoption::Awaited(Some(_))),
            adoption,
            answer_waits_for: FactNumber::default(),
            attempts: Default::default(),
            strays: Default::default(),
            claims_too_many_slots: false,
            reads_events_anew: false,
            kill_tasks: Vec::new(),
            kill_jobs: Default::default(),
            kill_jobs_told: Vec::new(),
        };
        self.trackers.insert(name, tracker);
        node
    }

    /// Notes what a heartbeat says of the tracker itself; returns its name as it is kept.
    pub(super) fn note_status(&mut self, request: &HeartbeatRequest, connection: u64, now: Now) -> Arc<str> {
        let status = &request.status;
        let Some(tracker) = self.trackers.get_mut(&*status.name) else { return (&*status.name).into() };
        tracker.last_seen_mono_ms = now.mono_ms;
        tracker.http_port = status.http_port;
        if tracker.connection != connection {
            // The one before stays open for others that speak on it, until it closes.
            self.connections.insert(connection);
            tracker.connection = connection;
            tracker.connected_mono_ms = now.mono_ms;
            tracker.is_introduced = false;
        }
        let most = self.config.limits.max_tracker_slots;
        let slots = |count: i32| u32::try_from(count).unwrap_or(0).min(most);
        let said = PerKind::new(slots(status.max_map_slots), slots(status.max_reduce_slots));
        let claimed = PerKind::new(status.max_map_slots, status.max_reduce_slots);
        let claims_more = Kind::ALL.into_iter().any(|kind| i64::from(claimed[kind]) > i64::from(most));
        let is_news = claims_more && !std::mem::replace(&mut tracker.claims_too_many_slots, claims_more);
        // An unhealthy tracker has no part in the load that is spread.
        let counted = if status.health.healthy { said } else { PerKind::default() };
        self.nodes.set_free_disk(tracker.node, u64::try_from(status.resources.available_space_bytes).ok());
        note_complaint(&mut tracker.complaint, &status.health);
        if tracker.slots != counted || tracker.healthy != status.health.healthy {
            tracker.slots = counted;
            tracker.healthy = status.health.healthy;
            self.scheduler.set_slots(tracker.node, counted);
            self.nodes.set_slots(tracker.node, counted);
            self.nodes.set_healthy(tracker.node, tracker.healthy);
        }
        let was_busy = std::mem::take(&mut tracker.busy);
        for report in &status.tasks {
            if holds_slot(report) {
                let busy = &mut tracker.busy[report.attempt.task.kind];
                *busy = busy.saturating_add(slots(report.num_slots));
            }
        }
        move_busy(&mut self.busy_slots, was_busy, tracker.busy);
        let has_free = Kind::ALL.iter().any(|kind| tracker.free()[*kind] > 0);
        tracker.refuses_work = has_free && !request.accept_new_tasks;
        let name = tracker.name.clone();
        if is_news {
            let text = format!(
                "{name} claims {} map slots and {} reduce slots; it gets tasks for at most {most} of a kind \
                 (jobtracker.tracker.max-slots)",
                claimed.map, claimed.reduce
            );
            self.log_line(LogLevel::Warning, text);
        }
        name
    }

    /// The tracker has received the last answer: what it told of ended jobs is done with.
    fn settle_kill_debts(&mut self, name: &Arc<str>) {
        let Some(tracker) = self.trackers.get_mut(name) else { return };
        let told = std::mem::take(&mut tracker.kill_jobs_told);
        for job in &told {
            tracker.kill_jobs.remove(job);
        }
        for job in told {
            self.pay_kill_debt(job, name);
        }
    }

    fn take_reports(
        &mut self,
        name: &Arc<str>,
        node: NodeId,
        reports: Vec<TaskStatus>,
        back: Back,
        now: Now,
    ) -> Orders {
        let mut orders = Orders::default();
        let mut ending: Vec<JobId> = Vec::new();
        let forgives = self.is_in_safe_mode();
        let mut at_work = BTreeSet::new();
        let mut ended = BTreeSet::new();
        let mut strays = Strays::new(self.strays_allowed(name));
        for mut report in reports {
            if forgives && report.state == AttemptState::Failed {
                // Nothing fails for what an administrator is at (1.2.1 `TaskInProgress.updateStatus`).
                report.state = AttemptState::Killed;
            }
            let attempt = report.attempt;
            let live = holds_slot(&report) || report.state == AttemptState::CommitPending;
            // No tracker tells of one attempt twice at once.
            if !(if live { at_work.insert(attempt) } else { ended.insert(attempt) }) {
                continue;
            }
            let Some(job) = self.jobs.get_mut(attempt.task.job) else {
                if !self.is_expected(attempt.task.job) && orders.forget_jobs.len() < strays.allowed {
                    orders.forget_jobs.insert(attempt.task.job);
                }
                if live {
                    self.drop_stray(name, attempt, &mut strays, &mut orders);
                }
                continue;
            };
            let known = job.key_of(attempt.task).filter(|key| job.attempt(*key, attempt.number).is_some());
            let Some(key) = known else {
                if live {
                    self.drop_stray(name, attempt, &mut strays, &mut orders);
                }
                continue;
            };
            mend_diagnostics(job, key, &mut report, back);
            let was_ending = job.is_over_or_ending();
            let reported = job.apply_report(key, report, node, &mut job_context!(self, now));
            if job.is_over_or_ending() && !was_ending {
                ending.push(attempt.task.job);
            }
            orders.must_be_durable |= reported.must_be_durable;
            if reported.started {
                self.launching.started(attempt);
            }
            match reported.order {
                Some(AttemptOrder::Kill) => orders.kill_tasks.push(attempt),
                Some(AttemptOrder::Commit) => orders.commits.push(attempt),
                None => {}
            }
            if reported.has_left_node
                && let Some(tracker) = self.trackers.get_mut(name)
            {
                tracker.attempts.remove(&attempt);
            }
            for map in reported.unfetchable {
                self.fail_attempt(map, "Too many fetch-failures", now);
            }
        }
        if let Some(line) = strays.line(name) {
            self.log_line(LogLevel::Warning, line);
        }
        self.settle_strays(name, &at_work);
        for job in ending {
            self.order_anew(name, job, &mut orders, now);
        }
        orders
    }

    /// A report has brought a job near its end: what was said of its attempts before that is out of date.
    fn order_anew(&mut self, name: &Arc<str>, id: JobId, orders: &mut Orders, now: Now) {
        orders.commits.retain(|attempt| attempt.task.job != id);
        let (Some(tracker), Some(job)) = (self.trackers.get(name), self.jobs.get_mut(id)) else { return };
        let first = id.task(Kind::Map, i32::MIN).attempt(i32::MIN);
        let last = id.task(Kind::Reduce, i32::MAX).attempt(i32::MAX);
        let killed: BTreeSet<AttemptId> =
            orders.kill_tasks.iter().filter(|attempt| attempt.task.job == id).copied().collect();
        for attempt in tracker.attempts.range(first..=last) {
            let Some(key) = job.key_of(attempt.task) else { continue };
            match job.order_for_tracker(key, attempt.number, &mut job_context!(self, now)) {
                Some(AttemptOrder::Kill) if !killed.contains(attempt) => orders.kill_tasks.push(*attempt),
                Some(AttemptOrder::Commit) => orders.commits.push(*attempt),
                _ => {}
            }
        }
    }

    /// Gives work and puts the answer together.
    fn answer(
        &mut self,
        name: &Arc<str>,
        node: NodeId,
        response_id: i16,
        accepts: bool,
        mut orders: Orders,
        now: Now,
    ) -> (Reply, Wait) {
        if let Some(tracker) = self.trackers.get_mut(name) {
            orders.kill_tasks.append(&mut tracker.kill_tasks);
        }
        let launches = if accepts { self.give_work(name, node, now) } else { Vec::new() };
        let launched = !launches.is_empty();
        let mut actions: Vec<Action> =
            Vec::with_capacity(launches.len() + orders.kill_tasks.len() + orders.commits.len());
        actions.extend(launches.into_iter().map(|task| Action::LaunchTask(Box::new(task))));
        actions.extend(orders.kill_tasks.into_iter().map(Action::KillTask));
        let interval_ms = self.next_interval_ms(name);
        let is_adopted = self.trackers.get(name).is_some_and(|tracker| tracker.reads_events_anew);
        let recovered_jobs = if is_adopted { self.begun_anew() } else { Vec::new() };
        let Some(tracker) = self.trackers.get_mut(name) else {
            return (Reply::Heartbeat(reinit(response_id.wrapping_sub(1))), Wait::Nothing);
        };
        tracker.kill_jobs_told = tracker.kill_jobs.iter().copied().collect();
        let unknown = orders.forget_jobs.iter().filter(|job| !tracker.kill_jobs.contains(job));
        actions.extend(tracker.kill_jobs_told.iter().chain(unknown).map(|job| Action::KillJob(*job)));
        actions.extend(orders.commits.into_iter().map(Action::CommitTask));
        tracker.response_id = response_id;
        tracker.reads_events_anew = false;
        if actions.is_empty() && recovered_jobs.is_empty() {
            tracker.last_answer = LastAnswer::Idle(interval_ms);
            let wait = if orders.must_be_durable { Wait::All } else { Wait::Nothing };
            tracker.answer_waits_for = if orders.must_be_durable { self.log.last() } else { FactNumber::default() };
            return (Reply::Heartbeat(HeartbeatAnswer::Fresh(Tracker::idle_answer(response_id, interval_ms))), wait);
        }
        let response = HeartbeatResponse { response_id, interval_ms, actions, recovered_jobs };
        let body: Arc<[u8]> = response.encode_body().into();
        tracker.last_answer = LastAnswer::Encoded(body.clone());
        if launched {
            self.record_launches(name, response_id, &body, now);
        }
        if let Some(tracker) = self.trackers.get_mut(name) {
            tracker.has_launch_answer |= launched;
            tracker.answer_waits_for = self.log.last();
        }
        (Reply::Heartbeat(HeartbeatAnswer::Encoded(body)), Wait::All)
    }

    fn record_launches(&mut self, name: &Arc<str>, response_id: i16, answer: &Arc<[u8]>, now: Now) {
        for (fact, tracker_attempt) in self.launch_facts(name, response_id, now) {
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.attempts.insert(tracker_attempt);
            }
            self.launching.begin(tracker_attempt, now.mono_ms);
            self.job_facts.push(fact);
        }
        self.record_job_facts();
        self.log.push(Fact::LaunchAnswer { tracker: name.clone(), response_id, answer: answer.clone() });
    }

    fn next_interval_ms(&self, name: &Arc<str>) -> i32 {
        let holds = self.trackers.get(name).is_some_and(|tracker| !tracker.attempts.is_empty());
        let totals = self.scheduler.totals();
        let waits = totals.waiting != PerKind::default()
            || !self.housekeeping.setup.is_empty()
            || !self.housekeeping.cleanup.is_empty()
            || Kind::ALL.iter().any(|kind| !self.housekeeping.task_cleanup[*kind].is_empty());
        self.config.heartbeat.interval_ms(self.trackers.len(), !holds && !waits)
    }
}

// === impl Tracker ===

impl Tracker {
    /// The last answer, to be sent again unchanged.
    fn repeat_answer(&self) -> HeartbeatAnswer {
        match &self.last_answer {
            LastAnswer::Idle(interval_ms) => {
                HeartbeatAnswer::Fresh(Tracker::idle_answer(self.response_id, *interval_ms))
            }
            LastAnswer::Encoded(body) => HeartbeatAnswer::Encoded(body.clone()),
        }
    }
}

/// Brings the sum over all trackers up to date with what one of them says.
pub(super) fn move_busy(sum: &mut PerKind<u64>, was: PerKind<u32>, is: PerKind<u32>) {
    for kind in Kind::ALL {
        sum[kind] = (sum[kind] + u64::from(is[kind])).saturating_sub(u64::from(was[kind]));
    }
}

/// Keeps what a health script complains about, and nothing of one that is content.
fn note_complaint(complaint: &mut String, health: &HealthStatus) {
    let said = if health.healthy { "" } else { &*health.report };
    let said = cut(said, HEALTH_REPORT_BYTES);
    if complaint != said {
        said.clone_into(complaint);
    }
}

/// Names that no stock tracker has: nothing of them is kept.
fn refuse_names(name: &str, host: &str) -> Option<String> {
    let (what, bad) = match (is_node_name(name), is_node_name(host)) {
        (true, true) => return None,
        (false, _) => ("name", name),
        (true, false) => ("host", host),
    };
    Some(format!(
        "Tasktracker denied communication with jobtracker: its {what} is {:?}; expected 1 to {HOST_NAME_BYTES} bytes of \
         printable ASCII without blanks",
        excerpt(bad)
    ))
}

/// An unknown tracker starts anew; the request's own id comes back.
fn reinit(response_id: i16) -> HeartbeatAnswer {
    HeartbeatAnswer::Fresh(HeartbeatResponse {
        response_id,
        interval_ms: 300,
        actions: vec![Action::ReinitTracker],
        recovered_jobs: Vec::new(),
    })
}

/// Whether a reported attempt holds a slot of its tracker. What waits for its commit does too: 1.2.1 does not count it
/// and so hands out work that has to queue.
fn holds_slot(report: &TaskStatus) -> bool {
    match report.state {
        AttemptState::Running | AttemptState::Unassigned | AttemptState::CommitPending => true,
        AttemptState::FailedUnclean | AttemptState::KilledUnclean => report.phase == Phase::Cleanup,
        AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed => false,
    }
}

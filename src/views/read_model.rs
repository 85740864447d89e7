//! [`ReadModel`] takes facts in; [`Views`] is what it shows: a clone of it stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{ApplicationChange, Decision, Drain, Fact, Pause, PauseTarget, Presence, SchedulerChoice};
use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{ApplicationId, FactNumber, JobId, RunState};
use crate::store::{DECISIONS_KEPT, FactBatch, LoadedState};

use super::application_view::ApplicationView;
use super::counts_so_far::CountsSoFar;
use super::durations::JobDurations;
use super::job_view::JobView;
use super::market_view::MarketView;
use super::requested::Requested;
use super::shared_map::SharedMap;

/// The cluster as facts up to a number have it. Cloning it shares all parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Views {
    number: FactNumber,
    /// The last fact of which only a delta shows all that it changed.
    delta_due: FactNumber,
    jobs: SharedMap<JobId, Arc<JobView>>,
    applications: SharedMap<ApplicationId, Arc<ApplicationView>>,
    trackers: SharedMap<Arc<str>, Presence>,
    drains: SharedMap<Arc<str>, Drain>,
    pauses: SharedMap<PauseTarget, Pause>,
    choice: Option<Arc<SchedulerChoice>>,
    decisions: SharedMap<FactNumber, Arc<Decision>>,
    market: MarketView,
    durations: JobDurations,
    counts: Arc<CountsSoFar>,
    /// Jobs that are over and whose end the owner does not report yet.
    withheld_ends: SharedMap<JobId, ()>,
}

/// The views with what is needed to apply facts to them.
#[derive(Debug)]
pub struct ReadModel {
    views: Views,
    /// The jobs that are over, by their end.
    finished: BTreeSet<(i64, JobId)>,
    /// The applications that are over and of which nothing lives, by their end.
    done: BTreeSet<(i64, ApplicationId)>,
    /// Most of either; the oldest leave first.
    finished_kept: usize,
    /// Jobs whose end the owner reports already, before the fact of it has come here.
    reported_ends: BTreeSet<JobId>,
    requested: Requested,
    /// The time as it was set last, epoch ms.
    at_ms: i64,
}

/// Facts that do not follow those applied: some were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {} came where fact {} is next", found.0, expected.0)]
pub struct MissedFacts {
    found: FactNumber,
    expected: FactNumber,
}

impl ReadModel {
    /// As the state was loaded; of jobs and of applications that are over at most so many are kept.
    pub fn load(loaded: &LoadedState, finished_kept: usize) -> Self {
        let mut model = Self {
            views: Views::default(),
            finished: BTreeSet::new(),
            done: BTreeSet::new(),
            finished_kept,
            reported_ends: BTreeSet::new(),
            requested: Requested::default(),
            at_ms: 0,
        };
        let views = &mut model.views;
        views.number = loaded.last_fact;
        views.jobs =
            loaded.jobs.unfinished.iter().map(|job| (job.accepted.id, Arc::new(JobView::unfinished(job)))).collect();
        for job in &loaded.jobs.finished {
            views.jobs.insert(job.id, Arc::new(JobView::finished(job)));
            model.finished.insert((job.finish_ms, job.id));
        }
        for cost in &loaded.jobs.costs {
            views.change_job(cost.job, |job| job.charge(*cost));
        }
        for stored in &loaded.applications.applications {
            let application = ApplicationView::stored(stored);
            for (request, view) in application.requests() {
                model.requested.load(application.id(), *request, view.wanted());
            }
            if application.is_done() {
                model.done.insert((application.standing().finished_ms.unwrap_or_default(), application.id()));
            }
            views.applications.insert(application.id(), Arc::new(application));
        }
        views.trackers = loaded.presences.iter().map(|presence| (presence.tracker.clone(), presence.clone())).collect();
        views.drains = loaded.drains.iter().map(|drain| (drain.worker.clone(), drain.clone())).collect();
        views.pauses = loaded.pauses.iter().map(|pause| (pause.target.clone(), pause.clone())).collect();
        views.choice = loaded.choice.clone().map(Arc::new);
        loaded.decisions.iter().for_each(|(number, one)| views.add_decision(*number, Arc::new(one.clone())));
        loaded.market.iter().for_each(|fact| views.market.apply(fact));
        model.forget_oldest();
        model
    }

    pub fn views(&self) -> &Views {
        &self.views
    }

    /// It is this time, epoch ms: containers that are requested by facts from now on are wanted since then.
    pub(crate) fn set_time(&mut self, at_ms: i64) {
        self.at_ms = at_ms;
    }

    /// Applies facts that follow those before; what it has already is passed over.
    ///
    /// # Errors
    /// Facts between are missing: nothing is applied.
    pub fn apply(&mut self, batch: &FactBatch) -> Result<(), MissedFacts> {
        let expected = FactNumber(self.views.number.0 + 1);
        if batch.first > expected {
            return Err(MissedFacts { found: batch.first, expected });
        }
        for (number, fact) in
            (batch.first.0..).map(FactNumber).zip(&batch.facts).filter(|(number, _)| *number >= expected)
        {
            self.apply_one(number, fact);
            self.views.number = number;
            if needs_delta(fact) {
                self.views.delta_due = number;
            }
        }
        Ok(())
    }

    /// The owner reports the end of this job from now on.
    pub(crate) fn report_end(&mut self, job: JobId) {
        self.views.withheld_ends.remove(&job);
        if self.views.job(job).is_some_and(|job| job.finish_ms().is_none()) {
            self.reported_ends.insert(job);
        }
    }

    /// This model in the place of `before`, which knows what the owner has said since facts were missed.
    pub(crate) fn with_reported_ends_of(self, before: &Self) -> Self {
        let (durations, counts) = (before.views.durations, before.views.counts.clone());
        let views = Views { durations, counts, ..self.views };
        Self { reported_ends: before.reported_ends.clone(), views, ..self }
    }

    fn apply_one(&mut self, number: FactNumber, fact: &Fact) {
        let views = &mut self.views;
        match fact {
            Fact::Job(JobFact::Accepted(accepted)) => {
                views.jobs.insert(accepted.id, Arc::new(JobView::accepted(accepted)));
            }
            Fact::Job(fact) => {
                let id = fact.job();
                if let Some(job) = views.jobs.get(&id) {
                    views.durations.count(fact, job);
                }
                views.change_job(id, |job| job.apply(fact));
                if let (JobFact::Ended { finish_ms, .. }, Some(_)) = (fact, views.jobs.get(&id)) {
                    self.finished.insert((*finish_ms, id));
                    if !self.reported_ends.remove(&id) {
                        views.withheld_ends.insert(id, ());
                    }
                    self.forget_oldest();
                }
            }
            Fact::JobsCharged { jobs, .. } => {
                jobs.iter().for_each(|cost| views.change_job(cost.job, |job| job.charge(*cost)));
            }
            Fact::Market(fact) => {
                if let MarketFact::Tick(_) = fact {
                    Arc::make_mut(&mut views.counts).count_charges(fact);
                }
                views.market.apply(fact);
            }
            Fact::Applications(changes) => self.change_applications(changes),
            Fact::Decided(decision) => {
                Arc::make_mut(&mut views.counts).count_decision(decision);
                views.add_decision(number, Arc::new(Decision::clone(decision)));
            }
            Fact::TrackerCame { presence, .. } => views.trackers.insert(presence.tracker.clone(), presence.clone()),
            Fact::TrackerWent { tracker, .. } => drop(views.trackers.remove(tracker)),
            Fact::WorkerDrained(drain) => views.drains.insert(drain.worker.clone(), drain.clone()),
            Fact::WorkerResumed { worker } => drop(views.drains.remove(worker)),
            Fact::Paused(pause) => views.pauses.insert(pause.target.clone(), pause.clone()),
            Fact::Resumed(target) => drop(views.pauses.remove(target)),
            Fact::SchedulerChosen { choice, moved } => {
                views.choice = Some(Arc::new(choice.clone()));
                moved.iter().for_each(|(job, queue)| views.change_job(*job, |job| job.move_to(queue)));
            }
            Fact::RunStarted { .. }
            | Fact::LaunchAnswer { .. }
            | Fact::TrackerForgotten { .. }
            | Fact::KillJobPending { .. }
            | Fact::KillJobAcknowledged { .. }
            | Fact::CostsLearned(_)
            | Fact::CostsForgotten(_)
            | Fact::HistoryWritten { .. }
            | Fact::EndNotificationPending { .. }
            | Fact::EndNotified { .. }
            | Fact::Delegation(_) => {}
        }
    }

    fn change_applications(&mut self, changes: &[ApplicationChange]) {
        for change in changes {
            self.requested.apply(change, self.at_ms);
            if let ApplicationChange::Submitted { submitted, standing } = change {
                let application = ApplicationView::submitted_now(submitted.clone(), standing);
                self.views.applications.insert(application.id(), Arc::new(application));
                continue;
            }
            let Some(known) = change.application().and_then(|id| self.views.applications.get_mut(&id)) else {
                continue;
            };
            if let ApplicationChange::Container(container) = change
                && container.is_live()
                && !known.has_live(container.id.number)
                && let Some(waited_ms) = self.requested.grant(container)
            {
                self.views.durations.container_waits.add(waited_ms);
            }
            let application = Arc::make_mut(known);
            application.apply(change);
            if application.is_done() {
                self.done.insert((application.standing().finished_ms.unwrap_or_default(), application.id()));
            }
        }
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        while self.done.len() > self.finished_kept
            && let Some((_, oldest)) = self.done.pop_first()
        {
            self.views.applications.remove(&oldest);
        }
        while self.finished.len() > self.finished_kept
            && let Some((_, oldest)) = self.finished.pop_first()
        {
            self.views.jobs.remove(&oldest);
            self.views.withheld_ends.remove(&oldest);
        }
    }
}

impl Views {
    pub fn number(&self) -> FactNumber {
        self.number
    }

    /// The last fact of which only a delta shows all that it changed.
    pub(super) fn delta_due(&self) -> FactNumber {
        self.delta_due
    }

    /// A job; none if it is unknown, or over for so long that it is in `state.db` alone.
    pub(crate) fn job(&self, id: JobId) -> Option<&Arc<JobView>> {
        self.jobs.get(&id)
    }

    /// Jobs that are not over and the newest of the others, by id.
    pub(crate) fn jobs(&self) -> impl DoubleEndedIterator<Item = &Arc<JobView>> {
        self.jobs.values()
    }

    /// Tasks of jobs that are not over, setups and cleanups included.
    pub(crate) fn unfinished_tasks(&self) -> u64 {
        let unfinished = self.jobs().filter(|job| job.finish_ms().is_none());
        unfinished.map(|job| u64::from(job.total().map) + u64::from(job.total().reduce) + 4).sum()
    }

    /// An application; none if it is unknown, or over for so long that it is in `state.db` alone.
    pub(crate) fn application(&self, id: ApplicationId) -> Option<&Arc<ApplicationView>> {
        self.applications.get(&id)
    }

    /// Applications that are not over and the newest of the others, by id.
    pub(crate) fn applications(&self) -> impl DoubleEndedIterator<Item = &Arc<ApplicationView>> {
        self.applications.values()
    }

    /// Live containers by the names of their trackers. O(live containers).
    pub(crate) fn containers_by_tracker(&self) -> BTreeMap<&str, u64> {
        let mut containers: BTreeMap<&str, u64> = BTreeMap::new();
        for container in self.applications().flat_map(|application| application.live()) {
            *containers.entry(&container.node.tracker).or_default() += 1;
        }
        containers
    }

    /// Trackers that are there, by name, with the slots that count.
    pub(crate) fn trackers(&self) -> impl Iterator<Item = &Presence> {
        self.trackers.values()
    }

    /// Drained workers, by name.
    pub(crate) fn drains(&self) -> impl Iterator<Item = &Drain> {
        self.drains.values()
    }

    /// What keeps work of a queue from starting: the hold of the job, if it is one's, or the pause of the queue.
    pub(crate) fn pause_of(&self, job: Option<JobId>, queue: &str) -> Option<&Pause> {
        if self.pauses.is_empty() {
            return None;
        }
        let held = job.and_then(|job| self.pauses.get(&PauseTarget::Job(job)));
        held.or_else(|| self.pauses.get(&PauseTarget::Queue(queue.into())))
    }

    /// Whether a job is over and its end must not be shown yet.
    pub(crate) fn is_end_withheld(&self, job: JobId) -> bool {
        self.withheld_ends.get(&job).is_some()
    }

    /// The state of a job and when it ended, epoch ms, as they may be shown.
    pub(crate) fn shown_end(&self, job: &JobView) -> (RunState, Option<i64>) {
        match job.finish_ms().filter(|_| !self.is_end_withheld(job.id())) {
            Some(finish_ms) => (job.state(), Some(finish_ms)),
            None => (job.state_before_end(), None),
        }
    }

    /// The market, empty where there is none.
    pub(crate) fn market(&self) -> &MarketView {
        &self.market
    }

    /// Decisions and charges since the process began.
    pub(crate) fn counts(&self) -> &CountsSoFar {
        &self.counts
    }

    /// How long tasks ran, and jobs and containers waited, since the process began.
    pub(crate) fn durations(&self) -> &JobDurations {
        &self.durations
    }

    pub(crate) fn decisions(&self) -> impl DoubleEndedIterator<Item = (&FactNumber, &Arc<Decision>)> {
        self.decisions.iter()
    }

    /// A decision; none: there was none of that number, or newer ones have taken its place.
    pub(crate) fn decision(&self, number: FactNumber) -> Option<&Arc<Decision>> {
        self.decisions.get(&number)
    }

    fn add_decision(&mut self, number: FactNumber, decision: Arc<Decision>) {
        self.decisions.insert(number, decision);
        let beyond = self.decisions.len().saturating_sub(DECISIONS_KEPT);
        let oldest: Vec<FactNumber> = self.decisions.iter().take(beyond).map(|(number, _)| *number).collect();
        for number in oldest {
            self.decisions.remove(&number);
        }
    }

    /// The same without what no load of `state.db` knows.
    #[cfg(test)]
    pub(crate) fn as_loaded(&self) -> Self {
        let jobs = self.jobs.iter().map(|(id, job)| (*id, Arc::new(job.as_loaded()))).collect();
        let applications = self.applications.iter().map(|(id, view)| (*id, Arc::new(view.as_loaded()))).collect();
        Self {
            jobs,
            applications,
            withheld_ends: SharedMap::default(),
            delta_due: FactNumber::default(),
            durations: JobDurations::default(),
            counts: Arc::default(),
            ..self.clone()
        }
    }

    fn change_job(&mut self, id: JobId, change: impl FnOnce(&mut JobView)) {
        if let Some(job) = self.jobs.get_mut(&id) {
            change(Arc::make_mut(job));
        }
    }
}

/// Whether a fact, of which there are few, changes what deltas say: workers, queues, the policy.
fn needs_delta(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TrackerCame { .. }
            | Fact::TrackerWent { .. }
            | Fact::WorkerDrained(_)
            | Fact::WorkerResumed { .. }
            | Fact::Paused(_)
            | Fact::Resumed(_)
            | Fact::SchedulerChosen { .. }
    )
}

//! The start: an engine that continues where the store says the last run stopped: jobs, their trackers, pending KILL_JOBs.
//!
//! A tracker is expected if it has live attempts or map output, or a KILL_JOB is pending for it: it is added at once,
//! without slots, and expires like any other if it sends no heartbeat.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::core::{Administration, Engine, EngineConfig, RunStart, Tallies};
use crate::engine::state::{
    ApplicationChange, Applications, ClassCosts, Cluster, CostHistories, DelegationTokens, Drain, Drains, Fact,
    ForeignRecovery, ForeignState, HostFaults, JobCost, JobTable, LaunchAnswer, Launching, LogLevel, MarketState,
    Outbox, Pause, Pauses, Presence, Presences, RestoredApplication, RestoredDelegation, Round, Rounds,
    SchedulerChoice, Submissions, TrackerRecovery, Trackers,
};
use crate::mapreduce::{
    AttemptRole, CounterInterner, FinishedJob, HousekeepingQueue, Job, JobOutcome, JobSpec, NodeRegistry,
    StoredAttempt, StoredJob, TrackerLocation, TrackerLocations,
};
use crate::market::{Consumer, Market, MarketFact};
use crate::model::{
    ApplicationId, AttemptId, AttemptState, DEFAULT_RACK, EndNotification, FactNumber, JobId, Kind, Now,
};
use crate::scheduler::Scheduler;
use crate::wire::CompletionStatus;

use super::foreign_jobtracker::NOT_RECOVERED;

/// Failure info of all jobs where none may continue after a restart.
const NONE_RECOVERED: &str = "the JobTracker was restarted, and its mapred.jobtracker.restart.recover is false";

#[derive(Debug, Default)]
pub struct Restored {
    pub last_fact: FactNumber,
    /// The last number in the order of submissions.
    pub last_order: u64,
    /// The last choice of a scheduler, if there was one.
    pub choice: Option<SchedulerChoice>,
    /// What jobs have cost, by class.
    pub costs: Vec<ClassCosts>,
    pub presences: Vec<Presence>,
    pub drains: Vec<Drain>,
    pub pauses: Vec<Pause>,
    /// The market as facts, in the order that [`Market::apply`](crate::market::Market::apply) wants.
    pub market: Vec<MarketFact>,
    pub delegation: RestoredDelegation,
    pub applications: RestoredApplications,
    /// Jobs that are over and whose owners are still to be notified.
    pub end_notifications: Vec<(JobId, EndNotification)>,
    pub jobs: RestoredJobs,
    /// State of other JobTrackers that used the system directory meanwhile.
    pub foreign_state: ForeignState,
    pub interner: CounterInterner,
    /// Whether more has happened after this state, since it is a copy's.
    pub is_copy: bool,
}

#[derive(Debug, Default)]
pub struct RestoredJobs {
    /// Unfinished jobs, in the order of their acceptance.
    pub unfinished: Vec<StoredJob>,
    /// Finished jobs, oldest first.
    pub finished: Vec<FinishedJob>,
    /// The last answer with launches of each tracker: its name, the id of the answer, the exact bytes.
    pub launch_answers: Vec<(Arc<str>, i16, Arc<[u8]>)>,
    /// Trackers that have not acknowledged KILL_JOB of a completed job.
    pub pending_kill_jobs: Vec<(JobId, Arc<str>)>,
    pub costs: Vec<JobCost>,
    /// The trackers of a previous process that handed over while it ran; none after a restart. A handover is no
    /// restart: all jobs continue, whatever their restart settings, and no tracker is reinitialised.
    pub handed_over: Option<BTreeSet<Arc<str>>>,
}

/// An attempt that runs on a tracker, or whose output is kept there.
struct HeldAttempt {
    tracker: Arc<str>,
    attempt: AttemptId,
    is_live: bool,
    /// The loss of the tracker may force the job to run it again.
    is_needed: bool,
}

impl Engine {
    /// Restores the jobs of an earlier run. The facts of this belong to the start.
    pub(super) fn restore_jobs(&mut self, restored: RestoredJobs, foreign_state: ForeignState, now: Now) {
        let RestoredJobs { mut unfinished, mut finished, launch_answers, pending_kill_jobs, costs, handed_over } =
            restored;
        // They may have been stored before the limits on texts existed.
        unfinished.iter_mut().for_each(|stored| JobSpec::cut_texts(&mut stored.accepted.spec));
        finished.iter_mut().for_each(|finished| JobSpec::cut_texts(&mut finished.spec));
        let mut foreign_state = foreign_state;
        let ended_since_copy = std::mem::take(&mut foreign_state.ended_since_copy);
        let ended_elsewhere = self.apply_foreign_state(foreign_state, &mut unfinished, now);
        let mut costs: BTreeMap<JobId, JobCost> = costs.into_iter().map(|cost| (cost.job, cost)).collect();
        let counts = (unfinished.len(), finished.len());
        let mut reopened: Vec<(Job, StoredJob)> =
            unfinished.into_iter().filter_map(|stored| Some((self.reopen_job(&stored)?, stored))).collect();
        // All jobs before their trackers: the hosts of their splits come with their racks.
        self.begin_restored_jobs(&mut reopened, now);
        let held_attempts: Vec<HeldAttempt> = reopened.iter().flat_map(|(_, stored)| held_attempts(stored)).collect();
        let is_handed_over = handed_over.is_some();
        let mut expected: BTreeSet<Arc<str>> = pending_kill_jobs.iter().map(|(_, tracker)| tracker.clone()).collect();
        expected.extend(held_attempts.iter().filter(|held| held.is_needed).map(|held| held.tracker.clone()));
        expected.extend(handed_over.into_iter().flatten());
        expected.extend(self.applications.trackers_with_containers().cloned());
        self.expect_trackers(&expected, &reopened, launch_answers, now);
        let trackers = self.locate_trackers(&reopened);
        let mut unrecovered = Vec::new();
        for (mut job, stored) in reopened {
            let id = job.id;
            if !(is_handed_over || self.config.recover && stored.accepted.spec.recover) {
                unrecovered.push(id);
            }
            self.hold_delegation_tokens(id, &stored.accepted.token_file);
            job.restore(stored, &trackers, &mut self.cluster.job_context(&mut self.outbox, now));
            if let Some(market) = &mut self.market {
                market.costs.reopen(&job, costs.remove(&id));
            }
            self.jobs.insert_live(job);
            self.renew_deadline(id);
        }
        self.expect_attempts(held_attempts, now);
        self.restore_finished(finished, pending_kill_jobs, costs);
        if counts != (0, 0) {
            let text = format!(
                "{} unfinished jobs continue after the restart, {} finished ones are kept; waiting for {} TaskTrackers",
                counts.0.saturating_sub(unrecovered.len() + ended_elsewhere.len()),
                counts.1,
                expected.len()
            );
            self.outbox.log_line(LogLevel::Info, text);
        }
        self.record_job_facts();
        for id in ended_elsewhere {
            self.close_job_ended_elsewhere(id, now);
        }
        for (id, output) in ended_since_copy {
            self.close_job_ended_since_copy(id, &output, now);
        }
        for id in unrecovered {
            self.kill_unrecovered(id, now);
        }
    }

    /// Notes on their trackers the attempts that may still be there.
    fn expect_attempts(&mut self, held_attempts: Vec<HeldAttempt>, now: Now) {
        for held in held_attempts {
            let id = self.trackers.id_of(&held.tracker);
            if let Some(tracker) = id.and_then(|id| self.trackers.get_mut(id)) {
                tracker.attempts.insert(held.attempt);
                if held.is_live {
                    self.launching.insert(held.attempt, now.mono_ms);
                }
            }
        }
    }

    /// Adds a job as it was when it was accepted.
    fn reopen_job(&mut self, stored: &StoredJob) -> Option<Job> {
        let accepted = &stored.accepted;
        let group = self.open_job_group(&accepted.spec, stored.pool.as_deref());
        self.schedule_job(accepted, group, stored.priority).ok()
    }

    fn expect_trackers(
        &mut self,
        expected: &BTreeSet<Arc<str>>,
        jobs: &[(Job, StoredJob)],
        launch_answers: Vec<(Arc<str>, i16, Arc<[u8]>)>,
        now: Now,
    ) {
        let answers = launch_answers.into_iter();
        let mut answers: BTreeMap<Arc<str>, LaunchAnswer> =
            answers.map(|(tracker, response_id, body)| (tracker, LaunchAnswer { response_id, body })).collect();
        let addresses = addresses(jobs);
        for name in expected {
            let host = host_of(name);
            let http = addresses.get(name).map_or_else(|| format!("http://{host}:0"), |http| http.to_string());
            let recovery = TrackerRecovery::Expected(answers.remove(name));
            let id = self.enter_tracker(name.clone(), host, http, recovery);
            if let Some(tracker) = self.trackers.get_mut(id) {
                tracker.last_seen_mono_ms = now.mono_ms;
            }
        }
    }

    /// Id, host and rack of all trackers that attempts name, registered or not.
    fn locate_trackers(&mut self, jobs: &[(Job, StoredJob)]) -> TrackerLocations {
        let attempts = jobs.iter().flat_map(|(_, stored)| &stored.attempts);
        let names = attempts.flat_map(|attempt| [Some(&attempt.tracker), attempt.cleanup_tracker.as_ref()]);
        let names: BTreeSet<&Arc<str>> = names.flatten().collect();
        let topology = self.cluster.scheduler.topology_mut();
        let locations = names.into_iter().map(|name| {
            let tracker = self.trackers.id_of(name).unwrap_or_default();
            let host = topology.intern_host(host_of(name), DEFAULT_RACK);
            (name.clone(), TrackerLocation { tracker, host: Some((host, topology.shared_near(host))) })
        });
        locations.collect()
    }

    fn restore_finished(
        &mut self,
        finished: Vec<FinishedJob>,
        pending_kill_jobs: Vec<(JobId, Arc<str>)>,
        mut costs: BTreeMap<JobId, JobCost>,
    ) {
        for job in finished {
            if let Some(market) = &mut self.market {
                market.costs.restore_completed(job.id, costs.remove(&job.id));
            }
            let app = self.jobs.next_app_id();
            self.jobs.insert_finished(Job::from_finished(job, app));
        }
        if let Some(market) = self.market.as_mut().filter(|market| market.accounts.is_ruling()) {
            costs.into_values().for_each(|cost| market.costs.restore_leaving(cost));
        }
        for (id, name) in pending_kill_jobs {
            // All of them are expected.
            let Some(tracker) = self.trackers.id_of(&name).and_then(|id| self.trackers.get_mut(id)) else { continue };
            tracker.kill_jobs.insert(id);
            self.jobs.finished.expect_kill_job(id, [tracker.id]);
        }
        self.forget_oldest_finished();
    }

    /// Kills a job that must not continue after a restart. Its cleanup still runs, if it has anything to clean up.
    fn kill_unrecovered(&mut self, id: JobId, now: Now) {
        let why = if self.config.recover { NOT_RECOVERED } else { NONE_RECOVERED };
        let Some(job) = self.jobs.get_mut(id).filter(|job| !job.is_over_or_ending()) else { return };
        job.decide_end(JobOutcome::Killed, why.to_owned(), &mut self.cluster.job_context(&mut self.outbox, now));
        self.record_job_facts();
        self.outbox.log_line(LogLevel::Warning, format!("killed {id}: {why}"));
    }

    /// Restores applications; before jobs, whose trackers are then expected together with theirs.
    pub(super) fn restore_applications(&mut self, restored: RestoredApplications, now: Now) {
        let RestoredApplications { applications, stamps, unused_ids, .. } = restored;
        for (id, user, until_ms) in unused_ids {
            self.applications.restore_id(id, user, until_ms, now);
        }
        self.cluster.scheduler.set_slot_size(self.applications.settings.slot);
        self.cluster.scheduler.set_locality_delay(self.applications.settings.locality_delay);
        let ids: Vec<ApplicationId> =
            applications.into_iter().map(|application| self.applications.restore(application, now)).collect();
        for stamp in &stamps {
            self.applications.restore_stamps(stamp);
        }
        for id in ids {
            let needs_app = self
                .applications
                .get(id)
                .is_some_and(|application| !application.is_over() || application.live().next().is_some());
            if needs_app {
                self.reenter_application(id);
            }
        }
    }

    /// An engine that continues from `restored`. The facts of its start await [`Self::take_start_facts`].
    pub fn new(config: EngineConfig, restored: Restored, now: Now) -> Self {
        let market = config.market.map(|market| MarketState::new(Market::new(market, now.wall_ms)));
        let cluster = empty_cluster(&config, restored.interner);
        let start_ms = unused_start_ms(&restored.applications, now);
        let applications = Applications::new(config.containers.clone(), start_ms, restored.last_fact);
        let mut outbox = Outbox::after(restored.last_fact);
        let run_fact = outbox.record(Fact::RunStarted { identifier: config.identifier, start_ms: now.wall_ms });
        // What was chosen before no longer counts, even when the configuration names its class again.
        if restored.choice.is_some_and(|choice| choice != config.choice) {
            outbox.record(Fact::SchedulerChosen { choice: config.choice.clone(), moved: Vec::new() });
        }
        let mut engine = Self {
            run: RunStart { start: now, fact: run_fact },
            outbox,
            cluster,
            jobs: JobTable::with_histories(CostHistories::restored(restored.costs)),
            trackers: Trackers::new(
                now.mono_ms + config.tracker_expiry_ms / 3,
                Presences::restored(restored.presences),
                Drains::restored(restored.drains),
            ),
            host_faults: HostFaults::default(),
            launching: Launching::default(),
            submissions: Submissions::after(restored.last_order),
            applications,
            market,
            rounds: Rounds {
                // At the latest: see `close_resumed_interval`.
                update: Round::every(config.policy.update_interval_ms(), now),
                preemption: config.policy.preemption_round(now),
                ..Rounds::default()
            },
            foreign_recovery: ForeignRecovery::default(),
            administration: Administration::under(config.choice.clone(), Pauses::restored(restored.pauses)),
            delegation: DelegationTokens::restored(config.delegation, restored.delegation, now),
            tallies: Tallies::default(),
            config,
        };
        engine.restore_market(&restored.market, now);
        if restored.is_copy {
            engine.forget_lost_signatures(now);
        }
        engine.open_queues();
        engine.restore_applications(restored.applications, now);
        engine.restore_jobs(restored.jobs, restored.foreign_state, now);
        engine.restore_end_notifications(restored.end_notifications);
        engine.restore_meter(now);
        engine.follow_event_log(now);
        engine
    }
}

/// Attempts of a job that trackers run or whose output they keep.
fn held_attempts(stored: &StoredJob) -> impl Iterator<Item = HeldAttempt> {
    let spec = &stored.accepted.spec;
    let is_output_needed = stored.ending.is_none() && completed_reduces(stored) < spec.reduces as usize;
    let held = move |attempt: &StoredAttempt| {
        let is_output = attempt.state == AttemptState::Succeeded
            && attempt.role == AttemptRole::Work
            && attempt.id.task.kind == Kind::Map;
        let is_live = attempt.is_live() || attempt.active_cleanup_tracker().is_some();
        let tracker = attempt.active_cleanup_tracker().unwrap_or(&attempt.tracker).clone();
        let is_needed = is_live || (is_output && is_output_needed);
        (is_live || is_output).then_some(HeldAttempt { tracker, attempt: attempt.id, is_live, is_needed })
    };
    stored.attempts.iter().filter_map(held)
}

/// Number of reduces that succeeded or failed for good. Once all have, map output is unused: it makes no tracker
/// expected, and a lost tracker with only such output is reinitialised.
fn completed_reduces(stored: &StoredJob) -> usize {
    let done = stored.attempts.iter().filter(|attempt| attempt.state == AttemptState::Succeeded);
    let done = done.filter(|attempt| attempt.role == AttemptRole::Work).map(|attempt| attempt.id.task);
    let failed = stored.events.iter().filter(|event| event.status == CompletionStatus::TipFailed);
    let completed = done.chain(failed.map(|event| event.attempt.task)).filter(|task| task.kind == Kind::Reduce);
    completed.collect::<BTreeSet<_>>().len()
}

/// The web addresses of trackers, as events name them.
fn addresses(jobs: &[(Job, StoredJob)]) -> BTreeMap<Arc<str>, Arc<str>> {
    let of_job = |stored: &StoredJob| {
        let tracker_of = |id: AttemptId| {
            let place = stored.attempts.binary_search_by_key(&id, |attempt| attempt.id).ok()?;
            Some(stored.attempts[place].tracker.clone())
        };
        let named = stored.events.iter().filter(|event| !event.http.is_empty());
        named.filter_map(|event| Some((tracker_of(event.attempt)?, event.http.clone()))).collect::<Vec<_>>()
    };
    jobs.iter().flat_map(|(_, stored)| of_job(stored)).collect()
}

/// The host in a tracker's name, `tracker_<host>:<address>`, parsed as by 1.2.1.
fn host_of(tracker: &str) -> &str {
    let name = tracker.strip_prefix("tracker_").unwrap_or(tracker);
    name.split_once(':').map_or(name, |(host, _)| host)
}

#[derive(Debug, Default)]
pub struct RestoredApplications {
    /// All that are not over or have live containers, and the newest of the others.
    pub(crate) applications: Vec<RestoredApplication>,
    /// The latest start in an id; 0: there was none.
    pub(crate) last_start_ms: u64,
    /// Ids that were given out and not used: whose they are, and until when they are good, epoch ms.
    pub(crate) unused_ids: Vec<(ApplicationId, Arc<str>, i64)>,
    /// The signatures that were used, and those that are forgotten.
    pub(crate) stamps: Vec<ApplicationChange>,
}

impl RestoredApplications {
    /// The stamps of requests about applications, among all that are stored.
    #[must_use]
    pub(crate) fn stamps_among(facts: &[MarketFact]) -> Vec<ApplicationChange> {
        let is_here = |consumer| matches!(consumer, Consumer::Application | Consumer::Secret);
        let stamps = facts.iter().filter_map(|fact| match fact {
            MarketFact::Stamp(stamp) if is_here(stamp.consumer) => Some(ApplicationChange::Stamped(stamp.clone())),
            MarketFact::StampsForgotten(forgotten) if is_here(forgotten.consumer) => {
                Some(ApplicationChange::StampsForgotten(forgotten.clone()))
            }
            _ => None,
        });
        stamps.collect()
    }
}

fn empty_cluster(config: &EngineConfig, interner: CounterInterner) -> Cluster {
    let mut scheduler = Scheduler::new(config.policy.options());
    scheduler.topology_mut().set_levels(config.cache_levels);
    if config.market.is_some() {
        scheduler.log_usage();
    }
    let nodes = match scheduler.launch_rules().counts_all_hosts {
        true => NodeRegistry::counting_all_hosts(),
        false => NodeRegistry::default(),
    };
    let counter_limits = config.limits.counters;
    Cluster { nodes, scheduler, housekeeping: HousekeepingQueue::default(), interner, counter_limits }
}

/// The start of this run in the ids of its applications: the time, unless the clock was set back behind that of an
/// earlier run.
fn unused_start_ms(restored: &RestoredApplications, now: Now) -> u64 {
    u64::try_from(now.wall_ms).unwrap_or(0).max(restored.last_start_ms.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_in_the_name() {
        assert_eq!(host_of("tracker_n1.example:localhost/127.0.0.1:40235"), "n1.example");
        assert_eq!(host_of("odd"), "odd");
        assert_eq!(host_of(""), "");
    }
}

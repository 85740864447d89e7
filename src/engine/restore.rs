//! The engine goes on where an earlier incarnation was cut off: jobs, the trackers that work on them, what is owed to
//! trackers.
//!
//! A tracker that live attempts name, on which map output is kept, or that is owed a KILL_JOB, is awaited: it is entered
//! at once, without slots, and expires like any other if it does not call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::{
    AttemptRole, CounterInterner, FinishedJob, Job, JobSpec, JobState, Outcome, StoredAttempt, StoredJob,
    TrackerLocation, TrackerLocations,
};
use crate::market::MarketFact;
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, FactNumber, JobId, Kind, Now};
use crate::scheduler::AppSpec;
use crate::wire::CompletionStatus;

use super::engine::{Engine, job_context};
use super::limits::Limits;
use super::succession::Predecessors;
use super::tracker::{Adoption, LaunchAnswer};
use super::{JobCost, LogLevel};

/// What the store remembers of earlier incarnations.
#[derive(Debug, Default)]
pub struct Restored {
    /// The last durable fact.
    pub last_fact: FactNumber,
    /// The last place in the order of submissions.
    pub last_order: u64,
    /// The market as facts, in the order that [`Market::apply`](crate::market::Market::apply) wants.
    pub market: Vec<MarketFact>,
    /// Jobs and what trackers know of them.
    pub jobs: RestoredJobs,
    /// What has become of them meanwhile elsewhere.
    pub predecessors: Predecessors,
    /// The names of the jobs' counters.
    pub interner: CounterInterner,
}

/// Jobs and what trackers know of them.
#[derive(Debug, Default)]
pub struct RestoredJobs {
    /// Jobs that are not over, in the order of their acceptance.
    pub unfinished: Vec<StoredJob>,
    /// Jobs that are over, oldest first.
    pub finished: Vec<FinishedJob>,
    /// The last answer with launches of each tracker: its name, the id of the answer, the exact bytes.
    pub launch_answers: Vec<(Arc<str>, i16, Arc<[u8]>)>,
    /// Trackers that have yet to be told that a job is over.
    pub kill_debts: Vec<(JobId, Arc<str>)>,
    /// What these jobs have cost.
    pub costs: Vec<JobCost>,
    /// The trackers of an incarnation that has handed over while it ran. That is no restart: all jobs go on, whatever they
    /// want at one, and no tracker is to start anew. None after a restart.
    pub handed_over: Option<BTreeSet<Arc<str>>>,
}

/// Why a job that may not be taken up again ends.
pub(super) const NOT_RECOVERED: &str =
    "the JobTracker was restarted, and mapreduce.job.restart.recover of this job is false";
/// Why all jobs end where none is to be taken up.
const NONE_RECOVERED: &str = "the JobTracker was restarted, and its mapred.jobtracker.restart.recover is false";

/// An attempt that its tracker has on its hands, or the output of one.
struct Holding {
    tracker: Arc<str>,
    attempt: AttemptId,
    /// It may be at work on it.
    is_live: bool,
    /// The job may have to do it again should the tracker be lost.
    is_needed: bool,
}

// === impl Engine: jobs of before ===

impl Engine {
    /// Takes up the jobs of an earlier incarnation. The facts of this are those of the start.
    pub(super) fn restore_jobs(&mut self, restored: RestoredJobs, predecessors: Predecessors, now: Now) {
        let RestoredJobs { mut unfinished, mut finished, launch_answers, kill_debts, costs, handed_over } = restored;
        // They may have been stored when there were no limits.
        unfinished.iter_mut().for_each(|stored| JobSpec::cut_texts(&mut stored.accepted.spec));
        finished.iter_mut().for_each(|finished| JobSpec::cut_texts(&mut finished.spec));
        let ended_elsewhere = self.succeed(predecessors, &mut unfinished, now);
        let mut costs: BTreeMap<JobId, JobCost> = costs.into_iter().map(|cost| (cost.job, cost)).collect();
        let counts = (unfinished.len(), finished.len());
        // All hosts of splits first: they come with their racks.
        let taken_in: Vec<(Job, StoredJob)> =
            unfinished.into_iter().filter_map(|stored| Some((self.take_up(&stored)?, stored))).collect();
        let holdings: Vec<Holding> = taken_in.iter().flat_map(|(_, stored)| holdings(stored)).collect();
        let is_handed_over = handed_over.is_some();
        let mut awaited: BTreeSet<Arc<str>> = kill_debts.iter().map(|(_, tracker)| tracker.clone()).collect();
        awaited.extend(holdings.iter().filter(|held| held.is_needed).map(|held| held.tracker.clone()));
        awaited.extend(handed_over.into_iter().flatten());
        self.await_trackers(&awaited, &taken_in, launch_answers, now);
        let trackers = self.whereabouts(&taken_in);
        let mut unwanted = Vec::new();
        for (mut job, stored) in taken_in {
            let id = job.id;
            if !(is_handed_over || self.config.recover && stored.accepted.spec.recover) {
                unwanted.push(id);
            }
            job.restore(stored, &trackers, &mut job_context!(self, now));
            if self.market.is_some() {
                self.job_costs.reopen(&job, costs.remove(&id));
            }
            self.live_jobs.entry(job.spec.queue.clone()).or_default().insert(id);
            self.live_job_count += 1;
            if job.state() == JobState::Running {
                self.running_jobs.insert(id);
            }
            self.live_tasks += Limits::weight(&job.spec);
            self.live_bytes.add(&job.spec.user, job.bytes);
            self.jobs.insert(job);
        }
        for held in holdings {
            if let Some(tracker) = self.trackers.get_mut(&held.tracker) {
                tracker.attempts.insert(held.attempt);
                if held.is_live {
                    self.launching.begin(held.attempt, now.mono_ms);
                }
            }
        }
        self.restore_finished(finished, kill_debts, costs);
        if counts != (0, 0) {
            let text = format!(
                "{} unfinished jobs of before the restart go on, {} finished ones are kept; {} TaskTrackers are awaited",
                counts.0.saturating_sub(unwanted.len() + ended_elsewhere.len()),
                counts.1,
                awaited.len()
            );
            self.log_line(LogLevel::Info, text);
        }
        self.record_job_facts();
        for id in ended_elsewhere {
            self.end_elsewhere(id, now);
        }
        for id in unwanted {
            self.end_unwanted(id, now);
        }
    }

    /// Enters a job as it was when it was accepted.
    fn take_up(&mut self, stored: &StoredJob) -> Option<Job> {
        let accepted = &stored.accepted;
        // A queue that was taken out of the configuration takes no jobs, but ends those it has.
        let group = self.scheduler.open_group(&accepted.spec.queue);
        let app = self.jobs.next_app_id();
        let spec = AppSpec {
            id: app,
            group,
            priority: stored.priority as u8,
            start_ms: accepted.submit_ms,
            order: accepted.order,
        };
        self.scheduler.add_app(spec).ok()?;
        self.learn_racks(&accepted.splits);
        Some(Job::new(accepted, app, self.scheduler.topology_mut(), &mut self.housekeeping))
    }

    fn await_trackers(
        &mut self,
        awaited: &BTreeSet<Arc<str>>,
        jobs: &[(Job, StoredJob)],
        launch_answers: Vec<(Arc<str>, i16, Arc<[u8]>)>,
        now: Now,
    ) {
        let answers = launch_answers.into_iter();
        let mut answers: BTreeMap<Arc<str>, LaunchAnswer> =
            answers.map(|(tracker, response_id, body)| (tracker, LaunchAnswer { response_id, body })).collect();
        let addresses = addresses(jobs);
        for name in awaited {
            let host = host_of(name);
            let http = addresses.get(name).map_or_else(|| format!("http://{host}:0"), |http| http.to_string());
            self.enter_tracker(name.clone(), host, http, Adoption::Awaited(answers.remove(name)));
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.last_seen_mono_ms = now.mono_ms;
            }
        }
    }

    /// Where all trackers stand, or stood, that attempts name.
    fn whereabouts(&mut self, jobs: &[(Job, StoredJob)]) -> TrackerLocations {
        let attempts = jobs.iter().flat_map(|(_, stored)| &stored.attempts);
        let names = attempts.flat_map(|attempt| [Some(&attempt.tracker), attempt.cleanup_tracker.as_ref()]);
        let names: BTreeSet<&Arc<str>> = names.flatten().collect();
        let topology = self.scheduler.topology_mut();
        let whereabouts = names.into_iter().map(|name| {
            let node = self.trackers.get(name).map(|tracker| tracker.node).unwrap_or_default();
            let host = topology.intern_host(host_of(name), DEFAULT_RACK);
            (name.clone(), TrackerLocation { node, host: Some((host, topology.rack_of(host))) })
        });
        whereabouts.collect()
    }

    fn restore_finished(
        &mut self,
        finished: Vec<FinishedJob>,
        kill_debts: Vec<(JobId, Arc<str>)>,
        mut costs: BTreeMap<JobId, JobCost>,
    ) {
        for job in finished {
            if self.market.is_some() {
                self.job_costs.recall(job.id, costs.remove(&job.id));
            }
            self.finished.push_back(job.id);
            let app = self.jobs.next_app_id();
            self.jobs.insert(Job::from_finished(job, app));
        }
        for (id, name) in kill_debts {
            self.kill_debts.entry(id).or_default().owe(&name);
            if let Some(tracker) = self.trackers.get_mut(&name) {
                tracker.kill_jobs.insert(id);
            }
        }
        self.forget_oldest_finished();
    }

    /// Ends a job that may not go on after a restart. Its own cleanup still runs, where there is anything to clean up.
    fn end_unwanted(&mut self, id: JobId, now: Now) {
        let why = if self.config.recover { NOT_RECOVERED } else { NONE_RECOVERED };
        let Some(job) = self.jobs.get_mut(id).filter(|job| !job.is_over_or_ending()) else { return };
        job.decide_end(Outcome::Killed, why.to_owned(), &mut job_context!(self, now));
        self.record_job_facts();
        self.log_line(LogLevel::Warning, format!("{id} ends: {why}"));
    }
}

/// What trackers have of a job.
fn holdings(stored: &StoredJob) -> impl Iterator<Item = Holding> {
    let spec = &stored.accepted.spec;
    let is_read = stored.ending.is_none() && reduces_over(stored) < spec.reduces as usize;
    let held = move |attempt: &StoredAttempt| {
        let is_output = attempt.state == AttemptState::Succeeded
            && attempt.role == AttemptRole::Work
            && attempt.id.task.kind == Kind::Map;
        let is_live = attempt.is_live() || attempt.active_cleanup_tracker().is_some();
        let tracker = attempt.active_cleanup_tracker().unwrap_or(&attempt.tracker).clone();
        let is_needed = is_live || (is_output && is_read);
        (is_live || is_output).then_some(Holding { tracker, attempt: attempt.id, is_live, is_needed })
    };
    stored.attempts.iter().filter_map(held)
}

/// How many reduces are done or given up. Once all are, nobody reads output: it keeps no tracker, and one that was lost
/// with nothing but such output must start anew.
fn reduces_over(stored: &StoredJob) -> usize {
    let done = stored.attempts.iter().filter(|attempt| attempt.state == AttemptState::Succeeded);
    let done = done.filter(|attempt| attempt.role == AttemptRole::Work).map(|attempt| attempt.id.task);
    let given_up = stored.events.iter().filter(|event| event.status == CompletionStatus::TipFailed);
    let over = done.chain(given_up.map(|event| event.attempt.task)).filter(|task| task.kind == Kind::Reduce);
    over.collect::<BTreeSet<_>>().len()
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

/// The host in a tracker's name, `tracker_<host>:<address>`, as 1.2.1 takes it from there.
fn host_of(tracker: &str) -> &str {
    let name = tracker.strip_prefix("tracker_").unwrap_or(tracker);
    name.split_once(':').map_or(name, |(host, _)| host)
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

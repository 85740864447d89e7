//! Which attempt holds which slot, by the facts alone; and that no attempt is launched twice or after its job's end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::{Engine, Fact, PolicyConfig};
use crate::mapreduce::{AcceptedJob, AttemptRole, EndedAttempt, JobFact};
use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, TaskId};

#[derive(Clone, Debug)]
struct JobModel {
    queue: Arc<str>,
    order: u64,
    /// Who pays for it while the market rules, if there is such an account.
    payer: Option<Arc<str>>,
    /// The account that pays for it now, if the market rules.
    account: Option<Arc<str>>,
    is_over: bool,
    /// Attempts of it that hold slots for work, with their trackers and how many they hold.
    held: BTreeMap<AttemptId, (Arc<str>, u32)>,
    /// The highest number used for each task.
    last_numbers: FxHashMap<TaskId, i32>,
    /// The attempt that may commit, while it holds its slot.
    committers: FxHashMap<TaskId, AttemptId>,
    /// The attempt that completed a task, until the task runs again.
    done: FxHashMap<TaskId, AttemptId>,
    maps: u32,
    reduces: u32,
    /// It may end without some of its reduces: when its maps are last read is not known here.
    may_lack_reduces: bool,
    is_ending: bool,
    /// Attempts that ended with it: they hold their slots until their trackers say otherwise.
    ended_with_it: BTreeSet<AttemptId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AttemptModel {
    jobs: BTreeMap<JobId, JobModel>,
    /// Accounts of jobs that hold nothing any more: the tick after their end still charges them.
    /// Shared with the copies of the books that crashes need.
    past_accounts: Arc<BTreeMap<JobId, (Arc<str>, u64)>>,
    with_charged_housekeeping: BTreeSet<JobId>,
    usage: BTreeMap<Arc<str>, PerKind<u32>>,
    live: usize,
    /// Jobs that are over, since the last restart.
    over: BTreeSet<JobId>,
    /// Attempts that ended in this step without success and were needed before.
    lost_attempts: Vec<AttemptId>,
    /// Another number: other slots are held, or other accounts pay for them.
    changes: u64,
}

impl JobModel {
    /// Whether there are reduces that may still fetch the output of maps.
    fn reads_maps(&self) -> bool {
        let is_reduce = |task: &&TaskId| task.kind == Kind::Reduce && (task.number.cast_unsigned()) < self.reduces;
        !self.is_ending && !self.may_lack_reduces && self.done.keys().filter(is_reduce).count() < self.reduces as usize
    }

    fn end(&mut self, id: AttemptId, state: AttemptState) {
        if state == AttemptState::Succeeded {
            self.done.insert(id.task, id);
        } else if self.done.get(&id.task) == Some(&id) {
            self.done.remove(&id.task);
        }
    }
}

impl AttemptModel {
    /// Slots that an account pays for, if the market rules.
    pub(super) fn owed(&self, account: &str) -> PerKind<u32> {
        let mut owed = PerKind::default();
        for job in self.jobs.values().filter(|job| job.account.as_deref() == Some(account)) {
            job.held.iter().for_each(|(attempt, (_, slots))| owed[attempt.task.kind] += slots);
        }
        owed
    }

    /// Slots that each account pays for, by job, with the order of the job's acceptance.
    pub(super) fn held_by_jobs(&self) -> impl Iterator<Item = (&Arc<str>, JobId, u64, PerKind<u32>)> {
        self.jobs.iter().filter_map(|(id, job)| {
            let mut held = PerKind::default();
            job.held.iter().for_each(|(attempt, (_, slots))| held[attempt.task.kind] += slots);
            (held != PerKind::default()).then_some((job.account.as_ref()?, *id, job.order, held))
        })
    }

    /// These jobs have setups or cleanups that count as maps by now.
    pub(super) fn note_charged_housekeeping(&mut self, jobs: BTreeSet<JobId>) {
        self.with_charged_housekeeping = jobs;
    }

    pub(super) fn has_charged_housekeeping(&self, account: &str) -> bool {
        self.with_charged_housekeeping.iter().any(|job| self.account_of(*job) == Some(account))
    }

    /// The account that pays for a job now, or paid until it was over, and the order of the job's acceptance.
    pub(super) fn payer_of(&self, id: JobId) -> Option<(&str, JobId, u64)> {
        match self.jobs.get(&id) {
            Some(job) => Some((job.account.as_deref()?, id, job.order)),
            None => self.past_accounts.get(&id).map(|(account, order)| (&**account, id, *order)),
        }
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The account that pays for a job now, or paid until it was over.
    pub(super) fn account_of(&self, id: JobId) -> Option<&str> {
        self.payer_of(id).map(|(account, ..)| account)
    }

    /// The market begins to rule: `pays` says whether a job's payer has an account.
    pub(super) fn book(&mut self, pays: impl Fn(JobId, &str) -> bool) {
        self.changes += 1;
        for (id, job) in &mut self.jobs {
            job.account = job.payer.clone().filter(|payer| pays(*id, payer));
        }
    }

    /// There is an account: it pays for the jobs of its name that none paid for, if they are known.
    pub(super) fn book_on(&mut self, account: &str, is_known: impl Fn(JobId) -> bool) {
        self.changes += 1;
        let without = self.jobs.iter_mut().filter(|(_, job)| job.account.is_none());
        for (id, job) in without.filter(|(_, job)| job.payer.as_deref() == Some(account)) {
            job.account = job.payer.clone().filter(|_| is_known(*id));
        }
    }

    pub(super) fn live(&self) -> impl Iterator<Item = JobId> {
        self.jobs.iter().filter(|(_, job)| !job.is_over).map(|(id, _)| *id)
    }

    pub(super) fn live_jobs(&self) -> usize {
        self.live
    }

    pub(super) fn is_live(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|job| !job.is_over)
    }

    pub(super) fn oldest_live_job(&self) -> Option<JobId> {
        self.jobs.iter().find(|(_, job)| !job.is_over).map(|(id, _)| *id)
    }

    /// Applies a fact; the error says why it is impossible.
    pub(super) fn apply(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Job(fact) => self.apply_job_fact(fact),
            Fact::KillJobAcknowledged { job, tracker } => {
                self.release(*job, |_, holder| holder == tracker);
                Ok(())
            }
            Fact::RunStarted { .. }
            | Fact::LaunchAnswer { .. }
            | Fact::TrackerForgotten { .. }
            | Fact::KillJobPending { .. }
            | Fact::SchedulerChosen { .. }
            | Fact::CostsLearned(_)
            | Fact::CostsForgotten(_)
            | Fact::Paused(_)
            | Fact::Resumed(_)
            | Fact::TrackerCame { .. }
            | Fact::TrackerWent { .. }
            | Fact::WorkerDrained(_)
            | Fact::Decided(_)
            | Fact::WorkerResumed { .. }
            | Fact::Delegation(_)
            | Fact::Market(_)
            | Fact::JobsCharged { .. }
            | Fact::HistoryWritten { .. }
            | Fact::EndNotificationPending { .. }
            | Fact::EndNotified { .. }
            | Fact::Applications(_) => Ok(()),
        }
    }

    fn apply_job_fact(&mut self, fact: &JobFact) -> Result<(), String> {
        match fact {
            JobFact::Accepted(accepted) => self.accept(accepted),
            JobFact::AttemptLaunched { attempt, role, tracker, slots, .. } => {
                self.launch(*attempt, *role, tracker, *slots)
            }
            JobFact::AttemptEnded(ended) => {
                self.end_attempt(ended);
                Ok(())
            }
            JobFact::CommitGranted { attempt } => {
                let Some(job) = self.jobs.get_mut(&attempt.task.job) else { return Ok(()) };
                let before = job.committers.insert(attempt.task, *attempt).filter(|before| before != attempt);
                match before.filter(|before| job.held.contains_key(before)) {
                    Some(before) => Err(format!("{attempt} may commit while {before} may")),
                    None => Ok(()),
                }
            }
            JobFact::Ended { job: id, .. } => match self.jobs.get_mut(id) {
                Some(job) if !job.is_over => {
                    job.is_over = true;
                    self.live -= 1;
                    self.over.insert(*id);
                    self.release(*id, |_, _| false);
                    Ok(())
                }
                _ => Err(format!("{id} ends a second time")),
            },
            JobFact::Ending { job, .. } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.is_ending = true;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn accept(&mut self, accepted: &AcceptedJob) -> Result<(), String> {
        let queue: Arc<str> = accepted.spec.queue.as_str().into();
        let payer: Option<Arc<str>> = accepted.spec.payer().map(Arc::from);
        let job = JobModel {
            queue,
            order: accepted.order,
            account: payer.clone(),
            payer,
            is_over: false,
            held: BTreeMap::new(),
            last_numbers: FxHashMap::default(),
            committers: FxHashMap::default(),
            done: FxHashMap::default(),
            maps: accepted.spec.maps,
            reduces: accepted.spec.reduces,
            may_lack_reduces: accepted.spec.max_reduce_failures_percent > 0,
            is_ending: false,
            ended_with_it: BTreeSet::new(),
        };
        self.live += 1;
        match self.jobs.insert(accepted.id, job) {
            None => Ok(()),
            Some(_) => Err(format!("{} is accepted twice", accepted.id)),
        }
    }

    fn end_attempt(&mut self, ended: &EndedAttempt) {
        let id = ended.attempt;
        if let Some(job) = self.jobs.get_mut(&id.task.job) {
            let was_needed = job.held.contains_key(&id) || job.done.get(&id.task) == Some(&id);
            if was_needed && ended.state != AttemptState::Succeeded {
                self.lost_attempts.push(id);
            }
            job.end(id, ended.state);
            if job.is_over && job.ended_with_it.insert(id) {
                return;
            }
        }
        self.release(id.task.job, |held, _| *held == id);
    }

    fn launch(&mut self, id: AttemptId, role: AttemptRole, tracker: &Arc<str>, slots: u32) -> Result<(), String> {
        let job = self.jobs.get_mut(&id.task.job).filter(|job| !job.is_over);
        let job = job.ok_or_else(|| format!("{id} is launched after the end of its job"))?;
        if role == AttemptRole::TaskCleanup {
            return Ok(());
        }
        let before = job.last_numbers.insert(id.task, id.number);
        if let Some(done) = job.done.get(&id.task) {
            return Err(format!("{id} is launched although {done} has done its task"));
        }
        if before.is_some_and(|before| before >= id.number) {
            return Err(format!("{id} is launched twice"));
        }
        if role == AttemptRole::Work {
            job.held.insert(id, (tracker.clone(), slots));
            self.usage.entry(job.queue.clone()).or_default()[id.task.kind] += slots;
            self.changes += 1;
        }
        Ok(())
    }

    /// Releases the slots of a job's matching attempts, and forgets a finished job without any.
    fn release(&mut self, id: JobId, is_meant: impl Fn(&AttemptId, &Arc<str>) -> bool) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        self.changes += 1;
        let usage = self.usage.entry(job.queue.clone()).or_default();
        job.held.retain(|attempt, (tracker, slots)| {
            let goes = is_meant(attempt, tracker);
            if goes {
                usage[attempt.task.kind] = usage[attempt.task.kind].saturating_sub(*slots);
            }
            !goes
        });
        if job.is_over && job.held.is_empty() {
            let payer = self.jobs.remove(&id).and_then(|job| Some((job.account?, job.order)));
            Arc::make_mut(&mut self.past_accounts).extend(payer.map(|payer| (id, payer)));
        }
    }

    pub(super) fn begin_step(&mut self) {
        self.lost_attempts.clear();
    }

    pub(super) fn lost_attempts(&self) -> &[AttemptId] {
        &self.lost_attempts
    }

    /// Whether the job of an attempt still needs its work on this tracker.
    pub(super) fn needs(&self, id: AttemptId, tracker: &str) -> bool {
        let Some(job) = self.jobs.get(&id.task.job).filter(|job| !job.is_over) else { return false };
        // Setups and cleanups are numbered behind the maps, and leave no output.
        let is_map = id.task.kind == Kind::Map && id.task.number.cast_unsigned() < job.maps;
        let is_output = is_map && job.done.get(&id.task) == Some(&id);
        (is_output && job.reads_maps()) || job.held.get(&id).is_some_and(|(holder, _)| **holder == *tracker)
    }

    /// Checks that a restarted daemon has all live jobs, and that no finished job is live again. `acknowledged` are
    /// those whose acceptance was acknowledged.
    pub(super) fn restart(&mut self, acknowledged: &BTreeSet<JobId>, engine: &Engine) -> Result<(), String> {
        // A restart forgets the slots of attempts of finished jobs; the trackers report those.
        let over: Vec<JobId> = self.jobs.iter().filter(|(_, job)| job.is_over).map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.release(id, |_, _| true));
        if let Some(id) = acknowledged.iter().find(|id| !self.jobs.contains_key(id) && !self.over.contains(id)) {
            return Err(format!("{id} was accepted and acknowledged, and a restart has lost it"));
        }
        let known = engine.inspect().live_jobs();
        let known: BTreeSet<JobId> = known.values().flatten().copied().collect();
        let is_over_after = |id: &&JobId| engine.inspect().jobs().get(**id).is_some_and(|job| job.is_over());
        match self.jobs.keys().filter(|id| !is_over_after(id)).find(|id| !known.contains(id)) {
            Some(id) => Err(format!("{id} is not over, and a restart has lost it")),
            None => match known.iter().find(|id| !self.jobs.contains_key(id)) {
                Some(id) => Err(format!("{id} is over, and a restart runs it again")),
                None => Ok(()),
            },
        }
    }

    pub(super) fn settle(&mut self, acknowledged: &mut BTreeSet<JobId>) {
        let over = std::mem::take(&mut self.over);
        acknowledged.retain(|id| !over.contains(id));
    }

    /// Compares the slots with the engine's counts; no attempt outlives its job.
    pub(super) fn compare(&self, engine: &Engine, policy: &PolicyConfig) -> Result<(), String> {
        for (id, job) in self.jobs.iter().filter(|(_, job)| job.is_over) {
            if let Some(attempt) = job.held.keys().find(|attempt| !job.ended_with_it.contains(attempt)) {
                return Err(format!("{attempt} lives on after the end of {id}"));
            }
        }
        // Its groups are pools.
        let are_groups_queues = !policy.has_pools();
        let scheduler = engine.inspect().scheduler();
        let mut sum = PerKind::<u64>::default();
        for (queue, usage) in &self.usage {
            let counted = scheduler.group(queue).map(|group| scheduler.usage(group)).unwrap_or_default();
            let held = if policy.is_market() { self.owed(queue) } else { *usage };
            if are_groups_queues && counted != held {
                return Err(format!("{queue} holds {held:?} slots by the facts, {counted:?} by the engine"));
            }
            Kind::ALL.into_iter().for_each(|kind| sum[kind] += u64::from(usage[kind]));
        }
        let counted = scheduler.totals().running.slots();
        if counted == sum {
            Ok(())
        } else {
            Err(format!("{sum:?} slots are held by the facts, {counted:?} by the engine"))
        }
    }
}

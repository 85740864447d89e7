//! Who holds which slot, by the facts alone; and that no attempt is launched twice or after its job's end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::{Engine, Fact};
use crate::mapreduce::{AttemptRole, JobFact};
use crate::scheduler::{Kind, PerKind};
use crate::wire::{AttemptId, JobId, TaskId};

/// A job as its facts tell it.
#[derive(Debug)]
struct JobBook {
    queue: Arc<str>,
    is_over: bool,
    /// Attempts of it that hold a slot for work, and their trackers.
    held: BTreeMap<AttemptId, Arc<str>>,
    /// The highest number used for each task.
    last_numbers: FxHashMap<TaskId, i32>,
    /// Who may commit, while it holds its slot.
    committers: FxHashMap<TaskId, AttemptId>,
}

/// All jobs and slots.
#[derive(Debug, Default)]
pub(super) struct AttemptBooks {
    jobs: BTreeMap<JobId, JobBook>,
    usage: BTreeMap<Arc<str>, PerKind<u32>>,
    live: usize,
}

// === impl AttemptBooks ===

impl AttemptBooks {
    /// Slots that a queue holds for work.
    pub(super) fn usage(&self, queue: &str) -> PerKind<u32> {
        self.usage.get(queue).copied().unwrap_or_default()
    }

    pub(super) fn live_jobs(&self) -> usize {
        self.live
    }

    pub(super) fn oldest_live_job(&self) -> Option<JobId> {
        self.jobs.iter().find(|(_, job)| !job.is_over).map(|(id, _)| *id)
    }

    /// Takes in a fact; the error tells why it cannot be.
    pub(super) fn take(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Job(fact) => self.take_job(fact),
            Fact::KillJobPaid { job, tracker } => {
                self.release(*job, |_, holder| holder == tracker);
                Ok(())
            }
            Fact::Incarnation { .. }
            | Fact::LaunchAnswer { .. }
            | Fact::TrackerForgotten { .. }
            | Fact::KillJobOwed { .. }
            | Fact::Market(_)
            | Fact::JobsCharged { .. } => Ok(()),
        }
    }

    fn take_job(&mut self, fact: &JobFact) -> Result<(), String> {
        match fact {
            JobFact::Accepted(accepted) => {
                let queue: Arc<str> = accepted.spec.queue.as_str().into();
                let job = JobBook {
                    queue,
                    is_over: false,
                    held: BTreeMap::new(),
                    last_numbers: FxHashMap::default(),
                    committers: FxHashMap::default(),
                };
                self.live += 1;
                match self.jobs.insert(accepted.id, job) {
                    None => Ok(()),
                    Some(_) => Err(format!("{} is accepted twice", accepted.id)),
                }
            }
            JobFact::AttemptLaunched { attempt, role, tracker, .. } => self.launch(*attempt, *role, tracker),
            JobFact::AttemptEnded(ended) => {
                self.release(ended.attempt.task.job, |id, _| *id == ended.attempt);
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
                    self.release(*id, |_, _| false);
                    Ok(())
                }
                _ => Err(format!("{id} ends a second time")),
            },
            _ => Ok(()),
        }
    }

    fn launch(&mut self, id: AttemptId, role: AttemptRole, tracker: &Arc<str>) -> Result<(), String> {
        let job = self.jobs.get_mut(&id.task.job).filter(|job| !job.is_over);
        let job = job.ok_or_else(|| format!("{id} is launched after the end of its job"))?;
        if role == AttemptRole::TaskCleanup {
            return Ok(());
        }
        let before = job.last_numbers.insert(id.task, id.number);
        if before.is_some_and(|before| before >= id.number) {
            return Err(format!("{id} is launched twice"));
        }
        if role == AttemptRole::Work {
            job.held.insert(id, tracker.clone());
            self.usage.entry(job.queue.clone()).or_default()[id.task.kind] += 1;
        }
        Ok(())
    }

    /// Frees the slots of a job's attempts that are meant, and forgets a job that needs none any more.
    fn release(&mut self, id: JobId, is_meant: impl Fn(&AttemptId, &Arc<str>) -> bool) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let usage = self.usage.entry(job.queue.clone()).or_default();
        job.held.retain(|attempt, tracker| {
            let goes = is_meant(attempt, tracker);
            if goes {
                usage[attempt.task.kind] = usage[attempt.task.kind].saturating_sub(1);
            }
            !goes
        });
        if job.is_over && job.held.is_empty() {
            self.jobs.remove(&id);
        }
    }

    /// The engine counts the same.
    pub(super) fn compare(&self, engine: &Engine) -> Result<(), String> {
        let scheduler = engine.inspect().scheduler();
        let mut sum = PerKind::<u32>::default();
        for (queue, usage) in &self.usage {
            let counted = scheduler.group(queue).map(|group| scheduler.usage(group)).unwrap_or_default();
            if counted != *usage {
                return Err(format!("{queue} holds {usage:?} slots by the facts, {counted:?} by the engine"));
            }
            Kind::ALL.into_iter().for_each(|kind| sum[kind] += usage[kind]);
        }
        let counted = scheduler.totals().running;
        if counted == sum {
            Ok(())
        } else {
            Err(format!("{sum:?} slots are held by the facts, {counted:?} by the engine"))
        }
    }
}

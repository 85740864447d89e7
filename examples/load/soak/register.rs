//! What trackers and clients saw of each job, and how it must have ended.
//!
//! Laws: no attempt is launched twice, none of a task that is done or at work, none of a job that is over; every accepted job ends, and as
//! its failures and kills say.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::{Duration, Instant};

use jobtracker::fake_tracker::Role;
use jobtracker::model::{AttemptId, AttemptState, JobId, PerKind, RunState, TaskId};

/// What a job was submitted with.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Its maps and reduces.
    pub tasks: PerKind<u32>,
    /// FAILED attempts that fail a task, and with it the job.
    pub max_attempts: u32,
}

/// All jobs.
#[derive(Debug, Default)]
pub struct Register {
    jobs: BTreeMap<JobId, Watched>,
    /// Jobs that have ended as they must.
    over: BTreeMap<JobId, RunState>,
    /// How many ended so.
    pub ended: BTreeMap<RunState, u32>,
    /// Attempts that trackers were given, tasks that they told of as done, attempts that they were told to end.
    pub launched: u64,
    /// Tasks that were told of as done.
    pub done: u64,
    /// Attempts that ended by order.
    pub killed: u64,
    /// What no daemon may do.
    pub wrong: Vec<String>,
}

/// What is known of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Submission {
    UnderWay,
    Accepted,
    /// Its answer got lost.
    Lost,
}

#[derive(Debug)]
struct Watched {
    terms: Terms,
    submission: Submission,
    tasks: BTreeMap<TaskId, TaskBook>,
    kill: Option<Kill>,
    /// Its cleanup was told of as done: when first, and when that was answered.
    cleanup: Option<(Instant, Instant)>,
    end: Option<(RunState, Instant)>,
}

#[derive(Debug, Default)]
struct TaskBook {
    launched: BTreeSet<(AttemptId, Role)>,
    at_work: Option<AttemptId>,
    failures: u32,
    is_done: bool,
}

/// When somebody asked for the end of a job, and had his answer.
#[derive(Clone, Copy, Debug)]
struct Kill {
    sent: Instant,
    answered: Option<Instant>,
}

/// Trackers that were cut off have called again by then.
const SETTLED_AFTER: Duration = Duration::from_secs(15);

// === impl Register ===

impl Register {
    /// A job is about to be submitted.
    pub fn submitting(&mut self, job: JobId, terms: Terms) {
        let submission = Submission::UnderWay;
        let new = Watched { terms, submission, tasks: BTreeMap::new(), kill: None, cleanup: None, end: None };
        self.jobs.insert(job, new);
    }

    /// It was accepted, or else the answer got lost.
    pub fn submitted(&mut self, job: JobId, is_accepted: bool) {
        if let Some(watched) = self.jobs.get_mut(&job) {
            watched.submission = if is_accepted { Submission::Accepted } else { Submission::Lost };
        }
    }

    /// Jobs that nobody has seen the end of.
    pub fn live(&self) -> Vec<JobId> {
        self.jobs.iter().filter(|(_, watched)| watched.end.is_none()).map(|(job, _)| *job).collect()
    }

    /// How many these are.
    pub fn unfinished(&self) -> usize {
        self.jobs.values().filter(|watched| watched.end.is_none()).count()
    }

    /// Jobs that are not known to have ended as they must.
    pub fn unsettled(&self) -> usize {
        self.jobs.len()
    }

    /// Somebody is about to ask for the end of a job.
    pub fn killing(&mut self, job: JobId) {
        if let Some(watched) = self.jobs.get_mut(&job) {
            watched.kill.get_or_insert(Kill { sent: Instant::now(), answered: None });
        }
    }

    /// That was answered.
    pub fn kill_answered(&mut self, job: JobId) {
        if let Some(kill) = self.jobs.get_mut(&job).and_then(|watched| watched.kill.as_mut()) {
            kill.answered.get_or_insert_with(Instant::now);
        }
    }

    /// A tracker is told to run an attempt.
    pub fn launched(&mut self, attempt: AttemptId, role: Role) {
        self.launched += 1;
        let job = attempt.task.job;
        let Some(watched) = self.jobs.get_mut(&job) else {
            let end = self.over.get(&job);
            return self.wrong.push(format!("{attempt} ({role:?}) was launched, but its job is no more: {end:?}"));
        };
        let task = watched.tasks.entry(attempt.task).or_default();
        if !task.launched.insert((attempt, role)) {
            self.wrong.push(format!("{attempt} ({role:?}) was launched twice"));
        }
        if role == Role::Work {
            if task.is_done {
                self.wrong.push(format!("{attempt} was launched, but its task was told of as done"));
            }
            if let Some(other) = task.at_work.replace(attempt) {
                self.wrong.push(format!("{attempt} was launched while {other} is at work"));
            }
        }
    }

    /// A tracker sends its report on an attempt. Once that is its end it runs no more, whether or not an answer comes back: a daemon that
    /// is killed between the two has stored the end.
    pub fn reporting(&mut self, attempt: AttemptId, state: AttemptState) {
        use AttemptState as S;
        let is_at_work = matches!(state, S::Unassigned | S::Running | S::CommitPending);
        let tasks = self.jobs.get_mut(&attempt.task.job).map(|watched| &mut watched.tasks);
        let Some(task) = tasks.and_then(|tasks| tasks.get_mut(&attempt.task)) else { return };
        if !is_at_work && task.at_work == Some(attempt) {
            task.at_work = None;
        }
    }

    /// A tracker had an answer to its report on an attempt, which it first sent then.
    pub fn reported(&mut self, attempt: AttemptId, role: Role, state: AttemptState, sent: Instant) {
        use AttemptState as S;
        let Some(watched) = self.jobs.get_mut(&attempt.task.job) else { return };
        // Behind the last map or reduce come the cleanup and the setup.
        let is_cleanup = attempt.task.number == watched.terms.tasks[attempt.task.kind] as i32;
        let task = watched.tasks.entry(attempt.task).or_default();
        match (role, state) {
            (Role::Work, S::Succeeded) => {
                task.is_done = true;
                self.done += 1;
            }
            (Role::Work | Role::TaskCleanup, S::Failed) => task.failures += 1,
            (Role::Work | Role::TaskCleanup, S::Killed) => self.killed += 1,
            (Role::Housekeeping, S::Succeeded) if is_cleanup => watched.cleanup = Some((sent, Instant::now())),
            _ => {}
        }
    }

    /// A client was told of the state of a job; none: it is not known.
    pub fn told(&mut self, job: JobId, state: Option<RunState>) {
        let Some(watched) = self.jobs.get_mut(&job) else { return };
        match (state, watched.end) {
            (None, None) => match watched.submission {
                Submission::UnderWay => {}
                Submission::Accepted => {
                    self.wrong.push(format!("{job} was accepted, but is not known"));
                    self.jobs.remove(&job);
                }
                Submission::Lost => drop(self.jobs.remove(&job)),
            },
            (Some(state @ (RunState::Succeeded | RunState::Failed | RunState::Killed)), None) => {
                watched.end = Some((state, Instant::now()));
            }
            (state, Some((end, _))) if state.is_some_and(|state| state != end) => {
                self.wrong.push(format!("{job} was {end:?} and is {state:?}"));
            }
            _ => {}
        }
    }

    /// Compares those that have been over for a while with what they must be, and puts them away.
    pub fn settle(&mut self) {
        let ripe = |watched: &Watched| watched.end.filter(|(_, at)| at.elapsed() > SETTLED_AFTER).map(|(end, _)| end);
        let jobs: Vec<(JobId, RunState)> =
            self.jobs.iter().filter_map(|(job, watched)| Some((*job, ripe(watched)?))).collect();
        for (job, end) in jobs {
            let Some(watched) = self.jobs.remove(&job) else { continue };
            if !watched.ends().contains(&end) {
                self.wrong.push(format!("{job} is {end:?}, not one of {:?}: {watched:?}", watched.ends()));
            }
            self.over.insert(job, end);
            *self.ended.entry(end).or_default() += 1;
        }
    }

    /// All that has not ended is wrong now.
    pub fn close(&mut self) {
        self.settle();
        for (job, watched) in &self.jobs {
            self.wrong.push(format!("{job} does not end: {watched:?}"));
        }
    }

    /// How many jobs have ended as they must.
    pub fn settled(&self) -> u64 {
        self.over.len() as u64
    }
}

// === impl Watched ===

impl Watched {
    /// How it may end. Two outcomes only where a kill met the end of the cleanup, or a failure.
    fn ends(&self) -> Vec<RunState> {
        let has_failed = self.tasks.values().any(|task| task.failures >= self.terms.max_attempts);
        let otherwise = if has_failed { RunState::Failed } else { RunState::Succeeded };
        let Some(kill) = self.kill else { return vec![otherwise] };
        let was_over = self.cleanup.is_some_and(|(_, answered)| answered < kill.sent);
        let is_in_time =
            kill.answered.is_some_and(|answered| self.cleanup.is_none_or(|(sent, _)| answered < sent)) && !has_failed;
        match (was_over, is_in_time) {
            (true, _) => vec![otherwise],
            (false, true) => vec![RunState::Killed],
            (false, false) => vec![otherwise, RunState::Killed],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobtracker::model::{Identifier, Kind};

    fn job() -> JobId {
        JobId::new(Identifier::from_number(1), 1)
    }

    fn map(number: i32) -> AttemptId {
        job().task(Kind::Map, 0).attempt(number)
    }

    fn register() -> Register {
        let mut register = Register::default();
        register.submitting(job(), Terms { tasks: PerKind::new(1, 0), max_attempts: 2 });
        register.submitted(job(), true);
        register.launched(map(0), Role::Work);
        register
    }

    fn complaints(act: fn(&mut Register)) -> String {
        let mut register = register();
        act(&mut register);
        register.wrong.join("\n")
    }

    #[test]
    fn what_runs_twice_is_told() {
        assert_eq!(complaints(|_| ()), "");
        assert!(complaints(|r| r.launched(map(0), Role::Work)).contains("launched twice"));
        assert!(complaints(|r| r.launched(map(1), Role::Work)).contains("is at work"));
        let mut register = register();
        register.reporting(map(0), AttemptState::Running);
        register.launched(map(0), Role::TaskCleanup);
        assert_eq!(register.wrong, Vec::<String>::new());
        register.reporting(map(0), AttemptState::FailedUnclean);
        register.launched(map(1), Role::Work);
        assert_eq!(register.wrong, Vec::<String>::new());
        register.reported(map(1), Role::Work, AttemptState::Succeeded, Instant::now());
        register.launched(map(2), Role::Work);
        assert!(register.wrong[0].contains("told of as done"));
    }

    #[test]
    fn a_job_ends_as_its_failures_and_kills_say() {
        let mut register = register();
        let ends = |register: &Register| register.jobs[&job()].ends();
        assert_eq!(ends(&register), [RunState::Succeeded]);
        register.killing(job());
        assert_eq!(ends(&register), [RunState::Succeeded, RunState::Killed]);
        register.kill_answered(job());
        assert_eq!(ends(&register), [RunState::Killed]);
        for number in 0..2 {
            register.reported(map(number), Role::Work, AttemptState::Failed, Instant::now());
        }
        assert_eq!(ends(&register), [RunState::Failed, RunState::Killed]);
    }

    #[test]
    fn an_end_is_for_ever_and_an_accepted_job_is_known() {
        assert!(complaints(|r| r.told(job(), None)).contains("is not known"));
        let wrong = complaints(|r| {
            r.told(job(), Some(RunState::Succeeded));
            r.told(job(), Some(RunState::Running));
        });
        assert!(wrong.contains("was Succeeded and is Some(Running)"));
        assert!(complaints(Register::close).contains("does not end"));
    }
}

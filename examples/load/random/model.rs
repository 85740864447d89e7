//! How each job must end, told from nothing but what was reported and asked, in its order.

use std::collections::BTreeMap;

use jobtracker::fake_tracker::Role;
use jobtracker::model::{AttemptId, AttemptState, Kind, PerKind, RunState, TaskId};

/// What a job was submitted with.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Its maps and reduces.
    pub tasks: PerKind<u32>,
    /// FAILED attempts that fail a task.
    pub max_attempts: PerKind<u32>,
    /// Percent of its tasks that may fail.
    pub percent: PerKind<u32>,
}

/// A job as the model sees it.
#[derive(Clone, Debug)]
pub struct JobModel {
    terms: Terms,
    failures: BTreeMap<TaskId, u32>,
    /// Tasks that are done, and by which attempt.
    done: BTreeMap<TaskId, AttemptId>,
    given_up: PerKind<u32>,
    /// FAILED or KILLED, once that is sure.
    end: Option<RunState>,
    is_over: bool,
}

// === impl JobModel ===

impl JobModel {
    /// A job that was submitted.
    pub fn new(terms: Terms) -> Self {
        let (failures, done) = (BTreeMap::new(), BTreeMap::new());
        Self { terms, failures, done, given_up: PerKind::default(), end: None, is_over: false }
    }

    /// How it ends.
    pub fn end(&self) -> RunState {
        self.end.unwrap_or(RunState::Succeeded)
    }

    /// A tracker has reported an attempt in that state, for the first time.
    pub fn reported(&mut self, attempt: AttemptId, role: Role, state: AttemptState) {
        let task = attempt.task;
        match (role, state) {
            (Role::Work, AttemptState::Succeeded) => {
                self.done.insert(task, attempt);
            }
            (Role::Housekeeping, AttemptState::Succeeded) if self.is_cleanup(task) => self.is_over = true,
            (_, AttemptState::Failed) => self.failed(attempt, role),
            _ => {}
        }
    }

    /// A client asks for its end. `is_untouched`: before anything of it was given out.
    pub fn killed(&mut self, is_untouched: bool) {
        if !self.is_over {
            self.end.get_or_insert(RunState::Killed);
            self.is_over |= is_untouched;
        }
    }

    /// The output of a done map went with its tracker: it is made again while somebody may read it.
    pub fn lost(&mut self, attempt: AttemptId) {
        if self.is_read() && self.done.get(&attempt.task) == Some(&attempt) {
            self.done.remove(&attempt.task);
        }
    }

    fn failed(&mut self, attempt: AttemptId, role: Role) {
        let task = attempt.task;
        if self.is_over || (self.end.is_some() && !self.is_cleanup(task)) {
            return;
        }
        // Done before: its output is gone, which is of interest to those who still read.
        if role == Role::Work && self.done.get(&task) == Some(&attempt) {
            if !self.is_read() {
                return;
            }
            self.done.remove(&task);
        }
        let failures = self.failures.entry(task).or_default();
        *failures += 1;
        if *failures != self.terms.max_attempts[task.kind] {
            return;
        }
        if role == Role::Housekeeping {
            self.end = Some(RunState::Failed);
            self.is_over |= self.is_cleanup(task);
            return;
        }
        let given_up = &mut self.given_up[task.kind];
        *given_up += 1;
        if *given_up * 100 > self.terms.percent[task.kind] * self.terms.tasks[task.kind] {
            self.end = Some(RunState::Failed);
        }
    }

    /// Whether a reduce is still to be done.
    fn is_read(&self) -> bool {
        let done = self.done.keys().filter(|task| task.kind == Kind::Reduce).count() as u32;
        self.end.is_none() && done + self.given_up.reduce < self.terms.tasks.reduce
    }

    /// The cleanup counts as one behind the last task.
    fn is_cleanup(&self, task: TaskId) -> bool {
        task.number == self.terms.tasks[task.kind] as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobtracker::model::{Identifier, JobId};

    fn attempt(kind: Kind, task: i32, number: i32) -> AttemptId {
        JobId::new(Identifier::from_number(1), 1).task(kind, task).attempt(number)
    }

    fn job() -> JobModel {
        let terms = Terms { tasks: PerKind::new(2, 1), max_attempts: PerKind::new(2, 1), percent: PerKind::new(50, 0) };
        JobModel::new(terms)
    }

    #[test]
    fn a_job_lives_with_the_failed_tasks_it_may_have() {
        let mut model = job();
        for number in 0..2 {
            model.reported(attempt(Kind::Map, 0, number), Role::Work, AttemptState::Failed);
        }
        assert_eq!(model.end(), RunState::Succeeded);
        for number in 0..2 {
            model.reported(attempt(Kind::Map, 1, number), Role::Work, AttemptState::Failed);
        }
        model.killed(false);
        assert_eq!(model.end(), RunState::Failed);
    }

    #[test]
    fn lost_output_counts_only_while_somebody_reads() {
        let mut model = job();
        let map = attempt(Kind::Map, 0, 0);
        model.reported(map, Role::Work, AttemptState::Succeeded);
        model.reported(map, Role::Work, AttemptState::Failed);
        model.reported(attempt(Kind::Map, 0, 1), Role::Work, AttemptState::Succeeded);
        model.reported(attempt(Kind::Reduce, 0, 0), Role::Work, AttemptState::Succeeded);
        model.reported(attempt(Kind::Map, 0, 1), Role::Work, AttemptState::Failed);
        assert_eq!(model.failures.get(&map.task), Some(&1));
    }

    #[test]
    fn a_cleanup_that_fails_fails_a_killed_job() {
        let mut model = job();
        model.killed(false);
        model.reported(attempt(Kind::Reduce, 1, 0), Role::Housekeeping, AttemptState::Failed);
        assert_eq!(model.end(), RunState::Failed);
    }
}

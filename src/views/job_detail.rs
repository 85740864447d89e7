//! A job down to its attempts, as pages show it, and the attempts that hold slots now.

use std::sync::Arc;

use crate::api::{AttemptDetail, JobDetail, LiveAttempt, TaskAttempt, TaskState};
use crate::mapreduce::{AttemptRole, KillRequest, has_failed_too_often};
use crate::model::{AttemptState, Kind, PerKind};

use super::attempt_view::AttemptView;
use super::job_view::JobView;
use super::read_model::Views;

impl JobView {
    /// It down to its attempts; `is_over`: nothing of it runs again. Of its attempts at most so many.
    pub(crate) fn detail(&self, is_over: bool, most_attempts: usize) -> JobDetail {
        let runs = |kind| self.task_runs(kind, is_over);
        let mut detail = JobDetail {
            runs: PerKind::new(runs(Kind::Map), runs(Kind::Reduce)),
            output: self.spec().output.clone(),
            ..JobDetail::default()
        };
        for succeeded in [false, true] {
            for kind in Kind::ALL {
                let wanted = |attempt: &&AttemptView| (attempt.state() == AttemptState::Succeeded) == succeeded;
                for attempt in self.tasks(kind).iter().filter(wanted) {
                    if detail.attempts.len() < most_attempts {
                        detail.attempts.push(self.attempt_detail(kind, attempt));
                    } else {
                        detail.attempts_left_out += 1;
                    }
                }
            }
        }
        detail
    }

    fn attempt_detail(&self, kind: Kind, attempt: &AttemptView) -> AttemptDetail {
        let texts = attempt.texts();
        let moment = |ms: i64| (ms != 0).then_some(ms);
        let number = i32::try_from(attempt.task).unwrap_or(i32::MAX);
        AttemptDetail {
            attempt: self.id().task(kind, number).attempt(attempt.number()),
            task: match attempt.role() {
                AttemptRole::JobSetup => "setup",
                AttemptRole::JobCleanup => "cleanup",
                AttemptRole::Work | AttemptRole::TaskCleanup if kind == Kind::Map => "map",
                AttemptRole::Work | AttemptRole::TaskCleanup => "reduce",
            },
            state: attempt.state(),
            is_preempted: attempt.kill_request() == Some(KillRequest::Preempt),
            tracker: attempt.tracker().clone(),
            launch_ms: attempt.launch_ms(),
            finish_ms: attempt.finish_ms(),
            shuffle_ms: moment(texts.shuffle_finish_ms),
            sort_ms: moment(texts.sort_finish_ms),
            slots: attempt.slots(),
            diagnostics: TaskAttempt::shown_diagnostics(texts.diagnostics.into_string()).unwrap_or_default().into(),
            status: texts.status,
        }
    }

    /// How far a task is; `is_over`: nothing of the job runs again.
    pub(crate) fn task_state(&self, kind: Kind, task: u32, is_over: bool) -> TaskState {
        state_of(self.tasks(kind).of(task), self.max_attempts(kind), is_over)
    }

    /// The states of its tasks of a kind in the order of their numbers, as lengths of runs of one state.
    pub(crate) fn task_runs(&self, kind: Kind, is_over: bool) -> Vec<(TaskState, u32)> {
        let total = self.total()[kind];
        let untouched = state_of(&[], 1, is_over);
        let mut runs: Vec<(TaskState, u32)> = Vec::new();
        let mut add = |state, count: u32| match runs.last_mut() {
            _ if count == 0 => {}
            Some((last, length)) if *last == state => *length += count,
            _ => runs.push((state, count)),
        };
        let mut next = 0;
        for task in self.tasks(kind).iter().map(AttemptView::task).filter(|task| *task < total) {
            if task >= next {
                add(untouched, task - next);
                add(self.task_state(kind, task, is_over), 1);
                next = task + 1;
            }
        }
        add(untouched, total.saturating_sub(next));
        runs
    }
}

impl Views {
    /// The live attempts of all jobs, by job, at most so many.
    pub(crate) fn live_attempts(&self, most: usize) -> Vec<LiveAttempt> {
        let unfinished = self.jobs().filter(|job| job.finish_ms().is_none());
        let attempts = unfinished.flat_map(|job| {
            let (user, queue): (Arc<str>, Arc<str>) =
                (job.spec().user.as_str().into(), job.spec().queue.as_str().into());
            Kind::ALL.into_iter().flat_map(move |kind| {
                let (user, queue) = (user.clone(), queue.clone());
                let live = job.tasks(kind).iter().filter(|attempt| attempt.is_live());
                live.map(move |attempt| LiveAttempt {
                    attempt: job
                        .id()
                        .task(kind, i32::try_from(attempt.task).unwrap_or(i32::MAX))
                        .attempt(attempt.number()),
                    user: user.clone(),
                    queue: queue.clone(),
                    tracker: attempt.tracker().clone(),
                    launch_ms: attempt.launch_ms(),
                    slots: attempt.slots(),
                })
            })
        });
        attempts.take(most).collect()
    }
}

/// How far a task with these attempts is. A task of a job that is over has FAILED where its failures gave it up, as the JobTracker's
/// reports to clients count it; what else is not done was stopped with the job.
fn state_of(attempts: &[AttemptView], max_attempts: u32, is_over: bool) -> TaskState {
    let count = |is: fn(&AttemptView) -> bool| attempts.iter().filter(|attempt| is(attempt)).count();
    let failures = count(|attempt| attempt.state() == AttemptState::Failed);
    let is_last_preempted = || attempts.last().and_then(AttemptView::kill_request) == Some(KillRequest::Preempt);
    if count(|attempt| attempt.state() == AttemptState::Succeeded) > 0 {
        TaskState::Succeeded
    } else if !is_over && count(AttemptView::is_live) > 0 {
        TaskState::Running
    } else if has_failed_too_often(attempts, u32::try_from(failures).unwrap_or(u32::MAX), max_attempts) {
        TaskState::Failed
    } else if is_over {
        TaskState::Killed
    } else if is_last_preempted() {
        TaskState::Preempted
    } else {
        TaskState::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::{AcceptedJob, EndedAttempt, JobEstimate, JobFact, JobSpec};
    use crate::model::{AttemptId, JobId, RunState};
    use crate::views::ListedState;

    fn job(maps: u32) -> JobView {
        let spec = JobSpec { map_max_attempts: 2, ..JobSpec::with_defaults("alice", "q", maps, 1) };
        JobView::accepted(&AcceptedJob {
            id: "job_1_0001".parse().unwrap(),
            spec: Arc::new(spec),
            splits: Arc::default(),
            order: 1,
            submit_ms: 1,
            token_file: Arc::default(),
            first_attempt: 0,
            estimate: JobEstimate::default(),
            plan: None,
            job_xml: Arc::default(),
        })
    }

    fn id(task: i32, number: i32) -> AttemptId {
        "job_1_0001".parse::<JobId>().unwrap().task(Kind::Map, task).attempt(number)
    }

    fn launch(job: &mut JobView, task: i32, number: i32) {
        job.apply(&JobFact::AttemptLaunched {
            attempt: id(task, number),
            role: AttemptRole::Work,
            tracker: "t".into(),
            response_id: 1,
            slots: 1,
            at_ms: 5,
        });
    }

    fn end(job: &mut JobView, task: i32, number: i32, state: AttemptState) {
        launch(job, task, number);
        job.apply(&JobFact::AttemptEnded(Box::new(EndedAttempt {
            attempt: id(task, number),
            state,
            start_ms: 6,
            finish_ms: 9,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            output_bytes: -1,
            diagnostics: "no such file".to_owned(),
            state_text: String::new(),
            counters: None,
        })));
    }

    #[test]
    fn each_task_is_in_one_run_and_its_state_follows_from_its_attempts() {
        let mut job = job(9);
        end(&mut job, 1, 0, AttemptState::Failed);
        end(&mut job, 1, 1, AttemptState::Succeeded);
        end(&mut job, 2, 0, AttemptState::Succeeded);
        launch(&mut job, 3, 0);
        end(&mut job, 4, 0, AttemptState::Failed);
        end(&mut job, 5, 0, AttemptState::Failed);
        end(&mut job, 5, 1, AttemptState::Failed);
        launch(&mut job, 6, 0);
        job.apply(&JobFact::AttemptKillRequested { attempt: id(6, 0), request: KillRequest::Preempt });
        end_again(&mut job, 6);
        // The setup's is no task of the picture.
        end(&mut job, 10, 0, AttemptState::Succeeded);
        use crate::api::TaskState::{Failed, Killed, Preempted, Running, Succeeded, Waiting};
        let detail = job.detail(false, 100);
        let expected =
            [(Waiting, 1), (Succeeded, 2), (Running, 1), (Waiting, 1), (Failed, 1), (Preempted, 1), (Waiting, 2)];
        assert_eq!(detail.runs.map, expected);
        assert_eq!(detail.runs.reduce, [(Waiting, 1)]);
        let over = job.detail(true, 100).runs;
        assert_eq!(
            over.map,
            [(Killed, 1), (Succeeded, 2), (Killed, 2), (Failed, 1), (Killed, 3)],
            "what is neither done nor given up was stopped with the job, after a failure below the limit too"
        );
        assert_eq!(over.reduce, [(Killed, 1)]);
        let first = detail.failures()[0];
        assert_eq!((first.attempt, &*first.diagnostics, detail.failures().len()), (id(1, 0), "no such file", 4));
        assert!(detail.attempts.iter().any(|attempt| attempt.is_preempted && attempt.attempt == id(6, 0)));
    }

    /// Of a job with very many tasks: pages are found by counts of each chunk.
    #[test]
    fn tasks_in_a_state_are_found_in_the_order_of_their_numbers() {
        const MAPS: u32 = 1_000_000;
        let mut job = job(MAPS);
        for task in (0..30_000).step_by(3) {
            end(&mut job, task, 0, AttemptState::Succeeded);
        }
        let (page, done) = job.tasks_listed(Kind::Map, ListedState::Complete, 2_000, 2_000);
        assert_eq!((page.len(), page[0], page[1_999], done), (2_000, 6_000, 11_997, 10_000));
        let (last, pending) = job.tasks_listed(Kind::Map, ListedState::Pending, 989_997, 2_000);
        assert_eq!((last, pending), (vec![999_997, 999_998, 999_999], 990_000));
        job.apply(&JobFact::Ending { job: job.id(), outcome: RunState::Killed, reason: String::new(), at_ms: 9 });
        let killed = job.tasks_listed(Kind::Map, ListedState::Killed, 0, 3);
        assert_eq!(killed, (vec![1, 2, 4], 990_000));
        assert_eq!(job.tasks_listed(Kind::Map, ListedState::Pending, 0, 3), (Vec::new(), 0));
    }

    fn end_again(job: &mut JobView, task: i32) {
        job.apply(&JobFact::AttemptEnded(Box::new(EndedAttempt {
            attempt: id(task, 0),
            state: AttemptState::Killed,
            start_ms: 6,
            finish_ms: 9,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            output_bytes: -1,
            diagnostics: String::new(),
            state_text: String::new(),
            counters: None,
        })));
    }

    #[test]
    fn of_many_attempts_those_that_did_not_succeed_are_kept() {
        let mut job = job(9);
        for task in 0..4 {
            end(&mut job, task, 0, AttemptState::Succeeded);
        }
        end(&mut job, 4, 0, AttemptState::Failed);
        let detail = job.detail(false, 2);
        let kept: Vec<_> = detail.attempts.iter().map(|attempt| attempt.attempt.task.number).collect();
        assert_eq!((kept, detail.attempts_left_out), (vec![4, 0], 3));
    }
}

//! Calls about finished jobs that memory no longer has: answered from the database for a time after their end, if the configuration says so
//! (1.2.1 `CompletedJobStatusStore`). Task reports, which the Java JobTracker has forgotten by then, are answered too.

use std::rc::Rc;

use crate::clock::wall_ms;
use crate::engine::ReportKind;
use crate::ipc::{Answer, PendingCall, RemoteError};
use crate::mapreduce::Job;
use crate::model::JobId;
use crate::scheduler::AppId;
use crate::store::FinishedJobReader;
use crate::wire::protocol::Value;

use super::dispatcher::Dispatcher;
use super::finished_jobs;

impl Dispatcher {
    /// Calls `then` with the job, without its tasks, if memory no longer has it and it is still answered; else with none.
    pub(super) fn with_forgotten(
        self: &Rc<Self>,
        id: JobId,
        pending: PendingCall,
        then: impl FnOnce(&Rc<Self>, Option<Job>, PendingCall) + 'static,
    ) {
        let reader = self.finished_jobs.reader().filter(|_| self.owner.with_engine(|engine| !engine.has_job(id)));
        let Some((reader, answered_for_ms)) = reader.zip(self.answered_for_ms) else {
            return then(self, None, pending);
        };
        let this = self.clone();
        tokio::task::spawn_local(async move {
            let permit = this.finished_jobs.permit().await;
            let found = tokio::task::spawn_blocking(move || reader.finished(id)).await;
            drop(permit);
            let found = match found {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => return this.refuse(pending, RemoteError::io(error)),
                Err(error) => {
                    return this
                        .refuse(pending, RemoteError::io(format_args!("the JobTracker failed internally: {error}")));
                }
            };
            let since_ms = wall_ms().saturating_sub(answered_for_ms);
            let job = found.filter(|job| job.finish_ms >= since_ms);
            // No scheduler knows it.
            then(&this, job.map(|job| Job::from_finished(job, AppId::new(0))), pending);
        });
    }

    pub(super) fn job_profile(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        self.with_forgotten(id, pending, move |this, job, pending| match job {
            Some(job) => {
                let profile = this.owner.with_engine(|engine| engine.profile_of(&job));
                this.answer_value(pending, Value::JobProfile(Some(profile)));
            }
            None => this.show(pending, move |engine| engine.job_profile(id), Value::JobProfile),
        });
    }

    pub(super) fn job_status(self: &Rc<Self>, id: JobId, pending: PendingCall) {
        self.with_forgotten(id, pending, move |this, job, pending| match job {
            Some(job) => this.answer_value(pending, Value::JobStatus(Some(job.status(this.acls_enabled)))),
            None => this.show(pending, move |engine| engine.job_status(id), Value::JobStatus),
        });
    }

    /// The counters of a job that memory no longer has; gives the call back if that is none.
    pub(super) fn forgotten_counters(
        self: &Rc<Self>,
        id: JobId,
        pending: PendingCall,
        others: impl FnOnce(&Rc<Self>, PendingCall) + 'static,
    ) {
        self.with_forgotten(id, pending, move |this, job, pending| {
            let Some(job) = job else { return others(this, pending) };
            // Its access lists may name groups.
            this.as_caller_of(&job.spec.clone(), pending, move |this, caller, pending| {
                let answer = this.owner.with_engine(|engine| match engine.check_view_counters_of(&job, &caller) {
                    Ok(()) => match engine.counters_of(&job) {
                        Ok(counters) => Answer::Value(Value::Counters(Some(counters))),
                        Err(exceeded) => Answer::Error(RemoteError::io(exceeded)),
                    },
                    Err(refusal) => Answer::Error(refusal.into()),
                });
                this.owner.answer(pending, answer, Default::default());
            });
        });
    }

    /// The same of reports on its tasks.
    pub(super) fn forgotten_reports(
        self: &Rc<Self>,
        id: JobId,
        kind: ReportKind,
        pending: PendingCall,
        others: impl FnOnce(&Rc<Self>, PendingCall) + 'static,
    ) {
        self.with_forgotten(id, pending, move |this, job, pending| {
            let Some(job) = job else { return others(this, pending) };
            this.as_caller_of(&job.spec.clone(), pending, move |this, caller, pending| {
                if let Err(refusal) = this.owner.with_engine(|engine| engine.check_view_details_of(&job, &caller)) {
                    return this.refuse(pending, refusal.into());
                }
                let read = move |store: &FinishedJobReader| finished_jobs::task_reports(store, id, kind);
                if let Err(pending) = this.finished_jobs.answer(&this.owner, pending, read) {
                    this.answer_value(pending, Value::TaskReports(Vec::new()));
                }
            });
        });
    }
}

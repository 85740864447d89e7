//! Submission in two phases: the edge reads the files, the engine validates them, the edge writes the system directory,
//! the engine accepts the job (1.2.1 `JobTracker.submitJob`). A refusal leaves no state. A job begins once the policy lets
//! it: until then it is accepted, PREP for clients, without tasks (1.2.1 `EagerTaskInitializationListener`,
//! `JobInitializationPoller`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::{Engine, Handled, ReadSubmission, Reply, SubmissionReply, Wait};
use crate::engine::state::{
    AuditEntry, Caller, Fact, IdOwner, LogLevel, MAX_PENDING, MarketState, PendingSubmission, Refusal, Tracker,
};
use crate::mapreduce::{AcceptedJob, Job, JobFact, JobSpec, SplitTable, StoredJob, job_bytes};
use crate::market::{JobDenied, JobSignature};
use crate::model::{JobId, Now, TrackerId};
use crate::scheduler::constraint::{JobEstimate, JobPlan, TimedWork};
use crate::scheduler::{AppId, NewApp};
use crate::wire::file::{JOB_TOKEN_ALIAS, write_token_storage};
use crate::wire::{Credentials, Encode, JobStatus, Text, Token, Writer, limits, worker_name};

/// The kind of a job token in 1.2.1.
const JOB_TOKEN_KIND: &str = "mapreduce.job";

/// Most maps and reduces of one job, whatever the configuration allows: a number in job.xml must not take all memory.
const MAX_TASKS: u32 = 1_000_000;

impl Engine {
    /// Reserves a job id for the owner: a new one, or at the limit the oldest unused id of the caller with the most.
    pub(super) fn new_job_id(&mut self, owner: IdOwner) -> Handled {
        let Some(id) = self.submissions.reserve_new_id(self.config.identifier, owner) else {
            let text = "all job ids of this JobTracker are used up: restart it";
            return Err(Refusal::Invalid(text.to_owned()));
        };
        // Wait until the start is durable: a crash that undid it would let the next run issue the same ids.
        Ok((Reply::JobId(id), Wait::For(self.run.fact)))
    }

    /// Whether the id may be one of an earlier run that only the state store knows.
    pub(crate) fn is_id_of_before(&self, id: JobId) -> bool {
        id.identifier != self.config.identifier
            && self.jobs.get(id).is_none()
            && !self.submissions.reserved_ids().contains(id)
    }

    pub(super) fn on_unused_id_found(&mut self, id: JobId, owner: IdOwner) -> (Reply, Wait) {
        // It may have been used since the query of the store.
        if self.is_id_of_before(id) {
            self.submissions.reserve_old_id(id, owner);
        }
        (Reply::Done, Wait::Nothing)
    }

    /// The reserved job ids with their users, to hand over to another process.
    pub(crate) fn reserved_ids(&self) -> impl Iterator<Item = (JobId, Arc<str>)> {
        self.submissions.reserved_ids().iter().map(|(id, user)| (id, user.clone()))
    }

    /// Keeps the reservations of the previous process.
    pub(super) fn on_job_ids_inherited(&mut self, ids: Vec<(JobId, Arc<str>)>) -> (Reply, Wait) {
        for (id, user) in ids {
            if self.is_id_of_before(id) {
                self.submissions.inherit_id(id, user);
            }
        }
        (Reply::Done, Wait::Nothing)
    }

    /// Refuses a user that has not reserved the id.
    fn check_id_owner(&self, id: JobId, user: &str) -> Result<(), Refusal> {
        match self.submissions.reserved_ids().user(id) {
            Some(owner) if **owner == *user => Ok(()),
            Some(_) => Err(id_of_another(id, user)),
            None => Err(Refusal::Invalid(format!(
                "{id} was not given out by this JobTracker, or long ago, or has been used: ask for a new job id"
            ))),
        }
    }

    /// Whether the user may hand over files of the id now, before it submits under it.
    ///
    /// # Errors
    /// The id is not one that was issued to the user, or the job is being submitted or was.
    pub(crate) fn check_upload(&self, id: JobId, user: &str) -> Result<(), Refusal> {
        if self.jobs.get(id).is_some() || self.submissions.is_pending(id) {
            return Err(Refusal::Invalid(format!("{id} has been submitted: its files are fixed")));
        }
        self.check_id_owner(id, user)
    }

    /// Whether a job of the id is being submitted or has not ended, so that its files are needed.
    pub(crate) fn needs_files(&self, id: JobId) -> bool {
        self.submissions.is_pending(id) || self.jobs.get(id).is_some_and(|job| !job.is_over())
    }

    /// Whether a job of the id is known, ended or not.
    pub(crate) fn has_job(&self, id: JobId) -> bool {
        self.jobs.get(id).is_some()
    }

    pub(super) fn on_submission_requested(&mut self, id: JobId, caller: &Caller) -> Handled {
        self.check_safe_mode()?;
        if let Some(job) = self.jobs.get(id) {
            if job.spec.user != *caller.user {
                return Err(id_of_another(id, &caller.user));
            }
            // 1.2.1 answers a repeated submission with the job's status.
            let status = self.status_of(job);
            return Ok((Reply::Submission(SubmissionReply::Accepted(status)), Wait::For(job.last_fact)));
        }
        self.check_id_owner(id, &caller.user)?;
        if self.submissions.is_pending(id) {
            return Err(Refusal::Invalid(format!("{id} is being submitted already")));
        }
        if self.submissions.is_full() {
            return Err(Refusal::Invalid(format!("{MAX_PENDING} submissions are under way: try again later")));
        }
        self.submissions.insert(id, PendingSubmission::Reading(caller.clone()));
        Ok((Reply::Submission(SubmissionReply::ReadFiles), Wait::Nothing))
    }

    pub(super) fn on_submission_read(&mut self, mut read: ReadSubmission, now: Now) -> Handled {
        JobSpec::cut_texts(&mut read.spec);
        match self.submissions.remove(read.id) {
            Some(PendingSubmission::Reading(caller)) if caller == read.caller => {}
            _ => return Err(Refusal::Invalid(format!("{} is not being submitted by this user", read.id))),
        }
        self.validate(&read, now)?;
        // The account that pays for an accepted job stays the same.
        let is_signed = match self.config.accepts_recorded {
            true => read.spec.payer().is_some(),
            false => self.ruling_market().is_some(),
        };
        Arc::make_mut(&mut read.spec).is_signed = Some(is_signed);
        let token_file = token_file(&read);
        let accepted = AcceptedJob {
            id: read.id,
            spec: read.spec,
            splits: read.splits,
            order: 0,
            submit_ms: now.wall_ms,
            token_file: token_file.clone(),
            first_attempt: 0,
            estimate: JobEstimate::default(),
            plan: None,
            job_xml: read.job_xml,
        };
        let real_user = read.caller.real_user;
        self.submissions.insert(read.id, PendingSubmission::Writing(Box::new(accepted), real_user));
        // The signature is used up: the reply, good or bad, waits until that is durable.
        Ok((Reply::Submission(SubmissionReply::WriteSystemDir { job: read.id, token_file }), Wait::All))
    }

    /// Validates a submission by its job.xml alone, before the edge reads its other files. Changes nothing and does not
    /// use up the signature; [`Event::SubmissionRead`](crate::engine::Event::SubmissionRead) validates all of it again.
    ///
    /// # Errors
    /// The refusal, by the same order of checks as the full validation.
    pub(crate) fn check_job_conf(
        &self,
        id: JobId,
        caller: &Caller,
        spec: &JobSpec,
        signature: &JobSignature,
        now: Now,
    ) -> Result<(), Refusal> {
        let user = &*caller.user;
        if spec.user != user {
            let (names, user) = (limits::excerpt(&spec.user), limits::excerpt(user));
            return Err(Refusal::Invalid(format!("job.xml of {id} names user {names}, but {user} submits it")));
        }
        check_texts(id, spec)?;
        self.check_task_count(spec)?;
        let live_tasks = self.jobs.live.tasks() + self.submissions.tasks();
        self.config.limits.check_room(id, spec, live_tasks)?;
        if self.config.accepts_recorded {
            return self.check_recorded(id, spec);
        }
        let Some(market) = self.ruling_market() else {
            self.check_queue(&spec.queue, caller)?;
            self.check_pool(spec)?;
            self.config.limits.check_memory(id, spec)?;
            self.check_policy(id, spec, None)?;
            return self.check_submitter(user, signature, now);
        };
        self.config.limits.check_memory(id, spec)?;
        // Ownership is checked before existence: names of other queues do not leak.
        if self.cluster.scheduler.group(&spec.queue).is_none() && spec.queue == user {
            return Err(Refusal::unknown_queue(&spec.queue));
        }
        market.check_job(user, &spec.queue, signature, now).map_err(|denied| access_denied(&denied))?;
        self.check_order_of(id, spec, now.wall_ms)
    }

    /// What is asked of a job that was accepted before: its queue, unless a switch would keep it, and what the policy says.
    fn check_recorded(&self, id: JobId, spec: &JobSpec) -> Result<(), Refusal> {
        if !self.config.policy.keeps_queue(&spec.queue, &self.config.queues) {
            return Err(Refusal::unknown_queue(&spec.queue));
        }
        self.check_pool(spec)?;
        self.check_policy(id, spec, None).map(drop)
    }

    /// Validates a submission; the signature last, so that a job refused for another reason does not use it up.
    fn validate(&mut self, read: &ReadSubmission, now: Now) -> Result<(), Refusal> {
        let ReadSubmission { id, caller, spec, splits, signature, .. } = read;
        self.check_job_conf(*id, caller, spec, signature, now)?;
        check_split_count(*id, spec, splits)?;
        self.check_bytes(read)?;
        self.check_policy(*id, spec, self.timed_work(spec, splits, now.wall_ms))?;
        if self.config.accepts_recorded {
            return Ok(());
        }
        let needs_signature = self.config.needs_signatures;
        let uses_signature = |market: &&mut MarketState| needs_signature || market.accounts.is_ruling();
        let Some(market) = self.market.as_mut().filter(uses_signature) else { return Ok(()) };
        let facts = match market.accounts.is_ruling() {
            true => market.accounts.authorize_job(&caller.user, &spec.queue, signature, now),
            false => market.accounts.authorize_submitter(&caller.user, signature, now),
        };
        for fact in facts.map_err(|denied| access_denied(&denied))? {
            self.outbox.record(Fact::Market(fact));
        }
        Ok(())
    }

    /// Refuses an unsigned job where the market does not rule and every submission must be signed.
    fn check_submitter(&self, user: &str, signature: &JobSignature, now: Now) -> Result<(), Refusal> {
        if !self.config.needs_signatures {
            return Ok(());
        }
        let checked = match self.market() {
            Some(market) => market.check_submitter(user, signature, now),
            // The configuration is refused without an ACL file.
            None => Err(JobDenied::MissingSignature),
        };
        checked.map_err(|denied| access_denied(&denied))
    }

    /// Refuses a job whose texts, splits and credentials exceed the memory limit.
    fn check_bytes(&self, read: &ReadSubmission) -> Result<(), Refusal> {
        let bytes = job_bytes(&read.spec, &read.splits, credentials_bytes(&read.credentials));
        self.check_live_bytes(&read.id.to_string(), &read.spec.user, bytes).map_err(Refusal::Invalid)
    }

    /// Refuses what a user sent where it exceeds the memory limit, with all that is there of jobs and applications.
    pub(super) fn check_live_bytes(&self, what: &str, user: &str, bytes: u64) -> Result<(), String> {
        let Some(most) = self.config.limits.max_live_bytes else { return Ok(()) };
        let of_applications = self.applications.live_bytes();
        let own = of_applications.of(user);
        let others = [(user, own), ("", of_applications.all().saturating_sub(own))];
        self.jobs.live.bytes().check_room(what, user, bytes, self.submissions.bytes().chain(others), most)
    }

    /// Refuses a job whose files disagree or that has too many tasks.
    pub(super) fn check_tasks(&self, id: JobId, spec: &JobSpec, splits: &SplitTable) -> Result<(), Refusal> {
        check_split_count(id, spec, splits)?;
        self.check_task_count(spec)
    }

    fn check_task_count(&self, spec: &JobSpec) -> Result<(), Refusal> {
        let tasks = u64::from(spec.maps) + u64::from(spec.reduces);
        let limit = self.config.max_tasks_per_job.unwrap_or(MAX_TASKS).min(MAX_TASKS);
        if tasks > u64::from(limit) {
            return Err(Refusal::InvalidJob(format!(
                "The number of tasks for this job {tasks} exceeds the configured limit {limit}"
            )));
        }
        Ok(())
    }

    pub(super) fn check_queue(&self, name: &str, caller: &Caller) -> Result<(), Refusal> {
        let queue =
            self.config.queues.iter().find(|queue| queue.name == name).ok_or_else(|| Refusal::unknown_queue(name))?;
        if !queue.running {
            return Err(Refusal::Invalid(format!("Queue \"{name}\" is not running")));
        }
        self.check_submission(name, &queue.submit_acl, caller)
    }

    /// Asks the policy whether it accepts the job now, and what keeps its deadline; without its work, what can be said by
    /// its job.xml.
    fn check_policy(&self, id: JobId, spec: &JobSpec, deadline: Option<TimedWork>) -> Result<Option<JobPlan>, Refusal> {
        let Some(group) = self.cluster.scheduler.group(&spec.queue) else { return Ok(None) };
        let tasks = u64::from(spec.maps) + u64::from(spec.reduces);
        let app = NewApp { name: &id.to_string(), group, user: &spec.user, tasks, deadline };
        self.cluster.scheduler.check_new_app(&app).map_err(|error| Refusal::Invalid(error.to_string()))
    }

    pub(super) fn on_system_dir_written(&mut self, id: JobId, now: Now) -> Handled {
        let Some(PendingSubmission::Writing(mut accepted, real_user)) = self.submissions.remove(id) else {
            return Err(Refusal::Invalid(format!("{id} is not being submitted")));
        };
        // Others may have been accepted since it was checked.
        let deadline = self.timed_work(&accepted.spec, &accepted.splits, accepted.submit_ms);
        let checked = self.check_policy(id, &accepted.spec, deadline);
        let entered = checked.and_then(|plan| {
            accepted.plan = plan;
            self.enter_job(accepted, now)
        });
        match entered {
            Ok(status) => {
                if let Some(job) = self.jobs.get(id) {
                    let entry = AuditEntry::new("submit", &*job.spec.user).with("job", id);
                    let entry = entry.with("queue", &job.spec.queue).with("name", limits::excerpt(&job.spec.name));
                    self.outbox.audit(entry.with_some("real-user", real_user));
                }
                Ok((Reply::Submission(SubmissionReply::Accepted(status)), Wait::All))
            }
            Err(refusal) => Ok((Reply::Refused(refusal), Wait::All)),
        }
    }

    /// Accepts a valid job, as the last in the order of submissions.
    pub(super) fn enter_job(&mut self, mut accepted: Box<AcceptedJob>, now: Now) -> Result<JobStatus, Refusal> {
        let id = accepted.id;
        let group = self.group_of_submission(&accepted.spec)?;
        accepted.order = self.submissions.next_order();
        accepted.estimate = self.estimate(&accepted.spec);
        let job = self.schedule_job(&accepted, group, accepted.spec.priority);
        let job = job.map_err(|error| Refusal::Invalid(error.to_string()))?;
        self.submissions.release_id(id);
        self.tallies.accepted += 1;
        let status = job.status(self.config.acls_enabled);
        if let Some(market) = &mut self.market {
            market.costs.open(&job);
        }
        self.jobs.insert_live(job);
        let submit_ms = accepted.submit_ms;
        self.hold_delegation_tokens(id, &accepted.token_file);
        self.outbox.job_facts.push(JobFact::Accepted(accepted));
        self.record_job_facts();
        self.place_order_of(id, Now { wall_ms: submit_ms, ..now });
        Ok(status)
    }

    /// Logs that another live worker has the name of one that registers.
    pub(super) fn warn_of_namesake(&mut self, id: TrackerId, now: Now) {
        let Some((tracker, other)) = self.trackers.get(id).zip(self.live_namesake(id, now)) else { return };
        let (worker, name, others) = (worker_name(&tracker.name), &tracker.name, &other.name);
        let text = format!(
            "two workers are called {worker}: {others} and now {name}; `jobtracker workers drain` and `resume` mean \
             both: give each a --name of its own"
        );
        self.outbox.log_line(LogLevel::Warning, text);
    }

    /// Another live worker of the same given name.
    pub(super) fn live_namesake(&self, id: TrackerId, now: Now) -> Option<&Tracker> {
        self.trackers.namesakes(id).find(|other| !self.is_silent(other, now))
    }

    /// Begins the jobs that the policy lets begin now. Called after each event, since any may make room.
    pub(super) fn begin_jobs(&mut self, now: Now) {
        for app in self.cluster.scheduler.begin_apps(now) {
            let Some(splits) = self.jobs.by_app(app).map(|job| job.splits.clone()) else { continue };
            self.learn_racks(&splits, now);
            if let Some(job) = self.jobs.by_app_mut(app) {
                job.begin(self.cluster.scheduler.topology_mut(), &mut self.cluster.housekeeping);
            }
        }
    }

    /// Begins jobs of an earlier run that had begun, and those that the policy lets begin now; the others wait.
    pub(super) fn begin_restored_jobs(&mut self, jobs: &mut [(Job, StoredJob)], now: Now) {
        for (job, _) in jobs.iter().filter(|(_, stored)| stored.has_begun()) {
            self.cluster.scheduler.resume_app(job.app);
        }
        let beginners: BTreeSet<AppId> = self.cluster.scheduler.begin_apps(now).into_iter().collect();
        for (job, stored) in jobs {
            if stored.has_begun() || beginners.contains(&job.app) {
                self.learn_racks(&job.splits, now);
                job.begin(self.cluster.scheduler.topology_mut(), &mut self.cluster.housekeeping);
            }
        }
    }
}

/// Refuses texts that exceed their limits. Texts that are cut instead are cut before.
pub(super) fn check_texts(id: JobId, spec: &JobSpec) -> Result<(), Refusal> {
    let url = spec.end_notification.as_ref().map(|notification| notification.url.as_str());
    let texts = [
        ("the name of its queue", Some(spec.queue.as_str()), limits::QUEUE_NAME_BYTES),
        ("its staging directory", Some(&spec.submit_dir), limits::SUBMIT_DIR_BYTES),
        ("mapreduce.job.acl-view-job", spec.view_acl.as_deref(), limits::JOB_ACL_BYTES),
        ("mapreduce.job.acl-modify-job", spec.modify_acl.as_deref(), limits::JOB_ACL_BYTES),
        ("job.end.notification.url", url, limits::NOTIFICATION_URL_BYTES),
    ];
    let pools =
        spec.pool_properties.0.iter().map(|(key, pool)| (&**key, Some(pool.as_str()), limits::QUEUE_NAME_BYTES));
    for (what, text, most) in texts.into_iter().chain(pools) {
        if let Some(text) = text.filter(|text| text.len() > most) {
            return Err(Refusal::Invalid(format!(
                "{what} of {id} has {} bytes; the limit is {most}: {}",
                text.len(),
                limits::excerpt(text)
            )));
        }
    }
    Ok(())
}

/// Approximate size of a job's credentials in its token file, bytes.
fn credentials_bytes(credentials: &Credentials) -> usize {
    let tokens = credentials.tokens.iter().map(|(alias, token)| {
        alias.len() + token.identifier.len() + token.password.len() + token.kind.len() + token.service.len()
    });
    let secrets = credentials.secrets.iter().map(|(alias, key)| alias.len() + key.len());
    tokens.sum::<usize>() + secrets.sum::<usize>()
}

/// Refuses a job whose `job.splitmetainfo` does not have a split for each map.
fn check_split_count(id: JobId, spec: &JobSpec, splits: &SplitTable) -> Result<(), Refusal> {
    if splits.len() == spec.maps as usize {
        return Ok(());
    }
    Err(Refusal::Invalid(format!(
        "job.splitmetainfo of {id} has {} splits, but mapred.map.tasks is {}",
        splits.len(),
        spec.maps
    )))
}

/// The refusal of a job id that `getNewJobId` returned to another user.
fn id_of_another(id: JobId, user: &str) -> Refusal {
    Refusal::AccessDenied(format!(
        "{id} was given to another user than {}: ask for a new job id",
        limits::excerpt(user)
    ))
}

fn access_denied(denied: &JobDenied) -> Refusal {
    Refusal::AccessDenied(denied.to_string())
}

/// The content of `jobToken`: the client's credentials and the job token.
fn token_file(read: &ReadSubmission) -> Arc<[u8]> {
    let id = read.id.to_string();
    let token = Token {
        identifier: job_token_identifier(&id),
        password: read.token_secret.to_vec(),
        kind: JOB_TOKEN_KIND.into(),
        service: Text(id),
    };
    let mut credentials = read.credentials.clone();
    credentials.tokens.retain(|(alias, _)| &**alias != JOB_TOKEN_ALIAS);
    credentials.tokens.push((JOB_TOKEN_ALIAS.into(), token));
    write_token_storage(&credentials).into()
}

/// The identifier of a job token is the job id as a `Text` (1.2.1 `JobTokenIdentifier`).
fn job_token_identifier(id: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Text(id.to_owned()).encode(&mut Writer::new(&mut bytes));
    bytes
}

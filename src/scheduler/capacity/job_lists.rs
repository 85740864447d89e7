//! The life of jobs in a queue: waiting, initialising, running, gone.
//!
//! The original polls; here [`JobLists::initialize_jobs`] is called when something changed that a limit depends on. It
//! walks only jobs that may begin: each user's first waiting job, while the user is below its limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::scheduler::{AppId, BeginLimitUnit, Hold, LimitOwner};

use super::{JobLimits, JobRank, JobStage, RefusedJob, StageCounts};

#[derive(Debug, Default)]
pub(super) struct UserJobs {
    pub(super) counts: StageCounts,
    /// Maps and reduces of initialising and running jobs that are neither stuck nor paused.
    pub(super) active_tasks: u64,
    /// Initialising and running jobs that are stuck or paused.
    pub(super) stuck: u64,
    /// Waiting jobs with the tasks that limits will count, without paused ones.
    pub(super) waiting: BTreeMap<JobRank, u64>,
    pub(super) candidate: Option<JobRank>,
}

impl UserJobs {
    /// The user's first waiting job, if the user's limits let it begin. A later job never overtakes it.
    pub(super) fn first_permitted(&self, limits: &JobLimits) -> Option<JobRank> {
        let (&rank, &tasks) = self.waiting.first_key_value()?;
        let has_room = self.places_taken() < limits.initialized_per_user
            && is_within(self.active_tasks, tasks, limits.active_tasks_per_user);
        has_room.then_some(rank)
    }

    /// Jobs that have begun, without those that are stuck or paused.
    pub(super) fn places_taken(&self) -> u64 {
        self.counts.initialized().saturating_sub(self.stuck)
    }
}

/// Whether `active` tasks and `more` stay within a limit that may be negative.
pub(super) fn is_within(active: u64, more: u64, limit: i64) -> bool {
    u64::try_from(limit).is_ok_and(|limit| active.saturating_add(more) <= limit)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedJob {
    pub(crate) id: AppId,
    pub(crate) user: Arc<str>,
    /// Its maps and reduces, finished ones included.
    pub(crate) tasks: u64,
    pub(crate) rank: JobRank,
    pub(crate) stage: JobStage,
    /// Whether no node could run it: it takes no place among those that have begun.
    pub(crate) is_stuck: bool,
    /// Whether it is paused and nothing of it runs: it takes no such place either, and begins once it is resumed.
    pub(crate) is_paused: bool,
}

#[derive(Debug)]
pub(crate) struct JobLists {
    limits: JobLimits,
    // Looked up, never iterated.
    jobs: FxHashMap<AppId, ListedJob>,
    waiting: BTreeMap<JobRank, AppId>,
    initializing: BTreeMap<JobRank, AppId>,
    running: BTreeMap<JobRank, AppId>,
    users: BTreeMap<Arc<str>, UserJobs>,
    /// The first waiting job of each user that is below its limits.
    candidates: BTreeSet<JobRank>,
    /// Waiting jobs by tasks: a job too large for the queue now holds up the jobs behind it.
    sizes: BTreeSet<(u64, JobRank)>,
    active_tasks: u64,
    stuck: u64,
}

impl ListedJob {
    fn takes_a_place(&self) -> bool {
        !self.is_stuck && !self.is_paused
    }

    /// Its tasks as limits on begun work count them: others need not wait for what is held back.
    fn active_tasks(&self) -> u64 {
        if self.takes_a_place() { self.tasks } else { 0 }
    }
}

impl JobLists {
    pub(crate) fn new(limits: JobLimits) -> Self {
        Self {
            limits,
            jobs: FxHashMap::default(),
            waiting: BTreeMap::new(),
            initializing: BTreeMap::new(),
            running: BTreeMap::new(),
            users: BTreeMap::new(),
            candidates: BTreeSet::new(),
            sizes: BTreeSet::new(),
            active_tasks: 0,
            stuck: 0,
        }
    }

    /// Whether the queue accepts a job of `user` with so many maps and reduces. `job` and `queue` are named in the error.
    pub(crate) fn check_job(&self, job: &str, queue: &str, user: &str, tasks: u64) -> Result<(), RefusedJob> {
        let (job, queue, user_counts) = (|| job.to_owned(), || queue.to_owned(), self.user_counts(user));
        let user = || user.to_owned();
        let limit = self.limits.active_tasks_per_user;
        if !is_within(0, tasks, limit) {
            return Err(RefusedJob::TooManyTasks { job: job(), user: user(), tasks, limit, queue: queue() });
        }
        let (counts, limit) = (self.counts(), self.limits.accepted);
        if counts.accepted() >= limit {
            return Err(RefusedJob::QueueFull { job: job(), user: user(), queue: queue(), counts, limit });
        }
        let (counts, limit) = (user_counts, self.limits.accepted_per_user);
        if counts.accepted() >= limit {
            return Err(RefusedJob::UserFull { job: job(), user: user(), counts, limit, queue: queue() });
        }
        Ok(())
    }

    /// Adds a job in its stage, whatever the limits: a submission was checked before, and jobs that a restart or a
    /// change of the policy brings are accepted already.
    pub(crate) fn add_job(&mut self, job: ListedJob) {
        self.remove_job(job.id);
        let user = Arc::clone(&job.user);
        self.list(&job);
        self.jobs.insert(job.id, job);
        self.update_candidate(&user);
    }

    pub(crate) fn remove_job(&mut self, id: AppId) {
        let Some(job) = self.jobs.remove(&id) else { return };
        self.unlist(&job);
        self.update_candidate(&job.user);
        if self.users.get(&job.user).is_some_and(|user| user.counts.accepted() == 0) {
            self.users.remove(&job.user);
        }
    }

    /// Replaces the limits; no job that is accepted or initialised is affected.
    pub(crate) fn set_limits(&mut self, limits: JobLimits) {
        self.limits = limits;
        for user in self.users.values_mut() {
            user.candidate = user.first_permitted(&limits);
        }
        self.candidates = self.users.values().filter_map(|user| user.candidate).collect();
    }

    /// Moves waiting jobs to initialising while the limits allow it; their ids, in the order of the queue.
    pub(crate) fn initialize_jobs(&mut self) -> Vec<AppId> {
        let mut begun = Vec::new();
        let mut last = None;
        while let Some((rank, id)) = self.next_job(last) {
            self.set_stage(id, JobStage::Initializing);
            begun.push(id);
            last = Some(rank);
        }
        begun
    }

    /// Moves a job to another stage. A waiting job that is already running skips a stage.
    pub(crate) fn set_stage(&mut self, id: AppId, stage: JobStage) {
        self.change_job(id, |job| job.stage = stage);
    }

    pub(crate) fn set_rank(&mut self, id: AppId, rank: JobRank) {
        self.change_job(id, |job| job.rank = rank);
    }

    pub(crate) fn set_stuck(&mut self, id: AppId, is_stuck: bool, is_paused: bool) {
        self.change_job(id, |job| (job.is_stuck, job.is_paused) = (is_stuck, is_paused));
    }

    pub(crate) fn set_tasks(&mut self, id: AppId, tasks: u64) {
        self.change_job(id, |job| job.tasks = tasks);
    }

    /// The next job to initialise, after the one that this round initialised `last`.
    fn next_job(&self, last: Option<JobRank>) -> Option<(JobRank, AppId)> {
        if self.places_taken() >= self.limits.initialized {
            return None;
        }
        let &rank = self.candidates.first()?;
        let id = *self.waiting.get(&rank)?;
        // A waiting job that is too large for the queue ends the round, even if its user is over a limit.
        let room = u64::try_from(self.limits.active_tasks).ok()?.checked_sub(self.active_tasks)?;
        let too_large = self.sizes.range((room.checked_add(1)?, JobRank::FIRST)..);
        let is_before = |stop: JobRank| stop <= rank && last.is_none_or(|last| last < stop);
        if too_large.into_iter().any(|&(_, stop)| is_before(stop)) {
            return None;
        }
        Some((rank, id))
    }

    fn change_job(&mut self, id: AppId, change: impl FnOnce(&mut ListedJob)) {
        let Some(mut job) = self.jobs.remove(&id) else { return };
        self.unlist(&job);
        change(&mut job);
        self.list(&job);
        let user = Arc::clone(&job.user);
        self.jobs.insert(id, job);
        self.update_candidate(&user);
    }

    pub(crate) fn counts(&self) -> StageCounts {
        StageCounts {
            waiting: self.waiting.len() as u64,
            initializing: self.initializing.len() as u64,
            running: self.running.len() as u64,
        }
    }

    fn places_taken(&self) -> u64 {
        self.counts().initialized().saturating_sub(self.stuck)
    }

    pub(crate) fn user_counts(&self, user: &str) -> StageCounts {
        self.users.get(user).map_or(StageCounts::default(), |user| user.counts)
    }

    pub(crate) fn users(&self) -> u64 {
        self.users.len() as u64
    }

    pub(crate) fn active_tasks(&self) -> u64 {
        self.active_tasks
    }

    #[cfg(test)]
    pub(crate) fn user_active_tasks(&self, user: &str) -> u64 {
        self.users.get(user).map_or(0, |user| user.active_tasks)
    }

    pub(crate) fn job(&self, id: AppId) -> Option<&ListedJob> {
        self.jobs.get(&id)
    }

    /// All jobs as clients list them: initialising, running, then waiting ones, each in the order of the queue.
    pub(crate) fn listed(&self) -> impl Iterator<Item = AppId> {
        [&self.initializing, &self.running, &self.waiting].into_iter().flat_map(|list| list.values().copied())
    }

    /// What keeps a waiting job from beginning; none for a job that has begun. `queue` is named as the owner of a limit.
    pub(super) fn hold_of(&self, id: AppId, queue: &str) -> Option<Hold> {
        let job = self.jobs.get(&id).filter(|job| job.stage == JobStage::Waiting)?;
        let user = self.users.get(&job.user)?;
        let group = || LimitOwner::Group(queue.to_owned());
        let apps = |of, limit, used| Hold::BeginLimit { of, counts: BeginLimitUnit::Apps, limit, used };
        let tasks = |of, limit: i64, used| Hold::BeginLimit {
            of,
            counts: BeginLimitUnit::Tasks,
            limit: u64::try_from(limit).unwrap_or(0),
            used,
        };
        let limits = &self.limits;
        Some(if self.places_taken() >= limits.initialized {
            apps(group(), limits.initialized, self.places_taken())
        } else if !is_within(self.active_tasks, job.active_tasks(), limits.active_tasks) {
            tasks(group(), limits.active_tasks, self.active_tasks)
        } else if user.places_taken() >= limits.initialized_per_user {
            apps(LimitOwner::User, limits.initialized_per_user, user.places_taken())
        } else if !is_within(user.active_tasks, job.active_tasks(), limits.active_tasks_per_user) {
            tasks(LimitOwner::User, limits.active_tasks_per_user, user.active_tasks)
        } else {
            Hold::BeginsLater
        })
    }

    fn stage_list(&mut self, stage: JobStage) -> &mut BTreeMap<JobRank, AppId> {
        match stage {
            JobStage::Waiting => &mut self.waiting,
            JobStage::Initializing => &mut self.initializing,
            JobStage::Running => &mut self.running,
        }
    }

    fn list(&mut self, job: &ListedJob) {
        self.stage_list(job.stage).insert(job.rank, job.id);
        let user = self.users.entry(Arc::clone(&job.user)).or_default();
        *user.counts.count_mut(job.stage) += 1;
        if job.stage == JobStage::Waiting {
            if !job.is_paused {
                user.waiting.insert(job.rank, job.active_tasks());
                self.sizes.insert((job.active_tasks(), job.rank));
            }
        } else {
            user.active_tasks = user.active_tasks.saturating_add(job.active_tasks());
            self.active_tasks = self.active_tasks.saturating_add(job.active_tasks());
            user.stuck += u64::from(!job.takes_a_place());
            self.stuck += u64::from(!job.takes_a_place());
        }
    }

    fn unlist(&mut self, job: &ListedJob) {
        self.stage_list(job.stage).remove(&job.rank);
        let Some(user) = self.users.get_mut(&job.user) else { return };
        let count = user.counts.count_mut(job.stage);
        *count = count.saturating_sub(1);
        if job.stage == JobStage::Waiting {
            user.waiting.remove(&job.rank);
            self.sizes.remove(&(job.active_tasks(), job.rank));
        } else {
            user.active_tasks = user.active_tasks.saturating_sub(job.active_tasks());
            self.active_tasks = self.active_tasks.saturating_sub(job.active_tasks());
            user.stuck = user.stuck.saturating_sub((!job.takes_a_place()).into());
            self.stuck = self.stuck.saturating_sub((!job.takes_a_place()).into());
        }
    }

    /// Called after each change of a user's jobs.
    fn update_candidate(&mut self, user: &str) {
        let Some(user) = self.users.get_mut(user) else { return };
        let candidate = user.first_permitted(&self.limits);
        let before = std::mem::replace(&mut user.candidate, candidate);
        if before != candidate {
            if let Some(before) = before {
                self.candidates.remove(&before);
            }
            self.candidates.extend(candidate);
        }
    }
}

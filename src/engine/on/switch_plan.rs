//! What a switch of the scheduler does, or would do now, judged against the live state. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{GroupStatus, MovedJob, SchedulerStatus, SwitchPlan, SwitchRefusal, WaitingSwitch};
use crate::engine::core::{
    Engine, FairConfig, GroupUse, Grouping, PolicyConfig, SchedulerWish, due_slots, settings_of_group,
};
use crate::mapreduce::{Job, JobSpec};
use crate::market::{ContainerUse, Market, MarketConfig};
use crate::model::{JobId, Kind, Now, PerKind, QueueConfig};
use crate::scheduler::AppId;
use crate::scheduler::constraint::{UnfinishedJob, find_at_risk};

use super::deadlines::app_deadline;
use super::market_queries::sold_slots;
use super::pools::{WITHOUT_ACCOUNT, group_name, group_of_application};

/// Where an unfinished job is after a switch.
struct JobPlacement<'a> {
    job: &'a Job,
    /// Its queue from then on.
    queue: &'a str,
    /// Its group from then on.
    group: &'a str,
}

impl Engine {
    pub(crate) fn plan_switch(&self, wish: &SchedulerWish, now: Now) -> SwitchPlan {
        let begun = self.market_to_begin(wish, now);
        let market = self.market().or(begun.as_ref());
        let placements: Vec<JobPlacement<'_>> = self.unfinished_jobs().map(|job| place(job, wish, market)).collect();
        let applications = self.applications.iter().filter_map(|application| {
            let app = self.applications.app(application.id())?;
            Some((app, group_of_application(&wish.policy, market, &application.submitted.queue)))
        });
        // Limits on jobs that begin count applications as jobs.
        let groups: BTreeMap<AppId, &str> =
            placements.iter().map(|placed| (placed.job.app, placed.group)).chain(applications).collect();
        let scheduler = &self.cluster.scheduler;
        let beginners = scheduler.would_begin(wish.policy.options(), now, |app| groups.get(&app).copied());
        let beginners: BTreeSet<AppId> = beginners.into_iter().collect();
        let waiting = || placements.iter().filter(|placed| scheduler.is_to_begin(placed.job.app));
        let ids = |placed: &JobPlacement<'_>| placed.job.id;
        let moved = placements.iter().filter(|placed| placed.queue != placed.job.spec.queue);
        let without_claim = placements.iter().filter(|placed| placed.group == WITHOUT_ACCOUNT);
        SwitchPlan {
            from: self.administration.choice.class.clone(),
            to: wish.class.clone(),
            slots: sold_slots(scheduler),
            groups: self.group_statuses((&wish.policy, market), &wish.queues, &placements, now),
            begins: waiting().filter(|placed| beginners.contains(&placed.job.app)).map(ids).collect(),
            waits: waiting().filter(|placed| !beginners.contains(&placed.job.app)).map(ids).collect(),
            moves: moved.map(JobPlacement::movement).collect(),
            without_claim: without_claim.map(ids).collect(),
            at_risk: self.at_risk_under(&wish.policy, now),
            keys: Vec::new(),
            warnings: warnings(wish, &placements),
            refusals: self.refusals(wish, market, &placements),
            waits_until_ms: self.is_to_wait(wish).then(|| self.next_update_wall_ms(now)),
        }
    }

    pub(crate) fn scheduler_status(&self, now: Now) -> SchedulerStatus {
        let in_place = |job: &Job| {
            let group = self.cluster.scheduler.group_of(job.app);
            group.and_then(|group| self.cluster.scheduler.group_name(group)).map(str::to_owned)
        };
        let jobs: Vec<(&Job, String)> = self.unfinished_jobs().filter_map(|job| Some((job, in_place(job)?))).collect();
        let placements: Vec<JobPlacement<'_>> =
            jobs.iter().map(|(job, group)| JobPlacement { job, queue: &job.spec.queue, group }).collect();
        let choice = &self.administration.choice;
        SchedulerStatus {
            scheduler: choice.class.clone(),
            since_ms: choice.since_ms,
            by: choice.by.clone(),
            configured: choice.configured.clone(),
            slots: sold_slots(&self.cluster.scheduler),
            groups: self.group_statuses((&self.config.policy, self.market()), &self.config.queues, &placements, now),
            waiting: self.administration.wish.as_ref().map(|wish| WaitingSwitch {
                scheduler: wish.class.clone(),
                by: wish.by.clone(),
                until_ms: self.next_update_wall_ms(now),
            }),
        }
    }

    /// The market as it would be after its first reading of the budget file.
    fn market_to_begin(&self, wish: &SchedulerWish, now: Now) -> Option<Market> {
        let budgets = wish.first_budgets.clone()?;
        let mut market = Market::new(MarketConfig::default(), now.wall_ms);
        market.seed_budgets(budgets, now);
        Some(market)
    }

    /// Whether the market rules and must charge the open interval before the switch.
    pub(super) fn is_to_wait(&self, wish: &SchedulerWish) -> bool {
        self.ruling_market().is_some() && !wish.policy.is_market()
    }

    fn unfinished_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| !job.is_over())
    }

    fn next_update_wall_ms(&self, now: Now) -> i64 {
        let wait_ms = self.rounds.update.due_mono_ms().saturating_sub(now.mono_ms);
        now.wall_ms.saturating_add_unsigned(wait_ms)
    }

    /// The groups of a policy with the jobs and applications that are in them then, by name.
    fn group_statuses(
        &self,
        (policy, market): (&PolicyConfig, Option<&Market>),
        queues: &[QueueConfig],
        placements: &[JobPlacement<'_>],
        now: Now,
    ) -> Vec<GroupStatus> {
        let mut uses: BTreeMap<&str, GroupUse> = BTreeMap::new();
        for name in configured_groups(policy, queues, market) {
            uses.entry(name).or_default();
        }
        for placed in placements {
            let of_group = uses.entry(placed.group).or_default();
            let held = self.cluster.scheduler.app_usage(placed.job.app);
            let pending = self.cluster.scheduler.app_pending(placed.job.app);
            of_group.jobs += 1;
            for kind in Kind::ALL {
                of_group.held[kind] = of_group.held[kind].saturating_add(held[kind]);
                of_group.pending[kind] = of_group.pending[kind].saturating_add(pending[kind]);
            }
        }
        for (queue, applications) in self.queues_of_applications() {
            let of_group = uses.entry(group_of_application(policy, market, queue)).or_default();
            of_group.applications = of_group.applications.saturating_add(applications);
            let ContainerUse { held, wanted } = self.applications.containers_of_queue(queue);
            let containers = &mut of_group.containers;
            containers.held = containers.held.saturating_add(held);
            containers.wanted = containers.wanted.saturating_add(wanted);
        }
        let due = due_slots(policy, market, &uses, sold_slots(&self.cluster.scheduler), now);
        let status = |(name, of_group): (&&str, &GroupUse)| GroupStatus {
            name: (*name).to_owned(),
            settings: settings_of_group(policy, market, name),
            jobs: of_group.jobs,
            applications: of_group.applications,
            held: of_group.held,
            container_slots: of_group.containers.held,
            due: due.get(name).map(|due| due.slots),
            due_container_slots: due.get(name).and_then(|due| due.containers),
        };
        uses.iter().map(status).collect()
    }

    /// Unfinished applications of each queue that has some, or containers that still live.
    fn queues_of_applications(&self) -> BTreeMap<&str, u32> {
        let mut queues = BTreeMap::new();
        for application in self.applications.iter().filter(|one| !one.is_over() || one.live().next().is_some()) {
            let unfinished = queues.entry(&*application.submitted.queue).or_default();
            *unfinished += u32::from(!application.is_over());
        }
        queues
    }

    fn refusals(
        &self,
        wish: &SchedulerWish,
        market: Option<&Market>,
        placements: &[JobPlacement<'_>],
    ) -> Vec<SwitchRefusal> {
        let mut refusals = Vec::new();
        if let Some(by) = &self.administration.safe_mode {
            refusals.push(SwitchRefusal::SafeMode { by: by.to_string() });
        }
        if let Some(waiting) = &self.administration.wish {
            refusals.push(SwitchRefusal::SwitchWaits { scheduler: waiting.class.clone(), by: waiting.by.clone() });
        }
        if wish.policy.is_market() && market.is_none() {
            let missing = "its ACL file (mapred.priority-scheduler.acl-file) was not read";
            refusals.push(SwitchRefusal::NoMarket { missing: missing.to_owned() });
        }
        let is_configured = |name: &str| wish.queues.iter().any(|queue| queue.name == name);
        if let Some(target) = wish.move_to.as_ref().filter(|target| !is_configured(target)) {
            let known: Vec<&str> = wish.queues.iter().map(|queue| &*queue.name).collect();
            refusals.push(SwitchRefusal::TargetMissing { queue: target.clone(), known: known.join(", ") });
        }
        match wish.policy.grouping() {
            Grouping::Queues => {
                let lost = placements.iter().filter(|placed| !wish.policy.keeps_queue(placed.queue, &wish.queues));
                let by_queue = jobs_by(lost.map(|placed| (placed.queue, placed.job.id)));
                refusals.extend(by_queue.into_iter().map(|(queue, jobs)| SwitchRefusal::QueueMissing { queue, jobs }));
            }
            Grouping::Pools(fair) => {
                refusals.extend(undeclared_pools(fair, placements.iter().map(|placed| (placed.group, placed.job.id))));
            }
            Grouping::Accounts => {}
        }
        refusals
    }
}

impl JobPlacement<'_> {
    fn movement(&self) -> MovedJob {
        let JobSpec { queue: from, .. } = &*self.job.spec;
        MovedJob { job: self.job.id, from: from.clone(), to: self.queue.to_owned() }
    }
}

/// A job keeps its queue if the configuration names it, or if the scheduler needs none.
fn place<'a>(job: &'a Job, wish: &'a SchedulerWish, market: Option<&Market>) -> JobPlacement<'a> {
    let is_kept = wish.policy.keeps_queue(&job.spec.queue, &wish.queues);
    let target = wish.move_to.as_deref().filter(|_| !is_kept);
    let group = target.unwrap_or_else(|| group_name(&wish.policy, market, &job.spec, job.pool.as_deref()));
    JobPlacement { job, queue: target.unwrap_or(&job.spec.queue), group }
}

/// Groups that are there without a job.
fn configured_groups<'a>(
    policy: &'a PolicyConfig,
    queues: &'a [QueueConfig],
    market: Option<&'a Market>,
) -> Vec<&'a str> {
    match policy.grouping() {
        Grouping::Queues => queues.iter().map(|queue| &*queue.name).collect(),
        Grouping::Pools(fair) => fair.allocations.pools.keys().map(String::as_str).collect(),
        Grouping::Accounts => {
            market.into_iter().flat_map(|market| market.queues().map(|queue| queue.as_str())).collect()
        }
    }
}

/// One refusal for each pool of these jobs that is not declared, where only declared ones are allowed.
pub(super) fn undeclared_pools<'a>(
    fair: &FairConfig,
    pools: impl Iterator<Item = (&'a str, JobId)>,
) -> impl Iterator<Item = SwitchRefusal> {
    let is_refused = |pool: &str| !fair.allows_undeclared_pools && !fair.allocations.pools.contains_key(pool);
    let by_pool = jobs_by(pools.filter(|(pool, _)| is_refused(pool)));
    by_pool.into_iter().map(|(pool, jobs)| SwitchRefusal::PoolUndeclared { pool, jobs })
}

fn jobs_by<'a>(jobs: impl Iterator<Item = (&'a str, JobId)>) -> BTreeMap<String, Vec<JobId>> {
    let mut by_name: BTreeMap<String, Vec<JobId>> = BTreeMap::new();
    for (name, job) in jobs {
        by_name.entry(name.to_owned()).or_default().push(job);
    }
    by_name
}

fn warnings(wish: &SchedulerWish, placements: &[JobPlacement<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_moved = |placed: &JobPlacement<'_>| placed.queue != placed.job.spec.queue;
    if let Some(target) = wish.move_to.as_ref().filter(|_| !placements.iter().any(is_moved)) {
        warnings.push(format!("--move-to {target} moves no job"));
    }
    let stopped = |queue: &&QueueConfig| !queue.running && wish.move_to.as_ref() == Some(&queue.name);
    if let Some(queue) = wish.queues.iter().find(stopped) {
        warnings.push(format!("queue {} is stopped: its jobs run, and it accepts no other", queue.name));
    }
    warnings
}

impl Engine {
    /// The jobs whose deadlines a policy that takes over now does not keep, by id.
    pub(super) fn at_risk_under(&self, policy: &PolicyConfig, now: Now) -> Vec<JobId> {
        let Some(config) = policy.constraint() else { return Vec::new() };
        let scheduler = &self.cluster.scheduler;
        let totals = scheduler.totals();
        let mut others = totals.held.slots();
        let mut jobs = Vec::new();
        for job in self.jobs.iter().filter(|job| !job.is_over()) {
            let Some(deadline) = job.deadline() else { continue };
            let believed = self.estimate_now(&config.history, job).costs(&config.default_costs);
            let held = scheduler.app_usage(job.app);
            Kind::ALL.into_iter().for_each(|kind| others[kind] = others[kind].saturating_sub(held[kind].into()));
            let (total, finished) = (job.total(), job.finished());
            let left = |kind: Kind| total[kind].saturating_sub(finished[kind]);
            jobs.push(UnfinishedJob {
                app: job.app,
                deadline: app_deadline(deadline, &job.spec, &job.splits, job.submit_ms, &believed),
                arrival_us: job.submit_ms.saturating_mul(1_000),
                left: match job.has_begun() {
                    true => PerKind::new(left(Kind::Map), left(Kind::Reduce)),
                    false => PerKind::new(job.spec.maps, job.spec.reduces),
                },
                held,
            });
        }
        let at_risk =
            find_at_risk(jobs, (config.model, config.slots), totals.slots, others, now.wall_ms.saturating_mul(1_000));
        let mut ids: Vec<JobId> =
            at_risk.into_iter().filter_map(|app| self.jobs.by_app(app).map(|job| job.id)).collect();
        ids.sort_unstable();
        ids
    }
}

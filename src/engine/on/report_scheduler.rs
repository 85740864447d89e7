//! Builds the report of the ruling policy, its groups and the unfinished jobs.

use crate::api::{
    BoughtSlots, CostSource, CostUnit, ExactDecimal, JobDeadline, PlaceInLine, PoolMode, PoolShares, PooledJob,
    QueueCapacity, QueueJobLimits, QueueUser, QueuedJob, QueuedJobStage, ReportedGroup, ReportedJob, SchedulerReport,
    Sourced, TaskCost,
};
use crate::engine::core::Engine;
use crate::mapreduce::Job;
use crate::market::SlotHolder;
use crate::model::{Kind, Now, PartsPerMillion, PerKind};
use crate::scheduler::capacity::{JobLimits, JobStage, QueueDetail, QueueSlotsDetail, QueuedJobDetail, SlotUsage};
use crate::scheduler::constraint::{DeadlineDetail, DeadlineState, StatedCost};
use crate::scheduler::fair::allocations::{PoolSettings, SchedulingMode};
use crate::scheduler::fair::pool_detail::{PoolDetail, PooledJobDetail};
use crate::scheduler::fair::share::FairShare;
use crate::scheduler::{AppDetail, GroupDetail, GroupReport, PlacesInLine, QueuePosition};

use super::assignment::FreeSlots;
use super::snapshot::{JOBS_SHOWN, Stuck};

pub(super) const JOBS_REPORTED: usize = 1_000;

/// What a look at unfinished jobs has found.
#[derive(Debug, Default)]
pub(super) struct JobsLook {
    pub(super) jobs: usize,
    /// Those that hold nothing and that no connected worker can run.
    pub(super) stuck: Vec<Stuck>,
    /// As the policy has them.
    pub(super) reported: Vec<ReportedJob>,
}

impl Engine {
    /// A report without groups and jobs: it leaves all unfinished ones out.
    pub(super) fn report_head(&self, now: Now) -> SchedulerReport {
        SchedulerReport {
            policy: self.config.policy.name(),
            since_ms: self.administration.choice.since_ms,
            by: self.administration.choice.by.clone(),
            at_ms: now.wall_ms,
            slots: self.cluster.scheduler.totals().slots.narrow(),
            price: self.ruling_market().map(|market| market.price().to_string()),
            groups: Vec::new(),
            jobs: Vec::new(),
            jobs_left_out: self.jobs.live.count(),
        }
    }

    /// Counts so many jobs with a deadline, the earliest first, from one on, by how they stand; none where the policy keeps no
    /// deadlines. Whether there are more.
    pub(super) fn deadlines_from(&self, from: usize, count: usize, counted: [u64; 3]) -> (Option<[u64; 3]>, bool) {
        if self.config.policy.constraint().is_none() {
            return (None, false);
        }
        let states = self.cluster.scheduler.deadline_states(from, count);
        let mut counts = counted;
        for state in &states {
            match state {
                DeadlineState::OnTime => counts[0] += 1,
                DeadlineState::AtRisk => counts[1] += 1,
                DeadlineState::Late => counts[2] += 1,
            }
        }
        (Some(counts), states.len() >= count)
    }

    /// So many groups, by name, from one on.
    pub(super) fn report_groups(&self, from: usize, count: usize, now: Now) -> Vec<ReportedGroup> {
        let groups = self.cluster.scheduler.group_reports_from(from, now).take(count);
        groups.map(|group| self.report_group(group)).collect()
    }

    /// Looks at so many unfinished jobs, the newest first, from one on: those that no connected worker can run, as far as they are
    /// among the newest, all of them as the policy has them where `with_jobs`, and how many there were.
    pub(super) fn look_at_jobs(&self, from: usize, count: usize, with_jobs: bool, now: Now) -> JobsLook {
        let scheduler = &self.cluster.scheduler;
        let mut places = PerKind::new(scheduler.places_in_line(Kind::Map), scheduler.places_in_line(Kind::Reduce));
        let free = if with_jobs { self.free_slots(now) } else { FreeSlots::default() };
        let mut look = JobsLook::default();
        for (job, because) in self.jobs_with_misfits(from, count) {
            if let Some(because) = because.as_ref().filter(|_| from + look.jobs < JOBS_SHOWN) {
                look.stuck.push(Stuck { holder: SlotHolder::Job(job.id), because: because.clone() });
            }
            look.jobs += 1;
            if with_jobs {
                look.reported.push(self.report_job(job, because, &mut places, &free, now));
            }
        }
        look
    }

    fn report_group(&self, group: GroupReport<'_>) -> ReportedGroup {
        let GroupReport { name, parent, apps, running, held, waiting, detail, .. } = group;
        let (capacity, pool) = match detail {
            GroupDetail::Plain => (None, None),
            GroupDetail::Queue(detail) => (Some(queue_capacity(*detail)), None),
            GroupDetail::Pool(detail) => (None, Some(pool_shares(&detail))),
        };
        let bought = self.ruling_market().and_then(|market| market.account(name)).map(|account| {
            let interval = account.interval().copied().unwrap_or_default();
            let share = account.published().share.to_string();
            BoughtSlots { share, quota: interval.quota, rate: interval.share.rate() }
        });
        let (name, parent) = (name.to_owned(), parent.map(str::to_owned));
        ReportedGroup { name, parent, jobs: apps, running, held, waiting, capacity, pool, bought }
    }

    fn report_job(
        &self,
        job: &Job,
        because: Option<String>,
        places: &mut PerKind<PlacesInLine<'_>>,
        free: &FreeSlots,
        now: Now,
    ) -> ReportedJob {
        let scheduler = &self.cluster.scheduler;
        let group = scheduler.group_of(job.app).and_then(|group| scheduler.group_name(group));
        let place = PerKind::new(
            places.map.position(job.app).filter(|_| job.total().map > 0),
            places.reduce.position(job.app).filter(|_| job.total().reduce > 0),
        );
        let (mut capacity, mut pool, mut deadline) = (None, None, None);
        let mut state = job.reported_state().name().to_owned();
        match scheduler.app_detail(job.app) {
            AppDetail::Plain => {}
            AppDetail::Queued(detail) => capacity = Some(queued_job(&detail)),
            AppDetail::Pooled(detail) => pool = Some(pooled_job(&detail)),
            AppDetail::Due(detail) => {
                state = detail.state.to_string();
                deadline = self.report_deadline(job, &detail, now);
            }
        }
        ReportedJob {
            job: job.id,
            name: job.spec.name.clone(),
            user: job.spec.user.clone(),
            queue: job.spec.queue.clone(),
            group: group.unwrap_or(&job.spec.queue).to_owned(),
            priority: job.priority,
            state,
            has_begun: job.has_begun(),
            submit_ms: job.submit_ms,
            tasks: job.total(),
            finished: job.finished(),
            running: job.running(),
            held: scheduler.app_usage(job.app),
            waiting: scheduler.app_waiting(job.app),
            place: PerKind::new(place.map.map(place_in_line), place.reduce.map(place_in_line)),
            held_back_by: match because {
                Some(because) => vec![self.no_worker_can_run(because)],
                None => self.held_back_by(job, free, now),
            },
            capacity,
            pool,
            deadline,
        }
    }
}

fn place_in_line(position: QueuePosition) -> PlaceInLine {
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    PlaceInLine { groups_before: narrow(position.groups_before), jobs_before: narrow(position.apps_before) }
}

fn queue_capacity(detail: QueueDetail) -> QueueCapacity {
    let QueueDetail { settings, slots, jobs, active_tasks, .. } = detail;
    let (map, reduce) = (&slots.map, &slots.reduce);
    let maximum = |slots: &QueueSlotsDetail| slots.share.maximum.unwrap_or_default();
    let of_user = |user: &str| {
        let occupied = |usage: &SlotUsage| usage.by_user.get(user).copied().unwrap_or(0);
        PerKind::new(occupied(&map.usage), occupied(&reduce.usage))
    };
    QueueCapacity {
        percent: settings.capacity().to_string(),
        maximum_percent: settings.maximum_capacity().map(|maximum| maximum.to_string()),
        user_limit_percent: settings.minimum_user_limit_percent(),
        user_limit_factor: settings.user_limit_factor().to_string(),
        supports_priority: settings.supports_priority(),
        slots: PerKind::new(map.share.capacity, reduce.share.capacity),
        maximum_slots: settings.maximum_capacity().map(|_| PerKind::new(maximum(map), maximum(reduce))),
        occupied: PerKind::new(map.usage.occupied, reduce.usage.occupied),
        occupied_percent: PerKind::new(map.occupied_percent(), reduce.occupied_percent()),
        running: PerKind::new(map.usage.running_tasks, reduce.usage.running_tasks),
        active_users: PerKind::new(map.active_users, reduce.active_users),
        user_limit: PerKind::new(map.user_limit, reduce.user_limit),
        users: map
            .usage
            .by_user
            .keys()
            .map(|user| QueueUser { user: user.to_string(), occupied: of_user(user) })
            .collect(),
        waiting_jobs: jobs.waiting,
        initializing_jobs: jobs.initializing,
        running_jobs: jobs.running,
        active_tasks,
        limits: job_limits(settings.job_limits()),
    }
}

fn job_limits(limits: &JobLimits) -> QueueJobLimits {
    let &JobLimits {
        initialized,
        initialized_per_user,
        accepted,
        accepted_per_user,
        active_tasks,
        active_tasks_per_user,
    } = limits;
    QueueJobLimits {
        initialized,
        initialized_per_user,
        accepted,
        accepted_per_user,
        active_tasks,
        active_tasks_per_user,
    }
}

fn queued_job(detail: &QueuedJobDetail) -> QueuedJob {
    let stage = match detail.stage {
        JobStage::Waiting => QueuedJobStage::Waiting,
        JobStage::Initializing => QueuedJobStage::Initializing,
        JobStage::Running => QueuedJobStage::Running,
    };
    QueuedJob { stage, slots_per_task: detail.slots_per_task, reserved: detail.reserved_slots }
}

fn pool_shares(detail: &PoolDetail) -> PoolShares {
    let PoolDetail { settings, demand, share, starved } = detail;
    let &PoolSettings { min, max, max_running_jobs, weight, mode, .. } = settings;
    let inverted = |kind| settings.is_inverted(kind);
    PoolShares {
        minimum: min,
        maximum: max,
        is_inverted: PerKind::new(inverted(Kind::Map), inverted(Kind::Reduce)),
        weight: ExactDecimal(weight),
        mode: match mode {
            SchedulingMode::Fair => PoolMode::Fair,
            SchedulingMode::Fifo => PoolMode::Fifo,
        },
        max_running_jobs,
        demand: *demand,
        fair_share: exact_shares(*share),
        below_minimum_ms: starved.map(|times| PerKind::new(times.map.since_min_ms, times.reduce.since_min_ms)),
        below_half_share_ms: starved
            .map(|times| PerKind::new(times.map.since_half_share_ms, times.reduce.since_half_share_ms)),
    }
}

fn pooled_job(detail: &PooledJobDetail) -> PooledJob {
    PooledJob {
        is_runnable: detail.is_admitted,
        demand: detail.demand,
        weight: PerKind::new(ExactDecimal(detail.weight.map), ExactDecimal(detail.weight.reduce)),
        fair_share: detail.share.map(exact_shares),
        deficit_slot_ms: detail.deficit_slot_ms,
        waited_ms: detail.waited_ms,
    }
}

fn exact_shares(shares: PerKind<FairShare>) -> PerKind<ExactDecimal> {
    let exact = |share: FairShare| ExactDecimal(PartsPerMillion(share.0));
    PerKind::new(exact(shares.map), exact(shares.reduce))
}

/// The ratio 1, in millionths.
const ONE: u64 = 1_000_000;

impl Engine {
    /// Of a job whose deadline the ruling policy keeps.
    pub(super) fn report_deadline(&self, job: &Job, detail: &DeadlineDetail, now: Now) -> Option<JobDeadline> {
        let config = self.config.policy.constraint()?;
        let (stated, history) = (job.deadline()?, &job.estimate.history);
        let believed = job.estimate.costs(&config.default_costs);
        let by = |known: Option<u64>| if known.is_some() { CostSource::History } else { CostSource::System };
        let maps_by = match job.estimate.first_maps_us_per_mb.filter(|_| history.map_us_per_mb.is_none()) {
            Some(_) => CostSource::Tasks,
            None => by(history.map_us_per_mb),
        };
        let deadline_at_ms = detail.due_us.div_euclid(1_000);
        Some(JobDeadline {
            deadline_at_ms,
            left_ms: deadline_at_ms.saturating_sub(now.wall_ms),
            min_maps: detail.minimum.map,
            min_reduces: detail.minimum.reduce,
            planned_start_ms: detail.planned_start_us.map(|start_us| start_us.div_euclid(1_000)),
            reduce_start_limit_ms: detail.latest_reduce_start_us.div_euclid(1_000).saturating_sub(job.submit_ms),
            map_cost: match job.estimate.slowest_map_us {
                Some(us) => TaskCost { ms: millis(us), of: CostUnit::Task, source: CostSource::Tasks },
                None => task_cost(stated.map, believed.map_us_per_mb, maps_by),
            },
            reduce_cost: task_cost(stated.reduce, believed.reduce_us_per_mb, by(history.reduce_us_per_mb)),
            copy_ms_per_mb: sourced(
                stated.copy_us_per_mb.map(millis),
                millis(believed.copy_us_per_mb),
                by(history.copy_us_per_mb),
            ),
            filter_ratio: sourced(
                stated.filter_millionths.map(decimal),
                decimal(believed.filter_millionths),
                by(history.filter_millionths),
            ),
        })
    }
}

fn task_cost(stated: Option<StatedCost>, believed_us_per_mb: u64, believed_by: CostSource) -> TaskCost {
    let source = if stated.is_some() { CostSource::Job } else { believed_by };
    let (ms, of) = match stated.unwrap_or(StatedCost::UsPerMb(believed_us_per_mb)) {
        StatedCost::UsPerMb(us_per_mb) => (millis(us_per_mb), CostUnit::Mb),
        StatedCost::TaskMs(ms) => (decimal(ms.saturating_mul(ONE)), CostUnit::Task),
    };
    TaskCost { ms, of, source }
}

fn sourced(stated: Option<ExactDecimal>, believed: ExactDecimal, believed_by: CostSource) -> Sourced {
    match stated {
        Some(value) => Sourced { value, source: CostSource::Job },
        None => Sourced { value: believed, source: believed_by },
    }
}

/// Microseconds as milliseconds.
fn millis(us: u64) -> ExactDecimal {
    decimal(us.saturating_mul(1_000))
}

fn decimal(millionths: u64) -> ExactDecimal {
    ExactDecimal(PartsPerMillion(millionths))
}

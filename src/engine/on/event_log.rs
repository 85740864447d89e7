//! What stands in the event log of the Fair scheduler (1.2.1 contrib `FairSchedulerEventLog`).

use std::cmp::Ordering;

use crate::engine::core::Engine;
use crate::engine::state::{Effect, Round};
use crate::mapreduce::Job;
use crate::model::{Kind, Now, PerKind};
use crate::scheduler::fair::allocations::DEFAULT_POOL;
use crate::scheduler::fair::event_log::{DumpedJob, JobLineTasks, LogEvent, PoolLine};
use crate::scheduler::fair::pool_detail::PoolDetail;
use crate::scheduler::{AppDetail, GroupDetail, GroupReport};

impl Engine {
    /// Begins, ends or moves the event log as the ruling policy wants it. One that begins names all unfinished jobs.
    pub(super) fn follow_event_log(&mut self, now: Now) {
        let wanted = self.fair_config().and_then(|fair| fair.event_log.clone());
        self.rounds.dump = wanted.as_ref().map_or(Round::default(), |log| {
            // The first dump comes with the first update.
            Round::every(Some(log.dump_interval_ms), now).first_with(self.rounds.update)
        });
        let directory = wanted.map(|log| log.directory);
        if self.outbox.event_lines.directory() == directory.as_ref() {
            return;
        }
        self.outbox.event_lines.append(&LogEvent::Shutdown);
        self.send_event_lines(now);
        self.outbox.event_lines.set_directory(directory);
        self.outbox.event_lines.append(&LogEvent::Initialized);
        for job in self.jobs.iter().filter(|job| !job.is_over()) {
            self.outbox.event_lines.append(&LogEvent::JobAdded(job.id));
        }
    }

    /// Requests that the lines of this step are written.
    pub(super) fn send_event_lines(&mut self, now: Now) {
        if let Some((directory, lines)) = self.outbox.event_lines.take() {
            self.outbox.request(Effect::AppendToEventLog { directory, wall_ms: now.wall_ms, lines });
        }
    }

    /// The load at a heartbeat of a tracker that gets tasks now.
    pub(super) fn log_heartbeat(&mut self, tracker: &str) {
        if !self.outbox.event_lines.are_kept() {
            return;
        }
        let scheduler = &self.cluster.scheduler;
        let (runnable, running) = (scheduler.runnable_tasks(), scheduler.totals().running.slots());
        self.outbox.event_lines.append(&LogEvent::Heartbeat { tracker });
        self.outbox.event_lines.append(&LogEvent::RunnableTasks { runnable, running });
    }

    /// The clocks of the pools while they preempt, and a dump when one is due. After each update of shares.
    pub(super) fn log_update(&mut self, now: Now) {
        if !self.outbox.event_lines.are_kept() {
            return;
        }
        let lines = &mut self.outbox.event_lines;
        let pools: Vec<(GroupReport<'_>, PoolDetail)> = pools_by_name(self.cluster.scheduler.group_reports(now));
        for kind in Kind::ALL {
            for (GroupReport { name: pool, .. }, detail) in &pools {
                let Some(starved) = detail.starved.map(|starved| starved[kind]) else { continue };
                let (since_min_ms, since_half_share_ms) = (starved.since_min_ms, starved.since_half_share_ms);
                lines.append(&LogEvent::PreemptVars { pool, kind, since_min_ms, since_half_share_ms });
            }
        }
        if !self.rounds.dump.begin_when_due(now) {
            return;
        }
        lines.append(&LogEvent::BeginDump);
        for job in self.jobs.iter().filter(|job| !job.is_over()) {
            let scheduler = &self.cluster.scheduler;
            let pool = scheduler.group_of(job.app).and_then(|group| scheduler.group_name(group)).unwrap_or_default();
            lines.append(&LogEvent::Job(job_line(job, pool, &scheduler.app_detail(job.app))));
        }
        for (GroupReport { name, apps, running, .. }, PoolDetail { settings, .. }) in &pools {
            let (jobs, weight) = (*apps as usize, settings.weight);
            let pool = PoolLine { name, weight, jobs, min: settings.min, running: *running };
            lines.append(&LogEvent::Pool(pool));
        }
        lines.append(&LogEvent::EndDump);
    }
}

/// The pools in the order of pages: by name, the default one last.
fn pools_by_name<'a>(groups: impl Iterator<Item = GroupReport<'a>>) -> Vec<(GroupReport<'a>, PoolDetail)> {
    let detailed = |group: GroupReport<'a>| match group.detail {
        GroupDetail::Pool(detail) => Some((group, detail)),
        _ => None,
    };
    let mut pools: Vec<_> = groups.filter_map(detailed).collect();
    pools.sort_by(|(a, _), (b, _)| match (a.name == DEFAULT_POOL, b.name == DEFAULT_POOL) {
        (false, false) => a.name.cmp(b.name),
        (is_last, _) => {
            if is_last {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    });
    pools
}

fn job_line<'a>(job: &'a Job, pool: &'a str, detail: &AppDetail) -> DumpedJob<'a> {
    let (total, running) = (job.total(), job.running());
    let tasks = |kind: Kind| {
        let counts = JobLineTasks { total: total[kind], running: running[kind], ..JobLineTasks::default() };
        match detail {
            AppDetail::Pooled(pooled) => JobLineTasks {
                demand: pooled.demand[kind],
                share: pooled.share.map(|share| share[kind]).unwrap_or_default(),
                weight: pooled.weight[kind],
                ..counts
            },
            _ => counts,
        }
    };
    DumpedJob {
        job: job.id,
        name: &job.spec.name,
        user: &job.spec.user,
        priority: job.priority,
        pool,
        tasks: PerKind::new(tasks(Kind::Map), tasks(Kind::Reduce)),
    }
}

//! The page of the Fair scheduler: its pools and the jobs that have begun (1.2.1 `FairSchedulerServlet`).

use askama::Template;

use crate::api::{ExactDecimal, PoolMode, PoolShares, PooledJob, ReportedGroup, ReportedJob, SchedulerReport};
use crate::model::{Kind, PerKind, Priority};

use super::rows::{Rows, cut};
use super::time_text::{format_day_and_time, format_time};

/// The pool that stands last.
const DEFAULT_POOL: &str = "default";
/// What a share of nothing prints.
const NO_SHARE: &str = "NA";
/// Priorities as Hadoop names them, the highest first.
const PRIORITIES: [&str; 5] = ["VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"];

#[derive(Template)]
#[template(path = "fair.html")]
pub(super) struct FairPage<'a> {
    host: &'a str,
    is_advanced: bool,
    has_forms: bool,
    has_inverted: bool,
    has_deficits: bool,
    /// Columns of each kind in the table of jobs.
    kind_columns: usize,
    pools: Rows<PoolRow>,
    jobs: Rows<FairJobRow>,
    jobs_left_out: u64,
    at: String,
}

struct PoolRow {
    name: String,
    jobs: u32,
    minimum: PerKind<String>,
    maximum: PerKind<String>,
    running: PerKind<u32>,
    share: PerKind<String>,
    mode: &'static str,
}

struct FairJobRow {
    submitted: String,
    id: String,
    user: String,
    name: String,
    pool: String,
    priority: &'static str,
    /// Maps, then reduces.
    kinds: [FairCells; 2],
    held_back_by: String,
}

struct FairCells {
    finished: u32,
    total: u32,
    running: u32,
    share: String,
    weight: String,
    deficit: String,
}

impl<'a> FairPage<'a> {
    /// `is_advanced`: with more columns; `has_forms`: with forms that change jobs.
    pub(super) fn new(host: &'a str, report: &SchedulerReport, is_advanced: bool, has_forms: bool) -> Self {
        let pools = || report.groups.iter().filter_map(|group| Some((group, group.pool.as_ref()?)));
        let (last, first): (Vec<_>, Vec<_>) = pools().partition(|(group, _)| group.name == DEFAULT_POOL);
        let begun = report.jobs.iter().rev().filter(|job| job.has_begun);
        let has_deficits = report.jobs.iter().any(|job| job.pool.is_some_and(|pool| pool.deficit_slot_ms.is_some()));
        let jobs = Rows::new(begun, FairJobRow::new);
        FairPage {
            host,
            is_advanced,
            has_forms,
            has_inverted: pools().any(|(_, pool)| pool.is_inverted.map || pool.is_inverted.reduce),
            has_deficits,
            kind_columns: 3 + usize::from(is_advanced) * (1 + usize::from(has_deficits)),
            pools: Rows::new(first.into_iter().chain(last), |(group, pool)| PoolRow::new(group, pool)),
            jobs_left_out: report.jobs_left_out.saturating_add(jobs.left_out as u64),
            jobs,
            at: format_time(report.at_ms),
        }
    }
}

impl PoolRow {
    fn new(group: &ReportedGroup, pool: &PoolShares) -> Self {
        let mark = |kind: Kind| if pool.is_inverted[kind] { "*" } else { "" };
        let minimum = |kind: Kind| format!("{}{}", pool.minimum[kind], mark(kind));
        let maximum = |kind: Kind| match pool.maximum[kind] {
            Some(maximum) => format!("{maximum}{}", mark(kind)),
            None => "-".to_owned(),
        };
        PoolRow {
            name: cut(&group.name),
            jobs: group.jobs,
            minimum: per_kind(minimum),
            maximum: per_kind(maximum),
            running: group.running,
            share: per_kind(|kind| pool.fair_share[kind].to_tenths()),
            mode: match pool.mode {
                PoolMode::Fair => "FAIR",
                PoolMode::Fifo => "FIFO",
            },
        }
    }
}

impl FairJobRow {
    fn new(job: &ReportedJob) -> Self {
        let held_back_by: Vec<String> = job.held_back_by.iter().map(ToString::to_string).collect();
        FairJobRow {
            submitted: format_day_and_time(job.submit_ms),
            id: job.job.to_string(),
            user: cut(&job.user),
            name: cut(&job.name),
            pool: job.group.clone(),
            priority: match job.priority {
                Priority::VeryHigh => "VERY_HIGH",
                Priority::High => "HIGH",
                Priority::Normal => "NORMAL",
                Priority::Low => "LOW",
                Priority::VeryLow => "VERY_LOW",
            },
            kinds: Kind::ALL.map(|kind| FairCells::new(job, kind)),
            held_back_by: held_back_by.join("; "),
        }
    }
}

impl FairCells {
    fn new(job: &ReportedJob, kind: Kind) -> Self {
        let share = |pool: PooledJob| Some(pool.fair_share?[kind].to_tenths());
        let deficit = |pool: PooledJob| Some(format!("{}s", pool.deficit_slot_ms?[kind] / 1000));
        let weight = |pool: PooledJob| ExactDecimal::to_tenths(pool.weight[kind]);
        FairCells {
            finished: job.finished[kind],
            total: job.tasks[kind],
            running: job.running[kind],
            share: job.pool.and_then(share).unwrap_or_else(|| NO_SHARE.to_owned()),
            weight: job.pool.map(weight).unwrap_or_default(),
            deficit: job.pool.and_then(deficit).unwrap_or_else(|| "--".to_owned()),
        }
    }
}

fn per_kind<T>(of: impl Fn(Kind) -> T) -> PerKind<T> {
    PerKind::new(of(Kind::Map), of(Kind::Reduce))
}

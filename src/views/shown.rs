//! All that is shown at one moment, and its jobs as lists and programs read them.

use std::fmt;
use std::sync::Arc;

use crate::api::{
    JobDue, JobRow, JobState, PendingReason, PolicyName, ReportedJob, TaskTally, WhyLine, failed_tasks, killed_by,
};
use crate::engine::ClusterSnapshot;
use crate::model::{Credits, FactNumber, Kind, PerKind, RunState};

use super::application_view::ApplicationView;
use super::job_view::JobView;
use super::overview::{Market, cost_of};
use super::read_model::Views;
use super::samples::Samples;

/// One publication, for readers: facts and what the owner said beside them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// What facts have made.
    pub(crate) views: Views,
    /// The cluster, with what is no fact.
    pub(crate) overview: Arc<ClusterSnapshot>,
    /// What was sampled of what is no fact.
    pub(crate) samples: Samples,
    pub(crate) generation: Generation,
}

/// The last fact of a publication, and how many deltas of a run of the daemon are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    pub(super) fact: FactNumber,
    pub(super) deltas: u64,
}

impl Generation {
    /// Reads what it is written as.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (fact, deltas) = text.split_once('.')?;
        Some(Self { fact: FactNumber(fact.parse().ok()?), deltas: deltas.parse().ok()? })
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.fact.0, self.deltas)
    }
}

impl Shown {
    /// A job without its address, and without a cost unless money is shown; `reported`: as the policy had it last.
    pub(crate) fn job_row(&self, job: &JobView, reported: Option<&ReportedJob>, sees_money: bool) -> JobRow {
        let (state, finish_ms) = self.views.shown_end(job);
        let is_ending = job.ending().is_some() || job.finish_ms().is_some();
        let is_stopped = matches!(state, RunState::Failed | RunState::Killed);
        let spec = job.spec();
        let pause = self.views.pause_of(Some(job.id()), &spec.queue).filter(|_| !is_ending);
        let percent = |kind| (!is_stopped).then(|| percent_done(job, kind, state));
        let said = job.failure_info();
        let reported = reported.filter(|_| !is_ending);
        let reasons = reported.map_or(&[][..], |reported| &reported.held_back_by);
        let cannot_run = reasons.iter().find(|reason| matches!(reason, PendingReason::NoWorkerCanRun { .. }));
        JobRow {
            job: job.id(),
            state: JobState::of(state),
            name: spec.name.clone(),
            user: spec.user.clone(),
            queue: spec.queue.clone(),
            priority: job.priority().name().to_owned(),
            started_ms: job.submit_ms(),
            finish_ms,
            map_percent: percent(Kind::Map),
            reduce_percent: percent(Kind::Reduce),
            failure: Some(said.to_owned()).filter(|_| state == RunState::Failed && !matches!(said, "" | "NA")),
            killed_by: Some(said).filter(|_| state == RunState::Killed).and_then(|said| killed_by(job.id(), said)),
            held: pause.map(|pause| pause.reason().to_string()),
            cannot_run: cannot_run.map(ToString::to_string),
            deadline: reported.and_then(due_of),
            cost: self.cost_of_job(job).filter(|_| sees_money).map(|cost| cost.to_string()),
            url: String::new(),
            tasks: (!is_stopped).then(|| PerKind::new(tally(job, Kind::Map, state), tally(job, Kind::Reduce, state))),
            why: Some(self.why(reasons, sees_money)).filter(|why| !why.is_empty()),
        }
    }

    /// What a job has cost up to the last tick; none where no market charges it.
    pub(crate) fn cost_of_job(&self, job: &JobView) -> Option<Credits> {
        cost_of(job, self.market())
    }

    pub(crate) fn cost_of_application(&self, application: &ApplicationView) -> Option<Credits> {
        let Market { is_ruling, .. } = self.market();
        let queue: &str = &application.submitted().queue;
        let balances = self.overview.money.as_ref().map_or(&[][..], |money| &money.balances);
        let has_account = is_ruling && balances.binary_search_by(|(name, _)| name.as_str().cmp(queue)).is_ok();
        let cost = application.cost().cost;
        (has_account || cost > Credits::ZERO).then_some(cost)
    }

    fn market(&self) -> Market {
        Market { is_there: self.overview.money.is_some(), is_ruling: self.overview.price.is_some() }
    }

    /// Reasons as people read them. Those of the market have numbers that give a rate away.
    fn why(&self, reasons: &[PendingReason], sees_money: bool) -> Vec<WhyLine> {
        let hides_numbers = self.overview.report.policy == PolicyName::Dynamic && !sees_money;
        let shown = reasons.iter().filter(|reason| !(hides_numbers && reason.is_of_market()));
        shown.map(|reason| WhyLine { text: reason.to_string(), reason: reason.clone() }).collect()
    }
}

fn due_of(reported: &ReportedJob) -> Option<JobDue> {
    let deadline = reported.deadline.as_ref()?;
    Some(JobDue {
        due_ms: deadline.deadline_at_ms,
        state: reported.state.clone(),
        planned_start_ms: deadline.planned_start_ms,
    })
}

fn percent_done(job: &JobView, kind: Kind, state: RunState) -> u32 {
    match (state, job.total()[kind]) {
        (RunState::Succeeded, _) => 100,
        // As the RPC has it.
        (RunState::Prep, _) | (_, 0) => 0,
        (_, total) => {
            let percent = u64::from(job.counts()[kind].finished) * 100 / u64::from(total);
            u32::try_from(percent).unwrap_or(100)
        }
    }
}

/// The tasks of a job that was not stopped.
fn tally(job: &JobView, kind: Kind, state: RunState) -> TaskTally {
    let (total, counts) = (job.total()[kind], job.counts()[kind]);
    if state == RunState::Succeeded {
        let failed = total.saturating_sub(counts.finished);
        return TaskTally { total, finished: counts.finished, failed, ..TaskTally::default() };
    }
    let failed = match job.ending() {
        Some(_) => failed_tasks(job.failure_info(), kind).unwrap_or(0),
        None => counts.failed,
    };
    let pending = total.saturating_sub(counts.finished).saturating_sub(counts.running).saturating_sub(failed);
    TaskTally { total, finished: counts.finished, running: counts.running, pending, failed, stopped: 0 }
}

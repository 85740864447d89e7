//! When listed jobs ended and what they cost, which only this JobTracker says, over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api::{JobTimes, JobTimesList};
use crate::cli::time_text::format_time;
use crate::client::job::JobId;
use crate::client::job::view::JobLine;
use crate::client::job::watch::JobCostState;

use super::connection::{ConnectionArguments, JobCommandError};

/// Timeout of the request: the list must not wait for it.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Times {
    /// By job; only the newest are listed.
    by_job: BTreeMap<JobId, JobTimes>,
    /// The clock of the JobTracker, epoch ms; none if it does not say.
    at_ms: Option<i64>,
    /// Whether jobs cost something, or have.
    pub(super) has_costs: bool,
    is_market_ruling: bool,
    /// Why costs are not known.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ListedJob<'a> {
    #[serde(flatten)]
    pub(super) job: &'a JobLine,
    /// When it ended, epoch ms; null while it has not, and where that is not known.
    pub(super) finish_ms: Option<i64>,
    /// Time since its submission, or until its end, ms; null where that is not known.
    pub(super) elapsed_ms: Option<i64>,
    /// Its cost up to the last tick; null where no market has charged for it, and where that is not known.
    pub(super) cost: Option<String>,
    /// Why the cost is not known.
    pub(super) cost_error: Option<String>,
    /// How often its owner was called in vain at its end, and why.
    #[serde(skip)]
    pub(super) end_notification: Option<String>,
}

impl Times {
    pub(super) async fn of(connection: &ConnectionArguments, jobs: &[JobLine]) -> Result<Self, JobCommandError> {
        let Some(first) = jobs.first() else { return Ok(Self::unknown(None)) };
        let (market, signer) = (connection.market_of(first)?, connection.signer()?);
        Ok(match timeout(TIMEOUT, market.job_times(signer.as_ref())).await {
            Ok(Ok(times)) => Self::known(times),
            Ok(Err(error)) => Self::unknown(Some(error.to_string())),
            Err(_) => Self::unknown(Some(format!("no answer within {} s", TIMEOUT.as_secs()))),
        })
    }

    fn known(times: JobTimesList) -> Self {
        let JobTimesList { at_ms, is_market_ruling, jobs } = times;
        let by_job: BTreeMap<JobId, JobTimes> = jobs.into_iter().map(|times| (times.job, times)).collect();
        let has_costs = is_market_ruling || by_job.values().any(|times| times.cost.is_some());
        Self { by_job, at_ms: Some(at_ms), has_costs, is_market_ruling, error: None }
    }

    fn unknown(error: Option<String>) -> Self {
        Self { by_job: BTreeMap::new(), at_ms: None, has_costs: false, is_market_ruling: false, error }
    }

    pub(super) fn timed<'a>(&self, job: &'a JobLine) -> ListedJob<'a> {
        let times = self.by_job.get(&job.job);
        let finish_ms = times.and_then(|times| times.finish_ms);
        let end_ms = if job.state.is_finished() { finish_ms } else { self.at_ms };
        let cost = times.and_then(|times| times.cost.clone());
        let hidden = || match times {
            Some(_) => format!("only {} and administrators see it, by a signed request", job.user),
            None => "too old to be listed; see `jobtracker job status`".to_owned(),
        };
        let cost_error = match &cost {
            Some(_) => None,
            None => self.error.clone().or_else(|| self.is_market_ruling.then(hidden)),
        };
        let elapsed_ms = end_ms.map(|end_ms| end_ms.saturating_sub(job.started_ms).max(0));
        let end_notification = times.and_then(|times| times.end_notification.clone());
        ListedJob { job, finish_ms, elapsed_ms, cost, cost_error, end_notification }
    }
}

/// The cost for people; `None` without a market.
pub(super) fn render_cost(cost: &JobCostState) -> Option<String> {
    match cost {
        JobCostState::None => None,
        JobCostState::UpToLastTick(cost) => Some(cost.clone()),
        JobCostState::Unknown { since_ms, reason } => {
            Some(format!("unknown since {}: {reason}", format_time(*since_ms)))
        }
    }
}

/// The same on a line of its own.
pub(super) fn render_cost_line(cost: &JobCostState) -> Option<String> {
    let is_known = matches!(cost, JobCostState::UpToLastTick(_));
    render_cost(cost).map(|text| if is_known { text + " up to the last tick" } else { text })
}

/// The members `cost`, null if there is none or it is unknown, and `cost_error`.
pub(super) fn add_cost(object: &mut Value, cost: &JobCostState) {
    let (value, error) = match cost {
        JobCostState::None => (Value::Null, Value::Null),
        JobCostState::UpToLastTick(cost) => (json!(cost), Value::Null),
        JobCostState::Unknown { .. } => (Value::Null, json!(render_cost(cost))),
    };
    (object["cost"], object["cost_error"]) = (value, error);
}

#[cfg(test)]
mod tests {
    use crate::client::job::view::JobState;

    use super::*;

    /// What jobs have cost stays in the list while another scheduler rules, and is no column where nothing was charged.
    #[test]
    fn costs_are_a_column_where_there_are_any() {
        let job = JobLine::example();
        let listed = |is_market_ruling, cost: Option<&str>| {
            let times = JobTimes {
                job: job.job,
                submit_ms: 1,
                finish_ms: None,
                cost: cost.map(str::to_owned),
                end_notification: None,
            };
            Times::known(JobTimesList { at_ms: 9, is_market_ruling, jobs: vec![times] })
        };
        for (is_market_ruling, cost, has_costs) in
            [(true, None, true), (false, Some("1.5"), true), (false, None, false)]
        {
            let times = listed(is_market_ruling, cost);
            assert_eq!(times.has_costs, has_costs, "{is_market_ruling} {cost:?}");
            let timed = times.timed(&job);
            assert_eq!(timed.cost.as_deref(), cost);
            assert_eq!(timed.cost_error.is_some(), is_market_ruling && cost.is_none());
        }
    }

    #[test]
    fn what_is_not_known_is_null_with_the_reason() {
        let job = JobLine::example();
        let ended = JobLine { state: JobState::Succeeded, ..job.clone() };
        let start_ms = job.started_ms;
        let times = |finish_ms, cost: Option<&str>| {
            let times = JobTimes {
                job: job.job,
                submit_ms: start_ms,
                finish_ms,
                cost: cost.map(str::to_owned),
                end_notification: None,
            };
            Times::known(JobTimesList { at_ms: start_ms + 9, is_market_ruling: true, jobs: vec![times] })
        };
        let of = |times: &Times, job: &JobLine| {
            let ListedJob { finish_ms, elapsed_ms, cost, cost_error, .. } = times.timed(job);
            (finish_ms.map(|ms| ms - start_ms), elapsed_ms, cost, cost_error.is_some())
        };
        assert_eq!(of(&times(None, Some("1.5")), &job), (None, Some(9), Some("1.5".to_owned()), false));
        assert_eq!(of(&times(Some(start_ms + 5), None), &ended), (Some(5), Some(5), None, true));
        assert_eq!(of(&Times::unknown(Some("no answer".to_owned())), &ended), (None, None, None, true));
        assert_eq!(of(&Times::unknown(None), &job), (None, None, None, false));
    }

    #[test]
    fn a_cost_that_cannot_be_read_is_never_an_old_one() {
        let unknown = JobCostState::Unknown { since_ms: 1_700_000_000_000, reason: "access denied".to_owned() };
        let known = JobCostState::UpToLastTick("1.5".to_owned());
        let lines = [&unknown, &known, &JobCostState::None].map(render_cost_line);
        let expected =
            [Some("unknown since 2023-11-14T22:13:20Z: access denied"), Some("1.5 up to the last tick"), None];
        assert_eq!(lines.each_ref().map(Option::as_deref), expected);
        let mut object = json!({});
        add_cost(&mut object, &unknown);
        assert!(object["cost"].is_null() && object["cost_error"].is_string(), "{object}");
        add_cost(&mut object, &known);
        assert_eq!(object, json!({ "cost": "1.5", "cost_error": null }));
    }
}

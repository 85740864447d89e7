//! What clients read of a job with a deadline: its plan, and how it stands.

use crate::model::Kind;
use crate::scheduler::app::App;

use super::Seconds;
use super::admission::TimeOfDay;
use super::deadline_job::DeadlineJob;
use super::policy::{Constraint, us};

impl Constraint {
    pub(super) fn report(&self, app: &App, job: &DeadlineJob) -> String {
        let since_arrival = |at_us: i64| Seconds { us: at_us.saturating_sub(job.arrival_us()) };
        // It may have come after the last heartbeat.
        let now_us = us(self.now.wall_ms).max(job.arrival_us());
        let left = Seconds { us: job.due_us().saturating_sub(now_us) };
        let minimum = job.minimum();
        let start = job.planned_start_us().map(|start_us| format!(" from {}", TimeOfDay(start_us)));
        let model = self.config.model;
        let overrun = job.overrun(&self.config, now_us).map(|overrun| match job.is_admitted_as_fluid(model) {
            true => format!(" Admitted by the fluid model, but {overrun}."),
            false => format!(" But {overrun}."),
        });
        format!(
            "Deadline {} s (left {left} s, {}). Maps {}/{} minimum{}. Reduces {}/{} minimum. Reduce start limit {} s.{}",
            since_arrival(job.due_us()),
            job.shown_state(&self.config, now_us),
            app.running[Kind::Map],
            minimum.map,
            start.unwrap_or_default(),
            app.running[Kind::Reduce],
            minimum.reduce,
            since_arrival(job.latest_reduce_start_us()),
            overrun.unwrap_or_default(),
        )
    }
}

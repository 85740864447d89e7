//! Jobs as a source of grants whose questions and grants stand in the event log of the Fair scheduler.

use crate::engine::state::EventLines;
use crate::mapreduce::JobGrants;
use crate::model::{Kind, TrackerId};
use crate::scheduler::fair::event_log::LogEvent;
use crate::scheduler::{AppId, Distance, GrantResult, GrantSource};

/// Grants to one tracker, with the lines of the event log that they cause.
pub(super) struct LoggedGrants<'a> {
    pub(super) grants: JobGrants<'a>,
    pub(super) lines: &'a mut EventLines,
    pub(super) tracker: &'a str,
}

impl GrantSource for LoggedGrants<'_> {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        let job = self.grants.job(app).filter(|_| self.lines.are_kept());
        let result = self.grants.take_task(app, kind, node, distance);
        let Some(job) = job else { return result };
        if kind == Kind::Map {
            self.lines.append(&LogEvent::AllowedLocality(job, distance.farthest));
        }
        let (GrantResult::Task { level, .. }, Some((_, launch))) = (&result, self.grants.launches.last()) else {
            return result;
        };
        self.lines.append(&LogEvent::Assign { tracker: self.tracker, kind, job, attempt: launch.attempt });
        if kind == Kind::Map {
            self.lines.append(&LogEvent::AssignedLocality(job, *level));
        }
        result
    }
}

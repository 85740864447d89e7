//! The audit log of 1.2.1 (`AuditLogger`): target `jobtracker::hadoop_audit`, for programs that read that of the Java JobTracker. A line says
//! whether a caller may do something, not what came of it; who changed what is in our own audit log.
//!
//! While access lists of queues and jobs are off, 1.2.1 audits submissions, safe mode and `refreshNodes` alone.

use std::net::IpAddr;

use crate::clock::Clock;
use crate::engine::{Engine, Event};
use crate::log::{LogDecision, LogRate};
use crate::model::JobId;

/// The target of all that is not about a job.
const JOBTRACKER: &str = "JobTracker";

/// Something that a caller wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuditedCall {
    pub(super) user: String,
    pub(super) address: IpAddr,
    pub(super) operation: &'static str,
    /// A job, perhaps with its queue, or [`JOBTRACKER`].
    pub(super) target: String,
    /// The access list that decides, as 1.2.1 says it.
    pub(super) permissions: String,
}

/// Writes the audit log. Each address may cause as many lines as of the operator's log.
#[derive(Debug)]
pub(super) struct HadoopAudit {
    rate: LogRate,
    clock: Clock,
    are_acls_enabled: bool,
}

impl AuditedCall {
    /// The line (1.2.1 `AuditLogger.createSuccessLog`, `createFailureLog`); `why`: why it was refused.
    fn line(&self, why: Option<&str>) -> String {
        let Self { user, address, operation, target, permissions } = self;
        // No value makes a line or a pair of its own.
        let plain = |text: &str| text.replace(|character: char| character.is_control(), " ");
        let (user, target) = (plain(user), plain(target));
        let begin = format!("USER={user}\tIP={address}\tOPERATION={operation}\tTARGET={target}\tRESULT=");
        match why {
            None => format!("{begin}SUCCESS"),
            Some(why) => format!("{begin}FAILURE\tDESCRIPTION={}\tPERMISSIONS={}", plain(why), plain(permissions)),
        }
    }
}

impl HadoopAudit {
    /// Why a call is refused that an access list does not allow.
    pub(super) const UNAUTHORIZED: &str = "Unauthorized user";

    pub(super) fn new(clock: Clock, are_acls_enabled: bool) -> Self {
        Self { rate: LogRate::default(), clock, are_acls_enabled }
    }

    /// What a call about a job asks for; none while access lists are off, and about a job that is not known.
    pub(super) fn of_job(
        &self,
        engine: &Engine,
        operation: &'static str,
        job: JobId,
        user: &str,
        address: IpAddr,
    ) -> Option<AuditedCall> {
        let access = engine.job_access(job).filter(|_| self.are_acls_enabled)?;
        let list = if operation.starts_with("VIEW_") { access.view_acl } else { access.modify_acl };
        Some(AuditedCall {
            user: user.to_owned(),
            address,
            operation,
            target: format!("{job} in queue {}", access.queue),
            permissions: list_text(list),
        })
    }

    pub(super) fn of_submission(
        &self,
        engine: &Engine,
        job: JobId,
        queue: &str,
        user: &str,
        address: IpAddr,
    ) -> AuditedCall {
        let list = engine.submit_acl(queue).unwrap_or_default();
        AuditedCall {
            user: user.to_owned(),
            address,
            operation: "SUBMIT_JOB",
            target: format!("{job} in queue {queue}"),
            permissions: list_text(list),
        }
    }

    /// What a call about the JobTracker itself asks for.
    pub(super) fn of_jobtracker(
        &self,
        engine: &Engine,
        operation: &'static str,
        user: &str,
        address: IpAddr,
    ) -> AuditedCall {
        let permissions = list_text(engine.administrators_acl());
        AuditedCall { user: user.to_owned(), address, operation, target: JOBTRACKER.to_owned(), permissions }
    }

    /// What an event of a call asks for; none of events that 1.2.1 does not audit.
    pub(super) fn of_event(&self, engine: &Engine, event: &Event, address: IpAddr) -> Option<AuditedCall> {
        match event {
            Event::KillJob { id, caller } | Event::KillJobAsFirstCall { id, caller } => {
                self.of_job(engine, "KILL_JOB", *id, &caller.user, address)
            }
            Event::KillTask { id, fail, caller } => {
                let operation = if *fail { "FAIL_TASK" } else { "KILL_TASK" };
                self.of_job(engine, operation, id.task.job, &caller.user, address)
            }
            Event::SetJobPriority { id, caller, .. } => {
                self.of_job(engine, "SET_JOB_PRIORITY", *id, &caller.user, address)
            }
            Event::SetSafeMode { caller, .. } => {
                Some(self.of_jobtracker(engine, "SET_SAFEMODE", &caller.user, address))
            }
            _ => None,
        }
    }

    pub(super) fn allowed(&self, call: &AuditedCall) {
        self.write(call, None);
    }

    /// Writes that a job was accepted: with access lists two lines, as 1.2.1.
    pub(super) fn submitted(&self, call: &AuditedCall, job: JobId) {
        if self.are_acls_enabled {
            self.write(call, None);
        }
        self.write(&AuditedCall { target: job.to_string(), ..call.clone() }, None);
    }

    pub(super) fn refused(&self, call: &AuditedCall, why: &str) {
        self.write(call, Some(why));
    }

    fn write(&self, call: &AuditedCall, why: Option<&str>) {
        match self.rate.decide(call.address, self.clock.mono_ms()) {
            LogDecision::Suppress => return,
            LogDecision::Write { suppressed: 0 } => {}
            LogDecision::Write { suppressed } => {
                tracing::warn!(target: "jobtracker::hadoop_audit", "suppressed {suppressed} more lines caused by {}", call.address);
            }
        }
        let line = call.line(why);
        match why {
            None => tracing::info!(target: "jobtracker::hadoop_audit", "{line}"),
            Some(_) => tracing::warn!(target: "jobtracker::hadoop_audit", "{line}"),
        }
    }
}

/// An access list for people (1.2.1 `AccessControlList.toString`).
fn list_text(list: &str) -> String {
    if list.trim() == "*" {
        return "All users are allowed".to_owned();
    }
    let (users, groups) = list.split_once(' ').unwrap_or((list, ""));
    let names = |names: &str| {
        let names: std::collections::BTreeSet<&str> =
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| format!("[{}]", names.into_iter().collect::<Vec<_>>().join(", ")))
    };
    match (names(users), names(groups)) {
        (None, None) => "No users are allowed".to_owned(),
        (Some(users), None) => format!("Users {users} are allowed"),
        (None, Some(groups)) => format!("Members of the groups {groups} are allowed"),
        (Some(users), Some(groups)) => format!("Users {users} and members of the groups {groups} are allowed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_hadoop() {
        let call = AuditedCall {
            user: "alice".to_owned(),
            address: "10.0.0.7".parse().unwrap(),
            operation: "KILL_JOB",
            target: "job_202611210909_0001 in queue q".to_owned(),
            permissions: list_text("bob,alice ops"),
        };
        assert_eq!(
            call.line(None),
            "USER=alice\tIP=10.0.0.7\tOPERATION=KILL_JOB\tTARGET=job_202611210909_0001 in queue q\tRESULT=SUCCESS"
        );
        let refused = AuditedCall { user: "m\tx\nUSER=root".to_owned(), ..call };
        assert_eq!(
            refused.line(Some(HadoopAudit::UNAUTHORIZED)),
            "USER=m x USER=root\tIP=10.0.0.7\tOPERATION=KILL_JOB\tTARGET=job_202611210909_0001 in queue q\tRESULT=FAILURE\t\
             DESCRIPTION=Unauthorized user\tPERMISSIONS=Users [alice, bob] and members of the groups [ops] are allowed"
        );
    }

    #[test]
    fn lists_are_said_as_by_hadoop() {
        let texts = ["*", " ", "a", " g,f", "b,a g"].map(list_text);
        assert_eq!(
            texts,
            [
                "All users are allowed",
                "No users are allowed",
                "Users [a] are allowed",
                "Members of the groups [f, g] are allowed",
                "Users [a, b] and members of the groups [g] are allowed"
            ]
        );
    }
}

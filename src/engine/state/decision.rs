//! What was decided of others' work, by the scheduler or by somebody, and why. A decision has the number of its fact.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::Claimant;
use crate::model::{AttemptId, ContainerId, Credits, JobId};

use super::audit_entry::AuditEntry;

/// Most queues that a preemption names as short of slots: those that lack most.
const MOST_CLAIMANTS: usize = 8;

/// Changes by callers that are decisions about others' work. Submissions, bids, tokens and what only reads are none.
const CHANGES: [&str; 25] = [
    "add-budget",
    "add-queue",
    "allowance",
    "bid",
    "deadline",
    "drain",
    "fail-task",
    "hold",
    "kill",
    "kill-container",
    "kill-task",
    "pause-queue",
    "pool",
    "priority",
    "refresh-nodes",
    "refresh-queues",
    "release",
    "reload",
    "reload-allocations",
    "remove-queue",
    "resume",
    "resume-queue",
    "safe-mode",
    "transfer",
    "unbid",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    #[serde(flatten)]
    pub(crate) what: Decided,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Decided {
    /// An attempt or container gives way to queues that hold less than is due to them.
    Preempted(Preempted),
    /// Another scheduler rules from now on, or the same by another choice.
    Policy {
        from: String,
        to: String,
        by: Arc<str>,
    },
    Changed(Change),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Victim {
    Attempt(AttemptId),
    Container(ContainerId),
}

/// What gave way, and what both sides paid when that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Preempted {
    pub(crate) victim: Victim,
    /// The queue or pool that loses its slots.
    pub(crate) queue: Arc<str>,
    pub(crate) worker: Arc<str>,
    pub(crate) slots: u32,
    /// What it paid for a slot over a whole interval; none: no market ruled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Credits>,
    /// How long it had held its slots, ms.
    pub(crate) age_ms: u64,
    /// For how long it had worked, ms: less than its age where a container was launched late.
    pub(crate) lost_ms: u64,
    /// Those that it gave way to, the one that lacked most first.
    #[serde(rename = "for")]
    pub(crate) claimants: Arc<[Claimant]>,
}

/// What a caller has changed, as the audit log has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) verb: String,
    pub(crate) user: String,
    pub(crate) fields: Vec<(String, String)>,
}

impl Decision {
    /// The decision in a change that somebody has made; none where the change is of nothing but the caller's own.
    pub(crate) fn in_change(entry: &AuditEntry, at_ms: i64) -> Option<Self> {
        if entry.is_denied || !CHANGES.contains(&entry.verb) {
            return None;
        }
        let fields = entry.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let change = Change { verb: entry.verb.to_owned(), user: entry.user.clone(), fields };
        Some(Self { at_ms, what: Decided::Changed(change) })
    }

    pub(crate) fn kind(&self) -> &'static str {
        match &self.what {
            Decided::Preempted(_) => "preempted",
            Decided::Policy { .. } => "policy",
            Decided::Changed(change) => change.kind(),
        }
    }

    pub(crate) fn is_about_files(&self) -> bool {
        matches!(self.kind(), "reload" | "listed")
    }

    pub(crate) fn job(&self) -> Option<JobId> {
        match &self.what {
            Decided::Preempted(Preempted { victim: Victim::Attempt(attempt), .. }) => Some(attempt.task.job),
            Decided::Changed(change) => change.field("job")?.parse().ok(),
            _ => None,
        }
    }
}

impl Preempted {
    /// Those that lack most, as a preemption names them.
    pub(crate) fn most_lacking(mut claimants: Vec<Claimant>) -> Arc<[Claimant]> {
        claimants.sort_by(|one, other| (other.missing, &one.queue).cmp(&(one.missing, &other.queue)));
        claimants.truncate(MOST_CLAIMANTS);
        claimants.into()
    }
}

impl Change {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    fn kind(&self) -> &'static str {
        match self.verb.as_str() {
            "kill" | "kill-task" | "fail-task" | "kill-container" => "killed",
            "drain" | "resume" => "drained",
            "hold" | "release" | "pause-queue" | "resume-queue" => "paused",
            "refresh-nodes" => "listed",
            "reload" | "reload-allocations" | "refresh-queues" => "reload",
            "safe-mode" => "safe_mode",
            "bid" | "unbid" => "order",
            "add-budget" | "add-queue" | "remove-queue" | "transfer" | "allowance" => "money",
            _ => "changed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_others_work_are_decisions_and_refusals_are_none() {
        let kill = AuditEntry::new("kill", "root").with("job", "job_1_0007").with("owner", "bob");
        let decision = Decision::in_change(&kill, 5).unwrap();
        assert_eq!((decision.kind(), decision.at_ms), ("killed", 5));
        assert_eq!(decision.job(), "job_1_0007".parse().ok());
        assert_eq!(Decision::in_change(&kill.denied(), 5), None);
        assert_eq!(Decision::in_change(&AuditEntry::new("submit", "bob"), 5), None);
        assert!(CHANGES.is_sorted());
    }

    #[test]
    fn the_queues_that_lack_most_are_named() {
        let queue = |number: u32| Claimant { queue: format!("q{number}"), missing: number / 2, rate: None };
        let claimants = Preempted::most_lacking((0..20).map(queue).collect());
        let names: Vec<&str> = claimants.iter().map(|queue| queue.queue.as_str()).collect();
        assert_eq!(names, ["q18", "q19", "q16", "q17", "q14", "q15", "q12", "q13"]);
    }

    #[test]
    fn it_reads_back_what_it_writes() {
        let preempted = Preempted {
            victim: Victim::Attempt("attempt_1_0001_m_000002_0".parse().unwrap()),
            queue: "bob".into(),
            worker: "w1".into(),
            slots: 1,
            rate: Some(Credits::from_units(7)),
            age_ms: 20,
            lost_ms: 10,
            claimants: Preempted::most_lacking(vec![Claimant { queue: "alice".into(), missing: 3, rate: None }]),
        };
        let decision = Decision { at_ms: 9, what: Decided::Preempted(preempted) };
        let text = serde_json::to_string(&decision).unwrap();
        assert_eq!(
            text,
            r#"{"at_ms":9,"kind":"preempted","victim":{"attempt":"attempt_1_0001_m_000002_0"},"queue":"bob","worker":"w1","slots":1,"rate":"0.000000000007","age_ms":20,"lost_ms":10,"for":[{"queue":"alice","missing":3}]}"#
        );
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
    }
}

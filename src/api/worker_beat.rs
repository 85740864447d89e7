//! What a built-in worker and the daemon say to each other about containers: one method, `beat`, in JSON, on a second
//! connection to the RPC port.
//!
//! Everything is idempotent by the worker's incarnation and the container's id: until the worker says that it has a
//! container, each answer repeats its launch; an end is repeated until the daemon says that it has noted it. So no answer
//! is kept. Answers come in portions. A context goes to a worker once for all containers that run it: the worker keeps it
//! until an answer drops it.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::model::{ApplicationId, Capability, ContainerExit, ContainerId, LaunchContext};

/// Longest time for which the daemon holds an answer back, ms.
pub(crate) const MOST_HELD_BEAT_MS: u64 = 10_000;

/// Longest answer to a beat, bytes, unless one launch is longer: the rest follows in the answers to the next beats.
pub(crate) const BEAT_ANSWER_BYTES: usize = 4 << 20;

/// A beat of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkerBeat {
    /// The tracker's name, as in its heartbeats.
    pub tracker: String,
    /// A random number of this process.
    pub incarnation: u64,
    /// What only this worker knows, 64 hex digits: its heartbeats carry the SHA-256 of it in their health report.
    pub secret: String,
    /// From 1 on each connection.
    pub number: u64,
    /// What the worker declares and which size of a slot it read; in the first beat of a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<DeclaredBag>,
    /// Whether `containers` are all that the worker has: in the first beat of a connection.
    #[serde(default)]
    pub is_full: bool,
    /// All containers, or those that changed since the last beat that was answered.
    #[serde(default)]
    pub containers: Vec<BeatContainer>,
    /// Why the worker takes no container now; none: it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhealthy: Option<String>,
    /// What containers use whose use has moved by a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ReportedUse>,
    /// What all running attempts of tasks use, once one has moved by a step; none: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_usage: Option<Vec<ReportedUse>>,
    /// Whether the worker keeps contexts, so that launches may refer to them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keeps_contexts: bool,
    /// The contexts that it keeps; in the first beat of a connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextId>,
}

/// What a container or an attempt uses, as its worker measures it. Any numbers: a beat that has wild ones is still read,
/// since its worker would repeat it for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReportedUse {
    /// The id of the container or attempt.
    pub(crate) id: String,
    /// Resident memory now, MB.
    pub(crate) memory_mb: Number,
    pub(crate) cpu_ms: Number,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A launch context that an application keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ContextId {
    pub(crate) application: ApplicationId,
    pub(crate) number: u64,
}

/// What a worker has for containers and slots together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeclaredBag {
    /// Memory and cores of all.
    pub capability: Capability,
    /// One slot's worth, as the worker reads it: the daemon's counts.
    pub slot: Capability,
}

/// A container as its worker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BeatContainer {
    /// Its id.
    pub id: ContainerId,
    /// How far it is.
    pub state: BeatContainerState,
}

/// How far a container is on its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum BeatContainerState {
    /// The worker has the launch; its process is not started yet.
    #[serde(rename_all = "kebab-case")]
    Launching,
    /// Its process runs.
    #[serde(rename_all = "kebab-case")]
    Running {
        /// The process, or that of its supervisor.
        pid: u32,
        /// When it started, wall clock of the worker, epoch ms.
        started_ms: i64,
    },
    /// Nothing of it is left.
    Ended(ContainerEnd),
}

/// The end of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ContainerEnd {
    /// How it ended.
    pub exit: ContainerExit,
    /// In words; empty where the status says all.
    #[serde(default)]
    pub diagnostics: String,
    /// When its process started, epoch ms; none: it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When it ended, epoch ms.
    pub ended_ms: i64,
    /// The most memory that it used, MB.
    #[serde(default)]
    pub peak_memory_mb: u32,
    /// CPU time of all its processes, ms.
    #[serde(default)]
    pub cpu_ms: u64,
}

/// The daemon's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BeatAnswer {
    /// Containers to launch. One that the worker has is passed over.
    #[serde(default)]
    pub launches: Vec<ContainerLaunch>,
    /// Contexts for the worker to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<SentContext>,
    /// Containers to launch in contexts that the worker keeps, each by the number that it has in its application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches_by_context: Vec<ContainerLaunch<u64>>,
    /// Containers to kill. One that the worker does not have is passed over.
    #[serde(default)]
    pub kills: Vec<ContainerKill>,
    /// Ended containers that the worker may forget, with what is left of them on disk but the logs.
    #[serde(default)]
    pub noted: Vec<ContainerId>,
    /// Contexts that the worker need not keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_contexts: Vec<ContextId>,
    /// Whether more is ready: beat again at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_more: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SentContext {
    pub(crate) id: ContextId,
    pub(crate) context: LaunchContext,
}

/// A container to launch, with its context or what stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ContainerLaunch<C = LaunchContext> {
    /// Its id.
    pub id: ContainerId,
    /// What it may use.
    pub capability: Capability,
    /// The user whose application it belongs to.
    pub user: String,
    /// What it runs; the item is not put in yet.
    pub context: C,
    /// The item, and how many attempts of it there were with this one, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<LaunchedItem>,
    /// The application's secret, for a master: written to a file of mode 0600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The key of tickets for the logs of this application, 64 hex digits.
    pub log_key: String,
    /// The daemon's web address, `host:port`.
    pub server: String,
}

impl<C> ContainerLaunch<C> {
    pub(crate) fn in_context<D>(self, context: D) -> ContainerLaunch<D> {
        let Self { id, capability, user, context: _, item, secret, log_key, server } = self;
        ContainerLaunch { id, capability, user, context, item, secret, log_key, server }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LaunchedItem {
    /// Its number, below 2^31.
    pub number: u32,
    /// From 1.
    pub attempt: u32,
}

/// A container to kill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ContainerKill {
    /// Its id.
    pub id: ContainerId,
    /// The status that it ends with, unless its process ends by itself before the kill reaches it.
    pub exit: ContainerExit,
    /// Why, in words.
    pub diagnostics: String,
    /// Time between TERM and KILL, ms; 0: KILL at once.
    pub grace_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ApplicationId;

    #[test]
    fn a_beat_and_its_answer_read_as_they_were_written() {
        let id = ApplicationId::new(5, 1).container(1, 7);
        let end = ContainerEnd {
            exit: ContainerExit(3),
            diagnostics: "exit code 3".to_owned(),
            started_ms: Some(1),
            ended_ms: 2,
            peak_memory_mb: 4,
            cpu_ms: 5,
        };
        let states = [
            BeatContainerState::Launching,
            BeatContainerState::Running { pid: 12, started_ms: 1 },
            BeatContainerState::Ended(end),
        ];
        let slot = Capability::new(1024, 1);
        let used = ReportedUse { id: id.to_string(), memory_mb: 7.into(), cpu_ms: 8.into() };
        let context_id = ContextId { application: id.application, number: 2 };
        let beat = WorkerBeat {
            tracker: "tracker_h:localhost/127.0.0.1:1".to_owned(),
            incarnation: 1,
            secret: "00".repeat(32),
            number: 1,
            declared: Some(DeclaredBag { capability: slot, slot }),
            is_full: true,
            containers: states.into_iter().map(|state| BeatContainer { id, state }).collect(),
            unhealthy: None,
            usage: vec![used.clone()],
            attempt_usage: Some(vec![used]),
            keeps_contexts: true,
            contexts: vec![context_id],
        };
        assert_eq!(serde_json::from_str::<WorkerBeat>(&serde_json::to_string(&beat).unwrap()).unwrap(), beat);
        let launch = ContainerLaunch {
            id,
            capability: slot,
            user: "alice".to_owned(),
            context: LaunchContext::of_command(vec!["true".to_owned()]),
            item: Some(LaunchedItem { number: 3, attempt: 1 }),
            secret: None,
            log_key: "00".repeat(32),
            server: "h:50030".to_owned(),
        };
        let kill =
            ContainerKill { id, exit: ContainerExit::ABORTED, diagnostics: "released".to_owned(), grace_ms: 5_000 };
        let answer = BeatAnswer {
            launches: vec![launch.clone()],
            contexts: vec![SentContext { id: context_id, context: launch.context.clone() }],
            launches_by_context: vec![launch.in_context(2)],
            kills: vec![kill],
            noted: vec![id],
            dropped_contexts: vec![context_id],
            has_more: true,
        };
        assert_eq!(serde_json::from_str::<BeatAnswer>(&serde_json::to_string(&answer).unwrap()).unwrap(), answer);
    }
}

//! A container: what is known of it, how it moves on, and what containers have cost and used.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::ContainerEnd;
use crate::api::applications::{ContainerState, Locality, Placement};
use crate::market::{GraceStep, SlotHolder};
use crate::model::{Capability, ContainerExit, ContainerId, Credits};
use crate::scheduler::{RequestType, rack_path};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    pub id: ContainerId,
    pub request: RequestType,
    pub node: ContainerNode,
    /// How near that is to where it was wanted.
    pub locality: Locality,
    /// The row that gave the level.
    pub row: Placement,
    /// The rows that its grant lowered beside that for any node.
    pub lowered: LoweredRows,
    /// When it was granted, epoch ms.
    pub granted_ms: i64,
    /// What its queue paid then for one slot over a whole interval; 0 where no market ruled.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub rate: Credits,
    /// What it runs; none: it is not launched.
    pub launch: Option<Launched>,
    /// When its process started, epoch ms.
    pub started_ms: Option<i64>,
    pub kill: Option<Kill>,
    pub end: Option<ContainerEnd>,
    pub state: ContainerState,
    /// The answer that named it to its application: attempt and response id.
    #[serde(skip)]
    pub named_in: Option<(u32, u64)>,
    /// The answer that had its status.
    #[serde(skip)]
    pub status_in: Option<(u32, u64)>,
}

fn is_nothing(rate: &Credits) -> bool {
    *rate == Credits::ZERO
}

/// The rows that a grant lowered, beside that for any node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoweredRows {
    pub(crate) host: bool,
    /// That of the rack, or of a group of racks above it.
    pub(crate) rack: bool,
    /// How many levels above its rack that is; 0: the rack.
    #[serde(default, skip_serializing_if = "is_rack_itself")]
    pub(crate) above: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_rack_itself(above: &u8) -> bool {
    *above == 0
}

impl LoweredRows {
    /// The name of the rack row that a grant in a rack lowered.
    pub(crate) fn rack_of(self, rack: &str) -> Option<&str> {
        rack_path(rack).nth(self.above.into()).filter(|_| self.rack)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerNode {
    pub(crate) tracker: Arc<str>,
    /// The worker's incarnation at the grant.
    pub(crate) incarnation: u64,
    /// `host:web port`.
    pub(crate) id: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) rack: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    pub context: u64,
    pub item: Option<u32>,
    /// Attempts of the item with this one, from 1.
    pub item_attempt: u32,
    /// When the launch was ordered, epoch ms.
    pub at_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    pub exit: ContainerExit,
    pub diagnostics: String,
    pub grace_ms: u64,
    /// Whether it was preempted, perhaps after its owner had ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_preemption: bool,
}

impl Kill {
    pub(crate) fn new(exit: ContainerExit, diagnostics: String, grace_ms: u64) -> Self {
        Self { exit, diagnostics, grace_ms, is_preemption: false }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ContainerStep {
    Named,
    Launch(Launched),
    /// Its worker says that it runs, since this time, epoch ms.
    Started(i64),
    Kill(Kill),
    Ended(ContainerEnd),
}

impl Container {
    /// Whether it is not complete.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state != ContainerState::Complete
    }

    #[must_use]
    pub(crate) fn is_launched(&self) -> bool {
        matches!(self.state, ContainerState::Launching | ContainerState::Running)
    }

    /// Whether it was preempted and is not complete.
    #[must_use]
    pub(crate) fn is_in_grace(&self) -> bool {
        self.is_live() && self.kill.as_ref().is_some_and(|kill| kill.is_preemption)
    }

    /// What the market counts of its grace from now on; of `slot` size.
    #[must_use]
    pub(crate) fn grace_step(&self, slot: Capability) -> GraceStep {
        GraceStep {
            holder: SlotHolder::Application(self.id.application),
            container: self.id.number,
            slots: self.request.capability.slots(slot),
            rate: self.rate,
            begins: self.is_in_grace(),
        }
    }

    #[must_use]
    pub(crate) fn item(&self) -> Option<u32> {
        self.launch.and_then(|launch| launch.item)
    }

    /// How it ended; -1000 until it has.
    #[must_use]
    pub(crate) fn exit(&self) -> ContainerExit {
        self.end.as_ref().map_or(ContainerExit::INVALID, |end| end.exit)
    }

    #[must_use]
    pub(crate) fn has_failed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.exit.is_own_fault())
    }

    /// The container after a step; none: the step changes nothing, because it is further already.
    #[must_use]
    pub(crate) fn after(&self, step: ContainerStep) -> Option<Self> {
        use ContainerState::{Acquired, Allocated, Complete, Launching, Running};
        let mut next = self.clone();
        match (self.state, step) {
            (Complete, _) | (Running, ContainerStep::Started(_)) => return None,
            (Allocated, ContainerStep::Named) => next.state = Acquired,
            (_, ContainerStep::Named) => return None,
            (Allocated | Acquired, ContainerStep::Launch(launch)) => {
                next.state = Launching;
                next.launch = Some(launch);
            }
            (Launching | Running, ContainerStep::Launch(_)) => return None,
            (Launching, ContainerStep::Started(started_ms)) => {
                next.state = Running;
                next.started_ms = Some(started_ms);
            }
            // A worker cannot have what was not launched.
            (Allocated | Acquired, ContainerStep::Started(_)) => return None,
            (_, ContainerStep::Kill(kill)) => {
                // A second kill can only be more sudden.
                let is_news = self.kill.as_ref().is_none_or(|before| kill.grace_ms < before.grace_ms);
                if !is_news {
                    return None;
                }
                next.kill = Some(match &self.kill {
                    Some(before) => {
                        let is_preemption = before.is_preemption || kill.is_preemption;
                        Kill { grace_ms: kill.grace_ms, is_preemption, ..before.clone() }
                    }
                    None => kill,
                });
            }
            (_, ContainerStep::Ended(end)) => {
                next.state = Complete;
                next.started_ms = end.started_ms.or(self.started_ms);
                next.end = Some(end);
            }
        }
        Some(next)
    }
}

/// What the containers of an application have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerCost {
    /// The last tick that charged for them; 0: none.
    pub tick: u64,
    /// What they have held in intervals that were charged, slot-milliseconds.
    pub slot_ms: u64,
    /// Slots that were charged for before charges went by time, summed over intervals.
    pub sampled_slots: u64,
    pub cost: Credits,
}

/// Sums over the complete containers of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerTotals {
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    pub(crate) preempted: u64,
    /// Memory times the time from grant to end, MB x ms.
    pub(crate) memory_mb_ms: u64,
    /// Cores times the time from grant to end, ms.
    pub(crate) vcore_ms: u64,
}

impl ContainerTotals {
    pub(crate) fn add(&mut self, container: &Container) {
        let Some(end) = &container.end else { return };
        let held_ms = end.ended_ms.saturating_sub(container.granted_ms).max(0).cast_unsigned();
        let Capability { memory_mb, vcores } = container.request.capability;
        self.complete += 1;
        self.failed += u64::from(container.has_failed());
        self.preempted += u64::from(end.exit == ContainerExit::PREEMPTED);
        self.memory_mb_ms = self.memory_mb_ms.saturating_add(held_ms.saturating_mul(u64::from(memory_mb)));
        self.vcore_ms = self.vcore_ms.saturating_add(held_ms.saturating_mul(u64::from(vcores)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ApplicationId, Capability};

    fn granted() -> Container {
        let capability = Capability::new(512, 1);
        Container {
            id: ApplicationId::new(1, 1).container(1, 1),
            request: RequestType { priority: 1, request_id: 0, capability },
            node: ContainerNode {
                tracker: "t".into(),
                incarnation: 1,
                id: "h:1".into(),
                host: "h".into(),
                rack: "/r".into(),
            },
            locality: Locality::OffSwitch,
            row: Placement::Any,
            lowered: LoweredRows::default(),
            granted_ms: 1,
            rate: Credits::ZERO,
            launch: None,
            started_ms: None,
            kill: None,
            end: None,
            state: ContainerState::Allocated,
            named_in: None,
            status_in: None,
        }
    }

    fn launch() -> ContainerStep {
        ContainerStep::Launch(Launched { context: 1, item: None, item_attempt: 1, at_ms: 2 })
    }

    fn end(exit: ContainerExit) -> ContainerStep {
        let diagnostics = String::new();
        ContainerStep::Ended(ContainerEnd {
            exit,
            diagnostics,
            started_ms: None,
            ended_ms: 9,
            peak_memory_mb: 0,
            cpu_ms: 0,
        })
    }

    fn kill(grace_ms: u64) -> ContainerStep {
        ContainerStep::Kill(Kill::new(ContainerExit::ABORTED, grace_ms.to_string(), grace_ms))
    }

    #[test]
    fn a_container_moves_from_its_grant_to_its_end_and_never_back() {
        let acquired = granted().after(ContainerStep::Named).unwrap();
        let launching = acquired.after(launch()).unwrap();
        let running = launching.after(ContainerStep::Started(5)).unwrap();
        let complete = running.after(end(ContainerExit(1))).unwrap();
        use ContainerState::{Acquired, Complete, Launching, Running};
        let states = [&acquired, &launching, &running, &complete].map(|container| container.state);
        assert_eq!(states, [Acquired, Launching, Running, Complete]);
        assert_eq!((complete.started_ms, complete.has_failed()), (Some(5), true));
        for step in [ContainerStep::Named, launch(), ContainerStep::Started(6), kill(0), end(ContainerExit(0))] {
            assert_eq!(complete.after(step), None);
        }
        assert_eq!(running.after(launch()), None, "a launch is given once");
        assert_eq!(acquired.after(ContainerStep::Started(5)), None, "nothing runs that was not launched");
        assert_eq!(granted().after(launch()).unwrap().state, Launching, "launch on grant");
    }

    #[test]
    fn a_second_kill_can_only_be_more_sudden() {
        let killed = granted().after(kill(5_000)).unwrap();
        assert_eq!(killed.after(kill(5_000)), None);
        let at_once = killed.after(kill(0)).unwrap().kill.unwrap();
        assert_eq!((at_once.grace_ms, at_once.diagnostics.as_str()), (0, "5000"), "the first one's reason");
    }
}

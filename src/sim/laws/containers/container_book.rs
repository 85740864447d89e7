//! One container by the facts: it moves on, never back; it is launched once, named once, and its end is said once.

use crate::api::applications::{ContainerState, Placement};
use crate::engine::{Container, Launched, RequestType};
use crate::model::ContainerExit;

#[derive(Clone, Debug)]
pub(super) struct ContainerBook {
    pub(super) state: ContainerState,
    pub(super) request: RequestType,
    pub(super) tracker: std::sync::Arc<str>,
    pub(super) incarnation: u64,
    pub(super) launch: Option<Launched>,
    /// When it was granted, epoch ms.
    pub(super) granted_ms: i64,
    /// Rows that its grant lowered.
    pub(super) rows: Vec<Placement>,
    pub(super) exit: Option<ContainerExit>,
    /// Time between TERM and KILL once it is to be killed, ms.
    pub(super) kill_grace_ms: Option<u64>,
    pub(super) is_named: bool,
    pub(super) is_reported: bool,
}

impl ContainerBook {
    pub(super) fn granted(container: &Container) -> Self {
        let mut rows = vec![Placement::Any];
        if container.lowered.host {
            rows.push(Placement::Host(container.node.host.to_string()));
        }
        if container.lowered.rack {
            rows.push(Placement::Rack(container.node.rack.to_string()));
        }
        Self {
            state: container.state,
            request: container.request,
            tracker: container.node.tracker.clone(),
            incarnation: container.node.incarnation,
            launch: container.launch,
            granted_ms: container.granted_ms,
            rows,
            exit: None,
            kill_grace_ms: None,
            is_named: false,
            is_reported: false,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.state != ContainerState::Complete
    }

    pub(super) fn advance(&mut self, next: &Container) -> Result<(), String> {
        let id = next.id;
        if !self.is_live() {
            return Err(format!("{id} changes after its end: {next:?}"));
        }
        if next.state < self.state {
            return Err(format!("{id} is {:?} after it was {:?}", next.state, self.state));
        }
        if (next.request, &*next.node.tracker, next.node.incarnation)
            != (self.request, &*self.tracker, self.incarnation)
        {
            return Err(format!("{id} moves, or becomes another one: {next:?}"));
        }
        if next.granted_ms != self.granted_ms {
            return Err(format!("{id} is granted at another time: {next:?}"));
        }
        if self.launch.is_some() && next.launch != self.launch {
            return Err(format!("{id} is launched twice: {:?}, then {:?}", self.launch, next.launch));
        }
        let is_started = next.state == ContainerState::Running;
        if is_started && next.launch.is_none() {
            return Err(format!("{id} runs, and was not launched"));
        }
        if (next.state == ContainerState::Complete) != next.end.is_some() {
            return Err(format!("{id} is {:?}, and its end {:?}", next.state, next.end));
        }
        self.state = next.state;
        self.launch = next.launch;
        self.kill_grace_ms = next.kill.as_ref().map(|kill| kill.grace_ms);
        self.exit = next.end.as_ref().map(|end| end.exit);
        Ok(())
    }
}

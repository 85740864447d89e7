//! What an answer of `allocate` and `register` says.

use crate::api::applications::{
    AllocateAnswer, AllocatedContainer, CompletedContainer, ContainerState, RegisterAnswer,
};
use crate::model::{ApplicationId, Capability};

use super::application::Application;
use super::container::Container;
use super::record::{TakenIn, is_master, shown_id};
use super::settings::MAX_IN_ANSWER;
use super::table::Applications;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headroom {
    /// On all nodes together.
    pub(crate) limit: Capability,
    pub(crate) nodes: u32,
}

impl Applications {
    /// The answer of a call: what no answer has said so far.
    pub(super) fn build_answer(
        &self,
        application: &Application,
        taken_in: TakenIn,
        headroom: Headroom,
    ) -> AllocateAnswer {
        let counts = &application.counts;
        let of = |number: &u64| application.containers.get(number);
        let containers = counts.unnamed.iter().filter_map(of).take(MAX_IN_ANSWER);
        let statuses = counts.unreported.iter().filter_map(of).take(MAX_IN_ANSWER);
        AllocateAnswer {
            attempt: application.standing.attempt,
            response_id: application.standing.response_id.saturating_add(1),
            has_more: counts.unnamed.len() > MAX_IN_ANSWER || counts.unreported.len() > MAX_IN_ANSWER,
            allocated_containers: containers.map(|container| allocated(container, None)).collect(),
            completed_container_statuses: statuses.map(completed).collect(),
            unknown_releases: taken_in.unknown_releases,
            unknown_launches: taken_in.unknown_launches,
            limit: headroom.limit,
            num_cluster_nodes: headroom.nodes,
        }
    }

    pub(super) fn build_register_answer(&self, id: ApplicationId) -> Option<RegisterAnswer> {
        let application = self.get(id)?;
        let live = application.live().filter(|container| !is_master(container.request));
        Some(RegisterAnswer {
            attempt: application.standing.attempt,
            response_id: application.standing.response_id,
            queue: application.submitted.queue.to_string(),
            maximum_resource_capability: self.settings.maximum,
            minimum_resource_capability: self.settings.minimum,
            containers: live.map(|container| allocated(container, Some(container.state))).collect(),
        })
    }
}

fn allocated(container: &Container, state: Option<ContainerState>) -> AllocatedContainer {
    AllocatedContainer {
        container_id: container.id,
        node_id: container.node.id.to_string(),
        node_http_address: container.node.id.to_string(),
        rack: container.node.rack.to_string(),
        locality: container.locality,
        resource_name: container.row.clone(),
        capability: container.request.capability,
        priority: container.request.priority,
        allocation_request_id: shown_id(container.request),
        item: container.item(),
        state: state.map(|state| state.name().to_owned()),
    }
}

fn completed(container: &Container) -> CompletedContainer {
    let end = container.end.as_ref();
    CompletedContainer {
        container_id: container.id,
        state: ContainerState::Complete.name().to_owned(),
        exit_status: container.exit(),
        diagnostics: end.map(|end| end.diagnostics.clone()).unwrap_or_default(),
        node_id: container.node.id.to_string(),
        allocation_request_id: shown_id(container.request),
        item: container.item(),
    }
}

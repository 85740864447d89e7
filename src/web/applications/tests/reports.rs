//! An answer of each kind, as an engine gives it.

use crate::api::applications::{
    AllocateAnswer, AllocatedContainer, ApplicationReport, ApplicationState, ClusterInfo, CompletedContainer,
    ContainerReport, ContainerState, Locality, NodeKind, NodeReport, NodeState, Placement, RefusedLaunch,
    RegisterAnswer, ReportedFinalStatus, ResourceRequestRow, WaitingReason, WaitingRequest,
};
use crate::model::{Capability, ContainerExit, ContainerId, Priority};

use super::*;

const GB: Capability = Capability::new(1024, 1);
const START_MS: i64 = 1_700_000_000_000;

pub(super) fn container_id(number: u64) -> ContainerId {
    APPLICATION.container(1, number)
}

fn application() -> ApplicationReport {
    ApplicationReport {
        id: APPLICATION,
        user: "alice".to_owned(),
        name: "sim".to_owned(),
        queue: "alice".to_owned(),
        state: ApplicationState::Running,
        final_status: ReportedFinalStatus::Undefined,
        progress: 25.0,
        tracking_url: String::new(),
        diagnostics: String::new(),
        cluster_id: 1_700_000_000_000,
        application_type: String::new(),
        priority: Priority::Normal,
        started_time: START_MS + 5,
        finished_time: 0,
        elapsed_time: 70_000,
        allocated_mb: 2_048,
        allocated_vcores: 2,
        running_containers: 2,
        memory_seconds: 71_680,
        vcore_seconds: 70,
        live_memory_mb: 0,
        live_cpu_ms: 0,
        preempted_containers: 0,
        resource_requests_left_out: 0,
        resource_requests: vec![ResourceRequestRow {
            priority: 1,
            allocation_request_id: 0,
            resource_name: Placement::Any,
            capability: GB,
            num_containers: 3,
            relax_locality: true,
            node_label_expression: String::new(),
            items: Some("8-10".to_owned()),
        }],
        attempt: 1,
        response_id: 4,
        version: 17,
        unattended: false,
        strict_gates: false,
        slots: 2,
        cost: None,
        pending_containers: 3,
        completed_containers: 5,
        failed_containers: 1,
        items: None,
        failed_items: "4".to_owned(),
        why: vec![WaitingRequest {
            priority: 1,
            capability: GB,
            reason: WaitingReason::NoneFree,
            unmet_rows: 0,
            unmet: Vec::new(),
        }],
        cannot_run: None,
        unlaunched: None,
        held_by_others: None,
    }
}

fn container() -> ContainerReport {
    ContainerReport {
        container_id: container_id(4),
        application_id: APPLICATION,
        attempt: 1,
        node_id: "h2121:50060".to_owned(),
        node_http_address: "h2121:50060".to_owned(),
        rack: "/r22".to_owned(),
        locality: Locality::NodeLocal,
        priority: 1,
        allocation_request_id: 0,
        allocated_mb: 1024,
        allocated_vcores: 1,
        slots: 1,
        item: Some(4),
        item_attempt: Some(1),
        state: ContainerState::Complete,
        killing: false,
        exit_status: ContainerExit::KILLED_EXCEEDED_MEMORY,
        diagnostics: "used 1100 MB of 1024 MB".to_owned(),
        granted_time: START_MS + 10,
        launched_time: START_MS + 11,
        started_time: START_MS + 20,
        finished_time: START_MS + 900,
        memory_mb: 0,
        peak_memory_mb: 1100,
        cpu_ms: 850,
    }
}

fn allocated(state: Option<&str>) -> AllocatedContainer {
    AllocatedContainer {
        container_id: container_id(5),
        node_id: "h2121:50060".to_owned(),
        node_http_address: "h2121:50060".to_owned(),
        rack: "/r22".to_owned(),
        locality: Locality::NodeLocal,
        resource_name: Placement::Host("h2121".to_owned()),
        capability: GB,
        priority: 1,
        allocation_request_id: 0,
        item: None,
        state: state.map(str::to_owned),
    }
}

fn allocate() -> AllocateAnswer {
    AllocateAnswer {
        attempt: 1,
        response_id: 4,
        has_more: false,
        allocated_containers: vec![allocated(None)],
        completed_container_statuses: vec![CompletedContainer {
            container_id: container_id(4),
            state: "COMPLETE".to_owned(),
            exit_status: ContainerExit::ABORTED,
            diagnostics: "released by the application".to_owned(),
            node_id: "h1010:50060".to_owned(),
            allocation_request_id: 0,
            item: Some(3),
        }],
        unknown_releases: vec![container_id(9)],
        unknown_launches: vec![RefusedLaunch { container_id: container_id(8), reason: "it is complete".to_owned() }],
        limit: Capability::new(12_288, 12),
        num_cluster_nodes: 4,
    }
}

fn node() -> NodeReport {
    NodeReport {
        id: "h2121:50060".to_owned(),
        rack: "/r22".to_owned(),
        state: NodeState::Running,
        node_host_name: "h2121".to_owned(),
        node_http_address: "h2121:50060".to_owned(),
        last_health_update: START_MS + 3,
        health_report: String::new(),
        num_containers: 2,
        used_memory_mb: 2_048,
        avail_memory_mb: 14_336,
        live_memory_mb: 300,
        live_cpu_ms: 850,
        used_virtual_cores: 2,
        available_virtual_cores: 6,
        kind: NodeKind::Builtin,
        map_slots: 4,
        reduce_slots: 2,
        slots: 8,
    }
}

fn info() -> ClusterInfo {
    ClusterInfo {
        id: 1_700_000_000_000,
        started_on: 1_700_000_000_000,
        state: "STARTED".to_owned(),
        time: START_MS + 60_000,
        version: "0.1.0".to_owned(),
        scheduler_name: "fifo".to_owned(),
        minimum: Capability::new(512, 1),
        maximum: Capability::new(1_048_576, 1_024),
        slot: GB,
    }
}

/// What an engine could answer to each question.
pub(super) fn answer(question: &ApplicationQuestion) -> ApplicationAnswer {
    match question {
        ApplicationQuestion::NewId => ApplicationAnswer::NewId {
            application: APPLICATION,
            maximum: Capability::new(1_048_576, 1_024),
            minimum: Capability::new(512, 1),
        },
        ApplicationQuestion::Submit { .. } => {
            ApplicationAnswer::Submitted { application: APPLICATION, state: ApplicationState::Accepted, secret: SECRET }
        }
        ApplicationQuestion::Register { .. } => ApplicationAnswer::Registered(Box::new(RegisterAnswer {
            attempt: 1,
            response_id: 0,
            queue: "alice".to_owned(),
            maximum_resource_capability: Capability::new(1_048_576, 1_024),
            minimum_resource_capability: Capability::new(512, 1),
            containers: vec![allocated(Some("RUNNING"))],
        })),
        ApplicationQuestion::Allocate { .. } => {
            ApplicationAnswer::Allocated(serde_json::to_vec(&allocate()).unwrap().into())
        }
        ApplicationQuestion::Unregister { .. } => ApplicationAnswer::Unregistered(ApplicationState::Finished),
        ApplicationQuestion::List(_) => {
            ApplicationAnswer::Applications { applications: vec![application()], next: Some(APPLICATION), store: STORE }
        }
        ApplicationQuestion::Show { .. } | ApplicationQuestion::ShowRows { .. } => {
            ApplicationAnswer::Application(Arc::new(application()))
        }
        ApplicationQuestion::State(_) | ApplicationQuestion::Kill(_) => {
            ApplicationAnswer::State { state: ApplicationState::Running, is_ending: true }
        }
        ApplicationQuestion::Containers { .. } => {
            ApplicationAnswer::Containers { containers: vec![container()], next: None, stored_through: 0 }
        }
        ApplicationQuestion::Container(_) => ApplicationAnswer::Container(Box::new(container())),
        ApplicationQuestion::Signal { .. } => ApplicationAnswer::Signalled { was_complete: false },
        ApplicationQuestion::Logs(_) => ApplicationAnswer::Logs {
            node_http_address: "h2121:50060".to_owned(),
            expires_ms: START_MS + 300_000,
            ticket: "0a".repeat(32),
        },
        ApplicationQuestion::Nodes => ApplicationAnswer::Nodes(vec![node()]),
        ApplicationQuestion::Node(_) => ApplicationAnswer::Node(Box::new(node())),
        ApplicationQuestion::Info => ApplicationAnswer::Info(Box::new(info())),
    }
}

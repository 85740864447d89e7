//! The client against a server of the tests' own, and what commands are tested with.

mod calls;
mod fake_server;

use crate::api::applications::{
    ApplicationReport, ApplicationState, ContainerReport, ContainerState, Locality, Placement, ReportedFinalStatus,
    ResourceRequestRow,
};
use crate::model::{ApplicationId, Capability, ContainerExit, Priority};

pub(crate) use fake_server::{FakeServer, Reply, Sent};

/// `application_1700000000000_0001`.
pub(crate) const APPLICATION: ApplicationId = ApplicationId::new(1_700_000_000_000, 1);

/// An unattended application with one container that runs and two that wait.
pub(crate) fn example_application() -> ApplicationReport {
    ApplicationReport {
        id: APPLICATION,
        user: "alice".to_owned(),
        name: "simulate".to_owned(),
        queue: "default".to_owned(),
        state: ApplicationState::Accepted,
        final_status: ReportedFinalStatus::Undefined,
        progress: 0.0,
        tracking_url: String::new(),
        diagnostics: String::new(),
        cluster_id: 1_700_000_000_000,
        application_type: "run".to_owned(),
        priority: Priority::Normal,
        started_time: 1_700_000_000_000,
        finished_time: 0,
        elapsed_time: 65_000,
        allocated_mb: 1_024,
        allocated_vcores: 1,
        running_containers: 1,
        memory_seconds: 66_560,
        vcore_seconds: 65,
        live_memory_mb: 0,
        live_cpu_ms: 0,
        preempted_containers: 0,
        resource_requests_left_out: 0,
        resource_requests: vec![ResourceRequestRow {
            priority: 1,
            allocation_request_id: 0,
            resource_name: Placement::Any,
            capability: Capability::new(1_024, 1),
            num_containers: 2,
            relax_locality: true,
            node_label_expression: String::new(),
            items: None,
        }],
        attempt: 0,
        response_id: 0,
        version: 3,
        unattended: true,
        strict_gates: false,
        slots: 1,
        cost: None,
        pending_containers: 2,
        completed_containers: 0,
        failed_containers: 0,
        items: None,
        failed_items: String::new(),
        why: Vec::new(),
        cannot_run: None,
        unlaunched: None,
        held_by_others: None,
    }
}

/// A container of it that runs.
pub(crate) fn example_container(number: u64) -> ContainerReport {
    ContainerReport {
        container_id: APPLICATION.container(0, number),
        application_id: APPLICATION,
        attempt: 0,
        node_id: "h1:50060".to_owned(),
        node_http_address: "h1:50060".to_owned(),
        rack: "/default-rack".to_owned(),
        locality: Locality::OffSwitch,
        priority: 1,
        allocation_request_id: 0,
        allocated_mb: 1_024,
        allocated_vcores: 1,
        slots: 1,
        item: None,
        item_attempt: None,
        state: ContainerState::Running,
        killing: false,
        exit_status: ContainerExit::INVALID,
        diagnostics: String::new(),
        granted_time: 1_700_000_000_100,
        launched_time: 1_700_000_000_200,
        started_time: 1_700_000_000_300,
        finished_time: 0,
        memory_mb: 0,
        peak_memory_mb: 12,
        cpu_ms: 34,
    }
}

//! Applications and their containers as lists and programs read them.

use crate::api::applications::{
    ApplicationRow, ApplicationStatus, ContainerRow, ContainerState, Placement, RequestLine,
};
use crate::engine::{Container, ItemStanding, ItemTrouble, Items, RequestType, is_master, shown_id};
use crate::model::{Capability, Credits};

use super::application_view::{ApplicationView, RequestView};

/// Most parts of items in a text.
const MAX_SHOWN_PARTS: usize = 1_000;
/// Most rows of requests.
const MAX_ROWS: usize = 100;
/// Stands for all containers of a type that run no item, beyond all items.
const WITHOUT_ITEM: u32 = u32::MAX;

impl ApplicationView {
    /// As lists show it; `cost`: where that is shown.
    pub(crate) fn row(&self, cost: Option<Credits>) -> ApplicationRow {
        let (submitted, standing, totals) = (self.submitted(), self.standing(), self.totals());
        ApplicationRow {
            application: submitted.id,
            name: submitted.name.clone(),
            user: submitted.user.to_string(),
            queue: submitted.queue.to_string(),
            state: standing.state,
            final_status: standing.final_status.into(),
            started_ms: submitted.submitted_ms,
            finished_ms: standing.finished_ms,
            elapsed_ms: None,
            running_containers: self.live_count() as u64,
            pending_containers: self.wanted(),
            completed_containers: totals.complete,
            failed_containers: totals.failed,
            items: self.item_counts().filter(|_| !standing.state.is_over()),
            memory_mb: self.live_sums().memory_mb,
            cores: self.live_sums().cores,
            cost,
        }
    }

    /// By itself, with the first rows of what it wants; `slot`: one slot's worth. What its containers have used counts once
    /// they are complete.
    pub(crate) fn status(&self, cost: Option<Credits>, slot: Capability) -> ApplicationStatus {
        let (submitted, standing, totals) = (self.submitted(), self.standing(), self.totals());
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let asked = self.requests().filter(|(request, _)| !is_master(**request));
        ApplicationStatus {
            row: self.row(cost),
            r#type: submitted.application_type.clone(),
            unattended: submitted.is_unattended,
            attempt: standing.attempt,
            progress_percent: standing.progress_ppm as f64 / 10_000.0,
            url: standing.tracking_url.clone().filter(|url| !url.is_empty()),
            diagnostics: given(&standing.diagnostics),
            preempted_containers: totals.preempted,
            failed_items: given(&Items::shown(self.failed_items(), MAX_SHOWN_PARTS)),
            slots: Some(self.live().map(|container| u64::from(container.request.capability.slots(slot))).sum()),
            live_memory_mb: None,
            live_cpu_ms: None,
            unlaunched: None,
            held_by_others: None,
            memory_mb_s: totals.memory_mb_ms / 1_000,
            core_s: totals.vcore_ms / 1_000,
            requests: asked.flat_map(|(request, view)| self.request_lines(*request, view)).take(MAX_ROWS).collect(),
            cannot_run: None,
            why: None,
            containers: None,
        }
    }

    /// Items that failed for good.
    pub(crate) fn failed_items(&self) -> impl Iterator<Item = u32> + use<'_> {
        let has_failed = |(_, item, trouble): &(RequestType, u32, &ItemTrouble)| {
            trouble.standing == ItemStanding::Failed && *item != WITHOUT_ITEM
        };
        self.troubles().filter(has_failed).map(|(_, item, _)| item)
    }

    fn request_lines(&self, request: RequestType, view: &RequestView) -> Vec<RequestLine> {
        let items = view.items().map(|items| {
            let left = items.after_first(view.taken());
            let again = Items::shown(self.waiting_again(request), MAX_SHOWN_PARTS);
            match (left.is_empty(), again.is_empty()) {
                (_, true) => left.cut(MAX_SHOWN_PARTS),
                (true, false) => again,
                (false, false) => format!("{},{again}", left.cut(MAX_SHOWN_PARTS)),
            }
        });
        let line = |(place, row): (&Placement, &crate::engine::RequestRow)| RequestLine {
            priority: request.priority,
            allocation_request_id: shown_id(request),
            resource_name: place.clone(),
            memory_mb: request.capability.memory_mb,
            cores: request.capability.vcores,
            containers: row.count,
            relax_locality: row.relaxes,
            items: items.clone().filter(|_| *place == Placement::Any),
        };
        view.rows().take(MAX_ROWS).map(line).collect()
    }
}

/// A container; what it uses while it lives is no fact.
pub(crate) fn container_row(container: &Container) -> ContainerRow {
    let end = container.end.as_ref();
    let kill_text = container.kill.as_ref().map(|kill| kill.diagnostics.clone());
    let text = end.map(|end| end.diagnostics.clone()).or(kill_text);
    ContainerRow {
        container: container.id,
        state: container.state,
        node: container.node.id.to_string(),
        rack: container.node.rack.to_string(),
        item: container.item(),
        item_attempt: container.item().and(container.launch).map(|launch| launch.item_attempt),
        exit_status: (container.state == ContainerState::Complete).then(|| container.exit()),
        diagnostics: text.filter(|text| !text.is_empty()),
        memory_mb: container.request.capability.memory_mb,
        cores: container.request.capability.vcores,
        granted_ms: container.granted_ms,
        started_ms: container.started_ms,
        finished_ms: end.map(|end| end.ended_ms),
        live_memory_mb: 0,
        peak_memory_mb: end.map_or(0, |end| end.peak_memory_mb),
        cpu_ms: end.map_or(0, |end| end.cpu_ms),
    }
}

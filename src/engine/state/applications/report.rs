//! Reports on applications and their containers.

use crate::api::applications::{
    ApplicationReport, ContainerReport, ContainerState, Placement, ResourceRequestRow, WaitingRequest,
};
use crate::model::{ApplicationId, Capability, ContainerId, Credits, Now};
use crate::scheduler::RequestType;

use super::application::Application;
use super::container::Container;
use super::items::Items;
use super::measured_use::{MeasuredUse, sum};
use super::record::{AskedType, is_master, shown_id};
use super::refusal::ApplicationRefusal;
use super::restored::RestoredApplication;
use super::row_page::{RowPage, STEP_BYTES};
use super::table::Applications;

/// Most parts of items in a report.
const MAX_SHOWN_PARTS: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerFilter {
    /// In these states; empty: in any.
    pub(crate) states: Vec<ContainerState>,
    /// Only those that failed by their own fault.
    pub(crate) failed_only: bool,
    /// At most so many, 1 to 1,000.
    pub(crate) limit: usize,
    /// Only those with a higher number than this one.
    pub(crate) after: Option<ContainerId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportTerms {
    /// One slot's worth.
    pub(crate) slot: Capability,
    /// Epoch ms in the ids of this run.
    pub(crate) cluster_id: u64,
    /// The fact that holds the last change of the application.
    pub(crate) version: u64,
}

/// Approximate bytes of a report on a container without its text.
const CONTAINER_BYTES: usize = 512;

impl Applications {
    /// A report on an application, with what others know of it.
    pub(crate) fn report(
        &self,
        application: &Application,
        cost: Option<Credits>,
        why: Vec<WaitingRequest>,
        rows: RowPage,
        now: Now,
    ) -> ApplicationReport {
        let terms = ReportTerms { version: self.version(application.id()), ..self.stored_terms() };
        let measured = sum(application.live().filter_map(|container| self.container_use(container.id)));
        let report = build_report(application, terms, cost, why, rows, now);
        let unlaunched = self.unlaunched_of(application, now);
        ApplicationReport { live_memory_mb: measured.memory_mb, live_cpu_ms: measured.cpu_ms, unlaunched, ..report }
    }

    /// The terms of reports on applications that are not in memory.
    pub(crate) fn stored_terms(&self) -> ReportTerms {
        ReportTerms { slot: self.settings.slot, cluster_id: self.start_ms, version: self.base_version.0 }
    }

    pub(crate) fn container_report(&self, container: &Container) -> ContainerReport {
        let report = ContainerReport::of(container, self.settings.slot);
        match self.container_use(container.id).filter(|_| container.is_live()) {
            Some(MeasuredUse { memory_mb, peak_memory_mb, cpu_ms }) => ContainerReport {
                memory_mb,
                peak_memory_mb: u32::try_from(peak_memory_mb).unwrap_or(u32::MAX),
                cpu_ms,
                ..report
            },
            None => report,
        }
    }

    /// Containers of an application that are in memory and match, by number, and whether there are more.
    pub(crate) fn containers(
        &self,
        application: ApplicationId,
        filter: &ContainerFilter,
    ) -> Result<(Vec<ContainerReport>, Option<ContainerId>), ApplicationRefusal> {
        let ContainerFilter { states, failed_only, limit, after } = filter;
        let known = self.known(application)?;
        let from = after.map_or(1, |after| after.number.saturating_add(1));
        let mut found = known.containers.range(from..).map(|(_, container)| container).filter(|container| {
            (states.is_empty() || states.contains(&container.state)) && (!*failed_only || container.has_failed())
        });
        let (mut list, mut bytes) = (Vec::new(), 0);
        while bytes < STEP_BYTES
            && list.len() < *limit
            && let Some(container) = found.next()
        {
            let report = self.container_report(container);
            bytes += CONTAINER_BYTES + report.diagnostics.len();
            list.push(report);
        }
        let next = found.next().and(list.last()).map(|last: &ContainerReport| last.container_id);
        Ok((list, next))
    }
}

/// A report on an application that the store alone has; without a cost if nothing was charged for it.
pub(crate) fn report_stored(restored: RestoredApplication, terms: ReportTerms, now: Now) -> ApplicationReport {
    let cost = Some(restored.cost.cost).filter(|cost| *cost > Credits::ZERO);
    build_report(&restored.into_application(), terms, cost, Vec::new(), RowPage::FIRST, now)
}

fn build_report(
    application: &Application,
    terms: ReportTerms,
    cost: Option<Credits>,
    why: Vec<WaitingRequest>,
    rows: RowPage,
    now: Now,
) -> ApplicationReport {
    let Application { submitted, standing, counts, .. } = application;
    let ReportTerms { slot, cluster_id, version } = terms;
    let finished_ms = standing.finished_ms;
    let live: Vec<&Container> = application.live().collect();
    let seconds = |done_ms: u64, amount: fn(Capability) -> u32| held_seconds(done_ms, &live, amount, now);
    let (resource_requests, resource_requests_left_out) = shown_rows(application, rows);
    ApplicationReport {
        id: submitted.id,
        user: submitted.user.to_string(),
        name: submitted.name.clone(),
        queue: submitted.queue.to_string(),
        state: standing.state,
        final_status: standing.final_status.into(),
        progress: standing.progress_ppm as f64 / 10_000.0,
        tracking_url: standing.tracking_url.clone().unwrap_or_default(),
        diagnostics: standing.diagnostics.clone(),
        cluster_id,
        application_type: submitted.application_type.clone(),
        priority: submitted.priority,
        started_time: submitted.submitted_ms,
        finished_time: finished_ms.unwrap_or(0),
        elapsed_time: finished_ms.unwrap_or(now.wall_ms).saturating_sub(submitted.submitted_ms).max(0),
        allocated_mb: counts.memory_mb,
        allocated_vcores: counts.vcores,
        running_containers: counts.live.len() as u64,
        memory_seconds: seconds(counts.totals.memory_mb_ms, |capability| capability.memory_mb),
        vcore_seconds: seconds(counts.totals.vcore_ms, |capability| capability.vcores),
        live_memory_mb: 0,
        live_cpu_ms: 0,
        preempted_containers: counts.totals.preempted,
        resource_requests,
        resource_requests_left_out,
        attempt: standing.attempt,
        response_id: standing.response_id,
        version,
        unattended: submitted.is_unattended,
        strict_gates: submitted.strict_gates,
        slots: live.iter().map(|container| u64::from(container.request.capability.slots(slot))).sum(),
        cost,
        pending_containers: application.outstanding(),
        completed_containers: counts.totals.complete,
        failed_containers: counts.totals.failed,
        items: application.item_counts(),
        failed_items: Items::shown(failed_items(application), MAX_SHOWN_PARTS),
        why,
        cannot_run: None,
        unlaunched: None,
        held_by_others: None,
    }
}

/// An amount times the seconds for which containers had it: complete ones `done_ms` times it, and these live ones.
fn held_seconds(done_ms: u64, live: &[&Container], amount: fn(Capability) -> u32, now: Now) -> u64 {
    let held_ms = |container: &Container| now.wall_ms.saturating_sub(container.granted_ms).max(0).cast_unsigned();
    let held = live.iter().map(|container| held_ms(container) * u64::from(amount(container.request.capability)));
    (done_ms.saturating_add(held.sum::<u64>())) / 1_000
}

/// Items of all types that have failed for good, those of types with rows first.
fn failed_items(application: &Application) -> Vec<u32> {
    let Application { tables, troubles, .. } = application;
    let without_rows = troubles.keys().filter(|request| !tables.contains_key(request));
    tables.keys().chain(without_rows).flat_map(|request| application.failed_items(*request)).collect()
}

/// The rows of a page, and how many others there are.
fn shown_rows(application: &Application, page: RowPage) -> (Vec<ResourceRequestRow>, u64) {
    let asked = || application.tables.iter().filter(|(request, _)| !is_master(**request));
    let all = asked().map(|(_, table)| table.rows.len()).sum();
    page.of(all, asked().flat_map(|(request, table)| rows_of(application, *request, table)))
}

fn rows_of(
    application: &Application,
    request: RequestType,
    table: &AskedType,
) -> impl Iterator<Item = ResourceRequestRow> {
    let waiting = application.counts.waiting.get(&request).into_iter().flatten().map(|(_, item)| *item);
    let items = table.launch.as_ref().filter(|launch| launch.items.is_some()).map(|_| {
        let left = table.items.after_first(table.taken);
        match (left.is_empty(), Items::shown(waiting, MAX_SHOWN_PARTS)) {
            (_, again) if again.is_empty() => left.cut(MAX_SHOWN_PARTS),
            (true, again) => again,
            (false, again) => format!("{},{again}", left.cut(MAX_SHOWN_PARTS)),
        }
    });
    table.rows.iter().map(move |(place, row)| ResourceRequestRow {
        priority: request.priority,
        allocation_request_id: shown_id(request),
        resource_name: place.clone(),
        capability: request.capability,
        num_containers: row.count,
        relax_locality: row.relaxes,
        node_label_expression: String::new(),
        items: items.clone().filter(|_| *place == Placement::Any),
    })
}

impl ContainerReport {
    /// A report on a container; `slot`: one slot's worth.
    pub(crate) fn of(container: &Container, slot: Capability) -> Self {
        let end = container.end.as_ref();
        let launch = container.launch;
        let item = container.item();
        let kill_text = container.kill.as_ref().map(|kill| kill.diagnostics.clone());
        Self {
            container_id: container.id,
            application_id: container.id.application,
            attempt: container.id.attempt,
            node_id: container.node.id.to_string(),
            node_http_address: container.node.id.to_string(),
            rack: container.node.rack.to_string(),
            locality: container.locality,
            priority: container.request.priority,
            allocation_request_id: shown_id(container.request),
            allocated_mb: container.request.capability.memory_mb,
            allocated_vcores: container.request.capability.vcores,
            slots: container.request.capability.slots(slot),
            item,
            item_attempt: item.and(launch).map(|launch| launch.item_attempt),
            state: container.state,
            killing: container.is_live() && container.kill.is_some(),
            exit_status: container.exit(),
            diagnostics: end.map(|end| end.diagnostics.clone()).or(kill_text).unwrap_or_default(),
            granted_time: container.granted_ms,
            launched_time: launch.map_or(0, |launch| launch.at_ms),
            started_time: container.started_ms.unwrap_or(0),
            finished_time: end.map_or(0, |end| end.ended_ms),
            memory_mb: 0,
            peak_memory_mb: end.map_or(0, |end| end.peak_memory_mb),
            cpu_ms: end.map_or(0, |end| end.cpu_ms),
        }
    }
}

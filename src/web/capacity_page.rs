//! The page of the Capacity scheduler: its queues (1.2.1 `CapacitySchedulerServlet`).

use askama::Template;

use crate::api::{QueueCapacity, ReportedGroup, SchedulerReport};
use crate::model::Kind;

use super::rows::Rows;
use super::time_text::format_time;

#[derive(Template)]
#[template(path = "capacity.html")]
pub(super) struct CapacityPage<'a> {
    host: &'a str,
    queues: Rows<CapacityRow>,
    at: String,
}

struct CapacityRow {
    name: String,
    running_jobs: u64,
    pending_jobs: u64,
    percent: String,
    /// Maps, then reduces.
    kinds: [KindCells; 2],
}

struct KindCells {
    slots: u32,
    occupied: u32,
    occupied_percent: String,
    running: u32,
}

impl<'a> CapacityPage<'a> {
    pub(super) fn new(host: &'a str, report: &SchedulerReport) -> Self {
        let queues = report.groups.iter().filter_map(|group| Some((group, group.capacity.as_ref()?)));
        let queues = Rows::new(queues, |(group, queue)| CapacityRow::new(group, queue));
        CapacityPage { host, queues, at: format_time(report.at_ms) }
    }
}

impl CapacityRow {
    fn new(group: &ReportedGroup, queue: &QueueCapacity) -> Self {
        let cells = |kind: Kind| KindCells {
            slots: queue.slots[kind],
            occupied: queue.occupied[kind],
            occupied_percent: queue.occupied_percent[kind].clone(),
            running: queue.running[kind],
        };
        CapacityRow {
            name: group.name.clone(),
            running_jobs: queue.running_jobs.saturating_add(queue.initializing_jobs),
            pending_jobs: queue.waiting_jobs,
            percent: queue.percent.clone(),
            kinds: Kind::ALL.map(cells),
        }
    }
}

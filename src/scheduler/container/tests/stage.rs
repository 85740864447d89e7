//! A small cluster: nodes by host, applications by number, and all containers that were granted.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::model::{Capability, Kind, PerKind, TrackerId};
use crate::scheduler::container::{AskedRow, ContainerGrant, ContainerSource, CountedRows, RequestType};
use crate::scheduler::tests::kit::assert_sound;
use crate::scheduler::{AppId, AppSpec, FifoOptions, Level, Scheduler};

/// 1,024 MB and one core: a slot.
pub(crate) const GB: Capability = Capability::new(1_024, 1);

/// Takes all containers, or none of one application.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) grants: Vec<ContainerGrant>,
    pub(crate) refuses: Option<AppId>,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) scheduler: Scheduler,
    pub(crate) source: Source,
    pub(crate) nodes: BTreeMap<String, TrackerId>,
}

/// A row: name and count.
pub(crate) type Row = (&'static str, u32);

impl ContainerSource for Source {
    fn take_container(&mut self, grant: &ContainerGrant) -> bool {
        let takes = self.refuses != Some(grant.app);
        if takes {
            self.grants.push(grant.clone());
        }
        takes
    }
}

/// A type of priority `priority` and so many MB, with one core.
pub(crate) const fn request(priority: u32, memory_mb: u32) -> RequestType {
    RequestType { priority, request_id: 0, capability: Capability::new(memory_mb, 1) }
}

pub(crate) fn row(request: RequestType, name: &str, count: u32) -> AskedRow {
    AskedRow { request, name: name.to_owned().into(), count, relax_locality: true, max_running: None }
}

pub(crate) fn rows(request: RequestType, rows: &[Row]) -> Vec<AskedRow> {
    rows.iter().map(|&(name, count)| row(request, name, count)).collect()
}

pub(crate) fn fixed(row: AskedRow) -> AskedRow {
    AskedRow { relax_locality: false, ..row }
}

pub(crate) fn at_a_time(row: AskedRow, most: u32) -> AskedRow {
    AskedRow { max_running: NonZeroU32::new(most), ..row }
}

impl Stage {
    /// Nodes of 8 GB and 8 cores by host and rack, all taking containers.
    pub(crate) fn new(nodes: &[(&str, &str)]) -> Self {
        Self::with_bags(&nodes.iter().map(|&(host, rack)| (host, rack, Capability::new(8_192, 8))).collect::<Vec<_>>())
    }

    pub(crate) fn with_bags(nodes: &[(&str, &str, Capability)]) -> Self {
        Self::under(Scheduler::fifo(FifoOptions::default()), nodes)
    }

    pub(crate) fn under(scheduler: Scheduler, nodes: &[(&str, &str, Capability)]) -> Self {
        let mut stage = Self { scheduler, source: Source::default(), nodes: BTreeMap::new() };
        nodes.iter().for_each(|&(host, rack, bag)| stage.add_node(host, rack, bag));
        stage.grant();
        stage
    }

    pub(crate) fn add_node(&mut self, host: &str, rack: &str, bag: Capability) {
        let id = self.scheduler.topology_mut().intern_host(host, rack);
        let node = self.scheduler.add_node(id, PerKind::new(4, 2));
        self.scheduler.set_bag(node, Some(bag));
        self.scheduler.set_takes_containers(node, true);
        self.nodes.insert(host.to_owned(), node);
    }

    /// Adds an application to queue `q`; the smaller number was submitted first.
    pub(crate) fn add_app(&mut self, number: u32) -> AppId {
        self.add_app_in("q", number)
    }

    pub(crate) fn add_app_in(&mut self, queue: &str, number: u32) -> AppId {
        let (id, group) = (AppId::new(number), self.scheduler.open_group(queue));
        self.scheduler.add_app(AppSpec { order: number.into(), ..AppSpec::plain(id, group) }).unwrap();
        self.scheduler.resume_app(id);
        id
    }

    pub(crate) fn set(&mut self, app: AppId, rows: &[AskedRow]) {
        self.scheduler.ask(app, rows);
        self.check();
    }

    /// Grants at once what is possible; returns the hosts with levels.
    pub(crate) fn grant(&mut self) -> Vec<(String, Level)> {
        let before = self.source.grants.len();
        let granted = self.scheduler.grant_containers(&mut self.source);
        assert_eq!(granted as usize, self.source.grants.len() - before);
        self.check();
        self.places_since(before)
    }

    /// A heartbeat of a node; returns the levels of what it was granted.
    pub(crate) fn beat(&mut self, host: &str) -> Vec<Level> {
        let before = self.source.grants.len();
        let granted = self.scheduler.grant_containers_on(self.nodes[host], &mut self.source);
        assert_eq!(granted as usize, self.source.grants.len() - before);
        self.check();
        self.places_since(before).into_iter().map(|(_, level)| level).collect()
    }

    fn places_since(&self, before: usize) -> Vec<(String, Level)> {
        self.source.grants[before..].iter().map(|grant| (self.host_of(grant.node), grant.level)).collect()
    }

    pub(crate) fn host_of(&self, node: TrackerId) -> String {
        self.nodes.iter().find(|(_, id)| **id == node).map(|(host, _)| host.clone()).unwrap_or_default()
    }

    pub(crate) fn end(&mut self, grant: &ContainerGrant) {
        self.scheduler.end_container(grant.app, grant.node, grant.request);
        self.check();
    }

    pub(crate) fn run_maps(&mut self, app: AppId, host: &str, count: u32) {
        (0..count).for_each(|_| self.scheduler.add_running(app, Kind::Map, self.nodes[host], 1));
    }

    pub(crate) fn table(&self, app: AppId, request: RequestType) -> Vec<(String, u32)> {
        let rows = self.scheduler.rows_of(app).into_iter().filter(|row| row.request == request);
        rows.map(|row| (row.name.into(), row.count)).collect()
    }

    pub(crate) fn last(&self) -> ContainerGrant {
        self.source.grants.last().unwrap().clone()
    }

    pub(crate) fn check(&mut self) {
        assert_sound(&mut self.scheduler);
    }
}

pub(crate) fn counted(grant: &ContainerGrant) -> Vec<String> {
    let CountedRows { host, rack } = &grant.counted;
    host.iter().chain(rack).map(|name| name.to_string()).collect()
}

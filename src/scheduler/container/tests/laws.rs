//! Laws over random clusters: the scheduler grants what the plain rules grant, no node gives more than it has, and no
//! application gets more than it asked for.

use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;

use super::model::{Model, ModelApp, ModelNode, ModelQueue};
use super::stage::Stage;
use crate::model::{Capability, Kind, PerPool, Placement};
use crate::scheduler::container::{AskedRow, RequestType};
use crate::scheduler::{Allocation, AppId, Level, Scheduler};

const NODES: [(&str, &str, Capability); 6] = [
    ("h0", "/r0", Capability::new(4_096, 4)),
    ("h1", "/r0", Capability::new(2_048, 8)),
    ("h2", "/r1", Capability::new(6_144, 3)),
    ("h3", "/r1", Capability::new(1_024, 1)),
    ("h4", "/r2", Capability::new(8_192, 8)),
    ("h5", "/r2", Capability::new(3_072, 3)),
];
const APPS: usize = 3;
const CAPABILITIES: [Capability; 4] =
    [Capability::new(512, 1), Capability::new(1_024, 1), Capability::new(2_048, 2), Capability::new(4_096, 1)];
const NAMES: [&str; 11] = ["h0", "h1", "h2", "h3", "h4", "h5", "/r0", "/r1", "/r2", "elsewhere", "*"];

#[derive(Clone, Debug)]
enum Step {
    Ask(usize, Vec<AskedRow>),
    Beat(usize),
    /// The oldest, the next one ... of all containers.
    End(usize),
    /// So many tasks run on a node, as far as it has room.
    Tasks(usize, u32),
    Blacklist(usize, &'static str, bool),
    Take(usize, bool),
}

fn rows() -> impl Strategy<Value = Vec<AskedRow>> {
    let capability = prop::sample::select(CAPABILITIES.to_vec());
    let request = (1_u32..3, 0_u64..2, capability).prop_map(|(priority, request_id, capability)| RequestType {
        priority,
        request_id,
        capability,
    });
    let row = (
        prop::sample::select(NAMES.to_vec()),
        0_u32..5,
        prop::bool::weighted(0.8),
        prop::option::weighted(0.2, 1_u32..4),
    );
    let named = prop::collection::vec(row, 0..6);
    let any = prop::option::weighted(0.8, (0_u32..12, prop::bool::weighted(0.9)));
    (request, named, any).prop_map(|(request, named, any)| {
        let any = any.map(|(count, relaxes)| ("*", count, relaxes, None));
        let row = |(name, count, relax_locality, most): (&str, u32, bool, Option<u32>)| AskedRow {
            request,
            name: name.to_owned().into(),
            count,
            relax_locality,
            max_running: most.and_then(NonZeroU32::new).filter(|_| name == "*"),
        };
        named.into_iter().chain(any).map(row).collect()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..APPS, rows()).prop_map(|(app, rows)| Step::Ask(app, rows)),
        8 => (0..NODES.len()).prop_map(Step::Beat),
        3 => (0_usize..20).prop_map(Step::End),
        1 => (0..NODES.len(), 0_u32..4).prop_map(|(node, tasks)| Step::Tasks(node, tasks)),
        1 => (0..APPS, prop::sample::select(NAMES.to_vec()), any::<bool>())
            .prop_map(|(app, name, is_added)| Step::Blacklist(app, name, is_added)),
        1 => (0..NODES.len(), any::<bool>()).prop_map(|(node, takes)| Step::Take(node, takes)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..60)
}

/// The scheduler and the model beside it.
struct Pair {
    stage: Stage,
    model: Model,
    apps: Vec<AppId>,
    /// A job in each queue, whose maps take room.
    jobs: Vec<AppId>,
    /// The job of each map on a node.
    maps: Vec<Vec<usize>>,
}

impl Pair {
    fn new(strict: usize, delay: u32) -> Self {
        let mut stage = Stage::with_bags(&NODES);
        stage.scheduler.set_locality_delay(delay);
        let apps: Vec<AppId> = (0..APPS as u32).map(|number| stage.add_app(number + 1)).collect();
        if let Some(app) = apps.get(strict) {
            stage.scheduler.set_strict_gates(*app, true);
        }
        let jobs = vec![stage.add_app(9)];
        let nodes = NODES.map(|(host, rack, bag)| ModelNode::new(host, rack, bag)).to_vec();
        let app = |number| ModelApp { is_strict: number == strict, ..ModelApp::default() };
        Self {
            stage,
            model: Model { nodes, apps: (0..APPS).map(app).collect(), delay, queues: None },
            apps,
            jobs,
            maps: vec![vec![]; NODES.len()],
        }
    }

    /// The same in queues of a market, an application in each in turn.
    fn under_the_market() -> Self {
        let mut stage = Stage::under(Scheduler::dynamic(), &NODES);
        let mut add = |number: u32, queue: usize| stage.add_app_in(["qa", "qb"][queue], number);
        let apps: Vec<AppId> = (0..APPS as u32).map(|number| add(number + 1, number as usize % 2)).collect();
        let jobs = (0..2).map(|queue| add(8 + queue as u32, queue)).collect();
        let nodes = NODES.map(|(host, rack, bag)| ModelNode::new(host, rack, bag)).to_vec();
        let queues = Some(vec![ModelQueue::default(); 2]);
        let model = Model { nodes, apps: vec![ModelApp::default(); APPS], delay: 1, queues };
        stage.scheduler.set_locality_delay(1);
        Self { stage, model, apps, jobs, maps: vec![vec![]; NODES.len()] }
    }

    fn buy(&mut self, bought: [ModelQueue; 2]) {
        let queues = self.model.queues.as_mut().unwrap();
        let mut allocations = Vec::new();
        for (queue, name) in ["qa", "qb"].into_iter().enumerate() {
            queues[queue] = ModelQueue { maps: queues[queue].maps, ..bought[queue] };
            let ModelQueue { map_quota, reduce_quota, container_slots, rate, .. } = bought[queue];
            let quota = PerPool::new(map_quota, reduce_quota, container_slots);
            let bought = Allocation { quota, rate_units: rate.into() };
            allocations.push((self.stage.scheduler.group(name).unwrap(), bought));
        }
        self.stage.scheduler.set_allocations(&allocations);
    }

    fn count_map(&mut self, job: usize, is_more: bool) {
        if let Some(queues) = &mut self.model.queues {
            queues[job].maps = if is_more { queues[job].maps + 1 } else { queues[job].maps - 1 };
        }
    }

    fn set_tasks(&mut self, node: usize, tasks: u32) {
        let (host, id) = (NODES[node].0, self.stage.nodes[NODES[node].0]);
        while self.model.nodes[node].tasks > tasks {
            let job = self.maps[node].pop().unwrap();
            self.stage.scheduler.remove_running(self.jobs[job], Kind::Map, id, 1);
            self.model.nodes[node].tasks -= 1;
            self.count_map(job, false);
        }
        while self.model.nodes[node].tasks < tasks && self.stage.scheduler.slot_room(id) > Some(0) {
            let job = (node + self.model.nodes[node].tasks as usize) % self.jobs.len();
            self.stage.run_maps(self.jobs[job], host, 1);
            self.model.nodes[node].tasks += 1;
            self.maps[node].push(job);
            self.count_map(job, true);
        }
    }

    fn end(&mut self, number: usize) {
        let all: usize = self.model.nodes.iter().map(|node| node.containers.len()).sum();
        let Some(mut number) = number.checked_rem(all) else { return };
        for (node, (host, ..)) in NODES.iter().enumerate() {
            let containers = &mut self.model.nodes[node].containers;
            if number < containers.len() {
                let (app, request) = containers.remove(number);
                self.stage.scheduler.end_container(self.apps[app], self.stage.nodes[*host], request);
                return;
            }
            number -= containers.len();
        }
    }

    fn set_takes(&mut self, node: usize, takes: bool) {
        self.stage.scheduler.set_takes_containers(self.stage.nodes[NODES[node].0], takes);
        // What is so already changes nothing, as to the scheduler: a reservation that is of no use then ends with the next heartbeat.
        if std::mem::replace(&mut self.model.nodes[node].takes, takes) != takes {
            self.model.drop_reservations(node);
        }
    }

    fn blacklist(&mut self, app: usize, name: &str, is_added: bool) {
        let names: [Arc<str>; 1] = [name.into()];
        let (additions, removals): (&[Arc<str>], &[Arc<str>]) = if is_added { (&names, &[]) } else { (&[], &names) };
        self.stage.scheduler.blacklist(self.apps[app], additions, removals);
        match is_added {
            true => self.model.apps[app].blacklist.insert(name.to_owned()),
            false => self.model.apps[app].blacklist.remove(name),
        };
        let is_of_app = |node: &ModelNode| node.reserved.is_some_and(|(of, _)| of == app);
        let kept: Vec<usize> = (0..NODES.len()).filter(|node| is_of_app(&self.model.nodes[*node])).collect();
        kept.into_iter().for_each(|node| self.model.drop_reservations(node));
    }

    fn ask(&mut self, app: usize, rows: &[AskedRow]) {
        self.stage.set(self.apps[app], rows);
        self.model.ask(app, rows);
        for node in &mut self.model.nodes {
            if node
                .reserved
                .is_some_and(|(of, request)| of == app && !self.model.apps[app].types.contains_key(&request))
            {
                node.reserved = None;
            }
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        self.stage.check();
        for (app, id) in self.apps.iter().enumerate() {
            prop_assert_eq!(self.stage.scheduler.rows_of(*id), self.model.rows(app));
        }
        for (number, (host, _, declared)) in NODES.iter().enumerate() {
            let node = self.stage.nodes[*host];
            prop_assert_eq!(self.stage.scheduler.room_on(node), Some(self.model.nodes[number].free()));
            let (memory_mb, _) = self.stage.scheduler.held_by_containers(node);
            let tasks = u64::from(self.model.nodes[number].tasks) * 1_024;
            prop_assert!(memory_mb + tasks <= u64::from(declared.memory_mb));
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Ask(app, rows) => self.ask(app, &rows),
            Step::End(number) => self.end(number),
            Step::Tasks(node, tasks) => self.set_tasks(node, tasks),
            Step::Blacklist(app, name, is_added) => self.blacklist(app, name, is_added),
            Step::Take(node, takes) => self.set_takes(node, takes),
            Step::Beat(node) => self.beat(node)?,
        }
        self.check()
    }

    /// A heartbeat grants and reserves what the model does.
    fn beat(&mut self, node: usize) -> Result<(), TestCaseError> {
        let before = self.stage.source.grants.len();
        self.stage.beat(NODES[node].0);
        let granted = self.stage.source.grants[before..].iter();
        let granted: Vec<_> = granted.map(|grant| (grant.app.get() as usize - 1, grant.request, grant.level)).collect();
        prop_assert_eq!(granted, self.model.beat(node));
        let reserved = self.stage.scheduler.reservation_on(self.stage.nodes[NODES[node].0]);
        let expected = self.model.nodes[node].reserved;
        prop_assert_eq!(reserved, expected.map(|(app, request)| (self.apps[app], request)));
        Ok(())
    }
}

fn bought() -> impl Strategy<Value = ModelQueue> {
    (0_u32..6, 0_u32..3, 0_u32..9, 0_u32..4).prop_map(|(map_quota, reduce_quota, container_slots, rate)| ModelQueue {
        map_quota,
        reduce_quota,
        container_slots,
        rate,
        maps: 0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn under_the_market_heartbeats_grant_in_the_order_of_what_was_bought(
        steps in prop::collection::vec((step(), prop::option::weighted(0.1, [bought(), bought()])), 1..60),
        first in [bought(), bought()],
    ) {
        let mut pair = Pair::under_the_market();
        pair.buy(first);
        for (step, bought) in steps {
            if let Some(bought) = bought {
                pair.buy(bought);
            }
            pair.take(step)?;
        }
    }

    #[test]
    fn heartbeats_grant_what_the_plain_rules_grant(steps in steps(), strict in 0..=APPS, delay in 0_u32..5) {
        let mut pair = Pair::new(strict, delay);
        for step in steps {
            pair.take(step)?;
        }
    }

    #[test]
    fn what_is_granted_at_once_is_what_was_asked_and_leaves_no_wanted_host_with_room(
        steps in steps(),
        strict in 0..=APPS,
    ) {
        let mut pair = Pair::new(strict, 2);
        let (mut asked, mut live) = ([0_u64; APPS], Vec::new());
        for step in steps {
            match step {
                Step::Ask(app, rows) => {
                    let before = wanted(&pair, app);
                    pair.stage.set(pair.apps[app], &rows);
                    asked[app] += wanted(&pair, app).saturating_sub(before);
                }
                Step::End(number) => {
                    if let Some(number) = number.checked_rem(live.len()) {
                        pair.stage.end(&live.remove(number));
                    }
                }
                Step::Tasks(node, tasks) => {
                    pair.set_tasks(node, tasks);
                    pair.stage.beat(NODES[node].0);
                }
                Step::Blacklist(app, name, is_added) => pair.blacklist(app, name, is_added),
                Step::Take(node, takes) => pair.set_takes(node, takes),
                Step::Beat(node) => drop(pair.stage.beat(NODES[node].0)),
            }
            pair.stage.grant();
            live.append(&mut pair.stage.source.grants);
            for grant in &live {
                let is_host = String::from(grant.row_name()) == pair.stage.host_of(grant.node);
                prop_assert_eq!(is_host, grant.level == Level::Node);
            }
            for (app, asked) in asked.iter().enumerate() {
                let usage = pair.stage.scheduler.app_containers(pair.apps[app]);
                let live = live.iter().filter(|grant| grant.app == pair.apps[app]);
                let (running, held) = live.fold((0, 0), |(running, held), grant| (running + 1, held + grant.slots));
                prop_assert_eq!((usage.running, usage.held), (running, held));
                prop_assert!(u64::from(running) <= *asked);
                prop_assert_eq!(wanted_host_with_room(&pair, app), None);
            }
        }
    }
}

fn wanted(pair: &Pair, app: usize) -> u64 {
    let rows = pair.stage.scheduler.rows_of(pair.apps[app]);
    rows.iter().filter(|row| row.name == Placement::Any).map(|row| u64::from(row.count)).sum()
}

/// A node that could give the first type of an application a container on a host that it names.
fn wanted_host_with_room(pair: &Pair, app: usize) -> Option<&'static str> {
    let (scheduler, rows) = (&pair.stage.scheduler, pair.stage.scheduler.rows_of(pair.apps[app]));
    let first = rows.iter().find(|row| row.name == Placement::Any && row.count > 0)?;
    let count = |name: &str| {
        rows.iter()
            .find(|row| row.request == first.request && row.name == Placement::from(name.to_owned()))
            .map(|row| row.count)
    };
    let has_room = |(host, rack, _): &&(&'static str, &'static str, Capability)| {
        let node = pair.stage.nodes[*host];
        scheduler.takes_containers(node)
            && scheduler.reservation_on(node).is_none()
            && ![*host, *rack].iter().any(|name| pair.model.apps[app].blacklist.contains(*name))
            && count(host) > Some(0)
            && count(rack) != Some(0)
            && scheduler.room_on(node).is_some_and(|room| first.request.capability.fits(room))
    };
    // One that runs at its most keeps no node from itself.
    let is_limited = first.max_running.is_some();
    NODES.iter().find(has_room).map(|(host, ..)| *host).filter(|_| !is_limited)
}

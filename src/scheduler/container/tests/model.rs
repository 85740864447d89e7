//! The rules of granting a second time, as plainly as they are written: lists of rows, and every node and application is
//! looked at each time.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Capability, Placement};
use crate::scheduler::Level;
use crate::scheduler::container::{AskedRow, RequestType};

#[derive(Clone, Debug)]
pub(crate) struct ModelNode {
    pub(crate) host: String,
    pub(crate) rack: String,
    pub(crate) declared: Capability,
    pub(crate) takes: bool,
    pub(crate) tasks: u32,
    pub(crate) containers: Vec<(usize, RequestType)>,
    missed: BTreeSet<(usize, RequestType)>,
    starved: Option<(usize, RequestType)>,
    pub(crate) reserved: Option<(usize, RequestType)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ModelApp {
    pub(crate) is_strict: bool,
    pub(crate) blacklist: BTreeSet<String>,
    pub(crate) types: BTreeMap<RequestType, ModelType>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ModelType {
    pub(crate) rows: Vec<AskedRow>,
    misses: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<ModelNode>,
    pub(crate) apps: Vec<ModelApp>,
    pub(crate) delay: u32,
    /// The queues of a market; none: applications are served in their order.
    pub(crate) queues: Option<Vec<ModelQueue>>,
}

/// A queue with what it has bought, and its maps. The application of each number is in the queue of that number, modulo the queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelQueue {
    pub(crate) map_quota: u32,
    pub(crate) reduce_quota: u32,
    pub(crate) container_slots: u32,
    pub(crate) rate: u32,
    pub(crate) maps: u32,
}

/// What a node is offered ends in.
enum Answer {
    Grant(RequestType, Level),
    NoRoom(RequestType),
    Nothing,
}

const SLOT: Capability = Capability::new(1_024, 1);

impl ModelNode {
    pub(crate) fn new(host: &str, rack: &str, declared: Capability) -> Self {
        Self {
            host: host.to_owned(),
            rack: rack.to_owned(),
            declared,
            takes: true,
            tasks: 0,
            containers: Vec::new(),
            missed: BTreeSet::new(),
            starved: None,
            reserved: None,
        }
    }

    pub(crate) fn free(&self) -> Capability {
        let used = self.containers.iter().map(|(_, request)| request.capability);
        used.fold(self.declared.saturating_sub(SLOT.times(self.tasks)), Capability::saturating_sub)
    }
}

impl ModelType {
    fn row(&self, name: &str) -> Option<&AskedRow> {
        self.rows.iter().find(|row| String::from(row.name.clone()) == name)
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.row(name).map(|row| row.count)
    }

    fn wanted(&self) -> u32 {
        self.count("*").unwrap_or(0)
    }

    fn lower(&mut self, name: &str) {
        if let Some(row) = self.rows.iter_mut().find(|row| String::from(row.name.clone()) == name) {
            row.count = row.count.saturating_sub(1);
        }
    }
}

impl Model {
    /// The next application of those that wait, without some. `placed`: those that stand by other slots than of their first types.
    fn next(&self, passed_over: &BTreeSet<usize>, placed: &BTreeMap<usize, u32>) -> Option<usize> {
        let types = |app: usize| {
            let types = self.apps[app].types.keys();
            types.filter(move |request| self.may_be_granted(app, request))
        };
        let waits = |app: &usize| types(*app).next().is_some() && !passed_over.contains(app);
        let waiting: Vec<usize> = (0..self.apps.len()).filter(waits).collect();
        let Some(queues) = &self.queues else { return waiting.first().copied() };
        let first_of = |queue: usize| waiting.iter().copied().find(|app| app % queues.len() == queue);
        let firsts: Vec<(usize, usize)> =
            (0..queues.len()).filter_map(|queue| Some((queue, first_of(queue)?))).collect();
        // Compares each with each, in fractions.
        let place = |&(queue, app): &(usize, usize)| {
            let ModelQueue { map_quota, reduce_quota, container_slots, rate, maps } = queues[queue];
            let quota = container_slots + map_quota.saturating_sub(maps) + reduce_quota;
            let held = self.held(queue, queues.len());
            let of_first = || types(app).next().map_or(0, |request| request.capability.slots(SLOT));
            let next = placed.get(&app).copied().unwrap_or_else(of_first);
            let class = if rate == 0 { 2 } else { u32::from(held + next > quota) };
            (class, held, quota, rate, app)
        };
        let comes_before = |one: &(usize, usize), other: &(usize, usize)| {
            let ((class, held, quota, rate, app), (class2, held2, quota2, rate2, app2)) = (place(one), place(other));
            let within = match class {
                0 => (held * quota2).cmp(&(held2 * quota)),
                1 => rate2.cmp(&rate),
                _ => std::cmp::Ordering::Equal,
            };
            class
                .cmp(&class2)
                .then(if class == class2 { within } else { std::cmp::Ordering::Equal })
                .then(app.cmp(&app2))
        };
        firsts.into_iter().min_by(|one, other| comes_before(one, other)).map(|(_, app)| app)
    }

    pub(crate) fn held(&self, queue: usize, queues: usize) -> u32 {
        let all = self.nodes.iter().flat_map(|node| &node.containers);
        all.filter(|(app, _)| app % queues == queue).map(|(_, request)| request.capability.slots(SLOT)).sum()
    }

    /// All rows of a call, which a caller sent that had received all grants.
    pub(crate) fn ask(&mut self, app: usize, rows: &[AskedRow]) {
        let types = &mut self.apps[app].types;
        for row in rows {
            let of_type = types.entry(row.request).or_default();
            of_type.rows.retain(|before| before.name != row.name);
            of_type.rows.push(row.clone());
        }
        for row in rows {
            if types.get(&row.request).is_some_and(|of_type| of_type.wanted() == 0) {
                types.remove(&row.request);
            }
        }
    }

    pub(crate) fn rows(&self, app: usize) -> Vec<AskedRow> {
        let mut rows: Vec<AskedRow> = self.apps[app].types.values().flat_map(|of_type| of_type.rows.clone()).collect();
        rows.sort_by_key(|row| (row.request, row.name.clone()));
        rows
    }

    fn running(&self, app: usize, request: &RequestType) -> u32 {
        let all = self.nodes.iter().flat_map(|node| &node.containers);
        all.filter(|container| **container == (app, *request)).count() as u32
    }

    fn may_be_granted(&self, app: usize, request: &RequestType) -> bool {
        let Some(of_type) = self.apps[app].types.get(request) else { return false };
        let most = of_type.row("*").and_then(|row| row.max_running);
        of_type.wanted() > 0 && most.is_none_or(|most| self.running(app, request) < most.get())
    }

    /// Whether it names a rack, or a host on which containers are taken.
    fn is_wish(&self, name: &Placement) -> bool {
        match name {
            Placement::Host(host) => self.nodes.iter().any(|node| node.takes && node.host == *host),
            Placement::Rack(_) => true,
            Placement::Any => false,
        }
    }

    /// The level of a node for a type, `Err(true)`: not before more misses; `Err(false)`: never.
    fn level(&self, node: &ModelNode, app: usize, request: &RequestType, new_miss: bool) -> Result<Level, bool> {
        let (of_app, nodes) = (&self.apps[app], self.nodes.iter().filter(|node| node.takes).count() as u64);
        let of_type = &of_app.types[request];
        if of_app.blacklist.contains(&node.host) || of_app.blacklist.contains(&node.rack) {
            return Err(false);
        }
        let (host, rack) = (of_type.count(&node.host), of_type.count(&node.rack));
        if host > Some(0) && rack != Some(0) {
            return Ok(Level::Node);
        }
        let rack_relaxes = of_type.row(&node.rack).is_none_or(|row| row.relax_locality);
        let any_relaxes = of_type.row("*").is_some_and(|row| row.relax_locality);
        let rack_may = rack > Some(0) && host != Some(0) && rack_relaxes;
        let far_may = any_relaxes && rack_relaxes && !(of_app.is_strict && (host == Some(0) || rack == Some(0)));
        let open = |row: &&AskedRow| row.count > 0 && self.is_wish(&row.name);
        let open_rows = of_type.rows.iter().filter(open).count() as u64;
        let open_hosts = of_type.rows.iter().filter(open).any(|row| matches!(row.name, Placement::Host(_)));
        let misses = u64::from(of_type.misses) + u64::from(new_miss);
        let far_due = open_rows == 0 || misses * nodes > u64::from(of_type.wanted()) * open_rows.min(nodes);
        let rack_due = !open_hosts || u64::from(of_type.misses) >= nodes.min(self.delay.into());
        match (rack_may, far_may) {
            (true, far_may) if rack_due || far_may && far_due => Ok(Level::Rack),
            (_, true) if far_due => Ok(Level::Any),
            (false, false) => Err(false),
            _ => Err(true),
        }
    }

    /// Slots of what a node would give, and of the first type.
    fn offered(&self, node: usize, app: usize) -> Option<(u32, u32)> {
        let free = self.nodes[node].free();
        let types = || self.apps[app].types.keys().filter(move |request| self.may_be_granted(app, request));
        let level = |request: &&RequestType| {
            let new_miss = request.capability.fits(free) && !self.nodes[node].missed.contains(&(app, **request));
            self.level(&self.nodes[node], app, request, new_miss)
        };
        let usable = types().find(|request| level(request) != Err(false))?;
        let gets = usable.capability.fits(free) && level(&usable).is_ok();
        gets.then_some((usable.capability.slots(SLOT), types().next()?.capability.slots(SLOT)))
    }

    fn offer(&mut self, node: usize, app: usize) -> Answer {
        let free = self.nodes[node].free();
        let requests: Vec<RequestType> = self.apps[app].types.keys().copied().collect();
        for request in requests.into_iter().filter(|request| self.may_be_granted(app, request)).collect::<Vec<_>>() {
            let has_room = request.capability.fits(free);
            let new_miss = has_room && !self.nodes[node].missed.contains(&(app, request));
            match self.level(&self.nodes[node], app, &request, new_miss) {
                Err(false) => {}
                Ok(level) if has_room => return Answer::Grant(request, level),
                Ok(_) if request.capability.fits(self.nodes[node].declared) => return Answer::NoRoom(request),
                Ok(_) => return Answer::Nothing,
                Err(true) => {
                    if new_miss {
                        self.nodes[node].missed.insert((app, request));
                        let of_type = self.apps[app].types.get_mut(&request).unwrap();
                        of_type.misses += 1;
                    }
                    return Answer::Nothing;
                }
            }
        }
        Answer::Nothing
    }

    fn grant(&mut self, node: usize, app: usize, request: RequestType, level: Level) {
        let (host, rack) = (self.nodes[node].host.clone(), self.nodes[node].rack.clone());
        let of_type = self.apps[app].types.get_mut(&request).unwrap();
        if level != Level::Any {
            of_type.misses = 0;
            of_type.lower(&rack);
        }
        if level == Level::Node {
            of_type.lower(&host);
        }
        of_type.lower("*");
        self.nodes[node].containers.push((app, request));
        if self.nodes[node].reserved == Some((app, request)) {
            self.nodes[node].reserved = None;
        }
        if !self.may_be_granted(app, &request) {
            self.nodes
                .iter_mut()
                .filter(|node| node.reserved == Some((app, request)))
                .for_each(|node| node.reserved = None);
        }
    }

    pub(crate) fn drop_reservations(&mut self, node: usize) {
        let Some((app, request)) = self.nodes[node].reserved else { return };
        let is_usable = self.may_be_granted(app, &request)
            && self.level(&self.nodes[node], app, &request, true).is_ok()
            && request.capability.fits(self.nodes[node].declared)
            && self.nodes[node].takes;
        if !is_usable {
            self.nodes[node].reserved = None;
        }
    }

    pub(crate) fn beat(&mut self, number: usize) -> Vec<(usize, RequestType, Level)> {
        self.nodes[number].missed.clear();
        self.drop_reservations(number);
        let (mut granted, mut passed_over, mut head) = (Vec::new(), BTreeSet::new(), None);
        let mut placed = BTreeMap::new();
        while self.nodes[number].takes {
            let Some(app) = self.next(&passed_over, &placed) else { break };
            // Its queue may be beyond its quota with what it would get here.
            if let Some((offered, of_first)) = self.offered(number, app)
                && placed.get(&app).copied().unwrap_or(of_first) != offered
            {
                placed.insert(app, offered);
                continue;
            }
            match self.offer(number, app) {
                Answer::Grant(request, level) => {
                    placed.remove(&app);
                    self.grant(number, app, request, level);
                    granted.push((app, request, level));
                    continue;
                }
                Answer::NoRoom(request) if passed_over.is_empty() => {
                    let node = &self.nodes[number];
                    let is_second = node.starved == Some((app, request));
                    let has_one = self.nodes.iter().any(|node| node.reserved == Some((app, request)));
                    if is_second && node.reserved.is_none() && !has_one {
                        self.nodes[number].reserved = Some((app, request));
                        break;
                    }
                    head = Some((app, request));
                }
                Answer::NoRoom(_) | Answer::Nothing => {}
            }
            let (node, free) = (&self.nodes[number], self.nodes[number].free());
            if node.reserved.is_some_and(|(reserved, _)| reserved == app) || free.memory_mb == 0 || free.vcores == 0 {
                break;
            }
            passed_over.insert(app);
        }
        if self.nodes[number].takes {
            self.nodes[number].starved = head;
        }
        granted
    }
}

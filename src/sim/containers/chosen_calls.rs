//! What applications ask for, at random: submissions, rows, launches, releases.

use std::collections::BTreeMap;

use crate::api::applications::{
    AllocateCall, AskRow, Blacklist, ContainerStart, ItemRules, LaunchOnGrant, LaunchSource, Placement, Submission,
    SubmittedMaster,
};
use crate::model::{ApplicationId, Capability, ContainerId, LaunchContext, PartsPerMillion, Priority};
use crate::sim::random::Random;

use super::container_plan::LARGEST;
use super::sim_application::{ApplicationKind, SimApplication};

/// The name of the stored context.
const SPEC: &str = "s";

/// A submission of a kind. `hosts`: hosts that may be named, the first of which can run everything.
pub(super) fn submission(
    random: &mut Random,
    application_id: ApplicationId,
    kind: ApplicationKind,
    queue: &str,
    hosts: &[String],
) -> Submission {
    let context = context(random);
    let unattended = (kind == ApplicationKind::Unattended).then(|| unattended_rows(random, hosts));
    let master = (kind == ApplicationKind::Master).then(|| {
        let max_attempts = random.between(1, 3) as u32;
        Box::new(SubmittedMaster { context: context.clone(), capability: capability(random), max_attempts })
    });
    Submission {
        application_id,
        name: "simulated".to_owned(),
        application_type: String::new(),
        queue: Some(queue.to_owned()),
        priority: if random.one_in(6) { Priority::High } else { Priority::Normal },
        expiry_ms: random.between(10_000, 120_000),
        strict_gates: random.one_in(3) && kind != ApplicationKind::Unattended,
        tracking_url: None,
        specs: BTreeMap::from([(SPEC.to_owned(), context)]),
        unattended,
        master,
    }
}

fn context(random: &mut Random) -> LaunchContext {
    LaunchContext {
        time_limit_ms: random.one_in(6).then(|| random.between(100, 20_000)),
        kill_grace_ms: [0, 500, 5_000][random.below(3) as usize],
        ..LaunchContext::of_command(vec!["true".to_owned()])
    }
}

fn capability(random: &mut Random) -> Capability {
    const SIZES: [(u32, u32); 7] = [(512, 1), (1_024, 1), (1_000, 1), (2_048, 2), (1_024, 3), (3_000, 1), (0, 1)];
    match random.below(10) {
        0 => LARGEST,
        _ => {
            let (memory_mb, vcores) = SIZES[random.below(7) as usize];
            Capability::new(memory_mb, vcores)
        }
    }
}

pub(in crate::sim) fn row(
    priority: u32,
    allocation_request_id: u64,
    capability: Capability,
    num_containers: u32,
) -> AskRow {
    let (resource_name, relax_locality) = (Placement::Any, true);
    AskRow { priority, allocation_request_id, resource_name, capability, num_containers, relax_locality, launch: None }
}

fn unattended_rows(random: &mut Random, hosts: &[String]) -> Vec<AskRow> {
    let mut rows = Vec::new();
    for priority in 1..=random.between(1, 2) as u32 {
        let capability = capability(random);
        let mut any = row(priority, 0, capability, 0);
        let rules = ItemRules {
            max_attempts: random.one_in(2).then(|| random.between(1, 4) as u32),
            max_fails: random.one_in(4).then(|| random.below(3) as u32),
        };
        let items = (!random.one_in(6)).then(|| items(random));
        if items.is_none() {
            any.num_containers = random.between(1, 5) as u32;
        }
        let max_running = random.one_in(3).then(|| random.between(1, 4) as u32);
        any.launch = Some(LaunchOnGrant { spec: SPEC.to_owned(), items, max_running, rules });
        if random.one_in(4)
            && let Some(host) = hosts.first()
        {
            let mut near = row(priority, 0, capability, random.between(1, 4) as u32);
            near.resource_name = Placement::Host(host.clone());
            rows.push(near);
        }
        rows.push(any);
    }
    rows
}

fn items(random: &mut Random) -> String {
    let first = random.below(50);
    match random.below(4) {
        0 => first.to_string(),
        1 => format!("{first}-{}:2,100-102", first + random.between(2, 8)),
        2 => format!("200,{first}-{}", first + random.below(6)),
        _ => format!("{first}-{}", first + random.below(12)),
    }
}

/// The next call of a program, at random.
pub(super) fn call(application: &mut SimApplication, hosts: &[String], strangers: &[ContainerId]) -> AllocateCall {
    let mut call = AllocateCall { wait_ms: wait_ms(&mut application.random), ..AllocateCall::default() };
    let random = &mut application.random;
    if random.one_in(4) {
        call.progress = Some(PartsPerMillion(random.below(1_000_001)));
    }
    if application.wanted.is_empty() || random.one_in(3) {
        call.ask = ask(random, hosts);
    } else if random.one_in(6) {
        lower(application, &mut call);
    }
    let random = &mut application.random;
    if call.ask.iter().any(|row| row.launch.is_some()) && random.one_in(3) {
        call.specs.insert(SPEC.to_owned(), context(random));
    }
    if random.one_in(12) {
        call.blacklist = blacklist(random, hosts);
    }
    for (id, known) in &application.held {
        let random = &mut application.random;
        match random.below(20) {
            0 => call.release.push(*id),
            1..16 if !known.is_launched => call.launch.push(start(random, *id)),
            // Launched once already: the same is passed over, and another is refused.
            16 => call.launch.push(start(random, *id)),
            _ => {}
        }
    }
    let random = &mut application.random;
    if random.one_in(15) {
        call.release.extend(random.pick(strangers));
        call.release.push(application.id.container(application.attempt, 1_000_000));
    }
    if random.one_in(25)
        && let Some(stranger) = random.pick(strangers)
    {
        call.launch.push(start(random, *stranger));
    }
    call
}

fn wait_ms(random: &mut Random) -> u64 {
    if random.one_in(2) { 0 } else { random.below(30_001) }
}

/// Rows of one or two types.
fn ask(random: &mut Random, hosts: &[String]) -> Vec<AskRow> {
    let mut rows = Vec::new();
    for _ in 0..random.between(1, 2) {
        let (priority, id, capability) = (random.between(1, 3) as u32, random.below(2), capability(random));
        let most = if random.one_in(5) { 12 } else { 4 };
        let mut any = row(priority, id, capability, random.below(most + 1) as u32);
        any.relax_locality = !random.one_in(6);
        if random.one_in(4) {
            let items = random.one_in(2).then(|| items(random));
            if items.is_some() {
                any.num_containers = 0;
            }
            let max_running = random.one_in(3).then(|| random.between(1, 4) as u32);
            let rules = ItemRules::default();
            any.launch = Some(LaunchOnGrant { spec: SPEC.to_owned(), items, max_running, rules });
        }
        for _ in 0..random.below(4) {
            let name = match random.below(8) {
                0 => Placement::Host("h99".to_owned()),
                1 => Placement::Rack("/default-rack".to_owned()),
                2 | 3 => Placement::Rack(format!("/rack{}", random.below(3))),
                _ => random.pick(hosts).cloned().map_or(Placement::Any, Placement::Host),
            };
            if name != Placement::Any {
                let mut near = row(priority, id, capability, random.below(4) as u32);
                (near.resource_name, near.relax_locality) = (name, !random.one_in(5));
                rows.push(near);
            }
        }
        rows.push(any);
    }
    rows
}

/// Fewer of something that is wanted, or none.
fn lower(application: &mut SimApplication, call: &mut AllocateCall) {
    let wanted: Vec<_> = application.wanted.iter().map(|(request, count)| (*request, *count)).collect();
    let Some((request, count)) = application.random.pick(&wanted).copied() else { return };
    let less = application.random.below(u64::from(count) + 1) as u32;
    call.ask.push(row(request.priority, request.request_id, request.capability, less));
}

fn blacklist(random: &mut Random, hosts: &[String]) -> Blacklist {
    let mut names = |most: u64| -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..random.below(most) {
            names.extend(match random.below(4) {
                0 => Some(format!("/rack{}", random.below(3))),
                _ => random.pick(hosts).cloned(),
            });
        }
        names
    };
    Blacklist { additions: names(3), removals: names(4) }
}

fn start(random: &mut Random, container_id: ContainerId) -> ContainerStart {
    let source = match random.below(3) {
        0 => LaunchSource::Context(Box::new(context(random))),
        _ => LaunchSource::Spec(SPEC.to_owned()),
    };
    let item = random.one_in(6).then(|| random.below(9) as u32);
    ContainerStart { container_id, source, item }
}

/// The calls with which a program comes to its end: all that keeps it from containers goes, it wants a last one, and starts what it has.
pub(super) fn last_call(application: &SimApplication, hosts: &[String]) -> AllocateCall {
    let mut call = AllocateCall { wait_ms: 500, ..AllocateCall::default() };
    match application.farewell {
        0 => {
            let types = application.wanted.keys();
            call.ask = types.map(|request| row(request.priority, request.request_id, request.capability, 0)).collect();
            let racks = (0..4).map(|rack| format!("/rack{rack}"));
            call.blacklist.removals = hosts.iter().cloned().chain(racks).collect();
        }
        1 => call.ask.push(row(7, 0, LARGEST, 1)),
        _ => {}
    }
    for (id, _) in application.held.iter().filter(|(_, known)| !known.is_launched) {
        let source = LaunchSource::Context(Box::new(LaunchContext::of_command(vec!["true".to_owned()])));
        call.launch.push(ContainerStart { container_id: *id, source, item: None });
    }
    call
}

/// A good row and a bad one: nothing of the call may be done.
pub(super) fn spoil(random: &mut Random, call: &mut AllocateCall) {
    call.ask.push(row(1, 0, Capability::new(512, 1), 3));
    let mut bad = row(1, 0, Capability::new(512, 1), 3);
    match random.below(4) {
        0 => bad.priority = u32::MAX,
        1 => bad.capability.memory_mb = u32::MAX,
        2 => bad.allocation_request_id = u64::MAX,
        _ => {
            let rules = ItemRules { max_attempts: Some(2), max_fails: None };
            let items = Some("1-3,2".to_owned());
            bad.launch = Some(LaunchOnGrant { spec: SPEC.to_owned(), items, max_running: None, rules });
        }
    }
    call.ask.push(bad);
}

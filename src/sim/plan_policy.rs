//! The configuration of a seed's scheduler, at random.

use std::sync::Arc;

use crate::engine::{FairConfig, PolicyConfig};
use crate::model::{Decimal, PartsPerMillion, PerKind};
use crate::scheduler::FifoOptions;
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::constraint::{AdmissionRule, ConstraintConfig, Model, OnMissed, Strategy};
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::heartbeat_plan::HeartbeatCaps;
use crate::scheduler::fair::load_cap::LoadCap;
use crate::scheduler::fair::locality_wait::LocalityDelayRule;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::fair::weight::WeightRule;

use super::random::Random;
use super::run_options::PolicyChoice;

pub(super) fn policy_config(random: &mut Random, policy: PolicyChoice, users: &[&str], preempts: bool) -> PolicyConfig {
    match policy {
        PolicyChoice::Fifo => {
            PolicyConfig::Fifo(FifoOptions { compatible: random.one_in(4), ..FifoOptions::default() })
        }
        PolicyChoice::Dynamic => PolicyConfig::Dynamic {
            alloc_interval_ms: random.between(300, 10_000),
            kill_interval_ms: preempts.then(|| random.between(300, 8_000)),
        },
        PolicyChoice::Capacity => capacity(random, users),
        PolicyChoice::Fair => PolicyConfig::Fair(fair(random, users, preempts)),
        PolicyChoice::Constraint => PolicyConfig::Constraint(constraint(random)),
        PolicyChoice::Mixed => {
            let choices = [
                PolicyChoice::Fifo,
                PolicyChoice::Capacity,
                PolicyChoice::Fair,
                PolicyChoice::Dynamic,
                PolicyChoice::Constraint,
            ];
            let choice = choices[random.below(5) as usize];
            policy_config(random, choice, users, preempts)
        }
    }
}

fn constraint(random: &mut Random) -> ConstraintConfig {
    ConstraintConfig {
        model: if random.one_in(2) { Model::Fluid } else { Model::Whole { wait_us: random.between(1, 6_000) * 1_000 } },
        strategy: [Strategy::Minimum, Strategy::Minimum, Strategy::All, Strategy::Fixed(2)][random.below(4) as usize],
        on_missed: [OnMissed::Demote, OnMissed::Continue, OnMissed::Kill][random.below(3) as usize],
        admission: if random.one_in(3) { AdmissionRule::Warn } else { AdmissionRule::Reject },
        escalates: random.one_in(2),
        ..ConstraintConfig::default()
    }
}

/// A queue for each user, with capacities of ten percent and more.
fn capacity(random: &mut Random, users: &[&str]) -> PolicyConfig {
    let mut left = 100 - 10 * users.len() as i32;
    let mut queues = Vec::with_capacity(users.len());
    for (place, user) in users.iter().enumerate() {
        let is_last = place + 1 == users.len();
        let more = if is_last { left } else { random.below(left.unsigned_abs().into()) as i32 };
        left -= more;
        queues.push(queue(random, user, 10 + more));
    }
    let written = WrittenConfig {
        maximum_system_jobs: random.between(4, 200) as i32,
        maximum_tasks_after_off_switch: [0, 0, 1, 3][random.below(4) as usize],
        queues,
        ..WrittenConfig::default()
    };
    // What is written above is within all limits; without queues there would be no work.
    match CapacityConfig::new(&written) {
        Ok(config) => PolicyConfig::Capacity { config: Arc::new(config), is_compatible: random.one_in(4) },
        Err(_) => PolicyConfig::Fifo(FifoOptions::default()),
    }
}

fn queue(random: &mut Random, name: &str, capacity: i32) -> WrittenQueue {
    let maximum = capacity + random.below(u64::from((100 - capacity).unsigned_abs()) + 1) as i32;
    WrittenQueue {
        maximum_capacity: Decimal::whole(if random.one_in(3) { maximum } else { -1 }),
        minimum_user_limit_percent: random.between(1, 100) as i32,
        user_limit_factor: Decimal::whole(random.between(1, 10) as i32),
        supports_priority: random.one_in(2),
        ..WrittenQueue::with_defaults(name, Some(Decimal::whole(capacity)))
    }
}

/// A pool for each user, declared or not.
fn fair(random: &mut Random, users: &[&str], preempts: bool) -> FairConfig {
    let mut text = String::from("<allocations>");
    for user in users {
        if !random.one_in(4) {
            text.push_str(&format!("<pool name=\"{}\">{}</pool>", user, pool(random, preempts)));
        }
    }
    if preempts {
        text.push_str(&format!("<fairSharePreemptionTimeout>{}</fairSharePreemptionTimeout>", random.between(1, 60)));
    }
    if random.one_in(3) {
        text.push_str(&format!("<userMaxJobsDefault>{}</userMaxJobsDefault>", random.between(1, 6)));
    }
    text.push_str("</allocations>");
    let allocations = AllocationFile::parse(&text).map(|file| file.allocations).unwrap_or_default();
    let cap = |random: &mut Random| random.one_in(5).then(|| random.between(1, 3) as u32);
    let delay_ms = |random: &mut Random| random.one_in(2).then(|| random.below(4_000));
    let options = FairOptions {
        heartbeat_caps: HeartbeatCaps {
            assigns_multiple: !random.one_in(4),
            max: PerKind::new(cap(random), cap(random)),
        },
        load_cap: LoadCap::new(PartsPerMillion(random.below(1_000_000))),
        weights: WeightRule { is_size_based: random.one_in(2), new_job_boost: None },
        delays: LocalityDelayRule { node_ms: delay_ms(random), rack_ms: delay_ms(random) },
        preempts,
        update_interval_ms: random.between(100, 2_000),
        is_compatible: random.one_in(4),
        ..FairOptions::default()
    };
    FairConfig {
        options,
        allocations: Arc::new(allocations),
        pool_name_property: "user.name".to_owned(),
        allows_undeclared_pools: true,
        preemption_interval_ms: preempts.then(|| random.between(300, 8_000)),
        only_logs_preemption: false,
        event_log: None,
    }
}

fn pool(random: &mut Random, preempts: bool) -> String {
    let mut text = String::new();
    let mut limit = |random: &mut Random, tag: &str, least: u64, most: u64| {
        if random.one_in(3) {
            text.push_str(&format!("<{tag}>{}</{tag}>", random.between(least, most)));
        }
    };
    limit(random, "minMaps", 0, 8);
    limit(random, "minReduces", 0, 6);
    limit(random, "maxMaps", 1, 20);
    limit(random, "maxReduces", 1, 12);
    limit(random, "maxRunningJobs", 1, 5);
    limit(random, "weight", 0, 4);
    if preempts {
        limit(random, "minSharePreemptionTimeout", 1, 30);
    }
    if random.one_in(4) {
        text.push_str("<schedulingMode>fifo</schedulingMode>");
    }
    text
}

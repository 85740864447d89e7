//! Random settings of the Fair scheduler.

use crate::dice::Dice;

use super::script::USERS;
use super::settings::{JobChoices, Settings};

const POOLS: [&str; 5] = ["ant", "bee", "cat", "dog", "elk"];

/// Settings of the Fair scheduler. Left out is where ours differs on purpose: weights of 0, only one of the two delays,
/// timeouts without preemption, sizes as weights beside maxima, and the automatic delay, which follows the heartbeat interval.
pub(super) fn random(dice: &mut Dice) -> Settings {
    let mut settings = Settings::default();
    let mut key = |name: &str, value: String| settings.site.push((format!("mapred.fairscheduler.{name}"), value));
    let preempts = dice.percent(25);
    let is_by_size = dice.percent(10);
    let names_pools = dice.percent(80);
    let forbids_undeclared = dice.percent(10);
    if preempts {
        key("preemption", "true".to_owned());
    }
    if is_by_size {
        key("sizebasedweight", "true".to_owned());
    }
    if forbids_undeclared {
        key("allow.undeclared.pools", "false".to_owned());
    }
    if !names_pools {
        key("poolnameproperty", ["user.name", "mapred.job.queue.name"][dice.below(2) as usize].to_owned());
    }
    if dice.percent(30) {
        key("assignmultiple", "false".to_owned());
    } else {
        for name in ["assignmultiple.maps", "assignmultiple.reduces"] {
            if dice.percent(25) {
                key(name, (1 + dice.below(2)).to_string());
            }
        }
    }
    if dice.percent(40) {
        key("load.max.diff", ["0.25", "0.5", "1"][dice.below(3) as usize].to_owned());
    }
    key("locality.delay", [0, 0, 2_000, 5_000][dice.below(4) as usize].to_string());
    if dice.percent(30) {
        key("locality.delay.node", (1_000 * dice.below(4)).to_string());
        key("locality.delay.rack", (1_000 * dice.below(8)).to_string());
    }
    settings.allocations = Some(allocations(dice, preempts, !is_by_size));
    settings.jobs = JobChoices {
        pools: if names_pools { POOLS.map(str::to_owned).to_vec() } else { Vec::new() },
        is_in_rounds: preempts,
        ..JobChoices::default()
    };
    settings
}

/// An allocation file that declares some of the pools.
fn allocations(dice: &mut Dice, preempts: bool, has_maxima: bool) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<allocations>\n".to_owned();
    for pool in POOLS.iter().chain(USERS.iter().take(1)) {
        if dice.percent(30) {
            continue;
        }
        text.push_str(&format!("  <pool name=\"{pool}\">"));
        let mut element = |name: &str, value: String| text.push_str(&format!("<{name}>{value}</{name}>"));
        for name in ["minMaps", "minReduces"] {
            if dice.percent(40) {
                element(name, (1 + dice.below(4)).to_string());
            }
        }
        for name in ["maxMaps", "maxReduces"] {
            if has_maxima && dice.percent(25) {
                element(name, (1 + dice.below(5)).to_string());
            }
        }
        if dice.percent(20) {
            element("maxRunningJobs", (1 + dice.below(3)).to_string());
        }
        if dice.percent(40) {
            element("weight", ["0.5", "1.5", "2.0", "3.0"][dice.below(4) as usize].to_owned());
        }
        if dice.percent(30) {
            element("schedulingMode", ["fair", "fifo"][dice.below(2) as usize].to_owned());
        }
        if preempts && dice.percent(30) {
            element("minSharePreemptionTimeout", (5 + dice.below(60)).to_string());
        }
        text.push_str("</pool>\n");
    }
    let mut element = |name: &str, value: String| text.push_str(&format!("  <{name}>{value}</{name}>\n"));
    if dice.percent(25) {
        element("defaultPoolSchedulingMode", "fifo".to_owned());
    }
    if dice.percent(20) {
        element("poolMaxJobsDefault", (1 + dice.below(3)).to_string());
    }
    if dice.percent(20) {
        element("userMaxJobsDefault", (1 + dice.below(3)).to_string());
    }
    if preempts {
        element("defaultMinSharePreemptionTimeout", (10 + dice.below(60)).to_string());
        element("fairSharePreemptionTimeout", (10 + dice.below(60)).to_string());
    }
    if dice.percent(30) {
        text.push_str(&format!("  <user name=\"{}\"><maxRunningJobs>1</maxRunningJobs></user>\n", USERS[1]));
    }
    text.push_str("</allocations>\n");
    text
}

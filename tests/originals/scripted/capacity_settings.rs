//! Random settings of the Capacity scheduler.

use crate::dice::Dice;

use super::settings::{JobChoices, QUEUES, Settings};

/// The memory of a slot, MB.
const SLOT_MB: u32 = 1_024;

/// Settings of the Capacity scheduler. Queues behind the first few have no capacity and get no job.
pub(super) fn random(dice: &mut Dice) -> Settings {
    let mut settings = Settings::default();
    let used = 1 + dice.below(4) as usize;
    let mut key = |name: &str, value: String| {
        settings.capacity.push((format!("mapred.capacity-scheduler.{name}"), value));
    };
    for (queue, capacity) in QUEUES.iter().zip(capacities(dice, used)) {
        let mut of_queue = |name: &str, value: String| key(&format!("queue.{queue}.{name}"), value);
        of_queue("capacity", capacity.to_string());
        if capacity > 0 && dice.percent(40) {
            of_queue("maximum-capacity", (capacity + dice.below(101 - capacity)).to_string());
        }
        if dice.percent(70) {
            of_queue("minimum-user-limit-percent", [25, 34, 50, 100][dice.below(4) as usize].to_string());
        }
        if dice.percent(70) {
            of_queue("user-limit-factor", ["0.75", "1", "2", "4"][dice.below(4) as usize].to_owned());
        }
        of_queue("supports-priority", dice.percent(50).to_string());
    }
    if dice.percent(30) {
        key("maximum-tasks-per-heartbeat", (1 + dice.below(3)).to_string());
    }
    if dice.percent(50) {
        key("maximum-tasks-after-offswitch", dice.below(4).to_string());
    }
    let is_limited = dice.percent(30);
    if is_limited {
        key("maximum-system-jobs", (2 + dice.below(10)).to_string());
        key("default-init-accept-jobs-factor", (1 + dice.below(4)).to_string());
        if dice.percent(40) {
            let per_user = 6 + dice.below(12);
            key("default-maximum-active-tasks-per-user", per_user.to_string());
            key("default-maximum-active-tasks-per-queue", (per_user + dice.below(12)).to_string());
        }
    }
    let max_memory_mb = dice.percent(35).then(|| SLOT_MB * (1 + dice.below(4)));
    if let Some(max_memory_mb) = max_memory_mb {
        for (name, value) in [
            ("map.memory.mb", SLOT_MB),
            ("reduce.memory.mb", SLOT_MB),
            ("max.map.memory.mb", max_memory_mb),
            ("max.reduce.memory.mb", max_memory_mb),
        ] {
            settings.site.push((format!("mapred.cluster.{name}"), value.to_string()));
        }
    }
    settings.jobs = JobChoices {
        queues: QUEUES[..used].iter().map(|queue| (*queue).to_owned()).collect(),
        max_memory_mb,
        // The original forgets limits of jobs that move before they run.
        is_reordered: !is_limited,
        ..JobChoices::default()
    };
    settings
}

/// Percentages that come to 100, the first ones above 0.
fn capacities(dice: &mut Dice, used: usize) -> [u32; QUEUES.len()] {
    let mut capacities = [0; QUEUES.len()];
    let mut left = 100;
    for (place, capacity) in capacities.iter_mut().enumerate().take(used) {
        let behind = (used - place - 1) as u32;
        *capacity = if behind == 0 { left } else { 1 + dice.below(left - behind) };
        left -= *capacity;
    }
    capacities
}

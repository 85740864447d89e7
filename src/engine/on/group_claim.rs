//! What each policy promises to a group: its settings in words, and slots that are due to it.

use std::collections::BTreeMap;

use crate::engine::core::PolicyConfig;
use crate::market::{ContainerUse, Market, QueueUse};
use crate::model::{Kind, Now, PartsPerMillion, PerKind, PerPool, QueueName};
use crate::scheduler::fair::allocations::PoolSettings;
use crate::scheduler::fair::share::{Claim, Share, fair_shares};

/// What a group uses and wants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupUse {
    /// Unfinished jobs.
    pub(super) jobs: u32,
    /// Slots that they hold.
    pub(super) held: PerKind<u32>,
    /// Tasks that are neither done nor running.
    pub(super) pending: PerKind<u32>,
}

/// Settings of a group, each in a few words; none where the policy has no settings for groups.
pub(super) fn settings_of_group(policy: &PolicyConfig, market: Option<&Market>, name: &str) -> Vec<String> {
    match policy {
        PolicyConfig::Fifo(_) | PolicyConfig::Constraint(_) => Vec::new(),
        PolicyConfig::Capacity { config, .. } => {
            let Some(queue) = config.queue(name) else { return Vec::new() };
            let mut settings = vec![format!("capacity {}%", queue.capacity())];
            settings.extend(queue.maximum_capacity().map(|maximum| format!("maximum {maximum}%")));
            settings.push(format!("user limit {}%", queue.minimum_user_limit_percent()));
            settings.push(format!("user limit factor {}", queue.user_limit_factor()));
            settings.extend(queue.supports_priority().then(|| "priorities count".to_owned()));
            settings
        }
        PolicyConfig::Fair(fair) => settings_of_pool(&fair.allocations.settings(name)),
        PolicyConfig::Dynamic { .. } => match market.and_then(|market| market.account(name)) {
            Some(account) => vec![format!("budget {}", account.balance()), format!("bid {}", account.bid())],
            None => vec!["buys nothing, charged to no account".to_owned()],
        },
    }
}

fn settings_of_pool(pool: &PoolSettings) -> Vec<String> {
    let mut settings = vec![format!("weight {}", pool.weight)];
    for (kind, tasks) in [(Kind::Map, "maps"), (Kind::Reduce, "reduces")] {
        if pool.min[kind] > 0 {
            settings.push(format!("at least {} {tasks}", pool.min[kind]));
        }
        settings.extend(pool.max[kind].map(|most| format!("at most {most} {tasks}")));
    }
    settings.extend(pool.max_running_jobs.map(|most| format!("at most {most} running jobs")));
    settings.push(pool.mode.name().to_lowercase());
    settings
}

/// Slots that are due to each group in a cluster of so many; no entry where the policy promises none.
pub(super) fn due_slots<'a>(
    policy: &PolicyConfig,
    market: Option<&Market>,
    groups: &BTreeMap<&'a str, GroupUse>,
    slots: PerKind<u32>,
    now: Now,
) -> BTreeMap<&'a str, PerKind<u32>> {
    match policy {
        PolicyConfig::Fifo(_) | PolicyConfig::Constraint(_) => BTreeMap::new(),
        PolicyConfig::Capacity { config, .. } => {
            let due = |name: &&'a str| {
                let queue = config.queue(name)?;
                let share = |kind: Kind| queue.slot_share(slots[kind].into()).capacity;
                Some((*name, PerKind::new(share(Kind::Map), share(Kind::Reduce))))
            };
            groups.keys().filter_map(due).collect()
        }
        PolicyConfig::Fair(fair) => {
            let pools: Vec<(&'a str, PoolSettings, &GroupUse)> =
                groups.iter().map(|(name, of_pool)| (*name, fair.allocations.settings(name), of_pool)).collect();
            let mut due: BTreeMap<&str, PerKind<u32>> =
                pools.iter().map(|(name, ..)| (*name, PerKind::default())).collect();
            for kind in Kind::ALL {
                let claims: Vec<Claim> =
                    pools.iter().map(|(_, settings, of_pool)| claim(settings, of_pool, kind)).collect();
                let shares = fair_shares(&claims, Share::of_slots(slots[kind]));
                for ((name, ..), share) in pools.iter().zip(shares) {
                    due.entry(*name).or_default()[kind] = whole_slots(share);
                }
            }
            due
        }
        PolicyConfig::Dynamic { .. } => quotas(market, groups, slots, now),
    }
}

/// What a pool asks for. Pools inside it count beside it.
fn claim(settings: &PoolSettings, of_pool: &GroupUse, kind: Kind) -> Claim {
    let wanted = of_pool.held[kind].saturating_add(of_pool.pending[kind]);
    Claim {
        demand: wanted.min(settings.max[kind].unwrap_or(u32::MAX)),
        min: settings.min[kind],
        weight: settings.weight,
    }
}

fn whole_slots(share: Share) -> u32 {
    u32::try_from(share.0 / PartsPerMillion::ONE.0).unwrap_or(u32::MAX)
}

/// What each account would buy at a tick now.
fn quotas<'a>(
    market: Option<&Market>,
    groups: &BTreeMap<&'a str, GroupUse>,
    slots: PerKind<u32>,
    now: Now,
) -> BTreeMap<&'a str, PerKind<u32>> {
    let Some(market) = market else { return BTreeMap::new() };
    let usage = groups.iter().filter_map(|(name, of_queue)| {
        let queue = QueueName::new(name).ok().filter(|_| market.account(name).is_some())?;
        let pending = u64::from(of_queue.pending.map) + u64::from(of_queue.pending.reduce);
        Some(QueueUse { queue, running: of_queue.held, pending, containers: ContainerUse::default() })
    });
    let usage: Vec<QueueUse> = usage.collect();
    let tick = market.clone().tick(&usage, PerPool::new(slots.map, slots.reduce, 0), now);
    let quota = |name: &&'a str| {
        let bought =
            tick.intervals().find(|(queue, _)| queue.as_str() == *name).map(|(_, interval)| interval.quota.slots());
        (*name, bought.unwrap_or_default())
    };
    groups.keys().map(quota).collect()
}

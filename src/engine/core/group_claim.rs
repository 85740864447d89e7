//! What each policy promises to a group: its settings in words, and slots that are due to it.

use std::collections::BTreeMap;

use crate::market::{ContainerUse, Market, QueueUse};
use crate::model::{Kind, Now, PartsPerMillion, PerKind, PerPool, Pool, QueueName, counted};
use crate::scheduler::fair::allocations::PoolSettings;
use crate::scheduler::fair::share::{FairShare, ShareClaim, fair_shares};

use super::policy::PolicyConfig;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupUse {
    /// Unfinished jobs.
    pub(crate) jobs: u32,
    /// Unfinished applications.
    pub(crate) applications: u32,
    /// Slots that its jobs hold.
    pub(crate) held: PerKind<u32>,
    pub(crate) containers: ContainerUse,
    pub(crate) pending: PerKind<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupDue {
    pub(crate) slots: PerKind<u32>,
    /// Slots of containers beside what its jobs hold; none: nothing is promised to containers.
    pub(crate) containers: Option<u32>,
}

/// Settings of a group, each in a few words; none where the policy has no settings for groups.
pub(crate) fn settings_of_group(policy: &PolicyConfig, market: Option<&Market>, name: &str) -> Vec<String> {
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
    for (kind, tasks) in [(Kind::Map, "map"), (Kind::Reduce, "reduce")] {
        if pool.min[kind] > 0 {
            settings.push(format!("at least {}", counted(pool.min[kind], tasks)));
        }
        settings.extend(pool.max[kind].map(|most| format!("at most {}", counted(most, tasks))));
    }
    settings.extend(pool.max_running_jobs.map(|most| format!("at most {}", counted(most, "running job"))));
    settings.push(pool.mode.name().to_lowercase());
    settings
}

/// What is due to each group in a cluster of so many slots; no entry where the policy promises none.
pub(crate) fn due_slots<'a>(
    policy: &PolicyConfig,
    market: Option<&Market>,
    groups: &BTreeMap<&'a str, GroupUse>,
    slots: PerPool<u32>,
    now: Now,
) -> BTreeMap<&'a str, GroupDue> {
    match policy {
        PolicyConfig::Fifo(_) | PolicyConfig::Constraint(_) => BTreeMap::new(),
        PolicyConfig::Capacity { config, .. } => {
            let all_slots: u64 = Pool::ALL.into_iter().map(|pool| u64::from(slots[pool])).sum();
            let due = |(name, of_queue): (&&'a str, &GroupUse)| {
                let queue = config.queue(name)?;
                let share = |slots: u64| queue.slot_share(slots).capacity;
                let of_kind = |kind: Kind| share(slots[kind].into());
                let left = share(all_slots).saturating_sub(of_queue.held.map).saturating_sub(of_queue.held.reduce);
                let slots = PerKind::new(of_kind(Kind::Map), of_kind(Kind::Reduce));
                Some((*name, GroupDue { slots, containers: Some(left) }))
            };
            groups.iter().filter_map(due).collect()
        }
        PolicyConfig::Fair(fair) => {
            let pools: Vec<(&'a str, PoolSettings, &GroupUse)> =
                groups.iter().map(|(name, of_pool)| (*name, fair.allocations.settings(name), of_pool)).collect();
            let mut due: BTreeMap<&str, GroupDue> =
                pools.iter().map(|(name, ..)| (*name, GroupDue::default())).collect();
            for kind in Kind::ALL {
                let claims: Vec<ShareClaim> =
                    pools.iter().map(|(_, settings, of_pool)| claim(settings, of_pool, kind)).collect();
                let shares = fair_shares(&claims, FairShare::of_slots(slots[kind]));
                for ((name, ..), share) in pools.iter().zip(shares) {
                    due.entry(*name).or_default().slots[kind] = whole_slots(share);
                }
            }
            due
        }
        PolicyConfig::Dynamic { .. } => quotas(market, groups, slots, now),
    }
}

/// What a pool asks for. Pools inside it count beside it.
fn claim(settings: &PoolSettings, of_pool: &GroupUse, kind: Kind) -> ShareClaim {
    let wanted = of_pool.held[kind].saturating_add(of_pool.pending[kind]);
    ShareClaim {
        demand: wanted.min(settings.max[kind].unwrap_or(u32::MAX)),
        min: settings.min[kind],
        weight: settings.weight,
    }
}

fn whole_slots(share: FairShare) -> u32 {
    u32::try_from(share.0 / PartsPerMillion::ONE.0).unwrap_or(u32::MAX)
}

/// What each account would buy at a tick now.
fn quotas<'a>(
    market: Option<&Market>,
    groups: &BTreeMap<&'a str, GroupUse>,
    slots: PerPool<u32>,
    now: Now,
) -> BTreeMap<&'a str, GroupDue> {
    let Some(market) = market else { return BTreeMap::new() };
    let usage = groups.iter().filter_map(|(name, of_queue)| {
        let queue = QueueName::new(name).ok().filter(|_| market.account(name).is_some())?;
        let pending = u64::from(of_queue.pending.map) + u64::from(of_queue.pending.reduce);
        let (running, containers) = (of_queue.held, of_queue.containers);
        let want = QueueUse::wants_all(&containers);
        let is_idle = pending == 0 && running == PerKind::default() && !containers.has_any();
        (!is_idle).then_some(QueueUse { queue, running, pending, containers, want, later: PerKind::default() })
    });
    let usage: Vec<QueueUse> = usage.collect();
    let tick = market.clone().tick(&usage, slots, market.meter().length_ms(), now);
    let due = |(name, of_queue): (&&'a str, &GroupUse)| {
        let interval = tick.intervals().find(|(queue, _)| queue.as_str() == *name);
        let quota = interval.map(|(_, interval)| interval.quota).unwrap_or_default();
        let containers = Some(quota.left_for_containers(of_queue.held));
        (*name, GroupDue { slots: quota.slots(), containers })
    };
    groups.iter().map(due).collect()
}

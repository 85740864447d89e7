//! Metrics of pools. Anybody makes a pool by naming it, so only so many have labels of their own.

use std::cmp::Reverse;
use std::fmt;

use crate::api::{ExactDecimal, PoolShares, ReportedGroup};
use crate::model::{Kind, PerKind};

use super::metrics_format::{MetricWriter, kind_name};

/// Pools with labels of their own; the others are summed.
const LABELLED: usize = 500;
/// The label of the sum of the others.
const OTHER: &str = "_other";

/// What is shown of a pool, or of several.
#[derive(Clone, Debug)]
struct PoolFigures {
    name: String,
    used: PerKind<u32>,
    waiting: PerKind<u32>,
    minimum: PerKind<u64>,
    demand: PerKind<u64>,
    fair_share: PerKind<f64>,
    weight: f64,
    below_minimum_s: Option<PerKind<f64>>,
    below_half_share_s: Option<PerKind<f64>>,
}

impl PoolFigures {
    fn new(group: &ReportedGroup, pool: &PoolShares) -> Self {
        let approximate = |exact: ExactDecimal| exact.0.0 as f64 / 1e6;
        let wide = |values: PerKind<u32>| PerKind::new(values.map.into(), values.reduce.into());
        let seconds = |ms: PerKind<u64>| PerKind::new(ms.map as f64 / 1e3, ms.reduce as f64 / 1e3);
        Self {
            name: group.name.clone(),
            used: group.held,
            waiting: group.waiting,
            minimum: wide(pool.minimum),
            demand: wide(pool.demand),
            fair_share: PerKind::new(approximate(pool.fair_share.map), approximate(pool.fair_share.reduce)),
            weight: approximate(pool.weight),
            below_minimum_s: pool.below_minimum_ms.map(seconds),
            below_half_share_s: pool.below_half_share_ms.map(seconds),
        }
    }

    /// Adds another; of times the longest counts.
    fn add(&mut self, other: &Self) {
        let longest = |one: Option<PerKind<f64>>, other: Option<PerKind<f64>>| match (one, other) {
            (Some(one), Some(other)) => Some(PerKind::new(one.map.max(other.map), one.reduce.max(other.reduce))),
            (one, other) => one.or(other),
        };
        for kind in Kind::ALL {
            self.used[kind] = self.used[kind].saturating_add(other.used[kind]);
            self.waiting[kind] = self.waiting[kind].saturating_add(other.waiting[kind]);
            self.minimum[kind] += other.minimum[kind];
            self.demand[kind] += other.demand[kind];
            self.fair_share[kind] += other.fair_share[kind];
        }
        self.weight += other.weight;
        self.below_minimum_s = longest(self.below_minimum_s, other.below_minimum_s);
        self.below_half_share_s = longest(self.below_half_share_s, other.below_half_share_s);
    }
}

/// Those with a minimum first, then those that use the most, in this order; the rest as one.
fn shown(groups: &[ReportedGroup]) -> Vec<PoolFigures> {
    let pools = groups.iter().filter_map(|group| Some(PoolFigures::new(group, group.pool.as_ref()?)));
    let mut pools: Vec<PoolFigures> = pools.collect();
    if pools.len() <= LABELLED {
        return pools;
    }
    pools.sort_by_key(|pool| {
        let used = u64::from(pool.used.map) + u64::from(pool.used.reduce);
        (Reverse(pool.minimum.map + pool.minimum.reduce > 0), Reverse(used), pool.name.clone())
    });
    let others = pools.split_off(LABELLED);
    let mut others = others.into_iter();
    let sum = others.next().map(|first| {
        others.fold(PoolFigures { name: OTHER.to_owned(), ..first }, |mut sum, other| {
            sum.add(&other);
            sum
        })
    });
    pools.extend(sum);
    pools
}

pub(super) fn write_pools(writer: &mut MetricWriter<'_>, groups: &[ReportedGroup]) -> fmt::Result {
    let pools = shown(groups);
    if pools.is_empty() {
        return Ok(());
    }
    writer.gauges("jobtracker_pool_slots_used", "Slots a pool uses", of_kinds(&pools, |pool| Some(pool.used)))?;
    writer.gauges(
        "jobtracker_pool_tasks_waiting",
        "Tasks of a pool that wait",
        of_kinds(&pools, |pool| Some(pool.waiting)),
    )?;
    writer.gauges(
        "jobtracker_pool_min_share_slots",
        "Minimum share of a pool",
        of_kinds(&pools, |pool| Some(pool.minimum)),
    )?;
    writer.gauges(
        "jobtracker_pool_demand_slots",
        "Slots a pool could use",
        of_kinds(&pools, |pool| Some(pool.demand)),
    )?;
    writer.gauges(
        "jobtracker_pool_fair_share_slots",
        "Fair share of a pool",
        of_kinds(&pools, |pool| Some(pool.fair_share)),
    )?;
    let weights = pools.iter().map(|pool| ([("pool", pool.name.clone())], pool.weight));
    writer.gauges("jobtracker_pool_weight", "Weight of a pool", weights)?;
    writer.gauges(
        "jobtracker_pool_below_min_share_seconds",
        "Time since a pool had its minimum share",
        of_kinds(&pools, |pool| pool.below_minimum_s),
    )?;
    writer.gauges(
        "jobtracker_pool_below_half_share_seconds",
        "Time since a pool had half its fair share",
        of_kinds(&pools, |pool| pool.below_half_share_s),
    )
}

fn of_kinds<V: Copy>(
    pools: &[PoolFigures],
    value: impl Fn(&PoolFigures) -> Option<PerKind<V>>,
) -> impl Iterator<Item = ([(&'static str, String); 2], V)> {
    pools.iter().filter_map(move |pool| Some((pool, value(pool)?))).flat_map(|(pool, values)| {
        Kind::ALL.map(|kind| ([("pool", pool.name.clone()), ("kind", kind_name(kind).to_owned())], values[kind]))
    })
}

#[cfg(test)]
mod tests {
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::DescriptorEncoder;
    use prometheus_client::registry::Registry;

    use super::*;

    #[derive(Debug)]
    struct Pools(Vec<ReportedGroup>);

    impl Collector for Pools {
        fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
            write_pools(&mut MetricWriter(encoder), &self.0)
        }
    }

    fn pool(name: &str, used: u32, minimum: u32) -> ReportedGroup {
        serde_json::from_value(serde_json::json!({
            "name": name, "jobs": 1, "running": { "map": 0, "reduce": 0 }, "held": { "map": used, "reduce": 0 }, "waiting": { "map": 1, "reduce": 0 },
            "pool": {
                "minimum": { "map": minimum, "reduce": 0 }, "maximum": { "map": null, "reduce": null },
                "is_inverted": { "map": false, "reduce": false }, "weight": "1", "mode": "fair",
                "demand": { "map": 1, "reduce": 0 }, "fair_share": { "map": "1", "reduce": "0" }
            }
        }))
        .unwrap()
    }

    #[test]
    fn names_of_pools_without_end_are_one_sum() {
        let long = "x".repeat(200);
        let mut groups: Vec<_> = (0..4_000).map(|number| pool(&format!("{number:05}{long}"), 1, 0)).collect();
        groups.extend([pool("busy", 900, 0), pool("declared", 0, 7)]);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Pools(groups)));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.len() < 3 << 20, "{} bytes", text.len());
        let has = |line: &str| text.lines().any(|found| found == line);
        assert!(has(r#"jobtracker_pool_slots_used{pool="busy",kind="map"} 900"#), "{}", &text[..2_000]);
        assert!(has(r#"jobtracker_pool_min_share_slots{pool="declared",kind="map"} 7"#));
        assert!(has(r#"jobtracker_pool_slots_used{pool="_other",kind="map"} 3502"#));
        assert_eq!(text.lines().filter(|line| line.starts_with("jobtracker_pool_weight{")).count(), LABELLED + 1);
    }
}

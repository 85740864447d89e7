//! What a job.xml says of a deadline, and what is refused of it.

use std::collections::BTreeMap;

use crate::model::OrderTerms;
use crate::scheduler::constraint::{DeadlineSpec, Due, KeySpread, StatedCost};

use crate::config::configuration::Configuration;
use crate::config::job_conf::JobConf;

const PREFIX: &str = "mapred.job.deadline.";

fn parse(properties: &[(&str, &str)]) -> Result<Option<DeadlineSpec>, String> {
    let line = |(name, value): &(&str, &str)| {
        format!("<property><name>{PREFIX}{name}</name><value>{value}</value></property>")
    };
    let text = format!("<configuration>{}</configuration>", properties.iter().map(line).collect::<String>());
    let cluster = Configuration::new(BTreeMap::new());
    JobConf::parse(text.as_bytes(), 1 << 20, &cluster, "h1")
        .map(|conf| conf.deadline)
        .map_err(|error| error.to_string())
}

#[test]
fn a_job_without_a_deadline_has_none_whatever_it_costs() {
    assert_eq!(parse(&[]), Ok(None));
    assert_eq!(parse(&[("map.ms.per.mb", "3")]), Ok(None));
}

#[test]
fn a_deadline_alone_leaves_costs_to_history_and_configuration() {
    let alone = DeadlineSpec {
        due: Due::AfterMs(600_000),
        map: None,
        reduce: None,
        copy_us_per_mb: None,
        filter_millionths: None,
        keys: KeySpread::Uniform,
    };
    assert_eq!(parse(&[("ms", "600000")]), Ok(Some(alone.clone())));
    let at = DeadlineSpec { due: Due::AtMs(1_800_000_000_000), ..alone };
    assert_eq!(parse(&[("ms", "600000"), ("at.ms", "1800000000000")]), Ok(Some(at)), "the absolute one wins");
}

#[test]
fn costs_are_whole_microseconds_rounded_up() {
    let stated = parse(&[
        ("ms", "1"),
        ("map.ms.per.mb", "1.3"),
        ("reduce.task.ms", "70000"),
        ("copy.ms.per.mb", "83.3334"),
        ("filter.ratio", "0"),
        ("keys", "single"),
    ]);
    let expected = DeadlineSpec {
        due: Due::AfterMs(1),
        map: Some(StatedCost::UsPerMb(1_300)),
        reduce: Some(StatedCost::TaskMs(70_000)),
        copy_us_per_mb: Some(83_334),
        filter_millionths: Some(0),
        keys: KeySpread::Single,
    };
    assert_eq!(stated, Ok(Some(expected)));
}

#[test]
fn bad_values_are_refused_by_name() {
    let refusals = [
        ("ms", "0"),
        ("ms", "-5"),
        ("ms", "soon"),
        ("ms", "9223372036854775808"),
        ("at.ms", "0"),
        ("map.ms.per.mb", "0"),
        ("map.ms.per.mb", "-1"),
        ("reduce.ms.per.mb", "fast"),
        ("copy.ms.per.mb", "0.0"),
        ("filter.ratio", "-0.5"),
        ("map.task.ms", "0"),
        ("keys", "skewed"),
    ]
    .map(|(name, value)| parse(&[(name, value)]).unwrap_err());
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn a_cost_in_two_forms_is_refused() {
    for kind in ["map", "reduce"] {
        let (per_mb, per_task) = (format!("{kind}.ms.per.mb"), format!("{kind}.task.ms"));
        let refusal = parse(&[("ms", "9"), (&per_mb, "1"), (&per_task, "1")]).unwrap_err();
        assert_eq!(refusal, format!("{PREFIX}{per_mb} and {PREFIX}{per_task} are both set; expected one of them"));
    }
}

#[test]
fn an_order_needs_a_deadline_and_a_highest_rate() {
    let order = |properties: &[(&str, &str)]| {
        let line = |(name, value): &(&str, &str)| {
            format!("<property><name>{PREFIX}{name}</name><value>{value}</value></property>")
        };
        let text = format!("<configuration>{}</configuration>", properties.iter().map(line).collect::<String>());
        let conf = JobConf::parse(text.as_bytes(), 1 << 20, &Configuration::new(BTreeMap::new()), "h1");
        conf.map(|conf| conf.order).map_err(|error| error.to_string())
    };
    let credits = |text: &str| text.parse().unwrap();
    let stated = order(&[("ms", "9"), ("max.rate", "2.5"), ("max.cost", "40")]);
    assert_eq!(stated, Ok(Some(OrderTerms { max_rate: credits("2.5"), max_cost: Some(credits("40")) })));
    assert_eq!(order(&[("ms", "9")]), Ok(None));
    let refusals = [
        order(&[("max.rate", "2.5")]),
        order(&[("ms", "9"), ("max.cost", "40")]),
        order(&[("ms", "9"), ("max.rate", "-1")]),
        order(&[("ms", "9"), ("max.rate", "much")]),
        order(&[("ms", "9"), ("max.rate", "1"), ("max.cost", "1e3")]),
    ];
    insta::assert_snapshot!(refusals.map(Result::unwrap_err).join("\n"), @r#"
    mapred.job.deadline.max.rate is set; expected mapred.job.deadline.ms with it
    mapred.job.deadline.max.cost is set; expected mapred.job.deadline.max.rate with it
    job.xml:1: mapred.job.deadline.max.rate = "-1": expected credits from 0 to 1000000000000, with at most 12 decimals
    job.xml:1: mapred.job.deadline.max.rate = "much": expected a decimal number
    job.xml:1: mapred.job.deadline.max.cost = "1e3": expected credits from 0 to 1000000000000, with at most 12 decimals
    "#);
}

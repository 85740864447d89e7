//! `/metrics?format=json`: numbers in the shape of the metrics servlet of Hadoop 0.20 and CDH4,
//! `{context: {record: [[tags, metrics], …]}}`.

use serde_json::{Map, Value, json};

use crate::api::{ExactDecimal, ReportedGroup, ReportedJob};
use crate::engine::ClusterSnapshot;
use crate::model::{Kind, PerKind};

use super::jmx_beans::numbers_of_jobtracker;

/// The numbers. `machine`: the name of this one.
pub(crate) fn metrics_as_json(overview: &ClusterSnapshot, machine: &str) -> String {
    let mut contexts = Map::new();
    let tags = json!({ "hostName": machine, "sessionId": "" });
    contexts.insert("mapred".into(), json!({ "jobtracker": [[tags, numbers_of_jobtracker(overview)]] }));
    let pools: Vec<Value> = overview.report.groups.iter().filter_map(pool_records).flatten().collect();
    if !pools.is_empty() {
        let jobs: Vec<Value> = overview.report.jobs.iter().filter_map(job_records).flatten().collect();
        contexts.insert("fairscheduler".into(), json!({ "pools": pools, "jobs": jobs }));
    }
    Value::from(contexts).to_string()
}

fn pool_records(group: &ReportedGroup) -> Option<Vec<Value>> {
    let pool = group.pool.as_ref()?;
    let share = |kind: Kind| ReportedShare {
        fair: Some(&pool.fair_share[kind]),
        minimum: number(pool.minimum, kind),
        demand: number(pool.demand, kind),
    };
    Some(records(&group.name, group.running, share))
}

fn job_records(job: &ReportedJob) -> Option<Vec<Value>> {
    let pooled = job.pool.as_ref()?;
    let share = |kind: Kind| ReportedShare {
        fair: pooled.fair_share.as_ref().map(|shares| &shares[kind]),
        minimum: 0,
        demand: number(pooled.demand, kind),
    };
    Some(records(&job.job.to_string(), job.running, share))
}

struct ReportedShare<'a> {
    /// None: its pool serves jobs in order.
    fair: Option<&'a ExactDecimal>,
    minimum: u64,
    demand: u64,
}

fn number(of: PerKind<u32>, kind: Kind) -> u64 {
    u64::from(of[kind])
}

/// One record a kind of tasks, as the Fair scheduler updates them.
fn records<'a>(name: &str, running: PerKind<u32>, share: impl Fn(Kind) -> ReportedShare<'a>) -> Vec<Value> {
    let record = |kind: Kind| {
        let ReportedShare { fair, minimum, demand } = share(kind);
        let kind_name = if kind == Kind::Map { "MAP" } else { "REDUCE" };
        let tags = json!({ "name": name, "taskType": kind_name });
        json!([tags, {
            "fairShare": fair.map_or(0.0, |share| share.to_string().parse::<f64>().unwrap_or(0.0)), "minShare": minimum, "demand": demand, "runningTasks": running[kind],
        }])
    };
    Kind::ALL.map(record).into()
}

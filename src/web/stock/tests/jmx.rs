//! The beans beside the recorded ones: the same attributes with the same types, and the numbers of the run.

use serde_json::Value;

use crate::engine::{AttemptCounts, ClusterSnapshot};
use crate::model::PerKind;

use super::stage::{Recorded, at, queue, tracker};

/// Beans of 1.2.1 that only its own parts have.
const NOT_OURS: [&str; 5] =
    ["MetricsSystem,sub=Control", "MetricsSystem,sub=Stats", "ugi", "RpcActivityFor", "RpcDetailed"];

fn cluster() -> Recorded {
    let counts = AttemptCounts {
        launched: PerKind::new(15, 2),
        completed: PerKind::new(10, 0),
        failed: PerKind::new(3, 0),
        killed: PerKind::new(1, 0),
        jobs: [3, 0, 1, 0],
    };
    Recorded {
        overview: ClusterSnapshot {
            start_ms: at(50, 8),
            at_ms: at(52, 21),
            slots: PerKind::new(4, 4),
            running: PerKind::new(2, 2),
            jobs_accepted: 3,
            attempt_counts: counts,
            queues: vec![queue("default"), queue("etl")],
            trackers: vec![tracker("worker1", 50060, 3, 1, [9, 8]), tracker("worker2", 50061, 1, 2, [8, 6])],
            ..ClusterSnapshot::default()
        },
        ..Recorded::default()
    }
}

fn beans(body: &str) -> Vec<Value> {
    let body: Value = serde_json::from_str(body).unwrap();
    body["beans"].as_array().unwrap().clone()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Object(_) => "object",
        Value::Bool(_) => "flag",
        Value::Null | Value::Array(_) => "other",
    }
}

#[tokio::test]
async fn beans_have_the_attributes_of_the_recorded_ones() {
    let ours = beans(&cluster().get("/jmx").await.body);
    let recorded = [
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/web/jmx-hadoop.json")),
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/web/jmx-memory.json")),
    ];
    for theirs in recorded.into_iter().flat_map(beans) {
        let name = theirs["name"].as_str().unwrap();
        if NOT_OURS.iter().any(|part| name.contains(part)) {
            continue;
        }
        let bean = ours.iter().find(|bean| bean["name"] == theirs["name"]);
        let bean = bean.unwrap_or_else(|| panic!("{name} is missing"));
        for (attribute, value) in theirs.as_object().unwrap() {
            assert_eq!(kind(&bean[attribute]), kind(value), "{attribute} of {name}");
        }
    }
}

#[tokio::test]
async fn numbers_are_those_of_the_cluster_one_a_line() {
    let answer = cluster().get("/jmx?qry=Hadoop:service=JobTracker,name=JobTrackerMetrics").await;
    assert_eq!(answer.kind, "application/json; charset=utf8");
    for line in [
        "    \"name\" : \"Hadoop:service=JobTracker,name=JobTrackerMetrics\",",
        "    \"map_slots\" : 4,",
        "    \"maps_launched\" : 15,",
        "    \"maps_failed\" : 3,",
        "    \"reduces_launched\" : 2,",
        "    \"jobs_submitted\" : 3,",
        "    \"jobs_failed\" : 1,",
    ] {
        assert!(answer.body.lines().any(|known| known == line), "{line} in {}", answer.body);
    }
    let info = beans(&cluster().get("/jmx?qry=Hadoop:name=JobTrackerInfo,*").await.body);
    let text = |name: &str| -> Value { serde_json::from_str(info[0][name].as_str().unwrap()).unwrap() };
    let slots = serde_json::json!({
        "map_slots": 4, "map_slots_used": 2, "reduce_slots": 4, "reduce_slots_used": 2,
    });
    assert_eq!(text("SummaryJson")["slots"], slots);
    assert_eq!(text("SummaryJson")["jobs"], 3);
    assert_eq!(text("AliveNodesInfoJson")[1]["hostname"], "worker2");
    assert_eq!(text("AliveNodesInfoJson")[1]["failures"], 2);
    assert_eq!(text("BlacklistedNodesInfoJson"), serde_json::json!([]));
    assert_eq!(text("QueueInfoJson")["etl"], serde_json::json!({ "state": "running", "info": "N/A" }));
}

#[tokio::test]
async fn queries_select_beans() {
    let names = async |query: &str| {
        let answer = cluster().get(&format!("/jmx{query}")).await;
        beans(&answer.body).iter().map(|bean| bean["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = names("").await;
    assert_eq!(all.len(), 8, "{all:?}");
    assert_eq!(names("?qry=*:*&get=x").await, all);
    // The spelling of older versions.
    assert_eq!(names("?qry=hadoop:name=JobTrackerInfo,*").await, ["hadoop:service=JobTracker,name=JobTrackerInfo"]);
    assert_eq!(names("?qry=java.lang:type=Memory").await, ["java.lang:type=Memory"]);
    assert_eq!(names("?qry=Hadoop:service=JobTracker,name=QueueMetrics,q=*").await.len(), 2);
    assert!(names("?qry=Hadoop:service=NameNode,*").await.is_empty());
    let malformed = cluster().get("/jmx?qry=Hadoop").await;
    assert_eq!((malformed.status.as_u16(), malformed.body.as_str()), (400, ""));
}

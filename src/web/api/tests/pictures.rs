//! What pictures are drawn from: attempts over time, slots with what holds them, shares at ticks, the states of items.

use serde_json::{Value, json};

use crate::mapreduce::{AttemptRole, EndedAttempt, JobFact};
use crate::model::{AttemptState, Kind};

use super::stage::{START_MS, Stage, application_end};
use super::{MarketPresence, job_id};
use crate::engine::Fact;

#[tokio::test]
async fn a_timeline_keeps_what_runs_and_the_longest_and_sums_the_rest() {
    let stage = Stage::new();
    let of = async |query: &str| stage.get(&format!("/api/v1/jobs/job_202611211200_0002/timeline{query}")).await.json();
    let bar = |task: &str, state: &str| json!({ "attempt": format!("attempt_202611211200_0002_{task}_0"), "state": state, "from_ms": START_MS + 50 });
    let (runs, mut failed) = (bar("m_000000", "RUNNING"), bar("m_000001", "FAILED"));
    failed["to_ms"] = (START_MS + 90).into();
    let all = json!({ "rows": [{ "worker": "h", "bars": [runs, failed] }], "left_out": { "bars": 0, "total_ms": 0 } });
    assert_eq!(of("").await, all);
    let one = json!({ "rows": [{ "worker": "h", "bars": [runs] }], "left_out": { "bars": 1, "total_ms": 40 } });
    assert_eq!(of("?bars=1").await, one);
    // Of a worker that is gone the name of its tracker is left; a reduce has phases.
    let attempt = job_id(2).task(Kind::Reduce, 0).attempt(0);
    let launched = JobFact::AttemptLaunched {
        attempt,
        role: AttemptRole::Work,
        tracker: "tracker_gone:1".into(),
        slots: 1,
        at_ms: START_MS + 100,
        response_id: 2,
    };
    let ended = EndedAttempt {
        attempt,
        state: AttemptState::Succeeded,
        start_ms: START_MS + 101,
        finish_ms: START_MS + 190,
        diagnostics: String::new(),
        state_text: String::new(),
        output_bytes: -1,
        shuffle_finish_ms: START_MS + 120,
        sort_finish_ms: START_MS + 130,
        counters: None,
    };
    stage.cluster.apply(vec![Fact::Job(launched), Fact::Job(JobFact::AttemptEnded(Box::new(ended)))]);
    let mut reduce = bar("r_000000", "SUCCEEDED");
    reduce["from_ms"] = (START_MS + 100).into();
    for (name, after_ms) in [("to_ms", 190), ("shuffle_ms", 120), ("sort_ms", 130)] {
        reduce[name] = (START_MS + after_ms).into();
    }
    let expected = json!({
        "rows": [{ "worker": "h", "bars": [runs] }, { "worker": "tracker_gone:1", "bars": [reduce] }],
        "left_out": { "bars": 1, "total_ms": 40 },
    });
    assert_eq!(of("?bars=2").await, expected);
    let over = stage.get("/api/v1/jobs/job_202611211200_0001/timeline").await.json();
    assert_eq!(over["rows"][0]["bars"][0]["to_ms"], START_MS + 90);
}

/// The cells of the one worker, each as its kind and who holds it.
fn cells(answered: &Value) -> Vec<(&str, &str)> {
    let text = |cell: &'_ Value, name: &str| cell[name].as_str().map(str::len).is_some();
    let cells = answered["items"][0]["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| {
            assert_eq!(text(cell, "queue"), text(cell, "user"), "{cell}");
            (cell["kind"].as_str().unwrap(), cell["queue"].as_str().unwrap_or("free"))
        })
        .collect()
}

#[tokio::test]
async fn each_slot_is_a_cell_with_what_holds_it() {
    let stage = Stage::new();
    let found = stage.get("/api/v1/slots").await.json();
    assert_eq!((&found["items"][0]["worker"], &found["items"][0]["rack"]), (&json!("h"), &json!("/r")));
    let expected = json!({
        "kind": "map", "queue": "alice", "user": "alice", "job": "job_202611211200_0002",
        "attempt": "attempt_202611211200_0002_m_000000_0", "since_ms": START_MS + 50,
    });
    assert_eq!(found["items"][0]["cells"][0], expected);
    let expected = json!({
        "kind": "container", "queue": "bob", "user": "bob", "application": "application_1700000000000_0001",
        "container": "container_1700000000000_0001_00_000003", "since_ms": START_MS + 10,
    });
    assert_eq!((&found["items"][0]["cells"][1], &found["items"][0]["cells"][2]), (&expected, &expected));
    let (map, container) = (("map", "alice"), ("container", "bob"));
    let free = [("map", "free"), ("map", "free"), ("map", "free"), ("reduce", "free"), ("reduce", "free")];
    assert_eq!(cells(&found), [&[map, container, container], &free[..]].concat());
    let by_kind = stage.get("/api/v1/slots?by=kind&rack=/r").await.json();
    assert_eq!(cells(&by_kind), [&[container, container, map], &free[..]].concat());
    assert_eq!(stage.get("/api/v1/slots?rack=/x").await.json()["items"], json!([]));
    assert_eq!(stage.get("/api/v1/slots?by=age").await.problem().0, 400);
    // Where access lists are on, a slot has its queue and user, as the list of jobs does.
    let closed = Stage::with(MarketPresence::Absent, false, true);
    let found = closed.get("/api/v1/slots").await.json();
    let [of_alice, of_bob] = [("map", "alice"), ("container", "bob")]
        .map(|(kind, user)| json!({ "kind": kind, "queue": user, "user": user }));
    assert_eq!((&found["items"][0]["cells"][0], &found["items"][0]["cells"][1]), (&of_alice, &of_bob));
    let seen = closed.get_as(&closed.session("bob"), "/api/v1/slots?by=queue").await.json();
    assert_eq!((&seen["items"][0]["cells"][0], &seen["items"][0]["cells"][1]), (&of_alice, &expected));
}

#[tokio::test]
async fn shares_are_those_of_the_last_ticks_and_to_each_the_own() {
    let stage = Stage::new();
    let path = "/api/v1/market/shares";
    let point =
        |tick: i64, queues: &Value| json!({ "tick": tick, "time_ms": START_MS + 20_000 * tick, "queues": queues });
    let series = |queues: Value| json!({ "step_ms": 20_000, "points": [point(2, &queues), point(3, &queues)] });
    let sold = |queue: &str, rate: &str, share: &str, map: u32| {
        let quota = json!({ "map": map, "reduce": 1, "container": 0 });
        json!({ "queue": queue, "rate": rate, "share": share, "quota": quota })
    };
    let (alice, carol) = (sold("alice", "3.3719", "0.731943726", 3), sold("carol", "9.7319", "0.486595000", 1));
    assert_eq!(stage.get(path).await.json(), series(json!([])));
    assert_eq!(stage.get_as(&stage.session("alice"), path).await.json(), series(json!([alice])));
    assert_eq!(stage.get_as(&stage.session("root"), path).await.json(), series(json!([alice, carol])));
    let public = Stage::with(MarketPresence::Ruling, true, false);
    let last = json!({ "step_ms": 40_000, "points": [point(3, &json!([alice, carol]))] });
    assert_eq!(public.get(&format!("{path}?points=1")).await.json(), last);
    assert_eq!(public.get(&format!("{path}?since={}", START_MS + 60_001)).await.json()["points"], json!([]));
    let none = Stage::with(MarketPresence::Absent, true, false);
    assert_eq!(none.get(path).await.problem(), (404, "no-market".to_owned()));
}

#[tokio::test]
async fn a_grid_of_items_has_each_of_them_in_its_state() {
    let stage = Stage::new();
    let of = async |query: &str| {
        let path = format!("/api/v1/applications/application_1700000000000_0001/grid{query}");
        stage.get(&path).await.json()["grids"][0].clone()
    };
    let states = json!(["WAITING", "RUNNING", "SUCCEEDED", "FAILED", "ENDED"]);
    let runs = json!([[2, 1], [3, 1], [1, 1], [2, 1], [0, 2]]);
    let expected = json!({ "kind": "item", "total": 6, "per_cell": 1, "states": states, "runs": runs });
    assert_eq!(of("?cells=0").await, expected);
    assert_eq!(of("?cells=2").await["cells"], json!([[0, 1, 1, 1, 0], [2, 0, 1, 0, 0]]));
    stage.cluster.apply(application_end());
    assert_eq!(of("?cells=0").await["runs"], json!([[2, 1], [3, 1], [2, 2], [4, 2]]));
}

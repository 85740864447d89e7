//! The plan of a switch: for administrators, with the members of the command, and refused in words that name the culprit.

use crate::api::{GroupStatus, MovedJob, SetKey, SwitchPlan, SwitchRefusal};
use crate::model::{PerKind, PerPool};
use crate::web::applications::tests::json_schema::violations;

use super::super::routes::OPENAPI_PATH;
use super::job_id;
use super::stage::Stage;

const PATH: &str = "/api/v1/policy/plan";

/// A plan with all that one may have.
pub(super) fn plan(move_to: Option<String>) -> SwitchPlan {
    SwitchPlan {
        from: "Dynamic".to_owned(),
        to: "Fair".to_owned(),
        slots: PerPool::new(4, 2, 8),
        groups: vec![GroupStatus {
            name: "alice".to_owned(),
            settings: vec!["weight 1".to_owned()],
            jobs: 1,
            applications: 1,
            held: PerKind::new(2, 1),
            container_slots: 3,
            due: Some(PerKind::new(3, 1)),
            due_container_slots: Some(4),
        }],
        begins: vec![job_id(1)],
        waits: vec![job_id(2)],
        moves: vec![MovedJob { job: job_id(3), from: "alice".to_owned(), to: move_to.unwrap_or_default() }],
        without_claim: vec![job_id(4)],
        at_risk: vec![job_id(5)],
        keys: vec![SetKey { key: "k".to_owned(), value: "v".to_owned(), place: "conf/f.xml:7".to_owned() }],
        warnings: vec!["careful".to_owned()],
        refusals: vec![
            SwitchRefusal::SafeMode { by: "root".to_owned() },
            SwitchRefusal::Store("state.db is broken".to_owned()),
        ],
        waits_until_ms: Some(7),
    }
}

#[tokio::test]
async fn an_administrator_gets_the_members_of_the_command_and_the_description_has_them() {
    let stage = Stage::new();
    let answered = stage.get_as(&stage.session("root"), &format!("{PATH}?to=fair&move_to=default")).await;
    assert_eq!((answered.status, answered.header("cache-control")), (200, "private, no-cache"), "{answered:?}");
    let printed = serde_json::to_value(plan(Some("default".to_owned()))).unwrap();
    assert_eq!(answered.json(), printed);
    let description = stage.get(OPENAPI_PATH).await.json();
    let schema = &description["components"]["schemas"]["SwitchPlan"];
    assert_eq!(violations(&description, schema, &printed), Vec::<String>::new());
}

#[tokio::test]
async fn no_other_gets_one() {
    let stage = Stage::new();
    let path = format!("{PATH}?to=fair");
    for answered in [stage.get(&path).await, stage.get_as(&stage.session("alice"), &path).await] {
        assert_eq!(answered.problem(), (403, "forbidden".to_owned()));
        assert!(!answered.text().contains("weight") && answered.text().contains("jobtracker scheduler plan fair"));
    }
}

#[tokio::test]
async fn what_cannot_be_planned_is_refused_by_name() {
    let stage = Stage::new();
    let root = stage.session("root");
    for (query, status, words) in [
        ("", 400, "expected fifo, capacity"),
        ("?to=", 400, "is not a scheduler"),
        ("?to=lottery", 400, "to: \\\"lottery\\\" is not a scheduler"),
        ("?to=%3Cscript%3E", 400, "is not a scheduler"),
        ("?to=fair&to=fifo", 400, "to: the parameter is repeated"),
        ("?to=fair&from=fifo", 400, "from: the parameter is unknown"),
        ("?to=%ff", 400, ""),
        ("?to=capacity", 503, "capacity-scheduler.xml:7: 130 is above 100"),
        ("?to=fifo", 429, "another plan is being made"),
    ] {
        let answered = stage.get_as(&root, &format!("{PATH}{query}")).await;
        assert_eq!(answered.problem().0, status, "{query}: {}", answered.text());
        assert!(answered.text().contains(words), "{query}: {}", answered.text());
    }
}

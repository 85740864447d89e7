//! Errors: paths, methods, parameters, members, and what the engine refuses.

use super::super::address::Address;
use super::super::problem_name::ProblemName;
use super::super::routes::refuse_names_by_problems;
use super::*;
use crate::api::applications::ApplicationState;
use crate::engine::BodyFault;
use crate::http::require_served_name;
use crate::market::ReplayRefusal;
use axum::middleware::from_fn;

pub(super) fn path_of(address: Address) -> String {
    address
        .template()
        .replace("{application-id}", &APPLICATION.to_string())
        .replace("{container-id}", &APPLICATION.container(1, 4).to_string())
        .replace("{command}", "GRACEFUL_SHUTDOWN")
        .replace("{log}", "stdout")
        .replace("{node-id}", "h2121:50060")
}

#[tokio::test]
async fn another_method_is_refused_with_those_that_are_allowed() {
    let served = Served::empty();
    for address in Address::ALL {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let is_allowed = address.methods().iter().any(|allowed| allowed.as_str() == method);
            let answered = served.ask(method, &path_of(address), None).await;
            if is_allowed {
                assert_ne!(answered.status, 405, "{method} {address:?}");
            } else {
                assert_eq!(answered.problem(), (405, "method-not-allowed".to_owned()), "{method} {address:?}");
                assert_eq!(answered.header("allow"), address.allow());
            }
        }
    }
    assert_eq!(Address::Applications.allow(), "GET, HEAD, POST");
    assert_eq!(Address::State.allow(), "GET, HEAD, PUT");
    for path in ["/ws/v1/openapi.json", "/problems/resync"] {
        let answered = served.ask("POST", path, None).await;
        assert_eq!((answered.problem().0, answered.header("allow")), (405, "GET, HEAD"));
    }
}

#[tokio::test]
async fn paths_are_exact() {
    let served = Served::empty();
    let unknown = (404, "no-such-address".to_owned());
    for path in [
        "/ws/v1/cluster",
        "/ws/v1/cluster/apps/",
        "/ws/v1/cluster/Apps",
        &format!("{APP}/"),
        &format!("{APP}/attempts"),
        &format!("{APP}/state/x"),
        "/ws/v1/cluster/containers/container_1700000000000_0001_01_000001/logs/syslog",
        "/ws/v1/openapi.yaml",
        "/problems/nothing",
        "/problems/%FF",
        "/ws/v1/cluster/apps/%FF",
    ] {
        assert_eq!(served.ask("GET", path, None).await.problem(), unknown, "{path}");
    }
    let signal = "/ws/v1/cluster/containers/container_1700000000000_0001_01_000001/signal/KILL";
    assert_eq!(served.ask("POST", signal, None).await.problem(), unknown);
    assert!(served.questions().is_empty());
}

#[tokio::test]
async fn an_id_that_is_none_names_nothing() {
    let served = Served::empty();
    for (path, name) in [
        ("/ws/v1/cluster/apps/application_1_1", "no-such-application"),
        ("/ws/v1/cluster/apps//state", "no-such-application"),
        ("/ws/v1/cluster/apps/job_1_0001/state", "no-such-application"),
        ("/ws/v1/cluster/containers/container_1", "no-such-container"),
    ] {
        assert_eq!(served.ask("GET", path, None).await.problem(), (404, name.to_owned()));
    }
}

#[tokio::test]
async fn all_parameters_that_are_wrong_are_named() {
    let served = Served::empty();
    let query = "states=RUNNING,running&limit=0&after=x&queue=a&colour=red&colour=blue&limit=5";
    let answered = served.ask("GET", &format!("/ws/v1/cluster/apps?{query}"), None).await;
    insta::assert_snapshot!(answered.body, @r#"{"type":"/problems/invalid-request","title":"The request is not valid","status":400,"detail":"colour: the parameter is repeated, and 5 more","instance":"/ws/v1/cluster/apps","errors":[{"parameter":"colour","detail":"the parameter is repeated"},{"parameter":"limit","detail":"the parameter is repeated"},{"parameter":"states","detail":"expected states of applications with commas"},{"parameter":"limit","detail":"expected a whole number from 1 to 1000"},{"parameter":"after","detail":"expected the id of an application"},{"parameter":"colour","detail":"the parameter is unknown; known are user, timestamp, sha256, states, queue, limit, rows, after"}],"exception":"BadRequestException"}"#);
    let cases = [
        (format!("{APP}/containers?failed=1"), "failed", "expected true or false"),
        (format!("{APP}/containers?states=NEW"), "states", "expected states of containers with commas"),
        (format!("{APP}/containers?limit=1001"), "limit", "expected a whole number from 1 to 1000"),
        (format!("{APP}/containers?after=4"), "after", "expected the id of a container"),
        (format!("{APP}/state?a"), "a", "the parameter is unknown; known are user, timestamp, sha256"),
        (
            "/ws/v1/cluster/nodes?states=LOST".to_owned(),
            "states",
            "the parameter is unknown; known are user, timestamp, sha256",
        ),
        ("/ws/v1/cluster/apps?limit=%2B5".to_owned(), "limit", "expected a whole number from 1 to 1000"),
        (
            "/ws/v1/cluster/containers/container_1_0001_01_000001/logs/stdout?start=1.5".to_owned(),
            "start",
            "expected a whole number",
        ),
    ];
    for (target, parameter, detail) in cases {
        let answered = served.ask("GET", &target, None).await;
        assert_eq!(answered.problem(), (400, "invalid-request".to_owned()), "{target}");
        assert_eq!(answered.json()["errors"], serde_json::json!([{ "parameter": parameter, "detail": detail }]));
    }
    assert!(served.questions().is_empty());
}

#[tokio::test]
async fn members_that_are_wrong_are_pointed_at() {
    let served = Served::empty();
    let ask = async |body: &str| served.ask("POST", &format!("{APP}/allocate"), Some(body)).await;
    let row = r#"{"attempt":1,"response-id":0,"ask":[{"priority":1,"resource-name":"*","capability":{"memory":"1 GB","vCores":1},"num-containers":1}]}"#;
    insta::assert_snapshot!(ask(row).await.body, @r##"{"type":"/problems/invalid-resource-request","title":"A resource request is not valid","status":400,"detail":"#/ask/0/capability/memory: expected a whole number from 0 to 2147483647, found a text","instance":"/ws/v1/cluster/apps/application_1700000000000_0001/allocate","errors":[{"pointer":"#/ask/0/capability/memory","detail":"expected a whole number from 0 to 2147483647, found a text"}],"exception":"InvalidResourceRequestException"}"##);
    insta::assert_snapshot!(ask(r#"{"attempt":1,"response-id":0,"attempt":1}"#).await.body, @r##"{"type":"/problems/invalid-request","title":"The request is not valid","status":400,"detail":"#/attempt: the member is repeated","instance":"/ws/v1/cluster/apps/application_1700000000000_0001/allocate","errors":[{"pointer":"#/attempt","detail":"the member is repeated"}],"exception":"BadRequestException"}"##);
    insta::assert_snapshot!(ask("{").await.body, @r#"{"type":"/problems/invalid-request","title":"The request is not valid","status":400,"detail":"the body is no JSON: EOF while parsing an object at line 1 column 1","instance":"/ws/v1/cluster/apps/application_1700000000000_0001/allocate","exception":"BadRequestException"}"#);
    let many = format!(r#"{{"attempt":1,"response-id":0,"release":[{}]}}"#, vec!["0"; 10_001].join(","));
    insta::assert_snapshot!(ask(&many).await.body, @r#"{"type":"/problems/too-many","title":"Over a limit","status":429,"detail":"release has 10001 items; a call may have 10000","instance":"/ws/v1/cluster/apps/application_1700000000000_0001/allocate"}"#);
    assert!(served.questions().is_empty());
}

/// A refusal of the engine as it is answered.
async fn refused(refusal: ApplicationRefusal) -> Answered {
    let served = Served::signed(move |_| Err(refusal.clone()));
    served.ask("GET", APP, None).await
}

#[tokio::test]
async fn each_refusal_of_the_engine_is_a_problem() {
    let fault = |pointer: &str| BodyFault { pointer: pointer.to_owned(), detail: "no".to_owned() };
    let replay = ReplayRefusal::BeforeStart { timestamp_ms: 1, start_ms: 2 };
    let container = APPLICATION.container(1, 4);
    let cases = [
        (ApplicationRefusal::InvalidRequest(vec![fault("#/ask"), fault("after")]), 400, "invalid-request"),
        (ApplicationRefusal::InvalidResourceRequest(vec![fault("#/ask/0")]), 400, "invalid-resource-request"),
        (ApplicationRefusal::Timestamp { refusal: replay, server_time_ms: 7 }, 401, "timestamp-refused"),
        (ApplicationRefusal::Forbidden("no".to_owned()), 403, "forbidden"),
        (ApplicationRefusal::NoSuchApplication(APPLICATION), 404, "no-such-application"),
        (ApplicationRefusal::NoSuchContainer(container), 404, "no-such-container"),
        (ApplicationRefusal::LogsLost { container, node: "h:1".to_owned() }, 404, "no-such-container"),
        (ApplicationRefusal::NoSuchNode("h:1".to_owned()), 404, "no-such-node"),
        (ApplicationRefusal::Resync("no".to_owned()), 409, "resync"),
        (ApplicationRefusal::Superseded { application: APPLICATION, attempt: 1, current: 2 }, 409, "superseded"),
        (ApplicationRefusal::ApplicationExists(APPLICATION), 409, "application-exists"),
        (
            ApplicationRefusal::ApplicationOver { application: APPLICATION, state: ApplicationState::Killed },
            409,
            "application-over",
        ),
        (ApplicationRefusal::TooMany("no".to_owned()), 429, "too-many"),
        (ApplicationRefusal::Unavailable("no".to_owned()), 503, "unavailable"),
    ];
    for (refusal, status, name) in cases {
        let text = refusal.to_string();
        let answered = refused(refusal).await;
        assert_eq!(answered.problem(), (status, name.to_owned()));
        assert_eq!(answered.json()["detail"], text);
        assert_eq!(answered.json()["instance"], APP);
        assert_eq!(answered.header("retry-after"), if status == 503 { "1" } else { "" });
        assert_eq!(answered.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn problems_have_members_of_their_own() {
    let over = ApplicationRefusal::ApplicationOver { application: APPLICATION, state: ApplicationState::Killed };
    insta::assert_snapshot!(refused(over).await.body, @r#"{"type":"/problems/application-over","title":"The application has ended","status":409,"detail":"application_1700000000000_0001 is over","instance":"/ws/v1/cluster/apps/application_1700000000000_0001","state":"KILLED"}"#);
    let replay = ReplayRefusal::BeforeStart { timestamp_ms: 1, start_ms: 2 };
    let refusal = ApplicationRefusal::Timestamp { refusal: replay, server_time_ms: 7 };
    insta::assert_snapshot!(refused(refusal).await.body, @r#"{"type":"/problems/timestamp-refused","title":"The timestamp is refused","status":401,"detail":"timestamp 1 is not after the server's start 2","instance":"/ws/v1/cluster/apps/application_1700000000000_0001","server-time-ms":7}"#);
}

#[tokio::test]
async fn each_kind_of_problem_has_a_page() {
    let served = Served::empty();
    for name in ProblemName::ALL {
        let answered = served.ask("GET", &format!("/problems/{}", name.name()), None).await;
        assert_eq!((answered.status, answered.header("content-type")), (200, "text/plain; charset=utf-8"));
        assert!(answered.body.starts_with(name.title()) && answered.body.contains(name.explanation()), "{answered:?}");
    }
    let page = served.ask("GET", "/problems/resync", None).await.body;
    insta::assert_snapshot!(page, @"
    Register again (resync, status 409)

    The JobTracker cannot continue from this response-id. Register again, then send everything that is wanted.
    ");
}

#[tokio::test]
async fn a_request_under_another_name_is_a_problem_below_ws() {
    let mut served = Served::empty();
    let names = ServedNames::new(Some(["h".to_owned()]), "jobtracker.web.hosts");
    let router = require_served_name(served.router.clone(), names, &[]);
    served.service = TowerToHyperService::new(router.layer(from_fn(refuse_names_by_problems)));
    let ask = async |path: &str, host| {
        let request = Request::builder().uri(path).header(HOST, host).body(Body::empty()).unwrap();
        served.send(request).await
    };
    for path in ["/ws/v1/cluster/apps", "/ws/v1/openapi.json", "/ws/nothing"] {
        let refused = ask(path, "evil.example").await;
        assert_eq!(refused.problem(), (421, "misdirected-request".to_owned()));
        assert!(refused.json()["detail"].as_str().unwrap().ends_with("add the name to jobtracker.web.hosts"));
        assert_ne!(ask(path, "h").await.status, 421);
    }
    let elsewhere = ask("/problems/resync", "evil.example").await;
    assert_eq!((elsewhere.status, elsewhere.header("content-type")), (421, "text/plain; charset=utf-8"));
}

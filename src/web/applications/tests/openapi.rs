//! The description of the interface: it has every path and method that is served and no other, and answers are as it says.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::address::Address;
use super::super::problem_name::ProblemName;
use super::answers::body_for;
use super::json_schema::violations;
use super::problems::path_of;
use super::reports::answer;
use super::*;

async fn description() -> Value {
    let request = Request::builder().uri("/ws/v1/openapi.json").body(Body::empty()).unwrap();
    let answered = Served::empty().send(request).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "application/json"));
    answered.json()
}

fn operation<'a>(description: &'a Value, path: &str, method: &str) -> &'a Value {
    &description["paths"][path][method.to_lowercase()]
}

#[tokio::test]
async fn it_has_what_is_served_and_nothing_else() {
    let description = description().await;
    assert_eq!(description["openapi"], "3.1.0");
    let mut served: BTreeSet<(String, String)> = BTreeSet::new();
    for address in Address::ALL {
        for method in address.methods() {
            served.insert((address.template().to_owned(), method.as_str().to_lowercase()));
        }
    }
    for path in ["/ws/v1/openapi.json", "/problems/{name}"] {
        served.insert((path.to_owned(), "get".to_owned()));
    }
    let mut described = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((path.clone(), method.clone()));
        }
    }
    assert_eq!(described, served);
}

#[tokio::test]
async fn operations_have_names_of_their_own_and_the_parts_of_their_paths() {
    let description = description().await;
    let mut names = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let described: BTreeSet<String> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                .collect();
            let parts = path.split('/').filter(|part| part.starts_with('{')).map(str::to_owned).collect();
            assert_eq!(described, parts, "{path}");
        }
    }
}

#[tokio::test]
async fn answers_are_as_it_says() {
    let description = description().await;
    let served = Served::signed(|question| Ok(answer(question)));
    for address in Address::ALL {
        for method in address.methods() {
            let operation = operation(&description, address.template(), method.as_str());
            let body = body_for(address, method.as_str());
            let answered = served.ask(method.as_str(), &path_of(address), body).await;
            let described = &operation["responses"][answered.status.to_string()];
            let schema = &described["content"]["application/json"]["schema"];
            assert_eq!(violations(&description, schema, &answered.json()), Vec::<String>::new(), "{address:?}");
            assert_eq!(answered.header("location").is_empty(), described["headers"].is_null(), "{address:?}");
        }
    }
}

#[tokio::test]
async fn bodies_that_are_taken_are_as_it_says() {
    let description = description().await;
    for address in Address::ALL {
        for method in address.methods() {
            let operation = operation(&description, address.template(), method.as_str());
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            assert_eq!(address.has_body(method), !schema.is_null(), "{address:?} {method}");
            if let Some(body) = body_for(address, method.as_str()) {
                let body = serde_json::from_str(body).unwrap();
                assert_eq!(violations(&description, schema, &body), Vec::<String>::new(), "{address:?}");
            }
        }
    }
    let schema = |name: &str| &description["components"]["schemas"][name];
    let call = r#"{"attempt": 1, "response-id": 3, "progress": 0.25, "wait-ms": 10000,
        "ask": [{"priority": 9, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "launch": {"spec": "sim", "items": "1-1000", "max-running": 64}}],
        "release": ["container_1700000000000_0001_01_000004"],
        "specs": {"sim": {"command": ["./simulate", "{}"], "working-directory": "/home/alice/run", "stdout": null,
            "local-resources": {"a": {"content": "YQ=="}}}},
        "launch": [{"container-id": "container_1700000000000_0001_01_000002", "spec": "sim", "item": 7}],
        "blacklist": {"additions": [], "removals": []}}"#;
    let call: Value = serde_json::from_str(call).unwrap();
    assert_eq!(violations(&description, schema("AllocateCall"), &call), Vec::<String>::new());
}

#[tokio::test]
async fn problems_are_as_it_says() {
    let description = description().await;
    let problem = &description["components"]["schemas"]["Problem"];
    let served = Served::empty();
    let answers = [
        served.ask("GET", APP, None).await,
        served.ask("GET", &format!("{APP}?a&b"), None).await,
        served.ask("POST", &format!("{APP}/allocate"), Some("{}")).await,
        served.ask("PATCH", APP, None).await,
        served.send(Request::builder().uri(APP).body(Body::empty()).unwrap()).await,
    ];
    for answered in answers {
        assert_eq!(violations(&description, problem, &answered.json()), Vec::<String>::new(), "{answered:?}");
    }
    for name in ProblemName::ALL {
        assert!(name.status().as_u16() >= 400);
    }
}

//! The description of the API: it has every address that is served and no other, every parameter, and answers are as it says.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::web::applications::tests::json_schema::violations;

use super::super::address::ApiAddress;
use super::super::routes::OPENAPI_PATH;
use super::MarketPresence;
use super::private::path_of;
use super::stage::Stage;

/// Those that answer at once and with one value.
fn answering() -> impl Iterator<Item = ApiAddress> {
    ApiAddress::ALL.into_iter().filter(|address| *address != ApiAddress::Events)
}

async fn description(stage: &Stage) -> Value {
    let answered = stage.get(OPENAPI_PATH).await;
    assert_eq!((answered.status, answered.header("content-type")), (200, "application/json"));
    answered.json()
}

/// The parameters of an operation, with those that it shares.
fn parameters(description: &Value, address: ApiAddress) -> Vec<&Value> {
    let all = description["paths"][address.template()]["get"]["parameters"].as_array().unwrap();
    let resolved = all.iter().map(|parameter| match parameter["$ref"].as_str() {
        Some(pointer) => description.pointer(pointer.trim_start_matches('#')).unwrap(),
        None => parameter,
    });
    resolved.collect()
}

fn names(parameters: &[&Value], place: &str) -> BTreeSet<String> {
    let wanted = parameters.iter().filter(|parameter| parameter["in"] == place);
    wanted.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn it_has_what_is_served_and_nothing_else() {
    let description = description(&Stage::new()).await;
    assert_eq!(description["openapi"], "3.1.0");
    let served = ApiAddress::ALL.into_iter().map(ApiAddress::template).chain([OPENAPI_PATH]);
    let described: BTreeSet<&str> = description["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(described, served.collect::<BTreeSet<&str>>());
    let mut operations = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        assert_eq!(methods.as_object().unwrap().keys().collect::<Vec<_>>(), ["get"], "{path}");
        assert!(operations.insert(methods["get"]["operationId"].as_str().unwrap()), "{path}");
    }
}

#[test]
fn the_python_client_has_a_method_for_each_operation() {
    let client = include_str!("../../../../etc/client/jobtracker_api.py");
    let description: Value = serde_json::from_str(include_str!("../../../../static/api.json")).unwrap();
    for operation in description["paths"].as_object().unwrap().values() {
        let name = operation["get"]["operationId"].as_str().unwrap();
        let snake = |c: char| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase());
        let method: String = name.chars().flat_map(snake).collect();
        assert!(client.contains(&format!("    def {method}(self")), "{name}");
    }
}

#[tokio::test]
async fn it_has_every_parameter_that_is_taken_and_no_other() {
    let stage = Stage::with(MarketPresence::Ruling, true, false);
    let description = description(&stage).await;
    for address in ApiAddress::ALL {
        let parameters = parameters(&description, address);
        let parts: BTreeSet<String> = address
            .template()
            .split('/')
            .filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned()))
            .collect();
        assert_eq!(names(&parameters, "path"), parts, "{address:?}");
        let refused = stage.get(&format!("{}?unheard-of", path_of(address))).await;
        assert_eq!(refused.status, 400, "{address:?}: {}", refused.text());
        let refused = refused.json();
        let known = refused["errors"][0]["detail"].as_str().unwrap().split_once("known are ").unwrap().1;
        let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
        assert_eq!(names(&parameters, "query"), known, "{address:?}");
        let repeated = parameters.iter().filter(|parameter| parameter["schema"]["type"] == "array");
        let repeated: BTreeSet<&str> = repeated.map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(repeated, address.repeated().iter().copied().collect::<BTreeSet<&str>>(), "{address:?}");
        // A stream never ends, and a plan is for administrators.
        let is_tried = !matches!(address, ApiAddress::Events | ApiAddress::PolicyPlan);
        let queried = parameters.iter().filter(|parameter| parameter["in"] == "query" && is_tried);
        for parameter in queried {
            let Some(example) = parameter["example"].as_str() else { continue };
            let name = parameter["name"].as_str().unwrap();
            let path = format!("{}?{name}={}", path_of(address), example.replace('/', "%2F"));
            let answered = stage.get(&path).await;
            assert_eq!(answered.status, 200, "{path}: {}", answered.text());
            let values = parameter["schema"]["enum"].as_array().or(parameter["schema"]["items"]["enum"].as_array());
            for value in values.into_iter().flatten().filter_map(Value::as_str) {
                let path = format!("{}?{name}={value}", path_of(address));
                assert_eq!(stage.get(&path).await.status, 200, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn answers_are_as_it_says() {
    for shows_money in [true, false] {
        for presence in [MarketPresence::Ruling, MarketPresence::Absent] {
            let stage = Stage::with(presence, shows_money, false);
            let description = description(&stage).await;
            for address in answering() {
                let answered = stage.get(&path_of(address)).await;
                let schema = match answered.status {
                    200 => {
                        let responses = &description["paths"][address.template()]["get"]["responses"];
                        &responses["200"]["content"]["application/json"]["schema"]
                    }
                    _ => &description["components"]["schemas"]["Problem"],
                };
                let json = answered.json();
                assert_eq!(violations(&description, schema, &json), Vec::<String>::new(), "{address:?}: {json}");
            }
        }
    }
}

//! Answers as they are sent: status, headers, bodies.

use super::super::address::Address;
use super::problems::path_of;
use super::reports::answer;
use super::*;
use crate::api::applications::{ApplicationState, ContainerState};
use crate::engine::{ApplicationFilter, ContainerFilter, ContainerSignal};

fn served() -> Served {
    Served::signed(|question| Ok(answer(question)))
}

/// A body that each address takes, if it takes one.
pub(super) fn body_for(address: Address, method: &str) -> Option<&'static str> {
    match (address, method) {
        (Address::Applications, "POST") => Some(r#"{"application-id":"application_1700000000000_0001"}"#),
        (Address::Register, _) => Some("{}"),
        (Address::Allocate, _) => Some(r#"{"attempt":1,"response-id":3}"#),
        (Address::Unregister, _) => Some(r#"{"attempt":1,"final-status":"SUCCEEDED"}"#),
        (Address::State, "PUT") => Some(r#"{"state":"KILLED"}"#),
        _ => None,
    }
}

#[tokio::test]
async fn every_address_answers_with_a_status_and_a_place() {
    let served = served();
    let mut lines = String::new();
    for address in Address::ALL {
        for method in address.methods() {
            let answered = served.ask(method.as_str(), &path_of(address), body_for(address, method.as_str())).await;
            assert_eq!(answered.header("cache-control"), "no-store");
            assert_eq!(answered.header("content-type"), "application/json");
            let place = answered.header("location");
            lines += format!("{method} {} {} {place}", address.template(), answered.status).trim_end();
            lines += "\n";
        }
    }
    insta::assert_snapshot!(lines, @"
    GET /ws/v1/cluster/info 200
    GET /ws/v1/cluster/apps 200
    POST /ws/v1/cluster/apps 202 /ws/v1/cluster/apps/application_1700000000000_0001
    POST /ws/v1/cluster/apps/new-application 200
    GET /ws/v1/cluster/apps/{application-id} 200
    POST /ws/v1/cluster/apps/{application-id}/register 200
    POST /ws/v1/cluster/apps/{application-id}/allocate 200
    POST /ws/v1/cluster/apps/{application-id}/unregister 200
    GET /ws/v1/cluster/apps/{application-id}/state 200
    PUT /ws/v1/cluster/apps/{application-id}/state 202
    GET /ws/v1/cluster/apps/{application-id}/containers 200
    GET /ws/v1/cluster/containers/{container-id} 200
    POST /ws/v1/cluster/containers/{container-id}/signal/{command} 202
    GET /ws/v1/cluster/containers/{container-id}/logs/{log} 307 http://h2121:50060/ws/v1/node/containers/container_1700000000000_0001_01_000004/logs/stdout?expires=1700000300000&ticket=0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a
    GET /ws/v1/cluster/nodes 200
    GET /ws/v1/cluster/nodes/{node-id} 200
    ");
}

#[tokio::test]
async fn bodies_are_in_hyphens_for_calls_and_in_camel_case_for_reports() {
    let served = served();
    let body = async |address: Address, method: &str| {
        served.ask(method, &path_of(address), body_for(address, method)).await.body
    };
    insta::assert_snapshot!(body(Address::NewApplication, "POST").await, @r#"{"application-id":"application_1700000000000_0001","maximum-resource-capability":{"memory":1048576,"vCores":1024},"minimum-resource-capability":{"memory":512,"vCores":1}}"#);
    insta::assert_snapshot!(body(Address::Applications, "POST").await, @r#"{"application-id":"application_1700000000000_0001","state":"ACCEPTED","secret":"a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"}"#);
    insta::assert_snapshot!(body(Address::Register, "POST").await, @r#"{"attempt":1,"response-id":0,"queue":"alice","maximum-resource-capability":{"memory":1048576,"vCores":1024},"minimum-resource-capability":{"memory":512,"vCores":1},"containers":[{"container-id":"container_1700000000000_0001_01_000005","node-id":"h2121:50060","node-http-address":"h2121:50060","rack":"/r22","locality":"NODE_LOCAL","resource-name":"h2121","capability":{"memory":1024,"vCores":1},"priority":1,"allocation-request-id":0,"state":"RUNNING"}]}"#);
    insta::assert_snapshot!(body(Address::Allocate, "POST").await, @r#"{"attempt":1,"response-id":4,"has-more":false,"allocated-containers":[{"container-id":"container_1700000000000_0001_01_000005","node-id":"h2121:50060","node-http-address":"h2121:50060","rack":"/r22","locality":"NODE_LOCAL","resource-name":"h2121","capability":{"memory":1024,"vCores":1},"priority":1,"allocation-request-id":0}],"completed-container-statuses":[{"container-id":"container_1700000000000_0001_01_000004","state":"COMPLETE","exit-status":-100,"diagnostics":"released by the application","node-id":"h1010:50060","allocation-request-id":0,"item":3}],"unknown-releases":["container_1700000000000_0001_01_000009"],"unknown-launches":[{"container-id":"container_1700000000000_0001_01_000008","reason":"it is complete"}],"limit":{"memory":12288,"vCores":12},"num-cluster-nodes":4}"#);
    insta::assert_snapshot!(body(Address::Unregister, "POST").await, @r#"{"state":"FINISHED"}"#);
    insta::assert_snapshot!(body(Address::State, "PUT").await, @r#"{"state":"RUNNING"}"#);
    insta::assert_snapshot!(body(Address::Info, "GET").await, @r#"{"clusterInfo":{"id":1700000000000,"startedOn":1700000000000,"state":"STARTED","time":1700000060000,"version":"0.1.0","schedulerName":"fifo","minimum":{"memory":512,"vCores":1},"maximum":{"memory":1048576,"vCores":1024},"slot":{"memory":1024,"vCores":1}}}"#);
    insta::assert_snapshot!(body(Address::Application, "GET").await, @r#"{"app":{"id":"application_1700000000000_0001","user":"alice","name":"sim","queue":"alice","state":"RUNNING","finalStatus":"UNDEFINED","progress":25.0,"trackingUrl":"","diagnostics":"","clusterId":1700000000000,"applicationType":"","priority":"NORMAL","startedTime":1700000000005,"finishedTime":0,"elapsedTime":70000,"allocatedMB":2048,"allocatedVCores":2,"runningContainers":2,"memorySeconds":71680,"vcoreSeconds":70,"liveMemoryMB":0,"liveCpuMs":0,"preemptedContainers":0,"resourceRequests":[{"priority":1,"allocationRequestId":0,"resourceName":"*","capability":{"memory":1024,"vCores":1},"numContainers":3,"relaxLocality":true,"nodeLabelExpression":"","items":"8-10"}],"attempt":1,"responseId":4,"version":17,"unattended":false,"strictGates":false,"slots":2,"cost":null,"pendingContainers":3,"completedContainers":5,"failedContainers":1,"failedItems":"4","why":[{"priority":1,"capability":{"memory":1024,"vCores":1},"reason":"none_free"}]}}"#);
    insta::assert_snapshot!(body(Address::Containers, "GET").await, @r#"{"containers":{"container":[{"containerId":"container_1700000000000_0001_01_000004","applicationId":"application_1700000000000_0001","attempt":1,"nodeId":"h2121:50060","nodeHttpAddress":"h2121:50060","rack":"/r22","locality":"NODE_LOCAL","priority":1,"allocationRequestId":0,"allocatedMB":1024,"allocatedVCores":1,"slots":1,"item":4,"itemAttempt":1,"state":"COMPLETE","killing":false,"exitStatus":-104,"diagnostics":"used 1100 MB of 1024 MB","grantedTime":1700000000010,"launchedTime":1700000000011,"startedTime":1700000000020,"finishedTime":1700000000900,"memoryMB":0,"peakMemoryMB":1100,"cpuMs":850}]},"next":null}"#);
    insta::assert_snapshot!(body(Address::Nodes, "GET").await, @r#"{"nodes":{"node":[{"id":"h2121:50060","rack":"/r22","state":"RUNNING","nodeHostName":"h2121","nodeHTTPAddress":"h2121:50060","lastHealthUpdate":1700000000003,"healthReport":"","numContainers":2,"usedMemoryMB":2048,"availMemoryMB":14336,"liveMemoryMB":300,"liveCpuMs":850,"usedVirtualCores":2,"availableVirtualCores":6,"kind":"builtin","mapSlots":4,"reduceSlots":2,"slots":8}]}}"#);
}

#[tokio::test]
async fn a_list_without_entries_is_an_array() {
    let served = Served::signed(|question| {
        Ok(match question {
            ApplicationQuestion::List(_) => {
                ApplicationAnswer::Applications { applications: Vec::new(), next: None, store: STORE }
            }
            ApplicationQuestion::Nodes => ApplicationAnswer::Nodes(Vec::new()),
            _ => ApplicationAnswer::Containers { containers: Vec::new(), next: None, stored_through: 0 },
        })
    });
    assert_eq!(served.ask("GET", "/ws/v1/cluster/apps", None).await.body, "{\"apps\":{\"app\":[]},\"next\":null}\n");
    assert_eq!(served.ask("GET", "/ws/v1/cluster/nodes", None).await.body, "{\"nodes\":{\"node\":[]}}\n");
    let containers = served.ask("GET", &format!("{APP}/containers"), None).await;
    assert_eq!(containers.body, "{\"containers\":{\"container\":[]},\"next\":null}\n");
}

#[tokio::test]
async fn head_is_asked_as_get_is() {
    let served = served();
    for address in Address::ALL.into_iter().filter(|address| address.methods().contains(&axum::http::Method::GET)) {
        let get = served.ask("GET", &path_of(address), None).await;
        let head = served.ask("HEAD", &path_of(address), None).await;
        // The body is left out where the answer is written.
        assert_eq!((head.status, head.headers), (get.status, get.headers), "{address:?}");
    }
}

#[tokio::test]
async fn a_kill_and_a_signal_are_accepted_once() {
    let served = Served::signed(|question| {
        Ok(match question {
            ApplicationQuestion::Signal { .. } => ApplicationAnswer::Signalled { was_complete: true },
            _ => ApplicationAnswer::State { state: ApplicationState::Killed, is_ending: false },
        })
    });
    let killed = served.ask("PUT", &format!("{APP}/state"), Some(r#"{"state":"KILLED"}"#)).await;
    assert_eq!((killed.status, killed.body.as_str()), (200, "{\"state\":\"KILLED\"}\n"));
    let signalled = served.ask("POST", &path_of(Address::Signal), None).await;
    assert_eq!((signalled.status, signalled.body.as_str()), (200, "{}\n"));
}

#[tokio::test]
async fn a_log_is_found_with_the_part_that_was_asked_for() {
    let path = path_of(Address::Logs);
    let answered = served().ask("GET", &format!("{path}?start=-100&end=-1"), None).await;
    let place = answered.header("location");
    assert!(place.ends_with("&start=-100&end=-1"), "{place}");
    assert_eq!(answered.status, 307);
}

#[tokio::test]
async fn an_answer_of_allocate_is_sent_byte_for_byte() {
    let served = Served::signed(|_| Ok(ApplicationAnswer::Allocated(Arc::from(*b"{ \"kept\" : 1 }"))));
    let body = Some(r#"{"attempt":1,"response-id":3}"#);
    assert_eq!(served.ask("POST", &format!("{APP}/allocate"), body).await.body, "{ \"kept\" : 1 }");
}

#[tokio::test]
async fn parameters_of_lists_reach_the_engine() {
    let served = served();
    served
        .ask("GET", &format!("/ws/v1/cluster/apps?states=RUNNING,KILLED&queue=q&limit=7&after={APPLICATION}"), None)
        .await;
    served.ask("GET", "/ws/v1/cluster/apps", None).await;
    let container = APPLICATION.container(1, 4);
    served.ask("GET", &format!("{APP}/containers?states=COMPLETE&failed=true&after={container}"), None).await;
    served.ask("POST", &format!("/ws/v1/cluster/containers/{container}/signal/FORCEFUL_SHUTDOWN"), None).await;
    served.ask("GET", "/ws/v1/cluster/nodes/h2121%3A50060", None).await;
    let questions = served.questions();
    let [
        ApplicationQuestion::List(filter),
        ApplicationQuestion::List(all),
        ApplicationQuestion::Containers { filter: containers, .. },
        ApplicationQuestion::Signal { signal: ContainerSignal::Forceful, .. },
        ApplicationQuestion::Node(node),
    ] = questions.as_slice()
    else {
        panic!("{questions:?}")
    };
    let expected = ApplicationFilter {
        states: vec![ApplicationState::Running, ApplicationState::Killed],
        user: None,
        queue: Some("q".to_owned()),
        limit: 7,
        rows: 0,
        after: Some(APPLICATION),
    };
    assert_eq!(*filter, expected);
    assert_eq!(*all, ApplicationFilter { limit: 100, ..ApplicationFilter::default() });
    let expected = ContainerFilter {
        states: vec![ContainerState::Complete],
        failed_only: true,
        limit: 100,
        after: Some(container),
    };
    assert_eq!(*containers, expected);
    assert_eq!(node, "h2121:50060");
}

#[tokio::test]
async fn an_answer_that_fits_no_request_is_a_defect() {
    let served = Served::signed(|_| Ok(ApplicationAnswer::Secret(Some(SECRET))));
    let answered = served.ask("GET", APP, None).await;
    assert_eq!(answered.problem(), (500, "internal-error".to_owned()));
    assert!(!answered.body.contains(&SECRET.to_hex()));
}

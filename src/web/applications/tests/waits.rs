//! Requests that wait for something to say.

use super::*;

fn served(connections: usize) -> Served {
    let acl = Acl::parse(ACL, "acl").unwrap();
    let reply = |_: &ApplicationQuestion| Ok(ApplicationAnswer::Allocated(Arc::from(*b"{}")));
    let limits = WebLimits { connections, ..WebLimits::default() };
    Served::new(owned(ApplicationAccess::Signed(Arc::new(acl)), reply), limits)
}

const CALL: &str = r#"{"attempt":1,"response-id":0,"wait-ms":30000}"#;

fn longest_waits(served: &Served) -> Vec<u64> {
    let asked = served.owned.asked.lock().unwrap();
    asked.iter().map(|(_, _, wait_ms)| wait_ms / 1_000).collect()
}

#[tokio::test(start_paused = true)]
async fn half_of_the_connections_may_wait_and_others_are_answered_at_once() {
    let served = served(4);
    let allocate = format!("{APP}/allocate");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (served, allocate) = (served.clone(), allocate.clone());
            tokio::spawn(async move { served.ask("POST", &allocate, Some(CALL)).await.status })
        })
        .collect();
    for _ in 0..2 {
        served.owned.waits.notified().await;
    }
    assert_eq!(served.ask("POST", &allocate, Some(CALL)).await.status, 200);
    assert_eq!(longest_waits(&served), [30, 30, 0]);
    for request in waiting {
        served.owned.news.notify_one();
        served.owned.news.notify_waiters();
        assert_eq!(request.await.unwrap(), 200);
    }
    // Their places are free again.
    let last = served.clone();
    let last = tokio::spawn(async move { last.ask("POST", &allocate, Some(CALL)).await.status });
    served.owned.waits.notified().await;
    served.owned.news.notify_one();
    assert_eq!(last.await.unwrap(), 200);
    assert_eq!(longest_waits(&served), [30, 30, 0, 30]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_does_not_answer_is_waited_for_beyond_the_wait() {
    let served = served(2);
    let answered = served.ask("POST", &format!("{APP}/allocate"), Some(CALL)).await;
    assert_eq!(answered.problem(), (503, "unavailable".to_owned()));
    assert_eq!(answered.header("retry-after"), "1");
}

#[tokio::test]
async fn a_report_waits_for_another_version() {
    let served = Served::empty();
    served.owned.news.notify_one();
    served.ask("GET", &format!("{APP}?version=7&wait-ms=1000"), None).await;
    served.ask("GET", &format!("{APP}?version=7"), None).await;
    served.ask("GET", APP, None).await;
    let asked = served.owned.asked.lock().unwrap();
    let shown: Vec<_> = asked
        .iter()
        .map(|(_, question, wait_ms)| match question {
            ApplicationQuestion::Show { known_version, .. } => (*known_version, *wait_ms),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, [(Some(7), 1_000), (Some(7), 0), (None, 0)]);
}

#[tokio::test]
async fn a_wait_needs_a_version_and_has_an_end() {
    let served = Served::empty();
    for (query, parameter) in
        [("wait-ms=5", "version"), ("wait-ms=30001&version=1", "wait-ms"), ("version=-1", "version")]
    {
        let answered = served.ask("GET", &format!("{APP}?{query}"), None).await;
        assert_eq!(answered.problem(), (400, "invalid-request".to_owned()));
        assert_eq!(answered.json()["errors"][0]["parameter"], parameter);
    }
}

//! Signatures of users and of applications.

use super::*;

/// The vectors of the specification, section 11: method, target, signature, body.
const VECTORS: [(&str, &str, &str, &str); 3] = [
    ("GET", "/ws/v1/cluster/apps?user=alice&timestamp=1700000000000", "X%2BFsVfeHCWe7xoaAOfvzy4v7g7A%3D", ""),
    (
        "POST",
        "/ws/v1/cluster/apps/new-application?user=alice&timestamp=1700000000002",
        "bbSjRzl1kljzt0x0q8TqeSOa7%2BQ%3D",
        "",
    ),
    (
        "POST",
        "/ws/v1/cluster/apps/application_1700000000000_0001/allocate?user=alice&timestamp=1700000000001&sha256=4c3830bf09dfb3f0f263cf78d7f4322e4193b36166da52033c820beb30ffd83f",
        "oN0QlXr2ZID%2FukWI0%2FhKlgngigg%3D",
        r#"{"attempt":1,"response-id":0}"#,
    ),
];

fn request(method: &str, target: &str, signature: &str, body: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(target).header("authorization", signature);
    request.header(CONTENT_TYPE, "application/json").body(Body::from(body.to_owned())).unwrap()
}

fn refused() -> (u16, String) {
    (401, "signature-refused".to_owned())
}

#[tokio::test]
async fn section_11_the_vectors_are_good() {
    for (at, (method, target, signature, body)) in VECTORS.into_iter().enumerate() {
        let served = Served::empty();
        let answered = served.send(request(method, target, signature, body)).await;
        // The owner knows nothing; it was asked.
        assert_eq!(answered.problem(), (404, "no-such-application".to_owned()), "vector {at}");
        let asked = served.owned.asked.lock().unwrap();
        let (caller, _, _) = &asked[0];
        let ApplicationCaller::User { caller, is_administrator, signed } = caller else { panic!("{caller:?}") };
        assert_eq!((&*caller.user, *is_administrator), ("alice", false));
        let stamp = signed.unwrap();
        assert_eq!(stamp.key_id, Key::new("alicekey-abc").key_id());
        assert_eq!(stamp.timestamp_ms, [1_700_000_000_000, 1_700_000_000_002, 1_700_000_000_001][at]);
    }
}

#[tokio::test]
async fn another_method_path_query_or_body_is_refused_with_one_text() {
    let (_, target, signature, body) = VECTORS[2];
    let digest_free = target.split("&sha256").next().unwrap();
    let resigned = sign("alice", "alicekey-abc", "POST", APP, None);
    let allocate = format!("{APP}/allocate");
    let (undigested, undigested_signature) = sign("alice", "alicekey-abc", "POST", &allocate, None);
    let (unknown, unknown_signature) = sign("bob", "alicekey-abc", "POST", &allocate, Some(body));
    let (wrong_key, wrong_signature) = sign("root", "alicekey-abc", "POST", &allocate, Some(body));
    let cases = [
        (target, "", body),
        (target, VECTORS[0].2, body),
        (target, &signature[..20], body),
        (target, signature, r#"{"attempt":1,"response-id":1}"#),
        (target, signature, r#"{"attempt":1,"response-id":0} "#),
        (digest_free, signature, body),
        (&target.replace("0001", "0002"), signature, body),
        (&target.replace("allocate", "register"), signature, body),
        (&target.replace("user=alice", "user=%61lice"), signature, body),
        (&format!("{target}&a=b"), signature, body),
        (&allocate, signature, body),
        (&undigested, &undigested_signature, body),
        (&unknown, &unknown_signature, body),
        (&wrong_key, &wrong_signature, body),
        (&format!("{APP}/allocate?timestamp=1"), &resigned.1, body),
    ];
    let served = Served::empty();
    let mut details = std::collections::BTreeSet::new();
    for (target, signature, body) in cases {
        let answered = served.send(request("POST", target, signature, body)).await;
        assert_eq!(answered.problem(), refused(), "{target}");
        details.insert(answered.json()["detail"].to_string());
    }
    assert_eq!(details.len(), 1, "{details:?}");
    assert!(served.questions().is_empty());
    // A signature is for its method.
    let (get, get_signature) = sign("alice", "alicekey-abc", "GET", &format!("{APP}/state"), Some(""));
    let put = request("PUT", &get, &get_signature, "");
    assert_eq!(served.send(put).await.problem(), refused());
}

#[tokio::test]
async fn a_signature_for_the_market_is_none_here() {
    let query = "user=alice&timestamp=1700000000001";
    let signature = signature::sign(query, &Key::new("alicekey-abc"));
    let answered = Served::empty().send(request("GET", &format!("/ws/v1/cluster/apps?{query}"), &signature, "")).await;
    assert_eq!(answered.problem(), refused());
}

#[tokio::test]
async fn a_digest_without_a_body_has_to_be_that_of_nothing() {
    let served = Served::empty();
    assert_eq!(served.ask("GET", APP, Some("")).await.status, 404);
    let (target, signature) = sign("alice", "alicekey-abc", "GET", APP, Some("x"));
    assert_eq!(served.send(request("GET", &target, &signature, "")).await.problem(), refused());
}

#[tokio::test]
async fn a_timestamp_that_is_none_is_a_parameter_that_is_wrong() {
    let served = Served::empty();
    for (query, detail) in [
        ("user=alice", "the parameter is missing"),
        ("user=alice&timestamp=soon", "expected milliseconds since the epoch"),
    ] {
        let target = format!("{APP}?{query}");
        let signature = signature::sign(&format!("GET {target}"), &Key::new("alicekey-abc"));
        let answered = served.send(request("GET", &target, &signature, "")).await;
        assert_eq!(answered.problem(), (400, "invalid-request".to_owned()));
        let expected = serde_json::json!([{ "parameter": "timestamp", "detail": detail }]);
        assert_eq!(answered.json()["errors"], expected);
    }
}

#[tokio::test]
async fn a_second_user_is_a_parameter_that_is_repeated() {
    let served = Served::empty();
    let target = format!("{APP}?user=alice&timestamp=1&user=root");
    let signature = signature::sign(&format!("GET {target}"), &Key::new("alicekey-abc"));
    let answered = served.send(request("GET", &target, &signature, "")).await;
    let expected = serde_json::json!([{ "parameter": "user", "detail": "the parameter is repeated" }]);
    assert_eq!((answered.status, &answered.json()["errors"]), (400, &expected));
    // It is the first one who has to sign.
    let signature = signature::sign(&format!("GET {target}"), &Key::new("rootkey"));
    assert_eq!(served.send(request("GET", &target, &signature, "")).await.problem(), refused());
}

#[tokio::test]
async fn an_administrator_is_known_by_the_list() {
    let served = Served::empty();
    served.send(signed_request("root", "rootkey", "GET", APP, None)).await;
    let asked = served.owned.asked.lock().unwrap();
    assert!(matches!(&asked[0].0, ApplicationCaller::User { is_administrator: true, .. }));
}

#[tokio::test]
async fn the_secret_of_an_application_is_good_for_its_own_addresses() {
    let served = Served::empty();
    let id = APPLICATION.to_string();
    let ask =
        async |target: &str, key: &str| served.send(signed_request(&id, key, "GET", target, None)).await.problem();
    let (unknown, forbidden) = ((404, "no-such-application".to_owned()), (403, "forbidden".to_owned()));
    let container = APPLICATION.container(1, 1);
    assert_eq!(ask(APP, &SECRET.to_hex()).await, unknown);
    assert_eq!(ask(&format!("/ws/v1/cluster/containers/{container}"), &SECRET.to_hex()).await, unknown);
    let other = ApplicationId::new(APPLICATION.start_ms, 2);
    for target in [
        format!("/ws/v1/cluster/apps/{other}"),
        format!("/ws/v1/cluster/containers/{}", other.container(1, 1)),
        "/ws/v1/cluster/apps".to_owned(),
        "/ws/v1/cluster/nodes".to_owned(),
    ] {
        assert_eq!(ask(&target, &SECRET.to_hex()).await, forbidden, "{target}");
    }
    assert_eq!(ask(APP, "alicekey-abc").await, refused());
    let stranger = signed_request(&other.to_string(), &SECRET.to_hex(), "GET", APP, None);
    assert_eq!(served.send(stranger).await.problem(), refused());
    let asked = served.owned.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    let is_expected = |caller: &ApplicationCaller| {
        matches!(
            caller,
            ApplicationCaller::Application { application: APPLICATION, timestamp_ms: 1_700_000_000_001, .. }
        )
    };
    assert!(asked.iter().all(|(caller, ..)| is_expected(caller)));
}

#[tokio::test]
async fn info_needs_no_signature() {
    let served = Served::empty();
    let plain = Request::builder().uri("/ws/v1/cluster/info").body(Body::empty()).unwrap();
    assert_eq!(served.send(plain).await.status, 404);
    assert!(matches!(served.questions().as_slice(), [ApplicationQuestion::Info]));
    // Not even where a program signs everything.
    assert_eq!(served.ask("GET", "/ws/v1/cluster/info", None).await.problem().1, "no-such-application");
}

#[tokio::test]
async fn where_applications_are_off_their_addresses_are_unknown() {
    let served = Served::new(
        owned(ApplicationAccess::Off, |_| Err(ApplicationRefusal::NoSuchApplication(APPLICATION))),
        WebLimits::default(),
    );
    for target in ["/ws/v1/cluster/info", APP] {
        assert_eq!(served.ask("GET", target, None).await.problem(), (404, "no-such-address".to_owned()));
    }
}

#[tokio::test]
async fn an_administrator_lists_the_applications_of_one_user() {
    let served = Served::empty();
    let ask = async |target: &str, key| {
        let signature = signature::sign(&format!("GET {target}"), &Key::new(key));
        served.send(request("GET", target, &signature, "")).await
    };
    let target = "/ws/v1/cluster/apps?user=alice&user.name=root&timestamp=1700000000001";
    assert_eq!(ask(target, "rootkey").await.status, 404);
    assert_eq!(ask(target, "alicekey-abc").await.problem(), refused(), "alice is not who signs");
    let asked = served.owned.asked.lock().unwrap();
    let [(ApplicationCaller::User { caller, is_administrator, .. }, question, _)] = &asked[..] else { panic!("one") };
    assert_eq!((&*caller.user, *is_administrator), ("root", true));
    let ApplicationQuestion::List(filter) = question else { panic!("{question:?}") };
    assert_eq!(filter.user.as_deref(), Some("alice"));
}

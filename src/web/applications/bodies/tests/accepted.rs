//! Bodies that are good, and what is read of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::{collection, option};

use crate::api::applications::{
    AllocateCall, AskRow, Blacklist, ContainerStart, FinalStatus, ItemRules, LaunchOnGrant, LaunchSource, Placement,
    RegisterCall, UnregisterCall,
};
use crate::model::{
    ApplicationId, Capability, ContentResource, LaunchContext, LocalResource, LogOverflow, OutputPlace,
    PartsPerMillion, Priority,
};

use super::super::{
    BodyError, read_allocate, read_body, read_kill, read_register, read_submission, read_unregister, refuse_large_call,
};
use super::*;

const APPLICATION: ApplicationId = ApplicationId::new(1_700_000_000_000, 1);

/// The call of the specification, section 13.
const CALL: &str = r#"{"attempt": 1, "response-id": 3, "progress": 0.25, "wait-ms": 10000,
 "ask": [{"priority": 1, "resource-name": "h2121", "capability": {"memory": 1024, "vCores": 1}, "num-containers": 2, "relax-locality": true, "allocation-request-id": 0},
         {"priority": 9, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "launch": {"spec": "sim", "items": "1-1000", "max-running": 64}}],
 "release": ["container_1700000000000_0001_01_000004"],
 "specs": {"sim": {"command": ["./simulate", "{}"], "working-directory": "/home/alice/run"}},
 "launch": [{"container-id": "container_1700000000000_0001_01_000003", "context": {"command": ["sort", "a"]}}, {"container-id": "container_1700000000000_0001_01_000002", "spec": "sim", "item": 7}],
 "blacklist": {"additions": [], "removals": []}}"#;

fn context_of(command: &[&str]) -> LaunchContext {
    LaunchContext::of_command(command.iter().map(|&text| text.to_owned()).collect())
}

fn read<T>(text: &str, read: impl FnOnce(Item<'_>) -> Option<T>) -> T {
    read_body(text.as_bytes(), refuse_large_call, read).map_err(|error| format!("{text}: {error:?}")).unwrap()
}

#[test]
fn section_13_the_call_of_the_specification_is_read() {
    let rows = vec![
        AskRow {
            priority: 1,
            allocation_request_id: 0,
            resource_name: Placement::Host("h2121".to_owned()),
            capability: Capability::new(1024, 1),
            num_containers: 2,
            relax_locality: true,
            launch: None,
        },
        AskRow {
            priority: 9,
            allocation_request_id: 0,
            resource_name: Placement::Any,
            capability: Capability::new(512, 1),
            // It was left out: the engine counts the items.
            num_containers: 0,
            relax_locality: true,
            launch: Some(LaunchOnGrant {
                spec: "sim".to_owned(),
                items: Some("1-1000".to_owned()),
                max_running: Some(64),
                rules: ItemRules::default(),
            }),
        },
    ];
    let stored =
        LaunchContext { working_directory: Some("/home/alice/run".to_owned()), ..context_of(&["./simulate", "{}"]) };
    let launch = vec![
        ContainerStart {
            container_id: APPLICATION.container(1, 3),
            source: LaunchSource::Context(Box::new(context_of(&["sort", "a"]))),
            item: None,
        },
        ContainerStart {
            container_id: APPLICATION.container(1, 2),
            source: LaunchSource::Spec("sim".to_owned()),
            item: Some(7),
        },
    ];
    let expected = AllocateCall {
        attempt: 1,
        response_id: 3,
        progress: Some(PartsPerMillion(250_000)),
        wait_ms: 10_000,
        ask: rows,
        release: vec![APPLICATION.container(1, 4)],
        specs: BTreeMap::from([("sim".to_owned(), stored)]),
        launch,
        blacklist: Blacklist::default(),
    };
    assert_eq!(read(CALL, read_allocate), expected);
}

#[test]
fn members_that_are_left_out_have_their_defaults() {
    let expected = AllocateCall { attempt: 1, ..AllocateCall::default() };
    assert_eq!(read(r#"{"attempt": 1, "response-id": 0}"#, read_allocate), expected);
    let plain = read(r#"{"application-id": "application_1700000000000_0001"}"#, read_submission);
    assert_eq!((plain.name.as_str(), plain.priority, plain.expiry_ms), ("N/A", Priority::Normal, 600_000));
    assert_eq!((plain.queue, plain.unattended, plain.master, plain.strict_gates), (None, None, None, false));
    assert_eq!(read("{}", read_register), RegisterCall::default());
}

#[test]
fn the_other_calls_are_read() {
    let url = read(r#"{"tracking-url": "http://h:1/x"}"#, read_register).tracking_url;
    assert_eq!(url.as_deref(), Some("http://h:1/x"));
    let end = read(r#"{"attempt": 2, "final-status": "FAILED", "diagnostics": "no\nfood"}"#, read_unregister);
    let expected = UnregisterCall { attempt: 2, final_status: FinalStatus::Failed, diagnostics: "no\nfood".to_owned() };
    assert_eq!(end, expected);
    read(r#"{"state": "KILLED"}"#, read_kill);
}

#[test]
fn an_unattended_application_and_a_master_are_read() {
    let unattended = read(
        &submission(
            r#""application-name": "sim", "priority": "LOW", "specs": {"a.b-c_1": {"command": ["x"]}}, "unattended": true,
               "ask": [{"priority": 0, "resource-name": "*", "capability": {"memory": 1, "vCores": 0},
                 "launch": {"spec": "a.b-c_1", "items": "1-3", "max-attempts": 100, "max-fails": 0}},
                 {"priority": 0, "resource-name": "/r1", "capability": {"memory": 1, "vCores": 0}, "num-containers": 2,
                  "node-label-expression": "", "execution-type": "GUARANTEED"}]"#,
        ),
        read_submission,
    );
    let rows = unattended.unattended.unwrap();
    let rules = ItemRules { max_attempts: Some(100), max_fails: Some(0) };
    assert_eq!(rows[0].launch.as_ref().unwrap().rules, rules);
    assert_eq!(rows[1].resource_name, Placement::Rack("/r1".to_owned()));
    let master = read(
        &submission(r#""master": {"context": {"command": ["m"]}, "capability": {"memory": 512, "vCores": 1}}"#),
        read_submission,
    );
    assert_eq!(master.master.unwrap().max_attempts, 2);
}

#[test]
fn section_8_every_member_of_a_context_is_read() {
    let text = context(
        r#""environment": {"_A1": "", "B": "x=y"}, "local-resources": {
             "a/b.zip": {"resource": "file:///data/b.zip", "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "size": 0, "type": "ARCHIVE", "executable": true},
             "list": {"content": "YQo="}},
           "stdout": null, "stderr": "logs/e", "time-limit-ms": 9007199254740992, "kill-grace-ms": 600000,
           "log-overflow": "kill", "placeholder": null, "values-from": "list""#,
    );
    let call = read(&text, read_allocate);
    let read = &call.specs["sim"];
    assert_eq!((&read.stdout, &read.stderr), (&OutputPlace::Nowhere, &OutputPlace::File("logs/e".to_owned())));
    assert_eq!((read.time_limit_ms, read.kill_grace_ms), (Some(1 << 53), 600_000));
    assert_eq!((&read.placeholder, read.values_from.as_deref()), (&None, Some("list")));
    assert!(matches!(&read.local_resources["a/b.zip"], LocalResource::Brought(file) if file.executable));
    assert!(matches!(&read.local_resources["list"], LocalResource::Content(file) if file.content == "YQo="));
    // The checked type reads and writes the same members.
    let written = serde_json::to_string(read).unwrap();
    assert_eq!(serde_json::from_str::<LaunchContext>(&written).unwrap(), *read);
}

prop_compose! {
    fn any_context()(
        command in collection::vec("[a-z{} ]{1,8}", 1..4),
        environment in collection::btree_map("[A-IK-Z_][A-Z0-9_]{0,5}", ".{0,5}", 0..3),
        list in option::of("[A-Za-z0-9+/]{4}"),
        folder in option::of("/[a-z/]{0,6}"),
        (out, err) in (any_place(), any_place()),
        time_limit_ms in option::of(1..=1_u64 << 53),
        kill_grace_ms in 0..=600_000_u64,
        is_killed in any::<bool>(),
        placeholder in option::of("[@%{}]{1,3}"),
    ) -> LaunchContext {
        let content = |content| LocalResource::Content(ContentResource { content, executable: is_killed });
        LaunchContext {
            command,
            environment: environment.into_iter().filter(|(_, value)| !value.contains('\0')).collect(),
            local_resources: list.iter().cloned().map(|text| ("a/list".to_owned(), content(text))).collect(),
            working_directory: folder,
            stdout: out,
            stderr: err,
            time_limit_ms,
            kill_grace_ms,
            log_overflow: if is_killed { LogOverflow::Kill } else { LogOverflow::Cut },
            placeholder,
            values_from: list.map(|_| "a/list".to_owned()),
        }
    }
}

fn any_place() -> impl Strategy<Value = OutputPlace> {
    prop_oneof![Just(OutputPlace::Log), Just(OutputPlace::Nowhere), "[a-z/]{1,8}".prop_map(OutputPlace::File)]
}

proptest! {
    /// What this program writes, its client too, is what the server reads.
    #[test]
    fn a_context_that_is_written_is_read(context in any_context()) {
        let call = format!(
            r#"{{"attempt": 1, "response-id": 0, "specs": {{"sim": {}}}}}"#,
            serde_json::to_string(&context).unwrap()
        );
        prop_assert_eq!(&read(&call, read_allocate).specs["sim"], &context);
    }

    /// No text stops the server.
    #[test]
    fn any_text_is_read_or_refused(text in r#"[\[\]{}",:0-9a-k\-\\ ]{0,60}"#) {
        let _ = read_body(text.as_bytes(), refuse_large_call, read_allocate);
        let _ = read_body(call(&text).as_bytes(), refuse_large_call, read_allocate);
        let _ = read_body(submission(&text).as_bytes(), refuse_large_call, read_submission);
    }
}

#[test]
fn a_body_that_is_no_json_is_refused_as_a_whole() {
    for text in ["", "{\"attempt\": 1", "\u{0}"] {
        let refused = read_body(text.as_bytes(), refuse_large_call, read_allocate);
        assert!(matches!(refused, Err(BodyError::NotJson(_))), "{text:?}");
    }
}

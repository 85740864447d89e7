//! Limits of numbers and bytes, how many faults are reported, and what kind of problem they make.

use super::super::read_register;
use super::*;

fn texts(count: usize, text: &str) -> String {
    vec![format!("{text:?}"); count].join(",")
}

#[test]
fn a_command_has_a_thousand_texts_and_64_kb() {
    let of = |texts: String| call(&format!(r#""specs": {{"sim": {{"command": [{texts}]}}}}"#));
    assert_eq!(call_faults(&of(texts(1_000, "a"))), Vec::<String>::new());
    assert_eq!(call_faults(&of(texts(1_001, "a"))), ["#/specs/sim/command: expected 1 to 1000 items, found 1001"]);
    assert_eq!(call_faults(&of(texts(64, &"a".repeat(1024)))), Vec::<String>::new());
    let large = format!("{},\"a\"", texts(64, &"a".repeat(1024)));
    let expected = "#/specs/sim/command: expected at most 65536 bytes of program and arguments together, found 65537";
    assert_eq!(call_faults(&of(large)), [expected]);
}

#[test]
fn an_environment_has_a_thousand_variables_and_64_kb() {
    let of = |variables: Vec<String>| context(&format!(r#""environment": {{{}}}"#, variables.join(",")));
    let variables = |count: usize, value: &str| (0..count).map(|at| format!(r#""V{at:03}": "{value}""#)).collect();
    assert_eq!(call_faults(&of(variables(1_000, ""))), Vec::<String>::new());
    let many = "#/specs/sim/environment: expected at most 1000 members, found 1001";
    assert_eq!(call_faults(&of(variables(1_001, ""))), [many]);
    assert_eq!(call_faults(&of(variables(64, &"v".repeat(1_020)))), Vec::<String>::new());
    let large = call_faults(&of(variables(64, &"v".repeat(1_021))));
    assert_eq!(
        large,
        ["#/specs/sim/environment: expected at most 65536 bytes of names and values together, found 65600"]
    );
}

#[test]
fn contents_have_64_kb_each_and_256_kb_together() {
    // Base64 of zero bytes.
    let zeros = |bytes: usize| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(vec![0; bytes])
    };
    let files = |sizes: &[usize]| {
        let file = |(at, bytes): (usize, &usize)| format!(r#""f{at}": {{"content": "{}"}}"#, zeros(*bytes));
        let files: Vec<String> = sizes.iter().enumerate().map(file).collect();
        call_faults(&context(&format!(r#""local-resources": {{{}}}"#, files.join(","))))
    };
    assert_eq!(files(&[65_536; 4]), Vec::<String>::new());
    let at = "#/specs/sim/local-resources";
    assert_eq!(files(&[65_537]), [format!("{at}/f0/content: expected at most 65536 bytes, found 65537")]);
    let together = format!("{at}: expected at most 262144 bytes of contents together, found 262145");
    assert_eq!(files(&[65_536, 65_536, 65_536, 65_536, 1]), [together]);
}

#[test]
fn an_application_stores_a_hundred_contexts() {
    let specs = |count: usize| {
        let specs: Vec<String> = (0..count).map(|at| format!(r#""s{at}": {{"command": ["a"]}}"#)).collect();
        call_faults(&call(&format!(r#""specs": {{{}}}"#, specs.join(","))))
    };
    assert_eq!(specs(100), Vec::<String>::new());
    assert_eq!(specs(101), ["#/specs: expected at most 100 members, found 101"]);
}

#[test]
fn more_rows_than_a_call_may_have_are_over_a_limit() {
    for (member, most) in [("ask", 20_000), ("release", 10_000), ("launch", 10_000)] {
        let text = call(&format!(r#""{member}": [{}]"#, vec!["0"; most + 1].join(",")));
        let refused = read_body(text.as_bytes(), refuse_large_call, read_allocate);
        let expected = format!("{member} has {} items; a call may have {most}", most + 1);
        assert_eq!(refused, Err(BodyError::TooMany(expected)));
    }
}

#[test]
fn all_faults_are_found_at_once_and_twenty_are_reported() {
    let text = r#"{"attempt": "x", "wait-ms": -1, "aks": [], "ask": [{"priority": 1.5, "resource-name": "*", "capability": {"memory": 1}}]}"#;
    assert_eq!(
        call_faults(text),
        [
            "#/attempt: expected a whole number from 1 to 4294967295, found a text",
            "#/response-id: the member is missing",
            "#/wait-ms: expected a whole number from 0 to 30000, found -1",
            "#/ask/0/priority: expected a whole number from 0 to 2147483647, found 1.5",
            "#/ask/0/capability/vCores: the member is missing",
            "#/ask/0/num-containers: the member is missing",
            "#/aks: the member is unknown; known are attempt, response-id, progress, wait-ms, ask, release, specs, launch, \
             blacklist",
        ]
    );
    let many = call(&format!(r#""release": [{}]"#, vec!["1"; 30].join(",")));
    let found = call_faults(&many);
    assert_eq!((found.len(), found[19].as_str()), (20, "#/release/19: expected a text, found 1"));
}

#[test]
fn faults_of_rows_and_launches_alone_make_another_problem() {
    let is_of_requests = |text: &str| read_body(text.as_bytes(), |_| None, read_allocate).unwrap_err().is_of_requests();
    assert!(is_of_requests(&call(r#""ask": [1], "launch": [1]"#)));
    assert!(!is_of_requests(&call(r#""ask": [1], "release": [1]"#)));
    assert!(!is_of_requests(&call(r#""asked": [1]"#)));
    assert!(!is_of_requests("{"));
    let refused = read_body(b"[]", |_| None, read_register).map(|_| ()).unwrap_err();
    assert!(!refused.is_of_requests());
}

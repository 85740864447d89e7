//! Each member that is wrong, with its pointer.

use super::super::{read_kill, read_register, read_unregister};
use super::*;

/// Asserts that each body has exactly one fault, at that place and with these words in its text.
fn assert_each(cases: &[(String, &str, &str)], faults: impl Fn(&str) -> Vec<String>) {
    for (text, pointer, words) in cases {
        let found = faults(text);
        let is_right = |fault: &String| fault.starts_with(&format!("{pointer}: ")) && fault.contains(words);
        assert!(found.len() == 1 && found.iter().all(is_right), "{text}\n{found:#?}\nexpected {pointer}: {words}");
    }
}

#[test]
fn calls() {
    let of = |text: &str| text.to_owned();
    assert_each(
        &[
            (of("[]"), "#", "expected an object, found an array"),
            (of("null"), "#", "expected an object, found null"),
            (of(r#"{"response-id": 0}"#), "#/attempt", "missing"),
            (of(r#"{"attempt": 1}"#), "#/response-id", "missing"),
            (
                of(r#"{"attempt": "1", "response-id": 0}"#),
                "#/attempt",
                "expected a whole number from 1 to 4294967295, found a text",
            ),
            (of(r#"{"attempt": 1.0, "response-id": 0}"#), "#/attempt", "found 1.0"),
            (of(r#"{"attempt": 1e2, "response-id": 0}"#), "#/attempt", "found 100.0"),
            (of(r#"{"attempt": 0, "response-id": 0}"#), "#/attempt", "found 0"),
            (of(r#"{"attempt": 4294967296, "response-id": 0}"#), "#/attempt", "found 4294967296"),
            (of(r#"{"attempt": true, "response-id": 0}"#), "#/attempt", "found true"),
            (of(r#"{"attempt": 1, "response-id": -1}"#), "#/response-id", "found -1"),
            (of(r#"{"attempt": 1, "response-id": 18446744073709551616}"#), "#/response-id", "whole number"),
            (of(r#"{"attempt": 1, "response-id": 0, "response-id": 0}"#), "#/response-id", "repeated"),
            (of(r#"{"attempt": 1, "response-id": 0, "a/b~": 0}"#), "#/a~1b~0", "unknown; known are attempt"),
            (call(r#""progress": 1.5"#), "#/progress", "expected a number from 0 to 1, found 1.5"),
            (call(r#""progress": "half""#), "#/progress", "found a text"),
            (call(r#""progress": null"#), "#/progress", "found null"),
            (call(r#""wait-ms": 30001"#), "#/wait-ms", "from 0 to 30000"),
            (call(r#""wait-ms": 0.5"#), "#/wait-ms", "found 0.5"),
            (call(r#""ask": {}"#), "#/ask", "expected an array, found an object"),
            (call(r#""ask": [7]"#), "#/ask/0", "expected an object, found 7"),
            (call(r#""release": ["container_1_0001_01_000001", "container_1"]"#), "#/release/1", "container id"),
            (call(r#""release": [4]"#), "#/release/0", "expected a text, found 4"),
            (call(r#""launch": [{"container-id": "x", "spec": "s"}]"#), "#/launch/0/container-id", "found \"x\""),
            (call(r#""launch": [{"spec": "s"}]"#), "#/launch/0/container-id", "missing"),
            (call(r#""launch": [{"container-id": "container_1_0001_01_000001"}]"#), "#/launch/0", "found neither"),
            (
                call(
                    r#""launch": [{"container-id": "container_1_0001_01_000001", "spec": "s", "context": {"command": ["a"]}}]"#,
                ),
                "#/launch/0",
                "found both",
            ),
            (
                call(r#""launch": [{"container-id": "container_1_0001_01_000001", "spec": "s p"}]"#),
                "#/launch/0/spec",
                "stored context",
            ),
            (
                call(r#""launch": [{"container-id": "container_1_0001_01_000001", "spec": "s", "item": 2147483648}]"#),
                "#/launch/0/item",
                "2147483647",
            ),
            (
                call(r#""launch": [{"container-id": "container_1_0001_01_000001", "context": {}}]"#),
                "#/launch/0/context/command",
                "missing",
            ),
            (call(r#""blacklist": {"additions": ["*"]}"#), "#/blacklist/additions/0", "found *"),
            (call(r#""blacklist": {"additions": ["a b"]}"#), "#/blacklist/additions/0", "a host, or a rack"),
            (call(r#""blacklist": {"removals": "h1"}"#), "#/blacklist/removals", "expected an array"),
            (call(r#""blacklist": {"additons": []}"#), "#/blacklist/additons", "known are additions, removals"),
            (call(r#""specs": {"a b": {"command": ["a"]}}"#), "#/specs/a%20b", "1 to 64"),
            (call(r#""specs": {"a": {"command": ["a"]}, "a": {"command": ["a"]}}"#), "#/specs/a", "repeated"),
        ],
        call_faults,
    );
}

#[test]
fn rows() {
    let any = r#""priority": 1, "resource-name": "*""#;
    let bare = |members: &str| call(&format!(r#""ask": [{{{members}}}]"#));
    let capability = r#""capability": {"memory": 1, "vCores": 1}"#;
    assert_each(
        &[
            (
                bare(&format!(r#""resource-name": "*", {capability}, "num-containers": 1"#)),
                "#/ask/0/priority",
                "missing",
            ),
            (
                bare(&format!(r#""priority": 2147483648, "resource-name": "*", {capability}, "num-containers": 1"#)),
                "#/ask/0/priority",
                "2147483647",
            ),
            (bare(&format!(r#""priority": 1, {capability}, "num-containers": 1"#)), "#/ask/0/resource-name", "missing"),
            (
                bare(&format!(r#""priority": 1, "resource-name": "", {capability}, "num-containers": 1"#)),
                "#/ask/0/resource-name",
                "1 to 255 characters",
            ),
            (
                bare(&format!(r#""priority": 1, "resource-name": "h 1", {capability}, "num-containers": 1"#)),
                "#/ask/0/resource-name",
                "found \"h 1\"",
            ),
            (bare(&format!(r#"{any}, "num-containers": 1"#)), "#/ask/0/capability", "missing"),
            (
                bare(&format!(r#"{any}, "capability": {{"memory": 1}}, "num-containers": 1"#)),
                "#/ask/0/capability/vCores",
                "missing",
            ),
            (
                bare(&format!(r#"{any}, "capability": {{"memory": "1", "vCores": 1}}, "num-containers": 1"#)),
                "#/ask/0/capability/memory",
                "found a text",
            ),
            (
                bare(&format!(r#"{any}, "capability": {{"memory": 1, "vCores": 1, "gpus": 1}}, "num-containers": 1"#)),
                "#/ask/0/capability/gpus",
                "known are memory, vCores",
            ),
            (bare(&format!(r#"{any}, {capability}"#)), "#/ask/0/num-containers", "missing"),
            (row(r#""num-containers": -1"#), "#/ask/0/num-containers", "found -1"),
            (row(r#""num-containers": 2147483648"#), "#/ask/0/num-containers", "2147483647"),
            (row(r#""num-containers": 1, "relax-locality": 1"#), "#/ask/0/relax-locality", "expected true or false"),
            (
                row(r#""num-containers": 1, "allocation-request-id": 9223372036854775808"#),
                "#/ask/0/allocation-request-id",
                "9223372036854775807",
            ),
            (
                row(r#""num-containers": 1, "node-label-expression": "gpu""#),
                "#/ask/0/node-label-expression",
                "no labels",
            ),
            (row(r#""num-containers": 1, "execution-type": "OPPORTUNISTIC""#), "#/ask/0/execution-type", "GUARANTEED"),
            (row(r#""num-containers": 1, "numContainers": 1"#), "#/ask/0/numContainers", "unknown"),
            (row(r#""launch": {"spec": "sim"}"#), "#/ask/0/num-containers", "missing"),
            (
                row(r#""num-containers": 0, "launch": {"spec": "sim", "items": "1"}"#),
                "#/ask/0/num-containers",
                "the number of items",
            ),
            (row(r#""launch": {"items": "1-3"}"#), "#/ask/0/launch/spec", "missing"),
            (row(r#""launch": {"spec": "", "items": "1-3"}"#), "#/ask/0/launch/spec", "1 to 64"),
            (row(r#""launch": {"spec": "s", "items": [1, 2]}"#), "#/ask/0/launch/items", "expected a text"),
            (row(r#""launch": {"spec": "s", "items": ""}"#), "#/ask/0/launch/items", "not empty"),
            (row(r#""launch": {"spec": "s", "items": "1", "max-running": 0}"#), "#/ask/0/launch/max-running", "from 1"),
            (
                row(r#""launch": {"spec": "s", "items": "1", "max-attempts": 2}"#),
                "#/ask/0/launch/max-attempts",
                "unattended",
            ),
            (row(r#""launch": {"spec": "s", "items": "1", "max-fails": 2}"#), "#/ask/0/launch/max-fails", "unattended"),
            (
                bare(&format!(
                    r#""priority": 1, "resource-name": "h1", {capability}, "num-containers": 1, "launch": {{"spec": "s"}}"#
                )),
                "#/ask/0/launch",
                "only a row for *",
            ),
        ],
        call_faults,
    );
}

#[test]
fn contexts() {
    let command = |command: &str| call(&format!(r#""specs": {{"sim": {{"command": {command}}}}}"#));
    let file = |name: &str, members: &str| context(&format!(r#""local-resources": {{"{name}": {{{members}}}}}"#));
    let sha256 = format!(r#""sha256": "{}""#, "0a".repeat(32));
    let at = "#/specs/sim";
    let cases = [
        (command("[]"), "/command", "1 to 1000 items, found 0"),
        (command(r#""true""#), "/command", "expected an array"),
        (command(r#"["true", 1]"#), "/command/1", "expected a text, found 1"),
        (command(r#"["", "a"]"#), "/command/0", "not empty"),
        (command(r#"["a", "b\u0000"]"#), "/command/1", "zero byte"),
        (context(r#""environment": ["A=1"]"#), "/environment", "expected an object"),
        (context(r#""environment": {"1A": ""}"#), "/environment/1A", "no digit first"),
        (context(r#""environment": {"A-B": ""}"#), "/environment/A-B", "letters, digits and _"),
        (context(r#""environment": {"": ""}"#), "/environment/", "letters"),
        (context(r#""environment": {"JOBTRACKER_SERVER": ""}"#), "/environment/JOBTRACKER_SERVER", "the worker's"),
        (context(r#""environment": {"A": 1}"#), "/environment/A", "expected a text"),
        (context(r#""environment": {"A": "1", "A": "2"}"#), "/environment/A", "repeated"),
        (context(r#""working-directory": "run""#), "/working-directory", "an absolute path"),
        (context(r#""working-directory": null"#), "/working-directory", "found null"),
        (context(r#""stdout": """#), "/stdout", "not empty"),
        (context(r#""stderr": false"#), "/stderr", "expected a text"),
        (context(r#""time-limit-ms": 0"#), "/time-limit-ms", "from 1 to 9007199254740992"),
        (context(r#""time-limit-ms": 9007199254740993"#), "/time-limit-ms", "9007199254740992"),
        (context(r#""kill-grace-ms": 600001"#), "/kill-grace-ms", "from 0 to 600000"),
        (context(r#""log-overflow": "CUT""#), "/log-overflow", "cut or kill"),
        (context(r#""placeholder": """#), "/placeholder", "not empty"),
        (context(r#""values-from": "list""#), "/values-from", "a local resource of this context"),
        (file("/a", r#""content": """#), "/local-resources/~1a", "relative path"),
        (file("a/../b", r#""content": """#), "/local-resources/a~1..~1b", ".. parts"),
        (file("", r#""content": """#), "/local-resources/", "relative path"),
        (file("a", r#""executable": true"#), "/local-resources/a", "found neither"),
        (file("a", r#""content": "", "resource": "file:///a""#), "/local-resources/a", "found both"),
        (file("a", r#""content": "YQ""#), "/local-resources/a/content", "base64 with padding"),
        (file("a", r#""content": "YQ==", "size": 1"#), "/local-resources/a/size", "unknown"),
        (file("a", &format!(r#""resource": "/a", {sha256}, "size": 1"#)), "/local-resources/a/resource", "file:///"),
        (
            file("a", &format!(r#""resource": "hdfs:///a", {sha256}, "size": 1"#)),
            "/local-resources/a/resource",
            "file:///",
        ),
        (file("a", r#""resource": "file:///a", "size": 1"#), "/local-resources/a/sha256", "missing"),
        (
            file("a", r#""resource": "file:///a", "sha256": "0A", "size": 1"#),
            "/local-resources/a/sha256",
            "64 lower-case",
        ),
        (file("a", &format!(r#""resource": "file:///a", {sha256}"#)), "/local-resources/a/size", "missing"),
        (
            file("a", &format!(r#""resource": "file:///a", {sha256}, "size": 1, "type": "PATTERN""#)),
            "/local-resources/a/type",
            "FILE or ARCHIVE",
        ),
        (
            file("a", &format!(r#""resource": "file:///a", {sha256}, "size": 1, "type": "ARCHIVE""#)),
            "/local-resources/a/type",
            ".tgz",
        ),
        (
            file("a", &format!(r#""resource": "file:///a", {sha256}, "size": 1, "executable": "yes""#)),
            "/local-resources/a/executable",
            "true or false",
        ),
    ];
    for (text, below, words) in cases {
        assert_each(&[(text, &format!("{at}{below}"), words)], call_faults);
    }
}

#[test]
fn values_come_from_lines_and_not_from_an_archive() {
    let sha256 = "0a".repeat(32);
    let text = context(&format!(
        r#""local-resources": {{"a": {{"resource": "file:///a.tgz", "sha256": "{sha256}", "size": 1, "type": "ARCHIVE"}}}}, "values-from": "a""#
    ));
    assert_eq!(call_faults(&text), ["#/specs/sim/values-from: expected a file with lines, found an archive"]);
}

#[test]
fn submissions() {
    let specs = r#""specs": {"sim": {"command": ["a"]}}"#;
    let ask = |launch: &str| {
        format!(
            r#""ask": [{{"priority": 1, "resource-name": "*", "capability": {{"memory": 1, "vCores": 1}}, "num-containers": 1{launch}}}]"#
        )
    };
    let launch = ask(r#", "launch": {"spec": "sim"}"#);
    let master = r#""master": {"context": {"command": ["m"]}, "capability": {"memory": 512, "vCores": 1}}"#;
    assert_each(
        &[
            ("{}".to_owned(), "#/application-id", "missing"),
            (r#"{"application-id": "application_1_1"}"#.to_owned(), "#/application-id", "an application id such as"),
            (submission(r#""application-name": """#), "#/application-name", "1 to 255 characters, found 0"),
            (submission(&format!(r#""application-name": "{}""#, "ä".repeat(256))), "#/application-name", "found 256"),
            (submission(&format!(r#""application-type": "{}""#, "t".repeat(33))), "#/application-type", "0 to 32"),
            (submission(r#""queue": """#), "#/queue", "1 to 255"),
            (submission(r#""queue": "a b""#), "#/queue", "without blanks"),
            (submission(r#""priority": "normal""#), "#/priority", "VERY_HIGH"),
            (submission(r#""priority": 1"#), "#/priority", "expected a text"),
            (submission(r#""expiry-ms": 9999"#), "#/expiry-ms", "from 10000 to 86400000"),
            (submission(r#""expiry-ms": 86400001"#), "#/expiry-ms", "86400000"),
            (submission(r#""strict-gates": "true""#), "#/strict-gates", "true or false"),
            (submission(r#""tracking-url": "javascript:alert(1)""#), "#/tracking-url", "http://"),
            (submission(r#""tracking-url": "http://a b""#), "#/tracking-url", "http://"),
            (submission(r#""specs": []"#), "#/specs", "expected an object"),
            (submission(r#""unattended": true"#), "#/ask", "missing"),
            (submission(&format!(r#"{specs}, {launch}"#)), "#/ask", "only an unattended application"),
            (submission(r#""unattended": true, "ask": []"#), "#/ask", "1 to 20000 items"),
            (submission(&format!(r#""unattended": true, {specs}, {}"#, ask(""))), "#/ask/0/launch", "missing"),
            (submission(&format!(r#""unattended": true, {launch}"#)), "#/ask/0", "not among specs"),
            (
                submission(&format!(
                    r#""unattended": true, {specs}, {}"#,
                    ask(r#", "launch": {"spec": "sim", "max-attempts": 101}"#)
                )),
                "#/ask/0/launch/max-attempts",
                "from 1 to 100",
            ),
            (submission(&format!(r#""unattended": true, {specs}, {launch}, {master}"#)), "#/master", "has no master"),
            (submission(r#""master": {"capability": {"memory": 512, "vCores": 1}}"#), "#/master/context", "missing"),
            (submission(r#""master": {"context": {"command": ["m"]}}"#), "#/master/capability", "missing"),
            (
                submission(
                    r#""master": {"context": {"command": ["m"]}, "capability": {"memory": 1, "vCores": 1}, "max-attempts": 0}"#,
                ),
                "#/master/max-attempts",
                "from 1 to 100",
            ),
            (submission(r#""am-container-spec": {}"#), "#/am-container-spec", "unknown"),
        ],
        submission_faults,
    );
}

#[test]
fn small_bodies() {
    let case = |text: &str, pointer, words| (text.to_owned(), pointer, words);
    let register = [
        case(r#"{"tracking-url": 1}"#, "#/tracking-url", "expected a text"),
        case(r#"{"host": "h"}"#, "#/host", "unknown"),
        case("7", "#", "expected an object"),
    ];
    assert_each(&register, |text| faults(text, read_register));
    let unregister = [
        case(r#"{"final-status": "FAILED"}"#, "#/attempt", "missing"),
        case(r#"{"attempt": 1}"#, "#/final-status", "missing"),
        case(r#"{"attempt": 1, "final-status": "UNDEFINED"}"#, "#/final-status", "SUCCEEDED, FAILED or KILLED"),
        case(r#"{"attempt": 1, "final-status": "FAILED", "diagnostics": []}"#, "#/diagnostics", "expected a text"),
    ];
    assert_each(&unregister, |text| faults(text, read_unregister));
    let kill = [
        case(r#"{"state": "FINISHED"}"#, "#/state", "expected KILLED"),
        case("{}", "#/state", "missing"),
        case(r#"{"state": "KILLED", "force": true}"#, "#/force", "unknown"),
    ];
    assert_each(&kill, |text| faults(text, read_kill));
}

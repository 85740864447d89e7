//! Memory of bodies: each member that can grow counts, by the description of the interface. A new member without a term in
//! `bytes()`, or without an example here, fails.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::bodies::{
    read_allocate, read_body, read_register, read_submission, read_unregister, refuse_large_call,
};
use super::super::json::Item;
use super::json_schema::violations;

/// What a text grows by, bytes.
const MORE: usize = 24;

/// Texts that cannot grow alone, and why that is no hole.
const FIXED: [(&str, &str); 5] = [
    ("application-id", "an id has one form"),
    ("container-id", "an id has one form"),
    ("sha256", "64 digits"),
    ("values-from", "the name of a resource beside it, which counts"),
    ("release", "ids have one form"),
];

/// A body of the interface: its schema, examples that have each member, and what it takes.
struct BodyKind {
    schema: &'static str,
    examples: Vec<Value>,
    bytes: fn(&Value) -> Option<u64>,
}

fn read<T>(body: &Value, read: impl FnOnce(Item<'_>) -> Option<T>) -> Option<T> {
    read_body(body.to_string().as_bytes(), refuse_large_call, read).ok()
}

fn context() -> Value {
    json!({
        "command": ["./simulate", "{}"], "environment": {"A": "b"}, "working-directory": "/tmp", "stdout": "out",
        "stderr": "err", "time-limit-ms": 5, "kill-grace-ms": 6, "log-overflow": "cut", "placeholder": "{}",
        "values-from": "content",
        "local-resources": {
            "content": {"content": "YQ==", "executable": false},
            "brought": {"resource": "file:///a", "sha256": "0".repeat(64), "size": 1, "type": "FILE", "executable": true},
        },
    })
}

fn ask_row(spec: &str) -> Value {
    json!({
        "priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "num-containers": 3,
        "relax-locality": true, "allocation-request-id": 0, "node-label-expression": "", "execution-type": "GUARANTEED",
        "launch": {"spec": spec, "items": "1-3", "max-running": 2},
    })
}

fn kinds() -> Vec<BodyKind> {
    const ID: &str = "application_1700000000000_0001";
    const CONTAINER: &str = "container_1700000000000_0001_01_000004";
    let mut row_of_unattended = ask_row("sim");
    row_of_unattended["launch"]["max-attempts"] = json!(2);
    row_of_unattended["launch"]["max-fails"] = json!(2);
    let mut named = ask_row("sim");
    (named["resource-name"], named["num-containers"]) = (json!("/rack"), json!(1));
    named.as_object_mut().unwrap().remove("launch");
    let submission = json!({
        "application-id": ID, "application-name": "sim", "application-type": "t", "queue": "alice", "priority": "NORMAL",
        "expiry-ms": 10_000, "strict-gates": true, "tracking-url": "http://h/", "specs": {"sim": context()},
    });
    let with = |members: Value| {
        let mut body = submission.clone();
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    let master = json!({"context": context(), "capability": {"memory": 512, "vCores": 1}, "max-attempts": 2});
    vec![
        BodyKind {
            schema: "Submission",
            examples: vec![
                with(json!({"unattended": true, "ask": [row_of_unattended]})),
                with(json!({"master": master})),
            ],
            bytes: |body| read(body, read_submission).map(|submission| submission.bytes()),
        },
        BodyKind {
            schema: "RegisterCall",
            examples: vec![json!({"tracking-url": "http://h/"})],
            bytes: |body| read(body, read_register).map(|call| call.bytes()),
        },
        BodyKind {
            schema: "UnregisterCall",
            examples: vec![json!({"attempt": 1, "final-status": "SUCCEEDED", "diagnostics": "done"})],
            bytes: |body| read(body, read_unregister).map(|call| call.bytes()),
        },
        BodyKind {
            schema: "AllocateCall",
            examples: vec![json!({
                "attempt": 1, "response-id": 0, "progress": 0.5, "wait-ms": 5,
                "ask": [ask_row("sim"), named],
                "release": [CONTAINER],
                "specs": {"sim": context()},
                "launch": [
                    {"container-id": CONTAINER, "spec": "sim", "item": 7},
                    {"container-id": CONTAINER, "context": context()},
                ],
                "blacklist": {"additions": ["h1"], "removals": ["h2"]},
            })],
            bytes: |body| read(body, read_allocate).map(|call| call.bytes()),
        },
    ]
}

/// Walks an example along its schema, and notes what can grow.
struct Walk<'a> {
    description: &'a Value,
    /// Members of each object of the description that an example has, and that it may have.
    seen: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>,
    /// A pointer into the example, and what stands there once it has grown.
    grown: Vec<(String, Value)>,
}

impl Walk<'_> {
    fn visit(&mut self, schema: &Value, name: &str, value: &Value, pointer: &str) {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.trim_start_matches('#');
            let resolved = self.description.pointer(target).unwrap();
            return self.visit(resolved, target, value, pointer);
        }
        // Those of the alternatives that is meant; some only say what must be there.
        let alternatives = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        for one in alternatives.filter(|one| violations(self.description, one, value).is_empty()) {
            if one.get("$ref").is_some() || one.get("properties").is_some() || one.get("type").is_some() {
                self.visit(one, &format!("{name}/oneOf"), value, pointer);
            }
        }
        match value {
            Value::Object(members) => self.visit_object(schema, name, members, pointer),
            Value::Array(items) => {
                let mut more = items.clone();
                more.extend(items.last().cloned());
                self.grown.push((pointer.to_owned(), Value::Array(more)));
                for (index, item) in items.iter().enumerate() {
                    self.visit(&schema["items"], &format!("{name}/items"), item, &format!("{pointer}/{index}"));
                }
            }
            Value::String(text) if schema.get("enum").is_none() && schema.get("const").is_none() => {
                self.grown.push((pointer.to_owned(), Value::String(longer(pointer, text))));
            }
            // A number takes the same whatever it is.
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn visit_object(&mut self, schema: &Value, name: &str, members: &serde_json::Map<String, Value>, pointer: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let entry = self.seen.entry(name.to_owned()).or_default();
        entry.0.extend(members.keys().filter(|_| properties.is_some()).cloned());
        entry.1.extend(properties.into_iter().flat_map(|properties| properties.keys()).cloned());
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        if let (Some(_), Some((_, value))) = (others, members.iter().next()) {
            let mut more = members.clone();
            more.insert("another".to_owned(), value.clone());
            self.grown.push((pointer.to_owned(), Value::Object(more)));
        }
        for (member, value) in members {
            let own = properties.and_then(|properties| properties.get(member)).or(others);
            if let Some(own) = own {
                self.visit(own, &format!("{name}/{member}"), value, &format!("{pointer}/{member}"));
            }
        }
    }
}

/// The same text with [`MORE`] bytes more.
fn longer(pointer: &str, text: &str) -> String {
    match pointer.rsplit('/').next() {
        Some("items") => {
            format!("{text},{}", (0..MORE / 4).map(|n| format!("{}", 100 + 2 * n)).collect::<Vec<_>>().join(","))
        }
        Some("content") => format!("{}{text}", "A".repeat(MORE)),
        _ => format!("{text}{}", "x".repeat(MORE)),
    }
}

fn is_fixed(pointer: &str) -> bool {
    // A `*` that grows is a host; the name of a spec is that of one beside it, which counts.
    FIXED.iter().any(|(name, _)| pointer.split('/').rev().take(2).any(|part| part == *name))
}

#[test]
fn each_member_of_a_body_that_can_grow_counts() {
    let description: Value = serde_json::from_str(include_str!("../../../../static/openapi.json")).unwrap();
    let mut wrong = Vec::new();
    let mut walk = Walk { description: &description, seen: BTreeMap::new(), grown: Vec::new() };
    for BodyKind { schema, examples, bytes } in kinds() {
        let root = &description["components"]["schemas"][schema];
        for example in examples {
            let taken = bytes(&example).unwrap_or_else(|| panic!("{schema} is not read: {example}"));
            walk.visit(root, schema, &example, "");
            for (pointer, grown) in std::mem::take(&mut walk.grown) {
                let mut body = example.clone();
                let least = match &grown {
                    Value::String(_) => MORE as u64 - 1,
                    _ => 1,
                };
                *body.pointer_mut(&pointer).unwrap() = grown;
                let is_known = is_fixed(&pointer)
                    || ["/launch/spec", "/queue", "/resource-name"].iter().any(|end| pointer.ends_with(end));
                match bytes(&body) {
                    Some(more) if more >= taken + least => {}
                    Some(more) => wrong.push(format!("{schema}{pointer} takes nothing: {taken}, {more}")),
                    None if is_known => {}
                    None => wrong.push(format!("{schema}{pointer} is not read once it has grown")),
                }
            }
        }
    }
    for (name, (had, may_have)) in walk.seen {
        let missing = may_have.difference(&had);
        wrong.extend(missing.map(|member| format!("no example of {name} has {member}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

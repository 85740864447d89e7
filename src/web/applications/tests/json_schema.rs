//! Holds a JSON value to a schema: the keywords of JSON Schema that the description of the interface uses.

use serde_json::Value;

/// What is wrong with a value, each with its place; references are looked up in `document`.
pub(crate) fn violations(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "$", &mut found);
    found
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let keywords = schema.as_object().unwrap_or_else(|| panic!("{at}: {schema} is no schema"));
    for (keyword, wanted) in keywords {
        let is_good = match keyword.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                let target = document.pointer(pointer).unwrap_or_else(|| panic!("{at}: {pointer} is missing"));
                check(document, target, value, at, found);
                true
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|one| is_of_type(one, value)),
                one => is_of_type(one, value),
            },
            "enum" => wanted.as_array().unwrap().contains(value),
            "const" => wanted == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap()),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= wanted.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
            "maxProperties" => value.as_object().is_none_or(|all| all.len() as u64 <= wanted.as_u64().unwrap()),
            "required" => wanted.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, wanted, item, &format!("{at}/{index}"), found);
                }
                true
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        check(document, schema, member, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                check_others(document, keywords.get("properties"), wanted, value, at, found);
                true
            }
            "oneOf" => {
                let fits = |schema: &&Value| violations(document, schema, value).is_empty();
                wanted.as_array().unwrap().iter().filter(fits).count() == 1
            }
            // Words for people, and texts whose form other tests hold.
            "description" | "default" | "examples" | "pattern" | "contentEncoding" => true,
            other => panic!("{at}: the keyword {other} is not read here"),
        };
        if !is_good {
            found.push(format!("{at}: {value} is against {keyword} {wanted}"));
        }
    }
}

/// Members that `properties` does not name.
fn check_others(
    document: &Value,
    properties: Option<&Value>,
    wanted: &Value,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    let is_named = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
    for (name, member) in value.as_object().into_iter().flatten().filter(|(name, _)| !is_named(name)) {
        match wanted {
            Value::Bool(true) => {}
            Value::Bool(false) => found.push(format!("{at}: the member {name} is not described")),
            schema => check(document, schema, member, &format!("{at}/{name}"), found),
        }
    }
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn each_keyword_can_fail() {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let document = json(r#"{"s": {"type": "string"}}"#);
    for (schema, good, bad) in [
        (r##"{"$ref": "#/s"}"##, "\"a\"", "1"),
        (r#"{"type": ["integer", "null"]}"#, "null", "1.5"),
        (r#"{"enum": ["A", "B"]}"#, "\"B\"", "\"C\""),
        (r#"{"const": ""}"#, "\"\"", "\"a\""),
        (r#"{"minimum": 1, "maximum": 2}"#, "2", "3"),
        (r#"{"minLength": 1, "maxLength": 2}"#, "\"ää\"", "\"\""),
        (r#"{"minItems": 1, "maxItems": 2}"#, "[1]", "[]"),
        (r#"{"items": {"type": "boolean"}}"#, "[true]", "[true, 0]"),
        (r#"{"required": ["a"]}"#, r#"{"a": 1}"#, "{}"),
        (r#"{"properties": {"a": {"type": "number"}}}"#, r#"{"a": 1}"#, r#"{"a": "1"}"#),
        (r#"{"properties": {"a": {}}, "additionalProperties": false}"#, r#"{"a": 1}"#, r#"{"b": 1}"#),
        (r#"{"additionalProperties": {"type": "object"}, "maxProperties": 1}"#, r#"{"a": {}}"#, r#"{"a": 1}"#),
        (r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#),
    ] {
        assert_eq!(violations(&document, &json(schema), &json(good)), Vec::<String>::new(), "{schema}");
        assert_eq!(violations(&document, &json(schema), &json(bad)).len(), 1, "{schema}");
    }
}

//! Lists as CSV (RFC 4180): a column a member, those of objects with dots.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::csv_cell;

/// The rows of a list, with a line of names.
pub(super) fn csv(rows: &[Value]) -> String {
    let cells: Vec<BTreeMap<String, String>> = rows.iter().map(cells_of).collect();
    let mut columns: Vec<&str> = Vec::new();
    for name in cells.iter().flat_map(BTreeMap::keys) {
        if let Err(free) = columns.binary_search(&name.as_str()) {
            columns.insert(free, name);
        }
    }
    let mut text = line(columns.iter().copied());
    for row in &cells {
        text += &line(columns.iter().map(|column| row.get(*column).map_or("", String::as_str)));
    }
    text
}

fn cells_of(row: &Value) -> BTreeMap<String, String> {
    let mut cells = BTreeMap::new();
    add(&mut cells, String::new(), row);
    cells
}

fn add(cells: &mut BTreeMap<String, String>, name: String, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                add(cells, if name.is_empty() { member.clone() } else { format!("{name}.{member}") }, value);
            }
        }
        Value::Null => {}
        Value::String(text) => drop(cells.insert(name, text.clone())),
        other => drop(cells.insert(name, other.to_string())),
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(csv_cell).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formula() {
        let rows = [
            serde_json::json!({ "name": "=cmd|' /C calc'!A0", "tasks": { "map": { "total": 3 } } }),
            serde_json::json!({ "name": "a \"b\", c\nd", "percent": -4, "why": [1] }),
        ];
        let expected = "name,percent,tasks.map.total,why\r\n\
                        '=cmd|' /C calc'!A0,,3,\r\n\
                        \"a \"\"b\"\", c\nd\",-4,,[1]\r\n";
        assert_eq!(csv(&rows), expected);
        for text in ["+1", "-a", "@a"] {
            assert_eq!(csv(&[serde_json::json!({ "a": text })]), format!("a\r\n'{text}\r\n"));
        }
        assert_eq!(csv(&[]), "\r\n");
    }
}

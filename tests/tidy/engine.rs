//! The engine's three rooms: `on` may name `core` and `state`, `core` may name `state`, and no files call each other in a
//! circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Finding, Source, line_of, word_positions};

const RULE: &str = "rooms of the engine";

/// For each of its rooms, the others that it may name.
const ARROWS: &[(&str, &[&str])] = &[("state", &[]), ("core", &["state"]), ("on", &["core", "state"])];

/// The room in the engine that a file lies in.
fn place(file: &Source) -> Option<&str> {
    let path = file.path.strip_prefix("src/engine/")?;
    path.split_once('/').map(|(room, _)| room).filter(|_| !file.is_test())
}

/// Names that follow `path::` in the code, each with its line.
fn names_after<'a>(code: &'a str, path: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    word_positions(code, path).map(move |at| {
        let rest = code[at + path.len()..].trim_start_matches("::").trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (line_of(code, at), &rest[..end])
    })
}

/// Arrows lead from `on` to `core` to `state` only.
pub fn arrows(file: &Source) -> Vec<Finding> {
    let Some(room) = place(file) else { return Vec::new() };
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == room) else {
        return vec![file.finding(1, RULE, format!("{room} is none of them"))];
    };
    let mut found: Vec<Finding> = names_after(&file.code, "crate::engine::")
        .filter(|(_, name)| !allowed.contains(name))
        .map(|(line, name)| {
            let text = format!("{room} may not name crate::engine::{name}; inside a room say super::");
            file.finding(line, RULE, text)
        })
        .collect();
    for (bad, advice) in [("super::super", "leaves its room"), ("super::{", "one `use` for each file that is named")] {
        let positions = word_positions(&file.code, bad);
        found.extend(positions.map(|at| file.finding(line_of(&file.code, at), RULE, format!("{bad}: {advice}"))));
    }
    found
}

/// Files of the engine whose methods call each other in a circle: these are all methods of one struct, so no `use` shows it.
pub fn call_circles(tree: &[Source]) -> Vec<String> {
    let files: BTreeMap<(&str, &str), &Source> = tree
        .iter()
        .filter_map(|file| {
            let name = file.path.rsplit('/').next()?.strip_suffix(".rs")?;
            Some(((place(file)?, name), file)).filter(|_| name != "mod")
        })
        .collect();
    let methods = methods_of_one_file(&files);
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((room, _), file) in &files {
        let named = names_after(&file.code, "super").filter_map(|(_, name)| files.get(&(*room, name)));
        let called = methods.iter().filter(|(name, _)| calls(&file.code, name)).map(|(_, file)| file);
        let others = named.chain(called).map(|other| other.path.as_str()).filter(|other| *other != file.path);
        arrows.entry(&file.path).or_default().extend(others);
    }
    // What nothing names any more is in no circle; what is left is, or leads out of one.
    while let Some(free) = arrows.keys().copied().find(|file| !arrows.values().any(|named| named.contains(file))) {
        arrows.remove(free);
    }
    while let Some(leaf) = arrows.iter().find(|(_, named)| !named.iter().any(|file| arrows.contains_key(file))) {
        let leaf = *leaf.0;
        arrows.remove(leaf);
    }
    let line = |(file, named): (&str, BTreeSet<&str>)| {
        let named: Vec<&str> = named.into_iter().collect();
        format!("{file} is in a circle: it names or calls {}", named.join(", "))
    };
    arrows.into_iter().map(line).collect()
}

/// Methods that only one of the files defines, each with its file.
fn methods_of_one_file<'a>(files: &BTreeMap<(&str, &str), &'a Source>) -> BTreeMap<&'a str, &'a Source> {
    let mut found: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for file in files.values() {
        for (at, _) in file.code.match_indices("fn ") {
            let rest = &file.code[at + 3..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
            let arguments = rest[end..].trim_start_matches(|c: char| c == '(' || c.is_whitespace());
            if ["&self", "&mut self", "self"].iter().any(|start| arguments.starts_with(start)) {
                found.entry(&rest[..end]).or_default().push(file);
            }
        }
    }
    found.into_iter().filter_map(|(name, files)| Some((name, *files.first().filter(|_| files.len() == 1)?))).collect()
}

/// Whether the code calls a method of that name on the engine.
fn calls(code: &str, method: &str) -> bool {
    ["self.", "engine."].iter().any(|on| word_positions(code, &format!("{on}{method}(")).next().is_some())
}

mod proofs {
    use super::*;

    fn source(path: &str, code: &str) -> Source {
        Source::new(path, code)
    }

    #[test]
    fn arrows_against_the_order_are_found() {
        for (path, bad) in [
            ("src/engine/state/a.rs", "use crate::engine::core::Engine;"),
            ("src/engine/state/a.rs", "use crate::engine::Fact;"),
            ("src/engine/core/a.rs", "use crate::engine::on::LongRead;"),
            ("src/engine/on/a.rs", "use super::super::state::Fact;"),
            ("src/engine/on/a.rs", "use super::{b::B, c::C};"),
            ("src/engine/misc/a.rs", ""),
        ] {
            assert_eq!(arrows(&source(path, bad)).len(), 1, "{path}: {bad}");
        }
        for (path, good) in [
            ("src/engine/on/a.rs", "use crate::engine::core::Engine; use super::b::B;"),
            ("src/engine/core/a.rs", "use crate::engine::state::{Fact, Outbox};"),
            ("src/engine/tests/a.rs", "use crate::engine::on::LongRead;"),
            ("src/engine/core/a.rs", "pub(in crate::engine) fn a() {}"),
            ("src/engine/mod.rs", "mod core;"),
        ] {
            assert_eq!(arrows(&source(path, good)), [], "{path}: {good}");
        }
    }

    #[test]
    fn circles_of_names_and_of_calls_are_found() {
        let a = |code| source("src/engine/on/a.rs", code);
        let b = |code| source("src/engine/on/b.rs", code);
        let c = source("src/engine/on/c.rs", "use super::a::A;");
        assert_eq!(call_circles(&[a("use super::b::B;"), b("use super::a::A;"), c.clone()]).len(), 2);
        assert_eq!(
            call_circles(&[a("fn f(&self) { self.g() }"), b("fn g(&mut self) { self.f() }"), c.clone()]).len(),
            2
        );
        assert_eq!(call_circles(&[a("fn f(&self) { self.g() }"), b("fn g(&mut self) {}"), c]), [""; 0]);
    }
}

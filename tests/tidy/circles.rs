//! No circle between the files of a room: read from the top, a file names only what can be understood without it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::{Finding, Source, line_of, word_positions};

/// Names from the root of the crate.
type Path = Vec<String>;

/// A path that a file names.
struct Named {
    path: Path,
    line: usize,
    kind: NamedKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedKind {
    /// `pub use`
    ReExport,
    /// `use`
    Import,
    /// In code.
    Inline,
}

/// The files of the crate as modules.
struct Modules<'a> {
    files: BTreeMap<Path, &'a Source>,
    /// What the files re-export, by module and name.
    re_exports: BTreeMap<(Path, String), Path>,
}

/// A file depends on another one of its room when it names an item of that file, in a `use` or by a path in its code; a
/// re-export is followed to the file that defines the item. Module declarations, re-exports and tests do not count:
/// these a folder's `mod.rs` and each file need of their own parts. Such dependencies make no circle.
pub fn circles(tree: &[Source]) -> Vec<Finding> {
    let modules = Modules::of(tree);
    let dependencies: BTreeMap<&Path, BTreeMap<Path, usize>> =
        modules.files.keys().map(|module| (module, modules.dependencies(module))).collect();
    let mut in_circles: BTreeSet<Path> = BTreeSet::new();
    let mut found = Vec::new();
    for (module, source) in &modules.files {
        let Some(circle) = shortest_circle(module, &dependencies).filter(|_| !in_circles.contains(module)) else {
            continue;
        };
        let files: Vec<&str> = circle.iter().map(|module| modules.files[module].path.as_str()).collect();
        let line = circle.get(1).map_or(1, |next| dependencies[module][next]);
        let what = format!("{}: move what they share to a file of its own", files.join(" -> "));
        found.push(source.finding(line, "no circles", what));
        in_circles.extend(circle);
    }
    found
}

impl<'a> Modules<'a> {
    fn of(tree: &'a [Source]) -> Self {
        let production = tree.iter().filter(|file| file.room().is_some() && !file.is_test());
        let files = production.map(|file| (module_of(&file.path), file)).collect();
        let mut modules = Self { files, re_exports: BTreeMap::new() };
        let mut re_exports = BTreeMap::new();
        for (module, source) in &modules.files {
            for named in named(&source.code).into_iter().filter(|named| named.kind == NamedKind::ReExport) {
                let Some(name) = named.path.last().cloned() else { continue };
                if let Some(path) = modules.absolute(module, &named.path, &BTreeMap::new()) {
                    re_exports.insert((module.clone(), name), path);
                }
            }
        }
        modules.re_exports = re_exports;
        modules
    }

    /// The files of the same room that a file depends on, each with the line of the first mention.
    fn dependencies(&self, module: &Path) -> BTreeMap<Path, usize> {
        let all = named(&self.files[module].code);
        let mut imported = BTreeMap::new();
        for named in all.iter().filter(|named| named.kind == NamedKind::Import) {
            let path = self.absolute(module, &named.path, &BTreeMap::new());
            // A module is imported for what is named below it.
            if let (Some(path), Some(name)) = (path.filter(|path| self.files.contains_key(path)), named.path.last()) {
                imported.insert(name.clone(), path);
            }
        }
        let mut found = BTreeMap::new();
        for named in all.iter().filter(|named| named.kind != NamedKind::ReExport) {
            let Some(path) = self.absolute(module, &named.path, &imported) else { continue };
            if named.kind == NamedKind::Import && self.files.contains_key(&path) {
                continue;
            }
            let Some(file) = self.defined_in(&path) else { continue };
            if file != *module && file.first() == module.first() {
                found.entry(file).or_insert(named.line);
            }
        }
        found
    }

    /// A path from the root; none for one that leads out of the crate, or begins with an item of the file.
    fn absolute(&self, module: &Path, path: &Path, imported: &BTreeMap<String, Path>) -> Option<Path> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let child = || [module.as_slice(), &path[..1]].concat();
        match path[0].as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module.as_slice(), &path[1..]].concat()),
            "super" => Some([&module[..module.len().checked_sub(ups)?], &path[ups..]].concat()),
            first if imported.contains_key(first) => Some([imported[first].as_slice(), &path[1..]].concat()),
            _ if self.files.contains_key(&child()) => Some([module.as_slice(), path].concat()),
            _ => None,
        }
    }

    /// The module whose file defines what a path names.
    fn defined_in(&self, path: &Path) -> Option<Path> {
        let mut path = path.clone();
        // Each round follows one re-export.
        for _ in 0..8 {
            let length = (1..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
            let module = path[..length].to_vec();
            let re_export = path.get(length).and_then(|name| self.re_exports.get(&(module.clone(), name.clone())));
            match re_export {
                Some(target) => path = [target.as_slice(), &path[length + 1..]].concat(),
                None => return Some(module),
            }
        }
        None
    }
}

/// The module of a file under `src`.
fn module_of(path: &str) -> Path {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The shortest way from a module back to itself.
fn shortest_circle(from: &Path, dependencies: &BTreeMap<&Path, BTreeMap<Path, usize>>) -> Option<Vec<Path>> {
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(module) = next.pop_front() {
        for other in dependencies[module].keys() {
            if other == from {
                let mut circle = vec![module.clone()];
                let mut at = module;
                while let Some(before) = came_from.get(at) {
                    circle.push((*before).clone());
                    at = before;
                }
                circle.reverse();
                circle.push(from.clone());
                return Some(circle);
            }
            if !came_from.contains_key(other) {
                came_from.insert(other, module);
                next.push_back(other);
            }
        }
    }
    None
}

/// All paths of at least two names, and what `use` names.
fn named(code: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut rest = code.to_owned();
    for at in word_positions(code, "use").collect::<Vec<_>>() {
        let Some(length) = code[at..].find(';') else { continue };
        let before = code[..at].trim_end();
        let is_public = before.ends_with("pub") || (before.ends_with(')') && visibility_ends(before));
        let kind = if is_public { NamedKind::ReExport } else { NamedKind::Import };
        let mut paths = Vec::new();
        spread(&code[at + "use".len()..at + length], &mut Vec::new(), &mut paths);
        let line = line_of(code, at);
        found.extend(paths.into_iter().filter(|path| !path.is_empty()).map(|path| Named { path, line, kind }));
        rest.replace_range(at..at + length, &" ".repeat(length));
    }
    let mut last = 0;
    while let Some(at) = rest[last..].find("::").map(|at| last + at) {
        let start = rest[..at].rfind(|c: char| !is_in_name(c)).map_or(0, |before| before + 1);
        let mut end = at;
        while let Some(after) = rest[end..].strip_prefix("::") {
            let name = after.find(|c: char| !is_in_name(c)).unwrap_or(after.len());
            if name == 0 {
                break;
            }
            end += "::".len() + name;
        }
        let path: Path = rest[start..end].split("::").map(str::to_owned).collect();
        if path.len() > 1 && !path[0].is_empty() {
            found.push(Named { path, line: line_of(&rest, start), kind: NamedKind::Inline });
        }
        last = end.max(at + "::".len());
    }
    found
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `text` ends with `pub(…)`.
fn visibility_ends(text: &str) -> bool {
    text.rfind('(').is_some_and(|open| text[..open].ends_with("pub"))
}

/// The paths of a use tree.
fn spread(text: &str, before: &mut Path, found: &mut Vec<Path>) {
    let text = text.trim();
    if let Some(group) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        let (mut depth, mut from) = (0_u32, 0);
        for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !group[from..at].trim().is_empty() {
                        spread(&group[from..at], before, found);
                    }
                    from = (at + 1).min(group.len());
                }
                _ => {}
            }
        }
        return;
    }
    let end = text.find(|c: char| !is_in_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let has_name = !name.is_empty() && (name != "self" || before.is_empty());
    if has_name {
        before.push(name.to_owned());
    }
    match rest.trim_start().strip_prefix("::") {
        Some(more) => spread(more, before, found),
        None => found.push(before.clone()),
    }
    if has_name {
        before.pop();
    }
}

mod proofs {
    use super::*;

    /// What is found in these files of a room.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let tree: Vec<Source> = files.iter().map(|(path, code)| Source::new(&format!("src/{path}"), code)).collect();
        circles(&tree).into_iter().map(|finding| finding.what.split(':').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_circle_is_found_by_each_way_to_name_a_file() {
        for back in [
            "use super::a::A;",
            "use super::{b, a::{self, A}};\nlet x = a::new();",
            "use super::a;\nfn f() { a::new() }",
            "use crate::room::A;",
            "use super::A;",
            "fn f(a: &super::a::A) {}",
            "pub(super) struct B;\nfn f(a: &crate::room::a::A) {}",
        ] {
            let files = [("room/mod.rs", "mod a;\nmod b;\npub use a::A;"), ("room/a.rs", "use super::b::B;")];
            let files = [files[0], files[1], ("room/b.rs", back)];
            assert_eq!(found(&files), ["src/room/a.rs -> src/room/b.rs -> src/room/a.rs"], "{back}");
        }
    }

    #[test]
    fn a_folder_and_its_file_make_a_circle_too() {
        let top = "mod a;\nuse a::A;\npub struct Top(A);";
        let files = [("room/mod.rs", top), ("room/a.rs", "impl super::Top {}")];
        assert_eq!(found(&files), ["src/room/mod.rs -> src/room/a.rs -> src/room/mod.rs"]);
        let three =
            [("room/a.rs", "use super::b::B;"), ("room/b.rs", "use super::c::C;"), ("room/c.rs", "use super::a::A;")];
        assert_eq!(found(&three), ["src/room/a.rs -> src/room/b.rs -> src/room/c.rs -> src/room/a.rs"]);
    }

    #[test]
    fn declarations_re_exports_tests_and_other_rooms_make_none() {
        for (of_top, of_a) in [
            ("mod a;\npub use a::A;", "use super::B;"),
            ("mod a;\npub(super) use a::{A, C};\npub struct Top;", "use super::Top;"),
            ("mod a;\n#[cfg(test)]\nmod tests { use super::a::A; }\npub struct Top;", "use super::Top;"),
            ("mod a;\nuse a::A;", "use crate::other::B;"),
            ("mod a;\nuse a::A;", "// use super::Top;\nlet text = \"super::Top\";"),
        ] {
            let files = [("room/mod.rs", of_top), ("room/a.rs", of_a), ("room/b.rs", ""), ("other/mod.rs", "")];
            assert_eq!(found(&files), [""; 0], "{of_top} {of_a}");
        }
    }
}

//! Which room may know what: names that pure rooms never use, and who may name whom.

use crate::source::{Finding, Source, line_of, word_positions};

/// Rooms without clock, socket, file, thread, lock or randomness.
pub const PURE: &[&str] =
    &["model", "api", "wire", "engine", "scheduler", "mapreduce", "market", "sim", "fake_tracker"];

/// For each room, what it may name of others: a room, or one item of a room. What does not stand here is forbidden, and
/// what nobody uses does not stand here.
pub const MAY_NAME: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("scheduler", &["model"]),
    ("wire", &["model"]),
    ("api", &["model"]),
    ("market", &["api", "model"]),
    ("mapreduce", &["model", "scheduler", "wire"]),
    ("engine", &["api", "model", "scheduler", "wire", "market", "mapreduce"]),
    ("channel", &[]),
    ("clock", &["model"]),
    ("latency", &[]),
    ("log", &[]),
    ("process_stat", &[]),
    ("program", &[]),
    ("socket_owner", &[]),
    ("accounts", &["fs", "program"]),
    // Frames and calls; what they are about is the business of whoever serves them.
    ("ipc", &["clock", "latency", "log", "wire"]),
    ("fs", &["hdfs"]),
    ("hdfs", &["clock", "wire"]),
    ("http", &["socket_owner"]),
    // Limits are one table, which the page on configuration shows.
    (
        "config",
        &["fs", "hdfs", "model", "scheduler::capacity", "scheduler::constraint", "scheduler::fair", "wire::limits"],
    ),
    (
        "store",
        &[
            "api",
            "config::settings",
            "engine",
            "fs",
            "latency",
            "mapreduce",
            "market",
            "model",
            "program",
            "sim::Journal",
            "sim::what_if",
            "wire",
        ],
    ),
    ("views", &["api", "clock", "engine", "mapreduce", "market", "model", "store", "wire::worker_name"]),
    ("web", &["api", "engine", "http", "latency", "log", "market", "model", "process_stat", "socket_owner", "views"]),
    (
        "server",
        &[
            "accounts",
            "api",
            "clock",
            "config",
            "engine",
            "fs",
            "http",
            "ipc",
            "log",
            "mapreduce",
            "market",
            "model",
            "program",
            "scheduler",
            "socket_owner",
            "store",
            "streaming",
            "views",
            "web",
            "wire",
        ],
    ),
    (
        "lifecycle",
        &[
            "accounts",
            "api",
            "channel",
            "clock",
            "config",
            "engine",
            "fs",
            "ipc",
            "market",
            "model",
            "process_stat",
            "server",
            "sim::what_if",
            "store",
            "views",
            "web",
            "wire",
        ],
    ),
    ("supervisor", &["channel", "process_stat"]),
    ("streaming", &["config", "fs", "http", "model", "supervisor", "wire"]),
    (
        "worker",
        &[
            "accounts",
            "api",
            "channel",
            "clock",
            "config",
            "fs",
            "http",
            "ipc",
            "model",
            "socket_owner",
            "streaming",
            "supervisor",
            "wire",
        ],
    ),
    ("client", &["api", "config", "fs", "http", "ipc", "market", "model", "streaming", "wire"]),
    // Reached by the simulator, tests, load and benchmarks.
    ("fake_tracker", &["api", "model", "wire"]),
    ("sim", &["api", "engine", "fake_tracker", "mapreduce", "market", "model", "scheduler", "wire"]),
    (
        "demo",
        &["api", "client", "clock", "config", "fs", "lifecycle", "log", "market", "model", "supervisor", "worker"],
    ),
    (
        "cli",
        &[
            "api",
            "client",
            "clock",
            "config",
            "demo",
            "fs",
            "lifecycle",
            "log",
            "market",
            "model",
            "sim",
            "store",
            "supervisor",
            "worker",
        ],
    ),
];

/// Names that no pure room uses, each with its reason.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "runtimes belong to the edges"),
    ("async", "a step is done when it returns"),
    ("await", "a step is done when it returns"),
    ("Instant", "time comes with the event"),
    ("SystemTime", "time comes with the event"),
    ("rand", "random bytes come with the event"),
    ("getrandom", "random bytes come with the event"),
    ("HashMap", "its order is random: BTreeMap, or FxHashMap that is never iterated"),
    ("HashSet", "its order is random: BTreeSet, or FxHashSet that is never iterated"),
    ("RandomState", "its order is random"),
    ("Mutex", "one owner, no locks"),
    ("RwLock", "one owner, no locks"),
    ("thread_local", "one owner, no hidden state"),
    ("rusqlite", "the store writes facts"),
];

/// Modules of `std` that no pure room uses.
const IMPURE_STD: &[&str] = &["std::fs", "std::net", "std::thread", "std::process", "std::env", "std::os"];

/// Files that handle Hadoop's own floats: progress of tasks and applications, load of trackers and its cap, numbers in texts. Never money,
/// never a key of an order.
pub const FLOATS: &[&str] = &[
    "src/api/applications/application_report.rs",
    "src/api/applications/application_status.rs",
    "src/engine/on/snapshot.rs",
    "src/engine/on/watched.rs",
    "src/engine/state/applications/report.rs",
    "src/mapreduce/attempt.rs",
    "src/mapreduce/job.rs",
    "src/mapreduce/launch.rs",
    "src/mapreduce/report.rs",
    "src/mapreduce/task.rs",
    "src/mapreduce/view.rs",
    "src/scheduler/capacity/java_float.rs",
    "src/scheduler/fair/load_cap.rs",
    "src/sim/attempt.rs",
    "src/sim/what_if/play_tracker.rs",
    "src/wire/job.rs",
    "src/wire/job/codec.rs",
    "src/wire/reader.rs",
    "src/wire/report.rs",
    "src/wire/task_status.rs",
    "src/wire/tracker.rs",
    "src/wire/writer.rs",
];

fn is_pure(file: &Source) -> bool {
    file.room().is_some_and(|room| PURE.contains(&room)) && !file.is_test()
}

/// Pure rooms use nothing that reads the world.
pub fn purity(file: &Source) -> Vec<Finding> {
    if !is_pure(file) {
        return Vec::new();
    }
    let named = IMPURE.iter().flat_map(|(name, why)| {
        file.lines_with(name).into_iter().map(move |line| file.finding(line, "pure room", format!("{name}: {why}")))
    });
    let of_std = paths_under(&file.code, "std")
        .into_iter()
        .filter(|(_, path)| IMPURE_STD.iter().any(|module| path == module || path.starts_with(&format!("{module}::"))))
        .map(|(line, path)| {
            file.finding(line, "pure room", format!("{path}: files, sockets and threads are for edges"))
        });
    named.chain(of_std).collect()
}

/// No floats in pure rooms but in the files that handle Hadoop's.
pub fn floats(file: &Source, allowed: &[&str]) -> Vec<Finding> {
    if !is_pure(file) {
        return Vec::new();
    }
    let mut lines: Vec<usize> = ["f32", "f64"].into_iter().flat_map(|name| file.lines_with(name)).collect();
    lines.extend(float_literals(&file.code));
    let stands_in_list = allowed.contains(&file.path.as_str());
    match (lines.is_empty(), stands_in_list) {
        (true, true) => vec![file.finding(1, "no floats", "uses none any more: take it off the list FLOATS")],
        (false, false) => lines
            .into_iter()
            .map(|line| file.finding(line, "no floats", "integers only; see FLOATS in tests/tidy/rooms.rs"))
            .collect(),
        _ => Vec::new(),
    }
}

fn float_literals(code: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    (1..bytes.len().saturating_sub(1))
        .filter(|&dot| bytes[dot] == b'.' && bytes[dot - 1].is_ascii_digit() && bytes[dot + 1].is_ascii_digit())
        .filter(|&dot| {
            // `pair.0.1` is no number.
            let digits = code[..dot].bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
            dot == digits || bytes[dot - digits - 1] != b'.'
        })
        .map(|dot| line_of(code, dot))
        .collect()
}

/// A room names only the rooms that the table lets it name.
pub fn dependencies(file: &Source) -> Vec<Finding> {
    const RULE: &str = "who may name whom";
    let Some(room) = file.room().filter(|_| !file.is_test()) else { return Vec::new() };
    let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == room) else {
        return vec![file.finding(
            1,
            RULE,
            format!("{room} is no known room; MAY_NAME in tests/tidy/rooms.rs lists them"),
        )];
    };
    let may = |path: &str| {
        let other = path.strip_prefix("crate::").unwrap_or(path);
        let of_room = other.split("::").next().unwrap_or(other);
        of_room == room || allowed.iter().any(|entry| *entry == of_room || *entry == other)
    };
    let mut found: Vec<Finding> = paths_under(&file.code, "crate")
        .into_iter()
        .filter(|(_, path)| !may(path))
        .map(|(line, path)| file.finding(line, RULE, format!("{room} may not name {path}")))
        .collect();
    found.extend(leaving_by_super(file));
    found
}

/// Permissions that no code of a room that exists makes use of: they would let in tomorrow what nobody decided.
pub fn unused_permissions(tree: &[Source]) -> Vec<String> {
    let code_of = |room: &'static str| tree.iter().filter(move |file| file.room() == Some(room) && !file.is_test());
    let mut unused = Vec::new();
    for (room, allowed) in MAY_NAME {
        let named: Vec<String> =
            code_of(room).flat_map(|file| paths_under(&file.code, "crate")).map(|(_, path)| path + "::").collect();
        let uses = |entry: &&&str| named.iter().any(|path| path.starts_with(&format!("crate::{entry}::")));
        unused.extend(allowed.iter().filter(|entry| !uses(entry)).map(|entry| format!("{room} names no {entry}")));
    }
    unused
}

/// Other rooms are named from the root, so that the rule above sees them.
fn leaving_by_super(file: &Source) -> Vec<Finding> {
    let depth = file.path.trim_end_matches("/mod.rs").trim_end_matches(".rs").split('/').count() - 1;
    let chain = ["super"].repeat(depth).join("::");
    let leaves = |&at: &usize| !file.code[..at].ends_with("super::");
    word_positions(&file.code, &chain)
        .filter(leaves)
        .map(|at| file.finding(line_of(&file.code, at), "who may name whom", "leaves its room by super: say crate::"))
        .collect()
}

/// Paths that begin with `root`, groups spread out, at most three names long: `std::{fs, io::Read}` gives `std::fs` and
/// `std::io::Read`.
fn paths_under(code: &str, root: &str) -> Vec<(usize, String)> {
    let start = format!("{root}::");
    word_positions(code, &start)
        .flat_map(|at| {
            let line = line_of(code, at);
            spread(&code[at + start.len()..], 2).into_iter().map(move |path| (line, path))
        })
        .map(|(line, path)| (line, format!("{root}::{path}")))
        .collect()
}

/// The first `names` names of the path or of each path of the group that `text` begins with.
fn spread(text: &str, names: usize) -> Vec<String> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return group_entries(group).into_iter().flat_map(|entry| spread(entry, names)).collect();
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.trim_start().strip_prefix("::") {
        Some(more) if names > 1 => {
            let inner = spread(more, names - 1);
            inner
                .into_iter()
                .map(|path| if path.is_empty() { name.to_owned() } else { format!("{name}::{path}") })
                .collect()
        }
        _ => vec![name.to_owned()],
    }
}

fn group_entries(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut entries) = (0_u32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                entries.push(group[from..at].trim());
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

mod proofs {
    use super::*;

    fn source(path: &str, code: &str) -> Source {
        Source::new(path, code)
    }

    #[test]
    fn what_reads_the_world_is_found_in_pure_rooms_only() {
        for bad in [
            "use std::fs::File;",
            "use std::{collections::BTreeMap, net::TcpStream};",
            "std::thread::spawn(f);",
            "tokio::spawn(f);",
            "let now = Instant::now();",
            "use std::time::SystemTime;",
            "use std::collections::HashMap;",
            "let set: HashSet<u8>;",
            "getrandom::fill(&mut bytes);",
            "lock: Mutex<u8>,",
            "async fn f() {}",
        ] {
            assert_eq!(purity(&source("src/engine/bad.rs", bad)).len(), 1, "{bad}");
            assert_eq!(purity(&source("src/server/good.rs", bad)), [], "{bad}");
        }
        assert_eq!(purity(&source("src/market/good.rs", "use std::{fmt, sync::Arc}; FxHashMap")), []);
    }

    #[test]
    fn floats_are_found_and_the_list_must_be_used() {
        for bad in ["let a: f64 = b;", "let a = 1.5;"] {
            assert_eq!(floats(&source("src/market/bad.rs", bad), FLOATS).len(), 1, "{bad}");
        }
        assert_eq!(floats(&source("src/market/good.rs", "pair.0.1; 0..10"), FLOATS), []);
        assert_eq!(floats(&source("src/wire/a.rs", "f32"), &["src/wire/a.rs"]), []);
        assert_eq!(floats(&source("src/wire/a.rs", "u32"), &["src/wire/a.rs"]).len(), 1);
    }

    #[test]
    fn permissions_that_nobody_uses_are_found() {
        let unused = unused_permissions(&[
            source("src/mapreduce/a.rs", "use crate::model::Now; use crate::wire::Text;"),
            source("src/config/a.rs", "// crate::fs::FileUri"),
        ]);
        let of_mapreduce: Vec<&String> = unused.iter().filter(|line| line.starts_with("mapreduce ")).collect();
        assert_eq!(of_mapreduce, ["mapreduce names no scheduler"]);
        assert!(unused.iter().any(|line| line == "config names no fs"), "{unused:?}");
    }

    #[test]
    fn rooms_name_only_whom_they_may() {
        for (path, bad) in [
            ("src/scheduler/a.rs", "use crate::wire::Text;"),
            ("src/mapreduce/a.rs", "crate::server::serve();"),
            ("src/mapreduce/a.rs", "use crate::engine::Engine;"),
            ("src/wire/a.rs", "use crate::{wire::Text, config::Settings};"),
            ("src/wire/job/codec.rs", "use super::super::super::market::Acl;"),
            ("src/engine/mod.rs", "use super::store::Store;"),
            ("src/store/a.rs", "use crate::web;"),
            ("src/newroom/a.rs", ""),
        ] {
            assert_eq!(dependencies(&source(path, bad)).len(), 1, "{path}: {bad}");
        }
        for (path, good) in [
            ("src/mapreduce/a.rs", "use crate::model::{FactNumber, Now}; use crate::wire::{Text, Utf8};"),
            ("src/wire/job/codec.rs", "use super::super::reader::Reader;"),
            ("src/engine/engine.rs", "use super::{Now, fact_log::FactLog};"),
        ] {
            assert_eq!(dependencies(&source(path, good)), [], "{path}: {good}");
        }
    }
}

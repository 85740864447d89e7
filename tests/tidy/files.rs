//! Files that others may have made are opened in one place: `src/fs`.

use crate::source::{Finding, Source, line_of};

const RULE: &str = "files are opened in src/fs";

/// What opens or reads a path in ways that wait for pipes, follow links or ask before they open.
const OPENERS: &[&str] = &[
    "File::open(",
    "File::options(",
    "OpenOptions::new(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::copy(",
    "tokio::fs",
];

/// Files that do so all the same, each with its reason.
pub const OPEN_THEMSELVES: &[(&str, &str)] = &[
    ("src/channel.rs", "/dev/null"),
    ("src/cli/signer.rs", "the key file of whoever calls, who may give a pipe on purpose"),
    ("src/client/job/jar.rs", "makes the job's jar, under a name that was free"),
    ("src/demo/scratch.rs", "makes files under names that were free, in a private folder of its own"),
    ("src/demo/word_check.rs", "output of its own jobs, in a private folder of its own"),
    ("src/log/log_end.rs", "its own stderr, once it is known to be a file"),
    ("src/process_stat.rs", "/proc of one process"),
    ("src/server/event_log/daily_file.rs", "a log in a folder of the operator, by a thread that nothing waits for"),
    ("src/socket_owner.rs", "lists of the kernel in /proc"),
    ("src/store/backup.rs", "a copy that it has just made"),
    ("src/store/budget_file/file.rs", "makes files under names that were free"),
    ("src/store/budget_file/in_place.rs", "writes to the budget file, and follows no link"),
    ("src/store/folder.rs", "makes files under names that were free; syncs folders of its own"),
    ("src/store/restore.rs", "the database of its own private folder, which it has locked"),
    ("src/store/state_file.rs", "the header of a file that whoever calls has named"),
    ("src/streaming/command_line.rs", "asks whether a program may be read"),
    ("src/streaming/private_files.rs", "private files of the worker, without following links"),
    ("src/streaming/segment_reader.rs", "map output that the worker has written into a private folder"),
    ("src/streaming/working_folder.rs", "the copy of a jar that the worker has made in a private folder"),
    ("src/supervisor/process_tree.rs", "/proc of its own processes"),
    ("src/web/stock/process.rs", "/proc of its own process, and limits of its control groups"),
    ("src/worker/containers/bag.rs", "/proc of the machine, and limits of control groups"),
    ("src/worker/containers/control_groups.rs", "files of control groups"),
];

/// No file of `src` outside `src/fs` opens paths by itself unless it stands in the list.
pub fn openers(file: &Source, excepted: &[(&str, &str)]) -> Vec<Finding> {
    if !file.path.starts_with("src/") || file.path.starts_with("src/fs/") || file.is_test() {
        return Vec::new();
    }
    let uses = OPENERS.iter().flat_map(|opener| {
        let places = file.code.match_indices(opener).filter(|(at, _)| {
            // `AclFile::open` is another one.
            !file.code[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
        });
        places.map(|(at, _)| (*opener, line_of(&file.code, at)))
    });
    let uses: Vec<_> = uses.collect();
    match (uses.is_empty(), excepted.iter().any(|(path, _)| *path == file.path)) {
        (true, true) => vec![file.finding(1, RULE, "opens none any more: take it off OPEN_THEMSELVES")],
        (false, false) => uses
            .into_iter()
            .map(|(opener, line)| {
                let advice = "use open_below, open_behind_links or open_named_by_conf; see OPEN_THEMSELVES in tests/tidy/files.rs";
                file.finding(line, RULE, format!("{opener} {advice}"))
            })
            .collect(),
        _ => Vec::new(),
    }
}

mod proofs {
    use super::*;

    #[test]
    fn what_opens_files_by_itself_is_found() {
        for code in [
            "File::open(path)",
            "std::fs::read(&path)",
            "fs::read_to_string(p)",
            "OpenOptions::new()",
            "tokio::fs::x()",
        ] {
            assert_eq!(openers(&Source::new("src/web/a.rs", code), &[]).len(), 1, "{code}");
            for path in ["src/fs/a.rs", "src/web/tests/a.rs", "tests/a.rs"] {
                assert_eq!(openers(&Source::new(path, code), &[]), [], "{path}");
            }
            assert_eq!(openers(&Source::new("src/web/a.rs", code), &[("src/web/a.rs", "why")]), []);
        }
        for code in ["AclFile::open(path)", "// File::open(path)", "fs::read_dir(path)"] {
            assert_eq!(openers(&Source::new("src/web/a.rs", code), &[]), [], "{code}");
            assert_eq!(openers(&Source::new("src/web/a.rs", code), &[("src/web/a.rs", "why")]).len(), 1);
        }
    }
}

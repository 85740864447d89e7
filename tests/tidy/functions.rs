//! Functions can be read at a glance, and fields belong to their type.

use crate::source::{Finding, Source, line_of, word_positions};

/// Lines of a function at most.
const MOST_LINES: usize = 60;

/// Functions that are longer, each with its file and the reason.
pub const LONG: &[(&str, &str, &str)] = &[
    ("src/api/pending_reason.rs", "fmt", "a sentence an arm"),
    ("src/config/error.rs", "fmt", "a message an arm"),
    ("src/engine/on/application_requests.rs", "answer_question", "a question an arm"),
    ("src/engine/on/audit.rs", "audited", "an event an arm"),
    ("src/engine/on/heartbeat.rs", "process_reports", "one pass over the reports, with what it collects"),
    ("src/engine/on/step.rs", "handle", "an event an arm"),
    ("src/engine/on/volatile.rs", "walk_volatile", "a stage an arm"),
    ("src/market/requests/handle_request.rs", "perform", "an operation an arm"),
    ("src/server/dispatch/job_submission.rs", "job_submission", "a call an arm"),
    ("src/server/quarantine/source.rs", "describe", "an event an arm"),
    ("src/store/tables/jobs.rs", "record", "a fact an arm"),
    ("src/web/applications/problem_name.rs", "explanation", "a text an arm"),
];

/// No function has more than [`MOST_LINES`], but for those that are listed; a listed one that is short, or gone, would stand there for ever.
pub fn length(file: &Source, long: &[(&str, &str, &str)]) -> Vec<Finding> {
    if file.is_test() || !file.path.starts_with("src/") {
        return Vec::new();
    }
    let listed: Vec<&str> = long.iter().filter(|(path, ..)| *path == file.path).map(|(_, name, _)| *name).collect();
    let found: Vec<(&str, usize, usize)> = functions(&file.code).filter(|(.., lines)| *lines > MOST_LINES).collect();
    let too_long = found.iter().filter(|(name, ..)| !listed.contains(name)).map(|(name, line, lines)| {
        file.finding(
            *line,
            "length of functions",
            format!("{name} has {lines} lines: name its steps (at most {MOST_LINES})"),
        )
    });
    let stale = listed.iter().filter(|name| !found.iter().any(|(found, ..)| found == *name));
    too_long.chain(stale.map(|name| file.finding(1, "length of functions", format!("{name} is not long")))).collect()
}

/// Who may see a field is its own type, or the room: no list of places in between.
pub fn open_fields(file: &Source) -> Vec<Finding> {
    let is_open = |line: &&str| {
        let field = line.trim_start().strip_prefix("pub(in ").and_then(|rest| rest.split_once(") "));
        field.is_some_and(|(_, rest)| rest.split_once(':').is_some_and(|(name, _)| !name.contains([' ', '('])))
    };
    let lines = file.code.lines().enumerate().filter(|(_, line)| is_open(line));
    lines.map(|(at, _)| file.finding(at + 1, "open fields", "private with methods, or pub(crate)")).collect()
}

/// Name, line and number of lines of each function with a body.
fn functions(code: &str) -> impl Iterator<Item = (&str, usize, usize)> {
    word_positions(code, "fn").filter_map(move |at| {
        let rest = code[at + 2..].trim_start();
        let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_')?];
        let end = at + body_end(&code[at..])?;
        Some((name, line_of(code, at), code[at..end].lines().count())).filter(|_| !name.is_empty())
    })
}

/// Where the first block ends; none for what ends by a semicolon before.
fn body_end(code: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

mod proofs {
    use super::*;

    #[test]
    fn long_functions_and_stale_names_of_them_are_found() {
        let with =
            |lines: usize| Source::new("src/a.rs", &format!("fn a(b: [u8; 2]) {{\n{}}}\n", "    c();\n".repeat(lines)));
        assert_eq!(length(&with(MOST_LINES - 2), &[]), []);
        assert_eq!(length(&with(MOST_LINES - 1), &[]).len(), 1);
        let listed = [("src/a.rs", "a", "why")];
        assert_eq!(length(&with(MOST_LINES - 1), &listed), []);
        assert_eq!(length(&with(1), &listed).len(), 1);
        assert_eq!(length(&Source::new("src/a.rs", "trait A { fn a(&self); }"), &[]), []);
    }

    #[test]
    fn fields_that_are_open_to_a_list_of_places_are_found() {
        let of = |line: &str| open_fields(&Source::new("src/a.rs", &format!("struct A {{\n    {line}\n}}\n")));
        assert_eq!(of("pub(in crate::engine) a: u32,").len(), 1);
        assert_eq!(of("pub(crate) a: u32,"), []);
        assert_eq!(of("pub(in crate::engine) fn a(b: u32) {}"), []);
    }
}

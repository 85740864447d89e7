//! Every command of the tree keeps the conventions.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::cli::command;

/// Commands that ask no JobTracker over the network: they run one, read files, or talk to the daemon of this machine.
const OF_THIS_MACHINE: &[&str] = &[
    "backup",
    "check-config",
    "completion",
    "demo",
    "pages",
    "reload",
    "restore",
    "scheduler plan",
    "scheduler show",
    "scheduler use",
    "serve",
    "simulate",
    "stop",
    "store init",
    "tasktracker",
    "upgrade",
    "user add",
    "user key",
    "user list",
    "user remove",
    "what-if",
];
const OPTIONS_OF_PLACE: [(&str, &str); 5] =
    [("server", "ADDRESS"), ("jobtracker", "ADDRESS"), ("conf", "DIR"), ("as", "NAME"), ("key-file", "FILE")];

/// The commands that do something, by what follows `jobtracker`.
fn leaves() -> BTreeMap<String, Command> {
    fn collect(command: &Command, path: &str, leaves: &mut BTreeMap<String, Command>) {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let path = format!("{path} {}", below.get_name()).trim().to_owned();
            match below.has_subcommands() {
                true => collect(below, &path, leaves),
                false => drop(leaves.insert(path, below.clone())),
            }
        }
    }
    let mut leaves = BTreeMap::new();
    collect(&command(), "", &mut leaves);
    leaves
}

fn options(command: &Command) -> BTreeMap<String, &Arg> {
    command.get_arguments().filter_map(|arg| Some((arg.get_long()?.to_owned(), arg))).collect()
}

fn help_of(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn clap_accepts_the_whole_tree() {
    command().debug_assert();
}

#[test]
fn every_command_that_asks_a_jobtracker_has_the_same_five_options_of_place() {
    let leaves = leaves();
    let (_, pattern) = leaves.iter().find(|(path, _)| *path == "job list").unwrap();
    let pattern = options(pattern);
    for (path, command) in leaves.iter().filter(|(path, _)| !OF_THIS_MACHINE.contains(&path.as_str())) {
        let options = options(command);
        for (word, value) in OPTIONS_OF_PLACE {
            let arg = options.get(word).unwrap_or_else(|| panic!("{path} has no --{word}"));
            let names: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
            assert_eq!(names, [value], "{path} --{word}");
            assert_eq!(help_of(arg), help_of(pattern[word]), "{path} --{word}");
        }
        assert!(options.contains_key("json"), "{path} has no --json");
    }
    let named: BTreeSet<&str> = leaves.keys().map(String::as_str).collect();
    assert!(OF_THIS_MACHINE.iter().all(|path| named.contains(path)), "a command is gone");
}

#[test]
fn commands_of_this_machine_name_its_daemon_by_the_same_options() {
    let leaves = leaves();
    let pattern = options(&leaves["serve"]);
    for path in
        OF_THIS_MACHINE.iter().filter(|path| !["completion", "demo", "pages", "simulate", "tasktracker"].contains(path))
    {
        let command = &leaves[*path];
        assert_eq!(help_of(options(command)["conf"]), help_of(pattern["conf"]), "{path}");
        assert!(command.get_arguments().any(|arg| arg.get_short() == Some('D')), "{path} has no -D");
    }
}

#[test]
fn user_filters_or_is_another_word_for_as() {
    let filtering = ["app kill", "app list", "job kill", "job list", "job priority", "report"];
    for (path, command) in leaves() {
        let options = options(&command);
        let asks = options.get("as").filter(|arg| arg.get_id() == ASKS);
        let is_alias = asks.is_some_and(|arg| arg.get_visible_aliases().unwrap_or_default().contains(&FILTERS));
        assert_eq!(options.contains_key(FILTERS), filtering.contains(&path.as_str()), "{path}");
        assert_eq!(options.contains_key("owner"), options.contains_key(FILTERS), "{path}");
        if asks.is_some() {
            assert_eq!(is_alias, !options.contains_key(FILTERS), "{path}");
        }
    }
}

#[test]
fn a_short_option_stands_for_the_same_word_everywhere() {
    for (path, command) in leaves() {
        for (word, arg) in options(&command) {
            let short = SHORTS.iter().find(|(of, _)| *of == word).map(|(_, short)| *short);
            let expected = short.filter(|_| path != "job submit" || !STREAMING_WORDS.contains(&word.as_str()));
            assert_eq!(arg.get_short(), expected, "{path} --{word}");
        }
    }
}

#[test]
fn the_same_word_takes_the_same_value_everywhere() {
    let mut values: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, command) in leaves() {
        for (word, arg) in options(&command).into_iter().filter(|(_, arg)| arg.get_action().takes_values()) {
            let names: Vec<String> =
                arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
            values.entry(word).or_default().entry(names.join(" ")).or_insert(path.clone());
        }
    }
    let several: BTreeMap<_, _> = values.into_iter().filter(|(_, names)| names.len() > 1).collect();
    let words: Vec<&str> = several.keys().map(String::as_str).collect();
    // A variable or a file in one way or in two, a backup of the state, virtual time.
    assert_eq!(words, ["env", "file", "state", "until"], "{several:#?}");
}

#[test]
fn every_help_has_examples_that_the_command_accepts_and_ends_with_the_manual() {
    for (path, mut command) in leaves() {
        let help = command.render_long_help().to_string();
        assert!(help.contains("\nExamples:\n  jobtracker "), "jobtracker {path} has no example");
        let manual = format!("Manual: man jobtracker-{}", path.replace(' ', "-"));
        assert_eq!(help.trim_end().lines().last(), Some(manual.as_str()), "{path}");
    }
    let leaves = leaves();
    for (line, _) in EXAMPLES {
        assert!(
            leaves.keys().any(|path| is_of(line, &format!("jobtracker {path}"))),
            "{line}: there is no such command"
        );
        if let Err(error) = command().try_get_matches_from(words_of(line)) {
            panic!("{line}: {error}");
        }
    }
}

/// Texts of pages, answers and documents that name a command of a group, such as `jobtracker job status`.
#[test]
fn every_command_that_a_text_names_is_one() {
    fn texts(folder: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_text = |end: &str| entry.extension().is_some_and(|found| found == end);
            if entry.is_dir() {
                texts(&entry, found);
            } else if ["rs", "md", "html", "js", "py", "json", "toml", "yml"].into_iter().any(is_text) {
                found.push((entry.display().to_string(), std::fs::read_to_string(&entry).unwrap()));
            }
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![("README.md".to_owned(), std::fs::read_to_string(root.join("README.md")).unwrap())];
    for folder in ["src", "docs", "templates", "static", "etc", "python"] {
        texts(&root.join(folder), &mut found);
    }
    let command = command();
    let groups: Vec<&Command> = command.get_subcommands().filter(|group| group.has_subcommands()).collect();
    let (mut named, mut wrong) = (0, Vec::new());
    for (file, text) in &found {
        for group in &groups {
            let start = format!("jobtracker {} ", group.get_name());
            for (at, _) in text.match_indices(&start) {
                let rest = &text[at + start.len()..];
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
                let word = &rest[..end];
                let is_known = word.is_empty() || word.starts_with('-') || word == "help";
                named += 1;
                if !is_known && group.find_subcommand(word).is_none() {
                    wrong.push(format!("{file}: {start}{word}"));
                }
            }
        }
    }
    assert!(named > 200, "{named} are found");
    assert_eq!(wrong, [""; 0]);
}

/// As a shell reads it: words, with single quotes, up to where the output goes.
fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in line.split(" > ").next().unwrap().chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

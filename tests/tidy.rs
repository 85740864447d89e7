//! Holds the tree to its written style: what each room may know, what a file looks like, and that documents are true
//! where a machine can tell. Each rule is a function with a proof beside it that it can fail.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/engine.rs"]
mod engine;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/keys.rs"]
mod keys;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/style.rs"]
mod style;
#[path = "tidy/words.rs"]
mod words;

use std::os::unix::fs::PermissionsExt;
use std::sync::LazyLock;

use source::{Finding, Source};

static TREE: LazyLock<Vec<Source>> = LazyLock::new(source::tree);

fn exists(path: &str) -> bool {
    source::root().join(path).exists()
}

fn executable(path: &str) -> bool {
    source::root().join(path).metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o100 != 0)
}

fn file(path: &str) -> &'static Source {
    TREE.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is missing"))
}

/// Fails with all that `rule` finds in the tree, one line each.
#[track_caller]
fn holds(rule: impl Fn(&Source) -> Vec<Finding>) {
    none(TREE.iter().flat_map(rule).collect());
}

#[track_caller]
fn none(found: Vec<Finding>) {
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn pure_rooms_read_nothing_of_the_world() {
    holds(rooms::purity);
}

#[test]
fn money_and_orders_have_no_floats() {
    holds(|file| rooms::floats(file, rooms::FLOATS));
    for path in rooms::FLOATS {
        // A listed file that is gone would stand in the list for ever.
        assert_eq!(file(path).path, *path);
    }
}

#[test]
fn files_that_others_may_have_made_are_opened_in_one_place() {
    holds(|file| files::openers(file, files::OPEN_THEMSELVES));
    for (path, _) in files::OPEN_THEMSELVES {
        assert_eq!(file(path).path, *path);
    }
}

#[test]
fn rooms_name_only_whom_they_may() {
    holds(rooms::dependencies);
}

#[test]
fn permissions_of_rooms_are_used() {
    assert_eq!(rooms::unused_permissions(&TREE), [""; 0]);
}

#[test]
fn configuration_keys_are_acted_on_or_say_that_they_are_not() {
    none(keys::unread_keys(&TREE, keys::WAITING));
    none(keys::unread_fields(&TREE, keys::WAITING));
}

#[test]
fn files_of_a_room_make_no_circle() {
    none(circles::circles(&TREE));
}

#[test]
fn rooms_of_the_engine_name_only_whom_they_may() {
    holds(engine::arrows);
    assert_eq!(engine::call_circles(&TREE), [""; 0]);
    assert_eq!(file("src/engine/mod.rs").code.matches("pub struct Engine {").count(), 1);
}

#[test]
fn scripts_and_functions_are_small() {
    holds(style::size);
    holds(|file| functions::length(file, functions::LONG));
    for (path, ..) in functions::LONG {
        assert_eq!(file(path).path, *path);
    }
}

#[test]
fn fields_are_open_to_no_list_of_places() {
    holds(functions::open_fields);
}

#[test]
fn files_are_named_for_what_is_inside() {
    holds(style::name);
}

#[test]
fn files_tell_what_lives_in_them() {
    holds(style::first_words);
}

#[test]
fn nothing_panics_outside_tests() {
    holds(style::panics);
}

#[test]
fn nothing_speaks_of_its_making() {
    holds(prose::making);
}

#[test]
fn texts_are_in_plain_words() {
    holds(|file| words::banned_words(file, words::EXCEPTIONS));
    assert_eq!(words::unused_exceptions(&TREE, words::EXCEPTIONS), [""; 0]);
    assert!(words::EXCEPTIONS.len() <= words::MAX_EXCEPTIONS);
}

#[test]
fn links_lead_somewhere() {
    holds(|file| prose::links(file, &TREE, exists));
}

#[test]
fn documents_name_code_that_exists() {
    holds(|file| prose::named_code(file, &TREE, exists));
}

#[test]
fn readme_has_exactly_two_commands() {
    none(prose::two_commands(file("README.md"), file(".ci/run"), executable));
}

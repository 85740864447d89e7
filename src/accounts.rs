//! Users of this machine, as its directory servers know them too: by the programs `id` and `getent`, without a call of libc. Blocking: a
//! lookup may wait for a directory server.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::fs::Account;
use crate::program;
use crate::program::ProgramError;

/// Timeout of a lookup.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum output of a lookup, bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Longest user name that is looked up, bytes.
const MAX_NAME_BYTES: usize = 256;
/// Names that one lookup is for.
const MAX_NAMES: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginUser {
    pub(crate) name: String,
    pub(crate) uid: u32,
    /// The id of the first group.
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    /// The home folder; `/` where none is named.
    pub(crate) home: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("`{program}` {source}")]
    Program { program: &'static str, source: ProgramError },
    #[error("`{program}` printed {printed:?}; expected {expected}")]
    Answer { program: &'static str, printed: String, expected: &'static str },
}

/// Whether a name may be passed to `id`, which takes a number as a user id: a user named 0 would be in the groups of root.
pub(crate) fn is_plain(user: &str) -> bool {
    let is_first = |first: char| first.is_alphabetic() || first == '_';
    let is_next = |next: char| next.is_alphanumeric() || "._-@$".contains(next);
    user.len() <= MAX_NAME_BYTES && user.starts_with(is_first) && user.chars().all(is_next)
}

/// Runs `id -u`; `None` if this machine does not know the name.
pub(crate) fn query_uid(program: &str, user: &str) -> Option<u32> {
    let ran = program::run(Command::new(program).args(["-u", "--", user]), TIMEOUT, MAX_OUTPUT_BYTES);
    match ran {
        Ok(ran) => String::from_utf8_lossy(&ran.stdout).trim().parse().ok(),
        Err(error) => {
            tracing::warn!("`{program} -u` {error}");
            None
        }
    }
}

/// Those of some user names that this machine and its directory servers do not know; none where they cannot be asked.
pub(crate) fn unknown_users(names: &BTreeSet<&str>) -> BTreeSet<String> {
    unknown("passwd", names)
}

pub(crate) fn unknown_groups(names: &BTreeSet<&str>) -> BTreeSet<String> {
    unknown("group", names)
}

/// One call of `getent` for all of them: it prints a line of each that it finds.
fn unknown(database: &str, names: &BTreeSet<&str>) -> BTreeSet<String> {
    let asked: Vec<&str> = names.iter().copied().filter(|name| is_plain(name)).take(MAX_NAMES).collect();
    let arguments: Vec<&str> = [database, "--"].into_iter().chain(asked.iter().copied()).collect();
    let found = match asked.is_empty() {
        true => String::new(),
        false => match printed("getent", &arguments) {
            Ok(found) => found,
            Err(_) => return BTreeSet::new(),
        },
    };
    let found: BTreeSet<&str> = found.lines().filter_map(|line| line.split(':').next()).collect();
    asked.into_iter().filter(|name| !found.contains(name)).map(str::to_owned).collect()
}

impl LoginUser {
    /// The user of a name; `None` if this machine does not know it.
    pub(crate) fn find(name: &str) -> Result<Option<Self>, LookupError> {
        if !is_plain(name) {
            return Ok(None);
        }
        let account = match Account::named(name) {
            Some(account) => Some(account),
            None => Account::named_in(&printed("getent", &["passwd", "--", name])?, name),
        };
        let Some(Account { name, uid, gid, home }) = account else { return Ok(None) };
        let ids = printed("id", &["-G", "--", &name])?;
        let groups: Result<Vec<u32>, _> = ids.split_whitespace().map(str::parse).collect();
        let no_groups = || {
            let printed = ids.chars().take(64).collect();
            LookupError::Answer { program: "id", printed, expected: "the numbers of the user's groups" }
        };
        let groups = groups.map_err(|_| no_groups())?;
        let gid = gid.or(groups.first().copied()).ok_or_else(no_groups)?;
        let home = if home.is_empty() { "/".to_owned() } else { home };
        Ok(Some(Self { name, uid, gid, groups, home }))
    }
}

/// What a program prints; nothing where it ends with an error, as these do for unknown names.
fn printed(program: &'static str, arguments: &[&str]) -> Result<String, LookupError> {
    let ran = program::run(Command::new(program).args(arguments), TIMEOUT, MAX_OUTPUT_BYTES);
    let ran = ran.map_err(|source| LookupError::Program { program, source })?;
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_home_and_groups() {
        let root = LoginUser::find("root").unwrap().unwrap();
        assert_eq!((root.uid, root.gid, root.home.as_str()), (0, 0, "/root"));
        assert!(root.groups.contains(&0), "{root:?}");
    }

    #[test]
    fn names_that_this_machine_does_not_know_are_found_in_one_call() {
        let names = BTreeSet::from(["root", "no_such_name", "-x", "0"]);
        let expected = BTreeSet::from(["no_such_name".to_owned()]);
        assert_eq!([unknown_users(&names), unknown_groups(&names)], [expected.clone(), expected]);
    }

    #[test]
    fn numbers_options_and_unknown_names_are_no_users() {
        for name in ["0", "-u", "", "no such user", "no_such_user_here"] {
            assert!(LoginUser::find(name).unwrap().is_none(), "{name}");
        }
        assert_eq!((query_uid("id", "root"), query_uid("/no/such/program", "root")), (Some(0), None));
    }
}

//! A look at files before a start: everything that is wrong with the market's, where a start names the first, and the words in the files of
//! hosts that can be the name of no host.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::config::error::Warning;
use crate::config::settings::{BudgetStoreKind, MarketSettings};
use crate::config::{ConfigError, NamedValue, keys};
use crate::fs::{access_of_others, open_named_by_conf};
use crate::market::{Acl, BudgetLine, Role};
use crate::model::counted;
use crate::server::{AclFileError, read_all_users, retiring_path};
use crate::store::{
    BudgetBackEnd as _, BudgetBackEndError, CommandBackEnd, PostgresBackEnd, read_all_budgets, read_state_name,
};

use super::serve_error::ServeError;

/// What is wrong with the files, and what may be.
#[derive(Debug, Default)]
pub(crate) struct FileFindings {
    /// A start would fail with the first.
    pub(crate) errors: Vec<ServeError>,
    /// What a start accepts.
    pub(crate) warnings: Vec<FileWarning>,
    /// What has the image of the budgets, where it was reached.
    pub(crate) store: Option<String>,
}

/// What is suspicious about files that a start accepts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileWarning {
    /// No user may add money or queues.
    #[error("{file} has no administrator; expected a line `USER admin KEY`", file = .file.display())]
    NoAdmin { file: PathBuf },
    /// Others can read the keys, or change what the file says.
    #[error("{file} is {access} for others: run chmod o-rwx {file}", file = .file.display())]
    OpenToOthers {
        file: PathBuf,
        /// `readable`, `writable` or both.
        access: &'static str,
    },
    /// Budgets cannot be published.
    #[error("this user cannot write {file}: {reason}; expected a file that the daemon's user may write", file = .file.display())]
    NotWritable {
        file: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Users that cannot submit.
    #[error("{file} has no queue of {users}; add one: jobtracker queue add NAME", file = .file.display())]
    UsersWithoutQueue { file: PathBuf, users: ShownNames },
    /// A key that is guessed at once.
    #[error("{file}: the key of {user} is shorter than {LEAST_KEY_BYTES} letters: anybody guesses it; jobtracker user key {user} makes another", file = .file.display())]
    ShortKey { file: PathBuf, user: String },
    /// Each of these users can sign as the others.
    #[error("{file}: {users} have the same key: each of them can sign as the others; jobtracker user key NAME makes another", file = .file.display())]
    SharedKey { file: PathBuf, users: ShownNames },
    /// A value that a start accepts.
    #[error("{culprit} {remark}")]
    Value { culprit: Box<NamedValue>, remark: String },
    /// A line of a file of hosts.
    #[error("{file}:{line}: {remark}", file = .file.display())]
    Line { file: PathBuf, line: u32, remark: String },
    /// A folder of the daemon.
    #[error("{0}")]
    Folder(String),
    /// A remark on the files of the scheduler that rules.
    #[error("{0}")]
    Configuration(Warning),
    /// Queues into which no user can submit.
    #[error("{file} has no user for the queues {queues}", file = .file.display())]
    QueuesWithoutUser { file: PathBuf, queues: ShownNames },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownNames(Vec<String>);

/// Bytes of the shortest key that is not named.
const LEAST_KEY_BYTES: usize = 4;
/// Names that a text writes out.
const SHOWN_NAMES: usize = 5;

/// Looks at the ACL file and the budget file, and changes nothing. A missing file is named where the settings are read.
/// Without a budget file, another back-end has the budgets.
pub(crate) fn check_market_files(acl_file: &Path, budget_file: Option<&Path>) -> FileFindings {
    let mut findings = FileFindings::default();
    let users = findings.check_acl(acl_file, keys::ACL_FILE.name);
    let Some(budget_file) = budget_file else { return findings };
    let queues = findings.check_budgets(budget_file);
    if let (Some(users), Some(queues)) = (users, queues) {
        findings.warnings.extend(users_without_queue(&users, &queues, budget_file));
        findings.warnings.extend(queues_without_user(&users, &queues, acl_file));
    }
    findings
}

impl FileFindings {
    /// Leaves out what the errors of the configuration say already: a file that cannot be opened.
    pub(crate) fn leave_out_named(&mut self, errors: &[ConfigError]) {
        let is_named =
            |name: &str| errors.iter().any(|error| matches!(error, ConfigError::NamedFile { key, .. } if *key == name));
        self.errors.retain(|error| match error {
            ServeError::Acl(AclFileError::File { key, .. }) => !is_named(key),
            ServeError::Budget(BudgetBackEndError::File { .. }) => !is_named(keys::BUDGET_FILE.name),
            _ => true,
        });
    }

    /// Looks into the store of budgets, where it is not a file: whether it can be read, whose accounts it has, and whether it
    /// belongs to this state database, if there is one.
    pub(crate) fn check_store(&mut self, market: &MarketSettings, state: &Path) {
        let (place, found) = match &market.budget_store {
            BudgetStoreKind::File(path) => {
                self.store = Some(format!("{}: a file; there is nothing to connect to", path.display()));
                return;
            }
            BudgetStoreKind::Command(words) => {
                let mut program = CommandBackEnd::new(words.clone());
                (program.place(), program.load())
            }
            BudgetStoreKind::Postgres(postgres) => {
                // Without a database that can be read the start says why.
                let name = if state.exists() { read_state_name(state) } else { Ok(None) };
                let name = name.ok().map(Option::unwrap_or_default);
                (postgres.url.clone(), PostgresBackEnd::look(postgres.clone(), name.as_deref()))
            }
        };
        let store = match &found {
            Ok(queues) => format!("reached; {}", counted(queues.len(), "account")),
            Err(_) => "not as a start needs it; see the error".to_owned(),
        };
        self.store = Some(format!("{place}: {store}"));
        match (found, read_all_users(&market.acl_file, keys::ACL_FILE.name)) {
            (Err(error), _) => self.errors.push(ServeError::Budget(error)),
            (Ok(queues), Ok((users, errors))) if errors.is_empty() => {
                self.warnings.extend(users_without_queue(&users, &queues, Path::new(&place)));
                self.warnings.extend(queues_without_user(&users, &queues, &market.acl_file));
            }
            // The ACL file's errors are known.
            (Ok(_), _) => {}
        }
    }

    /// After the first start a budget file with wrong lines is set aside, and keeps nothing from starting.
    pub(super) fn forgive_budget_lines(&mut self) {
        let is_line = |error: &ServeError| matches!(error, ServeError::Budget(BudgetBackEndError::Line(_)));
        let (lines, errors) = std::mem::take(&mut self.errors).into_iter().partition(is_line);
        self.errors = errors;
        let said =
            |error: ServeError| format!("{error}; a start sets the file aside, and balances stay as in state.db");
        self.warnings.extend(Vec::into_iter(lines).map(said).map(FileWarning::Folder));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.warnings.extend(other.warnings);
        self.store = self.store.take().or(other.store);
    }

    /// Looks at a file of keys that is not the market's.
    pub(crate) fn check_keys(&mut self, acl_file: &Path) {
        self.check_acl(acl_file, keys::CONTAINERS_ACL_FILE.name);
    }

    fn check_acl(&mut self, path: &Path, key: &'static str) -> Option<Acl> {
        let (acl, errors) = read_all_users(path, key).map_err(|error| self.errors.push(ServeError::Acl(error))).ok()?;
        let is_good = errors.is_empty();
        self.errors.extend(errors.into_iter().map(|error| ServeError::Acl(error.into())));
        self.check_mode(path);
        self.check_mode(&retiring_path(path));
        self.check_strength(path, &acl);
        if is_good && acl.admins() == 0 {
            self.warnings.push(FileWarning::NoAdmin { file: path.to_owned() });
        }
        is_good.then_some(acl)
    }

    /// Keys that protect no user. A warning never has one.
    fn check_strength(&mut self, path: &Path, acl: &Acl) {
        let mut users_by_key: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
        for (user, entry) in acl.users().filter_map(|user| Some((user, acl.get(user)?))) {
            users_by_key.entry(entry.key.as_bytes()).or_default().push(user);
            if entry.key.as_bytes().len() < LEAST_KEY_BYTES {
                self.warnings.push(FileWarning::ShortKey { file: path.to_owned(), user: user.to_owned() });
            }
        }
        let shared = users_by_key.into_values().filter(|users| users.len() > 1);
        let shared = shared.filter_map(|users| ShownNames::of(users.into_iter()));
        self.warnings.extend(shared.map(|users| FileWarning::SharedKey { file: path.to_owned(), users }));
    }

    /// A missing file is open to none.
    fn check_mode(&mut self, path: &Path) {
        if let Some(access) = std::fs::metadata(path).ok().and_then(|metadata| access_of_others(&metadata)) {
            self.warnings.push(FileWarning::OpenToOthers { file: path.to_owned(), access });
        }
    }

    fn check_budgets(&mut self, path: &Path) -> Option<Vec<BudgetLine>> {
        let (lines, errors) = match read_all_budgets(path) {
            Ok(read) => read,
            Err(BudgetBackEndError::Missing { .. }) => return None,
            Err(error) => {
                self.errors.push(ServeError::Budget(error));
                return None;
            }
        };
        let is_good = errors.is_empty();
        self.errors.extend(errors.into_iter().map(|error| ServeError::Budget(error.into())));
        let access = std::fs::metadata(path).ok().and_then(|metadata| access_of_others(&metadata));
        // Balances are no secret that the file could keep: who may write it moves money.
        if let Some(access) = access.filter(|access| access.contains("writable")) {
            self.warnings.push(FileWarning::OpenToOthers { file: path.to_owned(), access });
        }
        if let Err(error) = rustix::fs::access(path, Access::WRITE_OK) {
            self.warnings.push(FileWarning::NotWritable { file: path.to_owned(), reason: error.to_string() });
        }
        is_good.then_some(lines)
    }
}

/// Administrators need none.
fn users_without_queue(users: &Acl, queues: &[BudgetLine], budget_file: &Path) -> Option<FileWarning> {
    let queues: BTreeSet<&str> = queues.iter().map(|line| line.queue.as_str()).collect();
    let is_admin = |user: &str| users.get(user).is_some_and(|entry| entry.role == Role::Admin);
    let names = ShownNames::of(users.users().filter(|user| !is_admin(user) && !queues.contains(user)))?;
    Some(FileWarning::UsersWithoutQueue { file: budget_file.to_owned(), users: names })
}

fn queues_without_user(users: &Acl, queues: &[BudgetLine], acl_file: &Path) -> Option<FileWarning> {
    let queues = queues.iter().map(|line| line.queue.as_str());
    let names = ShownNames::of(queues.filter(|queue| users.get(queue).is_none()))?;
    Some(FileWarning::QueuesWithoutUser { file: acl_file.to_owned(), queues: names })
}

/// The names as a text has them; none for none.
pub(super) fn names_of<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    ShownNames::of(names).map(|names| names.to_string())
}

impl ShownNames {
    /// None for none.
    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Option<Self> {
        let names: Vec<String> = names.map(str::to_owned).collect();
        (!names.is_empty()).then_some(Self(names))
    }
}

impl fmt::Display for ShownNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().take(SHOWN_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.0.len().saturating_sub(SHOWN_NAMES) {
            0 => formatter.write_str(&shown),
            more => write!(formatter, "{shown} and {more} more"),
        }
    }
}

/// Maximum size of a file that is looked at, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Most words that are named.
const MOST_NAMED: usize = 20;

/// Words that admit or exclude no host, and hosts that are in both files. A file that cannot be read is named elsewhere.
pub(super) fn check_hosts(included: Option<&Path>, excluded: Option<&Path>) -> Vec<FileWarning> {
    let mut found = Vec::new();
    let included = included.map(|path| (path, words(path))).unwrap_or((Path::new(""), Vec::new()));
    let excluded = excluded.map(|path| (path, words(path))).unwrap_or((Path::new(""), Vec::new()));
    for (path, words) in [&included, &excluded] {
        let faults = words.iter().filter_map(|(line, word)| Some((*line, fault(word)?)));
        found.extend(faults.map(|(line, remark)| FileWarning::Line { file: (*path).to_owned(), line, remark }));
    }
    let first: BTreeMap<&str, u32> = included.1.iter().map(|(line, word)| (word.as_str(), *line)).collect();
    let both = excluded.1.iter().filter_map(|(line, word)| Some((*line, word, first.get(word.as_str())?)));
    // One file under both keys has a warning of its own.
    found.extend(both.filter(|_| included.0 != excluded.0).map(|(line, word, first)| FileWarning::Line {
        file: excluded.0.to_owned(),
        line,
        remark: format!("{word} is also at line {first} of {}: it is excluded", included.0.display()),
    }));
    found.truncate(MOST_NAMED);
    found
}

/// Whether a file that can be read names no host.
pub(super) fn is_empty(path: &Path) -> bool {
    path.exists() && words(path).is_empty()
}

fn words(path: &Path) -> Vec<(u32, String)> {
    let bytes = open_named_by_conf(path).and_then(|file| file.read_limited(MAX_BYTES)).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let of_line = |(line, number): (&str, u32)| -> Vec<(u32, String)> {
        line.split_ascii_whitespace().map(|word| (number, word.to_owned())).collect()
    };
    text.lines().zip(1..).flat_map(of_line).collect()
}

/// Why a word is the name of no host.
fn fault(word: &str) -> Option<String> {
    const PLAIN: &str = "expected the name of a host";
    let read = format!("{word:?} is read as the name of one host");
    if word.starts_with('#') {
        return Some(format!("{read}: there are no comments in this file"));
    }
    if word.contains([',', ';']) {
        return Some(format!("{read}: put blanks or line ends between names"));
    }
    if word.contains("://") || word.contains('/') {
        return Some(format!("{read}: {PLAIN}, no URL and no network"));
    }
    if word.contains(['*', '?', '[']) {
        return Some(format!("{read}: {PLAIN}, no pattern; without a file in mapred.hosts every host is admitted"));
    }
    let is_port = word.rsplit_once(':').is_some_and(|(host, port)| !host.contains(':') && port.parse::<u16>().is_ok());
    is_port.then(|| format!("{read}: {PLAIN}, without a port"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What is found in these two files.
    fn findings(acl: &str, budgets: &str) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (acl_file, budget_file) = (folder.path().join("acl"), folder.path().join("budget"));
        std::fs::write(&acl_file, acl).unwrap();
        std::fs::write(&budget_file, budgets).unwrap();
        for file in [&acl_file, &budget_file] {
            std::fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap();
        }
        let found = check_market_files(&acl_file, Some(&budget_file));
        assert_eq!(std::fs::read_to_string(budget_file).unwrap(), budgets, "a look changes nothing");
        let place = format!("{}/", folder.path().display());
        let without_place = |text: String| text.replace(&place, "");
        (
            found.errors.iter().map(ToString::to_string).map(without_place).collect(),
            found.warnings.iter().map(ToString::to_string).map(without_place).collect(),
        )
    }

    #[test]
    fn all_wrong_lines_of_both_files_are_named() {
        let (errors, warnings) = findings("alice usr key1\nroot admin key2\nbob\n", "alice 1\nbob x 1\ncarol 1 1\n");
        assert_eq!(
            errors,
            [
                r#"acl:1: the role is neither `user` nor `admin`; expected: user role key: "alice …""#,
                r#"acl:3: expected three fields: user role key: "…""#,
                r#"budget:1: expected three fields: queue budget spending, in "alice 1""#,
                r#"budget:2: budget: "x" is not a decimal number such as 12.5, in "bob x 1""#,
            ]
        );
        assert_eq!(warnings, [""; 0], "wrong lines are compared with nothing");
    }

    #[test]
    fn wrong_lines_of_a_budget_file_are_no_errors_after_the_first_start() {
        let folder = tempfile::tempdir().unwrap();
        let (acl_file, budget_file) = (folder.path().join("acl"), folder.path().join("budget"));
        std::fs::write(&acl_file, "root admin key1\n").unwrap();
        std::fs::write(&budget_file, "payroll 50,0 2\n").unwrap();
        let mut found = check_market_files(&acl_file, Some(&budget_file));
        assert_eq!(found.errors.len(), 1);
        found.forgive_budget_lines();
        assert!(found.errors.is_empty());
        let said = found.warnings.last().unwrap().to_string();
        assert!(said.ends_with("; a start sets the file aside, and balances stay as in state.db"), "{said}");
    }

    #[test]
    fn files_that_others_may_read_or_write_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (acl_file, budget_file) = (folder.path().join("acl"), folder.path().join("budget"));
        let files = [acl_file.clone(), retiring_path(&acl_file), budget_file.clone()];
        for (file, text) in files.iter().zip(["alice user key1\nroot admin key2\n", "", "alice 1 1\n"]) {
            std::fs::write(file, text).unwrap();
            std::fs::set_permissions(file, Permissions::from_mode(0o646)).unwrap();
        }
        let found = check_market_files(&acl_file, Some(&budget_file));
        let warnings =
            found.warnings.iter().map(|warning| warning.to_string().replace(&files[0].display().to_string(), "ACL"));
        let warnings: Vec<String> =
            warnings.map(|text| text.replace(&budget_file.display().to_string(), "BUDGET")).collect();
        let text = |file| format!("{file} is readable and writable for others: run chmod o-rwx {file}");
        assert_eq!(warnings, ["ACL", "ACL.retiring", "BUDGET"].map(text));
    }

    #[test]
    fn keys_that_protect_no_user_are_named_without_the_key() {
        let (errors, warnings) =
            findings("alice user zq7\nbob user zqzq77\nroot admin zqzq77\n", "alice 1 1\nbob 1 1\n");
        assert_eq!(errors, [""; 0]);
        assert_eq!(
            warnings,
            [
                "acl: the key of alice is shorter than 4 letters: anybody guesses it; jobtracker user key alice makes another",
                "acl: bob, root have the same key: each of them can sign as the others; jobtracker user key NAME makes another",
            ]
        );
        assert!(warnings.iter().all(|text| !text.contains("zq")), "{warnings:?}");
    }

    #[test]
    fn what_a_start_accepts_and_users_would_miss_is_a_warning() {
        let budgets = "alice 1 1\nq1 1 1\nq2 1 1\nq3 1 1\nq4 1 1\nq5 1 1\nq6 1 1\nq7 1 1\n";
        let (errors, warnings) = findings("alice user key1\nbob user key2\n", budgets);
        assert_eq!(errors, [""; 0]);
        assert_eq!(
            warnings,
            [
                "acl has no administrator; expected a line `USER admin KEY`",
                "budget has no queue of bob; add one: jobtracker queue add NAME",
                "acl has no user for the queues q1, q2, q3, q4, q5 and 2 more",
            ]
        );
        assert_eq!(findings("alice user key1\nroot admin key2\n", "alice 1 1\n"), (vec![], vec![]));
    }

    #[test]
    fn words_that_name_no_host_and_hosts_in_both_files_are_named_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let included = file(
            "in",
            "node1,node2\nlocalhost;node1\n10.0.0.0/24\n*\nhttp://node3/\nnode4:50060 node5\n# all\n10.0.0.7 ::1\n",
        );
        let excluded = file("out", "node6\nnode5\n");
        let place = format!("{}/", folder.path().display());
        let texts = |found: Vec<FileWarning>| -> Vec<String> {
            found.iter().map(|warning| warning.to_string().replace(&place, "")).collect()
        };
        insta::assert_snapshot!(texts(check_hosts(Some(&included), Some(&excluded))).join("\n"), @r##"
        in:1: "node1,node2" is read as the name of one host: put blanks or line ends between names
        in:2: "localhost;node1" is read as the name of one host: put blanks or line ends between names
        in:3: "10.0.0.0/24" is read as the name of one host: expected the name of a host, no URL and no network
        in:4: "*" is read as the name of one host: expected the name of a host, no pattern; without a file in mapred.hosts every host is admitted
        in:5: "http://node3/" is read as the name of one host: expected the name of a host, no URL and no network
        in:6: "node4:50060" is read as the name of one host: expected the name of a host, without a port
        in:7: "#" is read as the name of one host: there are no comments in this file
        out:2: node5 is also at line 6 of in: it is excluded
        "##);
        let good = file("good", "node1 node2\n10.0.0.7\nfe80::1\n");
        assert_eq!(texts(check_hosts(Some(&good), None)), [""; 0]);
    }
}

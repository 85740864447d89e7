//! `jobtracker user`: adds, removes and re-keys the users that may sign, in the ACL file.

mod edit;
mod list;
mod own_queue;

use std::path::PathBuf;

use crate::api::parse_duration_ms;
use crate::market::{MAX_RETIRING_MS, Role};
use crate::model::hex;

use super::exit_code::Failure;
use super::terminal::print_error;
use super::time_text::format_time;

use edit::{AclFileArguments, Edit};
use own_queue::{OwnQueueArguments, add_queue};

/// Subcommands of `user`.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user with a new key, and with --budget, --rate or --allowance the user's queue
    Add {
        /// Name of the user, and of its queue
        #[arg(value_name = "NAME", value_hint = clap::ValueHint::Username)]
        name: String,
        /// `admin` may change every queue, `user` only its own
        #[arg(long, value_name = "ROLE", value_enum, default_value_t = RoleArgument::User)]
        role: RoleArgument,
        /// Where the key goes.
        #[command(flatten)]
        key: NewKeyArguments,
        /// The user's queue.
        #[command(flatten)]
        queue: OwnQueueArguments,
        /// The ACL file.
        #[command(flatten)]
        file: AclFileArguments,
    },
    /// List the users with their roles, and the budgets of their queues where the JobTracker says them
    List {
        /// HTTP address of the JobTracker, host:port; default: as --conf has it, else $JOBTRACKER_SERVER, $JOBTRACKER_CONF,
        /// $HADOOP_CONF_DIR, ~/.config/jobtracker/config.toml, /etc/hadoop_server, 127.0.0.1:50030
        #[arg(long, value_name = "ADDRESS")]
        server: Option<String>,
        /// The ACL file.
        #[command(flatten)]
        file: AclFileArguments,
    },
    /// Remove a user with all keys
    Remove {
        /// Name of the user
        #[arg(value_name = "NAME", value_hint = clap::ValueHint::Other)]
        name: String,
        /// The ACL file.
        #[command(flatten)]
        file: AclFileArguments,
    },
    /// Give a user a new key; the old ones end at once, or with --keep-old after a while
    Key {
        /// Name of the user
        #[arg(value_name = "NAME", value_hint = clap::ValueHint::Other)]
        name: String,
        /// Keep the old key valid for this long beside the new one, such as 12h; at most 7d
        #[arg(long, value_name = "DURATION", value_parser = parse_overlap_ms)]
        keep_old: Option<i64>,
        /// Where the key goes.
        #[command(flatten)]
        key: NewKeyArguments,
        /// The ACL file.
        #[command(flatten)]
        file: AclFileArguments,
    },
}

/// Where a new key goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NewKeyArguments {
    /// Write the key to this new file, for its owner only, instead of printing it
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// The role of a user.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum RoleArgument {
    /// Every queue.
    Admin,
    /// Its own queue.
    User,
}

/// What was done.
#[derive(Debug, serde::Serialize)]
pub(crate) struct UserChange {
    user: String,
    /// `admin` or `user`; of a removed one the role that it had.
    role: Role,
    acl_file: PathBuf,
    /// The new key, unless it went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The file with the new key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<PathBuf>,
    /// Until when the old key is valid, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_key_until_ms: Option<i64>,
}

/// Changes the user at `now_ms`, epoch ms; returns the text to print.
pub(crate) fn run(command: &UserCommand, now_ms: i64) -> Result<String, Failure> {
    let (change, said, file) = match command {
        UserCommand::Add { name, role, key, queue, file } => {
            let role = match role {
                RoleArgument::Admin => Role::Admin,
                RoleArgument::User => Role::User,
            };
            let edit = Edit::create(&file.path()?)?;
            if edit.is_new {
                let path = edit.path().display();
                print_error(&format!("jobtracker: {path} is new, for its owner only; the daemon's user must own it"));
            }
            edit.check_addition(name, role)?;
            add_queue(queue, name, &edit, &file.configuration)?;
            let (key, key_file) = key.place(|key| edit.add(name, role, key))?;
            let change = UserChange::new(name, role, edit.path(), key, key_file);
            (change, format!("added {role} {name}"), file)
        }
        UserCommand::List { server, file } => return list::list(file, server.as_deref()),
        UserCommand::Remove { name, file } => {
            let edit = Edit::open(&file.path()?)?;
            let (role, admins) = edit.remove(name)?;
            if role == Role::Admin && admins == 0 {
                let path = edit.path().display();
                print_error(&format!(
                    "jobtracker: warning: {path} has no administrator now; expected one line `USER admin KEY`"
                ));
            }
            (UserChange::new(name, role, edit.path(), None, None), removed(role, name), file)
        }
        UserCommand::Key { name, keep_old, key, file } => {
            let edit = Edit::open(&file.path()?)?;
            let until_ms = keep_old.map(|keep_ms| now_ms.saturating_add(keep_ms));
            let mut role = Role::User;
            let (key, key_file) =
                key.place(|key| edit.rotate(name, key, until_ms, now_ms).map(|found| role = found))?;
            let mut change = UserChange::new(name, role, edit.path(), key, key_file);
            change.old_key_until_ms = until_ms;
            let old = match until_ms {
                Some(until_ms) => format!("the old one is valid until {}", format_time(until_ms)),
                None => "the old one is not valid any more".to_owned(),
            };
            (change, format!("{name} has a new key; {old}"), file)
        }
    };
    Ok(if file.json { super::market_text::json(&change) } else { change.text(&said) })
}

/// That a user is gone from the file, and what is not.
fn removed(role: Role, name: &str) -> String {
    match role {
        Role::User => format!(
            "removed {role} {name}; a queue {name} stays with the money in it until `jobtracker queue remove {name}`"
        ),
        Role::Admin => format!("removed {role} {name}"),
    }
}

/// 7d, or what other durations look like; ms.
fn parse_overlap_ms(text: &str) -> Result<i64, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<i64>().ok());
    let ms = match days {
        Some(days) => days.checked_mul(86_400_000),
        None => parse_duration_ms(text).ok().and_then(|ms| i64::try_from(ms).ok()),
    };
    let is_allowed = |ms: &i64| (1..=MAX_RETIRING_MS).contains(ms);
    ms.filter(is_allowed).ok_or_else(|| "expected a duration such as 12h or 2d, at most 7d".to_owned())
}

impl NewKeyArguments {
    /// Makes a key, places it and puts it in force; a key that is not put in force leaves no file. Returns the key or its file.
    fn place(
        &self,
        put_in_force: impl FnOnce(&str) -> Result<(), Failure>,
    ) -> Result<(Option<String>, Option<PathBuf>), Failure> {
        let key = new_key()?;
        let Some(path) = &self.key_file else {
            put_in_force(&key)?;
            return Ok((Some(key), None));
        };
        crate::fs::write_private_file(path, &format!("{key}\n"))?;
        if let Err(error) = put_in_force(&key) {
            // The error that counts is the first.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok((None, Some(path.clone())))
    }
}

/// 32 random bytes in hexadecimal digits.
fn new_key() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::other(format_args!("no key can be made: {error}")))?;
    Ok(hex(&bytes))
}

impl UserChange {
    fn new(user: &str, role: Role, acl_file: &std::path::Path, key: Option<String>, key_file: Option<PathBuf>) -> Self {
        Self { user: user.to_owned(), role, acl_file: acl_file.to_owned(), key, key_file, old_key_until_ms: None }
    }

    fn text(&self, said: &str) -> String {
        let said = format!("{said} ({})\n", self.acl_file.display());
        match (&self.key, &self.key_file) {
            (Some(key), _) => format!(
                "{said}its key, which is shown only now; the user keeps it in ~/.ssh/hadoop_key, mode 600:\n{key}\n"
            ),
            (_, Some(path)) => {
                format!("{said}its key is in {}; the user keeps it in ~/.ssh/hadoop_key, mode 600\n", path.display())
            }
            (None, None) => said,
        }
    }
}

#[cfg(test)]
#[path = "tests/user.rs"]
mod tests;

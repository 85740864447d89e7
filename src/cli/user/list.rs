//! `jobtracker user list`: the users of the ACL file, with their roles and what their queues have; never a key.

use crate::api::QueueStatus;
use crate::cli::exit_code::Failure;
use crate::cli::market_command::{MarketCommandError, wait_for};
use crate::cli::market_text::{columns, json, lines};
use crate::cli::terminal::print_error;
use crate::client::market::Signer;
use crate::market::{Acl, Role};
use crate::model::Credits;

use super::edit::{AclFileArguments, Edit};
use super::own_queue::market_client;

#[derive(Debug, serde::Serialize)]
struct UserLine {
    user: String,
    role: Role,
    /// The user's queue; none where there is none, or no JobTracker says.
    queue: Option<String>,
    budget: Option<Credits>,
    bid: Option<Credits>,
    /// Old keys that are valid for a while.
    old_keys: usize,
}

/// Lists the users; what the running JobTracker does not say is left out, and why is said.
pub(super) fn list(file: &AclFileArguments, server: Option<&str>) -> Result<String, Failure> {
    let edit = Edit::open(&file.path()?)?;
    let (acl, old_keys) = (edit.acl()?, edit.old_keys()?);
    let queues = queues(&acl, file, server).unwrap_or_else(|why| {
        print_error(&format!("jobtracker: budgets are not shown: {why}"));
        Vec::new()
    });
    let line = |user: &str| {
        let queue = queues.iter().find(|status| status.queue.as_str() == user);
        UserLine {
            user: user.to_owned(),
            role: acl.get(user).map_or(Role::User, |entry| entry.role),
            queue: queue.map(|status| status.queue.to_string()),
            budget: queue.map(|status| status.budget),
            bid: queue.map(|status| status.bid),
            old_keys: old_keys.iter().filter(|key| key.user == user).count(),
        }
    };
    let users: Vec<UserLine> = acl.users().map(line).collect();
    Ok(if file.json { json(&users) } else { render(&users) })
}

/// All queues, asked for by an administrator of the file.
fn queues(acl: &Acl, file: &AclFileArguments, server: Option<&str>) -> Result<Vec<QueueStatus>, String> {
    let admins = acl.users().filter_map(|user| Some((user, acl.get(user).filter(|entry| entry.role == Role::Admin)?)));
    let signer = admins.map(|(user, entry)| Signer { user: user.to_owned(), key: entry.key.clone() }).next();
    let signer = signer.ok_or("the file has no administrator to ask for them")?;
    let client = market_client(server, &file.configuration).map_err(|error| error.text)?;
    let asked = wait_for(async { Ok(client.queue_statuses(None, &signer).await?) });
    asked.map_err(|error: MarketCommandError| error.to_string())
}

fn render(users: &[UserLine]) -> String {
    if users.is_empty() {
        return "the ACL file has no user; add one: jobtracker user add NAME\n".to_owned();
    }
    let mut table = columns(&["user", "role", "queue", "budget", "bid", "old keys"], 3);
    for UserLine { user, role, queue, budget, bid, old_keys } in users {
        let credits = |credits: &Option<Credits>| credits.map_or_else(|| "-".to_owned(), |credits| credits.to_string());
        table.add_row([
            user.clone(),
            role.to_string(),
            queue.clone().unwrap_or_else(|| "-".to_owned()),
            credits(budget),
            credits(bid),
            old_keys.to_string(),
        ]);
    }
    lines(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_shown_a_line_each_without_keys() {
        let line = |user: &str, role, budget: Option<&str>, old_keys| UserLine {
            user: user.to_owned(),
            role,
            queue: budget.map(|_| user.to_owned()),
            budget: budget.map(|budget| budget.parse().unwrap()),
            bid: budget.map(|_| "0.5".parse().unwrap()),
            old_keys,
        };
        let users = [line("alice", Role::User, Some("12.5"), 0), line("root", Role::Admin, None, 1)];
        insta::assert_snapshot!(render(&users), @r"
        USER   ROLE   QUEUE  BUDGET  BID  OLD KEYS
        alice  user   alice    12.5  0.5         0
        root   admin  -           -    -         1
        ");
        assert!(render(&[]).contains("user add NAME"));
    }
}

//! The accounts of this machine's own list of users; directory servers know more.

use std::path::Path;

use super::checked_file::Expected;
use super::untrusted::open_behind_links;

const ACCOUNTS: &str = "/etc/passwd";
const LONGEST_ACCOUNTS_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    /// The number of its first group, where one is named.
    pub gid: Option<u32>,
    /// The home folder; empty where none is named.
    pub home: String,
}

impl Account {
    pub(crate) fn named(name: &str) -> Option<Self> {
        find(&accounts()?, |account| account.name == name)
    }

    /// The account of a name in lines of the form of the list of users, such as another program prints.
    pub(crate) fn named_in(lines: &str, name: &str) -> Option<Self> {
        find(lines, |account| account.name == name)
    }

    /// The first account of a number.
    pub fn of(uid: u32) -> Option<Self> {
        find(&accounts()?, |account| account.uid == uid)
    }
}

fn accounts() -> Option<String> {
    let expected = Expected::file_of_any_owner().at_most(LONGEST_ACCOUNTS_BYTES);
    let bytes = open_behind_links(Path::new(ACCOUNTS), &expected).ok()?.read_limited(LONGEST_ACCOUNTS_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Broken lines are no accounts.
fn find(passwd: &str, is_it: impl Fn(&Account) -> bool) -> Option<Account> {
    let account = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next().and_then(|gid| gid.parse().ok());
        Some(Account { name, uid, gid, home: fields.nth(1).unwrap_or_default().to_owned() })
    };
    passwd.lines().filter_map(account).find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_among_broken_lines() {
        let passwd =
            "broken\nroot:x:0:0:root:/root:/bin/sh\nodd:x:none\nh1:x:1001:1001::/home/h1:/bin/sh\nnohome:x:7\n";
        let by_uid = |uid| find(passwd, |account| account.uid == uid).map(|account| (account.name, account.home));
        assert_eq!(by_uid(1001), Some(("h1".to_owned(), "/home/h1".to_owned())));
        assert_eq!(by_uid(7), Some(("nohome".to_owned(), String::new())));
        assert_eq!(by_uid(8), None);
        let by_name = |name: &str| find(passwd, |account| account.name == name).map(|account| account.uid);
        assert_eq!(find(passwd, |account| account.uid == 1001).unwrap().gid, Some(1001));
        assert_eq!(["root", "h1", "odd", "x", "", "roo"].map(by_name), [Some(0), Some(1001), None, None, None, None]);
    }
}

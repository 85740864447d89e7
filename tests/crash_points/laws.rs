//! What must be so after each death, and at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::bidding::amount::{decimal, file_decimal, units_of};
use crate::bidding::evidence::Evidence;
use crate::bidding::{image, money};
use crate::daemon::child::DaemonFolders;
use crate::tables;

/// Balance and bid of queues, decimal.
pub type Accounts<'a> = &'a [(&'a str, &'a str, &'a str)];

/// What is looked at, and what earlier looks have found.
pub struct Laws {
    first: BTreeMap<String, (i128, i128)>,
    /// The file may be torn, or somebody else's; then it is looked at in the end only.
    is_file_ours: bool,
    /// The image is in the tables of a database, and there is no file.
    has_tables: bool,
    /// Old ticks are thinned out and old rows summed up, so that not every one of them can be held to account.
    is_aged: bool,
    left: Evidence,
    seen: money::Seen,
}

// === impl Laws ===

impl Laws {
    /// A budget file with these accounts comes first.
    pub fn new(first: Accounts<'_>) -> Self {
        Self {
            first: accounts(first),
            is_file_ours: true,
            has_tables: false,
            is_aged: false,
            left: Evidence::default(),
            seen: money::Seen::default(),
        }
    }

    pub fn with_a_foreign_file(self) -> Self {
        Self { is_file_ours: false, ..self }
    }

    pub fn with_tables(self) -> Self {
        Self { is_file_ours: false, has_tables: true, ..self }
    }

    pub fn with_an_old_ledger(self) -> Self {
        Self { is_aged: true, ..self }
    }

    /// What the daemon left.
    pub fn after_death(&mut self, place: &DaemonFolders, log: &str) {
        let evidence = secure(place);
        let mut wrong: Vec<String> = Vec::new();
        if !self.is_aged {
            wrong = money::violations(&evidence, &self.left, &mut self.seen).0;
        }
        if self.is_file_ours {
            wrong.extend(image::violations(&evidence, &self.first).0);
        }
        let complaints = ["ERROR", "panicked", "BUDGET FILE"];
        let complaints = if self.is_file_ours { &complaints[..] } else { &complaints[..2] };
        wrong.extend(log.lines().filter(|line| complaints.iter().any(|word| line.contains(word))).map(str::to_owned));
        assert!(wrong.is_empty(), "{wrong:#?}\n{log}");
        self.left = evidence;
    }

    /// After the clean stop at the end of a script: money that was brought in and out, by queue; what is left once it was
    /// charged is in the file.
    pub fn in_the_end(&self, place: &DaemonFolders, issued: &[(&str, &str)], bids: &[(&str, &str)]) {
        let evidence = secure(place);
        let mut found: BTreeMap<&str, i128> = BTreeMap::new();
        for row in evidence.ledger.iter().filter(|row| row.issued() != 0) {
            *found.entry(row.queue.as_deref().unwrap_or_default()).or_default() += row.issued();
        }
        let issued: BTreeMap<&str, i128> = issued.iter().map(|(queue, sum)| (*queue, units(sum))).collect();
        assert_eq!(found, issued, "money came in once, as it was asked for");
        let found = evidence.accounts.iter().map(|(queue, (_, bid))| (queue.as_str(), *bid)).collect::<Vec<_>>();
        let bids: Vec<_> = bids.iter().map(|(queue, bid)| (*queue, units(bid))).collect();
        assert_eq!(found, bids);
        let (issued, charged) = evidence.issued_and_charged(i64::MAX);
        let total: i128 = evidence.accounts.values().map(|(balance, _)| balance).sum();
        assert_eq!(decimal(total), decimal(issued - charged), "credits are conserved");
        let lines: String = evidence
            .accounts
            .iter()
            .map(|(queue, (balance, bid))| format!("{queue} {} {}\n", file_decimal(*balance), file_decimal(*bid)))
            .collect();
        let shown = if self.has_tables { tables::lines(place) } else { place.read_budget() };
        assert_eq!(shown, lines, "the image shows the ledger");
    }
}

/// A budget file with these accounts.
pub fn budgets(accounts: Accounts<'_>) -> String {
    let line = |(queue, balance, bid): &(&str, &str, &str)| {
        format!("{queue} {} {}\n", file_decimal(units(balance)), file_decimal(units(bid)))
    };
    accounts.iter().map(line).collect()
}

fn accounts(accounts: Accounts<'_>) -> BTreeMap<String, (i128, i128)> {
    accounts.iter().map(|(queue, balance, bid)| ((*queue).to_owned(), (units(balance), units(bid)))).collect()
}

fn units(text: &str) -> i128 {
    units_of(text).unwrap()
}

/// What is looked into is a copy: what is there stays as the daemon left it.
fn copy(place: &DaemonFolders) {
    let copy = place.path("left");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir(&copy).unwrap();
    for name in place.names("state") {
        let path = place.path("state").join(&name);
        // The socket by which a newer program takes over is nothing to copy.
        if path.is_file() {
            fs::copy(path, copy.join(&name)).unwrap();
        }
    }
}

fn secure(place: &DaemonFolders) -> Evidence {
    Evidence::secure(&place.path("state"), &place.budget(), &place.path("left")).unwrap()
}

/// Rows of one column of what a daemon left, as text.
pub fn rows(place: &DaemonFolders, sql: &str) -> Vec<String> {
    copy(place);
    rows_of(&place.path("left/state.db"), sql)
}

pub fn rows_of(database: &Path, sql: &str) -> Vec<String> {
    assert!(fs::exists(database).unwrap());
    let database = Connection::open(database).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

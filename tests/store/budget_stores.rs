//! The three stores of budgets, each in a place of its own: what is in it, and how it breaks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::postgres::PostgresServer;
use crate::stage::Scratch;

use jobtracker::market::budget_file;
use jobtracker::store::{
    BudgetAtStart, BudgetBackEndError, BudgetPublisher, CommandBackEnd, LoadedState, PostgresBackEnd, Precedence,
    Store, initialise,
};

pub type Opened = Result<(BudgetPublisher, BudgetAtStart), BudgetBackEndError>;

/// A store of budgets.
pub trait BudgetPlace {
    /// Puts this in, in lines of the budget file, as an administrator does who breaks its rules.
    fn put(&self, lines: &str);

    /// What is in it, in lines of the budget file, by name.
    fn lines(&self) -> String;

    /// Opens it as a start does.
    fn open(&self, store: &Store, loaded: &LoadedState) -> Opened;

    /// It fails from now on.
    fn break_down(&self);

    fn mend(&self);
}

/// The program of a [`CommandPlace`]: keeps the lines in a folder, and fails while there is a file `broken`.
pub const PROGRAM: &str = "#!/bin/sh
cd \"$1\" || exit 9
[ ! -e broken ] || { echo 'the database is gone' >&2; exit 3; }
case $2 in
load) cat lines ;;
publish)
    [ ! -e tick ] || [ \"$(cat tick)\" -le \"$3\" ] || exit 0
    cat >lines.new && mv lines.new lines && echo \"$3\" >tick ;;
esac
";

/// The budget file.
pub struct FilePlace(pub Scratch);

/// A program.
pub struct CommandPlace(pub Scratch);

/// A database of a server.
pub struct PostgresPlace<'a> {
    pub server: &'a PostgresServer,
    pub database: String,
}

/// Lines as the budget file writes them.
pub fn written(lines: &str) -> String {
    budget_file::render(&budget_file::parse(lines, "lines").unwrap())
}

// === impl FilePlace ===

impl FilePlace {
    fn path(&self) -> PathBuf {
        self.0.dir.path().join("budget")
    }
}

impl BudgetPlace for FilePlace {
    fn put(&self, lines: &str) {
        fs::write(self.path(), lines).unwrap();
    }

    fn lines(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn open(&self, store: &Store, loaded: &LoadedState) -> Opened {
        BudgetPublisher::open(store, loaded, &self.path(), Precedence::Ledger)
    }

    fn break_down(&self) {
        fs::rename(self.path(), self.0.dir.path().join("kept")).unwrap();
        fs::create_dir(self.path()).unwrap();
    }

    fn mend(&self) {
        fs::remove_dir(self.path()).unwrap();
        fs::rename(self.0.dir.path().join("kept"), self.path()).unwrap();
    }
}

// === impl CommandPlace ===

impl CommandPlace {
    /// With the program.
    pub fn new() -> Self {
        let place = Self(Scratch::new());
        place.set_program(PROGRAM);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.dir.path().join(name)
    }

    pub fn set_program(&self, text: &str) {
        // A program that is being written cannot be run.
        let new = self.path("program.new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, self.path("program")).unwrap();
    }

    pub fn back_end(&self) -> CommandBackEnd {
        let words = [self.path("program"), self.0.dir.path().to_owned()];
        CommandBackEnd::new(words.map(|word| word.display().to_string()).to_vec())
    }
}

impl BudgetPlace for CommandPlace {
    fn put(&self, lines: &str) {
        fs::write(self.path("lines"), lines).unwrap();
    }

    fn lines(&self) -> String {
        fs::read_to_string(self.path("lines")).unwrap()
    }

    fn open(&self, _store: &Store, loaded: &LoadedState) -> Opened {
        BudgetPublisher::with_back_end(self.back_end(), loaded)
    }

    fn break_down(&self) {
        fs::write(self.path("broken"), "").unwrap();
    }

    fn mend(&self) {
        fs::remove_file(self.path("broken")).unwrap();
    }
}

// === impl PostgresPlace ===

impl<'a> PostgresPlace<'a> {
    /// A new database with the tables.
    pub fn new(server: &'a PostgresServer, database: &str) -> Self {
        server.create_database(database);
        initialise(&server.settings(database), false).unwrap();
        Self { server, database: database.to_owned() }
    }

    pub fn query(&self, sql: &str) -> Vec<Vec<String>> {
        self.server.query(&self.database, sql)
    }
}

impl BudgetPlace for PostgresPlace<'_> {
    /// Without the checks that keep NaN and negative amounts out.
    fn put(&self, lines: &str) {
        let checks = ["account_budget_is_0_to_10_12", "account_bid_is_0_to_10_12"];
        let dropped = checks.map(|check| format!("ALTER TABLE jobtracker.account DROP CONSTRAINT IF EXISTS {check};"));
        let rows = lines.lines().map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [name, budget, bid] = fields[..] else { panic!("{line}") };
            format!("INSERT INTO jobtracker.account VALUES ('{name}', '{budget}', '{bid}');")
        });
        self.query(&format!("{} DELETE FROM jobtracker.account; {}", dropped.concat(), rows.collect::<String>()));
    }

    fn lines(&self) -> String {
        let rows = self.query("SELECT name, budget, bid FROM jobtracker.account ORDER BY name");
        written(&rows.iter().map(|row| format!("{}\n", row.join(" "))).collect::<String>())
    }

    fn open(&self, store: &Store, loaded: &LoadedState) -> Opened {
        let back_end = PostgresBackEnd::of_state(self.server.settings(&self.database), store, loaded)?;
        BudgetPublisher::with_back_end(back_end, loaded)
    }

    fn break_down(&self) {
        self.query("ALTER TABLE jobtracker.account RENAME TO account_kept");
    }

    fn mend(&self) {
        self.query("ALTER TABLE jobtracker.account_kept RENAME TO account");
    }
}

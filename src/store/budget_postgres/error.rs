//! What goes wrong with the database, with what to do about it.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

use crate::market::BudgetFileError;
use crate::store::budget_file::BudgetBackEndError;

#[derive(Debug, thiserror::Error)]
pub(super) enum PostgresError {
    #[error("{}", client_text(.0))]
    Client(#[from] tokio_postgres::Error),
    /// The URL; the parser names the parameter and never a password, which the settings refuse.
    #[error("mapred.dynamic-scheduler.store.url: {}", client_text(.0))]
    Url(tokio_postgres::Error),
    #[error("mapred.dynamic-scheduler.store.password-file {path}: {reason}")]
    PasswordFile { path: String, reason: String },
    #[error("sslrootcert {path}: {reason}")]
    RootCertificates { path: String, reason: String },
    /// Another process publishes to the tables.
    #[error(
        "another JobTracker publishes there: {holder}; two would overwrite each other, so stop one of them or give it another database"
    )]
    Locked { holder: String },
    /// The lock of the only writer is held, perhaps by no JobTracker.
    #[error(
        "the lock by which only one JobTracker publishes is held by {holder}, which need not be a JobTracker; it is published once that ends, for example by {end}"
    )]
    Held { holder: String, end: String },
    #[error(
        "the encoding of the database is {found}, in which not every name and note can be kept: make one with ENCODING 'UTF8' TEMPLATE template0 and name that"
    )]
    Encoding { found: String },
    /// Rows of the inbox that cannot be answered; the others are.
    #[error("top-up {references}: {source}")]
    TopUps { references: String, source: Box<Self> },
    #[error(
        "its tables have layout {found}, this program knows {expected}: run the jobtracker that made them, or `jobtracker store init` of a newer one"
    )]
    Layout { found: i32, expected: i32 },
    #[error(
        "its tables have layout {found}, of before; their owner must run `jobtracker store init` once, since the daemon's role is not that"
    )]
    FormerLayout { found: i32 },
    #[error(
        "its tables belong to another state database (they name {theirs}, this one is {ours}); if this one replaces it, run `jobtracker store init --take-over`"
    )]
    OtherState { theirs: String, ours: String },
    #[error(
        "jobtracker.publication has no row, which `jobtracker store init` puts in: run INSERT INTO jobtracker.publication (layout) VALUES (2)"
    )]
    NoPublication,
    #[error("its role lacks {0}: grant them, or let the role own the tables")]
    Rights(String),
    #[error("the server accepts no writes: a standby, or made read-only")]
    ReadOnly,
    /// Rows that were to be written and are not there.
    #[error(
        "{missing} of {wanted} rows of jobtracker.{table} are not as they were sent: a trigger, a rule or row security of the database drops or alters them; remove it"
    )]
    NotWritten { table: &'static str, wanted: i64, missing: i64 },
    #[error("no answer from {servers} within {limit_s} s: waited for {awaited}")]
    Silent { servers: String, awaited: &'static str, limit_s: u64 },
    #[error("no answer until the JobTracker stopped")]
    Stopped,
    #[error("cannot read the ledger: {0}")]
    Ledger(String),
    #[error("the state database cannot be given a name: {0}")]
    Unnamed(String),
    #[error("the system refuses a runtime for the connection: {0}")]
    Runtime(std::io::Error),
    #[error(transparent)]
    Row(#[from] BudgetFileError),
}

impl PostgresError {
    pub(super) fn of(self, action: &'static str, place: &str) -> BudgetBackEndError {
        match self {
            Self::Row(error) => error.into(),
            error => {
                let is_permanent = error.is_permanent();
                let reason = error.to_string();
                BudgetBackEndError::BackEnd { action, place: place.to_owned(), reason, is_permanent }
            }
        }
    }

    /// Whether another try fails alike until a person acts.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Url(_)
            | Self::PasswordFile { .. }
            | Self::RootCertificates { .. }
            | Self::Encoding { .. }
            | Self::Layout { .. }
            | Self::FormerLayout { .. }
            | Self::OtherState { .. }
            | Self::NoPublication
            | Self::Rights(_)
            | Self::NotWritten { .. }
            | Self::Row(_) => true,
            Self::Client(error) => {
                error.code().is_some_and(|code| advice(code).is_some_and(|(_, is_for_a_person)| is_for_a_person))
            }
            Self::TopUps { source, .. } => source.is_permanent(),
            Self::Locked { .. }
            | Self::Held { .. }
            | Self::ReadOnly
            | Self::Silent { .. }
            | Self::Stopped
            | Self::Ledger(_)
            | Self::Unnamed(_)
            | Self::Runtime(_) => false,
        }
    }
}

/// The server's function that refuses a row by row security: its message may be in any language.
const CHECKS_ROWS: &str = "ExecWithCheckOptions";
const ROW_SECURITY: &str = "row security keeps rows from the daemon's role, from an owner by FORCE: ALTER TABLE … DISABLE ROW LEVEL SECURITY, or NO FORCE ROW LEVEL SECURITY where the role owns the table";

/// The server's own words, or the client's with its causes, and what to do.
fn client_text(error: &tokio_postgres::Error) -> String {
    let Some(server) = error.as_db_error() else {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        return text;
    };
    let mut text = format!("{} (SQLSTATE {})", server.message(), server.code().code());
    if let Some(detail) = server.detail() {
        text = format!("{text}, {detail}");
    }
    let row_security = (ROW_SECURITY, true);
    match advice(server.code()).map(|advice| if server.routine() == Some(CHECKS_ROWS) { row_security } else { advice })
    {
        Some((advice, _)) => format!("{text}; {advice}"),
        None => text,
    }
}

/// What to do about an error of the server, and whether only a person can.
fn advice(code: &SqlState) -> Option<(&'static str, bool)> {
    const INIT: &str = "make the tables: jobtracker store init";
    let known = [
        (&SqlState::UNDEFINED_TABLE, INIT, true),
        (&SqlState::INVALID_SCHEMA_NAME, INIT, true),
        (&SqlState::UNDEFINED_COLUMN, "its tables are not those of `jobtracker store init`", true),
        (&SqlState::UNDEFINED_FUNCTION, "its tables are not those of `jobtracker store init`", true),
        (&SqlState::DATATYPE_MISMATCH, "its tables are not those of `jobtracker store init`", true),
        (
            &SqlState::INSUFFICIENT_PRIVILEGE,
            "the daemon's role must own the tables, or have SELECT, INSERT, UPDATE and DELETE on all of schema jobtracker",
            true,
        ),
        (&SqlState::READ_ONLY_SQL_TRANSACTION, "the server accepts no writes: a standby, or made read-only", false),
        (&SqlState::INVALID_PASSWORD, "the password is that of mapred.dynamic-scheduler.store.password-file", true),
        (
            &SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "look at pg_hba.conf, and at the user and sslmode of mapred.dynamic-scheduler.store.url",
            true,
        ),
        (&SqlState::INVALID_CATALOG_NAME, "name an existing database in mapred.dynamic-scheduler.store.url", true),
        (&SqlState::DISK_FULL, "make room on the database's disk", false),
        (&SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "its tables are not those of `jobtracker store init`", true),
    ];
    known.into_iter().find(|(known, ..)| *known == code).map(|(_, advice, is_for_a_person)| (advice, is_for_a_person))
}

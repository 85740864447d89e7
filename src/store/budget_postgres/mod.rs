//! Budgets in a PostgreSQL database: the accounts and the movements of the ledger as tables, and an inbox of top-ups.
//!
//! Invariants: `state.db` is the truth, the tables are its image; one process publishes, for as long as its session
//! holds an advisory lock; what is published is one transaction, or several that each move the mark of the last ledger
//! entry with the rows up to it, so nothing is counted twice whenever either side dies.

mod back_end;
mod connection;
mod error;
mod initialise;
mod layout;
mod ledger_rows;
mod publish;
mod shown;
mod tls;
mod top_ups;

pub use back_end::PostgresBackEnd;

pub(crate) use initialise::Initialised;
pub use initialise::{INITIALISE_SQL, initialise};

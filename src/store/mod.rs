//! The state database and the budget file.
//!
//! [`FactSender`] takes facts and never waits; one thread writes them in order, many at once, and publishes by
//! [`Durable`] which of them survive a crash. Invariants: facts become durable in their order and none is skipped; the
//! durable number never decreases; only the writer thread writes to `state.db`.

mod backup;
mod budget_command;
mod budget_file;
mod budget_postgres;
mod counter_encoding;
mod database;
mod database_reader;
mod durable;
mod enum_text;
mod error;
mod fact_feed;
mod fact_sender;
mod fault_point;
mod finished_jobs;
mod folder;
mod housekeeping;
mod in_memory_store;
mod job_history;
mod ledger_compaction;
mod ledger_reader;
mod loaded_state;
mod loader;
mod migration;
mod options;
mod pruning;
mod queue;
mod recording;
mod report;
mod restore;
mod retention;
mod schema;
mod session_key;
mod split_encoding;
mod state_file;
mod state_store;
mod steps;
mod stored_applications;
mod tables;
mod writer;

pub use backup::{BackupSummary, backup};
pub use budget_command::CommandBackEnd;
pub use budget_file::{
    BudgetAtStart, BudgetBackEnd, BudgetBackEndError, BudgetPublisher, FoundTopUps, Interrupter, Precedence,
};
pub(crate) use budget_file::{BudgetStatus, read_all_budgets, read_budgets};
pub(crate) use budget_postgres::Initialised;
pub use budget_postgres::{INITIALISE_SQL, PostgresBackEnd, initialise};
pub(crate) use database::check_schema;
pub use durable::{Durable, Health};
#[cfg(test)]
pub(crate) use error::SchemaFound;
pub use error::StoreError;
pub(crate) use fact_feed::FollowerWaker;
pub use fact_feed::{FactBatch, FactFeed, FactFollower};
pub(crate) use fact_sender::StoreMeter;
pub use fact_sender::{FactReceiver, FactSender, Pressure};
pub use fault_point::FaultPoint;
pub(crate) use finished_jobs::{FinishedJobReader, PastJob, PastPlace};
pub use folder::database_in;
pub use in_memory_store::InMemoryStore;
pub(crate) use job_history::StoredHistory;
pub(crate) use ledger_reader::LedgerReader;
pub use loaded_state::LoadedState;
pub(crate) use loaded_state::StateReader;
#[cfg(test)]
pub(crate) use loaded_state::{finished_after, loaded_after};
pub use options::{Retention, StoreOptions};
pub use recording::{RecordedSize, RecordedSpan, recorded_size};
pub(crate) use recording::{read_recording, read_scheduler_choice, read_state_name};
pub(crate) use restore::{ComesAgain, LostMovement, LostSetting, LostState, RestoreSummary, restore};
pub use split_encoding::{decode_splits, encode_splits};
pub(crate) use state_file::StateFile;
pub use state_store::Store;
pub(crate) use stored_applications::StoredApplicationReader;
pub(crate) use tables::decisions::DECISIONS_KEPT;

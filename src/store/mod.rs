//! The state database and the budget file.
//!
//! [`FactSender`] takes facts and never waits; one thread writes them in order, many at once, and publishes by
//! [`Durable`] which of them survive a crash. Invariants: facts become durable in their order and none is skipped; the
//! durable number never decreases; only the writer thread writes to `state.db`.

mod application_retention;
mod backup;
mod budget_command;
mod budget_file;
mod budget_postgres;
mod counter_names;
mod database;
mod decision_pruning;
mod durable;
mod enum_text;
mod error;
mod fact_feed;
mod fact_sender;
mod fault_point;
mod finished_jobs;
mod folder;
mod history;
mod housekeeping;
mod in_memory_store;
mod job_history;
mod json_text;
mod ledger_compaction;
mod loaded_applications;
mod loaded_attempts;
mod loaded_costs;
mod loaded_counters;
mod loaded_decisions;
mod loaded_delegation;
mod loaded_drains;
mod loaded_end_notifications;
mod loaded_jobs;
mod loaded_market;
mod loaded_pauses;
mod loaded_presences;
mod loaded_state;
mod loader;
mod meta_writer;
mod meter;
mod migration;
mod missed_updates;
mod options;
mod past_jobs;
mod past_pruning;
mod queue;
mod recorded_market;
mod recording;
mod report;
mod restore;
mod retention;
mod rows;
mod schema;
mod session_key;
mod split_encoding;
mod state_file;
mod state_reader;
mod state_store;
mod statement;
mod steps;
mod stored_applications;
mod stored_containers;
mod tick_pruning;
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
pub(crate) use decision_pruning::DECISIONS_KEPT;
pub use durable::{Durable, Health};
#[cfg(test)]
pub(crate) use error::SchemaFound;
pub use error::StoreError;
pub(crate) use fact_feed::FollowerWaker;
pub use fact_feed::{FactBatch, FactFeed, FactFollower};
pub use fact_sender::{FactReceiver, FactSender, Pressure};
pub use fault_point::FaultPoint;
pub(crate) use finished_jobs::FinishedJobReader;
pub use folder::database_in;
pub use in_memory_store::InMemoryStore;
pub(crate) use job_history::StoredHistory;
pub use loaded_state::LoadedState;
#[cfg(test)]
pub(crate) use loaded_state::{finished_after, loaded_after};
pub(crate) use meter::StoreMeter;
pub use options::{Retention, StoreOptions};
pub(crate) use past_jobs::{PastJob, PastPlace};
pub use recording::{RecordedSize, RecordedSpan, recorded_size};
pub(crate) use recording::{read_recording, read_scheduler_choice, read_state_name};
pub(crate) use restore::{ComesAgain, LostMovement, LostSetting, LostState, RestoreSummary, restore};
pub use split_encoding::{decode_splits, encode_splits};
pub(crate) use state_file::StateFile;
pub(crate) use state_reader::StateReader;
pub use state_store::Store;
pub(crate) use statement::LedgerReader;
pub(crate) use stored_applications::{StoredApplicationReader, StoredApplications};
pub(crate) use stored_containers::{StoredContainerReader, StoredContainers};

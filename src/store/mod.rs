//! The state database, budget images and job history files.
//!
//! Facts go in through [`FactSink`], which never waits; one thread writes them in order, many at once, and tells by
//! [`Durable`] how far they survive a crash. Invariants: facts become durable in their order and none is skipped; the
//! durable number never goes back; nothing but the writer thread writes to `state.db`.

mod backup;
mod budget_image;
mod counter_names;
mod durable;
mod error;
mod fault_point;
mod figures;
mod finished_jobs;
mod folder;
mod folding;
pub mod gate;
mod history;
mod housekeeping;
mod memory_journal;
mod note;
mod opened;
mod opened_attempts;
mod opened_counters;
mod opened_jobs;
mod opened_market;
mod options;
mod queue;
mod retention;
mod rows;
mod schema;
mod sink;
mod split_encoding;
mod state_store;
mod statement;
mod thinning;
mod units_column;
mod words;
mod writer;

pub use backup::{Copied, backup};
pub use budget_image::{
    BudgetBackEnd, BudgetImage, BudgetImageError, ImageAtStart, ImageNotes, ImageWatch, Precedence,
};
pub use durable::{Durable, Health, Rowless};
pub use error::{SchemaFound, StoreError};
pub use fault_point::FaultPoint;
pub use figures::Figures;
pub use finished_jobs::FinishedJobReader;
pub use folder::database_in;
pub use gate::GatedStore;
pub use memory_journal::MemoryJournal;
pub use opened::Opened;
#[cfg(test)]
pub(crate) use opened::{finished_after, opened_after};
pub use opened_jobs::OpenedJobs;
pub use options::{Retention, StoreOptions};
pub use schema::check_schema;
pub use sink::{FactSink, Pressure};
pub use split_encoding::{SplitBlobError, decode_splits, encode_splits};
pub use state_store::Store;
pub use statement::LedgerReader;

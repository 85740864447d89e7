//! Applications that ask for containers, their containers, and the workers that run them.

mod allocate;
mod answer;
mod application;
mod beat;
mod beat_answer;
mod change;
mod container;
mod container_counts;
mod container_end;
mod contexts;
mod items;
mod lapses;
mod measured_use;
mod memory;
mod program;
mod record;
mod refusal;
mod report;
mod restored;
mod row_page;
mod rows;
mod settings;
mod submit;
mod table;
mod tallies;
mod usage;
mod worker;

pub(crate) use allocate::CallResult;
pub(crate) use answer::Headroom;
pub(crate) use application::Application;
pub(crate) use beat::{BeatNotes, NoFirstBeat, WorkerPlace};
pub use change::ApplicationChange;
pub use container::Container;
#[cfg(test)]
pub(crate) use container::ContainerNode;
pub(crate) use container::{ContainerCost, ContainerTotals, Launched, LoweredRows};
pub(crate) use items::Items;
pub(crate) use measured_use::MeasuredUse;
#[cfg(test)]
pub(crate) use record::GrantedContext;
pub(crate) use record::{
    ItemStanding, ItemTrouble, RequestRow, Standing, SubmittedApplication, TypeLaunch, is_master, shown_id,
};
pub(crate) use refusal::{ApplicationRefusal, BodyFault};
pub(crate) use report::{ContainerFilter, ReportTerms, report_stored};
pub(crate) use restored::RestoredApplication;
pub(crate) use row_page::{CachedReport, RowPage, STEP_BYTES};
pub(crate) use settings::UNUSED_ID_MS;
pub(crate) use submit::NewApplication;
pub(crate) use table::Applications;
pub use tallies::ApplicationTallies;
pub(crate) use tallies::EndClass;

use super::live_bytes;

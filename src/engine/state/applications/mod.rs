//! Applications that ask for containers, their containers, and the workers that run them.

mod allocate;
mod answer;
mod application;
mod ask;
mod beat;
mod beat_answer;
mod change;
mod charge;
mod check_rows;
mod container;
mod container_cost;
mod container_counts;
mod container_end;
mod container_totals;
mod granting;
mod items;
mod kept_contexts;
mod lapses;
mod master;
mod measured_use;
mod memory;
mod part_sizes;
mod program;
mod record;
mod refusal;
mod report;
mod request_table;
mod response_ids;
mod restored;
mod row_page;
mod settings;
mod silence;
mod silent_holders;
mod specs;
mod store_doubt;
mod submit;
mod table;
mod tallies;
mod usage;
mod worker;

use super::live_bytes;

pub(crate) use allocate::CallResult;
pub(crate) use answer::Headroom;
pub(crate) use application::Application;
pub(crate) use beat::{BeatNotes, NoFirstBeat, WorkerPlace};
pub use change::ApplicationChange;

pub use container::Container;
#[cfg(test)]
pub(crate) use container::ContainerNode;
pub(crate) use container::{Launched, LoweredRows};
pub(crate) use container_cost::ContainerCost;
pub(crate) use container_totals::ContainerTotals;
pub(crate) use items::Items;
pub(crate) use master::{is_master, shown_id};
pub(crate) use measured_use::MeasuredUse;
#[cfg(test)]
pub(crate) use record::GrantSource;
pub(crate) use record::{ItemStanding, ItemTrouble, Standing, SubmittedApplication, TypeLaunch};
pub(crate) use refusal::{ApplicationRefusal, BodyFault};
pub(crate) use report::{ReportTerms, WantedContainers, report_stored};
pub(crate) use request_table::RequestRow;
pub(crate) use restored::RestoredApplication;
pub(crate) use row_page::{LastReport, RowPage, STEP_BYTES};
pub(crate) use settings::{ContainerSettings, UNUSED_ID_MS};
pub(crate) use submit::NewApplication;
pub(crate) use table::Applications;
pub use tallies::ApplicationTallies;
pub(crate) use tallies::EndClass;

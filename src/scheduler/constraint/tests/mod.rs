//! The constraint scheduler against the rows of its document.

mod admission;
mod ledger;
mod model;
mod schedules;
mod virtual_cluster;

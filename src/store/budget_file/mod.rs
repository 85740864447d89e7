//! The budget file: it credits the budgets at first start, and from then on shows the ledger. [`BudgetBackEnd`] is its
//! interface, so that another back-end can replace the file.
//!
//! Invariants: the file is replaced whole or not at all, and its former content stays beside it; before a replacement
//! the hash of the new content is recorded as pending in `state.db`, after it as confirmed, so a start can distinguish
//! our file from a foreign one; a foreign content is never overwritten before it is copied. A clean stop records the
//! last fact that the file shows: while that is the last fact of all, any other content is an edit made while the
//! daemon was stopped. Its hash is recorded as pending before its differences become facts.

mod back_end;
mod file;
mod file_back_end;
mod in_place;
mod outage;
mod publisher;

pub(crate) use back_end::CallWatch;
pub use back_end::{BudgetAtStart, BudgetBackEnd, BudgetBackEndError, Interrupter};
pub(crate) use file::{read_all_budgets, read_budgets};
pub use file_back_end::Precedence;
pub(crate) use publisher::BudgetStatus;
pub use publisher::{BudgetPublisher, FoundTopUps};

//! Rows that an application asks for, and why they are not accepted.

use std::num::NonZeroU32;

use crate::scheduler::AppId;

use super::{CountedRows, RequestType, RowName};

pub(crate) const MAX_TYPES: usize = 100;
/// Most rows of an application, all types together.
pub(crate) const MAX_ROWS: usize = 20_000;
pub(crate) const MAX_HOST_ROWS: usize = 10_000;
pub(crate) const MAX_COUNT: u32 = i32::MAX.unsigned_abs();

/// A row as it is from now on: it replaces the one of the same type and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedRow {
    pub(crate) request: RequestType,
    pub(crate) name: RowName,
    /// How many containers are wanted here, at most [`MAX_COUNT`]. Zero for a host or rack: a closed gate.
    pub(crate) count: u32,
    /// Of a rack: whether its nodes are served beyond hosts with rows of their own. Of `*`: whether nodes without rows
    /// are. Without effect for a host.
    pub(crate) relax_locality: bool,
    /// Most containers of the type at a time; only of `*`.
    pub(crate) max_running: Option<NonZeroU32>,
}

/// A grant that the application had not received when it sent its rows: its numbers still include it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreportedGrant<'a> {
    pub(crate) request: RequestType,
    pub(crate) counted: &'a CountedRows,
}

/// Why rows were not accepted; none of them was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    /// The application is not known, or was removed.
    #[error("{0} is not known")]
    UnknownApp(AppId),
    #[error("{name} at {request} wants {count} containers, more than {MAX_COUNT}")]
    CountTooLarge {
        request: RequestType,
        name: RowName,
        /// What it wants.
        count: u32,
    },
    #[error("{0} request types, more than {MAX_TYPES}")]
    TooManyTypes(usize),
    #[error("{0} rows in all, more than {MAX_ROWS}")]
    TooManyRows(usize),
    /// A type would have more than [`MAX_HOST_ROWS`].
    #[error("{rows} host rows at {request}, more than {MAX_HOST_ROWS}")]
    TooManyHostRows { request: RequestType, rows: usize },
}

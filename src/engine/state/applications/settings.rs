//! Limits of containers and their applications.

pub(crate) const MAX_APPLICATIONS: usize = 100_000;
pub(crate) const MAX_APPLICATIONS_OF_USER: usize = 10_000;
pub(crate) const MAX_TYPES: usize = 100;
pub(crate) const MAX_ROWS: usize = 20_000;
pub(crate) const MAX_HOST_ROWS: usize = 10_000;
pub(crate) const MAX_ROWS_OF_CALL: usize = 20_000;
/// Most hosts and racks on the blacklist of an application.
pub(crate) const MAX_BLACKLIST: usize = 20_000;
/// Most releases in a call, and most launches.
pub(crate) const MAX_CONTAINERS_OF_CALL: usize = 10_000;
pub(crate) const MAX_SPECS: usize = 100;
pub(crate) const MAX_UNUSED_IDS: usize = 1_000;
/// How long an unused id is good, ms.
pub(crate) const UNUSED_ID_MS: u64 = 600_000;
/// Most new containers in an answer, and most statuses.
pub(crate) const MAX_IN_ANSWER: usize = 1_000;
/// Complete containers of an application that stay in memory.
pub(crate) const COMPLETE_KEPT: usize = 10_000;
pub(crate) const COMPLETE_KEPT_WHEN_OVER: usize = 100;
/// The largest number that a row may have, and the largest priority.
pub(crate) const LARGEST_NUMBER: u32 = i32::MAX as u32;
pub(crate) const LARGEST_REQUEST_ID: u64 = i64::MAX as u64;

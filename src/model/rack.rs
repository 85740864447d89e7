//! Racks of hosts.

/// The rack of a host without a known rack (1.2.1 `NetworkTopology.DEFAULT_RACK`).
pub const DEFAULT_RACK: &str = "/default-rack";

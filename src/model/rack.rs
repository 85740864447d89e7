//! Racks of hosts.

/// The rack of a host whose rack is not known (1.2.1 `NetworkTopology.DEFAULT_RACK`).
pub const DEFAULT_RACK: &str = "/default-rack";

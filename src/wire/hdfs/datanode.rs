//! A DataNode as the NameNode describes it.

use crate::model::names;
use crate::wire::Text;
use crate::wire::class::encoded_by_name;
use crate::wire::fields::fields;

/// A DataNode (1.2.1 `DatanodeInfo`). A client passes it on as it received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatanodeInfo {
    /// `IP:PORT` of its data port: the address to connect to.
    pub name: String,
    /// Id of its storage.
    pub storage_id: String,
    /// Port of its web server.
    pub info_port: u16,
    /// Port of its IPC server.
    pub ipc_port: u16,
    /// Bytes of its disks.
    pub capacity_bytes: i64,
    /// Bytes that HDFS uses.
    pub used_bytes: i64,
    /// Free bytes.
    pub remaining_bytes: i64,
    /// Its last heartbeat, epoch ms.
    pub last_update_ms: i64,
    /// Its transfers.
    pub transfers: i32,
    /// Its rack, for example `/default-rack`.
    pub rack: Text,
    /// The host name that locality goes by; empty when it is not known.
    pub host: Text,
    /// Whether it leaves the cluster.
    pub admin_state: AdminState,
}

/// Whether a DataNode leaves the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminState {
    /// It stays.
    Normal,
    /// Its blocks are copied away.
    DecommissionInProgress,
    /// It may be stopped.
    Decommissioned,
}

names!(AdminState {
    Normal = "NORMAL",
    DecommissionInProgress = "DECOMMISSION_INPROGRESS",
    Decommissioned = "DECOMMISSIONED",
});
encoded_by_name!(AdminState, "admin state of a DataNode");

impl DatanodeInfo {
    /// The host that locality goes by: [`Self::host`], else that of [`Self::name`].
    pub fn locality_host(&self) -> &str {
        if self.host.is_empty() { self.address().0 } else { &self.host }
    }

    /// Host and port of [`Self::name`]; no port where the name has none.
    pub(crate) fn address(&self) -> (&str, Option<u16>) {
        match self.name.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (&self.name, None),
        }
    }
}

fields! {
    DatanodeInfo, 2 + 2 + 2 + 2 + 4 * 8 + 4 + 1 + 1 + AdminState::MIN_BYTES;
    name: &utf8 "name of a DataNode",
    storage_id: &utf8 "storage id of a DataNode",
    info_port: u16 "HTTP port of a DataNode",
    ipc_port: u16 "IPC port of a DataNode",
    capacity_bytes: i64 "capacity of a DataNode",
    used_bytes: i64 "used space of a DataNode",
    remaining_bytes: i64 "free space of a DataNode",
    last_update_ms: i64 "last heartbeat of a DataNode",
    transfers: i32 "transfers of a DataNode",
    rack: &text "rack of a DataNode",
    host: &text "host of a DataNode",
    admin_state,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_a_host_name_is_known_by_its_address() {
        let mut node = DatanodeInfo {
            name: "10.0.0.7:50010".to_owned(),
            storage_id: String::new(),
            info_port: 0,
            ipc_port: 0,
            capacity_bytes: 0,
            used_bytes: 0,
            remaining_bytes: 0,
            last_update_ms: 0,
            transfers: 0,
            rack: "".into(),
            host: "".into(),
            admin_state: AdminState::Normal,
        };
        assert_eq!((node.locality_host(), node.address()), ("10.0.0.7", ("10.0.0.7", Some(50010))));
        node.host = "n7".into();
        assert_eq!(node.locality_host(), "n7");
        node.name = "n7".to_owned();
        assert_eq!(node.address(), ("n7", None));
    }
}

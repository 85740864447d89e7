//! The protocol of a connection, foreign ones included.

use crate::wire::protocol::Protocol;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolKind {
    Served(Protocol),
    /// Another protocol of Hadoop 1.2.1: the connection is accepted, its calls fail.
    Foreign,
    /// The empty name: the connection is accepted, its calls fail.
    Nameless,
}

/// Protocols of Hadoop 1.2.1 that other daemons serve: a client of one of them has the wrong port and gets an error.
/// Any other name is a class that the stock server could not load, for which it closes the connection.
const FOREIGN: [&str; 7] = [
    "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol",
    "org.apache.hadoop.hdfs.protocol.ClientProtocol",
    "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol",
    "org.apache.hadoop.hdfs.server.protocol.InterDatanodeProtocol",
    "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol",
    "org.apache.hadoop.ipc.VersionedProtocol",
    "org.apache.hadoop.mapred.TaskUmbilicalProtocol",
];

/// The protocol of that class name, if a JobTracker serves it.
pub(crate) fn served_protocol(class_name: &str) -> Option<Protocol> {
    Protocol::from_class_name(class_name).filter(|protocol| *protocol != Protocol::TaskUmbilical)
}

impl ProtocolKind {
    /// The kind of a class name; `None` closes the connection.
    pub(super) fn from_class_name(name: &str) -> Option<Self> {
        match served_protocol(name) {
            Some(protocol) => Some(Self::Served(protocol)),
            None if name.is_empty() => Some(Self::Nameless),
            None => FOREIGN.contains(&name).then_some(Self::Foreign),
        }
    }

    pub(super) fn class_name(self) -> &'static str {
        match self {
            Self::Served(protocol) => protocol.class_name(),
            Self::Foreign => FOREIGN[0],
            Self::Nameless => "",
        }
    }

    /// The protocol to decode calls with; calls of a foreign one fail in any case.
    pub(super) fn read_as(self) -> Protocol {
        match self {
            Self::Served(protocol) => protocol,
            Self::Foreign | Self::Nameless => Protocol::JobSubmission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_name_has_the_kind_it_was_made_from() {
        let served = Protocol::ALL.into_iter().filter(|protocol| *protocol != Protocol::TaskUmbilical);
        for kind in served.map(ProtocolKind::Served).chain([ProtocolKind::Foreign, ProtocolKind::Nameless]) {
            assert_eq!(ProtocolKind::from_class_name(kind.class_name()), Some(kind));
        }
    }
}

//! Which protocol a connection speaks, also when it is none of ours.

use crate::wire::protocol::Protocol;

/// The protocol that the header of a connection names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// One that a JobTracker serves.
    Served(Protocol),
    /// Another interface of Hadoop 1.2.1: the connection is accepted, its calls fail.
    Foreign,
    /// The empty name: the connection is accepted, its calls fail.
    Nameless,
}

/// Protocols of Hadoop 1.2.1 that others serve. A client of one of them came to the wrong port and is told so; any
/// other name is a class that the stock server could not load, for which it closes the connection.
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
pub fn served_protocol(class_name: &str) -> Option<Protocol> {
    Protocol::from_class_name(class_name).filter(|protocol| *protocol != Protocol::TaskUmbilical)
}

// === impl Spoken ===

impl Spoken {
    /// What that name stands for; `None` closes the connection.
    pub(super) fn from_class_name(name: &str) -> Option<Self> {
        match served_protocol(name) {
            Some(protocol) => Some(Self::Served(protocol)),
            None if name.is_empty() => Some(Self::Nameless),
            None => FOREIGN.contains(&name).then_some(Self::Foreign),
        }
    }

    /// A name that stands for the same.
    pub(super) fn class_name(self) -> &'static str {
        match self {
            Self::Served(protocol) => protocol.class_name(),
            Self::Foreign => FOREIGN[0],
            Self::Nameless => "",
        }
    }

    /// The protocol to read calls by: calls of a foreign one fail whatever they are.
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
    fn a_name_stands_for_what_it_was_asked_of() {
        let served = Protocol::ALL.into_iter().filter(|protocol| *protocol != Protocol::TaskUmbilical);
        for spoken in served.map(Spoken::Served).chain([Spoken::Foreign, Spoken::Nameless]) {
            assert_eq!(Spoken::from_class_name(spoken.class_name()), Some(spoken));
        }
    }
}

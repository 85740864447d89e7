//! The limits on received data as `docs/configuration.md` lists them.

use crate::wire::limits::{
    BEAT_BYTES, BEAT_CONTAINERS, BLOCK_LOCATIONS, CHECKSUM_CHUNK_BYTES, COUNTER_NAMES_BYTES, CREDENTIALS_BYTES,
    DATA_PACKET_BYTES, DATANODE_NAME_BYTES, DIAGNOSTICS_BYTES, FAILED_FETCHES, HEALTH_REPORT_BYTES, HEARTBEAT_REPORTS,
    HOST_NAME_BYTES, JOB_ACL_BYTES, JOB_DIAGNOSTICS_BYTES, JOB_HOSTS, JOB_NAME_BYTES, NAMENODE_ANSWER_BYTES,
    NAMENODE_ERROR_BYTES, NOTIFICATION_URL_BYTES, PROTOCOL_NAME_BYTES, QUEUE_NAME_BYTES, SPLIT_HOSTS, STATE_TEXT_BYTES,
    SUBMIT_DIR_BYTES, TRACKER_ERROR_BYTES, TRACKER_NAME_BYTES, USER_NAME_BYTES, WORKFLOW_BYTES,
};

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// What is limited, for people.
    pub(crate) what: &'static str,
    /// Who sends it.
    pub(crate) sender: Sender,
    /// The limit, in `unit`.
    pub(crate) max: usize,
    /// The unit of `max`.
    pub(crate) unit: DocumentedUnit,
    /// The action beyond the limit.
    pub(crate) action: LimitAction,
}

/// The sender of a limited value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Any program that opens a connection.
    AnyClient,
    /// A TaskTracker.
    Tracker,
    /// A job client, by a call or in job.xml and the splits.
    JobClient,
    /// A NameNode that we are a client of.
    NameNode,
    /// A DataNode that we are a client of.
    DataNode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentedUnit {
    Bytes,
    Pieces,
}

/// The action taken beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitAction {
    /// The rest is dropped.
    Truncate,
    /// The call fails and names the limit.
    Reject,
    /// The TaskTracker is disallowed: no stock one reaches the limit.
    Disallow,
    /// The value is ignored.
    Ignore,
    /// The connection is closed.
    Close,
}

/// Longest text among a call's parameters, bytes.
const PARAMETER_BYTES: usize = u16::MAX as usize;

/// All limits, in the order of the documentation.
pub(crate) const TABLE: &[Limit] = &[
    bytes("name of a user", Sender::AnyClient, USER_NAME_BYTES, LimitAction::Reject),
    bytes("class name of a protocol", Sender::AnyClient, PROTOCOL_NAME_BYTES, LimitAction::Close),
    bytes("any text among a call's parameters", Sender::AnyClient, PARAMETER_BYTES, LimitAction::Close),
    bytes(
        "name of a TaskTracker: printable ASCII without blanks",
        Sender::Tracker,
        TRACKER_NAME_BYTES,
        LimitAction::Disallow,
    ),
    bytes(
        "host of a TaskTracker: printable ASCII without blanks",
        Sender::Tracker,
        HOST_NAME_BYTES,
        LimitAction::Disallow,
    ),
    pieces("reports in one heartbeat", Sender::Tracker, HEARTBEAT_REPORTS, LimitAction::Disallow),
    bytes("report of a health script", Sender::Tracker, HEALTH_REPORT_BYTES, LimitAction::Truncate),
    bytes("diagnostics of one attempt, all together", Sender::Tracker, DIAGNOSTICS_BYTES, LimitAction::Truncate),
    bytes(
        "diagnostics of all attempts of a job: beyond it 256 bytes of each report",
        Sender::Tracker,
        JOB_DIAGNOSTICS_BYTES,
        LimitAction::Truncate,
    ),
    bytes("status text of an attempt", Sender::Tracker, STATE_TEXT_BYTES, LimitAction::Truncate),
    bytes("names of counters in one report, all together", Sender::Tracker, COUNTER_NAMES_BYTES, LimitAction::Ignore),
    pieces("failed fetches in one report", Sender::Tracker, FAILED_FETCHES, LimitAction::Ignore),
    bytes("beat about containers", Sender::Tracker, BEAT_BYTES, LimitAction::Reject),
    pieces("containers in one beat", Sender::Tracker, BEAT_CONTAINERS, LimitAction::Reject),
    bytes("each text of a TaskTracker's own error", Sender::Tracker, TRACKER_ERROR_BYTES, LimitAction::Truncate),
    bytes("credentials of a job, all together", Sender::JobClient, CREDENTIALS_BYTES, LimitAction::Reject),
    bytes("staging directory of a job", Sender::JobClient, SUBMIT_DIR_BYTES, LimitAction::Reject),
    bytes("`mapred.job.name`", Sender::JobClient, JOB_NAME_BYTES, LimitAction::Truncate),
    bytes("queue of a job", Sender::JobClient, QUEUE_NAME_BYTES, LimitAction::Reject),
    bytes(
        "`mapreduce.job.acl-view-job`, `mapreduce.job.acl-modify-job`",
        Sender::JobClient,
        JOB_ACL_BYTES,
        LimitAction::Reject,
    ),
    bytes("`job.end.notification.url`", Sender::JobClient, NOTIFICATION_URL_BYTES, LimitAction::Reject),
    bytes("each `mapreduce.workflow.*`", Sender::JobClient, WORKFLOW_BYTES, LimitAction::Reject),
    bytes("name of a host of a split", Sender::JobClient, HOST_NAME_BYTES, LimitAction::Ignore),
    pieces("hosts of one split", Sender::JobClient, SPLIT_HOSTS, LimitAction::Ignore),
    pieces("different hosts of all splits of a job", Sender::JobClient, JOB_HOSTS, LimitAction::Ignore),
    bytes("one answer", Sender::NameNode, NAMENODE_ANSWER_BYTES, LimitAction::Close),
    bytes("text of an error that is shown", Sender::NameNode, NAMENODE_ERROR_BYTES, LimitAction::Truncate),
    pieces("DataNodes of one block", Sender::NameNode, BLOCK_LOCATIONS, LimitAction::Close),
    bytes("one packet of a block", Sender::DataNode, DATA_PACKET_BYTES, LimitAction::Close),
    bytes("chunk with a checksum of its own", Sender::DataNode, CHECKSUM_CHUNK_BYTES, LimitAction::Close),
    bytes("name of a DataNode that cannot be reached", Sender::DataNode, DATANODE_NAME_BYTES, LimitAction::Close),
];

const fn bytes(what: &'static str, sender: Sender, max: usize, action: LimitAction) -> Limit {
    Limit { what, sender, max, unit: DocumentedUnit::Bytes, action }
}

const fn pieces(what: &'static str, sender: Sender, max: usize, action: LimitAction) -> Limit {
    Limit { what, sender, max, unit: DocumentedUnit::Pieces, action }
}

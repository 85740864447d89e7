//! Limits on what comes over the wire, in one table for decoders, the engine and `docs/configuration.md`.
//!
//! A text that Hadoop accepts at any length and that only people read is truncated; all else is refused. Truncation
//! happens while decoding, so that dropped bytes are never copied.

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is limited, for people.
    pub what: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// The limit, in `unit`.
    pub max: usize,
    /// The unit of `max`.
    pub unit: LimitUnit,
    /// The action beyond the limit.
    pub action: LimitAction,
}

/// The sender of a limited value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
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

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Bytes.
    Bytes,
    /// Pieces.
    Pieces,
}

/// The action taken beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitAction {
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

/// Longest name of a TaskTracker, bytes.
pub const TRACKER_NAME_BYTES: usize = 255;
/// Longest name of a host, bytes, as in DNS.
pub const HOST_NAME_BYTES: usize = 255;
/// Most reports in one heartbeat: twice what a tracker with the most slots that may be configured can run.
pub const HEARTBEAT_REPORTS: usize = 20_000;
/// Most diagnostics stored for one attempt, bytes.
pub const DIAGNOSTICS_BYTES: usize = 16 << 10;
/// Diagnostics of all attempts of a job, bytes: beyond it each report keeps [`SHORT_DIAGNOSTICS_BYTES`].
pub const JOB_DIAGNOSTICS_BYTES: usize = 4 << 20;
/// Most diagnostics of a report beyond [`JOB_DIAGNOSTICS_BYTES`], bytes.
pub const SHORT_DIAGNOSTICS_BYTES: usize = 256;
/// Longest status text of an attempt, bytes.
pub const STATE_TEXT_BYTES: usize = 1 << 10;
/// Longest report of a health script, bytes.
pub const HEALTH_REPORT_BYTES: usize = 1 << 10;
/// Longest names of counters in one report, bytes, all together.
pub const COUNTER_NAMES_BYTES: usize = 1 << 20;
/// Most failed fetches in one report.
pub const FAILED_FETCHES: usize = 1_000;
/// Longest beat of a worker about its containers, bytes.
pub const BEAT_BYTES: usize = 8 << 20;
/// Most containers in one beat.
pub const BEAT_CONTAINERS: usize = 20_000;
/// Longest text of a tracker's own error, bytes.
pub const TRACKER_ERROR_BYTES: usize = 1 << 10;
/// Longest name of a user, bytes.
pub const USER_NAME_BYTES: usize = 255;
/// Longest class name of a protocol, bytes.
pub const PROTOCOL_NAME_BYTES: usize = 255;
/// Longest text among a call's parameters, bytes.
pub const PARAMETER_BYTES: usize = u16::MAX as usize;
/// Longest encoded credentials of a job, bytes.
pub const CREDENTIALS_BYTES: usize = 64 << 10;
/// Longest name of a job, bytes.
pub const JOB_NAME_BYTES: usize = 4 << 10;
/// Longest URI of a job's staging directory, bytes: no file system takes a longer path.
pub const SUBMIT_DIR_BYTES: usize = 4 << 10;
/// Longest access list of a job, bytes.
pub const JOB_ACL_BYTES: usize = 16 << 10;
/// Longest URL that is called at a job's end, bytes.
pub const NOTIFICATION_URL_BYTES: usize = 16 << 10;
/// Longest texts of a job's workflow, bytes each.
pub const WORKFLOW_BYTES: usize = 16 << 10;
/// Longest name of a queue, bytes.
pub const QUEUE_NAME_BYTES: usize = 1 << 10;
/// Most hosts stored for one split: more bring no task nearer to its input (1.2.1 clients write ten at most).
pub const SPLIT_HOSTS: usize = 100;
/// Most hosts stored for one job.
pub const JOB_HOSTS: usize = 20_000;

/// Longest answer of a NameNode, bytes: a listing of 1000 names, or the blocks that a client asks for at a time, is far shorter.
pub const NAMENODE_ANSWER_BYTES: usize = 64 << 20;
/// Longest text of an exception that is kept of a NameNode's answer, bytes: its first line is shown.
pub const NAMENODE_ERROR_BYTES: usize = 4 << 10;
/// Most DataNodes of one block: the greatest `dfs.replication.max`.
pub const BLOCK_LOCATIONS: usize = 512;
/// Longest packet of block data, bytes: stock DataNodes send 64 KiB, or `io.file.buffer.size`.
pub const DATA_PACKET_BYTES: usize = 16 << 20;
/// Longest chunk with a checksum of its own, bytes: `io.bytes.per.checksum` of the writer, 512 as shipped.
pub const CHECKSUM_CHUNK_BYTES: usize = 1 << 20;
/// Longest name of a DataNode in the answer to a write, bytes.
pub const DATANODE_NAME_BYTES: usize = 255;

/// All limits, in the order of the documentation.
pub const TABLE: &[Limit] = &[
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
    Limit { what, sender, max, unit: LimitUnit::Bytes, action }
}

const fn pieces(what: &'static str, sender: Sender, max: usize, action: LimitAction) -> Limit {
    Limit { what, sender, max, unit: LimitUnit::Pieces, action }
}

/// Whether a TaskTracker or a host may have this name: 1 to 255 bytes of printable ASCII without blanks, for example
/// `tracker_n1.example:localhost/127.0.0.1:40235`.
#[must_use]
pub fn is_node_name(name: &str) -> bool {
    const { assert!(TRACKER_NAME_BYTES == HOST_NAME_BYTES) };
    (1..=HOST_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The beginning of a text, at most `bytes` of it, cut between characters.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Cuts a text to at most `bytes`, between characters.
pub fn shorten(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.shrink_to_fit();
    }
}

/// An excerpt of a received text for errors and log lines: at most 64 characters, and dots for the rest.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_names_are_node_names_and_made_up_ones_are_not() {
        let longest = "x".repeat(255);
        let good =
            ["tracker_n1.example:localhost/127.0.0.1:40235", "tracker_h:streaming_only/0:0:0:0:0:0:0:1:9", &longest];
        assert!(good.into_iter().all(is_node_name));
        let long = "x".repeat(256);
        for bad in ["", " ", "a b", "a\nb", "h\u{202e}", "h\u{e4}", "\0", &long] {
            assert!(!is_node_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("\u{e4}\u{e4}", 3), "\u{e4}");
        let mut text = "\u{1f600}x".to_owned();
        shorten(&mut text, 3);
        assert_eq!(text, "");
        assert_eq!(excerpt(&"\u{e4}".repeat(64)), "\u{e4}".repeat(64));
        assert_eq!(excerpt(&"\u{e4}".repeat(65)), format!("{}...", "\u{e4}".repeat(64)));
    }
}

//! Limits on what comes over the wire, for decoders and the engine; `docs/configuration.md` lists them. A text that Hadoop accepts at any
//! length and that only people read is truncated; all else is refused. Truncation happens while decoding, so that dropped bytes are never
//! copied.

/// Longest name of a TaskTracker, bytes.
pub(crate) const TRACKER_NAME_BYTES: usize = 255;
/// Longest name of a host, bytes, as in DNS.
pub(crate) const HOST_NAME_BYTES: usize = 255;
/// Most reports in one heartbeat: twice what a tracker with the most slots that may be configured can run.
pub(crate) const HEARTBEAT_REPORTS: usize = 20_000;
/// Most diagnostics stored for one attempt, bytes.
pub(crate) const DIAGNOSTICS_BYTES: usize = 16 << 10;
/// Diagnostics of all attempts of a job, bytes: beyond it each report keeps [`SHORT_DIAGNOSTICS_BYTES`].
pub(crate) const JOB_DIAGNOSTICS_BYTES: usize = 4 << 20;
/// Most diagnostics of a report beyond [`JOB_DIAGNOSTICS_BYTES`], bytes.
pub(crate) const SHORT_DIAGNOSTICS_BYTES: usize = 256;
/// Longest status text of an attempt, bytes.
pub(crate) const STATE_TEXT_BYTES: usize = 1 << 10;
/// Longest report of a health script, bytes.
pub(crate) const HEALTH_REPORT_BYTES: usize = 1 << 10;
/// Longest names of counters in one report, bytes, all together.
pub(crate) const COUNTER_NAMES_BYTES: usize = 1 << 20;
/// Most failed fetches in one report.
pub(crate) const FAILED_FETCHES: usize = 1_000;
/// Longest beat of a worker about its containers, bytes.
pub(crate) const BEAT_BYTES: usize = 8 << 20;
/// Most containers in one beat.
pub(crate) const BEAT_CONTAINERS: usize = 20_000;
/// Longest text of a tracker's own error, bytes.
pub(crate) const TRACKER_ERROR_BYTES: usize = 1 << 10;
/// Longest name of a user, bytes.
pub(crate) const USER_NAME_BYTES: usize = 255;
/// Longest class name of a protocol, bytes.
pub(crate) const PROTOCOL_NAME_BYTES: usize = 255;
/// Longest encoded credentials of a job, bytes.
pub(crate) const CREDENTIALS_BYTES: usize = 64 << 10;
/// Longest name of a job, bytes.
pub(crate) const JOB_NAME_BYTES: usize = 4 << 10;
/// Longest URI of a job's staging directory, bytes: no file system takes a longer path.
pub(crate) const SUBMIT_DIR_BYTES: usize = 4 << 10;
/// Longest access list of a job, bytes.
pub(crate) const JOB_ACL_BYTES: usize = 16 << 10;
/// Longest URL that is called at a job's end, bytes.
pub(crate) const NOTIFICATION_URL_BYTES: usize = 16 << 10;
/// Longest texts of a job's workflow, bytes each.
pub(crate) const WORKFLOW_BYTES: usize = 16 << 10;
/// Longest name of a queue, bytes.
pub(crate) const QUEUE_NAME_BYTES: usize = 1 << 10;
/// Most hosts stored for one split: more bring no task nearer to its input (1.2.1 clients write ten at most).
pub(crate) const SPLIT_HOSTS: usize = 100;
/// Most hosts stored for one job.
pub(crate) const JOB_HOSTS: usize = 20_000;

/// Longest answer of a NameNode, bytes: a listing of 1000 names, or the blocks that a client asks for at a time, is far shorter.
pub(crate) const NAMENODE_ANSWER_BYTES: usize = 64 << 20;
/// Longest text of an exception that is kept of a NameNode's answer, bytes: its first line is shown.
pub(crate) const NAMENODE_ERROR_BYTES: usize = 4 << 10;
/// Most DataNodes of one block: the greatest `dfs.replication.max`.
pub(crate) const BLOCK_LOCATIONS: usize = 512;
/// Longest packet of block data, bytes: stock DataNodes send 64 KiB, or `io.file.buffer.size`.
pub(crate) const DATA_PACKET_BYTES: usize = 16 << 20;
/// Longest chunk with a checksum of its own, bytes: `io.bytes.per.checksum` of the writer, 512 as shipped.
pub(crate) const CHECKSUM_CHUNK_BYTES: usize = 1 << 20;
/// Longest name of a DataNode in the answer to a write, bytes.
pub(crate) const DATANODE_NAME_BYTES: usize = 255;

/// Whether a TaskTracker or a host may have this name: 1 to 255 bytes of printable ASCII without blanks, for example
/// `tracker_n1.example:localhost/127.0.0.1:40235`.
pub(crate) fn is_node_name(name: &str) -> bool {
    const { assert!(TRACKER_NAME_BYTES == HOST_NAME_BYTES) };
    (1..=HOST_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The beginning of a text, at most `bytes` of it, cut between characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Cuts a text to at most `bytes`, between characters.
pub(crate) fn shorten(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.shrink_to_fit();
    }
}

/// An excerpt of a received text for errors and log lines: at most 64 characters, and dots for the rest.
pub(crate) fn excerpt(text: &str) -> String {
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

//! What runs a Hadoop Streaming task: everything below the protocol, without the tracker.
//!
//! [`plan`] reads from job.xml what to run, or why only a stock TaskTracker can. [`map_task`] and [`reduce_task`] run one attempt each:
//! input ([`split_reader`]), the command ([`child`]), map output ([`map_output`], [`merge`]), the way from maps to reduces ([`shuffle`]),
//! output and its commit ([`committer`]). [`progress`] is what an attempt shares with the tracker. Bytes on disk and on
//! the wire are those of Hadoop 1.2.1, so that both kinds of trackers can run tasks of one job.
//!
//! Everything here blocks and runs on threads; only a fetch has a runtime, of its own. Memory is bounded by the job's own limits, never by
//! the size of its data, except for single lines.

pub(crate) mod aggregate;
pub(crate) mod attempt;
pub(crate) mod child;
pub mod codec;
pub(crate) mod command_exit;
pub(crate) mod command_line;
pub(crate) mod command_stream;
pub(crate) mod committer;
pub(crate) mod counters;
pub(crate) mod environment;
pub(crate) mod failure;
#[cfg(test)]
#[path = "tests/fixtures.rs"]
pub(crate) mod fixtures;
pub(crate) mod job_file;
pub(crate) mod key_fields;
pub mod key_order;
pub(crate) mod line_reader;
pub mod map_output;
pub(crate) mod map_split;
pub(crate) mod map_task;
pub(crate) mod merge;
pub mod plan;
pub(crate) mod private_files;
pub mod progress;
pub(crate) mod reduce_task;
pub(crate) mod segment_reader;
pub(crate) mod segment_writer;
pub mod shuffle;
pub(crate) mod sort_buffer;
pub(crate) mod spill_index;
pub(crate) mod split_reader;
#[cfg(test)]
#[path = "tests/stage.rs"]
pub(crate) mod stage;
pub(crate) mod working_folder;

//! What runs a Hadoop Streaming task: everything below the protocol, without the tracker.
//!
//! [`plan`] reads from job.xml what to run, or why only a stock TaskTracker can. [`map_task`] and [`reduce_task`] run
//! one attempt each: input ([`split_reader`]), the command ([`child`]), map output ([`map_output`], [`merge`]), the way
//! from maps to reduces ([`shuffle`]), output and its commit ([`text_output`], [`committer`]). [`progress`] is what an
//! attempt shares with the tracker. Bytes on disk and on the wire are those of Hadoop 1.2.1, so that both kinds of
//! trackers can run tasks of one job.
//!
//! Everything here blocks and runs on threads; only a fetch has a runtime, of its own. Memory is bounded by the job's own limits, never by
//! the size of its data, except for single lines.

pub mod aggregate;
pub mod attempt;
pub mod child;
pub mod codec;
pub mod command_exit;
pub mod command_line;
pub mod command_stream;
pub mod committer;
pub mod counters;
pub mod environment;
pub mod failure;
pub mod field_rule;
#[cfg(test)]
#[path = "tests/fixtures.rs"]
pub(crate) mod fixtures;
pub mod job_file;
pub mod key_fields;
pub mod key_order;
pub mod line_reader;
pub mod map_output;
pub mod map_split;
pub mod map_task;
pub mod merge;
pub mod partition;
pub mod plan;
pub(crate) mod private_files;
pub mod progress;
pub mod reduce_task;
pub mod segment_reader;
pub mod segment_writer;
pub mod shuffle;
pub mod sort_buffer;
pub mod spill_index;
pub mod split_reader;
#[cfg(test)]
#[path = "tests/stage.rs"]
pub(crate) mod stage;
pub mod stderr_line;
pub mod text_output;
pub mod working_folder;

//! The data plane of the built-in tasktracker: everything a streaming task needs below the protocol.
//!
//! [`plan`] reads from job.xml what is to be run, or why only a stock TaskTracker can. [`map_task`] and
//! [`reduce_task`] run one attempt each: input ([`input`]), the command ([`child`]), map output ([`map_output`], [`merge`]), the way
//! from maps to reduces ([`shuffle`]), output and its commit ([`text_output`], [`committer`]). What an attempt counts, tells and
//! obeys is its [`progress`].
//! [`daemon`] is what speaks to the JobTracker and starts them.
//! Bytes on disk and on the wire are those of Hadoop 1.2.1, so that both kinds of trackers work on one job.
//!
//! Everything below [`daemon`] blocks and runs on threads; there is no runtime here. Memory is bounded by the job's own limits, never by
//! the size of its data, but for single lines.

pub mod attempt;
pub mod child;
pub mod codec;
pub mod command_line;
pub mod command_stream;
pub mod committer;
pub mod counters;
pub mod daemon;
pub mod environment;
pub mod failure;
#[cfg(test)]
#[path = "tests/fixtures.rs"]
pub(crate) mod fixtures;
mod group;
pub mod input;
pub mod keeper;
pub mod key_fields;
pub mod key_order;
pub mod lines;
pub mod map_output;
pub mod map_split;
pub mod map_task;
pub mod merge;
pub mod output_lines;
pub mod partition;
pub mod plan;
mod private;
pub mod process_tree;
pub mod progress;
pub mod reduce_task;
pub mod reporter;
pub mod segment_reader;
pub mod segment_writer;
pub mod shuffle;
pub mod sort_buffer;
pub mod spill_index;
#[cfg(test)]
#[path = "tests/stage.rs"]
pub(crate) mod stage;
pub mod text_output;
pub mod working_folder;

//! HDFS of Hadoop 1 (0.20.203.0 to 1.2.1) as a client speaks it: bytes to values and back, no I/O.
//!
//! Two protocols: calls to the NameNode in the frames of the IPC ([`HdfsCall`], [`HdfsAnswer`]), and streams to and from the data
//! port of a DataNode ([`ReadRequest`], [`WriteRequest`], [`DataFrame`], [`PipelineAck`]), which have no frames. Both directions of
//! both are here: tests have a NameNode and DataNodes of their own.
//!
//! A function that reads the beginning of a stream gives `None` while bytes are missing, and refuses a length beyond
//! [`limits`](super::limits) as soon as it is read.

mod answer;
mod block;
mod call;
mod data_request;
mod datanode;
mod file_status;
mod hdfs_objects;
mod packet;
mod pipeline;

pub use answer::{HdfsAnswer, HdfsAnswerKind, HdfsOutcome, HdfsResponse, decode_hdfs_response, encode_hdfs_response};
pub use block::{Block, LocatedBlock, LocatedBlocks};
pub(crate) use call::ByteArray;
pub use call::{HdfsCall, HdfsProtocol, NameNodeSafeModeAction, decode_hdfs_call, encode_hdfs_call};
pub use data_request::{Checksums, DataRequest, ReadRequest, WriteRequest, decode_data_request, encode_data_request};
pub use datanode::{AdminState, DatanodeInfo};
pub use file_status::{ContentSummary, DirectoryListing, FileStatus, FsPermission};
pub use packet::{DataFrame, HEARTBEAT_SEQUENCE, encode_end, encode_packet, first_bad_chunk, split_data_frame};
pub use pipeline::{
    DataStatus, PipelineAck, ReadAnswer, SetupAnswer, decode_ack, decode_read_answer, decode_setup_answer, encode_ack,
    encode_checksum_ok, encode_read_answer, encode_setup_answer,
};

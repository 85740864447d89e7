//! Answers of a NameNode or DataNode. They carry no length: the end of one is known only once it is decoded whole.

use crate::wire::object::encode_null;
use crate::wire::protocol::call_value::{CallValue, Nothing};
use crate::wire::protocol::{CallOutcome, Response, decode_whole, values};
use crate::wire::reader::decode_start;
use crate::wire::{Reader, Token, WireError, Writer, class};

use super::{ContentSummary, DatanodeInfo, DirectoryListing, FileStatus, LocatedBlock, LocatedBlocks};

values! {
    HdfsAnswer of HdfsAnswerKind, "answer" {
        /// A number.
        Long(i64);
        /// A boolean.
        Boolean(bool);
        /// Numbers.
        Longs(Vec<i64>);
        /// A file or directory.
        FileStatus(Option<FileStatus>);
        /// A page of a listing.
        Listing(Option<DirectoryListing>);
        /// A block to write.
        Block(Option<LocatedBlock>);
        /// A block whose recovery is over.
        RecoveredBlock(Option<LocatedBlock>);
        /// Blocks of a file.
        Blocks(Option<LocatedBlocks>);
        /// Sums over a tree.
        ContentSummary(ContentSummary);
        /// DataNodes.
        Datanodes(Vec<DatanodeInfo>);
        /// A token.
        Token(Option<Token>);
    }
}

/// A response to a client of HDFS.
pub type HdfsResponse = Response<HdfsAnswer>;

/// The outcome of a call of HDFS.
pub type HdfsOutcome = CallOutcome<HdfsAnswer>;

/// Reads the response at the start of `bytes` to a call with answers of that kind, and its size. `None` when more bytes are needed;
/// the caller limits how many.
///
/// # Errors
/// Malformed bytes, or an answer of another class.
pub fn decode_hdfs_response(kind: HdfsAnswerKind, bytes: &[u8]) -> Result<Option<(HdfsResponse, usize)>, WireError> {
    decode_start(bytes, |reader| decode_whole(reader, |reader| HdfsAnswer::decode(kind, reader)))
}

/// Appends a response.
pub fn encode_hdfs_response(out: &mut Vec<u8>, response: &HdfsResponse) {
    response.encode_with(out, HdfsAnswer::encode);
}

//! Answers of a NameNode or DataNode. They carry no length: the end of one is known only once it is decoded whole.

use crate::wire::object::encode_null;
use crate::wire::protocol::call_value::{CallValue, Nothing};
use crate::wire::protocol::{CallOutcome, Response, decode_whole};
use crate::wire::reader::decode_start;
use crate::wire::{Reader, Token, WireError, Writer, class};

use super::{ContentSummary, DatanodeInfo, DirectoryListing, FileStatus, LocatedBlock, LocatedBlocks};

macro_rules! hdfs_answers {
    ($( $(#[$doc:meta])* $variant:ident($type:ty); )+) => {
        /// What a call answers. `None` is null.
        #[derive(Clone, Debug, PartialEq)]
        pub enum HdfsAnswer {
            /// Nothing.
            Void,
            $( $(#[$doc])* $variant($type), )+
        }

        /// The type of an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HdfsAnswerKind {
            /// Nothing.
            Void,
            $( $(#[$doc])* $variant, )+
        }

        impl HdfsAnswerKind {
            /// All types.
            pub const ALL: &'static [Self] = &[Self::Void, $( Self::$variant, )+];
        }

        impl HdfsAnswer {
            fn decode(kind: HdfsAnswerKind, reader: &mut Reader<'_>) -> Result<Self, WireError> {
                let start = reader.clone();
                let answer = match kind {
                    HdfsAnswerKind::Void => <Option<Nothing> as CallValue>::decode(reader).map(|_| Self::Void),
                    $( HdfsAnswerKind::$variant => <$type as CallValue>::decode(reader).map(Self::$variant), )+
                };
                answer.map_err(|error| error.into_wire_error(&start, "answer"))
            }

            fn encode(&self, writer: &mut Writer<'_>) {
                match self {
                    Self::Void => encode_null(class::VOID, writer),
                    $( Self::$variant(value) => CallValue::encode(value, writer), )+
                }
            }
        }
    };
}

hdfs_answers! {
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

//! Answers of a NameNode or DataNode. They carry no length: the end of one is known only once it is decoded whole.

use crate::wire::object::encode_null;
use crate::wire::protocol::call_value::{CallValue, Nothing};
use crate::wire::protocol::{RemoteException, encode_error, encode_response_start};
use crate::wire::{Decode, Reader, Token, WireError, WireErrorKind, Writer, class};

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

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct HdfsResponse {
    /// The call it answers.
    pub id: i32,
    /// The outcome of the call.
    pub outcome: HdfsOutcome,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum HdfsOutcome {
    /// It succeeded.
    Answer(HdfsAnswer),
    /// It failed.
    Error(RemoteException),
    /// The connection failed, and the server closes it.
    Fatal(RemoteException),
}

const SUCCESS: i32 = 0;
const ERROR: i32 = 1;
const FATAL: i32 = -1;

/// Reads the response at the start of `bytes` to a call with answers of that kind, and its size. `None` when more bytes are needed;
/// the caller limits how many.
///
/// # Errors
/// Malformed bytes, or an answer of another class.
pub fn decode_hdfs_response(kind: HdfsAnswerKind, bytes: &[u8]) -> Result<Option<(HdfsResponse, usize)>, WireError> {
    let mut reader = Reader::new(bytes);
    match decode_whole(kind, &mut reader) {
        Ok(response) => Ok(Some((response, reader.position()))),
        Err(WireError { kind: WireErrorKind::Truncated { .. }, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn decode_whole(kind: HdfsAnswerKind, reader: &mut Reader<'_>) -> Result<HdfsResponse, WireError> {
    let id = reader.i32("call id")?;
    let start = reader.clone();
    let outcome = match reader.i32("status of a response")? {
        SUCCESS => HdfsOutcome::Answer(HdfsAnswer::decode(kind, reader)?),
        ERROR => HdfsOutcome::Error(RemoteException::decode(reader)?),
        FATAL => HdfsOutcome::Fatal(RemoteException::decode(reader)?),
        other => return Err(start.error(WireErrorKind::UnknownNumber(i64::from(other)), "status of a response")),
    };
    Ok(HdfsResponse { id, outcome })
}

/// Appends a response.
pub fn encode_hdfs_response(out: &mut Vec<u8>, response: &HdfsResponse) {
    match &response.outcome {
        HdfsOutcome::Answer(answer) => {
            encode_response_start(out, response.id);
            answer.encode(&mut Writer::new(out));
        }
        HdfsOutcome::Error(exception) => encode_error(out, response.id, &exception.class, &exception.message),
        HdfsOutcome::Fatal(exception) => {
            let mut writer = Writer::new(out);
            writer.i32(response.id);
            writer.i32(FATAL);
            for text in [&exception.class, &exception.message] {
                writer.count(text.len());
                writer.bytes(text.as_bytes());
            }
        }
    }
}

//! Calls to a NameNode, and the one to a DataNode that recovers a block.

use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::frame::encode_frame;
use crate::wire::object::{Object, ObjectError, encode_class, named_objects};
use crate::wire::protocol::CallError;
use crate::wire::protocol::call_value::{CallValue, CallValueError};
use crate::wire::{Reader, Text, Writer};

use super::{Block, DatanodeInfo, FsPermission, HdfsAnswerKind, LocatedBlock};

/// Generates the enum of calls: a variant for each method, with its Java name, its parameters in order and its answer. Methods
/// of one name differ in their parameters; here the number is enough.
macro_rules! hdfs_calls {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:literal $({ $( $(#[$field_doc:meta])* $field:ident: $type:ty ),+ $(,)? })?
            -> $answer:ident;
    )+) => {
        /// A call to a NameNode or DataNode.
        #[derive(Clone, Debug, PartialEq)]
        pub enum HdfsCall {
            $( $(#[$doc])* $variant $({ $( $(#[$field_doc])* $field: $type ),+ })?, )+
        }

        type DecodeCall = fn(&mut Reader<'_>) -> Result<HdfsCall, CallValueError>;

        /// Name, number of parameters and decoder of each method.
        const METHODS: &[(&str, usize, DecodeCall)] = &[
            $( (
                $name,
                { const FIELDS: &[&str] = &[$($(stringify!($field)),+)?]; FIELDS.len() },
                |reader| {
                    let _ = &reader; // Not used by methods without parameters.
                    Ok(HdfsCall::$variant $({ $( $field: <$type as CallValue>::decode(reader)? ),+ })?)
                },
            ), )+
        ];

        impl HdfsCall {
            /// The Java name of the method.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$variant { .. } => $name, )+
                }
            }

            /// What the method answers.
            pub fn answer_kind(&self) -> HdfsAnswerKind {
                match self {
                    $( Self::$variant { .. } => HdfsAnswerKind::$answer, )+
                }
            }

            /// How many parameters the method has.
            pub(super) fn parameter_count(&self) -> usize {
                match self {
                    $( Self::$variant { .. } => {
                        const FIELDS: &[&str] = &[$($(stringify!($field)),+)?];
                        FIELDS.len()
                    } )+
                }
            }

            /// Writes the parameters.
            pub(super) fn encode_parameters(&self, writer: &mut Writer<'_>) {
                match self {
                    $( Self::$variant $({ $($field),+ })? => {
                        $($( CallValue::encode($field, writer); )+)?
                    } )+
                }
            }
        }
    };
}

hdfs_calls! {
    /// The server's version of a protocol, which the client compares with its own.
    GetProtocolVersion = "getProtocolVersion" {
        /// Class name of the protocol.
        protocol: String,
        /// The client's version.
        client_version: i64,
    } -> Long;
    /// A file or directory; null when there is none.
    GetFileInfo = "getFileInfo" {
        /// The path.
        path: String,
    } -> FileStatus;
    /// A page of a directory; null when there is none.
    GetListing = "getListing" {
        /// The path.
        path: String,
        /// The name after which the page begins; empty: the first page.
        start_after: ByteArray,
    } -> Listing;
    /// Makes a directory and those above it; true also when it was there.
    Mkdirs = "mkdirs" {
        /// The path.
        path: String,
        /// Permission of the last directory; the server applies no umask.
        permission: FsPermission,
    } -> Boolean;
    /// Deletes a file or directory; false when there was none.
    Delete = "delete" {
        /// The path.
        path: String,
        /// Whether a directory may hold something.
        is_recursive: bool,
    } -> Boolean;
    /// The older form, which is recursive.
    DeleteTree = "delete" {
        /// The path.
        path: String,
    } -> Boolean;
    /// Renames; false when that cannot be.
    Rename = "rename" {
        /// The path.
        from: String,
        /// The new path, or a directory to move into.
        to: String,
    } -> Boolean;
    /// Begins a file, and makes missing parents.
    Create = "create" {
        /// The path.
        path: String,
        /// Permission; the server applies no umask.
        permission: FsPermission,
        /// The holder of the lease.
        client: String,
        /// Whether a file that is there is replaced.
        overwrite: bool,
        /// Replicas.
        replication: i16,
        /// Block size, bytes.
        block_bytes: i64,
    } -> Void;
    /// Begins a file, and makes missing parents if that is wanted.
    CreateBelow = "create" {
        /// The path.
        path: String,
        /// Permission; the server applies no umask.
        permission: FsPermission,
        /// The holder of the lease.
        client: String,
        /// Whether a file that is there is replaced.
        overwrite: bool,
        /// Whether missing parents are made.
        create_parent: bool,
        /// Replicas.
        replication: i16,
        /// Block size, bytes.
        block_bytes: i64,
    } -> Void;
    /// Opens a file to write behind its end.
    Append = "append" {
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
    } -> Block;
    /// The next block of a file that is being written.
    AddBlock = "addBlock" {
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
        /// DataNodes that are not wanted.
        excluded: Option<Vec<DatanodeInfo>>,
    } -> Block;
    /// The older form.
    AddBlockAnywhere = "addBlock" {
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
    } -> Block;
    /// Takes the last block of a file back.
    AbandonBlock = "abandonBlock" {
        /// The block.
        block: Block,
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
    } -> Void;
    /// Closes a file; false while a block has too few replicas.
    Complete = "complete" {
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
    } -> Boolean;
    /// Renews the lease of all files of a client.
    RenewLease = "renewLease" {
        /// The holder of the lease.
        client: String,
    } -> Void;
    /// Blocks of a range of a file; null when there is no file, or the range lies behind its end.
    GetBlockLocations = "getBlockLocations" {
        /// The path.
        path: String,
        /// Bytes.
        offset_bytes: i64,
        /// Bytes.
        length_bytes: i64,
    } -> Blocks;
    /// Sets permission bits.
    SetPermission = "setPermission" {
        /// The path.
        path: String,
        /// Permission bits.
        permission: FsPermission,
    } -> Void;
    /// Sets owner and group.
    SetOwner = "setOwner" {
        /// The path.
        path: String,
        /// Null: as it is.
        owner: Option<String>,
        /// Null: as it is.
        group: Option<String>,
    } -> Void;
    /// Sets how many replicas are wanted; false when there is no file.
    SetReplication = "setReplication" {
        /// The path.
        path: String,
        /// Replicas.
        replication: i16,
    } -> Boolean;
    /// Sets times of a file.
    SetTimes = "setTimes" {
        /// The path.
        path: String,
        /// Epoch ms; -1: as it is.
        modified_ms: i64,
        /// Epoch ms; -1: as it is.
        accessed_ms: i64,
    } -> Void;
    /// Block size of a file.
    GetPreferredBlockSize = "getPreferredBlockSize" {
        /// The path.
        path: String,
    } -> Long;
    /// Sums over a tree.
    GetContentSummary = "getContentSummary" {
        /// The path.
        path: String,
    } -> ContentSummary;
    /// Reports replicas with wrong checksums.
    ReportBadBlocks = "reportBadBlocks" {
        /// Each with the DataNodes of its bad replicas.
        blocks: Vec<LocatedBlock>,
    } -> Void;
    /// Has the lease of another client recovered; true when the file is closed.
    RecoverLease = "recoverLease" {
        /// The path.
        path: String,
        /// The caller.
        client: String,
    } -> Boolean;
    /// Whether a file is closed.
    IsFileClosed = "isFileClosed" {
        /// The path.
        path: String,
    } -> Boolean;
    /// Persists the list of blocks of a file that is being written.
    Fsync = "fsync" {
        /// The path.
        path: String,
        /// The holder of the lease.
        client: String,
    } -> Void;
    /// Leaves, enters or reports safe mode; whether it is on afterwards.
    SetSafeMode = "setSafeMode" {
        /// The action.
        action: NameNodeSafeModeAction,
    } -> Boolean;
    /// Capacity, used and remaining bytes; under-replicated, corrupt and missing blocks.
    GetStats = "getStats" -> Longs;
    /// DataNodes.
    GetDatanodeReport = "getDatanodeReport" {
        /// Which.
        which: DatanodeReportType,
    } -> Datanodes;
    /// A token for a renewer; null with security off.
    GetDelegationToken = "getDelegationToken" {
        /// Who may renew it.
        renewer: Text,
    } -> Token;
    /// Of a DataNode: recovers a block that was being written.
    RecoverBlock = "recoverBlock" {
        /// The block.
        block: Block,
        /// Whether replicas of another length than the block's are left out, instead of all being cut to the shortest.
        keep_length: bool,
        /// DataNodes of its replicas.
        nodes: Vec<DatanodeInfo>,
    } -> RecoveredBlock;
}

impl HdfsCall {
    /// The path that the call is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::GetFileInfo { path }
            | Self::GetListing { path, .. }
            | Self::Mkdirs { path, .. }
            | Self::Delete { path, .. }
            | Self::DeleteTree { path }
            | Self::Rename { from: path, .. }
            | Self::Create { path, .. }
            | Self::CreateBelow { path, .. }
            | Self::Append { path, .. }
            | Self::AddBlock { path, .. }
            | Self::AddBlockAnywhere { path, .. }
            | Self::AbandonBlock { path, .. }
            | Self::Complete { path, .. }
            | Self::GetBlockLocations { path, .. }
            | Self::SetPermission { path, .. }
            | Self::SetOwner { path, .. }
            | Self::SetReplication { path, .. }
            | Self::SetTimes { path, .. }
            | Self::GetPreferredBlockSize { path }
            | Self::GetContentSummary { path }
            | Self::RecoverLease { path, .. }
            | Self::IsFileClosed { path }
            | Self::Fsync { path, .. } => Some(path),
            Self::GetProtocolVersion { .. }
            | Self::RenewLease { .. }
            | Self::ReportBadBlocks { .. }
            | Self::SetSafeMode { .. }
            | Self::GetStats
            | Self::GetDatanodeReport { .. }
            | Self::GetDelegationToken { .. }
            | Self::RecoverBlock { .. } => None,
        }
    }

    /// Reads the parameters of the method of that name and number of parameters; `None`: there is none.
    pub(super) fn decode(name: &[u8], count: i32, reader: &mut Reader<'_>) -> Option<Result<Self, CallValueError>> {
        let is_meant =
            |method: &&(&str, usize, DecodeCall)| method.0.as_bytes() == name && usize::try_from(count) == Ok(method.1);
        METHODS.iter().find(is_meant).map(|(_, _, decode)| decode(reader))
    }
}

/// A safe mode action of a NameNode (1.2.1 `FSConstants.SafeModeAction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameNodeSafeModeAction {
    /// Leave it.
    Leave,
    /// Enter it.
    Enter,
    /// Report it.
    Get,
}

/// Which DataNodes are wanted (1.2.1 `FSConstants.DatanodeReportType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatanodeReportType {
    /// All.
    All,
    /// Those that send heartbeats.
    Live,
    /// Those that do not.
    Dead,
}

named_objects! {
    NameNodeSafeModeAction = "org.apache.hadoop.hdfs.protocol.FSConstants$SafeModeAction", "safe mode action" {
        Leave = "SAFEMODE_LEAVE",
        Enter = "SAFEMODE_ENTER",
        Get = "SAFEMODE_GET",
    }
    DatanodeReportType = "org.apache.hadoop.hdfs.protocol.FSConstants$DatanodeReportType", "kind of a DataNode report" {
        All = "ALL",
        Live = "LIVE",
        Dead = "DEAD",
    }
}

/// A `byte[]` parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteArray(pub Vec<u8>);

const BYTE: &str = "byte";

impl Object for ByteArray {
    const CLASS: &'static str = "[B";

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        let count = reader.i32("number of bytes")?;
        let count = reader.count(count, 2 + BYTE.len() + 1, "number of bytes")?;
        let mut bytes = Vec::with_capacity(count);
        for _ in 0..count {
            let start = reader.clone();
            if reader.utf8_bytes("class of a byte")? != BYTE.as_bytes() {
                let found = crate::wire::error::excerpt(start.bytes_until(reader));
                return Err(start.error(WireErrorKind::UnexpectedClass { found, expected: BYTE }, "byte").into());
            }
            bytes.push(reader.i8("byte")? as u8);
        }
        Ok(Some(Self(bytes)))
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        writer.count(self.0.len());
        for byte in &self.0 {
            encode_class(BYTE, writer);
            writer.bytes(&[*byte]);
        }
    }
}

/// A protocol of HDFS, as the header of a connection names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HdfsProtocol {
    /// Clients to a NameNode.
    Client,
    /// Clients to the IPC port of a DataNode.
    ClientDatanode,
}

/// A call with the id for its response.
#[derive(Clone, Debug, PartialEq)]
pub struct HdfsCallFrame {
    /// Chosen by the client.
    pub id: i32,
    /// The call.
    pub call: HdfsCall,
}

impl HdfsProtocol {
    /// The Java interface.
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::Client => "org.apache.hadoop.hdfs.protocol.ClientProtocol",
            Self::ClientDatanode => "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol",
        }
    }

    /// The version of 0.20.203.0 to 1.2.1.
    pub const fn version(self) -> i64 {
        match self {
            Self::Client => 61,
            Self::ClientDatanode => 4,
        }
    }
}

/// Appends a call as a whole frame, with its length.
pub fn encode_hdfs_call(out: &mut Vec<u8>, id: i32, call: &HdfsCall) {
    encode_frame(out, |writer| {
        writer.i32(id);
        encode_class(call.name(), writer);
        writer.count(call.parameter_count());
        call.encode_parameters(writer);
    });
}

/// Reads the call in a frame, without the frame's length. Bytes after the last parameter are ignored.
///
/// # Errors
/// [`CallError::Method`] for a method or parameter that does not exist here, [`CallError::Close`] for malformed bytes.
pub fn decode_hdfs_call(frame: &[u8]) -> Result<HdfsCallFrame, CallError> {
    let mut reader = Reader::new(frame);
    let id = reader.i32("call id")?;
    let name = reader.utf8_bytes("method name")?;
    let count = reader.i32("number of parameters")?;
    let no_such = |detail: String| CallError::Method {
        id,
        text: format!("java.io.IOException: java.lang.NoSuchMethodException: {}: {detail}", excerpt(name)),
    };
    match HdfsCall::decode(name, count, &mut reader) {
        None => Err(no_such(format!("no such method with {count} parameters"))),
        Some(Ok(call)) => Ok(HdfsCallFrame { id, call }),
        Some(Err(CallValueError::Object(ObjectError::Wire(error)))) => Err(error.into()),
        Some(Err(error)) => Err(no_such(error.to_string())),
    }
}

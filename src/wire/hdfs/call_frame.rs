//! Calls in the frames of the IPC.

use crate::wire::error::excerpt;
use crate::wire::object::{ObjectError, encode_class};
use crate::wire::protocol::CallError;
use crate::wire::protocol::call_value::CallValueError;
use crate::wire::{Reader, Writer};

use super::HdfsCall;

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
    #[must_use]
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::Client => "org.apache.hadoop.hdfs.protocol.ClientProtocol",
            Self::ClientDatanode => "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol",
        }
    }

    /// The version of 0.20.203.0 to 1.2.1.
    #[must_use]
    pub const fn version(self) -> i64 {
        match self {
            Self::Client => 61,
            Self::ClientDatanode => 4,
        }
    }
}

/// Appends a call as a whole frame, with its length.
pub fn encode_hdfs_call(out: &mut Vec<u8>, id: i32, call: &HdfsCall) {
    let start = out.len();
    let mut writer = Writer::new(out);
    writer.i32(0);
    writer.i32(id);
    encode_class(call.name(), &mut writer);
    writer.count(call.parameter_count());
    call.encode_parameters(&mut writer);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
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

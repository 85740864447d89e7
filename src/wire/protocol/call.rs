//! Calls: call id, method, parameters.

use crate::wire::error::excerpt;
use crate::wire::frame::encode_frame;
use crate::wire::object::{ObjectError, encode_class};
use crate::wire::{Reader, WireError, Writer};

use super::call_value::{CallValue, CallValueError};
use super::{
    AdminOperationsCall, ContainerBeatCall, InterTrackerCall, JobSubmissionCall, Method, Protocol,
    RefreshAuthorizationPolicyCall, RefreshUserMappingsCall, ReturnType, TaskUmbilicalCall,
};

/// A call of any protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// `getProtocolVersion`, which all protocols have. The result is the server's version of the named protocol.
    ProtocolVersion {
        /// Class name of a protocol; normally that of the connection.
        protocol: String,
        /// The client's version, which the client itself compares with the result.
        client_version: i64,
    },
    /// From a job client.
    JobSubmission(JobSubmissionCall),
    /// From a TaskTracker.
    InterTracker(InterTrackerCall),
    /// From an administrator.
    AdminOperations(AdminOperationsCall),
    /// From an administrator.
    RefreshUserMappings(RefreshUserMappingsCall),
    /// From an administrator.
    RefreshAuthorizationPolicy(RefreshAuthorizationPolicyCall),
    /// From a task process.
    TaskUmbilical(TaskUmbilicalCall),
    /// From a built-in worker, about its containers.
    ContainerBeats(ContainerBeatCall),
}

/// A call with the id for its response.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFrame {
    /// Chosen by the client: gaps and any order are normal.
    pub id: i32,
    /// The call.
    pub call: Call,
}

/// Why a call could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No such method, or null where it accepts none. Answer ERROR; the connection is sound.
    #[error("call {id}: {text}")]
    Method {
        /// The call.
        id: i32,
        /// The message of the ERROR response, whose class is `java.io.IOException`.
        text: String,
    },
    /// A heartbeat beyond a limit that no stock tracker reaches. Answer ERROR with DisallowedTaskTrackerException: any
    /// other makes a tracker come back at once.
    #[error("call {id}: {text}")]
    Disallowed {
        /// The call.
        id: i32,
        /// The limit exceeded.
        text: String,
    },
    /// Malformed bytes. Close the connection without an answer, as 1.2.1 `Server` does.
    #[error("a call that cannot be read: {0}")]
    Close(#[from] WireError),
}

const GET_PROTOCOL_VERSION: Method = Method {
    name: "getProtocolVersion",
    classes: &[<String as CallValue>::CLASSES, <i64 as CallValue>::CLASSES],
    returns: ReturnType::Long,
};

/// Reads the call in a frame (without the frame's length) of a connection of that protocol. Bytes after the last parameter are ignored.
pub fn decode_call(protocol: Protocol, frame: &[u8]) -> Result<CallFrame, CallError> {
    let mut reader = Reader::new(frame);
    let id = reader.i32("call id")?;
    let name = reader.utf8_bytes("method name")?;
    let count = reader.i32("number of parameters")?;
    let no_such = |detail: &dyn std::fmt::Display| CallError::Method {
        id,
        text: format!(
            "java.io.IOException: java.lang.NoSuchMethodException: {}.{}: {detail}",
            protocol.class_name(),
            excerpt(name)
        ),
    };
    let found = std::str::from_utf8(name).ok().and_then(|name| protocol.find_method(name));
    let Some((index, method)) = found else { return Err(no_such(&"no such method")) };
    if usize::try_from(count) != Ok(method.parameter_count()) {
        return Err(no_such(&format_args!("{count} parameters instead of {}", method.parameter_count())));
    }
    match protocol.decode_parameters(index, &mut reader) {
        Ok(call) => Ok(CallFrame { id, call }),
        Err(CallValueError::Object(ObjectError::Wire(error))) if error.is_too_long() => Err(match protocol {
            Protocol::InterTracker => CallError::Disallowed { id, text: error.to_string() },
            _ => CallError::Method { id, text: format!("java.io.IOException: {}: {error}", method.name) },
        }),
        Err(CallValueError::Object(ObjectError::Wire(error))) => Err(error.into()),
        Err(CallValueError::Object(mismatch)) => Err(no_such(&mismatch)),
        Err(null) => Err(CallError::Method {
            id,
            text: format!("java.io.IOException: java.lang.NullPointerException: {}: {null}", method.name),
        }),
    }
}

/// Appends a call as a whole frame, with its length.
pub fn encode_call(out: &mut Vec<u8>, id: i32, call: &Call) {
    let method = call.method();
    encode_frame(out, |writer| {
        writer.i32(id);
        encode_class(method.name, writer);
        writer.count(method.parameter_count());
        call.encode_parameters(writer);
    });
}

impl Protocol {
    /// The method of that name with its index in the table of the protocol; `getProtocolVersion` is in no table.
    fn find_method(self, name: &str) -> Option<(Option<usize>, &'static Method)> {
        let mut own = self.methods().iter().enumerate();
        match own.find(|(_, method)| method.name == name) {
            Some((index, method)) => Some((Some(index), method)),
            None => (name == GET_PROTOCOL_VERSION.name).then_some((None, &GET_PROTOCOL_VERSION)),
        }
    }

    fn decode_parameters(self, index: Option<usize>, reader: &mut Reader<'_>) -> Result<Call, CallValueError> {
        let Some(index) = index else {
            let protocol = CallValue::decode(reader)?;
            return Ok(Call::ProtocolVersion { protocol, client_version: CallValue::decode(reader)? });
        };
        match self {
            Self::JobSubmission => JobSubmissionCall::decode(index, reader).map(Call::JobSubmission),
            Self::InterTracker => InterTrackerCall::decode(index, reader).map(Call::InterTracker),
            Self::AdminOperations => AdminOperationsCall::decode(index, reader).map(Call::AdminOperations),
            Self::RefreshUserMappings => RefreshUserMappingsCall::decode(index, reader).map(Call::RefreshUserMappings),
            Self::RefreshAuthorizationPolicy => {
                RefreshAuthorizationPolicyCall::decode(index, reader).map(Call::RefreshAuthorizationPolicy)
            }
            Self::TaskUmbilical => TaskUmbilicalCall::decode(index, reader).map(Call::TaskUmbilical),
            Self::ContainerBeats => ContainerBeatCall::decode(index, reader).map(Call::ContainerBeats),
        }
    }
}

impl Call {
    /// The method that is called.
    pub fn method(&self) -> &'static Method {
        match self {
            Self::ProtocolVersion { .. } => &GET_PROTOCOL_VERSION,
            Self::JobSubmission(call) => call.method(),
            Self::InterTracker(call) => call.method(),
            Self::AdminOperations(call) => call.method(),
            Self::RefreshUserMappings(call) => call.method(),
            Self::RefreshAuthorizationPolicy(call) => call.method(),
            Self::TaskUmbilical(call) => call.method(),
            Self::ContainerBeats(call) => call.method(),
        }
    }

    fn encode_parameters(&self, writer: &mut Writer<'_>) {
        match self {
            Self::ProtocolVersion { protocol, client_version } => {
                CallValue::encode(protocol, writer);
                CallValue::encode(client_version, writer);
            }
            Self::JobSubmission(call) => call.encode(writer),
            Self::InterTracker(call) => call.encode(writer),
            Self::AdminOperations(call) => call.encode(writer),
            Self::RefreshUserMappings(call) => call.encode(writer),
            Self::RefreshAuthorizationPolicy(call) => call.encode(writer),
            Self::TaskUmbilical(call) => call.encode(writer),
            Self::ContainerBeats(call) => call.encode(writer),
        }
    }
}

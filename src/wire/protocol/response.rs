//! Responses. They carry no length: the end of one is known only once it is decoded whole.

use crate::wire::object::{ArrayElement, encode_array_head, encode_object};
use crate::wire::reader::decode_start;
use crate::wire::{Decode, Encode, Reader, WString, WireError, WireErrorKind, Writer};

use super::{ReturnType, Value};

/// The call id of a FATAL response, which answers no call.
pub const FATAL_CALL_ID: i32 = -1;

const SUCCESS: i32 = 0;
const ERROR: i32 = 1;
const FATAL: i32 = -1;

/// A response to a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Response<V = Value> {
    /// The call it answers.
    pub id: i32,
    /// Its outcome.
    pub outcome: CallOutcome<V>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome<V = Value> {
    /// It succeeded.
    Value(V),
    /// It failed.
    Error(RemoteException),
    /// The connection failed, and the server closes it.
    Fatal(RemoteException),
}

/// An exception that was thrown at the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct RemoteException {
    /// Its Java class.
    pub class: String,
    /// Its text, with a stack trace when a Java server sent it.
    pub message: String,
}

/// Appends the response to a successful call.
pub fn encode_response(out: &mut Vec<u8>, id: i32, value: &Value) {
    encode_response_start(out, id);
    encode_value(value, out);
}

/// Appends the part before the value of the response to a successful call.
pub(crate) fn encode_response_start(out: &mut Vec<u8>, id: i32) {
    let mut writer = Writer::new(out);
    writer.i32(id);
    writer.i32(SUCCESS);
}

/// Appends a value with its class names.
pub(crate) fn encode_value(value: &Value, out: &mut Vec<u8>) {
    value.encode(&mut Writer::new(out));
}

/// Appends the part before the elements of an array; its last four bytes are the count.
pub(crate) fn encode_array_start<T: ArrayElement>(count: usize, out: &mut Vec<u8>) {
    encode_array_head::<T>(count, &mut Writer::new(out));
}

pub(crate) fn encode_element<T: ArrayElement>(element: &T, out: &mut Vec<u8>) {
    encode_object(Some(element), &mut Writer::new(out));
}

/// Appends the response to a failed call. Clients see the class and the first line of the message.
pub(crate) fn encode_error(out: &mut Vec<u8>, id: i32, class: &str, message: &str) {
    encode_exception(out, id, ERROR, class, message);
}

/// Appends the last response of a connection.
pub(crate) fn encode_fatal(out: &mut Vec<u8>, class: &str, message: &str) {
    encode_exception(out, FATAL_CALL_ID, FATAL, class, message);
}

fn encode_exception(out: &mut Vec<u8>, id: i32, status: i32, class: &str, message: &str) {
    let mut writer = Writer::new(out);
    writer.i32(id);
    writer.i32(status);
    for text in [class, message] {
        writer.count(text.len());
        writer.bytes(text.as_bytes());
    }
}

/// The call id of the response at the start of `bytes`; `None` when more bytes are needed.
pub fn response_id(bytes: &[u8]) -> Option<i32> {
    bytes.first_chunk().map(|id| i32::from_be_bytes(*id))
}

/// Reads the response at the start of `bytes` to a call that returns `returns`, and its size. `None` when more bytes
/// are needed; the caller limits how many.
pub fn decode_response(returns: ReturnType, bytes: &[u8]) -> Result<Option<(Response, usize)>, WireError> {
    decode_start(bytes, |reader| decode_whole(reader, |reader| Value::decode(returns, reader)))
}

pub(in crate::wire) fn decode_whole<V>(
    reader: &mut Reader<'_>,
    decode_value: impl FnOnce(&mut Reader<'_>) -> Result<V, WireError>,
) -> Result<Response<V>, WireError> {
    let id = reader.i32("call id")?;
    let start = reader.clone();
    let outcome = match reader.i32("status of a response")? {
        SUCCESS => CallOutcome::Value(decode_value(reader)?),
        ERROR => CallOutcome::Error(RemoteException::decode(reader)?),
        FATAL => CallOutcome::Fatal(RemoteException::decode(reader)?),
        other => return Err(start.error(WireErrorKind::UnknownNumber(i64::from(other)), "status of a response")),
    };
    Ok(Response { id, outcome })
}

impl Decode for RemoteException {
    const MIN_BYTES: usize = 8;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let class = WString::decode(reader)?.0.unwrap_or_default();
        Ok(Self { class, message: WString::decode(reader)?.0.unwrap_or_default() })
    }
}

impl<V> Response<V> {
    /// Appends it, the value by `encode_value`.
    pub(in crate::wire) fn encode_with(&self, out: &mut Vec<u8>, encode_value: impl FnOnce(&V, &mut Writer<'_>)) {
        match &self.outcome {
            CallOutcome::Value(value) => {
                encode_response_start(out, self.id);
                encode_value(value, &mut Writer::new(out));
            }
            CallOutcome::Error(exception) => encode_error(out, self.id, &exception.class, &exception.message),
            CallOutcome::Fatal(exception) => {
                encode_exception(out, self.id, FATAL, &exception.class, &exception.message);
            }
        }
    }
}

impl Encode for Response {
    fn encode(&self, writer: &mut Writer<'_>) {
        let mut out = Vec::new();
        self.encode_with(&mut out, Value::encode);
        writer.bytes(&out);
    }
}

//! Encoding of parameters and results: mostly one object each.

use crate::wire::object::{Object, ObjectError, decode_object, encode_object};
use crate::wire::{HeartbeatRequest, Reader, TaskStatus, WireError, WireErrorKind, Writer, class};

/// A parameter or result: usually one object.
pub(crate) trait CallValue: Sized {
    /// The declared classes, in order.
    const CLASSES: &'static [&'static str];

    fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError>;

    fn encode(&self, writer: &mut Writer<'_>);
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallValueError {
    /// Another class than declared, or malformed bytes.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Null, or a foreign id, where a value is required.
    #[error("null instead of {0}")]
    Null(&'static str),
}

impl CallValueError {
    /// The error of a whole answer, which began at `start`: one of another class cannot be decoded further, for it has no length.
    pub(in crate::wire) fn into_wire_error(self, start: &Reader<'_>, what: &'static str) -> WireError {
        match self {
            CallValueError::Object(ObjectError::Wire(error)) => error,
            CallValueError::Object(ObjectError::Mismatch { found, expected }) => {
                start.error(WireErrorKind::UnexpectedClass { found, expected }, what)
            }
            CallValueError::Null(_) => start.error(WireErrorKind::Null, what),
        }
    }
}

/// A `void` is encoded as its null; a bare `void` is accepted too.
pub(in crate::wire) struct Nothing;

impl Object for Nothing {
    const CLASS: &'static str = class::VOID;

    fn decode_known(_reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        Ok(None)
    }

    fn encode_object(&self, _writer: &mut Writer<'_>) {}
}

/// A value that may be null or a foreign id.
impl<T: Object> CallValue for Option<T> {
    const CLASSES: &'static [&'static str] = &[T::CLASS];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError> {
        Ok(decode_object(reader)?)
    }

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        encode_object(self.as_ref(), writer);
    }
}

impl<T: Object> CallValue for T {
    const CLASSES: &'static [&'static str] = &[T::CLASS];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError> {
        decode_object(reader)?.ok_or(CallValueError::Null(T::CLASS))
    }

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        encode_object(Some(self), writer);
    }
}

macro_rules! boxed {
    ($($type:ty),*) => {$(
        /// Boxed, because it is much larger than the parameters of other methods.
        impl CallValue for Box<$type> {
            const CLASSES: &'static [&'static str] = <$type as CallValue>::CLASSES;

            #[inline]
            fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError> {
                <$type as CallValue>::decode(reader).map(Box::new)
            }

            #[inline]
            fn encode(&self, writer: &mut Writer<'_>) {
                <$type as CallValue>::encode(self, writer);
            }
        }
    )*};
}

boxed!(HeartbeatRequest, TaskStatus);

/// Five parameters in one value.
impl CallValue for HeartbeatRequest {
    const CLASSES: &'static [&'static str] =
        &["org.apache.hadoop.mapred.TaskTrackerStatus", "boolean", "boolean", "boolean", "short"];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError> {
        Ok(Self {
            status: CallValue::decode(reader)?,
            restarted: CallValue::decode(reader)?,
            initial_contact: CallValue::decode(reader)?,
            accept_new_tasks: CallValue::decode(reader)?,
            response_id: CallValue::decode(reader)?,
        })
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        CallValue::encode(&self.status, writer);
        CallValue::encode(&self.restarted, writer);
        CallValue::encode(&self.initial_contact, writer);
        CallValue::encode(&self.accept_new_tasks, writer);
        CallValue::encode(&self.response_id, writer);
    }
}

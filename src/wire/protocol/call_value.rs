//! How values are passed to methods: mostly one object each.

use crate::wire::object::{Object, ObjectError, decode_object, encode_object};
use crate::wire::{HeartbeatRequest, Reader, TaskStatus, Writer};

/// What stands in a call for one value of ours: as a rule one object.
pub trait CallValue: Sized {
    /// The declared classes, in order.
    const CLASSES: &'static [&'static str];

    /// Reads the objects.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CallValueError>;

    /// Writes the objects.
    fn encode(&self, writer: &mut Writer<'_>);
}

/// Why a value could not be taken from a call or response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallValueError {
    /// Another class than declared, or bytes that mean nothing.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Null, or an id of another make, where a value is needed.
    #[error("null instead of {0}")]
    Null(&'static str),
}

/// A value that may be null, or an id that nothing here can have.
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

/// A value that must be there.
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
        /// Boxed, since it is much larger than what other methods take.
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

/// Five parameters that are one thing.
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

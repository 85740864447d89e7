//! How values are passed to methods: mostly one object each.

use crate::wire::object::{Object, ObjectError, decode_object, encode_object};
use crate::wire::{HeartbeatRequest, Reader, TaskStatus, Writer};

/// What stands in a call for one value of ours: as a rule one object.
pub trait Passed: Sized {
    /// The declared classes, in order.
    const CLASSES: &'static [&'static str];

    /// Reads the objects.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, PassedError>;

    /// Writes the objects.
    fn encode(&self, writer: &mut Writer<'_>);
}

/// Why a value could not be taken from a call or response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassedError {
    /// Another class than declared, or bytes that mean nothing.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Null, or an id of another make, where a value is needed.
    #[error("null instead of {0}")]
    Null(&'static str),
}

/// A value that may be null, or an id that nothing here can have.
impl<T: Object> Passed for Option<T> {
    const CLASSES: &'static [&'static str] = &[T::CLASS];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, PassedError> {
        Ok(decode_object(reader)?)
    }

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        encode_object(self.as_ref(), writer);
    }
}

/// A value that must be there.
impl<T: Object> Passed for T {
    const CLASSES: &'static [&'static str] = &[T::CLASS];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, PassedError> {
        decode_object(reader)?.ok_or(PassedError::Null(T::CLASS))
    }

    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) {
        encode_object(Some(self), writer);
    }
}

macro_rules! boxed {
    ($($type:ty),*) => {$(
        /// Boxed, since it is much larger than what other methods take.
        impl Passed for Box<$type> {
            const CLASSES: &'static [&'static str] = <$type as Passed>::CLASSES;

            #[inline]
            fn decode(reader: &mut Reader<'_>) -> Result<Self, PassedError> {
                <$type as Passed>::decode(reader).map(Box::new)
            }

            #[inline]
            fn encode(&self, writer: &mut Writer<'_>) {
                <$type as Passed>::encode(self, writer);
            }
        }
    )*};
}

boxed!(HeartbeatRequest, TaskStatus);

/// Five parameters that are one thing.
impl Passed for HeartbeatRequest {
    const CLASSES: &'static [&'static str] =
        &["org.apache.hadoop.mapred.TaskTrackerStatus", "boolean", "boolean", "boolean", "short"];

    #[inline]
    fn decode(reader: &mut Reader<'_>) -> Result<Self, PassedError> {
        Ok(Self {
            status: Passed::decode(reader)?,
            restarted: Passed::decode(reader)?,
            initial_contact: Passed::decode(reader)?,
            accept_new_tasks: Passed::decode(reader)?,
            response_id: Passed::decode(reader)?,
        })
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        Passed::encode(&self.status, writer);
        Passed::encode(&self.restarted, writer);
        Passed::encode(&self.initial_contact, writer);
        Passed::encode(&self.accept_new_tasks, writer);
        Passed::encode(&self.response_id, writer);
    }
}

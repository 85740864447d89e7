//! Values with their class names before them (1.2.1 `ObjectWritable`). A value is encoded as the name of its declared class, then, unless
//! that is a primitive, a string, an enum or an array, the name of its instance class, then its fields. A null of any class is three names
//! and nothing else.

use crate::model::{AttemptId, JobId, Kind};

use super::error::{WireErrorKind, excerpt};
use super::{
    AccessControlList, ClusterStatus, Counters, Credentials, Decode, Encode, HeartbeatResponse, JobProfile,
    JobQueueInfo, JobStatus, JvmContext, JvmTask, MapEventsUpdate, QueueAclsInfo, Reader, RecordRange,
    TaskCompletionEvent, TaskReport, TaskStatus, TaskTrackerStatus, Text, Token, WireError, Writer, class,
};

/// A type that is encoded with its class names.
pub(crate) trait Object: Sized {
    /// The declared class.
    const CLASS: &'static str;

    /// Reads what follows the declared class; `None` for a foreign id.
    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError>;

    fn encode_object(&self, writer: &mut Writer<'_>);
}

/// A type that is also encoded in arrays.
pub(crate) trait ArrayElement: Object {
    /// The class of the array, in the notation of the JVM.
    const ARRAY_CLASS: &'static str;
}

/// Why a value with its class names could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ObjectError {
    /// A known class where another is expected: the method does not exist, the connection is sound.
    #[error("{found} is not {expected}")]
    Mismatch {
        /// The class sent.
        found: String,
        /// The class expected.
        expected: &'static str,
    },
    /// Malformed bytes.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// Reads a value of one class, or `None` for null.
#[inline]
pub(crate) fn decode_object<T: Object>(reader: &mut Reader<'_>) -> Result<Option<T>, ObjectError> {
    let start = reader.clone();
    let declared = reader.utf8_bytes("declared class")?;
    if declared == T::CLASS.as_bytes() {
        return T::decode_known(reader);
    }
    if declared != class::WRITABLE.as_bytes() {
        return Err(mismatch(&start, declared, T::CLASS));
    }
    let start = reader.clone();
    let instance = reader.utf8_bytes("class of the value")?;
    if instance != class::NULL_INSTANCE.as_bytes() {
        return Err(mismatch(&start, instance, T::CLASS));
    }
    let start = reader.clone();
    let declared = reader.utf8_bytes("declared class of a null")?;
    if declared == T::CLASS.as_bytes() { Ok(None) } else { Err(mismatch(&start, declared, T::CLASS)) }
}

/// Writes a value, or the null of its class.
#[inline]
pub(crate) fn encode_object<T: Object>(value: Option<&T>, writer: &mut Writer<'_>) {
    match value {
        Some(value) => {
            encode_class(T::CLASS, writer);
            value.encode_object(writer);
        }
        None => encode_null(T::CLASS, writer),
    }
}

/// Writes the null of a class. A method without a result returns that of `void`.
pub(crate) fn encode_null(declared: &str, writer: &mut Writer<'_>) {
    for name in [class::WRITABLE, class::NULL_INSTANCE, declared] {
        encode_class(name, writer);
    }
}

/// Class names are ASCII and short, so they need none of the care of `UTF8` strings.
#[inline]
pub(super) fn encode_class(name: &str, writer: &mut Writer<'_>) {
    writer.u16(name.len() as u16);
    writer.bytes(name.as_bytes());
}

/// The error for a wrong class: harmless when the class exists.
#[cold]
fn mismatch(start: &Reader<'_>, found: &[u8], expected: &'static str) -> ObjectError {
    if class::is_known(found) {
        ObjectError::Mismatch { found: excerpt(found), expected }
    } else {
        ObjectError::Wire(start.error(WireErrorKind::UnknownClass(excerpt(found)), "class"))
    }
}

/// Reads the instance class of a value, which must be `expected`.
#[inline]
pub(super) fn decode_instance(reader: &mut Reader<'_>, expected: &'static str) -> Result<(), ObjectError> {
    let start = reader.clone();
    let instance = reader.utf8_bytes("class of the value")?;
    if instance == expected.as_bytes() { Ok(()) } else { Err(mismatch(&start, instance, expected)) }
}

macro_rules! primitives {
    ($($type:ty = $class:literal, $method:ident;)*) => {$(
        impl Object for $type {
            const CLASS: &'static str = $class;

            #[inline]
            fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
                Ok(Some(reader.$method($class)?))
            }

            #[inline]
            fn encode_object(&self, writer: &mut Writer<'_>) {
                writer.$method(*self);
            }
        }
    )*};
}

primitives! {
    bool = "boolean", bool;
    i16 = "short", i16;
    i32 = "int", i32;
    i64 = "long", i64;
}

impl Object for String {
    const CLASS: &'static str = "java.lang.String";

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        Ok(Some(reader.utf8("string")?))
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        writer.utf8(self);
    }
}

macro_rules! writables {
    ($($type:ty = $class:expr, $decode:expr;)*) => {$(
        impl Object for $type {
            const CLASS: &'static str = $class;

            #[inline]
            fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
                decode_instance(reader, Self::CLASS)?;
                let decode: fn(&mut Reader<'_>) -> Result<Option<Self>, WireError> = $decode;
                Ok(decode(reader)?)
            }

            #[inline]
            fn encode_object(&self, writer: &mut Writer<'_>) {
                encode_class(Self::CLASS, writer);
                self.encode(writer);
            }
        }
    )*};
}

/// For types without foreign values.
#[inline]
pub(super) fn plain<T: Decode>(reader: &mut Reader<'_>) -> Result<Option<T>, WireError> {
    T::decode(reader).map(Some)
}

pub(super) use writables;

writables! {
    Text = "org.apache.hadoop.io.Text", plain;
    JobId = "org.apache.hadoop.mapred.JobID", JobId::decode_known;
    AttemptId = "org.apache.hadoop.mapred.TaskAttemptID", AttemptId::decode_known;
    JobStatus = "org.apache.hadoop.mapred.JobStatus", plain;
    JobProfile = "org.apache.hadoop.mapred.JobProfile", plain;
    Counters = "org.apache.hadoop.mapred.Counters", plain;
    TaskReport = "org.apache.hadoop.mapred.TaskReport", plain;
    TaskCompletionEvent = "org.apache.hadoop.mapred.TaskCompletionEvent", plain;
    ClusterStatus = "org.apache.hadoop.mapred.ClusterStatus", plain;
    JobQueueInfo = "org.apache.hadoop.mapred.JobQueueInfo", plain;
    QueueAclsInfo = "org.apache.hadoop.mapred.QueueAclsInfo", plain;
    TaskTrackerStatus = "org.apache.hadoop.mapred.TaskTrackerStatus", plain;
    HeartbeatResponse = class::HEARTBEAT_RESPONSE, plain;
    JvmContext = "org.apache.hadoop.mapred.JvmContext", plain;
    JvmTask = "org.apache.hadoop.mapred.JvmTask", plain;
    MapEventsUpdate = "org.apache.hadoop.mapred.MapTaskCompletionEventsUpdate", plain;
    RecordRange = "org.apache.hadoop.mapred.SortedRanges$Range", plain;
    AccessControlList = "org.apache.hadoop.security.authorize.AccessControlList", plain;
    Credentials = "org.apache.hadoop.security.Credentials", |reader| Credentials::decode_submitted(reader).map(Some);
    Token = "org.apache.hadoop.security.token.Token", plain;
}

/// Enums that are encoded by their names as `UTF8`.
macro_rules! named_objects {
    ($( $type:ident = $class:literal, $what:literal { $($variant:ident = $name:literal,)+ } )+) => {$(
        impl Object for $type {
            const CLASS: &'static str = $class;

            fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
                let start = reader.clone();
                match reader.utf8_bytes($what)? {
                    $( sent if sent == $name.as_bytes() => Ok(Some(Self::$variant)), )+
                    sent => Err(start.error(WireErrorKind::UnknownName(excerpt(sent)), $what).into()),
                }
            }

            fn encode_object(&self, writer: &mut Writer<'_>) {
                writer.utf8(match self {
                    $( Self::$variant => $name, )+
                });
            }
        }
    )+};
}

pub(super) use named_objects;

/// The only class whose values are always of a subclass.
impl Object for TaskStatus {
    const CLASS: &'static str = "org.apache.hadoop.mapred.TaskStatus";

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        let start = reader.clone();
        let instance = reader.utf8_bytes("class of a status")?;
        let kind = if instance == class::MAP_TASK_STATUS.as_bytes() {
            Kind::Map
        } else if instance == class::REDUCE_TASK_STATUS.as_bytes() {
            Kind::Reduce
        } else {
            return Err(mismatch(&start, instance, Self::CLASS));
        };
        Ok(TaskStatus::decode_known(kind, reader)?)
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        let instance = match self.kind() {
            Kind::Map => class::MAP_TASK_STATUS,
            Kind::Reduce => class::REDUCE_TASK_STATUS,
        };
        encode_class(instance, writer);
        self.encode_as(self.kind(), writer);
    }
}

macro_rules! array_elements {
    ($($type:ty = $class:literal;)*) => {$(
        impl ArrayElement for $type {
            const ARRAY_CLASS: &'static str = $class;
        }
    )*};
}

pub(super) use array_elements;

array_elements! {
    i64 = "[J";
    String = "[Ljava.lang.String;";
    JobStatus = "[Lorg.apache.hadoop.mapred.JobStatus;";
    TaskReport = "[Lorg.apache.hadoop.mapred.TaskReport;";
    TaskCompletionEvent = "[Lorg.apache.hadoop.mapred.TaskCompletionEvent;";
    JobQueueInfo = "[Lorg.apache.hadoop.mapred.JobQueueInfo;";
    QueueAclsInfo = "[Lorg.apache.hadoop.mapred.QueueAclsInfo;";
}

/// Writes what comes before the elements of an array of `count`.
pub(super) fn encode_array_head<T: ArrayElement>(count: usize, writer: &mut Writer<'_>) {
    encode_class(T::ARRAY_CLASS, writer);
    writer.count(count);
}

/// Each element repeats its class names. A null element is refused: clients send none.
impl<T: ArrayElement> Object for Vec<T> {
    const CLASS: &'static str = T::ARRAY_CLASS;

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        let count = reader.i32("number of elements")?;
        let count = reader.count(count, 2 + T::CLASS.len(), "number of elements")?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            let start = reader.clone();
            let element = decode_object(reader)?;
            elements.push(element.ok_or_else(|| start.error(WireErrorKind::Null, "element of an array"))?);
        }
        Ok(Some(elements))
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        writer.count(self.len());
        for element in self {
            encode_object(Some(element), writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<T: Object>(value: Option<&T>) -> Vec<u8> {
        let mut out = Vec::new();
        encode_object(value, &mut Writer::new(&mut out));
        out
    }

    fn name(class: &str) -> Vec<u8> {
        let mut out = Vec::new();
        encode_class(class, &mut Writer::new(&mut out));
        out
    }

    #[test]
    fn a_null_is_three_names() {
        let bytes = encoded::<JobStatus>(None);
        let names = [class::WRITABLE, class::NULL_INSTANCE, "org.apache.hadoop.mapred.JobStatus"].map(name).concat();
        assert_eq!(bytes, names);
        assert_eq!(decode_object::<JobStatus>(&mut Reader::new(&bytes)).unwrap(), None);
    }

    #[test]
    fn the_null_of_another_class_does_not_pass() {
        let bytes = encoded::<JobProfile>(None);
        let error = decode_object::<JobStatus>(&mut Reader::new(&bytes)).unwrap_err();
        assert!(matches!(error, ObjectError::Mismatch { .. }), "{error}");
    }

    #[test]
    fn a_wrong_class_and_an_unknown_one_are_different_errors() {
        let wrong = [name("org.apache.hadoop.mapreduce.JobID"), vec![0; 40]].concat();
        let error = decode_object::<JobId>(&mut Reader::new(&wrong)).unwrap_err();
        assert!(matches!(error, ObjectError::Mismatch { .. }), "{error}");
        let unknown = [name("no.such.Class"), vec![0; 40]].concat();
        let error = decode_object::<JobId>(&mut Reader::new(&unknown)).unwrap_err();
        assert_eq!(error.to_string(), "class at byte 0: class `no.such.Class` is not known");
    }

    #[test]
    fn an_array_names_the_class_of_each_element() {
        let strings = vec!["a".to_owned(), "b".to_owned()];
        let bytes = encoded(Some(&strings));
        let string = name("java.lang.String");
        let expected = [&name("[Ljava.lang.String;")[..], &[0, 0, 0, 2], &string, b"\0\x01a", &string, b"\0\x01b"];
        assert_eq!(bytes, expected.concat());
        assert_eq!(decode_object::<Vec<String>>(&mut Reader::new(&bytes)).unwrap(), Some(strings));
    }
}

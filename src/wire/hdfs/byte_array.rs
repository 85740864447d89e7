//! Java's `byte[]` as a parameter: each byte is an object with its class name.

use crate::wire::object::{Object, ObjectError, encode_class};
use crate::wire::{Reader, WireErrorKind, Writer};

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

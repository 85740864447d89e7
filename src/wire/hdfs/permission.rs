//! Permission bits of a file.

use crate::wire::{Decode, Encode, Reader, WireError, Writer};

/// Permission bits (1.2.1 `FsPermission`), such as `0o755`. A 1.2.1 NameNode keeps no sticky bit, and no x bits of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsPermission(pub u16);

impl Decode for FsPermission {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.u16("permission").map(Self)
    }
}

impl Encode for FsPermission {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u16(self.0);
    }
}

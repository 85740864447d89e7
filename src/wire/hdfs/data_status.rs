//! Status numbers of the data port.

use crate::wire::{Decode, Encode, Reader, WireError, WireErrorKind, Writer};

/// A status (1.2.1 `DataTransferProtocol.OP_STATUS_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataStatus {
    /// Done.
    Success = 0,
    /// Failed.
    Error = 1,
    /// A checksum is wrong.
    ErrorChecksum = 2,
    /// The request is wrong.
    ErrorInvalid = 3,
    /// The block is there already.
    ErrorExists = 4,
    /// The access token is refused.
    ErrorAccessToken = 5,
    /// Sent by a reader: the whole block was read and its checksums are right.
    ChecksumOk = 6,
}

impl DataStatus {
    const ALL: [Self; 7] = [
        Self::Success,
        Self::Error,
        Self::ErrorChecksum,
        Self::ErrorInvalid,
        Self::ErrorExists,
        Self::ErrorAccessToken,
        Self::ChecksumOk,
    ];
}

impl Decode for DataStatus {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        let number = reader.i16("status of a DataNode")?;
        let status = Self::ALL.into_iter().find(|status| *status as i16 == number);
        status.ok_or_else(|| start.error(WireErrorKind::UnknownNumber(i64::from(number)), "status of a DataNode"))
    }
}

impl Encode for DataStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i16(*self as i16);
    }
}

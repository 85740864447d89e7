//! What calls of job clients read, signed: with the rights that the signature proves, where RPC knows a name only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::ipc::IpcError;
use crate::model::hex;
use crate::wire::protocol::{Call, CallOutcome, Value, decode_response, encode_call};

use super::{MarketClient, MarketClientError, Signer};

/// Path of reads.
const READ: &str = "/scheduler/read";
/// Bytes before the call in its frame.
const LENGTH_BYTES: usize = 4;

/// Why a signed read failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::client) enum SignedReadError {
    /// The request failed.
    #[error(transparent)]
    Market(#[from] MarketClientError),
    /// The call was answered by an exception, or by what it is not.
    #[error(transparent)]
    Call(#[from] IpcError),
}

impl MarketClient {
    /// What a call that reads something of a job returns.
    ///
    /// # Errors
    /// [`SignedReadError`]; [`MarketClientError::Refused`] where no market is, and of other servers.
    pub(in crate::client) async fn read(&self, call: &Call, signer: &Signer) -> Result<Value, SignedReadError> {
        let mut frame = Vec::new();
        encode_call(&mut frame, 0, call);
        let query = format!("read={}", hex(frame.get(LENGTH_BYTES..).unwrap_or_default()));
        let text = self.send_signed(READ, &query, signer).await?;
        let bytes = STANDARD.decode(text.trim()).map_err(|error| self.unreachable(error))?;
        match decode_response(call.method().returns, &bytes).map_err(IpcError::from)? {
            None => Err(self.unreachable("the answer is cut off").into()),
            Some((response, _)) => match response.outcome {
                CallOutcome::Value(value) => Ok(value),
                CallOutcome::Error(exception) => Err(IpcError::Remote { exception, fatal: false }.into()),
                CallOutcome::Fatal(exception) => Err(IpcError::Remote { exception, fatal: true }.into()),
            },
        }
    }
}

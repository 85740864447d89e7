//! A connection with several unanswered calls, whose answers come in any order.

use tokio::net::ToSocketAddrs;

use crate::wire::protocol::{
    Call, CallOutcome, Protocol, RemoteException, ReturnType, Value, decode_response, encode_call,
};

use super::{IpcClient, IpcError};

/// A connection for calls whose results are all of one type.
#[derive(Debug)]
pub struct PipelinedClient {
    client: IpcClient,
    returns: ReturnType,
    unanswered: Vec<i32>,
}

impl PipelinedClient {
    /// Connects and compares versions, as a stock client does first.
    ///
    /// # Errors
    /// [`IpcError`]; a server that does not know the protocol closes the connection, or refuses the call.
    pub async fn connect(
        address: impl ToSocketAddrs,
        protocol: Protocol,
        user: &str,
        returns: ReturnType,
    ) -> Result<Self, IpcError> {
        Ok(Self { client: IpcClient::connect(address, protocol, user).await?, returns, unanswered: Vec::new() })
    }

    /// Sends a call, and returns its id. When the future is dropped, the connection cannot be used any more.
    pub async fn send(&mut self, call: &Call) -> Result<i32, IpcError> {
        let id = self.client.next_id;
        self.client.next_id = id.checked_add(1).unwrap_or(0);
        let mut frame = Vec::new();
        encode_call(&mut frame, id, call);
        tokio::io::AsyncWriteExt::write_all(&mut self.client.stream, &frame).await?;
        self.unanswered.push(id);
        Ok(id)
    }

    #[must_use]
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// The next answer, and the id of its call. The future may be dropped: what was received is kept.
    ///
    /// # Errors
    /// [`IpcError`]; the connection cannot be used any more.
    pub async fn next_answer(&mut self) -> Result<(i32, Result<Value, RemoteException>), IpcError> {
        loop {
            if let Some((response, consumed)) = decode_response(self.returns, &self.client.buffer)? {
                self.client.buffer.drain(..consumed);
                let id = response.id;
                return match response.outcome {
                    CallOutcome::Fatal(exception) => Err(IpcError::Remote { exception, fatal: true }),
                    _ if !self.unanswered.contains(&id) => {
                        let expected = self.unanswered.first().copied().unwrap_or(-1);
                        Err(IpcError::WrongCall { expected, found: id })
                    }
                    CallOutcome::Error(exception) => Ok(self.answered(id, Err(exception))),
                    CallOutcome::Value(value) => Ok(self.answered(id, Ok(value))),
                };
            }
            self.client.read_more().await?;
        }
    }

    fn answered<T>(&mut self, id: i32, outcome: T) -> (i32, T) {
        self.unanswered.retain(|one| *one != id);
        (id, outcome)
    }
}

//! A client of Hadoop's IPC version 4: one connection, one protocol, one user, one call at a time, or with answers in any order.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::timeout;

use crate::wire::WireError;
use crate::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use crate::wire::protocol::{
    Call, CallOutcome, FATAL_CALL_ID, Protocol, RemoteException, Response, ReturnType, Value, decode_response,
    encode_call, response_id,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    pub connect_timeout: Duration,
    /// Timeout of a call; `None`: no timeout, as in stock clients.
    pub call_timeout: Option<Duration>,
    pub response_bytes: usize,
}

#[derive(Debug)]
pub struct IpcClient {
    stream: TcpStream,
    limits: ClientLimits,
    /// Received, not yet decoded.
    buffer: Vec<u8>,
    next_id: i32,
    /// False from the first byte of a call to the last of its response. After an abandoned call the connection cannot
    /// be used, since responses have no length.
    in_step: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    /// The server refused this call, or with `fatal` the connection.
    #[error("{exception}")]
    Remote {
        exception: RemoteException,
        /// Whether the connection is closed, too.
        fatal: bool,
    },
    #[error("the server has version {theirs} of {protocol}, not {ours}")]
    Version { protocol: &'static str, ours: i64, theirs: i64 },
    #[error("response: {0}")]
    Wire(#[from] WireError),
    #[error("it answers HTTP, as a web port does; expected the RPC port, mapred.job.tracker (8021 by default)")]
    Http,
    #[error("received a response to call {found}, expected call {expected}")]
    WrongCall {
        expected: i32,
        /// The call that was answered.
        found: i32,
    },
    #[error("the response exceeds the limit of {0} bytes")]
    TooLong(usize),
    #[error("the server closed the connection")]
    Closed,
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("an earlier call on this connection was abandoned")]
    OutOfStep,
}

impl Default for ClientLimits {
    /// 20 s to connect as stock clients wait, two minutes for a call, 64 MiB for a response.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            call_timeout: Some(Duration::from_secs(120)),
            response_bytes: 64 * 1024 * 1024,
        }
    }
}

impl IpcClient {
    /// Connects with the default limits and compares versions, as a stock client does first.
    pub async fn connect(address: impl ToSocketAddrs, protocol: Protocol, user: &str) -> Result<Self, IpcError> {
        let mut client = Self::open(address, protocol, user, ClientLimits::default()).await?;
        let protocol_name = protocol.class_name();
        let ours = protocol.version();
        let call = Call::ProtocolVersion { protocol: protocol_name.to_owned(), client_version: ours };
        match client.call(&call).await? {
            Value::Long(theirs) if theirs != ours => Err(IpcError::Version { protocol: protocol_name, ours, theirs }),
            _ => Ok(client),
        }
    }

    /// Connects without comparing versions.
    pub async fn open(
        address: impl ToSocketAddrs,
        protocol: Protocol,
        user: &str,
        limits: ClientLimits,
    ) -> Result<Self, IpcError> {
        let connecting = timeout(limits.connect_timeout, TcpStream::connect(address)).await;
        let mut stream = connecting.map_err(|_| IpcError::Timeout(limits.connect_timeout))??;
        stream.set_nodelay(true)?;
        let user = ConnectionUser { effective: user.to_owned(), real: None };
        let mut opening = Vec::new();
        encode_opening(&mut opening, &ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) });
        stream.write_all(&opening).await?;
        Ok(Self { stream, limits, buffer: Vec::new(), next_id: 0, in_step: true })
    }

    /// The address of this end of the connection.
    pub(crate) fn local_address(&self) -> std::io::Result<std::net::IpAddr> {
        Ok(self.stream.local_addr()?.ip())
    }

    /// Makes a call and waits for its response. After any error except a non-fatal `Remote`, and after the
    /// future was dropped, the connection cannot be used.
    pub async fn call(&mut self, call: &Call) -> Result<Value, IpcError> {
        if !self.in_step {
            return Err(IpcError::OutOfStep);
        }
        self.in_step = false;
        let response = match self.limits.call_timeout {
            None => self.exchange(call).await?,
            Some(limit) => timeout(limit, self.exchange(call)).await.map_err(|_| IpcError::Timeout(limit))??,
        };
        match response.outcome {
            CallOutcome::Fatal(exception) => Err(IpcError::Remote { exception, fatal: true }),
            CallOutcome::Error(exception) => {
                self.in_step = true;
                Err(IpcError::Remote { exception, fatal: false })
            }
            CallOutcome::Value(value) => {
                self.in_step = true;
                Ok(value)
            }
        }
    }

    async fn exchange(&mut self, call: &Call) -> Result<Response, IpcError> {
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(0);
        let mut frame = Vec::new();
        encode_call(&mut frame, id, call);
        // A server that closes the connection may have sent the reason before, which is better than the write error.
        let written = self.stream.write_all(&frame).await;
        let response = self.receive(id, call.method().returns).await;
        match (written, response) {
            (Err(error), Err(IpcError::Closed | IpcError::Io(_))) => Err(error.into()),
            (_, response) => response,
        }
    }

    async fn receive(&mut self, id: i32, returns: ReturnType) -> Result<Response, IpcError> {
        loop {
            if self.buffer.starts_with(b"HTTP") {
                return Err(IpcError::Http);
            }
            if let Some(found) = response_id(&self.buffer).filter(|found| *found != id && *found != FATAL_CALL_ID) {
                return Err(IpcError::WrongCall { expected: id, found });
            }
            if let Some((response, consumed)) = decode_response(returns, &self.buffer)? {
                self.buffer.drain(..consumed);
                if response.id != id && !matches!(response.outcome, CallOutcome::Fatal(_)) {
                    return Err(IpcError::WrongCall { expected: id, found: response.id });
                }
                return Ok(response);
            }
            self.read_more().await?;
        }
    }

    /// Reads at least one byte, and at most as many as are buffered: decoding restarts after each read, so the number
    /// of reads must not grow with the length of the response.
    async fn read_more(&mut self) -> Result<(), IpcError> {
        let enough_bytes = self.buffer.len() * 2;
        self.buffer.reserve(8192);
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(IpcError::Closed);
        }
        while self.buffer.len() < enough_bytes {
            self.buffer.reserve(8192);
            match self.stream.try_read_buf(&mut self.buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        if self.buffer.len() > self.limits.response_bytes {
            return Err(IpcError::TooLong(self.limits.response_bytes));
        }
        Ok(())
    }
}

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

#[cfg(test)]
mod tests;

//! A connection to the IPC port of a NameNode or DataNode: one user, one call at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock::Clock;
use crate::wire::hdfs::{
    HdfsAnswer, HdfsCall, HdfsOutcome, HdfsProtocol, HdfsResponse, decode_hdfs_response, encode_hdfs_call,
};
use crate::wire::limits::NAMENODE_ANSWER_BYTES;
use crate::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use crate::wire::protocol::FATAL_CALL_ID;

use super::endpoint::Endpoint;
use super::error::{HdfsError, ServerRole};
use super::receive_buffer::ReceiveBuffer;

/// A connection. After any error but [`HdfsError::Refused`] it cannot be used any more.
#[derive(Debug)]
pub(super) struct RpcConnection {
    stream: TcpStream,
    role: ServerRole,
    address: String,
    buffer: ReceiveBuffer,
    next_id: i32,
    clock: Clock,
    call_timeout: Duration,
}

impl RpcConnection {
    /// Connects and compares versions, as a stock client does first.
    pub(super) fn open(
        endpoint: &Endpoint,
        protocol: HdfsProtocol,
        user: &str,
        clock: Clock,
        connect_timeout: Duration,
        call_timeout: Duration,
    ) -> Result<Self, HdfsError> {
        let role = match protocol {
            HdfsProtocol::Client => ServerRole::NameNode,
            HdfsProtocol::ClientDatanode => ServerRole::DataNode,
        };
        let stream = endpoint.connect(role, connect_timeout)?;
        let address = endpoint.to_string();
        let buffer = ReceiveBuffer::default();
        let mut connection = Self { stream, role, address, buffer, next_id: 0, clock, call_timeout };
        let user = ConnectionUser { effective: user.to_owned(), real: None };
        let mut opening = Vec::new();
        encode_opening(&mut opening, &ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) });
        let (protocol, ours) = (protocol.class_name(), protocol.version());
        let call = HdfsCall::GetProtocolVersion { protocol: protocol.to_owned(), client_version: ours };
        match connection.exchange(&call, opening) {
            Ok(HdfsAnswer::Long(theirs)) if theirs == ours => Ok(connection),
            Ok(HdfsAnswer::Long(theirs)) => {
                Err(HdfsError::Version { address: connection.address, role, protocol, ours, theirs })
            }
            Ok(_) => Err(connection.another_server("it answers something else than its version")),
            // A server that does not know the protocol closes the connection, or says so; one that is killed closes it, too.
            Err(HdfsError::Lost { source, .. }) => {
                Err(HdfsError::ClosedAtOnce { address: connection.address, role, source })
            }
            Err(HdfsError::BadAnswer { reason, .. }) => Err(connection.another_server(&reason)),
            Err(HdfsError::Refused { exception, .. }) if exception.message.contains("Unknown protocol") => {
                Err(connection.another_server(&exception.message))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn call(&mut self, call: &HdfsCall) -> Result<HdfsAnswer, HdfsError> {
        self.exchange(call, Vec::new())
    }

    /// Whether the connection looks usable: nothing was received, and the server has not closed it.
    pub(super) fn is_usable(&self) -> bool {
        let peek = || -> io::Result<usize> {
            self.stream.set_nonblocking(true)?;
            let peeked = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            peeked
        };
        self.buffer.unread().is_empty() && peek().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn another_server(&self, reason: &str) -> HdfsError {
        HdfsError::OtherServer { address: self.address.clone(), role: self.role, reason: reason.to_owned() }
    }

    /// Sends `start` and the call, and waits for the answer.
    fn exchange(&mut self, call: &HdfsCall, start: Vec<u8>) -> Result<HdfsAnswer, HdfsError> {
        let deadline_ms = self.clock.mono_ms().saturating_add(self.call_timeout.as_millis() as u64);
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(0);
        let mut bytes = start;
        encode_hdfs_call(&mut bytes, id, call);
        let written = self.limit(deadline_ms, call).and_then(|limit| {
            let sent = self.stream.set_write_timeout(Some(limit)).and_then(|()| self.stream.write_all(&bytes));
            sent.map_err(|source| self.broken(call, source))
        });
        // A server that closes the connection may have sent the reason before, which is better than the write error.
        let response = match (written, self.receive(id, call, deadline_ms)) {
            (Err(error), Err(HdfsError::Lost { .. })) => return Err(error),
            (_, response) => response?,
        };
        match response.outcome {
            HdfsOutcome::Value(answer) => Ok(answer),
            HdfsOutcome::Error(exception) | HdfsOutcome::Fatal(exception) => Err(HdfsError::Refused {
                address: self.address.clone(),
                role: self.role,
                call: call.name(),
                path: call.path().map(str::to_owned),
                exception: Box::new(exception.into()),
            }),
        }
    }

    fn receive(&mut self, id: i32, call: &HdfsCall, deadline_ms: u64) -> Result<HdfsResponse, HdfsError> {
        loop {
            let received = self.buffer.unread();
            if received.starts_with(b"HTTP") {
                return Err(self.another_server("it answers HTTP, as a web port does"));
            }
            let found = received.first_chunk().map(|id| i32::from_be_bytes(*id));
            if let Some(found) = found.filter(|found| *found != id && *found != FATAL_CALL_ID) {
                return Err(self.bad_answer(call, format!("it answers call {found} instead of {id}")));
            }
            match decode_hdfs_response(call.answer_kind(), received) {
                Ok(Some((response, used))) => {
                    let is_fatal = matches!(response.outcome, HdfsOutcome::Fatal(_));
                    if response.id != id && !is_fatal {
                        return Err(self.bad_answer(call, "it answers no call".to_owned()));
                    }
                    self.buffer.consume(used);
                    return Ok(response);
                }
                Ok(None) => {}
                Err(error) => return Err(HdfsError::bad_answer(&self.address, self.role, call.name(), &error)),
            }
            if received.len() > NAMENODE_ANSWER_BYTES {
                return Err(self.bad_answer(call, format!("more than {NAMENODE_ANSWER_BYTES} bytes")));
            }
            let limit = self.limit(deadline_ms, call)?;
            self.stream.set_read_timeout(Some(limit)).map_err(|source| self.broken(call, source))?;
            match self.buffer.fill(&mut Reads(&self.stream)) {
                Ok(0) => {
                    return Err(self.broken(call, io::Error::new(ErrorKind::UnexpectedEof, "closed by the server")));
                }
                Ok(_) => {}
                Err(source) => return Err(self.broken(call, source)),
            }
        }
    }

    /// What is left of the time for a call.
    fn limit(&self, deadline_ms: u64, call: &HdfsCall) -> Result<Duration, HdfsError> {
        match deadline_ms.saturating_sub(self.clock.mono_ms()) {
            0 => Err(self.silent(call)),
            left_ms => Ok(Duration::from_millis(left_ms)),
        }
    }

    fn broken(&self, call: &HdfsCall, source: io::Error) -> HdfsError {
        if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            return self.silent(call);
        }
        HdfsError::Lost { address: self.address.clone(), role: self.role, call: call.name(), source }
    }

    fn silent(&self, call: &HdfsCall) -> HdfsError {
        let limit = self.call_timeout;
        HdfsError::Silent { address: self.address.clone(), role: self.role, call: call.name(), limit }
    }

    fn bad_answer(&self, call: &HdfsCall, reason: String) -> HdfsError {
        HdfsError::BadAnswer { address: self.address.clone(), role: self.role, call: call.name(), reason }
    }
}

pub(super) struct Reads<'a>(pub(super) &'a TcpStream);

impl Read for Reads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

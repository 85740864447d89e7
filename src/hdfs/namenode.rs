//! Calls to a NameNode: connections by user, retries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Clock;
use crate::wire::hdfs::{HdfsAnswer, HdfsCall, HdfsProtocol};
use crate::wire::limits::excerpt;

use super::endpoint::Endpoint;
use super::error::{ExceptionKind, HdfsError, ServerRole};
use super::options::HdfsOptions;
use super::rpc_connection::RpcConnection;

/// A NameNode as all users of this process reach it. A connection belongs to one user and makes one call at a time: who calls while all
/// of a user's are in use opens another, and [`MAX_IDLE_CONNECTIONS`] of them are kept.
#[derive(Debug)]
pub(super) struct NameNode {
    endpoint: Endpoint,
    address: String,
    options: Arc<HdfsOptions>,
    clock: Clock,
    idle: Mutex<BTreeMap<String, Vec<Idle>>>,
}

#[derive(Debug)]
struct Idle {
    connection: RpcConnection,
    since_ms: u64,
}

const MAX_IDLE_CONNECTIONS: usize = 2;

/// How often a lost call without lasting effect is repeated.
const LOST_RETRIES: u32 = 3;

/// How often connecting is tried again at most where the connection ends in its first call.
const CLOSED_RETRIES: u32 = 2;

/// What a look at the file system says of a call whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEffect<T> {
    /// It had its effect; what it would have answered.
    Done(T),
    /// It had none: it may be repeated.
    None,
}

impl NameNode {
    pub(super) fn new(endpoint: Endpoint, options: Arc<HdfsOptions>) -> Self {
        let address = endpoint.to_string();
        Self { endpoint, address, options, clock: Clock::start(), idle: Mutex::default() }
    }

    /// Host and port, for messages.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn options(&self) -> &HdfsOptions {
        &self.options
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    /// Makes a call that may be repeated: it changes nothing, or the same when it is made twice.
    pub(super) fn ask(&self, user: &str, call: &HdfsCall) -> Result<HdfsAnswer, HdfsError> {
        self.change(user, call, || Ok(CallEffect::None))
    }

    /// Makes a call that may have its effect only once: when its answer is lost, `look` decides whether it is made again.
    pub(super) fn change(
        &self,
        user: &str,
        call: &HdfsCall,
        mut look: impl FnMut() -> Result<CallEffect<HdfsAnswer>, HdfsError>,
    ) -> Result<HdfsAnswer, HdfsError> {
        let mut lost = 0;
        let mut pauses = self.options.retry_policy.iter().flat_map(|step| (0..step.tries).map(move |_| step.pause));
        loop {
            match self.call_once(user, call) {
                Err(error) if error.is_lost() => {
                    lost += 1;
                    if lost > LOST_RETRIES {
                        return Err(error);
                    }
                    match look() {
                        Ok(CallEffect::Done(answer)) => return Ok(answer),
                        Ok(CallEffect::None) => {}
                        // Whether the call had its effect stays unknown.
                        Err(failed) if failed.is_temporary() => return Err(error),
                        Err(failed) => return Err(failed),
                    }
                }
                Err(error) if error.is_temporary() && !matches!(error, HdfsError::Silent { .. }) => match pauses.next()
                {
                    Some(pause) => self.options.pauses.pause(pause),
                    None => return Err(error),
                },
                result => return result,
            }
        }
    }

    /// Makes a call; only connecting is tried again.
    pub(super) fn call_once(&self, user: &str, call: &HdfsCall) -> Result<HdfsAnswer, HdfsError> {
        let mut connection = match self.take_idle(user) {
            Some(connection) => connection,
            None => self.connect(user)?,
        };
        let result = connection.call(call);
        let is_in_step = match &result {
            Ok(_) => true,
            // A FATAL answer ends the connection; it is found closed when it is to be used.
            Err(error) => error.exception_kind().is_some_and(|kind| kind != ExceptionKind::Authorization),
        };
        if is_in_step {
            self.keep(user, connection);
        }
        result
    }

    fn connect(&self, user: &str) -> Result<RpcConnection, HdfsError> {
        let options = &self.options;
        let mut retries = options.connect_retries;
        let mut closed_retries = retries.min(CLOSED_RETRIES);
        loop {
            let opened = RpcConnection::open(
                &self.endpoint,
                HdfsProtocol::Client,
                user,
                self.clock,
                options.connect_timeout,
                options.call_timeout,
            );
            match opened {
                Err(HdfsError::Connect { .. }) if retries > 0 => {
                    retries -= 1;
                    options.pauses.pause(options.connect_pause);
                }
                // One that was just killed refuses connections from now on; another server closes them for ever.
                Err(HdfsError::ClosedAtOnce { .. }) if closed_retries > 0 => {
                    closed_retries -= 1;
                    options.pauses.pause(options.connect_pause);
                }
                result => return result,
            }
        }
    }

    /// An unused connection of the user that the server has not closed. Connections of all users that were unused for too long are closed.
    fn take_idle(&self, user: &str) -> Option<RpcConnection> {
        let now_ms = self.clock.mono_ms();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|_, connections| {
            connections.retain(|one| now_ms.saturating_sub(one.since_ms) <= self.options.max_idle_ms);
            !connections.is_empty()
        });
        let connections = idle.get_mut(user)?;
        while let Some(one) = connections.pop() {
            if one.connection.is_usable() {
                return Some(one.connection);
            }
        }
        None
    }

    fn keep(&self, user: &str, connection: RpcConnection) {
        let since_ms = self.clock.mono_ms();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.entry(user.to_owned()).or_default();
        if connections.len() < MAX_IDLE_CONNECTIONS {
            connections.push(Idle { connection, since_ms });
        }
    }

    /// For an answer of another kind than the call has: decoding lets none through.
    pub(super) fn unexpected(&self, call: &'static str, answer: &HdfsAnswer) -> HdfsError {
        HdfsError::BadAnswer {
            address: self.address.clone(),
            role: ServerRole::NameNode,
            call,
            reason: format!("unexpected {}", excerpt(&format!("{answer:?}"))),
        }
    }
}

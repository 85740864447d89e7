//! Accepts connections up to the limit, hands them over and closes them, those of one host's idle clients first.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;
use crate::latency::{Latencies, LatencyCounts};
use crate::log::LogDecision;

use super::connection::{Connection, SharedServer, WaitingFor};
use super::inherited_connection::{InheritedConnection, InheritedTracker};
use super::limits::RpcLimits;
use super::pending_call::origin_of;
use super::probe::KEEPALIVE;
use super::reading::{SHORT_CALL_BYTES, read_calls};
use super::session::{Service, Session};

/// Connections that queue in the kernel at the limit: after a restart all trackers connect at once.
const BACKLOG: i32 = 4_096;
/// Connections accepted before the calls of other connections are read: those of thousands that arrive at once would
/// otherwise all be read before the next heartbeat.
const ACCEPT_BURST: u32 = 16;
/// Pause after a failed accept, for example when file descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of the search for silent connections while all places are taken.
const FULL_PAUSE: Duration = Duration::from_millis(50);
/// Wait for checks of connections before they are handed over.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of the timeout check.
const SWEEP: Duration = Duration::from_millis(1_000);

pub(crate) struct RpcServer<S> {
    service: Rc<S>,
    places: Arc<Semaphore>,
    shared: Rc<SharedServer>,
}

pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

impl<S: Service> RpcServer<S> {
    /// A server whose calls `service` answers.
    pub(crate) fn new(limits: RpcLimits, clock: Clock, service: Rc<S>) -> Self {
        let shared = SharedServer::new(limits, clock);
        let places = Arc::new(Semaphore::new(limits.max_connections));
        Self { service, places, shared: Rc::new(shared) }
    }

    pub(crate) fn meter(&self) -> RpcMeter {
        RpcMeter::new(self.shared.heartbeats.clone(), self.places.clone(), self.shared.limits.max_connections)
    }

    /// Accepts connections until dropped, which closes the port. At the limit it stops accepting: a tracker whose
    /// connection is accepted and then closed retries without pause, one whose connection is not accepted waits.
    pub(crate) async fn accept(self: Rc<Self>, listener: TcpListener) {
        let mut is_refused = false;
        let mut burst = 0;
        loop {
            if burst == ACCEPT_BURST {
                burst = 0;
                tokio::task::yield_now().await;
            }
            let Some(place) = self.place().await else { return };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Logged once: the accept is retried until it succeeds.
                    if !std::mem::replace(&mut is_refused, true) {
                        tracing::warn!("cannot accept connections, retrying: {error}");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            is_refused = false;
            burst += 1;
            if let Err(error) = prepare(&stream) {
                tracing::debug!("a connection closed right after the accept: {error}");
                continue;
            }
            let (read, write) = stream.into_split();
            let connection = Connection::new(write, self.shared.clone(), Some(place));
            let session = Session::new(self.service.clone());
            tokio::task::spawn_local(read_calls(connection, read, session, Vec::new()));
        }
    }

    /// A place for the next connection. While none is free, addresses beyond their share lose theirs.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(place) = self.places.clone().try_acquire_owned() {
                return Some(place);
            }
            close_beyond_share(&self.shared, &self.open(), self.shared.limits.full_share_idle_ms);
            if let Ok(place) = tokio::time::timeout(FULL_PAUSE, self.places.clone().acquire_owned()).await {
                return place.ok();
            }
        }
    }

    /// Resumes connections of an earlier server, even beyond the limit. Returns the trackers of each connection, by its new number.
    pub(crate) fn take_over(&self, inherited: Vec<InheritedConnection>) -> Vec<(u64, InheritedTracker)> {
        let mut speakers = Vec::new();
        for InheritedConnection { number: _, socket, introduction, has_sent_heartbeat, trackers, unread, unsent } in
            inherited
        {
            let session = Session::resumed(self.service.clone(), introduction, !unread.is_empty());
            let (Some(session), Ok(stream)) = (session, TcpStream::from_std(socket.into())) else {
                tracing::warn!("cannot resume a connection that was handed over, closing it");
                continue;
            };
            let (read, write) = stream.into_split();
            let place = self.places.clone().try_acquire_owned().ok();
            let connection = Connection::new(write, self.shared.clone(), place);
            connection.set_resumed();
            if has_sent_heartbeat {
                connection.set_sent_heartbeat();
            }
            speakers.extend(trackers.into_iter().map(|tracker| (connection.number(), tracker)));
            if session.is_open() {
                connection.set_open(session.is_tracker());
            }
            connection.set_begun(unread.len());
            connection.set_stage(session.waits(!unread.is_empty()));
            connection.resume_sending(unsent);
            tokio::task::spawn_local(read_calls(connection, read, session, unread));
        }
        speakers
    }

    /// Stops taking calls; completes when all calls taken are answered, and connections are admitted or refused as far as that becomes
    /// known within [`CHECK_TIMEOUT`].
    pub(crate) async fn pause(&self) {
        self.stop_taking();
        self.service.abandon_held_calls();
        for connection in self.open() {
            connection.settled().await;
        }
        let checked = async {
            for connection in self.open() {
                while connection.check.is_due() && !connection.is_broken() {
                    connection.changed().await;
                }
            }
        };
        // Connections that are still to be checked are closed when they are detached: the next server would not check them again.
        let _: Result<(), _> = tokio::time::timeout(CHECK_TIMEOUT, checked).await;
    }

    fn stop_taking(&self) {
        self.shared.stopping.set(true);
        // Answers in parts no longer wait for their readers.
        for connection in self.open() {
            connection.wake();
        }
    }

    /// Takes calls again.
    pub(crate) fn resume(&self) {
        self.shared.stopping.set(false);
        for connection in self.open() {
            connection.wake();
        }
    }

    /// Clients with unanswered calls, which delay [`Self::pause`].
    pub(crate) fn unanswered_clients(&self) -> Vec<SocketAddr> {
        let open = self.open();
        open.iter().filter(|connection| !connection.is_settled()).filter_map(|connection| connection.client()).collect()
    }

    /// Detaches all connections for another server. Requires a completed pause and that no further connection is
    /// accepted; nothing sent from now on is read here.
    pub(crate) async fn detach_all(&self) -> Vec<InheritedConnection> {
        self.shared.leaving.set(true);
        for connection in self.open() {
            connection.wake();
        }
        while self
            .shared
            .open
            .borrow()
            .values()
            .any(|connection| connection.upgrade().is_some_and(|connection| !connection.is_broken()))
        {
            tokio::task::yield_now().await;
        }
        self.shared.detached.take()
    }

    fn open(&self) -> Vec<Rc<Connection>> {
        self.shared.open.borrow().values().filter_map(std::rc::Weak::upgrade).collect()
    }

    /// Drops clients that block others, see [`RpcLimits`]. Never completes.
    pub(crate) async fn sweep(self: Rc<Self>) {
        let mut interval = tokio::time::interval(SWEEP);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let now_ms = self.shared.clock.mono_ms();
            let mut clients = 0;
            self.shared.open.borrow_mut().retain(|_, connection| {
                let Some(connection) = connection.upgrade() else { return false };
                clients += usize::from(!connection.has_sent_heartbeat());
                let (waiting, since_ms) = connection.waits();
                if now_ms.saturating_sub(since_ms) >= self.timeout_ms(waiting, &connection) {
                    tracing::debug!(?waiting, since_ms, "dropped a connection after its timeout");
                    connection.abandon();
                }
                true
            });
            if clients > self.shared.limits.share_of_address() {
                close_beyond_share(&self.shared, &self.open(), self.shared.limits.share_idle_ms);
            }
        }
    }

    fn timeout_ms(&self, waiting: WaitingFor, connection: &Connection) -> u64 {
        let (limits, free) = (&self.shared.limits, self.places.available_permits());
        let (crowded, full) = (free < limits.max_connections / 2, free == 0);
        let short_if = |keeps_others_waiting: bool, usual_ms: u64| {
            if keeps_others_waiting { usual_ms.min(limits.short_timeout_ms) } else { usual_ms }
        };
        match waiting {
            WaitingFor::Opening => short_if(full, limits.frame_timeout_ms),
            WaitingFor::RestOfFrame => {
                let holds_room = !connection.calls().has_room() && connection.begun_bytes() >= SHORT_CALL_BYTES;
                short_if(holds_room || (full && !connection.is_tracker()), limits.frame_timeout_ms)
            }
            WaitingFor::Reader => short_if(!self.shared.budgets.unread.has_room(), limits.write_timeout_ms),
            // A connection without a heartbeat is a client's, whatever protocol it names.
            WaitingFor::Heartbeat if connection.has_sent_heartbeat() && crowded => limits.idle_tracker_ms,
            WaitingFor::Heartbeat if connection.has_sent_heartbeat() => u64::MAX,
            WaitingFor::Call | WaitingFor::Heartbeat if full => limits.full_idle_client_ms.min(limits.idle_client_ms),
            WaitingFor::Call | WaitingFor::Heartbeat if crowded => limits.idle_client_ms,
            WaitingFor::Call | WaitingFor::Heartbeat | WaitingFor::Answer => u64::MAX,
        }
    }

    /// Stops taking calls; completes when all calls are answered and the answers read.
    pub(crate) async fn finish(&self) {
        self.stop_taking();
        self.service.abandon_held_calls();
        for connection in self.open() {
            connection.answered().await;
        }
    }

    #[cfg(test)]
    pub(crate) fn connections(&self) -> usize {
        self.shared.limits.max_connections - self.places.available_permits()
    }
}

/// Sends small answers at once, and detects vanished peers.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))
}

/// Minimum share of an address: connections without a heartbeat.
const MIN_SHARE: usize = 8;

impl RpcLimits {
    /// Connections without a heartbeat that one address may have: a quarter of all places.
    fn share_of_address(&self) -> usize {
        (self.max_connections / 4).max(MIN_SHARE)
    }
}

/// Closes connections of addresses beyond their share: longest silent first, down to the share; never one that sent a
/// heartbeat, has an unanswered or unread call, or was silent for less than `idle_ms`.
fn close_beyond_share(shared: &SharedServer, open: &[Rc<Connection>], idle_ms: u64) {
    let (share, now_ms) = (shared.limits.share_of_address(), shared.clock.mono_ms());
    let mut by_origin: BTreeMap<u128, Vec<&Rc<Connection>>> = BTreeMap::new();
    for connection in open.iter().filter(|connection| !connection.has_sent_heartbeat() && !connection.is_broken()) {
        by_origin.entry(origin_of(connection.address())).or_default().push(connection);
    }
    for connections in by_origin.into_values() {
        let Some(excess) = connections.len().checked_sub(share).filter(|excess| *excess > 0) else { continue };
        let silent = connections.iter().filter_map(|connection| match connection.waits() {
            (WaitingFor::Answer, _) => None,
            (_, since_ms) => (now_ms.saturating_sub(since_ms) >= idle_ms).then_some((since_ms, connection)),
        });
        let mut silent: Vec<_> = silent.collect();
        silent.sort_by_key(|(since_ms, _)| *since_ms);
        let closed = silent.iter().filter(|(_, connection)| !has_unread(connection)).take(excess);
        let count = closed.map(|(_, connection)| connection.abandon()).count();
        let Some(address) = connections.first().filter(|_| count > 0).map(|first| first.address()) else { continue };
        // An attacker can fill the places many times a second.
        if let LogDecision::Write { .. } = shared.log_rate.decide(address, now_ms) {
            tracing::warn!(
                "{address} has {} connections without a heartbeat, its share is {share} (a quarter of \
                 jobtracker.rpc.max-connections): closed {count} that were silent for at least {idle_ms} ms",
                connections.len(),
            );
        }
    }
}

fn has_unread(connection: &Connection) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    SockRef::from(connection.socket()).peek(&mut byte).is_ok_and(|bytes| bytes > 0)
}

/// Reads the counts, on any thread.
#[derive(Clone, Debug)]
pub(crate) struct RpcMeter {
    heartbeats: Arc<Latencies>,
    places: Arc<Semaphore>,
    max_connections: usize,
}

impl RpcMeter {
    pub(super) fn new(heartbeats: Arc<Latencies>, places: Arc<Semaphore>, max_connections: usize) -> Self {
        Self { heartbeats, places, max_connections }
    }

    pub(crate) fn heartbeats(&self) -> LatencyCounts {
        self.heartbeats.read()
    }

    /// Connections that hold a place, and the most that may.
    pub(crate) fn connections(&self) -> (u64, u64) {
        let taken = self.max_connections.saturating_sub(self.places.available_permits());
        (taken as u64, self.max_connections as u64)
    }
}

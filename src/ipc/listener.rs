//! Taking connections in, up to the limit, and letting them go.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;

use super::connection::{Connection, Shared, Waiting};
use super::fair_share::close_beyond_share;
use super::inherited_connection::{Carried, CarriedTracker};
use super::limits::RpcLimits;
use super::reading::{SHORT_CALL_BYTES, read_calls};
use super::session::{Conversation, Service};

/// Connections that wait in the kernel while we are at the limit: a restart brings all trackers at once.
const BACKLOG: i32 = 4_096;
/// After this much silence the kernel asks whether the peer still lives.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(120);
/// Pause after a failed accept, for example when file descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often silent connections are looked for while all places are taken.
const FULL_PAUSE: Duration = Duration::from_millis(50);
/// How often timeouts are looked at.
const SWEEP: Duration = Duration::from_millis(1_000);

/// The RPC server: accepts connections and reads their calls.
pub struct RpcServer<S> {
    service: Rc<S>,
    places: Arc<Semaphore>,
    shared: Rc<Shared>,
}

/// Opens the port. Must run inside a runtime.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

// === impl RpcServer ===

impl<S: Service> RpcServer<S> {
    /// A server whose calls `service` answers.
    pub fn new(limits: RpcLimits, clock: Clock, service: Rc<S>) -> Self {
        let shared = Shared::new(limits, clock);
        let places = Arc::new(Semaphore::new(limits.max_connections));
        Self { service, places, shared: Rc::new(shared) }
    }

    /// Accepts connections for ever; the port closes when this is dropped. At the limit it waits instead of accepting: a tracker whose connection is accepted
    /// and then closed tries again without pause, one whose connection is not accepted waits.
    pub async fn accept(self: Rc<Self>, listener: TcpListener) {
        let mut is_refused = false;
        loop {
            let Some(place) = self.place().await else { return };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Once for all that wait: it is tried again and again.
                    if !std::mem::replace(&mut is_refused, true) {
                        tracing::warn!("connections cannot be accepted for now and wait: {error}");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            is_refused = false;
            if let Err(error) = prepare(&stream) {
                tracing::debug!("a connection was gone at once: {error}");
                continue;
            }
            let (read, write) = stream.into_split();
            let connection = Connection::new(write, self.shared.clone(), Some(place));
            let conversation = Conversation::new(self.service.clone());
            tokio::task::spawn_local(read_calls(connection, read, conversation, Vec::new()));
        }
    }

    /// A place for the next connection. While none is free, addresses beyond their share give up theirs.
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

    /// Goes on with connections of an earlier server, also when they are more than are accepted by now. Tells which trackers
    /// were heard on which.
    pub(crate) fn take_over(&self, carried: Vec<Carried>) -> Vec<(u64, CarriedTracker)> {
        let mut speakers = Vec::new();
        for Carried { number: _, socket, introduction, has_beaten, trackers, unread, unsent } in carried {
            let conversation = Conversation::resumed(self.service.clone(), introduction, !unread.is_empty());
            let (Some(conversation), Ok(stream)) = (conversation, TcpStream::from_std(socket.into())) else {
                tracing::warn!("a connection that was handed over cannot be gone on with and is closed");
                continue;
            };
            let (read, write) = stream.into_split();
            let place = self.places.clone().try_acquire_owned().ok();
            let connection = Connection::new(write, self.shared.clone(), place);
            connection.check_stop();
            if has_beaten {
                connection.set_beaten();
            }
            speakers.extend(trackers.into_iter().map(|tracker| (connection.number(), tracker)));
            if conversation.is_open() {
                connection.set_open(conversation.is_tracker());
            }
            connection.set_begun(unread.len());
            connection.set_stage(conversation.waits(!unread.is_empty()));
            connection.go_on_sending(unsent);
            tokio::task::spawn_local(read_calls(connection, read, conversation, unread));
        }
        speakers
    }

    /// No further calls are taken from now on; completes when all that were taken are answered.
    pub(crate) async fn pause(&self) {
        self.stop_taking();
        self.service.give_up_held();
        for connection in self.open() {
            connection.settled().await;
        }
    }

    fn stop_taking(&self) {
        self.shared.stopping.set(true);
        // Answers that leave in parts no longer wait for their readers.
        for connection in self.open() {
            connection.wake();
        }
    }

    /// Calls are taken again.
    pub(crate) fn resume(&self) {
        self.shared.stopping.set(false);
        for connection in self.open() {
            connection.wake();
        }
    }

    /// Who keeps [`Self::pause`] from completing: the addresses of their clients.
    pub(crate) fn unsettled(&self) -> Vec<SocketAddr> {
        let open = self.open();
        open.iter().filter(|connection| !connection.is_settled()).filter_map(|connection| connection.client()).collect()
    }

    /// All connections, for another server. To be called once paused and when no further one is accepted; nothing that
    /// clients say from now on is read here.
    pub(crate) async fn carry_all(&self) -> Vec<Carried> {
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
        self.shared.carried.take()
    }

    fn open(&self) -> Vec<Rc<Connection>> {
        self.shared.open.borrow().values().filter_map(std::rc::Weak::upgrade).collect()
    }

    /// Drops, for ever, clients that make others wait: see [`RpcLimits`].
    pub async fn sweep(self: Rc<Self>) {
        let mut interval = tokio::time::interval(SWEEP);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let now_ms = self.shared.clock.mono_ms();
            let mut clients = 0;
            self.shared.open.borrow_mut().retain(|_, connection| {
                let Some(connection) = connection.upgrade() else { return false };
                clients += usize::from(!connection.has_beaten());
                let (waiting, since_ms) = connection.waits();
                if now_ms.saturating_sub(since_ms) >= self.patience_ms(waiting, &connection) {
                    tracing::debug!(?waiting, since_ms, "a connection was given up");
                    connection.abandon();
                }
                true
            });
            if clients > self.shared.limits.share_of_address() {
                close_beyond_share(&self.shared, &self.open(), self.shared.limits.share_idle_ms);
            }
        }
    }

    fn patience_ms(&self, waiting: Waiting, connection: &Connection) -> u64 {
        let (limits, free) = (&self.shared.limits, self.places.available_permits());
        let (crowded, full) = (free < limits.max_connections / 2, free == 0);
        let short_if = |keeps_others_waiting: bool, usual_ms: u64| {
            if keeps_others_waiting { usual_ms.min(limits.short_patience_ms) } else { usual_ms }
        };
        match waiting {
            Waiting::Opening => short_if(full, limits.frame_timeout_ms),
            Waiting::RestOfFrame => {
                let holds_room = !connection.calls().has_room() && connection.begun_bytes() >= SHORT_CALL_BYTES;
                short_if(holds_room || (full && !connection.is_tracker()), limits.frame_timeout_ms)
            }
            Waiting::Reader => short_if(!self.shared.unread.has_room(), limits.write_timeout_ms),
            // Who has sent no heartbeat is a client, whatever protocol it names.
            Waiting::Heartbeat if connection.has_beaten() && crowded => limits.idle_tracker_ms,
            Waiting::Heartbeat if connection.has_beaten() => u64::MAX,
            Waiting::Call | Waiting::Heartbeat if full => limits.full_idle_client_ms.min(limits.idle_client_ms),
            Waiting::Call | Waiting::Heartbeat if crowded => limits.idle_client_ms,
            Waiting::Call | Waiting::Heartbeat | Waiting::Answer => u64::MAX,
        }
    }

    /// No further calls are read from now on; completes when all that were read are answered and the answers taken.
    pub async fn finish(&self) {
        self.stop_taking();
        self.service.give_up_held();
        for connection in self.open() {
            connection.answered().await;
        }
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.shared.limits.max_connections - self.places.available_permits()
    }
}

/// Small answers leave at once, and a peer that vanished is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))
}

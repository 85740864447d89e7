//! One client's connection: flow control of its calls and buffering of unsent answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::clock::Clock;
use crate::latency::Latencies;
use crate::log::LogRate;
use crate::wire::protocol::encode_fatal;

use super::inherited_connection::{InheritedConnection, Introduction};
use super::limits::{Budget, Budgets, MemoryCharge, RpcLimits};
use super::pending_check::PendingCheck;

/// What a connection waits for; selects its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitingFor {
    Opening,
    RestOfFrame,
    Reader,
    Answer,
    Heartbeat,
    Call,
}

/// A connection. Buffers exist only while they hold bytes, so an idle connection costs little.
pub(super) struct Connection {
    number: u64,
    address: IpAddr,
    /// Shared only while the connection is being detached.
    write: OwnedWriteHalf,
    outgoing: RefCell<Vec<u8>>,
    /// An answer is sent in parts; other answers wait in `behind`.
    in_parts: Cell<bool>,
    /// A long answer is built or sent; the next one is not started.
    long_in_hand: Cell<bool>,
    behind: RefCell<Vec<u8>>,
    /// Bytes of `outgoing` written since the timeout started.
    taken_bytes: Cell<usize>,
    charge: MemoryCharge,
    calls_in_flight: Cell<u32>,
    has_called: Cell<bool>,
    has_sent_heartbeat: Cell<bool>,
    stage: Cell<WaitingFor>,
    since_ms: Cell<u64>,
    broken: Cell<bool>,
    left: Cell<bool>,
    pub(super) check: PendingCheck,
    /// Wakes all waiters. No wake-up is lost: on one thread nothing runs between the check and the wait.
    changed: Notify,
    /// Wakes the reader, which otherwise waits for bytes only.
    reader: Cell<Option<Waker>>,
    shared: Rc<SharedServer>,
    /// `None` for an inherited connection beyond the limit.
    _place: Option<OwnedSemaphorePermit>,
}

pub(super) struct SharedServer {
    pub(super) limits: RpcLimits,
    pub(super) clock: Clock,
    /// Number of the last connection.
    pub(super) numbers: Cell<u64>,
    pub(super) open: RefCell<BTreeMap<u64, Weak<Connection>>>,
    /// No further calls are taken.
    pub(super) stopping: Cell<bool>,
    /// No further reads or writes: connections become [`InheritedConnection`].
    pub(super) leaving: Cell<bool>,
    pub(super) detached: RefCell<Vec<InheritedConnection>>,
    /// One read buffer and one encode buffer serve all connections, since they take turns on one thread.
    pub(super) read_buffer: RefCell<Vec<u8>>,
    pub(super) answer_buffer: RefCell<Vec<u8>>,
    pub(super) budgets: Rc<Budgets>,
    /// From the frame of a heartbeat to its answer.
    pub(super) heartbeats: Arc<Latencies>,
    /// Limits log lines about connections closed to make room.
    pub(super) log_rate: LogRate,
}

/// Maximum bytes per read. A heartbeat fits; longer frames take several reads.
pub(super) const READ_BYTES: usize = 64 << 10;

/// Progress that restarts the write timeout; a client that reads less within it is slow.
const PROGRESS_BYTES: usize = 64 << 10;

impl SharedServer {
    pub(super) fn new(limits: RpcLimits, clock: Clock) -> Self {
        Self {
            limits,
            clock,
            numbers: Cell::new(0),
            open: RefCell::default(),
            stopping: Cell::new(false),
            leaving: Cell::new(false),
            detached: RefCell::default(),
            read_buffer: RefCell::new(vec![0; READ_BYTES]),
            answer_buffer: RefCell::default(),
            budgets: Rc::new(Budgets::new(&limits)),
            heartbeats: Arc::default(),
            log_rate: LogRate::default(),
        }
    }
}

impl Connection {
    pub(super) fn new(
        write: OwnedWriteHalf,
        shared: Rc<SharedServer>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Rc<Self> {
        let number = shared.numbers.get() + 1;
        shared.numbers.set(number);
        let connection = Rc::new(Self {
            number,
            address: write.peer_addr().map_or(Ipv4Addr::UNSPECIFIED.into(), |client| client.ip().to_canonical()),
            write,
            outgoing: RefCell::default(),
            in_parts: Cell::new(false),
            long_in_hand: Cell::new(false),
            behind: RefCell::default(),
            taken_bytes: Cell::new(0),
            charge: MemoryCharge::new(shared.budgets.clone()),
            calls_in_flight: Cell::new(0),
            has_called: Cell::new(false),
            has_sent_heartbeat: Cell::new(false),
            stage: Cell::new(WaitingFor::Opening),
            since_ms: Cell::new(shared.clock.mono_ms()),
            broken: Cell::new(false),
            left: Cell::new(false),
            check: PendingCheck::default(),
            changed: Notify::new(),
            reader: Cell::default(),
            shared: shared.clone(),
            _place: place,
        });
        shared.open.borrow_mut().insert(number, Rc::downgrade(&connection));
        connection
    }

    pub(super) fn sibling(&self, number: u64) -> Option<Rc<Self>> {
        self.shared.open.borrow().get(&number)?.upgrade().filter(|connection| !connection.has_left())
    }

    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.write.local_addr().ok()?, self.write.peer_addr().ok()?))
    }

    pub(super) fn socket(&self) -> &TcpStream {
        self.write.as_ref()
    }

    /// Marks the connection as closed for reading, once the service is notified.
    pub(super) fn set_left(&self) {
        self.left.set(true);
        self.changed.notify_waiters();
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.get()
    }

    pub(super) fn client(&self) -> Option<SocketAddr> {
        self.write.peer_addr().ok()
    }

    /// The client's address; unspecified if the client disconnected at once.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether a heartbeat arrived; until then the connection counts as a client's, whatever protocol it names.
    pub(super) fn has_sent_heartbeat(&self) -> bool {
        self.has_sent_heartbeat.get()
    }

    pub(super) fn set_sent_heartbeat(&self) {
        self.has_sent_heartbeat.set(true);
    }

    /// Its number; never reused.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Sends `bytes`; what the socket does not accept is buffered and sent later.
    pub(super) fn send(self: &Rc<Self>, bytes: &[u8]) {
        if self.broken.get() {
            return;
        }
        if self.in_parts.get() {
            let mut behind = self.behind.borrow_mut();
            behind.extend_from_slice(bytes);
            self.charge.set_unread(self.outgoing.borrow().len() + behind.len());
            return;
        }
        self.send_next(bytes);
    }

    /// As [`Self::send`], without copying a long answer.
    pub(super) fn send_whole(self: &Rc<Self>, bytes: Vec<u8>) {
        if self.broken.get() || self.in_parts.get() || self.has_outgoing() {
            return self.send(&bytes);
        }
        match write_some(&self.write, &bytes) {
            Ok(written) if written == bytes.len() => {}
            Ok(written) => {
                *self.outgoing.borrow_mut() = bytes;
                self.begin_flush(written);
            }
            Err(_) => self.abandon(),
        }
    }

    pub(super) fn is_in_parts(&self) -> bool {
        self.in_parts.get()
    }

    /// Waits until no other long answer is in progress and reserves the place; also completes when the client disconnects.
    pub(super) async fn begin_long(&self) {
        while self.long_in_hand.replace(true) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    pub(super) fn end_long(&self) {
        self.long_in_hand.set(false);
        self.changed.notify_waiters();
    }

    /// Starts an answer in parts, sent by [`Self::send_next`].
    pub(super) fn begin_parts(&self) {
        self.in_parts.set(true);
    }

    /// Ends an answer in parts and sends the answers that waited behind it.
    pub(super) fn end_parts(self: &Rc<Self>) {
        if self.in_parts.replace(false) {
            let behind = self.behind.take();
            if !behind.is_empty() {
                self.send(&behind);
            }
        }
    }

    /// Sends a part, or an answer that nothing precedes.
    pub(super) fn send_next(self: &Rc<Self>, bytes: &[u8]) {
        if self.broken.get() {
            return;
        }
        let mut outgoing = self.outgoing.borrow_mut();
        if !outgoing.is_empty() {
            outgoing.extend_from_slice(bytes);
            self.charge.set_unread(outgoing.len() + self.behind.borrow().len());
            return;
        }
        match write_some(&self.write, bytes) {
            Ok(written) if written == bytes.len() => {}
            Ok(written) => {
                outgoing.extend_from_slice(&bytes[written..]);
                drop(outgoing);
                self.begin_flush(0);
            }
            Err(_) => {
                drop(outgoing);
                self.abandon();
            }
        }
    }

    /// Sends `outgoing`, whose first `written` bytes are sent, in the background.
    fn begin_flush(self: &Rc<Self>, written: usize) {
        self.charge.set_unread(self.outgoing.borrow().len() + self.behind.borrow().len());
        self.taken_bytes.set(0);
        self.reset_timeout();
        tokio::task::spawn_local(self.clone().flush(written));
    }

    /// Writes buffered bytes as the client makes room. At most one runs per connection: while `outgoing` is not empty.
    async fn flush(self: Rc<Self>, mut written: usize) {
        loop {
            let writable = tokio::select! {
                writable = self.write.writable() => writable,
                () = self.left() => {
                    self.outgoing.borrow_mut().drain(..written);
                    self.shared.budgets.unread.remove(written);
                    break;
                }
            };
            if writable.is_err() || self.broken.get() {
                break self.abandon();
            }
            match self.flush_some(&mut written) {
                Ok(true) => break self.changed.notify_waiters(),
                // Yield, however fast the client reads.
                Ok(false) => tokio::task::yield_now().await,
                Err(_) => break self.abandon(),
            }
        }
    }

    /// Writes some bytes behind the first `written`; returns whether that was all.
    fn flush_some(&self, written: &mut usize) -> io::Result<bool> {
        let mut outgoing = self.outgoing.borrow_mut();
        let more = write_some(&self.write, &outgoing[*written..])?;
        *written += more;
        self.taken_bytes.set(self.taken_bytes.get() + more);
        let is_all = *written == outgoing.len();
        // Without this threshold one byte a minute would keep the connection open.
        if self.taken_bytes.get() >= PROGRESS_BYTES || is_all {
            self.taken_bytes.set(0);
            self.reset_timeout();
        }
        if is_all {
            self.charge.set_unread(self.behind.borrow().len());
            *outgoing = Vec::new();
        }
        Ok(is_all)
    }

    /// Completes when the client has read everything and no answer is being sent in parts, or the client disconnected.
    pub(super) async fn flushed(&self) {
        while (self.has_outgoing() || self.in_parts.get()) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    /// Whether the next call may be taken: answers are read and few enough are due.
    pub(super) fn can_take_call(&self) -> bool {
        // One call at a time while calls exceed their memory bound.
        let most = if self.calls().has_room() { self.shared.limits.max_calls_in_flight } else { 1 };
        let is_stopped = self.shared.stopping.get() || self.check.is_due();
        !self.has_outgoing() && self.calls_in_flight.get() < most && !is_stopped
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.borrow().is_empty() || !self.behind.borrow().is_empty()
    }

    /// Whether the socket has not accepted all bytes that are ready.
    pub(super) fn has_unsent(&self) -> bool {
        !self.outgoing.borrow().is_empty()
    }

    /// Completes when every call is answered and every answer read, or the client disconnected.
    pub(super) async fn answered(&self) {
        while (self.calls_in_flight.get() > 0 || self.has_outgoing()) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    /// Completes when every call is answered, or the client disconnected.
    pub(super) async fn settled(&self) {
        while !self.is_settled() {
            self.changed.notified().await;
        }
    }

    /// Whether every call is answered, or the client disconnected.
    pub(super) fn is_settled(&self) -> bool {
        self.calls_in_flight.get() == 0 || self.is_broken()
    }

    /// Sends the rest of what an inherited connection had not sent.
    pub(super) fn resume_sending(self: &Rc<Self>, unsent: Vec<u8>) {
        if !unsent.is_empty() {
            self.charge.set_unread(unsent.len());
            *self.outgoing.borrow_mut() = unsent;
            tokio::task::spawn_local(self.clone().flush(0));
        }
    }

    /// Whether it is to become an [`InheritedConnection`].
    pub(super) fn is_leaving(&self) -> bool {
        self.shared.leaving.get() && !self.broken.get()
    }

    /// Completes when [`Self::is_leaving`].
    async fn left(&self) {
        while !self.is_leaving() {
            self.changed.notified().await;
        }
    }

    /// Registers the reader's waker for [`Self::wake`].
    pub(super) fn read_by(&self, waker: &Waker) {
        let known = self.reader.take().filter(|known| known.will_wake(waker));
        self.reader.set(Some(known.unwrap_or_else(|| waker.clone())));
    }

    pub(super) fn wake(&self) {
        self.changed.notify_waiters();
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// The socket with its unsent bytes, for another server. `None` if the halves do not reunite.
    fn into_inherited(
        self,
        read: OwnedReadHalf,
        introduction: Introduction,
        unread: Vec<u8>,
    ) -> Option<InheritedConnection> {
        let stream = read.reunite(self.write).ok()?.into_std().ok()?;
        Some(InheritedConnection {
            number: self.number,
            socket: OwnedFd::from(stream),
            introduction,
            has_sent_heartbeat: self.has_sent_heartbeat.get(),
            trackers: Vec::new(),
            unread,
            unsent: self.outgoing.into_inner(),
        })
    }

    /// Becomes an [`InheritedConnection`] once this is the last reference; a flush drops its own within two turns of the loop.
    pub(super) async fn detach(mut self: Rc<Self>, read: OwnedReadHalf, introduction: Introduction, unread: Vec<u8>) {
        let connection = loop {
            match Rc::try_unwrap(self) {
                Ok(connection) => break connection,
                Err(shared) => self = shared,
            }
            tokio::task::yield_now().await;
        };
        let shared = connection.shared.clone();
        match connection.into_inherited(read, introduction, unread) {
            Some(inherited) => shared.detached.borrow_mut().push(inherited),
            None => tracing::warn!("cannot hand a connection over, closing it"),
        }
    }

    /// Completes when [`Self::can_take_call`] may have changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Marks the connection as resumed: its next call is not the first of a client that lost another connection.
    pub(super) fn set_resumed(&self) {
        self.has_called.set(true);
    }

    /// Counts a call of so many bytes; returns whether it is the connection's first.
    pub(super) fn begin_call(&self, bytes: usize) -> bool {
        self.calls_in_flight.set(self.calls_in_flight.get() + 1);
        // A heartbeat's bytes are not kept after decoding.
        if !self.charge.is_tracker() {
            self.shared.budgets.client_calls.add(bytes);
        }
        !self.has_called.replace(true)
    }

    pub(super) fn end_call(&self, bytes: usize) {
        let before = self.calls_in_flight.get();
        self.calls_in_flight.set(before.saturating_sub(1));
        if !self.charge.is_tracker() {
            self.shared.budgets.client_calls.remove(bytes);
        }
        if before == 1 || before >= self.shared.limits.max_calls_in_flight || self.shared.stopping.get() {
            self.changed.notify_waiters();
        }
        self.reset_timeout();
    }

    /// Marks the opening as complete; `is_tracker`: the tracker protocol was named.
    pub(super) fn set_open(&self, is_tracker: bool) {
        self.set_tracker(is_tracker);
        self.set_stage(WaitingFor::Call);
    }

    pub(super) fn set_tracker(&self, is_tracker: bool) {
        self.charge.set_tracker(is_tracker);
    }

    pub(super) fn is_tracker(&self) -> bool {
        self.charge.is_tracker()
    }

    pub(super) fn set_begun(&self, bytes: usize) {
        self.charge.set_begun(bytes);
    }

    pub(super) fn begun_bytes(&self) -> usize {
        self.charge.begun_bytes()
    }

    /// The memory bound for calls like this connection's.
    pub(super) fn calls(&self) -> &Budget {
        self.charge.calls()
    }

    pub(super) fn max_frame_bytes(&self) -> usize {
        self.shared.limits.max_frame_bytes
    }

    /// Sends a fatal error: no further call is answered on this connection.
    pub(super) fn send_fatal(self: &Rc<Self>, class: &str, text: &str) {
        let mut bytes = Vec::new();
        encode_fatal(&mut bytes, class, text);
        self.send(&bytes);
    }

    pub(super) fn shutdown_write(&self) {
        // An error means that the peer closed first.
        let _ = SockRef::from(self.write.as_ref()).shutdown(std::net::Shutdown::Write);
    }

    pub(super) fn set_stage(&self, stage: WaitingFor) {
        if self.stage.replace(stage) != stage {
            self.reset_timeout();
        }
    }

    /// Restarts the timeout after progress.
    pub(super) fn reset_timeout(&self) {
        self.since_ms.set(self.shared.clock.mono_ms());
    }

    /// What the connection waits for, and since when, ms of the monotonic clock.
    pub(super) fn waits(&self) -> (WaitingFor, u64) {
        let waiting = match self.stage.get() {
            WaitingFor::Opening => WaitingFor::Opening,
            _ if !self.outgoing.borrow().is_empty() => WaitingFor::Reader,
            // Before the rest of a frame: while answers are due, the delay may be the server's.
            _ if self.calls_in_flight.get() > 0 => WaitingFor::Answer,
            stage => stage,
        };
        (waiting, self.since_ms.get())
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Drops the client: shuts the socket down, which wakes all waiters.
    pub(super) fn abandon(&self) {
        if !self.broken.replace(true) {
            // An error means that the peer closed first.
            let _ = SockRef::from(self.write.as_ref()).shutdown(std::net::Shutdown::Both);
            if let Ok(mut outgoing) = self.outgoing.try_borrow_mut() {
                self.charge.set_unread(0);
                *outgoing = Vec::new();
                self.behind.take();
            }
            // Released at once, so that no further client is dropped for the same room.
            self.charge.set_begun(0);
        }
        self.changed.notify_waiters();
    }

    pub(super) fn shared(&self) -> &Rc<SharedServer> {
        &self.shared
    }
}

/// Maximum bytes written before yielding: a fast reader must not occupy the thread.
const WRITE_BYTES: usize = 256 << 10;

/// Writes until everything is written, the socket is full or it is time to yield; returns the bytes written.
fn write_some(write: &OwnedWriteHalf, bytes: &[u8]) -> io::Result<usize> {
    let bytes = &bytes[..bytes.len().min(WRITE_BYTES)];
    let mut written = 0;
    while written < bytes.len() {
        match write.try_write(&bytes[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

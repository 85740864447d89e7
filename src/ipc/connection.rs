//! One client's connection: what it may still ask, and what the socket has not taken yet.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::task::Waker;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::clock::Clock;
use crate::log::LogRate;
use crate::wire::protocol::encode_fatal;

use super::budget::Budget;
use super::inherited_connection::{Carried, Introduction};
use super::limits::RpcLimits;
use super::memory_charge::Kept;
use super::reading::READ_BYTES;

/// What a connection is in the middle of; decides which timeout holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// For the rest of its opening.
    Opening,
    /// For the rest of a frame.
    RestOfFrame,
    /// For the client to read its answers.
    Reader,
    /// For us to answer.
    Answer,
    /// For the next call of a tracker.
    Heartbeat,
    /// For the next call of a client.
    Call,
}

/// A connection. Buffers exist only while something is in them, so an idle one costs little.
pub(super) struct Connection {
    number: u64,
    /// Its client's.
    address: IpAddr,
    /// Shared only with whoever carries it over.
    write: OwnedWriteHalf,
    outgoing: RefCell<Vec<u8>>,
    /// An answer is leaving in parts: others wait in `behind`.
    in_parts: Cell<bool>,
    /// A long answer is in the making, or leaving: the next one is not begun.
    long_in_hand: Cell<bool>,
    behind: RefCell<Vec<u8>>,
    /// Bytes of `outgoing` that were taken since the timeout began.
    taken_bytes: Cell<usize>,
    kept: Kept,
    calls_in_flight: Cell<u32>,
    has_called: Cell<bool>,
    has_beaten: Cell<bool>,
    stage: Cell<Waiting>,
    since_ms: Cell<u64>,
    broken: Cell<bool>,
    left: Cell<bool>,
    /// Wakes all that wait; on one thread nothing comes between looking and waiting.
    changed: Notify,
    /// Wakes whoever reads, which waits for bytes only.
    reader: Cell<Option<Waker>>,
    shared: Rc<Shared>,
    /// None for one that was carried over although there are too many by now.
    _place: Option<OwnedSemaphorePermit>,
}

/// What all connections of one server have in common.
pub(super) struct Shared {
    pub(super) limits: RpcLimits,
    pub(super) clock: Clock,
    /// Connections so far.
    pub(super) numbers: Cell<u64>,
    /// Those that are open, by number.
    pub(super) open: RefCell<BTreeMap<u64, Weak<Connection>>>,
    /// No further calls are taken.
    pub(super) stopping: Cell<bool>,
    /// Nothing is read or written any more: connections become [`Carried`].
    pub(super) leaving: Cell<bool>,
    /// Those that have.
    pub(super) carried: RefCell<Vec<Carried>>,
    /// One buffer for reading and one for encoding serve all connections: they run in turn on one thread.
    pub(super) read_buffer: RefCell<Vec<u8>>,
    pub(super) answer_buffer: RefCell<Vec<u8>>,
    /// Calls of clients that have come in part, or wait for their answer.
    pub(super) client_calls: Budget,
    /// Calls of trackers that have come in part.
    pub(super) tracker_calls: Budget,
    /// Answers that were not read.
    pub(super) unread: Budget,
    /// Lines about connections that were closed for others.
    pub(super) log_rate: LogRate,
}

/// A client is slow that takes less than this in the time of a timeout.
const PROGRESS_BYTES: usize = 64 << 10;

// === impl Shared ===

impl Shared {
    pub(super) fn new(limits: RpcLimits, clock: Clock) -> Self {
        Self {
            limits,
            clock,
            numbers: Cell::new(0),
            open: RefCell::default(),
            stopping: Cell::new(false),
            leaving: Cell::new(false),
            carried: RefCell::default(),
            read_buffer: RefCell::new(vec![0; READ_BYTES]),
            answer_buffer: RefCell::default(),
            // One whole call must fit.
            client_calls: Budget::new(limits.waiting_call_bytes.max(limits.max_frame_bytes)),
            tracker_calls: Budget::new(limits.waiting_heartbeat_bytes.max(limits.max_frame_bytes)),
            unread: Budget::new(limits.unread_bytes),
            log_rate: LogRate::default(),
        }
    }
}

// === impl Connection ===

impl Connection {
    pub(super) fn new(write: OwnedWriteHalf, shared: Rc<Shared>, place: Option<OwnedSemaphorePermit>) -> Rc<Self> {
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
            kept: Kept::new(shared.clone()),
            calls_in_flight: Cell::new(0),
            has_called: Cell::new(false),
            has_beaten: Cell::new(false),
            stage: Cell::new(Waiting::Opening),
            since_ms: Cell::new(shared.clock.mono_ms()),
            broken: Cell::new(false),
            left: Cell::new(false),
            changed: Notify::new(),
            reader: Cell::default(),
            shared: shared.clone(),
            _place: place,
        });
        shared.open.borrow_mut().insert(number, Rc::downgrade(&connection));
        connection
    }

    /// The connection of that number, if it is open.
    pub(super) fn sibling(&self, number: u64) -> Option<Rc<Self>> {
        self.shared.open.borrow().get(&number)?.upgrade().filter(|connection| !connection.has_left())
    }

    /// Our end of it and the client's.
    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.write.local_addr().ok()?, self.write.peer_addr().ok()?))
    }

    pub(super) fn socket(&self) -> &TcpStream {
        self.write.as_ref()
    }

    /// Nothing more is read from it, and the service knows.
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

    /// The network address of its client; unspecified when the client was gone at once.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether a heartbeat has come on it: until then a client speaks, whatever protocol it names.
    pub(super) fn has_beaten(&self) -> bool {
        self.has_beaten.get()
    }

    pub(super) fn set_beaten(&self) {
        self.has_beaten.set(true);
    }

    /// Its number; never used twice.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Sends `bytes`; what the socket does not take waits in the connection's own buffer and follows by itself.
    pub(super) fn send(self: &Rc<Self>, bytes: &[u8]) {
        if self.broken.get() {
            return;
        }
        if self.in_parts.get() {
            let mut behind = self.behind.borrow_mut();
            behind.extend_from_slice(bytes);
            self.kept.set_unread(self.outgoing.borrow().len() + behind.len());
            return;
        }
        self.send_next(bytes);
    }

    /// As [`Self::send`], where nothing need be copied of what is long.
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

    /// Whether an answer is leaving in parts.
    pub(super) fn is_in_parts(&self) -> bool {
        self.in_parts.get()
    }

    /// Completes when no other long answer is in hand, and takes that place; or when the client is gone.
    pub(super) async fn begin_long(&self) {
        while self.long_in_hand.replace(true) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    /// The next long answer may be begun.
    pub(super) fn end_long(&self) {
        self.long_in_hand.set(false);
        self.changed.notify_waiters();
    }

    /// From now on an answer leaves in parts, by [`Self::send_next`].
    pub(super) fn begin_parts(&self) {
        self.in_parts.set(true);
    }

    /// The answer that left in parts is whole: what waited behind it follows.
    pub(super) fn end_parts(self: &Rc<Self>) {
        if self.in_parts.replace(false) {
            let behind = self.behind.take();
            if !behind.is_empty() {
                self.send(&behind);
            }
        }
    }

    /// Sends a part, or what waits behind none.
    pub(super) fn send_next(self: &Rc<Self>, bytes: &[u8]) {
        if self.broken.get() {
            return;
        }
        let mut outgoing = self.outgoing.borrow_mut();
        if !outgoing.is_empty() {
            outgoing.extend_from_slice(bytes);
            self.kept.set_unread(outgoing.len() + self.behind.borrow().len());
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

    /// Has `outgoing`, of which the first `written` bytes are gone, follow by itself.
    fn begin_flush(self: &Rc<Self>, written: usize) {
        self.kept.set_unread(self.outgoing.borrow().len() + self.behind.borrow().len());
        self.taken_bytes.set(0);
        self.moved();
        tokio::task::spawn_local(self.clone().flush(written));
    }

    /// Writes what waits as the client makes room. At most one runs for a connection: while `outgoing` is not empty.
    async fn flush(self: Rc<Self>, mut written: usize) {
        loop {
            let writable = tokio::select! {
                writable = self.write.writable() => writable,
                () = self.left() => {
                    self.outgoing.borrow_mut().drain(..written);
                    self.shared.unread.remove(written);
                    break;
                }
            };
            if writable.is_err() || self.broken.get() {
                break self.abandon();
            }
            match self.flush_some(&mut written) {
                Ok(true) => break self.changed.notify_waiters(),
                // Others get their turn, however fast it is read.
                Ok(false) => tokio::task::yield_now().await,
                Err(_) => break self.abandon(),
            }
        }
    }

    /// Writes some of what waits behind the first `written` bytes; tells whether that was all.
    fn flush_some(&self, written: &mut usize) -> io::Result<bool> {
        let mut outgoing = self.outgoing.borrow_mut();
        let more = write_some(&self.write, &outgoing[*written..])?;
        *written += more;
        self.taken_bytes.set(self.taken_bytes.get() + more);
        let is_all = *written == outgoing.len();
        // Else a byte a minute would be enough to be waited for.
        if self.taken_bytes.get() >= PROGRESS_BYTES || is_all {
            self.taken_bytes.set(0);
            self.moved();
        }
        if is_all {
            self.kept.set_unread(self.behind.borrow().len());
            *outgoing = Vec::new();
        }
        Ok(is_all)
    }

    /// Completes when the client has read everything and no answer is leaving in parts, or the client is gone.
    pub(super) async fn flushed(&self) {
        while (self.has_outgoing() || self.in_parts.get()) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    /// Whether the next call may be taken: the client reads its answers, and not too many are owed.
    pub(super) fn may_call(&self) -> bool {
        // While calls take too much room, one at a time.
        let most = if self.calls().has_room() { self.shared.limits.max_calls_in_flight } else { 1 };
        !self.has_outgoing() && self.calls_in_flight.get() < most && !self.shared.stopping.get()
    }

    /// Whether the client has not taken everything that was sent to it.
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.borrow().is_empty() || !self.behind.borrow().is_empty()
    }

    /// Whether the socket has not taken everything that is its turn.
    pub(super) fn has_unsent(&self) -> bool {
        !self.outgoing.borrow().is_empty()
    }

    /// Completes when every call that was taken is answered and the answers have left, or the client is gone.
    pub(super) async fn answered(&self) {
        while (self.calls_in_flight.get() > 0 || self.has_outgoing()) && !self.is_broken() {
            self.changed.notified().await;
        }
    }

    /// Completes when every call that was taken is answered, or the client is gone.
    pub(super) async fn settled(&self) {
        while !self.is_settled() {
            self.changed.notified().await;
        }
    }

    /// Whether every call that was taken is answered, or nobody is there to hear.
    pub(super) fn is_settled(&self) -> bool {
        self.calls_in_flight.get() == 0 || self.is_broken()
    }

    /// Goes on with what a connection of before has not sent.
    pub(super) fn go_on_sending(self: &Rc<Self>, unsent: Vec<u8>) {
        if !unsent.is_empty() {
            self.kept.set_unread(unsent.len());
            *self.outgoing.borrow_mut() = unsent;
            tokio::task::spawn_local(self.clone().flush(0));
        }
    }

    /// Whether it is to become [`Carried`].
    pub(super) fn is_leaving(&self) -> bool {
        self.shared.leaving.get() && !self.broken.get()
    }

    /// Completes when [`Self::is_leaving`].
    async fn left(&self) {
        while !self.is_leaving() {
            self.changed.notified().await;
        }
    }

    /// Who is woken by [`Self::wake`] beside those who wait for a change.
    pub(super) fn read_by(&self, waker: &Waker) {
        let known = self.reader.take().filter(|known| known.will_wake(waker));
        self.reader.set(Some(known.unwrap_or_else(|| waker.clone())));
    }

    /// Has all who wait look again.
    pub(super) fn wake(&self) {
        self.changed.notify_waiters();
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// The socket and what its client has not heard, for somebody else. None when the system does not give it back.
    fn carried(self, read: OwnedReadHalf, introduction: Introduction, unread: Vec<u8>) -> Option<Carried> {
        let stream = read.reunite(self.write).ok()?.into_std().ok()?;
        Some(Carried {
            number: self.number,
            socket: OwnedFd::from(stream),
            introduction,
            has_beaten: self.has_beaten.get(),
            trackers: Vec::new(),
            unread,
            unsent: self.outgoing.into_inner(),
        })
    }

    /// Becomes [`Carried`] once nobody else holds it; whoever flushes it lets go within a turn or two.
    pub(super) async fn carry(mut self: Rc<Self>, read: OwnedReadHalf, introduction: Introduction, unread: Vec<u8>) {
        let connection = loop {
            match Rc::try_unwrap(self) {
                Ok(connection) => break connection,
                Err(shared) => self = shared,
            }
            tokio::task::yield_now().await;
        };
        let shared = connection.shared.clone();
        match connection.carried(read, introduction, unread) {
            Some(carried) => shared.carried.borrow_mut().push(carried),
            None => tracing::warn!("a connection could not be handed over and is closed"),
        }
    }

    /// Completes when something about [`Self::may_call`] may have changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Its next call is not the first of a client that lost another connection, but goes on with what was said to an earlier server.
    pub(super) fn check_stop(&self) {
        self.has_called.set(true);
    }

    /// Counts a call that was taken, of so many bytes; tells whether it is the first one.
    pub(super) fn call_taken(&self, bytes: usize) -> bool {
        self.calls_in_flight.set(self.calls_in_flight.get() + 1);
        // Of a heartbeat nothing is kept once it is taken.
        if !self.kept.is_tracker() {
            self.shared.client_calls.add(bytes);
        }
        !self.has_called.replace(true)
    }

    /// Counts a call that was answered, or given up.
    pub(super) fn call_ended(&self, bytes: usize) {
        let before = self.calls_in_flight.get();
        self.calls_in_flight.set(before.saturating_sub(1));
        if !self.kept.is_tracker() {
            self.shared.client_calls.remove(bytes);
        }
        if before == 1 || before >= self.shared.limits.max_calls_in_flight || self.shared.stopping.get() {
            self.changed.notify_waiters();
        }
        self.moved();
    }

    /// The opening is over; a tracker speaks, or a client.
    pub(super) fn set_open(&self, is_tracker: bool) {
        self.set_tracker(is_tracker);
        self.set_stage(Waiting::Call);
    }

    /// A tracker speaks, or a client.
    pub(super) fn set_tracker(&self, is_tracker: bool) {
        self.kept.set_tracker(is_tracker);
    }

    pub(super) fn is_tracker(&self) -> bool {
        self.kept.is_tracker()
    }

    /// Tells how much of a call has come that is not whole yet.
    pub(super) fn set_begun(&self, bytes: usize) {
        self.kept.set_begun(bytes);
    }

    /// How much of a call has come that is not whole yet.
    pub(super) fn begun_bytes(&self) -> usize {
        self.kept.begun_bytes()
    }

    /// The room for calls like this connection's.
    pub(super) fn calls(&self) -> &Budget {
        self.kept.calls()
    }

    pub(super) fn max_frame_bytes(&self) -> usize {
        self.shared.limits.max_frame_bytes
    }

    /// Tells the client that nothing it says on this connection will be heard.
    pub(super) fn send_fatal(self: &Rc<Self>, class: &str, text: &str) {
        let mut bytes = Vec::new();
        encode_fatal(&mut bytes, class, text);
        self.send(&bytes);
    }

    /// Nothing more will be sent.
    pub(super) fn end_writing(&self) {
        // An error here says that the peer was faster.
        let _ = SockRef::from(self.write.as_ref()).shutdown(std::net::Shutdown::Write);
    }

    /// Tells what the connection waits for between calls.
    pub(super) fn set_stage(&self, stage: Waiting) {
        if self.stage.replace(stage) != stage {
            self.moved();
        }
    }

    /// Something went forward: timeouts start anew.
    pub(super) fn moved(&self) {
        self.since_ms.set(self.shared.clock.mono_ms());
    }

    /// What the connection waits for, and since when, ms of the monotonic clock.
    pub(super) fn waits(&self) -> (Waiting, u64) {
        let waiting = match self.stage.get() {
            Waiting::Opening => Waiting::Opening,
            _ if !self.outgoing.borrow().is_empty() => Waiting::Reader,
            // Before the rest of a frame: while answers are owed, it may be us who do not read on.
            _ if self.calls_in_flight.get() > 0 => Waiting::Answer,
            stage => stage,
        };
        (waiting, self.since_ms.get())
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Gives the client up: shuts the socket down, so that whatever waits for it goes on.
    pub(super) fn abandon(&self) {
        if !self.broken.replace(true) {
            // An error here says that the peer was faster.
            let _ = SockRef::from(self.write.as_ref()).shutdown(std::net::Shutdown::Both);
            if let Ok(mut outgoing) = self.outgoing.try_borrow_mut() {
                self.kept.set_unread(0);
                *outgoing = Vec::new();
                self.behind.take();
            }
            // Counted as free at once: nobody else is given up for the same room.
            self.kept.set_begun(0);
        }
        self.changed.notify_waiters();
    }

    pub(super) fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }
}

/// Most bytes that are written in one go: a reader that is as fast must not keep the thread for itself.
const WRITE_BYTES: usize = 256 << 10;

/// Writes until everything is written, the socket is full or others should have their turn; tells how much went.
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

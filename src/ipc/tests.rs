//! The servers of these tests give one answer to every call; the tests look at the connection.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, oneshot};

use crate::clock::Clock;
use crate::fake_tracker::FakeTracker;
use crate::model::PerKind;
use crate::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use crate::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, Value, encode_call, encode_response};

use super::connection::{Connection, SharedServer};
use super::pending_check::{ConnectionCheck, Introduced};
use super::reading::read_calls;
use super::session::{Service, Session};
use super::{CallAnswer, PendingCall, RpcLimits, RpcServer};

/// Maximum cost of an idle connection beside the kernel's and the runtime's own record of its socket.
const IDLE_BYTES: usize = 1_000;

struct SilentService;

impl Service for SilentService {
    fn handle_call(self: &Rc<Self>, _call: Call, _ticket: PendingCall) {}
    fn on_tracker_disconnected(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

#[tokio::test]
async fn an_idle_connection_costs_less_than_a_kilobyte() {
    let shared = Rc::new(SharedServer::new(RpcLimits::default(), Clock::start()));
    let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (read, write) = stream.into_split();
    let place = std::sync::Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    let connection = Connection::new(write, shared, Some(place));
    let task = read_calls(connection.clone(), read, Session::new(Rc::new(SilentService)), Vec::new());
    let bytes = size_of_val(&task) + size_of_val(&*connection);
    assert!(
        bytes < IDLE_BYTES,
        "{} for the task, {} for the connection",
        size_of_val(&task),
        size_of_val(&*connection)
    );
}

/// Answers more than sockets buffer.
struct LongAnswers;

/// An answer whose bytes differ from place to place.
fn long_value() -> Value {
    Value::EncodedHeartbeat((0..251).collect::<Vec<u8>>().repeat(1 << 16).into())
}

impl Service for LongAnswers {
    fn handle_call(self: &Rc<Self>, _call: Call, pending: PendingCall) {
        pending.answer(&CallAnswer::Value(long_value()));
    }
    fn on_tracker_disconnected(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

fn server() -> Rc<RpcServer<LongAnswers>> {
    Rc::new(RpcServer::new(RpcLimits::default(), Clock::start(), Rc::new(LongAnswers)))
}

/// A client that has read nothing of its answer gets all of it, the beginning from one server and the end from another;
/// the same holds for a call that was half sent.
#[tokio::test]
async fn a_connection_is_handed_over_in_the_middle_of_an_answer_and_of_a_call() {
    let local = tokio::task::LocalSet::new();
    let exchange = async {
        let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let first = server();
        let accepting = tokio::task::spawn_local(first.clone().accept(listener));
        let mut sent = Vec::new();
        let user = ConnectionUser { effective: "alice".to_owned(), real: None };
        let protocol = Protocol::JobSubmission.class_name().into();
        encode_opening(&mut sent, &ConnectionHeader { protocol, user: Some(user) });
        for id in [1, 2] {
            encode_call(&mut sent, id, &Call::JobSubmission(JobSubmissionCall::GetSystemDir));
        }
        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        let (now, later) = sent.split_at(sent.len() - 3);
        client.write_all(now).await.unwrap();
        // The answer to the first call has started to arrive.
        client.readable().await.unwrap();
        first.pause().await;
        assert!(first.unanswered_clients().is_empty());
        accepting.abort();
        let inherited = first.detach_all().await;
        assert_eq!((inherited.len(), first.connections()), (1, 0));
        assert!(!inherited[0].unsent.is_empty() && !inherited[0].unread.is_empty());
        let second = server();
        second.take_over(inherited);
        for id in [1, 2] {
            let mut expected = Vec::new();
            encode_response(&mut expected, id, &long_value());
            let mut received = vec![0; expected.len()];
            client.read_exact(&mut received).await.unwrap();
            assert!(received == expected, "the answer to call {id}");
            if id == 1 {
                client.write_all(later).await.unwrap();
            }
        }
        // After a pause without a hand-over, calls are taken again.
        second.pause().await;
        let mut again = Vec::new();
        encode_call(&mut again, 3, &Call::JobSubmission(JobSubmissionCall::GetSystemDir));
        client.write_all(&again).await.unwrap();
        second.resume();
        assert!(client.read_u8().await.is_ok());
    };
    local.run_until(exchange).await;
}

/// Keeps calls until the test answers them.
#[derive(Default)]
struct PatientService(RefCell<Vec<PendingCall>>);

impl Service for PatientService {
    fn handle_call(self: &Rc<Self>, _call: Call, pending: PendingCall) {
        self.0.borrow_mut().push(pending);
    }
    fn on_tracker_disconnected(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

/// Each answered heartbeat is counted once, however long it was kept; other calls of a tracker are none.
#[tokio::test]
async fn an_answered_heartbeat_is_one_more_in_the_count() {
    let exchange = async {
        let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let patient = Rc::new(PatientService::default());
        let server = Rc::new(RpcServer::new(RpcLimits::default(), Clock::start(), patient.clone()));
        let meter = server.meter();
        assert_eq!(meter.connections().0, 0);
        let _accepting = tokio::task::spawn_local(server.clone().accept(listener));
        let mut sent = Vec::new();
        let user = ConnectionUser { effective: "mapred".to_owned(), real: None };
        let protocol = Protocol::InterTracker.class_name().into();
        encode_opening(&mut sent, &ConnectionHeader { protocol, user: Some(user) });
        let mut tracker = FakeTracker::<()>::new("t", "h", PerKind::new(1, 1));
        let request = Box::new(tracker.request(Vec::new()));
        let heartbeat = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        encode_call(&mut sent, 1, &Call::InterTracker(InterTrackerCall::GetSystemDir));
        encode_call(&mut sent, 2, &heartbeat);
        encode_call(&mut sent, 3, &heartbeat);
        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        client.write_all(&sent).await.unwrap();
        while patient.0.borrow().len() < 3 {
            tokio::task::yield_now().await;
        }
        // The place of the next connection is taken before it comes.
        assert_eq!(meter.connections(), (2, RpcLimits::default().max_connections as u64));
        let mut counts = Vec::new();
        for pending in patient.0.take() {
            counts.push(meter.heartbeats().count());
            pending.answer(&CallAnswer::Value(Value::Void));
        }
        counts.push(meter.heartbeats().count());
        assert_eq!(counts, [0, 0, 1, 2]);
    };
    tokio::task::LocalSet::new().run_until(exchange).await;
}

/// Checks each connection until the test decides.
#[derive(Default)]
struct CheckingService {
    decisions: RefCell<Vec<oneshot::Sender<Result<(), String>>>>,
    calls: RefCell<u32>,
}

impl Service for CheckingService {
    fn handle_call(self: &Rc<Self>, _call: Call, pending: PendingCall) {
        *self.calls.borrow_mut() += 1;
        pending.answer(&CallAnswer::Value(Value::Void));
    }
    fn check_connection(self: &Rc<Self>, _introduced: &Introduced) -> ConnectionCheck {
        let (decide, decided) = oneshot::channel();
        self.decisions.borrow_mut().push(decide);
        ConnectionCheck::Pending(Box::pin(async { decided.await.unwrap_or_else(|_| Err("forgotten".to_owned())) }))
    }
    fn on_tracker_disconnected(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

/// A hand-over waits for the check of a connection: one that is admitted is served by the next server, one that is refused hears why
/// and is not handed over.
#[tokio::test]
async fn a_connection_that_is_checked_is_handed_over_once_it_is_admitted() {
    let exchange = async {
        for decision in [Ok(()), Err("not you".to_owned())] {
            let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = listener.local_addr().unwrap();
            let checking = Rc::new(CheckingService::default());
            let first = Rc::new(RpcServer::new(RpcLimits::default(), Clock::start(), checking.clone()));
            let accepting = tokio::task::spawn_local(first.clone().accept(listener));
            let mut sent = Vec::new();
            let user = ConnectionUser { effective: "alice".to_owned(), real: None };
            let protocol = Protocol::JobSubmission.class_name().into();
            encode_opening(&mut sent, &ConnectionHeader { protocol, user: Some(user) });
            encode_call(&mut sent, 1, &Call::JobSubmission(JobSubmissionCall::GetSystemDir));
            let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
            client.write_all(&sent).await.unwrap();
            while checking.decisions.borrow().is_empty() {
                tokio::task::yield_now().await;
            }
            let mut pause = Box::pin(first.pause());
            for _ in 0..20 {
                let is_paused =
                    tokio::select! { biased; () = &mut pause => true, () = tokio::task::yield_now() => false };
                assert!(!is_paused, "it does not wait for the check");
            }
            let decide = checking.decisions.borrow_mut().pop().unwrap();
            let is_admitted = decision.is_ok();
            decide.send(decision).unwrap();
            pause.await;
            accepting.abort();
            let inherited = first.detach_all().await;
            assert_eq!((inherited.len(), *checking.calls.borrow()), (usize::from(is_admitted), 0));
            if is_admitted {
                let second = server();
                second.take_over(inherited);
                let mut expected = Vec::new();
                encode_response(&mut expected, 1, &long_value());
                let mut received = vec![0; expected.len()];
                client.read_exact(&mut received).await.unwrap();
                assert!(received == expected);
            } else {
                drop(first);
                let mut said = Vec::new();
                client.read_to_end(&mut said).await.unwrap();
                assert!(String::from_utf8_lossy(&said).contains("not you"), "{said:?}");
            }
        }
    };
    tokio::task::LocalSet::new().run_until(exchange).await;
}

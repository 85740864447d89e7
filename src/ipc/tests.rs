//! The servers of these tests say one thing to every call; what is looked at is the connection.

use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use crate::wire::protocol::{Call, JobSubmissionCall, Protocol, Value, encode_call, encode_response};

use super::connection::{Connection, Shared};
use super::reading::read_calls;
use super::session::{Conversation, Service};
use super::{Answer, RpcLimits, RpcServer, Ticket};

/// What an idle connection may cost us beside the kernel and the runtime's own record of its socket.
const IDLE_BYTES: usize = 1_000;

struct Nobody;

impl Service for Nobody {
    fn take(self: &Rc<Self>, _call: Call, _ticket: Ticket) {}
    fn tracker_left(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

#[tokio::test]
async fn an_idle_connection_costs_less_than_a_kilobyte() {
    let shared = Rc::new(Shared::new(RpcLimits::default(), Clock::start()));
    let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (read, write) = stream.into_split();
    let place = std::sync::Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    let connection = Connection::new(write, shared, Some(place));
    let task = read_calls(connection.clone(), read, Conversation::new(Rc::new(Nobody)), Vec::new());
    let bytes = size_of_val(&task) + size_of_val(&*connection);
    assert!(
        bytes < IDLE_BYTES,
        "{} for the task, {} for the connection",
        size_of_val(&task),
        size_of_val(&*connection)
    );
}

/// Says more than sockets take.
struct Talkative;

/// An answer whose bytes differ from place to place.
fn long_value() -> Value {
    Value::EncodedHeartbeat((0..251).collect::<Vec<u8>>().repeat(1 << 16).into())
}

impl Service for Talkative {
    fn take(self: &Rc<Self>, _call: Call, ticket: Ticket) {
        ticket.answer(&Answer::Value(long_value()));
    }
    fn tracker_left(&self, _connection: u64) {}
    fn has_room(&self) -> bool {
        true
    }
    async fn room(&self) {}
}

fn server() -> Rc<RpcServer<Talkative>> {
    Rc::new(RpcServer::new(RpcLimits::default(), Clock::start(), Rc::new(Talkative)))
}

/// A client that has read nothing of its answer gets all of it, the beginning from one server and the end from another;
/// so it is with a call that was half said.
#[tokio::test]
async fn a_carried_connection_is_gone_on_with_in_the_middle_of_an_answer_and_of_a_call() {
    let local = tokio::task::LocalSet::new();
    let exchange = async {
        let listener = super::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let first = server();
        let accepting = tokio::task::spawn_local(first.clone().accept(listener));
        let mut said = Vec::new();
        let user = ConnectionUser { effective: "alice".to_owned(), real: None };
        let protocol = Protocol::JobSubmission.class_name().into();
        encode_opening(&mut said, &ConnectionHeader { protocol, user: Some(user) });
        for id in [1, 2] {
            encode_call(&mut said, id, &Call::JobSubmission(JobSubmissionCall::GetSystemDir));
        }
        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        let (now, later) = said.split_at(said.len() - 3);
        client.write_all(now).await.unwrap();
        // The answer to the first call has begun to come.
        client.readable().await.unwrap();
        first.pause().await;
        assert!(first.unsettled().is_empty());
        accepting.abort();
        let carried = first.carry_all().await;
        assert_eq!((carried.len(), first.connections()), (1, 0));
        assert!(!carried[0].unsent.is_empty() && !carried[0].unread.is_empty());
        let second = server();
        second.take_over(carried);
        for id in [1, 2] {
            let mut expected = Vec::new();
            encode_response(&mut expected, id, &long_value());
            let mut heard = vec![0; expected.len()];
            client.read_exact(&mut heard).await.unwrap();
            assert!(heard == expected, "the answer to call {id}");
            if id == 1 {
                client.write_all(later).await.unwrap();
            }
        }
        // Paused for nothing, calls are taken again.
        second.pause().await;
        let mut again = Vec::new();
        encode_call(&mut again, 3, &Call::JobSubmission(JobSubmissionCall::GetSystemDir));
        client.write_all(&again).await.unwrap();
        second.resume();
        assert!(client.read_u8().await.is_ok());
    };
    local.run_until(exchange).await;
}

//! The server of these tests says one thing to every call; what is looked at is the connection.

use std::rc::Rc;

use tokio::sync::Semaphore;

use super::connection::{Connection, Shared};
use super::conversation::{Conversation, Service};
use super::reading::read_calls;
use super::{RpcLimits, Ticket};
use crate::server::Clock;
use crate::wire::protocol::Call;

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

//! Calls of this process itself, in the name of a user that it has verified: over a pair of sockets, so that they wait,
//! count and are answered in parts as those of other clients.

use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use crate::clock::Clock;
use crate::wire::protocol::Call;

use super::connection::{Connection, SharedServer};
use super::limits::RpcLimits;
use super::pending_call::PendingCall;
use super::session::Service;

pub(crate) struct LocalCalls {
    shared: Rc<SharedServer>,
}

impl LocalCalls {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { shared: Rc::new(SharedServer::new(RpcLimits::default(), clock)) }
    }

    /// Makes a call in the name of `user`; the answer can be read from the stream, which ends with it.
    pub(crate) async fn call<S: Service>(
        &self,
        service: &Rc<S>,
        call: Call,
        user: Arc<str>,
        has_admin_role: bool,
    ) -> io::Result<TcpStream> {
        let (client, server) = socket_pair().await?;
        // Its other half would keep the stream from ending.
        let (_, write) = server.into_split();
        let connection = Connection::new(write, self.shared.clone(), None);
        // No sweep: its reader is this process, within a time of its own.
        self.shared.open.borrow_mut().remove(&connection.number());
        connection.set_open(false);
        service.handle_call(call, PendingCall::new(connection, 0, user, None, 0).with_admin_role(has_admin_role));
        Ok(client)
    }
}

async fn socket_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let own = client.local_addr()?;
    loop {
        // Another process may have connected first.
        let (server, peer) = listener.accept().await?;
        if peer == own {
            return Ok((client, server));
        }
    }
}

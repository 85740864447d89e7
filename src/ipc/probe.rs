//! Detects whether the peer of a silent connection is alive.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use socket2::{SockRef, TcpKeepalive};

use super::connection::Connection;

/// Silence after which the kernel probes the peer of any connection.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(120);
/// Keepalive interval during a probe; the peer counts as gone after so many unanswered probes.
const INTERVAL: Duration = Duration::from_secs(1);
const RETRIES: u32 = 3;
/// The kernel's defaults otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(75);
const USUAL_RETRIES: u32 = 9;

/// Makes the kernel probe the peer of a connection every second until this is dropped. A connection whose peer resets
/// it or does not answer is closed by the kernel, except while answers are unacknowledged: those are retransmitted at
/// growing intervals; [`Probe::is_answered`] decides sooner.
#[derive(Debug)]
pub(crate) struct Probe {
    connection: Weak<Connection>,
    began_ms: u64,
}

impl Probe {
    pub(super) fn begin(connection: &Rc<Connection>) -> Self {
        let usual = TcpKeepalive::new();
        set_keepalive(connection, &usual.with_time(INTERVAL).with_interval(INTERVAL).with_retries(RETRIES));
        Self { connection: Rc::downgrade(connection), began_ms: connection.shared().clock.mono_ms() }
    }

    pub(crate) fn client(&self) -> Option<SocketAddr> {
        self.connection.upgrade()?.client()
    }

    /// Whether the peer's kernel acknowledged anything within `window_ms`, or since the probe started if that is
    /// shorter; `None` if the local kernel does not report it.
    pub(crate) fn is_answered(&self, window_ms: u64) -> Option<bool> {
        let connection = self.connection.upgrade()?;
        let since_ms = connection.shared().clock.mono_ms().saturating_sub(self.began_ms);
        let (local, client) = connection.ends()?;
        match last_ack_ms(local, client) {
            Ok(ago_ms) => Some(ago_ms <= since_ms.min(window_ms)),
            Err(error) => {
                tracing::debug!("the kernel does not report whether {client} is alive: {error}");
                None
            }
        }
    }

    pub(crate) fn close(&self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.abandon();
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.upgrade() {
            let usual = TcpKeepalive::new().with_time(KEEPALIVE);
            set_keepalive(&connection, &usual.with_interval(USUAL_INTERVAL).with_retries(USUAL_RETRIES));
        }
    }
}

fn set_keepalive(connection: &Connection, keepalive: &TcpKeepalive) {
    // An error means that the connection is closed.
    let _ = SockRef::from(connection.socket()).set_tcp_keepalive(keepalive);
}

/// `SOCK_DIAG_BY_FAMILY`
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`
const TCP: u8 = 6;
/// `INET_DIAG_INFO`: the attribute with a `struct tcp_info`.
const INFO: u16 = 2;
/// `AF_INET`, `AF_INET6`
const FAMILIES: [u8; 2] = [2, 10];
const HEADER_BYTES: usize = 16;
/// Of `struct inet_diag_msg`.
const MESSAGE_BYTES: usize = 72;
/// Where `tcpi_last_ack_recv` stands in `struct tcp_info`.
const LAST_ACK_AT: usize = 56;

/// Milliseconds since the peer of a connection last acknowledged anything.
/// Errors: the kernel does not report it: the connection is closed, or sock_diag is not allowed.
fn last_ack_ms(local: SocketAddr, peer: SocketAddr) -> io::Result<u64> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    sendto(&socket, &encode_request(local, peer), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = vec![0; 4096];
    // The answer is available once the request is sent.
    let (count, _) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
    decode_last_ack(buffer.get(..count).unwrap_or_default()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// A `struct nlmsghdr` and a `struct inet_diag_req_v2`.
fn encode_request(local: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let mut request = Vec::with_capacity(56);
    request.extend([FAMILIES[usize::from(local.is_ipv6())], TCP, 1 << (INFO - 1), 0]);
    // Any state.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(local.port().to_be_bytes());
    request.extend(peer.port().to_be_bytes());
    request.extend(padded(local.ip()));
    request.extend(padded(peer.ip()));
    request.extend([0; 4]);
    // No cookie.
    request.extend([0xff; 8]);
    let mut message = Vec::with_capacity(HEADER_BYTES + request.len());
    message.extend(((HEADER_BYTES + request.len()) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(request);
    message
}

fn padded(address: IpAddr) -> [u8; 16] {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes = address.octets(),
    }
    bytes
}

fn decode_last_ack(message: &[u8]) -> Option<u64> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let mut attributes = message.get(HEADER_BYTES + MESSAGE_BYTES..).filter(|_| kind == BY_FAMILY)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?);
        if kind == INFO {
            let field = attributes.get(4..length)?.get(LAST_ACK_AT..LAST_ACK_AT + 4)?;
            return Some(u32::from_ne_bytes(field.try_into().ok()?).into());
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// The kernel's answer about one end of a connection over `address`, after that end received an acknowledgement.
    fn last_ack_of(address: &str) -> io::Result<u64> {
        let listener = TcpListener::bind(address)?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut served, _) = listener.accept()?;
        served.write_all(b"x")?;
        client.read_exact(&mut [0; 1])?;
        last_ack_ms(served.local_addr()?, served.peer_addr()?)
    }

    #[test]
    fn the_kernel_reports_when_the_peer_last_acknowledged() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            match last_ack_of(address) {
                Ok(ms) => assert!(ms < 60_000, "{address}: {ms}"),
                // Some systems allow no such request, or have no IPv6: the caller copes without an answer.
                Err(error) => eprintln!("skipped for {address}: {error}"),
            }
        }
    }

    #[test]
    fn an_answer_of_any_length_is_read_or_refused() {
        let mut message = vec![0; HEADER_BYTES + MESSAGE_BYTES];
        message[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        // Another attribute of odd length first.
        message.extend([7_u16.to_ne_bytes(), 9_u16.to_ne_bytes()].concat());
        message.extend([0; 4]);
        message.extend([((4 + LAST_ACK_AT + 4) as u16).to_ne_bytes(), INFO.to_ne_bytes()].concat());
        message.extend([0; LAST_ACK_AT]);
        message.extend(1_234_u32.to_ne_bytes());
        assert_eq!(decode_last_ack(&message), Some(1_234));
        for length in 0..message.len() {
            assert_eq!(decode_last_ack(&message[..length]), None, "{length}");
        }
        // The kernel's own errors have another type.
        message[4] = 2;
        assert_eq!(decode_last_ack(&message), None);
    }
}

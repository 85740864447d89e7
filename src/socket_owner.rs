//! The user who owns the other end of a TCP connection within this machine, as the kernel says of that one socket (sock_diag(7)),
//! or lists it (proc_net_tcp(5)): a list takes milliseconds on a machine with much memory, however few sockets there are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{fs, io};

use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// The kernel's number of the state in which both ends are open. A socket that its process has closed is in another one,
/// and is listed as root's.
const ESTABLISHED: u8 = 1;
/// Bytes of `struct nlmsghdr`, which begins each message.
const HEADER_BYTES: usize = 16;
/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`.
const IS_ERROR: u16 = 2;
/// `NLM_F_REQUEST`.
const IS_REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;

/// The user id that owns the socket bound to `own` and connected to `remote`; none if there is none, or the system says nothing of sockets.
pub(crate) fn uid_of_socket(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    // An end that is closed between two looks at one line is found closed by the second.
    let uid = find_uid(own, remote)?;
    (find_uid(own, remote)? == uid).then_some(uid)
}

/// The same as the kernel answers at once, asked a single time: for shares, not for rights.
pub(crate) fn quick_uid_of_socket(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    uid_by_diag((canonical(own), canonical(remote))).ok().flatten()
}

fn find_uid(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let ends = (canonical(own), canonical(remote));
    uid_by_diag(ends).unwrap_or_else(|_| uid_in_lists(ends))
}

/// What the kernel answers of one socket; none: it is not there, or not open.
fn uid_by_diag(ends: ((IpAddr, u16), (IpAddr, u16))) -> io::Result<Option<u32>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    send(&socket, &diag_request(ends), SendFlags::empty())?;
    let mut answer = [0; 512];
    // It was answered before the call returned.
    let (_, bytes) = recv(&socket, &mut answer, RecvFlags::DONTWAIT)?;
    let answer = answer.get(..bytes).unwrap_or_default();
    match refusal_in_answer(answer) {
        None | Some(Errno::NOENT) => Ok(uid_in_answer(answer, ends)),
        Some(errno) => Err(errno.into()),
    }
}

/// Why the kernel answers with no socket, of `struct nlmsgerr`.
fn refusal_in_answer(answer: &[u8]) -> Option<Errno> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let errno = i32::from_ne_bytes(answer.get(HEADER_BYTES..HEADER_BYTES + 4)?.try_into().ok()?);
    (kind == IS_ERROR).then(|| Errno::from_raw_os_error(errno.wrapping_neg()))
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn diag_request((own, remote): ((IpAddr, u16), (IpAddr, u16))) -> Vec<u8> {
    let family = if own.0.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut body = vec![family.as_raw() as u8, TCP, 0, 0];
    // Sockets in any state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(diag_ends(own, remote));
    // On any interface, with any cookie.
    body.extend([0; 4]);
    body.extend([0xff; 8]);
    let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
    message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(IS_REQUEST.to_ne_bytes());
    // One request on this socket, from this process.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// The ports and addresses of `struct inet_diag_sockid`.
fn diag_ends(own: (IpAddr, u16), remote: (IpAddr, u16)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(36);
    bytes.extend(own.1.to_be_bytes());
    bytes.extend(remote.1.to_be_bytes());
    for (address, _) in [own, remote] {
        match address {
            IpAddr::V4(address) => {
                bytes.extend(address.octets());
                bytes.extend([0; 12]);
            }
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes
}

/// The user id in an answer, `struct nlmsghdr` and `struct inet_diag_msg`, if it is about an open socket with these ends.
fn uid_in_answer(answer: &[u8], (own, remote): ((IpAddr, u16), (IpAddr, u16))) -> Option<u32> {
    let number = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != BY_FAMILY {
        return None;
    }
    let message = answer.get(HEADER_BYTES..)?;
    let [family, state, ..] = *message else { return None };
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| {
        let bytes = message.get(at..at + 16)?;
        match family {
            family if u16::from(family) == AddressFamily::INET.as_raw() => {
                Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?)))
            }
            _ => Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical()),
        }
    };
    let found = ((address(8)?, port(4)?), (address(24)?, port(6)?));
    let (uid, inode) = (number(HEADER_BYTES + 64)?, number(HEADER_BYTES + 68)?);
    let is_open = state == ESTABLISHED && inode != 0;
    (is_open && found == (own, remote)).then_some(uid)
}

fn uid_in_lists(ends: ((IpAddr, u16), (IpAddr, u16))) -> Option<u32> {
    // A socket for both families lists its IPv4 ends in the second file.
    let lists = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    lists.iter().find_map(|path| fs::read_to_string(path).ok()?.lines().find_map(|line| uid_in(line, ends)))
}

/// The user id in a line, if the line is about an open socket with these ends.
fn uid_in(line: &str, ends: ((IpAddr, u16), (IpAddr, u16))) -> Option<u32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, own, remote, state, _, _, _, uid, _, inode, ..] = fields.as_slice() else { return None };
    let is_open = u8::from_str_radix(state, 16) == Ok(ESTABLISHED) && *inode != "0";
    let are_ends = is_open && (parse_end(own)?, parse_end(remote)?) == ends;
    are_ends.then(|| uid.parse().ok()).flatten()
}

/// `0100007F:1F90`: each four bytes of the address are a number in the byte order of the machine.
fn parse_end(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for word in address.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let address = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some((address.to_canonical(), port))
}

fn canonical(end: SocketAddr) -> (IpAddr, u16) {
    (end.ip().to_canonical(), end.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn end(text: &str) -> (IpAddr, u16) {
        canonical(text.parse().unwrap())
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_are_read_as_the_kernel_writes_them() {
        let v4 = "   1: 0100007F:BBE2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 45678 1 0000000000000000 20";
        let ends = (end("127.0.0.1:48098"), end("127.0.0.1:8080"));
        assert_eq!(uid_in(v4, ends), Some(1000));
        assert_eq!(uid_in(v4, (ends.1, ends.0)), None);
        let v6 = "   2: 00000000000000000000000001000000:BBE2 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1001 0 9 1 0 20";
        assert_eq!(uid_in(v6, (end("[::1]:48098"), end("[::1]:8080"))), Some(1001));
        let mapped = "   2: 0000000000000000FFFF00000100007F:BBE2 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002 0 9 1 0 20";
        assert_eq!(uid_in(mapped, ends), Some(1002));
        let heading =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        assert_eq!(uid_in(heading, ends), None);
    }

    /// The kernel lists a closed socket as root's; root may name anyone.
    #[test]
    #[cfg(target_endian = "little")]
    fn a_closed_socket_has_no_owner() {
        let ends = (end("127.0.0.1:48098"), end("127.0.0.1:8080"));
        let line =
            |state: &str, inode: &str| format!("1: 0100007F:BBE2 0100007F:1F90 {state} 0:0 00:0 0 0 0 {inode} 1 0 20");
        assert_eq!(uid_in(&line("01", "7"), ends), Some(0));
        for (state, inode) in [("04", "0"), ("05", "7"), ("06", "0"), ("01", "0")] {
            assert_eq!(uid_in(&line(state, inode), ends), None, "{state}");
        }
    }

    #[test]
    fn an_own_connection_is_found_in_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let own = rustix::process::geteuid().as_raw();
            let server = server.local_addr().unwrap();
            assert_eq!(uid_of_socket(peer, server), Some(own));
            let both = (canonical(peer), canonical(server));
            assert_eq!((uid_by_diag(both).unwrap(), uid_in_lists(both)), (Some(own), Some(own)));
            let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            drop(client);
            assert_eq!(uid_of_socket(ends.0, ends.1), None);
            assert_eq!(uid_by_diag((canonical(ends.0), canonical(ends.1))).unwrap(), None);
        }
    }
}

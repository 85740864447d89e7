//! The user who owns the other end of a TCP connection within this machine, as the kernel lists it (proc_net_tcp(5)).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The kernel's number of the state in which both ends are open. A socket that its process has closed is in another one,
/// and is listed as root's.
const ESTABLISHED: &str = "01";

/// The user id that owns the socket bound to `own` and connected to `remote`; none if there is none, or the system has no
/// `/proc`. Reads the whole list.
pub(crate) fn uid_of_socket(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    // An end that is closed between two looks at one line is found closed by the second.
    let uid = find_uid(own, remote)?;
    (find_uid(own, remote)? == uid).then_some(uid)
}

fn find_uid(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    // A socket for both families lists its IPv4 ends in the second file.
    let lists = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let ends = (canonical(own), canonical(remote));
    lists.iter().find_map(|path| fs::read_to_string(path).ok()?.lines().find_map(|line| uid_in(line, ends)))
}

/// The user id in a line, if the line is about an open socket with these ends.
fn uid_in(line: &str, ends: ((IpAddr, u16), (IpAddr, u16))) -> Option<u32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, own, remote, state, _, _, _, uid, _, inode, ..] = fields.as_slice() else { return None };
    let is_open = *state == ESTABLISHED && *inode != "0";
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
            assert_eq!(uid_of_socket(peer, server.local_addr().unwrap()), Some(own));
            let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            drop(client);
            assert_eq!(uid_of_socket(ends.0, ends.1), None);
        }
    }
}

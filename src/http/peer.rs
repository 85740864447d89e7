//! Whose a connection is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::socket_owner::quick_uid_of_socket;

/// Whose a connection is: an address, the network of an IPv6 address, or a user of this machine over loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Peer {
    pub(super) address: IpAddr,
    pub(super) uid: Option<u32>,
}

impl Peer {
    /// Of a connection between these ends.
    pub(crate) fn of(own: SocketAddr, peer: SocketAddr) -> Self {
        let found = Self::from(peer.ip());
        match found.address.is_loopback() {
            true => Self { uid: quick_uid_of_socket(peer, own), ..found },
            false => found,
        }
    }

    pub(super) fn of_user(uid: u32) -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), uid: Some(uid) }
    }

    /// Whether a process of this machine behind it is root's or of this process's user; of another machine that is not known.
    pub(crate) fn may_be_root(&self) -> bool {
        let is_ours = |uid: u32| uid == 0 || uid == rustix::process::geteuid().as_raw();
        !self.address.is_loopback() || self.uid.is_some_and(is_ours)
    }
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        let address = match address.to_canonical() {
            // Every local user has all of 127.0.0.0/8.
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V4(address) => address.into(),
            // Most hosts have a whole /64.
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
        };
        Self { address, uid: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_an_address_a_network_or_this_machine() {
        let of = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("127.0.0.1"), of("127.9.9.9"));
        assert_eq!(of("::1"), of("127.0.0.1"));
        assert_eq!(of("::ffff:10.0.0.7"), of("10.0.0.7"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_ne!(of("10.0.0.7"), of("10.0.0.8"));
    }
}

//! The host of a connection, by its address.

use std::net::IpAddr;

/// A number for the host of `address`. An IPv6 host owns a /64 network, so the network counts.
pub(crate) fn origin_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_ipv4_address_or_an_ipv6_network() {
        let origin = |text: &str| origin_of(text.parse().unwrap());
        assert_eq!(origin("10.0.0.1"), origin("::ffff:10.0.0.1"));
        assert_ne!(origin("10.0.0.1"), origin("10.0.0.2"));
        assert_eq!(origin("2001:db8:1:2::3"), origin("2001:db8:1:2:aaaa::"));
        assert_ne!(origin("2001:db8:1:2::3"), origin("2001:db8:1:3::3"));
    }
}

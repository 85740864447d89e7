//! Responses to all methods; the first two bytes choose protocol and method.

#![no_main]

use jobtracker::wire::protocol::{Protocol, decode_response};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [protocol, method, response @ ..] = input else { return };
    let methods = Protocol::ALL[usize::from(*protocol) % Protocol::ALL.len()].methods();
    let method = methods[usize::from(*method) % methods.len()];
    if let Ok(Some((_, consumed))) = decode_response(method.returns, response) {
        assert!(consumed <= response.len());
    }
});

//! Call frames of all protocols; the first byte chooses. Seed it with `tests/fixtures/hadoop1/rpc/*.request.bin`.

#![no_main]

use jobtracker::wire::frame::LENGTH_BYTES;
use jobtracker::wire::protocol::{Protocol, decode_call, encode_call};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, frame)) = input.split_first() else { return };
    let protocol = Protocol::ALL[usize::from(*first) % Protocol::ALL.len()];
    let Ok(call) = decode_call(protocol, frame) else { return };
    let mut again = Vec::new();
    encode_call(&mut again, call.id, &call.call);
    assert!(decode_call(protocol, &again[LENGTH_BYTES..]).is_ok());
});

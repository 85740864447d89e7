//! Openings of connections and the frames after them.

#![no_main]

use jobtracker::wire::frame::split_frame;
use jobtracker::wire::opening::{Opening, OpeningStep};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut bytes = input;
    let mut opening = Opening::default();
    loop {
        match opening.advance(bytes) {
            Ok(OpeningStep::Consumed { consumed, .. }) => bytes = &bytes[consumed..],
            Ok(OpeningStep::Done { consumed, .. }) => {
                bytes = &bytes[consumed..];
                break;
            }
            Ok(OpeningStep::NeedMore) | Err(_) => return,
        }
    }
    while let Ok(Some((_, consumed))) = split_frame(bytes, 1 << 20) {
        bytes = &bytes[consumed..];
    }
});

//! Files of staging and system directories; what can be read can be written and read again.

#![no_main]

use jobtracker::wire::{Decode, Reader, file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(splits) = file::read_split_meta(input, None) {
        assert_eq!(file::read_split_meta(&file::write_split_meta(&splits), None).as_ref(), Ok(&splits));
    }
    if let Ok(credentials) = file::read_token_storage(input) {
        assert!(file::read_token_storage(&file::write_token_storage(&credentials)) == Ok(credentials));
    }
    let _ = file::read_file_split(input, 7);
    let _ = file::JobInfo::decode(&mut Reader::new(input));
});

//! No row of the list of defects is left out.

use std::collections::BTreeSet;

/// The rows, numbered as in section 11.
const ROWS: std::ops::RangeInclusive<u32> = 1..=38;

const SOURCES: [&str; 3] =
    [include_str!("defects_of_files.rs"), include_str!("defects_of_requests.rs"), include_str!("defects_of_slots.rs")];

#[test]
fn section_11_every_row_has_its_test() {
    let names = SOURCES.iter().flat_map(|source| source.lines()).filter_map(|line| line.strip_prefix("fn defect_"));
    let found: BTreeSet<u32> = names.map(|name| name[..2].parse().unwrap()).collect();
    let missing: Vec<u32> = ROWS.filter(|row| !found.contains(row)).collect();
    assert_eq!(missing, [] as [u32; 0]);
    assert_eq!(found.len(), ROWS.count());
}

//! The machines that a split names, as 1.2.1 `FileInputFormat.getSplitHosts` chooses them. Does not access files.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fs::{BlockHost, BlockPlace};

/// The rack of a machine whose place is not known (1.2.1 `NetworkTopology.DEFAULT_RACK`).
const DEFAULT_RACK: &str = "/default-rack";

/// The blocks of one file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileBlocks {
    blocks: Vec<FileBlock>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileBlock {
    place: BlockPlace,
    /// Shared by the splits in it.
    hosts: Arc<[String]>,
}

/// How many bytes of a split a machine or a rack has.
struct Share<'a> {
    name: &'a str,
    bytes: u64,
    blocks: BTreeSet<usize>,
    /// Of a rack.
    hosts: Vec<Share<'a>>,
}

impl FileBlocks {
    /// The blocks of a file, in order.
    pub(crate) fn new(places: Vec<BlockPlace>) -> Self {
        let block = |place: BlockPlace| {
            let hosts = place.hosts.iter().map(|host| host.host.clone()).collect();
            FileBlock { place, hosts }
        };
        Self { blocks: places.into_iter().map(block).collect() }
    }

    /// The machines of a split: of a part of one block those that have it, else as many as the last block has, those with the most
    /// bytes first, rack by rack; called by their addresses then, as the original does.
    pub(crate) fn hosts(&self, start_bytes: u64, length_bytes: u64) -> Arc<[String]> {
        let end_of = |block: &FileBlock| block.place.offset_bytes.saturating_add(block.place.length_bytes);
        let Some(first) = self.blocks.iter().position(|block| start_bytes < end_of(block)) else {
            return Arc::default();
        };
        let blocks = &self.blocks[first..];
        let Some(block) = blocks.first().filter(|_| length_bytes > 0) else { return Arc::default() };
        let end_bytes = start_bytes.saturating_add(length_bytes);
        if end_bytes <= end_of(block) {
            return block.hosts.clone();
        }
        let mut racks: Vec<Share<'_>> = Vec::new();
        let mut most = 0;
        for (number, block) in blocks.iter().enumerate() {
            if block.place.offset_bytes >= end_bytes {
                break;
            }
            let bytes = end_of(block).min(end_bytes) - block.place.offset_bytes.max(start_bytes);
            most = block.place.hosts.len();
            for host in &block.place.hosts {
                let (rack, name) = place_of(host);
                let rack = share_of(&mut racks, rack);
                rack.add(number, bytes);
                share_of(&mut rack.hosts, name).add(number, bytes);
            }
        }
        let by_bytes = |shares: &mut Vec<Share<'_>>| shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        by_bytes(&mut racks);
        racks.iter_mut().for_each(|rack| by_bytes(&mut rack.hosts));
        let names = racks.iter().flat_map(|rack| &rack.hosts).map(|host| without_port(host.name).to_owned());
        names.take(most).collect()
    }
}

impl Share<'_> {
    /// Counts a block once, however often it is named.
    fn add(&mut self, block: usize, bytes: u64) {
        if self.blocks.insert(block) {
            self.bytes += bytes;
        }
    }
}

fn share_of<'a, 'b>(shares: &'b mut Vec<Share<'a>>, name: &'a str) -> &'b mut Share<'a> {
    let at = shares.iter().position(|share| share.name == name).unwrap_or_else(|| {
        shares.push(Share { name, bytes: 0, blocks: BTreeSet::new(), hosts: Vec::new() });
        shares.len() - 1
    });
    &mut shares[at]
}

/// The rack of a machine and its name in it.
fn place_of(host: &BlockHost) -> (&str, &str) {
    match host.topology.rsplit_once('/') {
        Some((rack, name)) => (rack, name),
        None => (DEFAULT_RACK, &host.host),
    }
}

fn without_port(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(offset_bytes: u64, length_bytes: u64, nodes: &[(&str, &str)]) -> BlockPlace {
        let host = |(rack, number): &(&str, &str)| BlockHost {
            host: format!("h{number}"),
            topology: format!("{rack}/10.0.0.{number}:50010"),
        };
        BlockPlace { offset_bytes, length_bytes, hosts: nodes.iter().map(host).collect() }
    }

    fn hosts(blocks: &FileBlocks, start_bytes: u64, length_bytes: u64) -> Vec<String> {
        blocks.hosts(start_bytes, length_bytes).to_vec()
    }

    #[test]
    fn a_part_of_one_block_has_its_machines() {
        let blocks = FileBlocks::new(vec![block(0, 100, &[("/r", "1"), ("/r", "2")]), block(100, 50, &[("/r", "3")])]);
        assert_eq!(hosts(&blocks, 0, 100), ["h1", "h2"]);
        assert_eq!(hosts(&blocks, 40, 60), ["h1", "h2"]);
        assert_eq!(hosts(&blocks, 100, 50), ["h3"]);
        assert_eq!(hosts(&blocks, 150, 10), [""; 0]);
        assert_eq!(hosts(&FileBlocks::default(), 0, 0), [""; 0]);
    }

    /// As 1.2.1 `TestGetSplitHosts`: racks by what they have of the split, then their machines, by address.
    #[test]
    fn of_several_blocks_the_machines_with_most_bytes_come_first() {
        let blocks = FileBlocks::new(vec![
            block(0, 100, &[("/rack1", "4"), ("/rack1", "5"), ("/rack2", "6")]),
            block(100, 100, &[("/rack1", "4"), ("/rack2", "6"), ("/rack2", "7")]),
            block(200, 100, &[("/rack2", "7"), ("/rack3", "8"), ("/rack2", "6")]),
        ]);
        assert_eq!(hosts(&blocks, 50, 225), ["10.0.0.6", "10.0.0.7", "10.0.0.4"]);
        assert_eq!(hosts(&blocks, 0, 101), ["10.0.0.4", "10.0.0.5", "10.0.0.6"]);
    }
}

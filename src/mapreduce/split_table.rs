//! The splits of a job: the hosts of each map's input, compactly.

use std::collections::BTreeMap;

use crate::scheduler::constraint::InputVolume;
use crate::wire::limits::{JOB_HOSTS, SPLIT_HOSTS, is_node_name};

/// A host that holds input, and its rack.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SplitHost {
    /// As the split spells it.
    pub(crate) host: String,
    /// For example `/default-rack`.
    pub(crate) rack: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// Offset of its class name in `job.split`, bytes.
    pub(crate) offset_bytes: i64,
    pub(crate) length_bytes: i64,
    first_location: u32,
    locations: u32,
}

/// All splits of a job; each host is stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitTable {
    hosts: Vec<SplitHost>,
    splits: Vec<Split>,
    locations: Vec<u32>,
    /// Total length of the names of hosts and racks.
    name_bytes: usize,
    volume: InputVolume,
}

impl SplitTable {
    pub fn builder() -> SplitTableBuilder {
        SplitTableBuilder::default()
    }

    /// The hosts that hold any input, by the indexes that [`Self::locations`] gives.
    pub(crate) fn hosts(&self) -> &[SplitHost] {
        &self.hosts
    }

    /// The splits; the position is the number of the map.
    pub(crate) fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Indexes into [`Self::hosts`] of the hosts that hold the input of `split`.
    pub(crate) fn locations(&self, split: &Split) -> &[u32] {
        let first = split.first_location as usize;
        self.locations.get(first..first + split.locations as usize).unwrap_or(&[])
    }

    pub(crate) fn len(&self) -> usize {
        self.splits.len()
    }

    /// What the maps read; a split of negative length is empty.
    pub(crate) fn volume(&self) -> &InputVolume {
        &self.volume
    }

    pub(crate) fn bytes(&self) -> usize {
        let rows = self.splits.len() * size_of::<Split>() + self.locations.len() * size_of::<u32>();
        rows + self.hosts.len() * size_of::<SplitHost>() + self.name_bytes
    }
}

#[derive(Default)]
pub struct SplitTableBuilder {
    table: SplitTable,
    by_name: BTreeMap<String, u32>,
}

impl SplitTableBuilder {
    /// Adds the next split. Hosts beyond the limits, and names that no machine has, are ignored: they are hints, and
    /// clients can invent any number of names.
    pub fn push<'a>(&mut self, offset_bytes: i64, length_bytes: i64, hosts: impl IntoIterator<Item = &'a str>) {
        let first_location = count(self.table.locations.len());
        for host in hosts {
            if self.table.locations.len() - first_location as usize >= SPLIT_HOSTS {
                break;
            }
            let index = match self.by_name.get(host) {
                Some(&index) => index,
                None if !is_node_name(host) => continue,
                None if self.table.hosts.len() >= JOB_HOSTS => continue,
                None => {
                    let index = count(self.table.hosts.len());
                    self.table.hosts.push(SplitHost { host: host.to_owned(), rack: String::new() });
                    self.by_name.insert(host.to_owned(), index);
                    index
                }
            };
            // A split may name one host twice; it counts once.
            if !self.table.locations[first_location as usize..].contains(&index) {
                self.table.locations.push(index);
            }
        }
        let locations = count(self.table.locations.len()) - first_location;
        self.table.volume.push(u64::try_from(length_bytes).unwrap_or(0));
        self.table.splits.push(Split { offset_bytes, length_bytes, first_location, locations });
    }

    /// The hosts so far, each once.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.table.hosts.iter().map(|host| &*host.host)
    }

    pub fn build(mut self, mut rack_of: impl FnMut(&str) -> String) -> SplitTable {
        for host in &mut self.table.hosts {
            host.rack = rack_of(&host.host);
            self.table.name_bytes += host.host.len() + host.rack.len();
        }
        self.table
    }
}

/// Locations beyond this many are ignored; no file is that large.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_once_and_locations_kept_in_order() {
        let mut builder = SplitTable::builder();
        builder.push(7, 100, ["b", "a", "b"]);
        builder.push(57, 50, []);
        builder.push(107, 60, ["a"]);
        let table = builder.build(|host| format!("/rack-{host}"));
        let locations: Vec<_> = table.splits().iter().map(|split| table.locations(split).to_vec()).collect();
        assert_eq!(locations, [vec![0, 1], vec![], vec![1]]);
        assert_eq!(table.hosts()[1], SplitHost { host: "a".into(), rack: "/rack-a".into() });
        assert_eq!(table.splits()[2].offset_bytes, 107);
    }

    #[test]
    fn made_up_hosts_are_bounded_for_each_split_and_in_all() {
        let names: Vec<String> = (0..JOB_HOSTS + 1_000).map(|host| format!("h{host}")).collect();
        let mut builder = SplitTable::builder();
        builder.push(7, 100, names.iter().map(String::as_str));
        names.iter().for_each(|host| builder.push(8, 100, [host.as_str()]));
        let table = builder.build(|_| "/default-rack".into());
        assert_eq!(table.locations(&table.splits()[0]).len(), SPLIT_HOSTS);
        assert_eq!(table.hosts().len(), JOB_HOSTS);
        assert_eq!(table.locations(&table.splits()[JOB_HOSTS]).len(), 1);
        assert!(table.locations(&table.splits()[JOB_HOSTS + 1]).is_empty());
    }
}

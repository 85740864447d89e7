//! Properties that the client writes itself, over whatever `-D` says.

use std::collections::BTreeMap;

use crate::config::keys;

/// A property, and what to give instead.
type Entry = (&'static str, &'static str);

/// Written before the job is submitted. The same value is no contradiction.
const COMPUTED: &[Entry] = &[
    ("mapred.input.dir", "--input"),
    ("stream.numinputspecs", "--input"),
    ("mapreduce.input.num.files", "--input"),
    ("mapred.input.format.class", "--input-format"),
    ("mapred.output.dir", "--output"),
    ("mapred.mapper.class", "--mapper"),
    ("mapred.map.runner.class", "--mapper"),
    ("stream.map.streamprocessor", "--mapper"),
    ("mapred.combiner.class", "--combiner, or neither it nor --reducer aggregate"),
    ("stream.combine.streamprocessor", "--combiner"),
    ("mapred.reducer.class", "--reducer"),
    ("stream.reduce.streamprocessor", "--reducer"),
    ("mapred.reduce.tasks", "--reduces, or --reducer NONE for none"),
    ("mapred.partitioner.class", "--partitioner"),
    ("mapred.job.name", "--name"),
    ("mapred.job.queue.name", "--queue"),
    ("stream.addenvironment", "--env NAME=VALUE"),
    ("stream.map.input.writer.class", "-D stream.map.input=text, rawbytes or typedbytes"),
    ("stream.map.output.reader.class", "-D stream.map.output=text, rawbytes or typedbytes"),
    ("stream.reduce.input.writer.class", "-D stream.reduce.input=text, rawbytes or typedbytes"),
    ("stream.reduce.output.reader.class", "-D stream.reduce.output=text, rawbytes or typedbytes"),
    ("mapred.mapoutput.key.class", "-D stream.map.output=text, rawbytes or typedbytes"),
    ("mapred.mapoutput.value.class", "-D stream.map.output=text, rawbytes or typedbytes"),
    ("mapred.output.key.class", "-D stream.reduce.output=text, rawbytes or typedbytes"),
    ("mapred.output.value.class", "-D stream.reduce.output=text, rawbytes or typedbytes"),
    ("mapred.cache.files.timestamps", NOTHING),
    ("mapred.cache.files.filesizes", NOTHING),
    ("mapreduce.job.cache.files.visibilities", NOTHING),
    ("mapred.cache.archives.timestamps", NOTHING),
    ("mapred.cache.archives.filesizes", NOTHING),
    ("mapreduce.job.cache.archives.visibilities", NOTHING),
    ("mapred.create.symlink", NOTHING),
    ("mapred.used.genericoptionsparser", NOTHING),
    ("mapreduce.job.submithost", NOTHING),
];

/// Written when the job is submitted, and what has no effect in this client.
const NEVER_TAKEN: &[Entry] = &[
    ("mapred.jar", "--file for what the job brings, --streaming-jar for the classes of Hadoop Streaming"),
    ("mapreduce.job.dir", NOTHING),
    ("mapreduce.job.submithostaddress", NOTHING),
    ("stream.io.identifier.resolver.class", "-D stream.map.output=text, rawbytes or typedbytes and its like"),
    ("stream.shipped.hadoopstreaming", "--streaming-jar"),
];

const NOTHING: &str = "nothing, since it is always set";

/// A value of `-D` that would be dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("-D {name}={value} would have no effect: the client computes this property; expected {instead}")]
pub struct DroppedProperty {
    pub(crate) name: String,
    pub(crate) value: String,
    /// What to give instead.
    pub(crate) instead: &'static str,
}

/// Checks that the properties of a job keep what `-D` sets. The number of maps is what is wanted: the number of splits takes its place, as
/// in Hadoop. Archives of options follow those of `-D`.
pub(super) fn check_kept<'a>(
    mut overrides: impl Iterator<Item = (&'a str, &'a str)>,
    properties: &BTreeMap<String, String>,
) -> Result<(), DroppedProperty> {
    let dropped = overrides.find_map(|(name, value)| {
        let instead = |table: &[Entry]| table.iter().find(|(listed, _)| *listed == name).map(|(_, instead)| *instead);
        let never = match name.strip_prefix("mapred.queue.") {
            Some(rest) if rest.ends_with(".acl-administer-jobs") => Some("the JobTracker's own list"),
            _ if name == keys::JOB_TIMESTAMP.name && !properties.contains_key(keys::JOB_SIGNATURE.name) => {
                Some("-D mapred.job.signature=... with it")
            }
            _ => instead(NEVER_TAKEN),
        };
        let is_kept = |kept: &String| kept == value || (name == keys::CACHE_ARCHIVES.name && kept.starts_with(value));
        let is_kept = name == keys::MAP_TASKS.name || properties.get(name).is_some_and(is_kept);
        let instead = never.or_else(|| (!is_kept).then(|| instead(COMPUTED).unwrap_or(NOTHING)))?;
        Some(DroppedProperty { name: name.to_owned(), value: value.to_owned(), instead })
    });
    dropped.map_or(Ok(()), Err)
}

/// Whether the table says what to give instead of a property that the client computes.
#[cfg(test)]
pub(super) fn is_listed(name: &str) -> bool {
    COMPUTED.iter().any(|(listed, _)| *listed == name)
}

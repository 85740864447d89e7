//! Classes that no TaskTracker has: Hadoop 1.2.1 brings only these of the kinds that a streaming job names.

use crate::config::keys;
use crate::model::nearest;

struct ClassKind {
    /// What a class is.
    name: &'static str,
    /// Packages of 1.2.1 with such classes.
    packages: &'static [&'static str],
    /// All of them, without their packages.
    classes: &'static [&'static str],
    /// Words that `job submit` takes for classes.
    words: &'static [&'static str],
    /// Begin of the names of which Hadoop has no other such class.
    closed: &'static [&'static str],
}

const PARTITIONERS: ClassKind = ClassKind {
    name: "partitioner",
    packages: &["org.apache.hadoop.mapred.lib.", "org.apache.hadoop.mapreduce.lib.partition."],
    classes: &["HashPartitioner", "KeyFieldBasedPartitioner", "BinaryPartitioner", "TotalOrderPartitioner"],
    words: &["hash", "keyfield"],
    closed: &[HADOOP],
};
const CODECS: ClassKind = ClassKind {
    name: "codec",
    packages: &["org.apache.hadoop.io.compress."],
    classes: &["DefaultCodec", "GzipCodec", "BZip2Codec", "SnappyCodec", "DeflateCodec"],
    words: &[],
    closed: &[HADOOP],
};
const COMPARATORS: ClassKind = ClassKind {
    name: "comparator",
    packages: &["org.apache.hadoop.mapred.lib.", "org.apache.hadoop.mapreduce.lib.partition."],
    classes: &["KeyFieldBasedComparator"],
    words: &[],
    closed: &["org.apache.hadoop.mapred.lib.", "org.apache.hadoop.mapreduce.lib.partition."],
};
const INPUT_FORMATS: ClassKind = ClassKind {
    name: "input format",
    packages: &[HADOOP],
    classes: &[
        "mapred.TextInputFormat",
        "mapred.KeyValueTextInputFormat",
        "mapred.SequenceFileInputFormat",
        "mapred.SequenceFileAsTextInputFormat",
        "mapred.SequenceFileAsBinaryInputFormat",
        "mapred.lib.CombineFileInputFormat",
        "mapred.lib.NLineInputFormat",
        "mapred.lib.db.DBInputFormat",
        "streaming.StreamInputFormat",
        "streaming.AutoInputFormat",
    ],
    words: &[],
    closed: FORMATS,
};
const OUTPUT_FORMATS: ClassKind = ClassKind {
    name: "output format",
    packages: &[HADOOP],
    classes: &[
        "mapred.TextOutputFormat",
        "mapred.SequenceFileOutputFormat",
        "mapred.SequenceFileAsBinaryOutputFormat",
        "mapred.MapFileOutputFormat",
        "mapred.lib.NullOutputFormat",
        "mapred.lib.LazyOutputFormat",
        "mapred.lib.MultipleTextOutputFormat",
        "mapred.lib.MultipleSequenceFileOutputFormat",
        "mapred.lib.db.DBOutputFormat",
    ],
    words: &[],
    closed: FORMATS,
};
const FORMATS: &[&str] = &["org.apache.hadoop.mapred.", "org.apache.hadoop.streaming."];
/// Prefix of Hadoop's own classes.
const HADOOP: &str = "org.apache.hadoop.";

/// A class that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{option} {class}: no TaskTracker has such a {kind}{}; expected {expected}",
    similar.as_ref().map(|similar| format!("; did you mean {similar}?")).unwrap_or_default()
)]
pub struct UnknownClass {
    /// Who names it.
    pub(crate) option: String,
    pub(crate) class: String,
    pub(crate) kind: &'static str,
    /// One that may be meant.
    pub(crate) similar: Option<String>,
    pub(crate) expected: String,
}

/// Checks the classes that `-D` and `--partitioner` name.
/// Errors: it has no package, or Hadoop's, and Hadoop has no such class. Others may come with a jar.
pub(super) fn check_classes<'a>(
    overrides: impl Iterator<Item = (&'a str, &'a str)>,
    partitioner: Option<&str>,
) -> Result<(), Box<UnknownClass>> {
    if let Some(class) = partitioner {
        PARTITIONERS.check(class, "--partitioner")?;
    }
    for (name, value) in overrides {
        let kind = match name {
            _ if name == keys::PARTITIONER_CLASS.name && partitioner.is_none() => &PARTITIONERS,
            _ if [&keys::KEY_COMPARATOR_CLASS, &keys::GROUP_COMPARATOR_CLASS].iter().any(|key| key.name == name) => {
                &COMPARATORS
            }
            _ if name == keys::INPUT_FORMAT_CLASS.name => &INPUT_FORMATS,
            _ if name == keys::OUTPUT_FORMAT_CLASS.name => &OUTPUT_FORMATS,
            _ if [&keys::OUTPUT_CODEC, &keys::MAP_OUTPUT_CODEC].iter().any(|key| key.name == name) => &CODECS,
            _ => continue,
        };
        kind.check(value.trim(), &format!("-D {name}"))?;
    }
    Ok(())
}

impl ClassKind {
    fn check(&self, class: &str, option: &str) -> Result<(), Box<UnknownClass>> {
        // Nothing is no class, and ${...} is not known here.
        if class.is_empty() || class.contains("${") {
            return Ok(());
        }
        let name = self.packages.iter().find_map(|package| class.strip_prefix(package));
        let is_known = name.is_some_and(|name| self.classes.contains(&name));
        let is_closed = self.closed.iter().any(|prefix| class.starts_with(prefix));
        if is_known || class.contains('.') && !is_closed {
            return Ok(());
        }
        let is_option = option.starts_with("--");
        let words: &[&str] = if is_option { self.words } else { &[] };
        let short = class.rsplit('.').next().unwrap_or(class);
        let name_of = |class: &'static str| class.rsplit('.').next().unwrap_or(class);
        let similar = nearest(short, words.iter().copied().chain(self.classes.iter().map(|class| name_of(class))));
        let similar = similar.map(|name| match self.classes.iter().find(|class| name_of(class) == name) {
            Some(class) => format!("{}{class}", self.packages[0]),
            None => name.to_owned(),
        });
        Err(Box::new(UnknownClass {
            option: option.to_owned(),
            class: class.to_owned(),
            kind: self.name,
            similar,
            expected: format!(
                "{}, or a class of your own in a package",
                words
                    .iter()
                    .copied()
                    .chain(self.classes.iter().map(|class| name_of(class)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(given: &[(&str, &str)], partitioner: Option<&str>) -> Option<Box<UnknownClass>> {
        check_classes(given.iter().copied(), partitioner).err()
    }

    #[test]
    fn classes_that_hadoop_does_not_have_are_refused_with_the_one_that_is_meant() {
        let error = refused(&[], Some("hsh")).unwrap();
        assert_eq!(error.similar.as_deref(), Some("hash"));
        assert!(
            error
                .to_string()
                .starts_with("--partitioner hsh: no TaskTracker has such a partitioner; did you mean hash?")
        );
        let codec = "org.apache.hadoop.io.compress.GzCodec";
        let error = refused(&[("mapred.output.compression.codec", codec)], None).unwrap();
        assert_eq!(error.similar.as_deref(), Some("org.apache.hadoop.io.compress.GzipCodec"));
        assert!(error.to_string().starts_with(&format!("-D mapred.output.compression.codec {codec}: ")), "{error}");
        assert!(refused(&[("mapred.map.output.compression.codec", "gzip")], None).is_some());
        assert!(
            refused(&[("mapred.partitioner.class", "org.apache.hadoop.mapred.lib.HshPartitioner")], None).is_some()
        );
    }

    #[test]
    fn misspelt_classes_of_order_and_formats_are_named_with_the_one_that_is_meant() {
        for (key, class, meant) in [
            ("mapred.output.key.comparator.class", "KeyFieldBasedComparator", "mapred.lib.KeyFieldBasedComparator"),
            (
                "mapred.output.key.comparator.class",
                "org.apache.hadoop.mapred.lib.KeyFieldBasedComparators",
                "mapred.lib.KeyFieldBasedComparator",
            ),
            ("mapred.input.format.class", "TextInputFormt", "mapred.TextInputFormat"),
            ("mapred.input.format.class", "NLineInputFormat", "mapred.lib.NLineInputFormat"),
            ("mapred.output.format.class", "org.apache.hadoop.mapred.TextOutputFormats", "mapred.TextOutputFormat"),
        ] {
            let similar = refused(&[(key, class)], None).and_then(|error| error.similar);
            assert_eq!(similar, Some(format!("{HADOOP}{meant}")), "{class}");
        }
        for (key, class) in [
            ("mapred.output.key.comparator.class", "org.apache.hadoop.io.LongWritable$DecreasingComparator"),
            ("mapred.input.format.class", "org.apache.hadoop.examples.terasort.TeraInputFormat"),
            ("mapred.input.format.class", "org.apache.hadoop.streaming.AutoInputFormat"),
            ("mapred.output.format.class", "org.apache.hadoop.mapred.lib.NullOutputFormat"),
            ("mapred.output.format.class", "com.example.Out"),
        ] {
            assert_eq!(refused(&[(key, class)], None), None, "{class}");
        }
    }

    #[test]
    fn classes_of_hadoop_and_of_users_pass() {
        for class in ["org.apache.hadoop.mapred.lib.TotalOrderPartitioner", "com.example.IntHashPartitioner"] {
            assert_eq!(refused(&[("mapred.partitioner.class", class)], Some(class)), None);
        }
        for codec in ["org.apache.hadoop.io.compress.BZip2Codec", "com.hadoop.compression.lzo.LzopCodec", " ", "${c}"] {
            assert_eq!(refused(&[("mapred.output.compression.codec", codec), ("x", "hsh")], None), None);
        }
    }
}

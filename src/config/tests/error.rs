//! Texts of errors and warnings that no other test covers.

use super::*;

#[test]
fn every_origin_has_a_name() {
    let origins = [
        Origin::Default,
        Origin::Standalone,
        Origin::File { file: Arc::from("conf/core-site.xml"), line: 7 },
        Origin::CommandLine,
    ];
    insta::assert_snapshot!(origins.map(|origin| origin.to_string()).join("\n"), @"
    default
    standalone default
    conf/core-site.xml:7
    -D
    ");
}

#[test]
fn errors_and_warnings_not_seen_elsewhere() {
    let texts = [
        ConfigError::NotSet { key: "a.key", expected: "host:port".into() }.to_string(),
        Warning::Ignored { origin: Origin::CommandLine, remark: "<x> has no meaning here".into() }.to_string(),
        Warning::HadoopSite { file: Arc::from("conf/hadoop-site.xml") }.to_string(),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    a.key is not set: expected host:port
    -D: <x> has no meaning here; ignored
    conf/hadoop-site.xml: this file is deprecated; use core-site.xml, mapred-site.xml and hdfs-site.xml
    ");
}

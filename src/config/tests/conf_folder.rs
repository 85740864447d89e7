//! The files of a folder, their order, and errors of unreadable ones.

use std::fs;
use std::os::unix::fs::symlink;

use crate::config::keys::{HADOOP_TMP_DIR, RPC_ADDRESS};

use super::*;

fn site(name: &str, value: &str) -> String {
    format!("<configuration><property><name>{name}</name><value>{value}</value></property></configuration>")
}

fn error(folder: &Path) -> String {
    let error = add_conf_folder(&mut Configuration::default(), folder).unwrap_err().to_string();
    error.replace(&folder.display().to_string(), "CONF")
}

#[test]
fn files_are_read_in_hadoops_order() {
    let folder = tempfile::tempdir().unwrap();
    for (file, name, value) in [
        ("core-site.xml", "hadoop.tmp.dir", "/core"),
        ("mapred-site.xml", "hadoop.tmp.dir", "/mapred"),
        ("hdfs-site.xml", "hadoop.tmp.dir", "/hdfs"),
        ("hadoop-site.xml", "mapred.job.tracker", "old:1"),
        ("hadoop-policy.xml", "hadoop.tmp.dir", "/not-read"),
    ] {
        fs::write(folder.path().join(file), site(name, value)).unwrap();
    }
    let mut configuration = Configuration::default();
    add_conf_folder(&mut configuration, folder.path()).unwrap();
    assert_eq!(configuration.setting(&HADOOP_TMP_DIR).unwrap().unwrap().value, "/hdfs");
    assert_eq!(configuration.setting(&RPC_ADDRESS).unwrap().unwrap().value, "old:1");
    assert!(matches!(configuration.warnings()[..], [Warning::HadoopSite { .. }]));
}

#[test]
fn an_empty_folder_is_good_and_a_missing_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(add_conf_folder(&mut Configuration::default(), folder.path()), Ok(()));
    let file = folder.path().join("core-site.xml");
    fs::write(&file, "").unwrap();
    let texts = [error(&folder.path().join("missing")), error(&file), error(folder.path())];
    insta::assert_snapshot!(texts.join("\n"), @"
    conf folder CONF: No such file or directory (os error 2); name a readable folder with --conf or HADOOP_CONF_DIR
    conf folder CONF: Not a directory (os error 20); name a readable folder with --conf or HADOOP_CONF_DIR
    CONF/core-site.xml:1: column 1: no <configuration> element
    ");
}

#[test]
fn unreadable_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mapred-site.xml");
    symlink("/nowhere/at/all", &file).unwrap();
    let dangling = error(folder.path());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let is_folder = error(folder.path());
    fs::remove_dir(&file).unwrap();
    fs::File::create(&file).unwrap().set_len(LONGEST_FILE_BYTES + 1).unwrap();
    let long = error(folder.path());
    insta::assert_snapshot!([dangling, is_folder, long].join("\n"), @"
    CONF/mapred-site.xml: No such file or directory (os error 2); expected a readable file of at most 16777216 bytes
    CONF/mapred-site.xml: not a regular file; expected a readable file of at most 16777216 bytes
    CONF/mapred-site.xml: too long; expected a readable file of at most 16777216 bytes
    ");
}

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
    CONF/core-site.xml:1: column 1: no <configuration> element: the file is empty; it is cut off, or still being written
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

fn warnings(folder: &Path) -> String {
    let mut configuration = Configuration::default();
    add_files(&mut configuration, folder);
    let texts: Vec<String> = configuration.warnings().iter().map(ToString::to_string).collect();
    texts.join("\n").replace(&folder.display().to_string(), "CONF")
}

#[test]
fn a_file_with_almost_the_name_of_one_that_is_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mapred_site.xml", "core-sites.xml", "Hdfs-Site.xml", "mapred-site.xml.template", "log4j.properties"] {
        fs::write(folder.path().join(name), "<configuration/>").unwrap();
    }
    insta::assert_snapshot!(warnings(folder.path()), @r"
    CONF: has no core-site.xml, mapred-site.xml or hdfs-site.xml; every value is a default
    CONF/Hdfs-Site.xml: nothing reads this file, and CONF has no hdfs-site.xml; is it hdfs-site.xml?
    CONF/core-sites.xml: nothing reads this file, and CONF has no core-site.xml; is it core-site.xml?
    CONF/mapred_site.xml: nothing reads this file, and CONF has no mapred-site.xml; is it mapred-site.xml?
    ");
    for name in ["mapred-site.xml", "core-site.xml", "hdfs-site.xml"] {
        fs::write(folder.path().join(name), "<configuration/>").unwrap();
    }
    assert_eq!(warnings(folder.path()), "");
    // Something reads a file that a value names.
    fs::write(folder.path().join("fairscheduler.xml"), "<allocations/>").unwrap();
    assert!(warnings(folder.path()).contains("is it fair-scheduler.xml?"));
    let named = site("mapred.fairscheduler.allocation.file", "/etc/hadoop/conf/fairscheduler.xml");
    fs::write(folder.path().join("mapred-site.xml"), named).unwrap();
    assert_eq!(warnings(folder.path()), "");
}

#[test]
fn folders_of_other_lines_of_hadoop_and_of_other_programs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let empty = warnings(folder.path());
    fs::create_dir(folder.path().join("conf")).unwrap();
    write("conf/core-site.xml", "<configuration/>");
    let above = warnings(folder.path());
    write("core-site.xml", "<configuration/>");
    assert_eq!(warnings(folder.path()), "CONF: has no mapred-site.xml: every value of MapReduce is a default");
    write("mapred-site.xml", "<configuration/>");
    assert_eq!(warnings(folder.path()), "");
    write("mapred-queues.xml", "<queues/>");
    let of_0_21 = warnings(folder.path());
    fs::remove_file(folder.path().join("mapred-queues.xml")).unwrap();
    write("yarn-site.xml", "<configuration/>");
    let with_yarn_site = warnings(folder.path());
    write("mapred-site.xml", &site("mapred.job.tracker", "m:1"));
    assert_eq!(warnings(folder.path()), "", "yarn-site.xml is a leftover");
    write("mapred-site.xml", &site("mapreduce.framework.name", "yarn"));
    let of_yarn = warnings(folder.path());
    write("mapred-site.xml", &site("mapreduce.framework.name", "classic"));
    insta::assert_snapshot!([empty, above, of_0_21, with_yarn_site, of_yarn].join("\n"), @r#"
    CONF: has no core-site.xml, mapred-site.xml or hdfs-site.xml; every value is a default
    CONF: has no core-site.xml, mapred-site.xml or hdfs-site.xml; every value is a default; did you mean CONF/conf?
    CONF/mapred-queues.xml: nothing reads this file of Hadoop 0.21 and 0.22: its queues, states and access lists do not apply; set mapred.queue.names in mapred-site.xml and mapred.queue.NAME.acl-submit-job in mapred-queue-acls.xml
    CONF: a folder for YARN (yarn-site.xml is there): this JobTracker reads Hadoop 1's keys and no yarn.*; clients of this folder look for a ResourceManager
    CONF: a folder for YARN (CONF/mapred-site.xml:1: mapreduce.framework.name = "yarn"): this JobTracker reads Hadoop 1's keys and no yarn.*; clients of this folder look for a ResourceManager
    "#);
}

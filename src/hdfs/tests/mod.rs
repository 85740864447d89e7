//! Tests of the client against a NameNode and DataNodes made of the test, which fail on demand.

mod calls;
#[path = "../../../tests/fake_hdfs/mod.rs"]
pub(crate) mod fake_hdfs;
mod reading;
mod writing;

//! Tests of the client against a NameNode and DataNodes made of the test, which fail on demand.

mod calls;
pub mod cluster;
mod datanode;
mod namenode;
mod reading;
mod writing;

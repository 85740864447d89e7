//! A NameNode and DataNodes of Hadoop 1 on ports of this machine, which fail on demand and whose state the test sees.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod cluster;
mod datanode;
mod namenode;
mod namespace;

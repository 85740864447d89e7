//! A client of the HDFS of Hadoop 1 (0.20.203.0 to 1.2.1), without Java: files of a NameNode, for one user each.
//!
//! Everything here blocks, and is called from a pool of threads that may. One [`HdfsClient`] for each NameNode of the process;
//! [`HdfsClient::as_user`] gives the same for another user, whose rights then count. A connection to the NameNode belongs to one user and
//! makes one call at a time; two of each user are kept while they are used within 10 s.
//!
//! ```no_run
//! use std::io::{Read, Write};
//!
//! use jobtracker::hdfs::{CreateOptions, Endpoint, HdfsClient, HdfsOptions, HdfsPath};
//!
//! let options = HdfsOptions::from_keys(|key| (key == "dfs.replication").then(|| "2".to_owned()))?;
//! let client = HdfsClient::new(Endpoint { host: "namenode".to_owned(), port: 8020 }, "h1", options);
//! let path = HdfsPath::parse("/user/h1/words")?;
//! let mut writer = client.create(&path, CreateOptions::default())?;
//! writer.write_all(b"hello world\n")?;
//! // Without this the file is removed.
//! writer.finish()?;
//! let mut text = String::new();
//! client.as_user("h2").open(&path)?.read_to_string(&mut text)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a caller must know:
//! - Paths: only an [`HdfsPath`] is sent, which is normal. A NameNode normalises nothing.
//! - Missing things are `None` or false, as the NameNode answers; only [`HdfsClient::open`] makes an error of them.
//! - Umask: the caller's, by [`HdfsOptions::under_umask`]. A directory that is there keeps its mode: [`HdfsClient::set_permission`].
//! - [`HdfsError::is_temporary`]: the NameNode is away or in safe mode. Calls fail at once unless `dfs.client.retry.policy.enabled`,
//!   but for connecting, which is tried again `ipc.client.connect.max.retries` times. A caller that polls sets
//!   [`HdfsOptions::connect_retries`] to 0, and is answered soon.
//! - A call whose answer was lost is made again if it may be; else a look at the file system decides whether it had its effect.
//!   A NameNode that says nothing for [`HdfsOptions::call_timeout`] is an error, [`HdfsError::Silent`].
//! - A file is whole once [`HdfsWriter::finish`] has returned `Ok`, and on disk once a DataNode has written it back: no sync is promised.
//!   Replace a file by writing beside it, deleting it and renaming: there is no rename onto a file.
//! - Limits of memory: one packet for a reader; for a writer one packet and [`HdfsOptions::window_packets`] of 64 KiB.
//!
//! Order of the files: `path`, `options`, `error`; `endpoint`, `rpc_connection`, `namenode`: calls; `datanode_socket`, `block_stream`,
//! `reader`: reading; `pipeline`, `file_being_written`, `block_writer`, `lease_renewal`, `writer`: writing; `client`: all of it.

mod block_stream;
mod block_writer;
mod client;
mod datanode_socket;
mod endpoint;
mod error;
mod file_being_written;
mod lease_renewal;
mod list_bound;
mod namenode;
mod options;
mod path;
mod pipeline;
mod reader;
mod receive_buffer;
mod rpc_connection;
mod status;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub use client::HdfsClient;
pub use endpoint::Endpoint;
pub(crate) use error::{ExceptionKind, HdfsError};
pub use list_bound::ListBound;
#[cfg(test)]
pub(crate) use options::RetryStep;
pub use options::{CreateOptions, HdfsOptions, Pauses};
pub(crate) use options::{HdfsOptionError, NO_TIME_LIMIT};
pub use path::HdfsPath;
pub(crate) use reader::HdfsReader;
pub(crate) use status::BlockLocation;
pub use status::HdfsStatus;
pub(crate) use writer::HdfsWriter;

//! Renews the lease of a client while it writes, and keeps pipelines that wait for their writer.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use crate::wire::hdfs::HdfsCall;

use super::block_writer::BlockWriter;
use super::namenode::NameNode;

/// The block that a file is at, which its writer and the renewal share.
pub(super) type CurrentBlock = Mutex<Option<BlockWriter>>;

/// The files that a client has open, and the thread that renews their lease while there are any.
#[derive(Debug)]
pub(super) struct LeaseRenewal {
    namenode: Arc<NameNode>,
    client: String,
    open: Mutex<OpenFiles>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OpenFiles {
    next: u64,
    /// Users and current blocks of open files, by number.
    files: BTreeMap<u64, (String, Weak<CurrentBlock>)>,
    has_thread: bool,
}

/// An open file; it counts until this is dropped.
#[derive(Debug)]
pub(super) struct LeasedFile {
    renewal: Arc<LeaseRenewal>,
    number: u64,
}

impl LeaseRenewal {
    pub(super) fn new(namenode: Arc<NameNode>, client: String) -> Self {
        Self { namenode, client, open: Mutex::default(), changed: Condvar::new() }
    }

    /// Counts a file of a user as open.
    pub(super) fn register(self: &Arc<Self>, user: &str, block: &Arc<CurrentBlock>) -> LeasedFile {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number = open.next;
        open.next += 1;
        open.files.insert(number, (user.to_owned(), Arc::downgrade(block)));
        if !open.has_thread {
            let renewal = Arc::clone(self);
            let started = std::thread::Builder::new().name("hdfs-lease".to_owned()).spawn(move || renewal.run());
            match started {
                Ok(_) => open.has_thread = true,
                // Without it a write of more than an hour fails; the next file tries again.
                Err(error) => tracing::warn!("no thread renews leases at {}: {error}", self.namenode.address()),
            }
        }
        LeasedFile { renewal: Arc::clone(self), number }
    }

    fn run(&self) {
        let options = self.namenode.options();
        // DataNodes wait for their writer as long as it waits for them.
        let interval = options.renew_interval.min(options.socket_timeout / 2);
        loop {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open = match self.changed.wait_timeout(open, interval) {
                Ok((open, _)) => open,
                Err(poisoned) => poisoned.into_inner().0,
            };
            if open.files.is_empty() {
                open.has_thread = false;
                return;
            }
            let files: Vec<_> = open.files.values().cloned().collect();
            drop(open);
            self.renew(&files);
        }
    }

    fn renew(&self, files: &[(String, Weak<CurrentBlock>)]) {
        // The lease belongs to the client's name, whichever user renews it.
        if let Some((user, _)) = files.first()
            && let Err(error) = self.namenode.ask(user, &HdfsCall::RenewLease { client: self.client.clone() })
        {
            tracing::warn!("the lease of {} is not renewed: {error}", self.client);
        }
        for block in files.iter().filter_map(|(_, block)| block.upgrade()) {
            // A block whose lock is taken is being written.
            if let Ok(mut block) = block.try_lock()
                && let Some(block) = &mut *block
            {
                block.send_heartbeat();
            }
        }
    }
}

impl Drop for LeasedFile {
    fn drop(&mut self) {
        let mut open = self.renewal.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.files.remove(&self.number);
        if open.files.is_empty() {
            self.renewal.changed.notify_all();
        }
    }
}

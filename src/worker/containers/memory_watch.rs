//! What the processes of containers use, from one look at all processes of the machine that several containers share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::supervisor::process_tree::{CommandTree, ProcessTable, TreeUse};

/// The processes of the machine as they were a moment ago.
#[derive(Debug, Default)]
pub struct ProcessLooks {
    last: Mutex<Option<(Instant, Arc<ProcessTable>)>>,
}

impl ProcessLooks {
    /// What a command's processes use, as seen at most so long ago. Reads files of `/proc`.
    pub(crate) fn use_of(&self, tree: CommandTree, age: Duration) -> TreeUse {
        self.processes(age).use_of(tree)
    }

    fn processes(&self, age: Duration) -> Arc<ProcessTable> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, table)) if at.elapsed() <= age => table.clone(),
            _ => {
                let table = Arc::new(ProcessTable::read());
                *last = Some((Instant::now(), table.clone()));
                table
            }
        }
    }
}

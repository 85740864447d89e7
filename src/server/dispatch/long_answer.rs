//! Answers that grow with a job or the cluster: built slice by slice, between heartbeats, and sent part by part as
//! their facts become durable and the client reads. So a large answer occupies neither the thread nor the memory.

use std::rc::Rc;

use crate::engine::{LongRead, ReadProgress, Slice};
use crate::ipc::{PartedAnswer, PendingCall, RemoteError};
use crate::server::answer_memory::MemoryReservation;

use super::dispatcher::Dispatcher;

/// Size of a part: smaller ones would wait for the store more often.
const PART_BYTES: usize = 1 << 20;
/// Memory for an answer whose beginning changes until it is complete, a list of jobs or trackers: about ten thousand.
const LIST_BYTES: usize = 8 << 20;

impl Dispatcher {
    /// Answers with the slices of `read`.
    pub(super) fn show_long(self: &Rc<Self>, pending: PendingCall, read: LongRead) {
        tokio::task::spawn_local(self.clone().make(pending, read));
    }

    async fn make(self: Rc<Self>, pending: PendingCall, mut read: LongRead) {
        let mut answer = pending.in_parts().await;
        let part_bytes = match &read {
            LongRead::Reports(_) => PART_BYTES,
            LongRead::Jobs(_) | LongRead::Cluster(_) => LIST_BYTES,
        };
        let mut part = Vec::new();
        answer.start(&mut part);
        while let Some(reservation) = self.reserve_part(part_bytes, &answer).await {
            let slice = self.make_part(&mut read, &mut part).await;
            if slice.progress == ReadProgress::JobForgotten {
                return answer.refuse(&RemoteError::io("the job was retired while its task reports were sent"));
            }
            if self.owner.wait_durable(slice.wait_for).await.is_err() {
                return;
            }
            if slice.progress == ReadProgress::Done {
                return answer.finish(part);
            }
            answer.send(&std::mem::take(&mut part));
            drop(reservation);
        }
    }

    /// Waits until the client has read all parts sent and memory is free; `None` when the client disconnected.
    async fn reserve_part(&self, part_bytes: usize, answer: &PartedAnswer) -> Option<MemoryReservation> {
        loop {
            while answer.is_behind() && !answer.is_gone() {
                answer.caught_up().await;
            }
            if answer.is_gone() {
                return None;
            }
            let reservation = self.owner.answer_memory().reserve(part_bytes).await;
            // Other answers may have become unread meanwhile.
            if !answer.is_behind() && !answer.is_gone() {
                return Some(reservation);
            }
        }
    }

    /// Builds slices up to the size of a part, and yields after each.
    async fn make_part(&self, read: &mut LongRead, part: &mut Vec<u8>) -> Slice {
        loop {
            let _permit = self.slices.acquire().await;
            let slice = self.owner.with_engine(|engine| read.next(engine, part));
            tokio::task::yield_now().await;
            match slice.progress {
                ReadProgress::More if part.len() < PART_BYTES => {}
                ReadProgress::MoreInPlace => {}
                ReadProgress::More | ReadProgress::Done | ReadProgress::JobForgotten => return slice,
            }
        }
    }
}

//! Answers that grow with a job or the cluster: made slice by slice, between heartbeats, and sent part by part as the store
//! comes to know what they show and the client reads. So a large one takes neither the thread nor the memory for itself.

use std::rc::Rc;

use crate::engine::{LongRead, ReadProgress, Slice};
use crate::ipc::{PartedAnswer, RemoteError, Ticket};
use crate::server::held_room::HeldPlaces;

use super::Dispatcher;

/// A part leaves once it has so many bytes: less would wait for the store more often.
const PART_BYTES: usize = 1 << 20;
/// Room for an answer whose beginning changes until its end, a list of jobs or trackers: that of some ten thousand.
const LIST_BYTES: usize = 8 << 20;

// === impl Dispatcher: long answers ===

impl Dispatcher {
    /// Answers with what `read` makes.
    pub(super) fn show_long(self: &Rc<Self>, ticket: Ticket, read: LongRead) {
        tokio::task::spawn_local(self.clone().make(ticket, read));
    }

    async fn make(self: Rc<Self>, ticket: Ticket, mut read: LongRead) {
        let mut answer = ticket.in_parts().await;
        let part_bytes = match &read {
            LongRead::Reports(_) => PART_BYTES,
            LongRead::Jobs(_) | LongRead::Cluster(_) => LIST_BYTES,
        };
        let mut part = Vec::new();
        answer.start(&mut part);
        while let Some(places) = self.room_for(part_bytes, &answer).await {
            let slice = self.make_part(&mut read, &mut part).await;
            if slice.progress == ReadProgress::JobForgotten {
                return answer.refuse(&RemoteError::io("the job was forgotten while its tasks were reported"));
            }
            if self.owner.wait_durable(slice.wait_for).await.is_err() {
                return;
            }
            if slice.progress == ReadProgress::Done {
                return answer.finish(part);
            }
            answer.send(&std::mem::take(&mut part));
            drop(places);
        }
    }

    /// Waits until the client has read what it was sent and there is room for more; none when the client is gone.
    async fn room_for(&self, part_bytes: usize, answer: &PartedAnswer) -> Option<HeldPlaces> {
        loop {
            while answer.is_behind() && !answer.is_gone() {
                answer.caught_up().await;
            }
            if answer.is_gone() {
                return None;
            }
            let places = self.owner.held_room().take(part_bytes).await;
            // Others may have been sent much meanwhile that nobody reads.
            if !answer.is_behind() && !answer.is_gone() {
                return Some(places);
            }
        }
    }

    /// Makes slices up to a part's worth. Between any two, of whatever answers, everything else has its turn.
    async fn make_part(&self, read: &mut LongRead, part: &mut Vec<u8>) -> Slice {
        loop {
            let _turn = self.slices.acquire().await;
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

//! Heartbeats that wait for something to be found out about their sender: a bounded number of bytes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::ipc::Ticket;

/// What all that are held may weigh together, bytes.
const MOST_BYTES: usize = 64 << 20;
/// What one weighs beside its own bytes.
const EACH_BYTES: usize = 4 << 10;

/// All heartbeats that are held, by the host they come from.
#[derive(Debug, Default)]
pub(super) struct Holds {
    held: RefCell<BTreeMap<u128, BTreeMap<u64, Rc<Held>>>>,
    bytes: Cell<usize>,
    last: Cell<u64>,
}

/// One heartbeat that is held, until this is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    holds: Rc<Holds>,
    origin: u128,
    number: u64,
    held: Rc<Held>,
}

#[derive(Debug)]
struct Held {
    bytes: usize,
    is_given_up: Cell<bool>,
    woken: Notify,
}

// === impl Holds ===

impl Holds {
    /// Holds the heartbeat of this ticket. If that is too much the hosts with the most give up their oldest, maybe this
    /// very one.
    pub(super) fn hold(self: &Rc<Self>, ticket: &Ticket) -> Hold {
        self.add(ticket.origin(), ticket.bytes())
    }

    fn add(self: &Rc<Self>, origin: u128, bytes: usize) -> Hold {
        let number = self.last.get() + 1;
        self.last.set(number);
        let bytes = bytes + EACH_BYTES;
        let held = Rc::new(Held { bytes, is_given_up: Cell::new(false), woken: Notify::new() });
        self.held.borrow_mut().entry(origin).or_default().insert(number, held.clone());
        self.bytes.set(self.bytes.get() + bytes);
        while self.bytes.get() > MOST_BYTES && self.give_up_oldest_of_greediest() {}
        Hold { holds: self.clone(), origin, number, held }
    }

    /// Gives up all: their senders come again.
    pub(super) fn give_up_all(&self) {
        while self.give_up_oldest_of_greediest() {}
    }

    fn give_up_oldest_of_greediest(&self) -> bool {
        let weight = |held: &BTreeMap<u64, Rc<Held>>| held.values().map(|held| held.bytes).sum::<usize>();
        let greediest = self.held.borrow().iter().max_by_key(|(_, held)| weight(held)).map(|(origin, _)| *origin);
        let Some(origin) = greediest else { return false };
        let oldest = self.held.borrow().get(&origin).and_then(|held| held.keys().next().copied());
        let Some(held) = oldest.and_then(|number| self.remove(origin, number)) else { return false };
        held.is_given_up.set(true);
        held.woken.notify_one();
        true
    }

    fn remove(&self, origin: u128, number: u64) -> Option<Rc<Held>> {
        let mut all = self.held.borrow_mut();
        let of_origin = all.get_mut(&origin)?;
        let held = of_origin.remove(&number)?;
        if of_origin.is_empty() {
            all.remove(&origin);
        }
        self.bytes.set(self.bytes.get().saturating_sub(held.bytes));
        Some(held)
    }
}

// === impl Hold ===

impl Hold {
    /// Whether it takes too much room: its connection is to be closed, the sender comes again.
    pub(super) fn is_given_up(&self) -> bool {
        self.held.is_given_up.get()
    }

    /// Completes when it is given up.
    pub(super) async fn given_up(&self) {
        self.held.woken.notified().await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.remove(self.origin, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_that_holds_the_most_gives_up_its_oldest() {
        let holds = Rc::new(Holds::default());
        let modest = holds.add(1, 100);
        let greedy: Vec<Hold> = (0..20).map(|_| holds.add(2, 4 << 20)).collect();
        assert!(!modest.is_given_up());
        let kept: Vec<bool> = greedy.iter().map(|hold| !hold.is_given_up()).collect();
        assert_eq!(kept, [vec![false; 5], vec![true; 15]].concat());
        drop((modest, greedy));
        assert!(holds.held.borrow().is_empty());
        assert_eq!(holds.bytes.get(), 0);
    }

    #[test]
    fn one_that_is_larger_than_all_room_is_given_up_itself() {
        let holds = Rc::new(Holds::default());
        let (large, small) = (holds.add(1, MOST_BYTES), holds.add(2, 0));
        assert!(large.is_given_up() && !small.is_given_up());
        holds.give_up_all();
        assert!(small.is_given_up());
    }
}

//! Items: each is taken in its order, runs in one container at a time, and runs again only as attempts allow.

use std::collections::BTreeMap;

use crate::engine::{Launched, RequestType};
use crate::model::ContainerExit;

use super::request_book::TypeBook;

#[derive(Clone, Copy, Debug, Default)]
struct ItemRecord {
    runs: bool,
    failures: u32,
    faultless: u32,
    has_failed: bool,
    has_succeeded: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ItemBook {
    /// Whether the application is unattended: its items may come again.
    is_unattended: bool,
    /// None: all containers of a type without items.
    items: BTreeMap<(RequestType, Option<u32>), ItemRecord>,
    /// Failures for good, by type, with how many are allowed.
    failed: BTreeMap<RequestType, (u32, Option<u32>)>,
}

impl ItemBook {
    pub(super) fn new(is_unattended: bool) -> Self {
        Self { is_unattended, items: BTreeMap::new(), failed: BTreeMap::new() }
    }

    /// Whether more items of a type have failed for good than may.
    pub(super) fn has_too_many_failures(&self, request: &RequestType) -> bool {
        self.failed.get(request).is_some_and(|(failed, most)| most.is_some_and(|most| *failed > most))
    }

    /// A container is granted, and has this launch at once.
    pub(super) fn take(
        &mut self,
        request: RequestType,
        book: &mut TypeBook,
        launch: Option<Launched>,
    ) -> Result<(), String> {
        let (Some(wanted), launch) = (&mut book.launch, launch) else {
            return launch.map_or(Ok(()), |launch| Err(format!("{launch:?} was not asked for")));
        };
        let Some(launch) = launch else { return Err("it does not start".to_owned()) };
        let next = match &mut wanted.items {
            None => None,
            Some(items) => match items.pop_front().or_else(|| wanted.again.pop_front()) {
                Some(item) => Some(item),
                None => return Err("no item is left".to_owned()),
            },
        };
        if launch.item != next {
            return Err(format!("it gets item {:?}, and {next:?} is next", launch.item));
        }
        if self.has_too_many_failures(&request) {
            return Err("too many items of its type have failed".to_owned());
        }
        let record = self.items.entry((request, next)).or_default();
        if next.is_some() && self.is_unattended {
            let attempt = record.failures + record.faultless + 1;
            if record.runs || record.has_succeeded || record.has_failed || launch.item_attempt != attempt {
                return Err(format!("its item is {record:?}, and this is attempt {}", launch.item_attempt));
            }
        }
        record.runs = true;
        Ok(())
    }

    /// A container of an application that is not over has ended. What comes again is wanted again.
    pub(super) fn settle(
        &mut self,
        request: RequestType,
        book: Option<&mut TypeBook>,
        launch: Launched,
        exit: ContainerExit,
    ) {
        if !self.is_unattended {
            return;
        }
        let record = self.items.entry((request, launch.item)).or_default();
        record.runs = false;
        if exit == ContainerExit::SUCCESS {
            record.has_succeeded = true;
            return;
        }
        let Some((book, rules)) =
            book.and_then(|book| book.launch.as_ref().map(|launch| launch.rules).map(|rules| (book, rules)))
        else {
            return;
        };
        let comes_again = if exit.is_own_fault() {
            record.failures += 1;
            launch.item.is_some() && record.failures < rules.max_attempts.unwrap_or(1)
        } else {
            record.faultless += 1;
            true
        };
        if comes_again {
            book.raise();
            if let (Some(item), Some(wanted)) = (launch.item, &mut book.launch) {
                wanted.again.push_back(item);
            }
            return;
        }
        record.has_failed = launch.item.is_some();
        let failed = self.failed.entry(request).or_insert((0, rules.max_fails));
        failed.0 += 1;
    }
}

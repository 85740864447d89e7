//! The attempts of a job's maps or reduces, in chunks that are copied on write.

use std::sync::Arc;

use super::attempt_view::AttemptView;

/// Tasks of a chunk. A change copies a chunk once a publication: with more of them, a thousand changes all over a job of a
/// million tasks would copy most of it.
const CHUNK_TASKS: u32 = 128;

/// Attempts by task, each task's by number. A task without any has no place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskList {
    /// By the numbers of their tasks; sorted.
    chunks: Arc<Vec<Arc<Vec<AttemptView>>>>,
}

impl TaskList {
    /// The attempts of a task, by number.
    pub(crate) fn of(&self, task: u32) -> &[AttemptView] {
        match self.chunks.get((task / CHUNK_TASKS) as usize) {
            Some(chunk) => range_of(chunk, task),
            None => &[],
        }
    }

    /// All attempts, by task and number.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &AttemptView> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Adds an attempt, in the place of one with that number.
    pub(super) fn put(&mut self, attempt: AttemptView) {
        let index = (attempt.task / CHUNK_TASKS) as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        if chunks.len() <= index {
            let empty = Arc::new(Vec::new());
            chunks.resize(index + 1, empty);
        }
        let chunk = Arc::make_mut(&mut chunks[index]);
        match chunk.binary_search_by_key(&(attempt.task, attempt.number), |known| (known.task, known.number)) {
            Ok(found) => chunk[found] = attempt,
            Err(free) => chunk.insert(free, attempt),
        }
    }

    /// An attempt, to change it.
    pub(super) fn get_mut(&mut self, task: u32, number: i32) -> Option<&mut AttemptView> {
        let index = (task / CHUNK_TASKS) as usize;
        let key = |known: &AttemptView| (known.task, known.number);
        let found = self.chunks.get(index)?.binary_search_by_key(&(task, number), key).ok()?;
        Arc::make_mut(Arc::make_mut(&mut self.chunks).get_mut(index)?).get_mut(found)
    }
}

fn range_of(chunk: &[AttemptView], task: u32) -> &[AttemptView] {
    let from = chunk.partition_point(|attempt| attempt.task < task);
    let rest = &chunk[from..];
    &rest[..rest.partition_point(|attempt| attempt.task == task)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::AttemptRole;
    use crate::model::Kind;

    fn attempt(task: i32, number: i32) -> AttemptView {
        let id = "job_1_0001".parse::<crate::model::JobId>().unwrap().task(Kind::Map, task).attempt(number);
        AttemptView::launched(id, AttemptRole::Work, "t".into(), 1, 7)
    }

    #[test]
    fn attempts_are_found_by_task_and_a_change_copies_one_chunk() {
        let mut list = TaskList::default();
        for (task, number) in [(1_000, 0), (3, 1), (3, 0), (4, 0), (130, 0)] {
            list.put(attempt(task, number));
        }
        let numbers = |list: &TaskList, task| list.of(task).iter().map(AttemptView::number).collect::<Vec<_>>();
        assert_eq!((numbers(&list, 3), numbers(&list, 4), numbers(&list, 1_000)), (vec![0, 1], vec![0], vec![0]));
        assert_eq!((numbers(&list, 5), numbers(&list, 5_000)), (vec![], vec![]));
        let before = list.clone();
        list.get_mut(3, 1).unwrap().grant_commit();
        assert!(!before.of(3)[1].is_commit_granted() && list.of(3)[1].is_commit_granted());
        let copied = before.chunks.iter().zip(&*list.chunks).filter(|(old, new)| !Arc::ptr_eq(old, new)).count();
        assert_eq!((before.chunks.len(), copied), (8, 1));
        assert!(list.get_mut(3, 2).is_none() && list.get_mut(9_999, 0).is_none());
    }
}

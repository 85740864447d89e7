//! An attempt as the views keep it: small, since there are millions; and those of a job's maps or reduces, in chunks copied on write.

use std::sync::Arc;

use crate::mapreduce::{
    AttemptRole, CounterValues, EndedAttempt, KillRequest, StoredAttempt, TriedAttempt, has_failed_too_often,
};
use crate::model::{AttemptId, AttemptState};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttemptView {
    /// The index of its task among those of its kind: the cleanup's follows the last, then the setup's.
    pub(super) task: u32,
    pub(super) number: i32,
    tracker: Arc<str>,
    launch_ms: i64,
    start_ms: i64,
    finish_ms: i64,
    output_bytes: i64,
    texts: Option<Arc<AttemptTexts>>,
    slots: u32,
    /// How many counters it has.
    counters: u32,
    role: AttemptRole,
    state: AttemptState,
    kill_request: Option<KillRequest>,
    is_commit_granted: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AttemptTexts {
    pub(crate) diagnostics: Box<str>,
    /// Its last status text.
    pub(crate) status: Box<str>,
    /// Name of the last tracker that its task-cleanup was launched on.
    pub(crate) cleanup_tracker: Option<Arc<str>>,
    /// When copying ended (reduces), epoch ms; 0: it has not.
    pub(crate) shuffle_finish_ms: i64,
    /// When merging ended (reduces), epoch ms; 0: it has not.
    pub(crate) sort_finish_ms: i64,
}

impl AttemptView {
    /// One that was launched just now.
    pub(super) fn launched(id: AttemptId, role: AttemptRole, tracker: Arc<str>, slots: u32, launch_ms: i64) -> Self {
        Self {
            task: task_index(id),
            number: id.number,
            tracker,
            launch_ms,
            start_ms: 0,
            finish_ms: 0,
            output_bytes: -1,
            texts: None,
            slots,
            counters: 0,
            role,
            state: AttemptState::Running,
            kill_request: None,
            is_commit_granted: false,
        }
    }

    pub(super) fn stored(stored: &StoredAttempt) -> Self {
        let StoredAttempt { id, role, tracker, slots, launch_ms, .. } = stored;
        let mut attempt = Self {
            start_ms: stored.start_ms,
            finish_ms: stored.finish_ms,
            output_bytes: stored.output_bytes,
            counters: count_of(stored.counters.as_ref()),
            state: stored.state,
            kill_request: stored.kill_request,
            is_commit_granted: stored.commit_granted,
            ..Self::launched(*id, *role, tracker.clone(), *slots, *launch_ms)
        };
        attempt.set_texts(AttemptTexts {
            diagnostics: stored.diagnostics.as_str().into(),
            status: stored.state_text.as_str().into(),
            cleanup_tracker: stored.cleanup_tracker.clone(),
            shuffle_finish_ms: stored.shuffle_finish_ms,
            sort_finish_ms: stored.sort_finish_ms,
        });
        attempt
    }

    /// It has ended or become unclean.
    pub(super) fn end(&mut self, ended: &EndedAttempt) {
        self.state = ended.state;
        self.start_ms = ended.start_ms;
        self.finish_ms = ended.finish_ms;
        self.output_bytes = ended.output_bytes;
        self.counters = count_of(ended.counters.as_ref());
        if matches!(ended.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean) {
            self.forget_request();
        }
        self.set_texts(AttemptTexts {
            diagnostics: ended.diagnostics.as_str().into(),
            status: ended.state_text.as_str().into(),
            cleanup_tracker: self.texts().cleanup_tracker,
            shuffle_finish_ms: ended.shuffle_finish_ms,
            sort_finish_ms: ended.sort_finish_ms,
        });
    }

    /// It has these diagnostics so far.
    pub(super) fn report(&mut self, diagnostics: &str) {
        self.set_texts(AttemptTexts { diagnostics: diagnostics.into(), ..self.texts() });
    }

    pub(super) fn request_end(&mut self, request: KillRequest) {
        self.kill_request = Some(request);
    }

    pub(super) fn grant_commit(&mut self) {
        self.is_commit_granted = true;
    }

    /// Its task-cleanup runs there; none: it is lost, and with it a user's request for its end.
    pub(super) fn set_cleanup_tracker(&mut self, tracker: Option<Arc<str>>) {
        if tracker.is_none() {
            self.forget_request();
        }
        self.set_texts(AttemptTexts { cleanup_tracker: tracker, ..self.texts() });
    }

    fn forget_request(&mut self) {
        self.kill_request = self.kill_request.filter(|request| *request == KillRequest::Preempt);
    }

    fn set_texts(&mut self, texts: AttemptTexts) {
        self.texts = (texts != AttemptTexts::default()).then(|| Arc::new(texts));
    }

    /// Its texts, and what else few attempts have.
    pub(crate) fn texts(&self) -> AttemptTexts {
        self.texts.as_deref().cloned().unwrap_or_default()
    }

    /// Its diagnostics so far.
    pub(super) fn diagnostics(&self) -> &str {
        self.texts.as_deref().map_or("", |texts| &texts.diagnostics)
    }

    /// The index of its task among those of its kind: the cleanup's follows the last, then the setup's.
    pub(crate) fn task(&self) -> u32 {
        self.task
    }

    /// Its number among those of its task.
    pub(crate) fn number(&self) -> i32 {
        self.number
    }

    pub(crate) fn tracker(&self) -> &Arc<str> {
        &self.tracker
    }

    /// When it was launched, epoch ms.
    pub(crate) fn launch_ms(&self) -> i64 {
        self.launch_ms
    }

    /// When its process started, epoch ms; 0: never, or it has not ended.
    pub(crate) fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// When it ended, epoch ms.
    pub(crate) fn finish_ms(&self) -> Option<i64> {
        (self.finish_ms != 0).then_some(self.finish_ms)
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// How many counters it has ended with.
    pub(crate) fn counters(&self) -> u32 {
        self.counters
    }

    pub(crate) fn role(&self) -> AttemptRole {
        self.role
    }

    /// Its state as facts have it: RUNNING for all live ones.
    pub(crate) fn state(&self) -> AttemptState {
        self.state
    }

    /// How it is requested to end.
    pub(crate) fn kill_request(&self) -> Option<KillRequest> {
        self.kill_request
    }

    /// Whether it may commit its output.
    #[cfg(test)]
    pub(crate) fn is_commit_granted(&self) -> bool {
        self.is_commit_granted
    }

    /// Name of the tracker that runs its task-cleanup.
    pub(crate) fn cleanup_tracker(&self) -> Option<&Arc<str>> {
        let is_unclean = matches!(self.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean);
        self.texts.as_ref().filter(|_| is_unclean)?.cleanup_tracker.as_ref()
    }

    /// Whether its tracker may still work on it.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
    }
}

/// The index of an attempt's task; facts name no negative one.
pub(super) fn task_index(id: AttemptId) -> u32 {
    u32::try_from(id.task.number).unwrap_or(0)
}

fn count_of(counters: Option<&CounterValues>) -> u32 {
    counters.map_or(0, |counters| u32::try_from(counters.values().len()).unwrap_or(u32::MAX))
}

impl TriedAttempt for AttemptView {
    fn state(&self) -> AttemptState {
        self.state
    }

    fn first_text(&self) -> &str {
        self.diagnostics()
    }
}

/// The state of a task by which 1.2.1 lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedState {
    Pending,
    Running,
    Complete,
    /// Given up.
    Killed,
}

impl ListedState {
    /// That of a task with these attempts, which may fail so often, unless its job ends.
    pub(super) fn of(attempts: &[AttemptView], most_failures: u32) -> Self {
        let count = |is: fn(&AttemptView) -> bool| attempts.iter().filter(|attempt| is(attempt)).count() as u32;
        let failures = || count(|attempt| attempt.state == AttemptState::Failed);
        if count(|attempt| attempt.state == AttemptState::Succeeded) > 0 {
            Self::Complete
        } else if count(|attempt| attempt.is_live() || attempt.cleanup_tracker().is_some()) > 0 {
            Self::Running
        } else if has_failed_too_often(attempts, failures(), most_failures) {
            Self::Killed
        } else {
            Self::Pending
        }
    }
}

/// Tasks of a chunk. A change copies a chunk once a publication: with more of them, a thousand changes all over a job of a
/// million tasks would copy most of it.
pub(super) const CHUNK_TASKS: u32 = 128;

/// Attempts by task, each task's by number. A task without any has no place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskAttempts {
    /// By the numbers of their tasks; sorted.
    chunks: Arc<Vec<Arc<TaskChunk>>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct TaskChunk {
    attempts: Vec<AttemptView>,
    listed: ListedCounts,
}

/// How many maps or reduces of a chunk are in a state; the others are pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedCounts {
    pub(super) running: u32,
    pub(super) complete: u32,
    pub(super) killed: u32,
}

impl TaskAttempts {
    /// The attempts of a task, by number.
    pub(crate) fn of(&self, task: u32) -> &[AttemptView] {
        match self.chunks.get((task / CHUNK_TASKS) as usize) {
            Some(chunk) => range_of(&chunk.attempts, task),
            None => &[],
        }
    }

    /// All attempts, by task and number.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &AttemptView> {
        self.chunks.iter().flat_map(|chunk| chunk.attempts.iter())
    }

    /// Adds an attempt, in the place of one with that number.
    pub(super) fn put(&mut self, attempt: AttemptView) {
        let index = (attempt.task / CHUNK_TASKS) as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        if chunks.len() <= index {
            chunks.resize(index + 1, Arc::default());
        }
        let chunk = &mut Arc::make_mut(&mut chunks[index]).attempts;
        match chunk.binary_search_by_key(&(attempt.task, attempt.number), |known| (known.task, known.number)) {
            Ok(found) => chunk[found] = attempt,
            Err(free) => chunk.insert(free, attempt),
        }
    }

    pub(super) fn get_mut(&mut self, task: u32, number: i32) -> Option<&mut AttemptView> {
        let index = (task / CHUNK_TASKS) as usize;
        let key = |known: &AttemptView| (known.task, known.number);
        let found = self.chunks.get(index)?.attempts.binary_search_by_key(&(task, number), key).ok()?;
        Arc::make_mut(Arc::make_mut(&mut self.chunks).get_mut(index)?).attempts.get_mut(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// A map or reduce is listed in another state than before.
    pub(super) fn count_listed(&mut self, task: u32, before: ListedState, after: ListedState) {
        let index = (task / CHUNK_TASKS) as usize;
        let Some(chunk) = Arc::make_mut(&mut self.chunks).get_mut(index).filter(|_| before != after) else { return };
        let listed = &mut Arc::make_mut(chunk).listed;
        if let Some(count) = listed.of(before) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = listed.of(after) {
            *count += 1;
        }
    }

    /// The counts of the chunk that begins with a task.
    pub(super) fn listed_from(&self, task: u32) -> ListedCounts {
        self.chunks.get((task / CHUNK_TASKS) as usize).map(|chunk| chunk.listed).unwrap_or_default()
    }
}

impl ListedCounts {
    fn of(&mut self, state: ListedState) -> Option<&mut u32> {
        match state {
            ListedState::Pending => None,
            ListedState::Running => Some(&mut self.running),
            ListedState::Complete => Some(&mut self.complete),
            ListedState::Killed => Some(&mut self.killed),
        }
    }
}

fn range_of(chunk: &[AttemptView], task: u32) -> &[AttemptView] {
    let from = chunk.partition_point(|attempt| attempt.task < task);
    let rest = &chunk[from..];
    &rest[..rest.partition_point(|attempt| attempt.task == task)]
}

#[cfg(test)]
mod tests {
    use crate::mapreduce::AttemptRole;
    use crate::model::Kind;

    use super::*;

    #[test]
    fn an_attempt_is_small() {
        assert!(size_of::<AttemptView>() <= 80, "{}", size_of::<AttemptView>());
    }

    fn attempt(task: i32, number: i32) -> AttemptView {
        let id = "job_1_0001".parse::<crate::model::JobId>().unwrap().task(Kind::Map, task).attempt(number);
        AttemptView::launched(id, AttemptRole::Work, "t".into(), 1, 7)
    }

    #[test]
    fn attempts_are_found_by_task_and_a_change_copies_one_chunk() {
        let mut list = TaskAttempts::default();
        for (task, number) in [(1_000, 0), (3, 1), (3, 0), (4, 0), (130, 0)] {
            list.put(attempt(task, number));
        }
        let numbers = |list: &TaskAttempts, task| list.of(task).iter().map(AttemptView::number).collect::<Vec<_>>();
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

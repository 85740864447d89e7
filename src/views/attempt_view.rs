//! An attempt as the views keep it: small, since there are millions; and those of a job's maps or reduces, in chunks copied on write.

use std::sync::Arc;

use crate::api::TaskAttempt;
use crate::mapreduce::{AttemptRole, EndedAttempt, KillRequest, StoredAttempt};
use crate::model::{AttemptId, AttemptState};

const TEXT_BYTES: usize = TaskAttempt::DIAGNOSTICS_BYTES;

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
    role: AttemptRole,
    state: AttemptState,
    kill_request: Option<KillRequest>,
    is_commit_granted: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AttemptTexts {
    pub(crate) diagnostics: Box<str>,
    /// Its last status text, cut.
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
            state: stored.state,
            kill_request: stored.kill_request,
            is_commit_granted: stored.commit_granted,
            ..Self::launched(*id, *role, tracker.clone(), *slots, *launch_ms)
        };
        attempt.set_texts(AttemptTexts {
            diagnostics: cut(&stored.diagnostics),
            status: cut(&stored.state_text),
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
        if matches!(ended.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean) {
            self.forget_request();
        }
        self.set_texts(AttemptTexts {
            diagnostics: cut(&ended.diagnostics),
            status: cut(&ended.state_text),
            cleanup_tracker: self.texts().cleanup_tracker,
            shuffle_finish_ms: ended.shuffle_finish_ms,
            sort_finish_ms: ended.sort_finish_ms,
        });
    }

    /// It has these diagnostics so far.
    pub(super) fn report(&mut self, diagnostics: &str) {
        self.set_texts(AttemptTexts { diagnostics: cut(diagnostics), ..self.texts() });
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

    /// Its diagnostics so far, cut.
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

    /// When it ended, epoch ms.
    pub(crate) fn finish_ms(&self) -> Option<i64> {
        (self.finish_ms != 0).then_some(self.finish_ms)
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
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

    /// Whether its tracker may still work on it.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
    }
}

/// The index of an attempt's task; facts name no negative one.
pub(super) fn task_index(id: AttemptId) -> u32 {
    u32::try_from(id.task.number).unwrap_or(0)
}

fn cut(text: &str) -> Box<str> {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}

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
    use crate::mapreduce::AttemptRole;
    use crate::model::Kind;

    use super::*;

    #[test]
    fn an_attempt_is_small() {
        assert!(size_of::<AttemptView>() <= 80, "{}", size_of::<AttemptView>());
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short".into());
        let long = "\u{20ac}".repeat(2_000);
        assert_eq!(cut(&long).len(), 4_095);
    }

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

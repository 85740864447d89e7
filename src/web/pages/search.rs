//! The search: a job, a task, an attempt, a queue, a user or a worker leads to its page; a part of a name lists.

use crate::engine::JobSnapshot;
use crate::model::{ApplicationId, AttemptId, JobId, TaskId};

use super::asked::encoded;
use super::block::{Block, Section};
use super::job_rows::{job_link, queue_link, user_link, worker_link};
use super::page::Page;
use super::piece::{Cell, Piece};
use super::viewer::View;

const MOST: usize = 50;

pub(super) enum SearchResult {
    Address(String),
    Page(Box<Page>),
}

/// Whether a text is an id, which says its page.
fn address_of_id(text: &str) -> Option<String> {
    let job = text.parse::<JobId>().ok().map(|id| format!("/jobs/{id}"));
    let task = || text.parse::<TaskId>().ok().map(|id| format!("/tasks/{id}"));
    let attempt = || text.parse::<AttemptId>().ok().map(|id| format!("/attempts/{id}"));
    let application = || text.parse::<ApplicationId>().ok().map(|id| format!("/applications/{id}"));
    job.or_else(task).or_else(attempt).or_else(application)
}

pub(super) fn search(view: &View, text: &str, jobs: &[JobSnapshot]) -> SearchResult {
    if let Some(address) = address_of_id(text) {
        return SearchResult::Address(address);
    }
    let overview = view.overview();
    if overview.trackers.iter().any(|tracker| tracker.worker == text || tracker.name == text) {
        return SearchResult::Address(format!("/workers/{}", encoded(text)));
    }
    if overview.queues.iter().any(|queue| queue.name == text) {
        return SearchResult::Address(format!("/queues/{}", encoded(text)));
    }
    if jobs.iter().any(|job| job.user == text) {
        return SearchResult::Address(format!("/users/{}", encoded(text)));
    }
    let part = text.to_lowercase();
    let has = |name: &str| !part.is_empty() && name.to_lowercase().contains(&part);
    let mut finds: Vec<Cell> = Vec::new();
    finds.extend(
        overview
            .queues
            .iter()
            .filter(|queue| has(&queue.name))
            .take(MOST)
            .map(|queue| vec![Piece::text("Queue "), queue_link(&queue.name)]),
    );
    finds.extend(
        overview
            .trackers
            .iter()
            .filter(|tracker| has(&tracker.worker))
            .take(MOST)
            .map(|tracker| vec![Piece::text("Worker "), worker_link(&tracker.worker)]),
    );
    let mut users: Vec<&str> = jobs.iter().map(|job| &*job.user).filter(|user| has(user)).collect();
    users.sort_unstable();
    users.dedup();
    finds.extend(users.into_iter().take(MOST).map(|user| vec![Piece::text("User "), user_link(user)]));
    let named = jobs.iter().filter(|job| has(&job.name) || has(&job.id.to_string()));
    finds.extend(
        named
            .take(MOST)
            .map(|job| vec![Piece::text("Job "), job_link(job), Piece::text(" "), Piece::foreign(&job.name)]),
    );
    let count = finds.len();
    let blocks = vec![match finds.is_empty() {
        true => Block::Line(vec![Piece::text("Nothing known here has this in its name or id: "), Piece::foreign(text)]),
        false => Block::List(finds),
    }];
    SearchResult::Page(Box::new(Page {
        title: format!("{count} found"),
        heading: vec![Piece::text("Search: "), Piece::foreign(text)],
        sections: vec![Section::new("found", "Found", blocks)],
        ..Page::default()
    }))
}

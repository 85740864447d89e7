//! Why a job has no more slots, in sentences: the words of `jobtracker explain`, as far as they follow from what the policy
//! reports of all jobs.

use crate::api::{PendingReason, ReportedGroup, ReportedJob, says_paused};
use crate::engine::JobSnapshot;
use crate::model::{Kind, RunState};

use super::viewer::View;

/// The sentences, the most important first; none of a job that is over.
pub(super) fn reasons(view: &View, job: &JobSnapshot) -> Vec<String> {
    if !matches!(job.state, RunState::Prep | RunState::Running) {
        return Vec::new();
    }
    let overview = view.overview();
    let mut sentences = Vec::new();
    if says_paused(&job.failure_info) {
        sentences.push(sentence(&job.failure_info));
    }
    if overview.trackers.is_empty() {
        sentences.push(sentence(&PendingReason::NoWorker.to_string()));
    }
    let Some(reported) = overview.report.jobs.iter().find(|reported| reported.job == job.id) else { return sentences };
    let mut reasons = view.held_back_by(reported);
    let group = overview.report.groups.iter().find(|group| group.name == reported.group);
    let waits = |kind| reported.waiting[kind] > 0;
    if reported.has_begun && job.state == RunState::Prep && reasons.is_empty() {
        let is_running = Kind::ALL.into_iter().any(|kind| job.running[kind] > 0);
        reasons.push(if is_running { PendingReason::SetupRuns } else { PendingReason::SetupWaits });
    }
    for kind in Kind::ALL.into_iter().filter(|kind| waits(*kind)) {
        reasons.extend(group.and_then(|group| bought_reason(view, group, kind)));
        reasons.extend(place_reason(view, reported, kind));
        if overview.running[kind] >= overview.slots[kind] && overview.slots[kind] > 0 {
            reasons.push(PendingReason::NoneFree { kind });
        }
    }
    if reasons.is_empty() && job.state == RunState::Running && !Kind::ALL.into_iter().any(waits) {
        reasons.push(PendingReason::NothingWaits);
    }
    sentences.extend(reasons.iter().map(|reason| sentence(&reason.to_string())));
    sentences
}

fn bought_reason(view: &View, group: &ReportedGroup, kind: Kind) -> Option<PendingReason> {
    let bought = view.bought(group)?;
    let (quota, held) = (bought.quota.slots()[kind], group.held[kind]);
    Some(if bought.rate.units() == 0 {
        unpaid_reason(view, &group.name)
    } else if held >= quota {
        PendingReason::QuotaFull { kind, quota, held }
    } else {
        PendingReason::BelowQuota { kind, quota, held }
    })
}

/// Why a queue has no rate: it bids nothing, or cannot pay for what it bids.
fn unpaid_reason(view: &View, queue: &str) -> PendingReason {
    let Some(bid) = view.views().market().bid(queue).filter(|bid| bid.units() > 0) else { return PendingReason::NoBid };
    let is_funded = view.quote(queue, bid).and_then(|quote| quote.is_funded).unwrap_or(true);
    match view.balance(queue) {
        Some(budget) if !is_funded => PendingReason::NotFunded { budget, bid },
        _ => PendingReason::NotBoughtYet,
    }
}

fn place_reason(view: &View, job: &ReportedJob, kind: Kind) -> Option<PendingReason> {
    let place = view.place(job)[kind]?;
    if place.groups_before > 0 {
        Some(PendingReason::EarlierGroups { kind, groups: place.groups_before })
    } else if place.jobs_before > 0 {
        Some(PendingReason::EarlierJobs { kind, jobs: place.jobs_before })
    } else {
        None
    }
}

pub(super) fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

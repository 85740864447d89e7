//! The sentences about a switch of the scheduler and the groups of one, which the command and the pages share.

use crate::model::{JobId, PerKind, PerPool, counted};

use super::scheduler_switch::{GroupStatus, SwitchPlan};

/// Most jobs of one sort that a plan names.
const NAMED_JOBS: usize = 20;

impl SwitchPlan {
    /// What the switch would do, or why it is refused, a sentence each. `time` shows a moment, epoch ms.
    #[must_use]
    pub fn sentences(&self, time: impl Fn(i64) -> String) -> Vec<String> {
        let mut lines = match self.is_reread() {
            true => vec![format!("{} rules: its files are read again", self.to)],
            false => vec![format!("from {}", self.from), format!("to   {}", self.to)],
        };
        lines.extend(self.keys.iter().map(|key| format!("{}: {} = {}", key.place, key.key, key.value)));
        lines.extend(room_sentence(self.slots));
        lines.extend(group_sentences(&self.groups));
        lines.extend(about_jobs("begin", &self.begins));
        lines.extend(about_jobs("wait to begin", &self.waits));
        let moves = self.moves.iter();
        lines.extend(moves.map(|moved| format!("{} moves from queue {} to {}", moved.job, moved.from, moved.to)));
        lines.extend(about_jobs("run without a claim, charged to no account", &self.without_claim));
        lines.extend(about_jobs("AT_RISK, as the slots of now do not keep their deadlines", &self.at_risk));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        let wait =
            self.waits_until_ms.map(|until_ms| format!("waits for the market's next tick, at {}", time(until_ms)));
        lines.extend(wait);
        lines.extend(self.refusals.iter().map(|refusal| format!("refused: {refusal}")));
        lines
    }
}

/// The slots of the cluster, where workers have room for containers.
#[must_use]
pub(crate) fn room_sentence(slots: PerPool<u32>) -> Option<String> {
    (slots.container > 0).then(|| format!("the cluster has {}", pools(slots.slots(), Some(slots.container))))
}

/// A sentence for each group: its jobs, what it holds, what is due to it, its settings.
#[must_use]
pub(crate) fn group_sentences(groups: &[GroupStatus]) -> Vec<String> {
    // A cluster without applications is shown as in Hadoop, by slots alone.
    let has_any = groups.iter().any(|group| group.applications > 0 || group.container_slots > 0);
    let sentence = |group: &GroupStatus| {
        let held = pools(group.held, has_any.then_some(group.container_slots));
        let due_containers = group.due_container_slots.filter(|_| has_any);
        let due = group.due.map_or_else(String::new, |due| format!(", due {}", pools(due, due_containers)));
        let settings =
            if group.settings.is_empty() { String::new() } else { format!("; {}", group.settings.join(", ")) };
        let jobs = counted(group.jobs, "job");
        let applications =
            if has_any { format!(", {}", counted(group.applications, "application")) } else { String::new() };
        format!("{}: {jobs}{applications}, holds {held}{due}{settings}", group.name)
    };
    groups.iter().map(sentence).collect()
}

/// Slots, and where containers count the slots that they stand for.
fn pools(slots: PerKind<u32>, containers: Option<u32>) -> String {
    match containers {
        None => format!("{} map and {} reduce slots", slots.map, slots.reduce),
        Some(containers) => {
            format!("{} map and {} reduce slots and {containers} for containers", slots.map, slots.reduce)
        }
    }
}

fn about_jobs(what: &str, jobs: &[JobId]) -> Option<String> {
    let mut names: Vec<String> = jobs.iter().take(NAMED_JOBS).map(ToString::to_string).collect();
    if let Some(more) = jobs.len().checked_sub(NAMED_JOBS).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    (!jobs.is_empty()).then(|| format!("{} {what}: {}", jobs.len(), names.join(", ")))
}

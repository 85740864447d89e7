//! Texts about the ruling scheduler and about switches.

use std::fmt::Write as _;

use crate::api::{GroupStatus, SchedulerStatus, SwitchPlan};
use crate::model::{JobId, PerKind, PerPool, counted};

use super::time_text::format_time;

/// Most jobs of one sort that a plan names.
const NAMED_JOBS: usize = 20;

/// Which scheduler rules, since when, by whose choice; and its groups.
pub(super) fn render_status(status: &SchedulerStatus) -> String {
    let by = match &status.by {
        Some(user) => format!("chosen by {user}"),
        None => "as configured".to_owned(),
    };
    let mut text = format!("{}\nsince {}, {by}\n", status.scheduler, format_time(status.since_ms));
    if status.configured != status.scheduler {
        push(&mut text, format_args!("mapred.jobtracker.taskScheduler named {} then", status.configured));
    }
    if let Some(waiting) = &status.waiting {
        let until = format_time(waiting.until_ms);
        push(&mut text, format_args!("{} wants {}: it begins at {until}", waiting.by, waiting.scheduler));
    }
    render_room(&mut text, status.slots);
    render_groups(&mut text, &status.groups);
    text
}

/// What a switch would do, or why it is refused.
pub(super) fn render_plan(plan: &SwitchPlan) -> String {
    let mut text = match plan.is_reread() {
        true => format!("{} rules: its files are read again\n", plan.to),
        false => format!("from {}\nto   {}\n", plan.from, plan.to),
    };
    for key in &plan.keys {
        push(&mut text, format_args!("{}: {} = {}", key.place, key.key, key.value));
    }
    render_room(&mut text, plan.slots);
    render_groups(&mut text, &plan.groups);
    render_jobs(&mut text, "begin", &plan.begins);
    render_jobs(&mut text, "wait to begin", &plan.waits);
    for moved in &plan.moves {
        push(&mut text, format_args!("{} moves from queue {} to {}", moved.job, moved.from, moved.to));
    }
    render_jobs(&mut text, "run without a claim, charged to no account", &plan.without_claim);
    render_jobs(&mut text, "AT_RISK, as the slots of now do not keep their deadlines", &plan.at_risk);
    for warning in &plan.warnings {
        push(&mut text, format_args!("warning: {warning}"));
    }
    if let Some(until_ms) = plan.waits_until_ms {
        push(&mut text, format_args!("waits for the market's next tick, at {}", format_time(until_ms)));
    }
    for refusal in &plan.refusals {
        push(&mut text, format_args!("refused: {refusal}"));
    }
    text
}

/// What a switch did.
pub(super) fn render_done(plan: &SwitchPlan) -> String {
    let mut text = match plan.is_reread() {
        true => format!("{} rules as before, by its files as they are now\n", plan.to),
        false => format!("{} rules now\n", plan.to),
    };
    for moved in &plan.moves {
        push(&mut text, format_args!("{} moved from queue {} to {}", moved.job, moved.from, moved.to));
    }
    for warning in &plan.warnings {
        push(&mut text, format_args!("warning: {warning}"));
    }
    text
}

/// Until when a switch waits.
pub(super) fn render_wait(plan: &SwitchPlan) -> String {
    let until = plan.waits_until_ms.map_or_else(|| "the market's next tick".to_owned(), format_time);
    format!("waiting until {until} for the market's tick, which charges the open interval; interrupt to withdraw")
}

/// The slots of the cluster, where workers have room for containers.
fn render_room(text: &mut String, slots: PerPool<u32>) {
    if slots.container > 0 {
        push(text, format_args!("the cluster has {}", pools(slots.slots(), Some(slots.container))));
    }
}

fn render_groups(text: &mut String, groups: &[GroupStatus]) {
    // A cluster without applications is shown as in Hadoop, by slots alone.
    let has_any = groups.iter().any(|group| group.applications > 0 || group.container_slots > 0);
    for group in groups {
        let held = pools(group.held, has_any.then_some(group.container_slots));
        let due_containers = group.due_container_slots.filter(|_| has_any);
        let due = group.due.map_or_else(String::new, |due| format!(", due {}", pools(due, due_containers)));
        let settings =
            if group.settings.is_empty() { String::new() } else { format!("; {}", group.settings.join(", ")) };
        let jobs = counted(group.jobs, "job");
        let applications =
            if has_any { format!(", {}", counted(group.applications, "application")) } else { String::new() };
        push(text, format_args!("{}: {jobs}{applications}, holds {held}{due}{settings}", group.name));
    }
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

fn render_jobs(text: &mut String, what: &str, jobs: &[JobId]) {
    if jobs.is_empty() {
        return;
    }
    let mut names: Vec<String> = jobs.iter().take(NAMED_JOBS).map(ToString::to_string).collect();
    if let Some(more) = jobs.len().checked_sub(NAMED_JOBS).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    push(text, format_args!("{} {what}: {}", jobs.len(), names.join(", ")));
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes every text.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{MovedJob, SetKey, SwitchRefusal};

    fn plan() -> SwitchPlan {
        let job = |number: u32| format!("job_202611210913_{number:04}").parse().unwrap();
        SwitchPlan {
            from: "Fifo".into(),
            to: "Capacity".into(),
            slots: PerPool::default(),
            groups: vec![GroupStatus {
                name: "a".into(),
                settings: vec!["capacity 30%".into(), "user limit 50%".into()],
                jobs: 1,
                applications: 0,
                held: PerKind::new(2, 1),
                container_slots: 0,
                due: Some(PerKind::new(3, 1)),
                due_container_slots: Some(4),
            }],
            begins: vec![job(1)],
            waits: (2..24).map(job).collect(),
            moves: vec![MovedJob { job: job(24), from: "b".into(), to: "a".into() }],
            without_claim: Vec::new(),
            at_risk: vec![job(26)],
            keys: vec![SetKey { key: "k".into(), value: "v".into(), place: "conf/f.xml:7".into() }],
            warnings: vec!["careful".into()],
            refusals: vec![SwitchRefusal::QueueMissing { queue: "c".into(), jobs: vec![job(25)] }],
            waits_until_ms: None,
        }
    }

    #[test]
    fn a_plan_shows_keys_groups_jobs_and_refusals() {
        let text = render_plan(&plan());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "from Fifo",
                "to   Capacity",
                "conf/f.xml:7: k = v",
                "a: 1 job, holds 2 map and 1 reduce slots, due 3 map and 1 reduce slots; capacity 30%, user limit 50%",
            ]
        );
        assert_eq!(lines[4], "1 begin: job_202611210913_0001");
        assert!(lines[5].starts_with("22 wait to begin: ") && lines[5].ends_with(", and 2 more"), "{}", lines[5]);
        assert_eq!(lines[6], "job_202611210913_0024 moves from queue b to a");
        assert_eq!(lines[7], "1 AT_RISK, as the slots of now do not keep their deadlines: job_202611210913_0026");
        assert_eq!(lines[8], "warning: careful");
        assert!(lines[9].starts_with("refused: 1 job is in queue c"), "{}", lines[9]);
        assert!(lines[9].contains("job_202611210913_0025"), "{}", lines[9]);
    }

    #[test]
    fn applications_and_their_containers_are_shown_where_there_are_any() {
        let mut with = plan();
        with.slots = PerPool::new(4, 2, 10);
        with.groups.push(GroupStatus {
            name: "b".into(),
            settings: Vec::new(),
            jobs: 0,
            applications: 1,
            held: PerKind::default(),
            container_slots: 6,
            due: None,
            due_container_slots: None,
        });
        let text = render_plan(&with);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[3..6],
            [
                "the cluster has 4 map and 2 reduce slots and 10 for containers",
                "a: 1 job, 0 applications, holds 2 map and 1 reduce slots and 0 for containers, \
                 due 3 map and 1 reduce slots and 4 for containers; capacity 30%, user limit 50%",
                "b: 0 jobs, 1 application, holds 0 map and 0 reduce slots and 6 for containers",
            ]
        );
    }

    #[test]
    fn a_status_says_since_when_and_by_whose_choice() {
        let status = SchedulerStatus {
            scheduler: "Fair".into(),
            since_ms: 1_795_252_000_000,
            by: Some("root".into()),
            configured: "Fifo".into(),
            slots: PerPool::new(4, 2, 0),
            groups: Vec::new(),
            waiting: None,
        };
        assert_eq!(
            render_status(&status),
            "Fair\nsince 2026-11-21T09:06:40Z, chosen by root\nmapred.jobtracker.taskScheduler named Fifo then\n"
        );
    }
}

//! The inputs of decisions about a job as text: two jobs with the same text are treated the same.

use std::fmt::Write;

use crate::mapreduce::{Attempt, Job, NodeRegistry, TaskKey};
use crate::model::{AttemptState, Kind};

impl Job {
    /// Leaves out what trackers report again after a restart, and hosts, of which a restart may know more: it has the
    /// name of a tracker that is gone.
    pub(crate) fn facets(&self, nodes: &NodeRegistry) -> String {
        let mut text = format!(
            "{:?} {:?} {:?} {:?} pending {:?} finished {:?} failed {:?} open {} in work {:?} counts {:?} output {:?}\n",
            self.state,
            self.ending,
            self.priority,
            self.failure_info,
            self.pending(),
            self.finished,
            self.failed,
            self.reduces_requested && !self.is_over_or_ending(),
            if self.is_over_or_ending() { Default::default() } else { self.running_tasks },
            self.counts,
            self.output,
        );
        // Running attempts report their counters again.
        let mut counters = crate::mapreduce::CounterTotal::default();
        Kind::ALL.iter().for_each(|kind| self.counter_sums[*kind].add_to(&mut counters));
        let counters = counters.into_counters();
        for counter in counters.groups.iter().flat_map(|group| &group.counters) {
            writeln!(text, "{counter:?}").unwrap();
        }
        for kind in Kind::ALL {
            let at_work: Vec<_> = self.slot_holders[kind].iter().map(|(_, task, attempt)| (task, attempt)).collect();
            writeln!(text, "{kind:?}: {} wait, at work {at_work:?}", self.waiting[kind].len()).unwrap();
            let mut cleanups: Vec<_> = self.task_cleanups[kind].iter().collect();
            cleanups.sort_unstable();
            writeln!(text, "{kind:?}: task-cleanups {cleanups:?}").unwrap();
            let work = (0..self.total()[kind]).map(|number| TaskKey::Work(kind, number));
            for key in work.chain([TaskKey::Setup(kind), TaskKey::Cleanup(kind)]) {
                self.show_task(&mut text, key, nodes);
            }
        }
        for event in self.completion_events(0, usize::MAX) {
            writeln!(text, "{event:?}").unwrap();
        }
        text
    }

    fn show_task(&self, text: &mut String, key: TaskKey, nodes: &NodeRegistry) {
        let task = self.task(key);
        writeln!(
            text,
            "{key:?} {:?} failures {} commits {:?} event {:?} next {}",
            task.state,
            task.failures,
            task.committer,
            task.success_event,
            task.next_number()
        )
        .unwrap();
        for attempt in &task.attempts {
            let Attempt { number, role, slots, holds_slot, kill_request, launch_ms, output_bytes, .. } = attempt;
            // Running attempts report their progress again.
            let state = if attempt.is_active() { AttemptState::Running } else { attempt.state };
            let is_output = state == AttemptState::Succeeded && self.needs_output(key);
            let name_of = |tracker| nodes.get(tracker).map(|info| info.name.clone());
            let tracker = (attempt.is_active() || is_output).then(|| name_of(attempt.tracker));
            let cleanup = attempt.cleanup_tracker.map(name_of);
            let end = (!attempt.is_active() && !attempt.is_unclean()).then_some((
                attempt.start_ms,
                attempt.finish_ms,
                *output_bytes,
            ));
            let said = attempt.diagnostics.joined();
            writeln!(
                text,
                "  {number} {role:?} {state:?} on {tracker:?} cleanup {cleanup:?} slots {slots} {holds_slot} \
                 asked {kill_request:?} launched {launch_ms} end {end:?} said {said:?}"
            )
            .unwrap();
        }
    }
}

//! How a job with a deadline stands, as the JobTracker reports it in the job's scheduling information.

use serde::Serialize;

/// A deadline under the constraint scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DeadlineLine {
    /// Seconds after the submission, with one decimal.
    pub(crate) after_s: String,
    /// Seconds left, with one decimal; negative when it has passed.
    pub(crate) left_s: String,
    /// `ON_TIME`, `AT_RISK` or `LATE`.
    pub(crate) state: String,
    /// Its slots, and when its reduces must start.
    pub(crate) plan: String,
}

impl DeadlineLine {
    /// Reads `Deadline 600.0 s (left 412.5 s, ON_TIME). PLAN`; none: the job has no deadline that the ruling scheduler keeps.
    pub(super) fn parse(scheduling_information: &str) -> Option<Self> {
        let (after, rest) = scheduling_information.strip_prefix("Deadline ")?.split_once(" s (left ")?;
        let (left, rest) = rest.split_once(" s, ")?;
        let (state, plan) = rest.split_once("). ")?;
        let [after_s, left_s, state, plan] = [after, left, state, plan].map(str::to_owned);
        Some(Self { after_s, left_s, state, plan })
    }

    /// When its first map is planned to start, a time of the day with its zone, where slots are promised to it from later on.
    pub(crate) fn planned_start(&self) -> Option<&str> {
        let (_, from) = self.plan.split_once(" minimum from ")?;
        from.split_once(". Reduces ").map(|(start, _)| start)
    }
}

#[cfg(test)]
impl DeadlineLine {
    /// A deadline in ten minutes.
    pub(crate) fn example() -> Self {
        let text = "Deadline 600.0 s (left 412.5 s, ON_TIME). Maps 6/6 minimum. Reduces 0/6 minimum. Reduce start limit 331.9 s.";
        Self::parse(text).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_deadline_is_left_alone() {
        let text = "Deadline 600.0 s (left -1.5 s, LATE). Maps 6/6 minimum.";
        let line = DeadlineLine::parse(text).unwrap();
        let DeadlineLine { after_s, left_s, state, plan } = &line;
        assert_eq!([&**after_s, left_s, state, plan], ["600.0", "-1.5", "LATE", "Maps 6/6 minimum."]);
        assert_eq!(line.planned_start(), None);
        let plan = "Maps 0/6 minimum from 09:30:00 UTC. Reduces 0/6 minimum. Reduce start limit 331.9 s.";
        let line = DeadlineLine { plan: plan.to_owned(), ..line };
        assert_eq!(line.planned_start(), Some("09:30:00 UTC"));
        for text in ["", "NA", "Deadline", "Deadline 5 s (left", "Deadline 5 s (left 4 s, ON_TIME)"] {
            assert_eq!(DeadlineLine::parse(text), None, "{text}");
        }
    }
}

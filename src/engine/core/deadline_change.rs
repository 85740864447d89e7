//! A change of a deadline as the fields of a request.

use crate::api::{DueText, parse_duration_ms};
use crate::market::DeadlineFields;
use crate::model::PartsPerMillion;
use crate::scheduler::constraint::{DeadlineChange, Due, NewDeadline};

/// The change.
///
/// # Errors
/// Which field is wrong, by the names of a form; the deadline is `setDeadline`.
pub(crate) fn deadline_change(fields: &DeadlineFields) -> Result<DeadlineChange, String> {
    let due = fields.due.trim();
    let times = [("mapTime", &fields.map_time), ("reduceTime", &fields.reduce_time)];
    let ms = |(name, text): (&str, &String)| match text.trim() {
        "" => Ok(None),
        text => parse_duration_ms(text).map(Some).map_err(|error| format!("{name}: {text:?}: {error}")),
    };
    let [map_task_ms, reduce_task_ms] = times.map(ms);
    let (map_task_ms, reduce_task_ms) = (map_task_ms?, reduce_task_ms?);
    let filter_millionths = match fields.filter_ratio.trim() {
        "" => None,
        text => {
            let ratio = PartsPerMillion::parse(text);
            Some(ratio.ok_or_else(|| format!("filterRatio: {text:?}: expected a decimal number, 0 or above"))?.0)
        }
    };
    if due.is_empty() {
        return match (map_task_ms, reduce_task_ms, filter_millionths) {
            (None, None, None) => Ok(DeadlineChange::Clear),
            _ => Err("setDeadline is empty; expected a deadline beside mapTime, reduceTime and filterRatio".to_owned()),
        };
    }
    let due = match due.parse() {
        Ok(DueText::AfterMs(ms)) => Due::AfterMs(ms),
        Ok(DueText::AtMs(ms)) => Due::AtMs(ms),
        Err(error) => return Err(format!("setDeadline: {due:?}: {error}")),
    };
    Ok(DeadlineChange::Set(NewDeadline { due, map_task_ms, reduce_task_ms, filter_millionths }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(due: &str, map_time: &str, filter_ratio: &str) -> Result<DeadlineChange, String> {
        let [due, map_time, filter_ratio] = [due, map_time, filter_ratio].map(str::to_owned);
        deadline_change(&DeadlineFields { due, map_time, filter_ratio, ..DeadlineFields::default() })
    }

    #[test]
    fn fields_are_a_change_or_name_what_is_wrong() {
        assert_eq!(change(" ", "", ""), Ok(DeadlineChange::Clear));
        let set = NewDeadline {
            due: Due::AfterMs(1_200_000),
            map_task_ms: Some(40_000),
            reduce_task_ms: None,
            filter_millionths: Some(300_000),
        };
        assert_eq!(change("20m", "40s", "0.3"), Ok(DeadlineChange::Set(set)));
        for (due, map_time, ratio, text) in [
            ("soon", "", "", "setDeadline: \"soon\": expected a duration above 0 such as 20m"),
            ("20m", "0s", "", "mapTime: \"0s\": expected a duration above 0"),
            ("20m", "", "-1", "filterRatio: \"-1\": expected a decimal number"),
            ("", "40s", "", "setDeadline is empty"),
        ] {
            let error = change(due, map_time, ratio).unwrap_err();
            assert!(error.starts_with(text), "{error}");
        }
    }
}

//! Items as they are written: `1-1000`, `3,5,10-100:10`.

use std::collections::BTreeSet;

/// Counts items: parts `N`, `N-M` or `N-M:STEP`, joined by commas. `None`: not written so. Whether one comes twice is the
/// server's question.
pub(crate) fn count_items(text: &str) -> Option<u64> {
    text.split(',').map(count_part).sum()
}

/// What is wrong with the first part that is none.
pub(crate) fn items_fault(text: &str) -> String {
    let part = text.split(',').find(|part| count_part(part).is_none()).unwrap_or(text);
    let (range, step) = part.split_once(':').map_or((part, None), |(range, step)| (range, Some(step)));
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut numbers = range.split('-').chain(step).filter(is_number);
    if range.starts_with('-') {
        return format!("{part:?} begins with -: items begin at 0");
    }
    if let Some(large) = numbers.find(|text| number(text).is_none()) {
        return format!("{large} is above the largest item, {}", i32::MAX);
    }
    if step.and_then(number) == Some(0) {
        return format!("{part:?} has the step 0: expected 1 or more");
    }
    match range.split_once('-').map(|(first, last)| (number(first), number(last))) {
        Some((Some(first), Some(last))) if first > last => format!("{part:?} goes backwards: expected {last}-{first}"),
        _ => "expected items such as 1-1000 or 3,5,10-100:10".to_owned(),
    }
}

/// Those that are not `done`, ascending, runs of neighbours as one part; `None`: not written so, or more than `most`.
pub(crate) fn items_without(text: &str, done: &BTreeSet<u32>, most: u64) -> Option<String> {
    count_items(text).filter(|count| *count <= most)?;
    let mut left = BTreeSet::new();
    for part in text.split(',') {
        let (first, last, step) = range_of(part)?;
        left.extend((first..=last).step_by(usize::try_from(step).ok()?).filter_map(|item| u32::try_from(item).ok()));
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for item in left.into_iter().filter(|item| !done.contains(item)) {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(item) => *last = item,
            _ => runs.push((item, item)),
        }
    }
    let run = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    Some(runs.into_iter().map(run).collect::<Vec<_>>().join(","))
}

fn count_part(part: &str) -> Option<u64> {
    let (first, last, step) = range_of(part)?;
    Some((last - first) / step + 1)
}

/// The first and the last item of a part, and the step between two.
fn range_of(part: &str) -> Option<(u64, u64, u64)> {
    let (range, step) = part.split_once(':').map_or((part, None), |(range, step)| (range, Some(step)));
    let step = step.map_or(Some(1), number).filter(|step| *step > 0)?;
    let Some((first, last)) = range.split_once('-') else {
        // A step needs a range.
        return number(range).filter(|_| !part.contains(':')).map(|one| (one, one, 1));
    };
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last, step))
}

fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse::<u32>().ok()).flatten().filter(|number| *number < 1 << 31).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_items_is_said() {
        for (text, fault) in [
            ("5-1", "\"5-1\" goes backwards: expected 1-5"),
            ("1,10-1", "\"10-1\" goes backwards: expected 1-10"),
            ("1-10:0", "\"1-10:0\" has the step 0: expected 1 or more"),
            ("1-99999999999", "99999999999 is above the largest item, 2147483647"),
            ("-3-5", "\"-3-5\" begins with -: items begin at 0"),
            ("a", "expected items such as 1-1000 or 3,5,10-100:10"),
            ("1-", "expected items such as 1-1000 or 3,5,10-100:10"),
        ] {
            assert_eq!((count_items(text), items_fault(text).as_str()), (None, fault), "{text}");
        }
    }

    #[test]
    fn what_is_not_done_is_written_as_array_takes_it() {
        let without = |text: &str, done: &[u32]| items_without(text, &done.iter().copied().collect(), 1_000);
        assert_eq!(without("1-4", &[]).as_deref(), Some("1-4"), "none of them ran");
        assert_eq!(without("1-10,20", &[1, 4, 5, 20]).as_deref(), Some("2-3,6-10"));
        assert_eq!(without("10-30:10", &[20]).as_deref(), Some("10,30"));
        assert_eq!(without("1-2", &[1, 2]).as_deref(), Some(""));
        assert_eq!((without("5-1", &[]), without("1-1001", &[])), (None, None));
    }

    #[test]
    fn ranges_have_both_ends_and_steps() {
        for (text, count) in
            [("7", 1), ("1-1000", 1_000), ("0-0", 1), ("3,5,10-100:10", 12), ("1-10:4", 3), ("0-2147483647", 1 << 31)]
        {
            assert_eq!(count_items(text), Some(count), "{text}");
        }
        for text in ["", "a", "1,", "5-1", "1-5:0", "7:2", "-1", "1-", "+1", "2147483648", "1 -2"] {
            assert_eq!(count_items(text), None, "{text}");
        }
    }
}

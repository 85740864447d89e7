//! Items as they are written: `1-1000`, `3,5,10-100:10`.

/// Counts items: parts `N`, `N-M` or `N-M:STEP`, joined by commas. `None`: not written so. Whether one comes twice is the
/// server's question.
pub fn count_items(text: &str) -> Option<u64> {
    text.split(',').map(count_part).sum()
}

fn count_part(part: &str) -> Option<u64> {
    let (range, step) = part.split_once(':').map_or((part, None), |(range, step)| (range, Some(step)));
    let step = step.map_or(Some(1), number).filter(|step| *step > 0)?;
    let Some((first, last)) = range.split_once('-') else {
        // A step needs a range.
        return number(range).filter(|_| !part.contains(':')).map(|_| 1);
    };
    Some(number(last)?.checked_sub(number(first)?)? / step + 1)
}

fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse::<u32>().ok()).flatten().filter(|number| *number < 1 << 31).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

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

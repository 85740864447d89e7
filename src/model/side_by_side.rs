//! Walks of sorted rows side by side, without a look-up for each.

use std::cmp::Ordering;
use std::iter::Peekable;

/// The next row that stands where `compare` finds it equal; those before it are passed over.
pub(crate) fn row_at<I: Iterator>(rows: &mut Peekable<I>, compare: impl Fn(&I::Item) -> Ordering) -> Option<I::Item> {
    loop {
        match compare(rows.peek()?) {
            Ordering::Less => rows.next(),
            Ordering::Equal => return rows.next(),
            Ordering::Greater => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_before_are_passed_over_and_those_behind_are_kept() {
        let mut rows = [1, 3, 4, 7].into_iter().peekable();
        let found = [0, 1, 2, 4, 5, 7, 8].map(|at| row_at(&mut rows, |row| row.cmp(&at)));
        assert_eq!(found, [None, Some(1), None, Some(4), None, Some(7), None]);
    }
}

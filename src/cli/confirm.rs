//! Asks before a command changes what options choose.

use std::io::{IsTerminal as _, Write as _};

use crate::model::counted;

use super::interrupt::read_answer;

/// Shows a list and asks on a terminal whether to `change` it, such as "kill these 3 jobs".
///
/// # Errors
/// There is no terminal: what to give instead.
pub(super) async fn confirm(list: &str, change: &str) -> Result<bool, String> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(format!("{list}to {change}, add --yes"));
    }
    let capital: String = change.chars().take(1).flat_map(char::to_uppercase).chain(change.chars().skip(1)).collect();
    eprint!("{list}{capital}? y and Enter: ");
    // Even if the question cannot be shown, the answer counts.
    let _ = std::io::stderr().flush();
    Ok(read_answer().await.is_some_and(|answer| answer.trim().eq_ignore_ascii_case("y")))
}

/// "this job", or "these 3 jobs".
pub(super) fn these(count: usize, what: &str) -> String {
    if count == 1 { format!("this {what}") } else { format!("these {}", counted(count, what)) }
}

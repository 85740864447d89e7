//! Questions to the user: before a change, and on Ctrl-C while a job or an application is followed.

use std::io::{IsTerminal as _, Write as _};

use tokio::sync::oneshot;

use crate::model::counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Kill,
    /// Exit; it keeps running.
    Detach,
    Continue,
}

/// Asks what to do with `what`, such as `job`; a second Ctrl-C detaches. `None`: there is no terminal to ask.
pub(super) async fn prompt(what: &str) -> Option<Choice> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    eprint!("\n[k]ill the {what}, [d]etach from it (so does Ctrl-C), or [c]ontinue? A letter and Enter: ");
    // Even if the prompt cannot be shown, the answer counts.
    let _ = std::io::stderr().flush();
    Some(tokio::select! {
        answer = read_answer() => answer.as_deref().map_or(Choice::Detach, choice),
        _ = tokio::signal::ctrl_c() => {
            eprintln!();
            Choice::Detach
        }
    })
}

/// The next line of stdin, read on a thread that may outlive the wait.
pub(super) async fn read_answer() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let is_there = std::io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0);
        // The receiver may be gone.
        let _ = send.send(is_there.then_some(line));
    });
    receive.await.ok().flatten()
}

fn choice(answer: &str) -> Choice {
    match answer.trim().chars().next().map(|first| first.to_ascii_lowercase()) {
        Some('k') => Choice::Kill,
        Some('d') => Choice::Detach,
        _ => Choice::Continue,
    }
}

/// Shows a list and asks on a terminal whether to `change` it, such as "kill these 3 jobs".
/// Without a terminal the error says what to give instead.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_kills() {
        assert_eq!(
            ["k\n", " Kill", "d", "", "\n", "what"].map(choice),
            [Choice::Kill, Choice::Kill, Choice::Detach, Choice::Continue, Choice::Continue, Choice::Continue]
        );
    }
}

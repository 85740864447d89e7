//! Ctrl-C while following a job or an application: kill it, detach from it, or continue.

use std::io::{IsTerminal, Write};

use tokio::sync::oneshot;

/// The user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Kill it.
    Kill,
    /// Exit; it keeps running.
    Detach,
    /// Keep following it.
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

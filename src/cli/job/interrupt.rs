//! What Ctrl-C means while a job is followed: kill it, leave it, or go on.

use std::io::{IsTerminal, Write};

use tokio::sync::oneshot;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The job shall end.
    Kill,
    /// The job goes on, this program ends.
    Detach,
    /// Both go on.
    GoOn,
}

/// Asks whoever sits there; a second Ctrl-C leaves the job, and so does one where nobody sits.
pub(super) async fn ask() -> Choice {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Choice::Detach;
    }
    eprint!("\n[k]ill the job, [d]etach from it (so does Ctrl-C), or [g]o on? ");
    // A terminal that shows nothing takes answers all the same.
    let _ = std::io::stderr().flush();
    tokio::select! {
        answer = answer() => answer.as_deref().map_or(Choice::Detach, choice),
        _ = tokio::signal::ctrl_c() => {
            eprintln!();
            Choice::Detach
        }
    }
}

/// The next line of stdin, read on a thread that need not come to its end.
async fn answer() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let is_there = std::io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0);
        // Nobody may wait any more.
        let _ = send.send(is_there.then_some(line));
    });
    receive.await.ok().flatten()
}

fn choice(answer: &str) -> Choice {
    match answer.trim().chars().next().map(|first| first.to_ascii_lowercase()) {
        Some('k') => Choice::Kill,
        Some('d') => Choice::Detach,
        _ => Choice::GoOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_kills() {
        assert_eq!(
            ["k\n", " Kill", "d", "", "\n", "what"].map(choice),
            [Choice::Kill, Choice::Kill, Choice::Detach, Choice::GoOn, Choice::GoOn, Choice::GoOn]
        );
    }
}

//! Pieces of text on a page: words of ours, texts of clients, numbers, moments, states.

use jiff::Timestamp;

use crate::api::TaskState;
use crate::model::{PerKind, RunState};

use super::super::time_text::format_time;

/// Largest number of characters shown of a text that clients choose; the whole is in its title.
const MOST_CHARACTERS: usize = 120;
const MOST_TITLE_CHARACTERS: usize = 1_000;

/// Largest number of characters of words that are shown whole.
const MOST_WORDS_CHARACTERS: usize = 4_096;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// Words of ours.
    Text(String),
    /// A text that a client chose.
    Foreign(Foreign),
    /// A command or a path, to copy.
    Code(String),
    /// A link; its text may be a client's.
    Link {
        to: String,
        text: Foreign,
    },
    Moment {
        iso: String,
        text: String,
    },
    /// A number that lives: its name and value are in the page as data.
    Number {
        metric: &'static str,
        value: String,
        shown: String,
    },
    /// A state, by colour, shape and word.
    State(ShownState),
    /// A number out of a whole.
    Part {
        metric: &'static str,
        of: u64,
        whole: u64,
        label: String,
    },
    Bar(StateBar),
}

/// A text that a client chose, with control characters as symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    pub(super) shown: String,
    /// The whole; none: it is shown.
    pub(super) whole: Option<String>,
}

/// A state, as it is shown: the class of its colour, its word and the shape of its mark in a box of 12 by 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShownState {
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) shape: &'static str,
}

/// Tasks by state, as a bar of 100 by 8.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StateBar {
    pub(super) label: String,
    pub(super) parts: Vec<BarPart>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct BarPart {
    pub(super) class: &'static str,
    pub(super) count: u64,
    pub(super) x: String,
    pub(super) width: String,
}

pub(super) type Cell = Vec<Piece>;

impl Piece {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A text that a client chose.
    pub(super) fn foreign(text: &str) -> Self {
        Self::Foreign(Foreign::new(text))
    }

    /// A sentence of ours with texts of clients in it.
    pub(super) fn sentence(text: &str) -> Self {
        Self::Foreign(Foreign { shown: words_of(text).replace('\n', " "), whole: None })
    }

    pub(super) fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }

    /// A link to an address of ours.
    pub(super) fn link(to: impl Into<String>, text: &str) -> Self {
        Self::Link { to: to.into(), text: Foreign::new(text) }
    }

    pub(super) fn moment(epoch_ms: i64) -> Self {
        Self::Moment { iso: iso_text(epoch_ms), text: format_time(epoch_ms) }
    }

    pub(super) fn number(metric: &'static str, value: impl ToString) -> Self {
        let value = value.to_string();
        Self::Number { metric, shown: value.clone(), value }
    }

    /// A number that is shown in another form.
    pub(super) fn shown(metric: &'static str, value: impl ToString, shown: impl Into<String>) -> Self {
        Self::Number { metric, value: value.to_string(), shown: shown.into() }
    }

    /// A number out of a whole.
    pub(super) fn part(metric: &'static str, of: impl Into<u64>, whole: impl Into<u64>, label: &str) -> Self {
        Self::Part { metric, of: of.into(), whole: whole.into(), label: label.to_owned() }
    }

    /// As it stands in a line of CSV.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Code(text) => text.clone(),
            Self::Foreign(text) | Self::Link { text, .. } => text.whole().to_owned(),
            Self::Moment { iso, .. } => iso.clone(),
            Self::Number { value, .. } => value.clone(),
            Self::State(state) => state.word.to_owned(),
            Self::Part { of, whole, .. } => format!("{of}/{whole}"),
            Self::Bar(bar) => bar.label.clone(),
        }
    }
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl Foreign {
    pub(super) fn new(text: &str) -> Self {
        let clean = without_controls(text);
        match clean.char_indices().nth(MOST_CHARACTERS) {
            None => Self { shown: clean, whole: None },
            Some((end, _)) => Self {
                shown: format!("{}…", clean.get(..end).unwrap_or_default()),
                whole: Some(clean.chars().take(MOST_TITLE_CHARACTERS).collect()),
            },
        }
    }

    /// The text, as whole as it is known.
    pub(super) fn whole(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.shown)
    }
}

/// A text with control characters as their symbols, and without marks that change the direction of what follows.
pub(super) fn without_controls(text: &str) -> String {
    let symbol = |c: char| match c {
        '\n' | '\t' => ' ',
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    };
    text.chars().map(symbol).collect()
}

/// The words of a client in their lines, cut where they are very long.
pub(super) fn words_of(text: &str) -> String {
    let lines = text.split('\n').map(without_controls).collect::<Vec<_>>().join("\n");
    match lines.char_indices().nth(MOST_WORDS_CHARACTERS) {
        None => lines,
        Some((end, _)) => format!("{}…", lines.get(..end).unwrap_or_default()),
    }
}

/// A moment as programs read it, to the millisecond; empty outside the calendar.
pub(super) fn iso_text(epoch_ms: i64) -> String {
    Timestamp::from_millisecond(epoch_ms).map(|time| time.to_string()).unwrap_or_default()
}

impl ShownState {
    const fn new(class: &'static str, word: &'static str, shape: &'static str) -> Self {
        Self { class, word, shape }
    }

    pub(super) const fn of_job(state: RunState) -> Self {
        match state {
            RunState::Prep => Self::new("waiting", "preparing", Self::of_task(TaskState::Waiting).shape),
            RunState::Running => Self::of_task(TaskState::Running),
            RunState::Succeeded => Self::of_task(TaskState::Succeeded),
            RunState::Failed => Self::of_task(TaskState::Failed),
            RunState::Killed => Self::of_task(TaskState::Killed),
        }
    }

    pub(super) const fn of_task(state: TaskState) -> Self {
        let shape = match state {
            TaskState::Waiting => "M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10zm0 2a3 3 0 1 1 0 6a3 3 0 1 1 0-6z",
            TaskState::Running => "M3 1l8 5l-8 5z",
            TaskState::Succeeded => "M1 6l2-2l2 2l5-5l1 2l-6 7z",
            TaskState::Failed => "M1 3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z",
            TaskState::Killed => "M1 4h10v4h-10z",
            TaskState::Preempted => "M1 6l4-4v3h6v2h-6v3z",
        };
        Self::new(state.word(), state.word(), shape)
    }

    /// The state of what is like a task, by another word.
    pub(super) const fn of_named_task(state: TaskState, word: &'static str) -> Self {
        Self { word, ..Self::of_task(state) }
    }

    /// A good or a bad word with the mark of success or failure.
    pub(super) const fn of_health(is_good: bool, word: &'static str) -> Self {
        let like = Self::of_task(if is_good { TaskState::Succeeded } else { TaskState::Failed });
        Self::new(like.class, word, like.shape)
    }

    /// A word for what is neither.
    pub(super) const fn of_note(word: &'static str) -> Self {
        let like = Self::of_task(TaskState::Preempted);
        Self::new(like.class, word, like.shape)
    }
}

impl StateBar {
    /// The tasks of a job: finished, running; the rest waits, or was killed if the job is over.
    pub(super) fn of_tasks(tasks: PerKind<u32>, finished: PerKind<u32>, running: PerKind<u32>, is_over: bool) -> Self {
        let sum = |counts: PerKind<u32>| u64::from(counts.map) + u64::from(counts.reduce);
        let (all, done) = (sum(tasks), sum(finished));
        let runs = sum(running).min(all.saturating_sub(done));
        let left = all.saturating_sub(done + runs);
        let label = format!("{done} of {all} tasks done, {runs} running, {left} not");
        let state_of_left = if is_over { TaskState::Killed } else { TaskState::Waiting };
        let states = [(TaskState::Succeeded, done), (TaskState::Running, runs), (state_of_left, left)];
        Self::new(label, states.into_iter().map(|(state, count)| (state.word(), count)))
    }

    fn new(label: String, counts: impl IntoIterator<Item = (&'static str, u64)>) -> Self {
        let counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        let all = counts.iter().map(|(_, count)| count).sum::<u64>().max(1);
        let mut before = 0;
        let hundredths = |count: u64| {
            let exact = u128::from(count) * 10_000 / u128::from(all);
            let text = format!("{}.{:02}", exact / 100, exact % 100);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let parts = counts.into_iter().map(|(class, count)| {
            let x = hundredths(before);
            before += count;
            BarPart { class, count, x, width: hundredths(count) }
        });
        Self { label, parts: parts.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_texts_are_cut_and_their_controls_are_symbols() {
        let Foreign { shown, whole } = Foreign::new("a\u{1b}[0m\u{202e}b\nc");
        assert_eq!((&*shown, whole), ("a\u{241b}[0m\u{fffd}b c", None));
        assert_eq!(words_of("a\r\nb\u{0}"), "a\u{240d}\nb\u{2400}");
        let long = Foreign::new(&"ä".repeat(121));
        assert_eq!(long.shown, format!("{}…", "ä".repeat(120)));
        assert_eq!(long.whole(), "ä".repeat(121));
    }

    #[test]
    fn widths_of_a_bar_are_the_counts() {
        let bar = StateBar::of_tasks(PerKind::new(6, 2), PerKind::new(2, 0), PerKind::new(1, 1), false);
        let parts: Vec<_> = bar.parts.iter().map(|part| (part.class, part.count, &*part.x, &*part.width)).collect();
        assert_eq!(parts, [("succeeded", 2, "0", "25"), ("running", 2, "25", "25"), ("waiting", 4, "50", "50")]);
        assert_eq!(bar.label, "2 of 8 tasks done, 2 running, 4 not");
        let ended = StateBar::of_tasks(PerKind::new(4, 0), PerKind::new(1, 0), PerKind::default(), true);
        assert_eq!(
            ended.parts.iter().map(|part| (part.class, part.count)).collect::<Vec<_>>(),
            [("succeeded", 1), ("killed", 3)]
        );
    }
}

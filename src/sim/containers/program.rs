//! What a container of a player runs, written into its command, from which the worker reads it.

use crate::model::LaunchContext;

/// A program whose times its owner decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Program {
    /// How long it runs by itself, ms.
    pub(in crate::sim) run_ms: u64,
    /// Whether only KILL ends it before.
    pub(in crate::sim) ignores_term: bool,
    /// Time between TERM and KILL that it asks for, ms.
    pub(in crate::sim) kill_grace_ms: u64,
}

const NAME: &str = "played";

impl Program {
    pub(in crate::sim) fn context(self) -> LaunchContext {
        let Self { run_ms, ignores_term, kill_grace_ms } = self;
        let command = vec![NAME.to_owned(), run_ms.to_string(), ignores_term.to_string()];
        LaunchContext { kill_grace_ms, ..LaunchContext::of_command(command) }
    }

    /// That of a context; none: another one.
    pub(in crate::sim) fn of(context: &LaunchContext) -> Option<Self> {
        let [name, run_ms, ignores_term] = context.command.as_slice() else { return None };
        let (run_ms, ignores_term) = (run_ms.parse().ok()?, ignores_term.parse().ok()?);
        (name == NAME).then_some(Self { run_ms, ignores_term, kill_grace_ms: context.kill_grace_ms })
    }
}

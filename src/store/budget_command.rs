//! Budgets behind a program of the administrator: every database that has a command line.

use std::fs::File;
use std::io::{Seek, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::market::{BudgetLine, budget_file};
use crate::program::{ProgramError, ProgramOutput, RunningPrograms};

use super::budget_file::{BudgetBackEnd, BudgetBackEndError, Interrupter};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Three times the size that the most queues need.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// All of its environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The word of the first publication of a start.
const FIRST: &str = "first";
/// Characters of its error output that are repeated.
const SHOWN_CHARACTERS: usize = 200;

/// `PROGRAM ARGUMENTS… load` prints lines of the budget file; `PROGRAM ARGUMENTS… publish TICK` reads them, with `first`
/// behind it until one of this start has succeeded: the tick may be earlier than that of a state before.
///
/// No shell stands between: it is run as this process's user, in `/`, with no environment but `PATH`, one call at a
/// time, and is killed with its process group where it takes or prints too much.
#[derive(Debug)]
pub struct CommandBackEnd {
    words: Vec<String>,
    programs: Arc<RunningPrograms>,
    timeout: Duration,
    has_published: bool,
}

impl CommandBackEnd {
    /// The back-end of a program and its first arguments.
    pub fn new(words: Vec<String>) -> Self {
        Self { words, programs: Arc::default(), timeout: TIMEOUT, has_published: false }
    }

    /// The same with another timeout.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    fn run(&self, action: &'static str, arguments: &[&str], input: Stdio) -> Result<Vec<u8>, BudgetBackEndError> {
        let failed = |reason: String, is_permanent| {
            let place = self.place();
            Err(BudgetBackEndError::BackEnd { action, place, reason, is_permanent })
        };
        let (program, first) = self.words.split_first().map_or(("", &[][..]), |(program, first)| (&**program, first));
        let mut command = Command::new(program);
        command.args(first).args(arguments).env_clear().env("PATH", PATH).current_dir("/");
        match self.programs.run_with_input(&mut command, input, self.timeout, MAX_OUTPUT_BYTES) {
            Ok(ProgramOutput { status, stdout, .. }) if status.success() => Ok(stdout),
            Ok(ProgramOutput { status, stderr, .. }) => match shown(&stderr) {
                text if text.is_empty() => failed(format!("it ended with {status} and printed no error"), false),
                text => failed(format!("it ended with {status}: {text}"), false),
            },
            Err(error @ ProgramError::Io(_)) => failed(format!("it {error}"), true),
            Err(error) => failed(format!("it {error}"), false),
        }
    }

    fn input(&self, text: &str) -> Result<Stdio, BudgetBackEndError> {
        let written = memfd_create("budgets", MemfdFlags::CLOEXEC).map_err(std::io::Error::from).and_then(|file| {
            let mut file = File::from(file);
            file.write_all(text.as_bytes())?;
            file.rewind()?;
            Ok(file)
        });
        written.map(Stdio::from).map_err(|error| BudgetBackEndError::BackEnd {
            action: "publish",
            place: self.place(),
            reason: format!("no memory for its input: {error}"),
            is_permanent: false,
        })
    }
}

impl BudgetBackEnd for CommandBackEnd {
    fn place(&self) -> String {
        format!("program {}", self.words.first().map_or("", |program| &**program))
    }

    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let printed = self.run("load", &["load"], Stdio::null())?;
        let refused = |reason: &str| BudgetBackEndError::BackEnd {
            action: "load",
            place: self.place(),
            reason: reason.to_owned(),
            is_permanent: true,
        };
        let text = String::from_utf8(printed).map_err(|_| refused("it printed no UTF-8"))?;
        // Half a number is a number, too.
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(refused("its last line has no end: it printed half of it"));
        }
        let lines = budget_file::parse(&text, &self.place())?;
        if lines.is_empty() {
            tracing::warn!("{} printed no budgets at `load`: there is no queue, and no money", self.place());
        }
        Ok(lines)
    }

    /// The program is given the tick, so that it can leave an earlier one out.
    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError> {
        let input = self.input(&budget_file::render(accounts))?;
        let tick = tick.to_string();
        let arguments = ["publish", &tick, FIRST];
        let arguments = if self.has_published { &arguments[..2] } else { &arguments[..] };
        self.run("publish", arguments, input)?;
        self.has_published = true;
        Ok(())
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let programs = Arc::clone(&self.programs);
        Some(Box::new(move || programs.stop()))
    }
}

/// The beginning of an error output, in one line.
fn shown(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().filter(|character| !character.is_control()).take(SHOWN_CHARACTERS).collect()
}

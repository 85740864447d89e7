//! Which option is at fault where the server refuses a member of the body.

use crate::client::applications::{Fault, FaultPlace, RunSubmission};

/// The option that has made the member a fault points to; `None` if none has.
pub(super) fn option_at(fault: &Fault, submission: &RunSubmission) -> Option<String> {
    let FaultPlace::Body(steps) = &fault.place else { return None };
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let items = match submission.context.values_from {
        Some(_) => "--each-line",
        None => "--array",
    };
    let option = match steps.as_slice() {
        ["application-name"] => "--name",
        ["queue"] => "--queue",
        ["specs", _, "local-resources", name, ..] if submission.context.values_from.as_deref() == Some(*name) => items,
        ["specs", _, member @ ..] => return of_context(member),
        ["ask", _, "capability", "memory"] => "--memory",
        ["ask", _, "capability", "vCores"] => "--cores",
        ["ask", _, "capability"] => "--memory and --cores",
        ["ask", _, "num-containers"] | ["ask", _, "launch", "items"] => items,
        ["ask", _, "launch", "max-attempts"] => "--max-attempts",
        ["ask", _, "launch", "max-running"] => "--max-running",
        ["ask", _, "launch", "max-fails"] => "--max-fails",
        _ => return None,
    };
    Some(option.to_owned())
}

/// The option of a member of the launch context.
fn of_context(member: &[&str]) -> Option<String> {
    Some(match member {
        ["command", number] => match number.parse::<usize>() {
            Ok(0) => "the program of COMMAND".to_owned(),
            _ => format!("argument {number} of COMMAND"),
        },
        ["command"] | ["placeholder"] => "COMMAND".to_owned(),
        ["environment"] => "--env".to_owned(),
        ["environment", name, ..] => format!("--env {name}"),
        ["values-from"] => "--each-line".to_owned(),
        ["local-resources"] => "--file".to_owned(),
        ["local-resources", name, ..] => format!("--file {name}"),
        ["working-directory"] => "--cwd".to_owned(),
        ["stdout"] => "--stdout".to_owned(),
        ["stderr"] => "--stderr".to_owned(),
        ["time-limit-ms"] => "--time-limit".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Capability, LaunchContext};

    #[test]
    fn members_lead_to_options() {
        let context = LaunchContext::of_command(vec!["true".to_owned()]);
        let (name, capability) = ("true".to_owned(), Capability::new(1024, 1));
        let mut submission = RunSubmission { name, queue: None, capability, context, work: None };
        let option = |pointer: &str, submission: &RunSubmission| {
            let steps = pointer.split('/').map(str::to_owned).collect();
            option_at(&Fault { place: FaultPlace::Body(steps), detail: String::new() }, submission)
        };
        for (pointer, expected) in [
            ("ask/0/capability/memory", Some("--memory")),
            ("ask/0/launch/items", Some("--array")),
            ("specs/run/environment/A", Some("--env A")),
            ("specs/run/command/0", Some("the program of COMMAND")),
            ("specs/run/command/2", Some("argument 2 of COMMAND")),
            ("specs/run/local-resources/data/size", Some("--file data")),
            ("specs/run/working-directory", Some("--cwd")),
            ("unattended", None),
        ] {
            assert_eq!(option(pointer, &submission).as_deref(), expected, "{pointer}");
        }
        submission.context.values_from = Some("names".to_owned());
        assert_eq!(option("ask/0/launch/items", &submission).as_deref(), Some("--each-line"));
        let lines = option("specs/run/local-resources/names/size", &submission);
        assert_eq!(lines.as_deref(), Some("--each-line"));
    }
}

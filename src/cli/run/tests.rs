//! Commands followed against a server of the tests.

use std::io::{self, Write};

use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::api::applications::{
    ApplicationReport, ApplicationState, ContainerReport, ContainerState, ItemRules, ReportedFinalStatus,
};
use crate::cli::exit_code::HasExitCode;
use crate::cli::prompts::Choice;
use crate::client::applications::WorkItems;
use crate::client::applications::tests::{
    APPLICATION, FakeServer, Reply, Sent, example_application, example_container,
};
use crate::model::{Capability, ContainerExit, LaunchContext};

use super::*;

/// What there is to see at one moment.
#[derive(Clone)]
struct Moment {
    app: ApplicationReport,
    containers: Vec<ContainerReport>,
}

/// A server that passes from moment to moment with each report asked for, and stays in the last; a kill leads to an end of its own.
struct Stage {
    moments: Vec<Moment>,
    at: Option<usize>,
    killed: Option<Moment>,
    /// Sends these signals when a request comes that contains the text.
    signals: Vec<(&'static str, u8)>,
    interrupts: UnboundedSender<u8>,
    worker: String,
    /// Whether submissions are never answered.
    holds_submission: bool,
    /// Ids that are forgotten before they are used.
    forgets: u32,
}

/// How a run went.
struct Ran {
    outcome: Result<(String, u8), AppCommandError>,
    stdout: String,
    stderr: String,
    sent: Vec<Sent>,
}

impl Stage {
    fn answer(&mut self, sent: &Sent) -> Reply {
        let what = format!("{} {}", sent.method, sent.target);
        if let Some(at) = self.signals.iter().position(|(text, _)| what.contains(text)) {
            self.interrupts.send(self.signals.remove(at).1).unwrap();
        }
        let path = sent.target.split('?').next().unwrap();
        match (sent.method.as_str(), path.trim_start_matches("/ws/v1/cluster")) {
            ("POST", "/apps/new-application") => Reply::json(json!({ "application-id": APPLICATION })),
            ("POST", "/apps") if self.holds_submission => Reply::Held,
            ("POST", "/apps") if self.forgets > 0 => {
                self.forgets -= 1;
                let body = json!({ "type": "/problems/no-such-application", "detail": "forgotten" }).to_string();
                Reply::Answer { status: "404 Not Found", headers: String::new(), body: body.into_bytes() }
            }
            ("POST", "/apps") => Reply::json(json!({ "application-id": APPLICATION })),
            ("PUT", _) => {
                if let Some(end) = self.killed.take() {
                    self.moments = vec![end];
                    self.at = None;
                }
                let body = json!({ "state": "KILLED" }).to_string().into_bytes();
                Reply::Answer { status: "202 Accepted", headers: String::new(), body }
            }
            ("GET", path) if path.ends_with("/containers") => {
                Reply::json(json!({ "containers": { "container": self.now().containers }, "next": null }))
            }
            ("GET", path) if path.starts_with("/apps/") => {
                let next = self.at.map_or(0, |at| (at + 1).min(self.moments.len() - 1));
                self.at = Some(next);
                Reply::json(json!({ "app": self.now().app }))
            }
            ("GET", path) => {
                let log = path.trim_start_matches("/containers/");
                Reply::redirect(&format!("http://{}/{log}?ticket=1", self.worker))
            }
            _ => panic!("{what}"),
        }
    }

    fn now(&self) -> &Moment {
        &self.moments[self.at.unwrap_or(0)]
    }
}

/// Runs what is submitted through these moments.
async fn run_through(
    work: Option<WorkItems>,
    moments: Vec<Moment>,
    change: impl FnOnce(&mut Stage),
    stdout: &mut dyn Write,
) -> Ran {
    let worker = FakeServer::start(|sent| match sent.target.split(['/', '?']).collect::<Vec<_>>()[..] {
        // Two pieces, so that an offset counts.
        [_, id, _, log, _] => {
            let text = format!("{log} of {}\n", id.rsplit('_').next().unwrap());
            let start: usize = sent.target.split("start=").nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
            Reply::bytes(&text.as_bytes()[start..])
        }
        _ => panic!("{sent:?}"),
    })
    .await;
    let (interrupts, mut received) = unbounded_channel();
    let mut stage = Stage {
        moments,
        at: None,
        killed: None,
        signals: Vec::new(),
        interrupts: interrupts.clone(),
        worker: worker.address.clone(),
        holds_submission: false,
        forgets: 0,
    };
    change(&mut stage);
    let server = FakeServer::start(move |sent| stage.answer(sent)).await;
    let client = ApplicationClient::new(server.address.clone(), "alice".to_owned(), None, || 0).impatient();
    let context = LaunchContext::of_command(vec!["true".to_owned()]);
    let (name, capability) = ("true".to_owned(), Capability::new(512, 1));
    let submission = RunSubmission { name, queue: None, capability, context, work };
    let mut stderr = Vec::new();
    let outputs = Outputs { stdout, stderr: &mut stderr };
    let outcome = run_submission(&client, &submission, false, OutputForm::Table, outputs, &mut received).await;
    let stderr = String::from_utf8(stderr).unwrap();
    Ran { outcome, stdout: String::new(), stderr, sent: server.sent() }
}

async fn run_command(moments: Vec<Moment>, change: impl FnOnce(&mut Stage)) -> Ran {
    let mut stdout = Vec::new();
    let ran = run_through(None, moments, change, &mut stdout).await;
    Ran { stdout: String::from_utf8(stdout).unwrap(), ..ran }
}

/// Moments of which each has another version.
fn moments(of: Vec<Moment>) -> Vec<Moment> {
    let numbered = of.into_iter().zip(10..);
    numbered.map(|(moment, version)| Moment { app: ApplicationReport { version, ..moment.app }, ..moment }).collect()
}

fn running(containers: Vec<ContainerReport>) -> Moment {
    Moment { app: example_application(), containers }
}

fn over(state: ApplicationState, final_status: ReportedFinalStatus, containers: Vec<ContainerReport>) -> Moment {
    let app = ApplicationReport { state, final_status, version: 99, running_containers: 0, ..example_application() };
    Moment { app, containers }
}

fn ended(number: u64, status: i32) -> ContainerReport {
    let (state, exit_status) = (ContainerState::Complete, ContainerExit(status));
    ContainerReport { state, exit_status, diagnostics: "why".to_owned(), ..example_container(number) }
}

fn killed() -> Moment {
    over(ApplicationState::Killed, ReportedFinalStatus::Killed, vec![ended(1, -106)])
}

fn has_killed(ran: &Ran) -> bool {
    ran.sent.iter().any(|sent| sent.method == "PUT" && sent.body == r#"{"state":"KILLED"}"#)
}

#[tokio::test]
async fn output_and_exit_code_are_those_of_the_command() {
    let finished = |status| over(ApplicationState::Finished, ReportedFinalStatus::Failed, vec![ended(1, status)]);
    for (status, code) in [(0, 0), (3, 3), (137, 137), (-1000, 1), (-200, 1)] {
        let moments = moments(vec![running(Vec::new()), running(vec![example_container(1)]), finished(status)]);
        let ran = run_command(moments, |_| {}).await;
        assert_eq!(ran.outcome.unwrap(), (String::new(), code));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("stdout of 000001\n", "stderr of 000001\n"));
    }
}

#[tokio::test]
async fn an_id_that_a_restart_of_the_server_has_forgotten_is_followed_by_another() {
    let finished = over(ApplicationState::Finished, ReportedFinalStatus::Succeeded, vec![ended(1, 0)]);
    let ran = run_command(vec![finished.clone()], |stage| stage.forgets = 1).await;
    let new_ids = ran.sent.iter().filter(|sent| sent.target.contains("/apps/new-application")).count();
    assert_eq!((ran.outcome.unwrap().1, new_ids), (0, 2));
    let ran = run_command(vec![finished], |stage| stage.forgets = u32::MAX).await;
    assert!(ran.outcome.unwrap_err().to_string().contains("forgotten"), "not without end");
}

#[tokio::test]
async fn a_container_that_others_have_ended_is_followed_by_another() {
    let finished = over(ApplicationState::Finished, ReportedFinalStatus::Succeeded, vec![ended(1, -100), ended(2, 0)]);
    let moments = moments(vec![running(vec![ended(1, -100)]), finished]);
    let ran = run_command(moments, |_| {}).await;
    assert_eq!((ran.outcome.unwrap().1, ran.stdout.as_str()), (0, "stdout of 000001\nstdout of 000002\n"));
}

#[tokio::test]
async fn an_application_that_ended_without_a_container_has_failed() {
    let ran = run_command(vec![over(ApplicationState::Killed, ReportedFinalStatus::Killed, Vec::new())], |_| {}).await;
    assert_eq!((ran.outcome.unwrap().1, ran.stdout.as_str()), (1, ""));
}

#[tokio::test]
async fn a_killed_application_is_followed_until_its_container_has_ended() {
    let mut ending = over(ApplicationState::Killed, ReportedFinalStatus::Killed, vec![example_container(1)]);
    ending.app.running_containers = 1;
    let ran = run_command(moments(vec![ending, killed()]), |_| {}).await;
    assert_eq!((ran.outcome.unwrap().1, ran.stdout.as_str()), (1, "stdout of 000001\n"));
}

#[tokio::test]
async fn the_first_interrupt_kills() {
    let ran = run_command(moments(vec![running(vec![example_container(1)])]), |stage| {
        (stage.killed, stage.signals) = (Some(killed()), vec![("/containers?", 15)]);
    })
    .await;
    assert_eq!(ran.outcome.as_ref().unwrap().1, 143);
    assert!(has_killed(&ran));
    assert_eq!(ran.stdout, "stdout of 000001\n", "what it wrote until then");
}

#[tokio::test]
async fn the_second_interrupt_waits_for_nothing() {
    let ran = run_command(moments(vec![running(vec![example_container(1)])]), |stage| {
        stage.signals = vec![("/containers?", 2), ("PUT", 2)];
    })
    .await;
    assert_eq!(ran.outcome.as_ref().unwrap().1, 130);
    assert!(has_killed(&ran));
}

#[tokio::test]
async fn an_interrupt_kills_what_is_being_submitted() {
    let ran = run_command(vec![running(Vec::new())], |stage| {
        (stage.holds_submission, stage.signals) = (true, vec![("POST /ws/v1/cluster/apps?", 2)]);
    })
    .await;
    assert_eq!(ran.outcome.as_ref().unwrap().1, 130);
    assert!(has_killed(&ran));
}

/// The end of a pipe that nothing reads.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_command_whose_output_nothing_reads_is_killed() {
    let moments = moments(vec![running(vec![example_container(1)])]);
    let ran = run_through(None, moments, |_| {}, &mut ClosedPipe).await;
    assert_eq!(ran.outcome.as_ref().unwrap().1, 141);
    assert!(has_killed(&ran));
}

#[tokio::test]
async fn items_fail_together() {
    let work = || Some(WorkItems { items: "1-3".into(), count: 3, max_running: None, rules: Default::default() });
    let again = "again   --array 1-3\n";
    for (final_status, code, hint) in [(ReportedFinalStatus::Succeeded, 0, ""), (ReportedFinalStatus::Failed, 1, again)]
    {
        let moments = moments(vec![running(Vec::new()), over(ApplicationState::Finished, final_status, Vec::new())]);
        let ran = run_through(work(), moments, |_| {}, &mut Vec::new()).await;
        let (text, ended_with) = ran.outcome.unwrap();
        assert_eq!(ended_with, code);
        assert_eq!(text, format!("{APPLICATION} {}\n{hint}", final_status.name()));
    }
}

#[tokio::test]
async fn items_that_failed_say_why_once() {
    let containers = [1_u32, 2].map(|item| ContainerReport { item: Some(item), ..ended(item.into(), 3) });
    let mut end = over(ApplicationState::Finished, ReportedFinalStatus::Failed, Vec::from(containers));
    end.app.failed_items = "1-2".to_owned();
    let work = WorkItems { items: "1-2".into(), count: 2, max_running: None, rules: Default::default() };
    let ran = run_through(Some(work), moments(vec![running(Vec::new()), end]), |_| {}, &mut Vec::new()).await;
    let (text, code) = ran.outcome.unwrap();
    let expected = "FAILED\nitem 1: why\n  stderr of 000001\n1 more item failed the same way\nfailed  1-2\n";
    assert!(code == 1 && text.starts_with(&format!("{APPLICATION} {expected}")), "{text}");
}

#[tokio::test]
async fn an_interrupt_of_items_does_what_is_chosen() {
    for (choice, code, kills) in [(None, 130, true), (Some(Choice::Kill), 130, true), (Some(Choice::Detach), 0, false)]
    {
        let (interrupts, mut received) = unbounded_channel();
        let mut stage = Stage {
            moments: moments(vec![running(Vec::new())]),
            at: None,
            killed: Some(killed()),
            signals: vec![("GET", 2)],
            interrupts: interrupts.clone(),
            worker: String::new(),
            holds_submission: false,
            forgets: 0,
        };
        let server = FakeServer::start(move |sent| stage.answer(sent)).await;
        let client = ApplicationClient::new(server.address.clone(), "alice".to_owned(), None, || 0).impatient();
        let work = WorkItems { items: "1-3".to_owned(), count: 3, max_running: None, rules: ItemRules::default() };
        let followed =
            follow_items(&client, APPLICATION, &work, OutputForm::Table, &mut received, async || choice).await;
        assert_eq!(followed.unwrap().1, code, "{choice:?}");
        assert_eq!(server.sent().iter().any(|sent| sent.method == "PUT"), kills, "{choice:?}");
    }
}

#[tokio::test]
async fn refusals_name_the_option() {
    let fault = json!({ "pointer": "#/ask/0/capability/memory", "detail": "2048 is above the maximum, 1024" });
    let problem = Reply::problem("400 Bad Request", "invalid-resource-request", json!({ "errors": [fault] }));
    let id = Reply::json(json!({ "application-id": APPLICATION }));
    let server = FakeServer::of(vec![id, problem]).await;
    let client = ApplicationClient::new(server.address.clone(), "alice".to_owned(), None, || 0);
    let context = LaunchContext::of_command(vec!["true".to_owned()]);
    let (name, capability) = ("true".to_owned(), Capability::new(2048, 1));
    let submission = RunSubmission { name, queue: None, capability, context, work: None };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let outputs = Outputs { stdout: &mut stdout, stderr: &mut stderr };
    let (_interrupts, mut received) = unbounded_channel();
    let refused =
        run_submission(&client, &submission, false, OutputForm::Table, outputs, &mut received).await.unwrap_err();
    assert_eq!(refused.to_string(), "--memory: 2048 is above the maximum, 1024");
    assert_eq!(refused.exit_code(), 2);
}

//! Commands that behave, and commands that do not; `sh` plays them all.

use std::path::Path;

use crate::streaming::command_stream::{FieldRule, read_records};
use crate::wire::Phase;

use super::*;

fn progress(limit_ms: Option<u64>) -> Progress {
    let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
    Progress::new(attempt, Phase::Map, limit_ms.map(Duration::from_millis)).unwrap()
}

const RULES: ChildRules<'_> = ChildRules {
    non_zero_exit_is_failure: true,
    reporter_prefix: "reporter:",
    reports_count: true,
    kill_delay: Duration::from_millis(100),
    join_delay: None,
    ulimit_kb: None,
};

fn run_with(
    script: &str,
    input: &[u8],
    rules: ChildRules<'_>,
    progress: &Progress,
    log: Option<&StderrLog>,
) -> (Result<(), TaskFailure>, String) {
    let environment = [("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("A".to_owned(), "b".to_owned())];
    let line = ["sh", "-c", script].map(str::to_owned);
    let command = ChildCommand {
        program: "/bin/sh".into(),
        line: &line,
        folder: "/".into(),
        environment: &environment,
        supervisor: None,
        rules,
        progress,
        log,
    };
    let mut output = Vec::new();
    let mut feed = |stdin: &mut CommandInput<'_>| stdin.write_all(input).map_err(TaskFailure::Pipe);
    let mut take = |stdout: &mut dyn Read| stdout.read_to_end(&mut output).map(drop).map_err(TaskFailure::Pipe);
    let result = progress.run_with_time_limit(|| command.stream(&mut feed, &mut take));
    (result, String::from_utf8(output).unwrap())
}

/// The status with which a command failed.
fn exit_code_of(result: Result<(), TaskFailure>) -> Option<i32> {
    match result {
        Err(TaskFailure::ExitStatus(exit)) => Some(exit.code),
        _ => None,
    }
}

fn run(script: &str, input: &[u8]) -> (Result<(), TaskFailure>, String) {
    run_with(script, input, RULES, &progress(None), None)
}

#[test]
fn a_command_sees_its_input_its_folder_and_its_environment_only() {
    let (result, output) = run("cat; pwd; echo $A$HOME", b"in\n");
    result.unwrap();
    assert_eq!(output, "in\n/\nb\n");
}

#[test]
fn much_data_passes_both_ways_at_once() {
    let input = b"some line of text\n".repeat(200_000);
    let (result, output) = run("cat", &input);
    result.unwrap();
    assert!(output.as_bytes() == input);
}

#[test]
fn a_status_other_than_0_is_a_failure_unless_it_is_forgiven() {
    let (result, _) = run("cat >/dev/null; echo last words >&2; exit 3", b"x");
    insta::assert_snapshot!(result.unwrap_err(), @r#"
    java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 3
    "sh -c cat >/dev/null; echo last words >&2; exit 3" ended with status 3
      last words
    "#);
    assert_eq!(exit_code_of(run("kill -9 $$", b"").0), Some(137));
    let forgiving = ChildRules { non_zero_exit_is_failure: false, ..RULES };
    run_with("exit 3", b"", forgiving, &progress(None), None).0.unwrap();
}

#[test]
fn who_stops_reading_and_ends_well_has_ended_well() {
    let input = vec![b'\n'; 4 << 20];
    run("exit 0", &input).0.unwrap();
    assert_eq!(exit_code_of(run("exit 4", &input).0), Some(4));
}

#[test]
fn reports_count_and_other_words_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = StderrLog::new(File::create(folder.path().join("stderr")).unwrap(), Some(30));
    let script = "echo reporter:counter:g,n,2 >&2; echo words >&2; echo reporter:status:half >&2; echo reporter:x >&2";
    let seen = progress(None);
    run_with(script, b"", RULES, &seen, Some(&log)).0.unwrap();
    let counters = seen.counters().snapshot();
    let of_command = counters.groups.iter().find(|group| &*group.name == "g").unwrap();
    assert_eq!(of_command.counters[0].value, 2);
    assert_eq!(seen.status().1, "half");
    // The warning does not fit.
    assert_eq!(std::fs::read_to_string(folder.path().join("stderr")).unwrap(), "words\n");
    let silent = progress(None);
    run_with(script, b"", ChildRules { reports_count: false, ..RULES }, &silent, None).0.unwrap();
    assert_eq!(silent.status().1, "initializing");
    assert!(silent.counters().snapshot().groups.iter().all(|group| &*group.name != "g"));
}

#[test]
fn floods_of_errors_and_of_counters_do_no_harm() {
    let (result, _) = run("yes words | head -c 3000000 >&2", b"");
    result.unwrap();
    let (result, _) =
        run("i=0; while [ $i -lt 200 ]; do echo reporter:counter:g,$i,1 >&2; i=$((i+1)); done; sleep 100", b"");
    assert_eq!(result.unwrap_err().to_string(), "Error: Exceeded counter limits - Counters=121 Limit: 120");
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // What is dead but not waited for by init yet does nothing any more.
    stat.is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, fields)| fields.trim_start().starts_with('Z')))
}

/// Init may take a moment to wait for what was killed.
fn dies(pid: &str) -> bool {
    let progress = progress(None);
    (0..500).any(|_| !is_alive(pid) || !progress.sleep(Duration::from_millis(10)))
}

#[test]
fn who_hangs_is_ended_with_all_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!(
        "trap '' TERM; sleep 1000 & echo $! > {0}; (trap '' TERM; sleep 1000) & echo $! >> {0}; wait",
        pids.display()
    );
    let (result, _) = run_with(&script, b"", RULES, &progress(Some(300)), None);
    assert!(matches!(result, Err(TaskFailure::TimedOut { .. })), "{result:?}");
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    assert!(pids.lines().all(dies));
}

#[test]
fn what_is_left_in_the_background_does_not_outlive_the_command() {
    let (result, output) = run("sleep 1000 >/dev/null 2>&1 & echo $!", b"");
    result.unwrap();
    assert!(dies(&output), "{output}");
}

#[test]
fn a_kill_reaches_a_command_that_reads_nothing() {
    let progress = progress(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            progress.sleep(Duration::from_millis(100));
            progress.kill();
        });
        let (result, _) = run_with("sleep 1000", &vec![0; 8 << 20], RULES, &progress, None);
        assert!(matches!(result, Err(TaskFailure::Killed)));
    });
}

/// A line without end, which is read without any pause: nothing asks between two records.
#[test]
fn a_kill_reaches_a_command_that_writes_a_line_without_end() {
    let progress = progress(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            progress.sleep(Duration::from_millis(100));
            progress.kill();
        });
        let script = "exec tr '\\0' x </dev/zero";
        let (result, output) = run_with(script, b"", RULES, &progress, None);
        assert!(matches!(result, Err(TaskFailure::Killed)), "{} bytes", output.len());
    });
}

#[test]
fn a_line_without_end_fails_within_bounds_and_ends_its_command() {
    let progress = progress(None);
    let command = ChildCommand {
        program: "/bin/sh".into(),
        line: &["sh", "-c", "exec tr '\\0' x </dev/zero"].map(str::to_owned),
        folder: "/".into(),
        environment: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        supervisor: None,
        rules: RULES,
        progress: &progress,
        log: None,
    };
    let rule = FieldRule { separator: b"\t".to_vec(), key_fields: 1 };
    let mut take = |stdout: &mut dyn Read| read_records(stdout, &rule, |_, _| Ok(()));
    let failure = command.stream(&mut |_| Ok(()), &mut take).unwrap_err();
    assert!(failure.to_string().contains("a line of more than 128 MiB"), "{failure}");
}

#[test]
fn output_that_is_held_open_is_waited_for_no_longer_than_allowed() {
    let rules = ChildRules { join_delay: Some(Duration::from_millis(50)), ..RULES };
    let (result, output) = run_with("echo a; sleep 1000 & exit 0", b"", rules, &progress(None), None);
    result.unwrap();
    assert_eq!(output, "a\n");
}

#[test]
fn memory_has_a_limit() {
    let rules = ChildRules { ulimit_kb: Some(60_000), ..RULES };
    let hog = "dd if=/dev/zero of=/dev/null bs=200M count=1";
    assert!(run_with(hog, b"", rules, &progress(None), None).0.is_err());
    assert!(run(hog, b"").0.is_ok());
}

#[test]
fn what_cannot_be_started_says_so() {
    let (environment, progress) = ([], progress(None));
    let command = ChildCommand {
        program: Path::new("/no/such").into(),
        line: &["/no/such".to_owned()],
        folder: "/".into(),
        environment: &environment,
        supervisor: None,
        rules: RULES,
        progress: &progress,
        log: None,
    };
    let error = command.stream(&mut |_| Ok(()), &mut |_| Ok(())).unwrap_err();
    insta::assert_snapshot!(error, @r#"cannot start the command "/no/such": No such file or directory (os error 2); expected a program among the job's files or along PATH"#);
}

#[test]
fn a_script_whose_interpreter_is_missing_blames_the_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let script = scratch.path().join("m.py");
    std::fs::write(&script, "#!/usr/bin/python3\r\nimport sys\r\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (environment, progress) = ([], progress(None));
    let command = ChildCommand {
        program: script,
        line: &["m.py".to_owned()],
        folder: scratch.path().into(),
        environment: &environment,
        supervisor: None,
        rules: RULES,
        progress: &progress,
        log: None,
    };
    let error = command.stream(&mut |_| Ok(()), &mut |_| Ok(())).unwrap_err();
    assert!(crate::model::is_start_failure(&error.to_string()));
    insta::assert_snapshot!(error, @r#"cannot start the command "m.py": the interpreter "/usr/bin/python3\r" in the first line of m.py is not there: the file has DOS line ends; expected those of Unix, as dos2unix writes them"#);
}

#[test]
fn a_reader_that_fails_ends_the_command() {
    let progress = progress(None);
    let command = ChildCommand {
        program: "/bin/sh".into(),
        line: &["sh", "-c", "yes"].map(str::to_owned),
        folder: "/".into(),
        environment: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        supervisor: None,
        rules: RULES,
        progress: &progress,
        log: None,
    };
    let mut take = |_: &mut dyn Read| Err(TaskFailure::Shuffle { reason: "test" });
    assert!(matches!(command.stream(&mut |_| Ok(()), &mut take), Err(TaskFailure::Shuffle { .. })));
}

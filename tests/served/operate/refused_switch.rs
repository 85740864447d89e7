//! Switches that are refused: each says where the mistake is and what was expected, and changes nothing.

use std::fs;
use std::process::{Command, Stdio};

use crate::daemon::child::{DaemonFolders, built_program};
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};
use crate::history::Stage;
use crate::upgrade::stage::{ask_for_upgrade, place, script};

use super::BUDGETS;
use super::switch::{refused, said, scheduler, start_with_conf};

const QUEUES: &str = "mapred.queue.names=default,other";

/// A capacity file with a property in each line from the second on, their keys without prefix.
fn capacity_file(properties: &[(&str, &str)]) -> String {
    let property = |(key, value): &(&str, &str)| {
        format!("<property><name>mapred.capacity-scheduler.queue.{key}</name><value>{value}</value></property>\n")
    };
    format!("<configuration>\n{}</configuration>\n", properties.iter().map(property).collect::<String>())
}

#[test]
fn each_mistake_in_a_file_is_named_with_its_place_and_changes_nothing() {
    let place = DaemonFolders::new(BUDGETS);
    let (conf, serving) = start_with_conf(&place, &["-D", QUEUES]);
    let halves = [("default.capacity", "50"), ("other.capacity", "50")];
    let with = |property| capacity_file(&[halves[0], halves[1], property]);
    let pool = |inside: &str| format!("<allocations>\n<pool name='a'>\n{inside}</pool>\n</allocations>\n");
    let mistakes: [(&str, String, &[&str]); 11] = [
        (
            "capacity",
            capacity_file(&[halves[0], ("other.capacity", "40")]),
            &[":2: ", "default.capacity = \"50\"", ":3: ", "other.capacity = \"40\"", "add to 100"],
        ),
        ("capacity", capacity_file(&halves[..1]), &["queue.other.capacity is not set", "percent from 0 to 100"]),
        (
            "capacity",
            with(("other.maximum-capacity", "40")),
            &[":4: ", "other.maximum-capacity = \"40\"", ":3: ", "expected at least the queue's capacity"],
        ),
        (
            "capacity",
            with(("other.maximum-initialized-active-tasks", "5")),
            &[":4: ", "queue.other.maximum-initialized-active-tasks = \"5\"", "-per-user = \"", "expected at most"],
        ),
        ("capacity", "<allocations/>".to_owned(), &[".xml:1: ", "allocations", "configuration"]),
        ("capacity", "<configuration>\n<property>\n<name>".to_owned(), &[".xml:3: "]),
        ("fair", "<allocations>\n<pool name='a'>\n".to_owned(), &[".xml:3: the file ends", "expected XML"]),
        ("fair", "<configuration/>".to_owned(), &[".xml:1: ", "not <allocations>, but <configuration>"]),
        ("fair", pool("<weight>-1</weight>"), &[".xml:3: <weight> of pool a = \"-1\": expected a decimal number"]),
        (
            "fair",
            pool("<schedulingMode>lifo</schedulingMode>"),
            &[".xml:3: <schedulingMode> of pool a: ", "lifo; expected 'fifo' or 'fair'"],
        ),
        ("fair", pool("<pool name='a'/>"), &[".xml:3: pool a.a is inside of itself; expected another name"]),
    ];
    for (name, content, words) in mistakes {
        let file = conf.join(format!("{name}-scheduler.xml"));
        fs::write(&file, &content).unwrap();
        let before = said(&place, &["show"]);
        for command in ["plan", "use"] {
            let why = refused(&place, &[command, name]);
            for word in words.iter().copied().chain([&*file.display().to_string()]) {
                assert!(why.contains(word), "{content}\n{word:?} is not in {why}");
            }
        }
        assert_eq!(said(&place, &["show"]), before, "{content}");
    }
    assert_eq!(serving.stop().0, 0);
}

/// What a play of a policy takes in, a switch to it takes in as well, and the other way round, from every policy.
#[test]
fn a_switch_permits_what_a_play_of_that_policy_plays() {
    let stage = Stage::new();
    let (conf, serving) = start_with_conf(&stage.place, &[]);
    fs::write(conf.join("capacity-scheduler.xml"), capacity_file(&[("default.capacity", "100")])).unwrap();
    // Without a tracker of that time nothing could be played.
    stage.register_tracker();
    stage.killed_job(&[]);
    stage.job(&[]);
    stage.place.wait_for_histories(1);
    let policies = ["fifo", "capacity", "fair", "constraint", "dynamic"];
    for from in policies {
        let (switched, said) = run(&stage.place, &["scheduler", "use", from]);
        assert_eq!(switched, 0, "{from}: {said}");
        for to in policies {
            let (switch, why_no_switch) = run(&stage.place, &["scheduler", "plan", to]);
            let (play, why_no_play) = run(&stage.place, &["what-if", "--policy", to]);
            assert_eq!(switch == 0, play == 0, "{from} to {to}: {why_no_switch}{why_no_play}");
        }
    }
    assert_eq!(serving.stop().0, 0);
}

/// A command with the configuration of a place; its exit code and what it said.
fn run(place: &DaemonFolders, words: &[&str]) -> (i32, String) {
    let arguments = place.arguments();
    let mut command = Command::new(built_program());
    command.args(words).args(&arguments[1..]).arg("--conf").arg(place.path("conf"));
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_file_of_the_ruling_scheduler_that_vanishes_or_is_half_written_changes_nothing() {
    let place = DaemonFolders::new(BUDGETS);
    let [capacity, fair] = ["capacity", "fair"].map(|name| place.path(&format!("conf/{name}-scheduler.xml")));
    let allocation_file = format!("mapred.fairscheduler.allocation.file={}", fair.display());
    let (_, serving) = start_with_conf(&place, &["-D", QUEUES, "-D", &allocation_file]);
    let capacities = capacity_file(&[("default.capacity", "70"), ("other.capacity", "30")]);
    for (name, file, whole) in [
        ("capacity", &capacity, capacities.as_str()),
        ("fair", &fair, "<allocations>\n<pool name='a'><minMaps>1</minMaps></pool>\n</allocations>\n"),
    ] {
        fs::write(file, whole).unwrap();
        said(&place, &["use", name]);
        let before = said(&place, &["show"]);
        fs::remove_file(file).unwrap();
        let vanished = refused(&place, &["use", name]);
        assert!(vanished.contains(&file.display().to_string()), "{vanished}");
        fs::write(file, &whole[..whole.len() - 20]).unwrap();
        let torn = refused(&place, &["use", name]);
        assert!(torn.contains(&format!("{}:", file.display())), "{torn}");
        assert_eq!(said(&place, &["show"]), before);
        fs::write(file, whole).unwrap();
        said(&place, &["use", name]);
    }
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn no_switch_begins_during_an_upgrade() {
    let place = place();
    let serving = place.start();
    let hangs = script(&place, "hangs", "exec sleep 600");
    let mut upgrading = ask_for_upgrade(&place, &["--program", hangs.to_str().unwrap()]);
    let mut upgrading = upgrading.stderr(Stdio::null()).spawn().unwrap();
    serving.log.wait_for("requested an upgrade");
    let output = scheduler(&place, &["use", "fair"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("an upgrade is in progress"), "{output:?}");
    let (status, log) = serving.stop();
    assert_eq!(status, 0, "{log}");
    assert!(!log.contains("FairScheduler"), "{log}");
    upgrading.wait().unwrap();
}

#[test]
fn no_switch_begins_while_the_disk_is_full() {
    if skip_without_disks("a switch on a full disk") {
        return;
    }
    let place = DaemonFolders::new(BUDGETS);
    let on = OnSmallDisk::start(&place, "state");
    // The control socket is on that disk, which only its daemon sees.
    let control = format!("jobtracker.state.dir={}", on.disk.display());
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(built_program());
        command.arg("scheduler").args(arguments).args(["-D", &control]).output().unwrap()
    };
    on.fill();
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| on.serving.ask("root", "addBudget=10&queue=alice"));
        on.serving.log.wait_for("state.db cannot be written");
        for command in ["plan", "use"] {
            let output = ask(&[command, "fair"]);
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains("state.db cannot be written"), "{text}");
        }
        on.make_room();
        answer.join().unwrap();
    });
    let shown = String::from_utf8(ask(&["show"]).stdout).unwrap();
    assert!(shown.contains("DynamicPriorityScheduler\nsince") && !shown.contains("chosen by"), "{shown}");
    let output = ask(&["use", "fair"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(on.serving.stop().0, 0);
}

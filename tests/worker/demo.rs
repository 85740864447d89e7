//! `jobtracker demo` as somebody runs it who has nothing else: what it shows, what it proves, and that nothing of it is left.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// Long enough for anything that comes at all.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A demo in a folder of its own, with nothing in its environment but where that is.
struct Demo {
    place: tempfile::TempDir,
    child: Child,
    lines: BufReader<ChildStdout>,
}

/// A line of the table of ticks.
#[derive(Debug)]
struct Row {
    price: String,
    /// Share and map slots bought, of alice and of bob.
    shares: [(String, u32); 2],
}

// === impl Demo ===

impl Demo {
    fn start(arguments: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
        command.arg("demo").args(arguments.split(' ')).env_clear().env("TMPDIR", place.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { place, child, lines }
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Reads until there is such a line, and gives it back.
    fn read_until(&mut self, is_such: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        loop {
            let from = text.len();
            assert!(self.lines.read_line(&mut text).unwrap() > 0, "it is not said:\n{text}");
            if is_such(&text[from..]) {
                return text.split_off(from);
            }
        }
    }

    /// Waits for its end.
    fn end(mut self) -> (Output, PathBuf, tempfile::TempDir) {
        let process = pidfd_open(self.id(), PidfdFlags::empty()).unwrap();
        let mut stdout = Vec::new();
        // Its end closes it.
        self.lines.read_to_end(&mut stdout).unwrap();
        let mut waited = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        assert_eq!(poll(&mut waited, Some(&Timespec::try_from(TIMEOUT).unwrap())).unwrap(), 1, "it does not end");
        let output = self.child.wait_with_output().unwrap();
        let folder = self.place.path().canonicalize().unwrap();
        (Output { stdout, ..output }, folder, self.place)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Processes that work in a folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let is_there = |process: &String| {
        std::fs::read_link(Path::new("/proc").join(process).join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    names(Path::new("/proc")).into_iter().filter(is_there).collect()
}

/// The lines of the table of ticks.
fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [tick, price, picture, share, slots, _, other_share, other_slots, _] = words[..] else { return None };
        tick.parse::<u64>().ok()?;
        assert_eq!(picture.len(), 12, "{line}");
        let bought = |slots: &str| slots.split_once('/').unwrap().1.parse().unwrap();
        let shares = [(share.to_owned(), bought(slots)), (other_share.to_owned(), bought(other_slots))];
        Some(Row { price: price.to_owned(), shares })
    };
    text.lines().filter_map(row).collect()
}

/// Millionths; rates, seconds and amounts of a demo have no more digits.
fn millionths(number: &str) -> u64 {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    assert!(part.len() <= 6, "{number}");
    whole.parse::<u64>().unwrap() * 1_000_000 + format!("{part:0<6}").parse::<u64>().unwrap()
}

/// Adds a user's bill up, digit by digit; gives back the rates.
fn checked_bill(text: &str, user: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != "The bill");
    lines.find(|line| line.starts_with(&format!("{user}: 1000.0 credits"))).unwrap();
    let (mut charged, mut rates) = (0, Vec::new());
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [rate, "x", slot_s, "slot-s", "/", "1", "s,", "in", _, "tick" | "ticks", "=", amount] => {
                assert_eq!(millionths(rate) * millionths(slot_s) / 1_000_000, millionths(amount), "{line}");
                charged += millionths(amount);
                rates.push(rate.to_owned());
            }
            ["charged", all, "left", left] => {
                assert_eq!(millionths(all.trim_end_matches(',')), charged, "{line}");
                assert_eq!(millionths("1000") - charged, millionths(left), "{line}");
                return rates;
            }
            _ => panic!("{line}"),
        }
    }
    panic!("{user} has no bill");
}

#[test]
fn slots_follow_the_bids_and_counts_and_bill_are_right() {
    let (output, folder, _place) = Demo::start("--corpus-mb 1 --maps 120 --map-ms 500").end();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");

    let rows = rows(&said);
    let bought = |price: &str, alice: (&str, u32), bob: (&str, u32)| {
        rows.iter().any(|row| {
            let [of_alice, of_bob] = &row.shares;
            row.price == price && (of_alice.0.as_str(), of_alice.1) == alice && (of_bob.0.as_str(), of_bob.1) == bob
        })
    };
    assert!(bought("1.1", ("1.000", 12), ("0.000", 0)), "alice is alone: {said}");
    assert!(bought("3.3", ("0.333", 4), ("0.666", 8)), "bob pays more: {said}");
    assert!(bought("8.8", ("0.750", 9), ("0.250", 3)), "alice pays still more: {said}");
    let mut rates = checked_bill(&said, "alice");
    rates.dedup();
    assert_eq!(rates, ["1.1", "6.6"], "{said}");
    assert!(checked_bill(&said, "bob").iter().all(|rate| rate == "2.2"), "{said}");
    assert!(said.contains("as often as it was written."), "{said}");

    assert_eq!(names(&folder), [""; 0], "nothing is left");
    assert_eq!(processes_in(&folder), [""; 0]);
}

#[test]
fn a_wrong_count_is_found_and_the_files_stay() {
    let (output, folder, _place) = Demo::start("--corpus-mb 1 --maps 12 --map-ms 100 --miscount").end();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    for user in ["alice", "bob"] {
        assert!(said.contains(&format!("WRONG: {user}'s job has counted ")), "{said}");
    }
    assert!(!said.contains("as often as it was written."), "{said}");
    let [scratch] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert!(said.trim_end().ends_with(&format!("stay in {}", folder.join(scratch).display())), "{said}");
    assert!(folder.join(scratch).join("log").is_file());
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    let mut demo = Demo::start("--corpus-mb 1 --maps 24 --map-ms 60000");
    demo.read_until(|line| !rows(line).is_empty());
    let folder = demo.place.path().canonicalize().unwrap();
    // Her maps begin.
    while processes_in(&folder).is_empty() {
        std::thread::yield_now();
    }
    kill_process(demo.id(), Signal::INT).unwrap();
    let (output, folder, _place) = demo.end();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(names(&folder), [""; 0]);
    assert_eq!(processes_in(&folder), [""; 0]);
}

#[test]
fn a_kept_cluster_goes_on_until_it_is_interrupted() {
    let mut demo = Demo::start("--corpus-mb 1 --maps 12 --map-ms 100 --keep");
    let said = demo.read_until(|line| line.starts_with("The cluster runs until Ctrl-C. Look at http://"));
    let http = said.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let mut stream = TcpStream::connect(&http).unwrap();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("alice counts words"), "{page}");
    kill_process(demo.id(), Signal::TERM).unwrap();
    let (output, folder, _place) = demo.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(names(&folder).len(), 1, "its files stay");
    assert_eq!(processes_in(&folder), [""; 0]);
}

#[test]
fn a_place_that_cannot_be_used_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    let output = command.arg("demo").env_clear().env("TMPDIR", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("/nowhere") && complaint.contains("TMPDIR"), "{complaint}");
}

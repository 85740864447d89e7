//! What strace saw of a daemon: in what order it read calls, synced its log and wrote replies.

use std::collections::BTreeMap;

/// One system call, its begin and its end by their places among all that was seen.
#[derive(Debug)]
pub struct SystemCall {
    pub name: String,
    /// What the first argument leads to, such as `TCP:[127.0.0.1:1->127.0.0.1:2]` or a path.
    pub of: String,
    pub result: i64,
    pub begin: usize,
    pub end: usize,
    /// When it ended, seconds since the epoch as strace writes them.
    pub end_us: i64,
}

/// A call that came in over a socket, and its reply.
#[derive(Debug)]
pub struct Exchange {
    /// The end of the last read of the call.
    read: usize,
    read_us: i64,
    /// The begin of the first write of the reply.
    written: usize,
}

/// What came between a call and its reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Between {
    /// Syncs of the log that began after the call was read and were done before its reply was written.
    pub syncs: usize,
    /// What was written into the log and not yet synced as the reply was written.
    pub unsynced_writes: usize,
    /// From the call to the end of the last of these syncs, µs.
    pub sync_us: Option<i64>,
}

const LOG: &str = "state.db-wal";

/// Reads the output of `strace -f -ttt -yy`.
pub fn parse(text: &str) -> Vec<SystemCall> {
    let mut calls = Vec::new();
    let mut unfinished: BTreeMap<&str, SystemCall> = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Some((time, rest)) = rest.trim_start().split_once(' ') else { continue };
        let end_us = microseconds(time);
        if rest.starts_with("<... ") {
            let Some(mut call) = unfinished.remove(process) else { continue };
            (call.result, call.end, call.end_us) = (result(rest), place, end_us);
            calls.push(call);
        } else if let Some((name, arguments)) = rest.split_once('(') {
            let of = first_argument(arguments);
            let call = SystemCall { name: name.to_owned(), of, result: 0, begin: place, end: place, end_us };
            if rest.ends_with("<unfinished ...>") {
                unfinished.insert(process, call);
            } else {
                calls.push(SystemCall { result: result(rest), ..call });
            }
        }
    }
    calls.sort_by_key(|call| call.begin);
    calls
}

/// `1795300000.123456`, as whole microseconds.
fn microseconds(time: &str) -> i64 {
    time.replace('.', "").parse().unwrap_or(0)
}

fn first_argument(arguments: &str) -> String {
    let of = arguments.split_once('<').and_then(|(_, rest)| rest.split_once(['>', ')']).map(|(of, _)| (of, rest)));
    match of {
        // The arrow between the ends of a connection.
        Some((of, rest)) if of.ends_with('-') => rest.split_once("]>").map_or(of, |(of, _)| of).to_owned(),
        Some((of, _)) => of.to_owned(),
        None => String::new(),
    }
}

fn result(line: &str) -> i64 {
    let result = line.rsplit_once(" = ").map(|(_, result)| result.split(' ').next().unwrap_or_default());
    result.and_then(|result| result.parse().ok()).unwrap_or(-1)
}

/// Calls and their replies, in the order of the replies.
pub fn exchanges(calls: &[SystemCall]) -> Vec<Exchange> {
    let mut open: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    let mut exchanges = Vec::new();
    for call in calls.iter().filter(|call| call.of.starts_with("TCP") && call.result > 0) {
        if ["read", "readv", "recvfrom", "recvmsg"].contains(&call.name.as_str()) {
            open.insert(&call.of, (call.end, call.end_us));
        } else if ["write", "writev", "sendto", "sendmsg"].contains(&call.name.as_str())
            && let Some((read, read_us)) = open.remove(call.of.as_str())
        {
            exchanges.push(Exchange { read, read_us, written: call.begin });
        }
    }
    exchanges
}

/// What was done for the log between a call and its reply.
pub fn between(calls: &[SystemCall], exchange: &Exchange) -> Between {
    let of_log = || calls.iter().filter(|call| call.of.ends_with(LOG) && call.result >= 0);
    let is_sync = |call: &&SystemCall| ["fsync", "fdatasync"].contains(&call.name.as_str());
    let done: Vec<_> = of_log().filter(is_sync).filter(|sync| sync.end < exchange.written).collect();
    let last = done.iter().map(|sync| sync.begin).max();
    let written = of_log().filter(|call| call.name.starts_with("pwrite") && call.begin < exchange.written);
    let after: Vec<_> = done.iter().filter(|sync| sync.begin > exchange.read).collect();
    Between {
        syncs: after.len(),
        unsynced_writes: written.filter(|write| last.is_none_or(|last| write.end > last)).count(),
        sync_us: after.iter().map(|sync| sync.end_us - exchange.read_us).max(),
    }
}

#[test]
fn what_came_before_the_reply_counts_and_nothing_else() {
    let seen = |order: [&str; 5]| {
        let text: String = order.into_iter().enumerate().map(|(at, line)| format!("7 1.00000{at} {line}\n")).collect();
        let calls = parse(&text);
        let exchanges = exchanges(&calls);
        assert_eq!(exchanges.len(), 1, "{calls:?}");
        between(&calls, &exchanges[0])
    };
    let read = "recvfrom(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"\"..., 4096, 0, NULL, NULL) = 12";
    let nothing = "recvfrom(9<TCP:[127.0.0.1:1->127.0.0.1:3]>, 0x1, 4096, 0, NULL, NULL) = -1 EAGAIN (Later)";
    let write = "pwrite64(5</state/state.db-wal>, \"\"..., 24, 0) = 24";
    let sync = "fdatasync(5</state/state.db-wal>) = 0";
    let reply = "sendto(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"\"..., 40, MSG_NOSIGNAL, NULL, 0) = 40";
    let good = Between { syncs: 1, unsynced_writes: 0, sync_us: Some(3) };
    assert_eq!(seen([read, nothing, write, sync, reply]), good);
    let early = Between { syncs: 0, unsynced_writes: 1, sync_us: None };
    assert_eq!(seen([read, nothing, write, reply, sync]), early);
    assert_eq!(seen([sync, read, nothing, write, reply]), early);
    let other = "fdatasync(5</state/state.db>) = 0";
    assert_eq!(seen([read, nothing, write, other, reply]), early);
}

#[test]
fn a_call_that_others_interrupt_ends_where_it_is_resumed() {
    let text = "8 1.000001 fsync(5</state/state.db-wal> <unfinished ...>\n\
                7 1.000002 sendto(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"\"..., 40, MSG_NOSIGNAL, NULL, 0) = 40\n\
                8 1.000003 <... fsync resumed>) = 0\n";
    let calls = parse(text);
    assert_eq!((calls[0].name.as_str(), calls[0].of.as_str()), ("fsync", "/state/state.db-wal"));
    assert_eq!((calls[0].begin, calls[0].end, calls[0].result), (0, 2, 0));
    assert_eq!(calls[1].of, "TCP:[127.0.0.1:1->127.0.0.1:2");
}

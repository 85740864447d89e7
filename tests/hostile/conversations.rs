//! Conversations, files and modes that attackers have tried in vain, and must go on trying in vain.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::attacker::{Staged, has_honest_job_done, opening, stage_job, submit_from, try_submit};
use crate::signatures::verdict;
use crate::stage::{Stage, run};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, small_job};

use jobtracker::wire::Credentials;
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Protocol, encode_call};

fn frame(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as i32).to_be_bytes()[..], bytes].concat()
}

#[test]
fn hostile_conversations() {
    let mut attack = Attack::on(Stage::fifo(&[]), "hostile conversations", &VictimOptions::default());
    let open = |protocol| opening(protocol, "mallory");
    let jobs = open(Protocol::JobSubmission);
    let mut good = Vec::new();
    encode_call(&mut good, 7, &Call::JobSubmission(JobSubmissionCall::GetStagingAreaDir));
    let with = |tail: &[u8]| [&jobs[..], tail].concat();
    let mut conversations: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\0".to_vec(),
        b"hrpc".to_vec(),
        b"hrpc\x04".to_vec(),
        b"hrpc\x04\xff".to_vec(),
        b"hrpc\xff\x50".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"SSH-2.0-x\r\n".to_vec(),
        vec![0xff; 4_096],
        vec![0; 4_096],
        [&b"hrpc\x04\x50"[..], &i32::MAX.to_be_bytes()].concat(),
        [&b"hrpc\x04\x50"[..], &(-1_i32).to_be_bytes()].concat(),
        [&b"hrpc\x04\x50"[..], &0_i32.to_be_bytes()].concat(),
        [&b"hrpc\x04\x50"[..], &frame(&[0xff; 64])].concat(),
        [&b"hrpc\x04\x51"[..], &frame(&[1; 64])].concat(),
        [&b"hrpc\x04\x52"[..], &frame(&[1; 64])].concat(),
        jobs[..jobs.len() - 1].to_vec(),
        with(&i32::MAX.to_be_bytes()),
        with(&i32::MIN.to_be_bytes()),
        with(&(-1_i32).to_be_bytes()),
        with(&0_i32.to_be_bytes()),
        with(&frame(&[])),
        with(&frame(&[0; 3])),
        with(&frame(&[0xff; 8])),
        with(&frame(&[0; 1_000])),
        with(&[&good[..], &good[..good.len() - 1]].concat()),
        with(&good.repeat(2_000)),
        open(Protocol::AdminOperations),
        open(Protocol::InterTracker),
    ];
    // The wrong protocol's call, a name that is too long, counts that lie.
    conversations.push([&open(Protocol::InterTracker)[..], &good].concat());
    let named = |name: &[u8], count: i32| {
        let mut call = 1_i32.to_be_bytes().to_vec();
        call.extend((name.len() as u16).to_be_bytes());
        call.extend(name);
        call.extend(count.to_be_bytes());
        with(&frame(&call))
    };
    conversations.extend([
        named(b"getNewJobId", i32::MAX),
        named(b"getNewJobId", -1),
        named(b"submitJob", 3),
        named(&[b'x'; 60_000], 0),
        named(b"\xff\xfe\xfd", 0),
        named(b"", 0),
        named(b"killJob", 1),
        named(b"heartbeat", 5),
    ]);
    let count = conversations.len();
    attack.strike(|stage| {
        for words in &conversations {
            let mut stream = TcpStream::connect(stage.rpc).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let _ = stream.write_all(words);
            let _ = stream.read(&mut [0; 1_024]);
            // Some stay open, silent; most hang up in the middle.
        }
    });
    eprintln!("hostile: {count} conversations");
    let done = run(has_honest_job_done(attack.stage.rpc, false));
    attack.must(done.is_ok(), || format!("an honest job: {done:?}"));
    let panicked = attack.stage.serving.log.text().contains("panicked");
    attack.must(!panicked, || "something panicked".to_owned());
    attack.close();
}

/// Makes the files of a job hostile.
fn spoil(job: &Staged, number: usize) -> bool {
    let xml = job.folder.join("job.xml");
    let text = std::fs::read_to_string(&xml).unwrap();
    let write = |bytes: &[u8]| std::fs::write(&xml, bytes).unwrap();
    let replace = |make: &dyn Fn(&Path)| {
        std::fs::remove_file(&xml).unwrap();
        make(&xml);
    };
    let bomb = {
        let mut bomb = "<?xml version=\"1.0\"?><!DOCTYPE c [<!ENTITY a0 \"ha\">".to_owned();
        (1..30).for_each(|level| bomb += &format!("<!ENTITY a{level} \"&a{};&a{};\">", level - 1, level - 1));
        bomb + "]><configuration><property><name>&a29;</name><value>&a29;</value></property></configuration>"
    };
    let expansion = {
        let mut text =
            "<configuration><property><name>mapred.job.name</name><value>${v29}</value></property>".to_owned();
        text += "<property><name>v0</name><value>haha</value></property>";
        (1..30).for_each(|level| {
            let below = level - 1;
            text += &format!("<property><name>v{level}</name><value>${{v{below}}}${{v{below}}}</value></property>");
        });
        text + "</configuration>"
    };
    let meta = job.folder.join("job.splitmetainfo");
    match number {
        0 => write(b""),
        1 => write(b"\0\0\0\0"),
        2 => write(&[0xff; 1_000]),
        3 => write(bomb.as_bytes()),
        4 => write(expansion.as_bytes()),
        5 => write("<configuration>".repeat(100_000).as_bytes()),
        6 => write(b"<configuration><property><name>a</name><value>${a}</value></property></configuration>"),
        7 => write(
            text.replace("<name>mapred.map.tasks</name><value>1<", "<name>mapred.map.tasks</name><value>99999999999<")
                .as_bytes(),
        ),
        8 => write(
            text.replace("<name>mapred.map.tasks</name><value>1<", "<name>mapred.map.tasks</name><value>-1<")
                .as_bytes(),
        ),
        9 => write(
            text.replace(
                "<name>mapred.reduce.tasks</name><value>0<",
                "<name>mapred.reduce.tasks</name><value>2147483647<",
            )
            .as_bytes(),
        ),
        10 => write(&text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>()),
        11 => write(&vec![b' '; 6 << 20]),
        12 => write(format!("<configuration a=\"{}\">", "x".repeat(1 << 20)).as_bytes()),
        13 => write(format!("<configuration><!--{}", "-".repeat(1 << 20)).as_bytes()),
        14 => write(&text.as_bytes()[..text.len() / 2]),
        15 => replace(&|_| {}),
        16 => replace(&|path| std::fs::create_dir(path).unwrap()),
        17 => replace(&|path| symlink("/dev/zero", path).unwrap()),
        18 => replace(&|path| symlink("/dev/tty", path).unwrap()),
        19 => replace(&|path| symlink("/proc/self/mem", path).unwrap()),
        20 => replace(&|path| symlink(path, path).unwrap()),
        21 => replace(&|path| symlink("/etc/shadow", path).unwrap()),
        22 => std::fs::write(&meta, b"").unwrap(),
        23 => std::fs::write(&meta, [0xff; 100]).unwrap(),
        24 => std::fs::write(&meta, b"META-SPL\x01\x8c\x7f\xff\xff\xff").unwrap(),
        25 => std::fs::remove_file(&meta).unwrap(),
        26 => std::fs::write(&meta, vec![0; 11_000_000]).unwrap(),
        27 => std::fs::set_permissions(&xml, PermissionsExt::from_mode(0o000)).unwrap(),
        28 => std::fs::remove_dir_all(&job.folder).unwrap(),
        29 => {
            // A stream that says it is a file.
            replace(&|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()));
        }
        _ => return false,
    }
    true
}

#[test]
fn hostile_files_of_jobs() {
    let mut attack = Attack::on(Stage::fifo(&[]), "hostile files of jobs", &VictimOptions::default());
    let (tried, hung) = attack.strike(|stage| {
        run(async {
            let (mut tried, mut hung) = (0, Vec::new());
            loop {
                let job = stage_job(stage.rpc, "mallory", &small_job(false)).await.unwrap();
                if !spoil(&job, tried) {
                    break (tried, hung);
                }
                let directory = format!("file:{}", job.folder.display());
                let answer = submit_from(stage.rpc, "mallory", job.id, &directory, Credentials::default());
                if tokio::time::timeout(Duration::from_secs(8), answer).await.is_err() {
                    hung.push(tried);
                }
                tried += 1;
            }
        })
    });
    eprintln!("hostile: {tried} spoilt jobs");
    attack.must(hung.is_empty(), || format!("no answer to the spoilt jobs {hung:?}"));
    let log = attack.stage.serving.log.text();
    attack.must(!log.contains("panicked"), || "something panicked".to_owned());
    let done = run(has_honest_job_done(attack.stage.rpc, false));
    attack.must(done.is_ok(), || format!("an honest job: {done:?}"));
    attack.close();
}

/// Everything in a folder, the folder too.
fn all_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(all_in(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[test]
fn modes_of_what_is_the_daemons_own() {
    let stage = Stage::fifo(&[]);
    run(async {
        let job = stage_job(stage.rpc, "alice", &small_job(false)).await.unwrap();
        try_submit(stage.rpc, "alice", &job).await.unwrap();
    });
    let copy = stage.place.path("copy.db");
    let mut backup = std::process::Command::new(crate::daemon::child::built_program());
    let state = format!("jobtracker.state.dir={}", stage.place.path("state").display());
    backup.args(["backup", "-D", &state]).arg(&copy).env_remove("HADOOP_CONF_DIR");
    let said = backup.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let mut found = all_in(&stage.place.path("hadoop/mapred/system"));
    found.extend(all_in(&stage.place.path("state")).into_iter().skip(1));
    found.push(copy);
    let open: Vec<String> = found
        .iter()
        .filter(|path| !path.is_symlink() && path.metadata().unwrap().permissions().mode() & 0o077 != 0)
        .map(|path| format!("{} {:o}", path.display(), path.metadata().unwrap().permissions().mode() & 0o7777))
        .collect();
    assert!(found.len() > 6, "{found:?}");
    verdict("modes of what is the daemon's own", found.len(), &open);
}

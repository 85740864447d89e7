//! The web of a worker: who is answered, and what attackers of it cost others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::cluster::Cluster;
use crate::daemon::answered::Answered;
use crate::daemon::child::TIMEOUT;

/// The answer to a request with this host name.
fn get_under(http: SocketAddr, host: &str, target: &str) -> Answered {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    Answered::parse(&answer)
}

#[test]
fn a_request_under_another_host_name_is_refused() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&["slave.host.name=node7.example.com", "jobtracker.web.hosts=proxy.example.com"]);
    let http = cluster.workers[0].http;
    for host in ["localhost", "127.0.0.1", "node7.example.com", "proxy.example.com"] {
        assert_eq!(get_under(http, &format!("{host}:{}", http.port()), "/").status, 200, "{host}");
    }
    for target in ["/", "/tasklog", "/mapOutput", "/nothing"] {
        let refused = get_under(http, "evil.example", target);
        assert_eq!(refused.status, 421, "{target}");
        assert!(refused.body.contains("evil.example") && refused.body.contains("jobtracker.web.hosts"), "{target}");
    }
    cluster.add_worker(&["jobtracker.web.hosts=*"]);
    assert_eq!(get_under(cluster.workers[1].http, "evil.example", "/").status, 200);
}

#[test]
fn idle_connections_make_no_fetch_wait() {
    let cluster = Cluster::new(1);
    let http = cluster.workers[0].http;
    let idle: Vec<TcpStream> = (0..520)
        .map(|_| {
            let mut stream = TcpStream::connect(http).unwrap();
            write!(stream, "GET / HTTP/1.1\r\nHost: {http}\r\n\r\n").unwrap();
            stream
        })
        .collect();
    // An idle connection is closed after 30 s.
    let patience = Duration::from_secs(10);
    let mut fetch = TcpStream::connect_timeout(&http, patience).unwrap();
    fetch.set_read_timeout(Some(patience)).unwrap();
    write!(fetch, "GET / HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    fetch.read_to_end(&mut answer).unwrap();
    assert_eq!(Answered::parse(&answer).status, 200);
    drop(idle);
}

#[test]
fn every_answer_says_what_it_is() {
    let cluster = Cluster::new(1);
    let http = cluster.workers[0].http;
    let attempt = "attempt_202611211027_0016_m_000000_0";
    for (target, status) in [
        ("/".to_owned(), 200),
        ("/nothing".to_owned(), 404),
        ("/mapOutput".to_owned(), 500),
        ("/mapOutput?job=job_202611211027_0016&map=x&reduce=0".to_owned(), 500),
        ("/tasklog".to_owned(), 400),
        ("/tasklog?start=x".to_owned(), 400),
        (format!("/tasklog?attemptid={attempt}"), 410),
    ] {
        let answer = get_under(http, "localhost", &target);
        assert_eq!(answer.status, status, "{target}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{target}");
    }
}

#[test]
fn a_planted_link_among_logs_serves_no_other_file() {
    let cluster = Cluster::new(1);
    let secret = cluster.folder().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    // Where a task's logs lie, its command finds out by itself.
    let logs = cluster.folder().join("mapred/local/userlogs");
    let plant = format!(
        "cd {}/job_*/$mapred_task_id && rm stdout && ln -s {} stdout && rm stderr && ln {} stderr && cat",
        logs.display(),
        secret.display(),
        secret.display()
    );
    std::fs::write(cluster.folder().join("plant.sh"), plant).unwrap();
    let words = ["submit", "--input", "in/a", "--output", "out", "--reducer", "NONE", "-D", "mapred.map.tasks=1"];
    let said = cluster.job(&[&words[..], &["--file", "plant.sh", "--mapper", "sh plant.sh"]].concat()).done();
    let job = said.split_whitespace().find(|word| word.starts_with("job_")).unwrap();
    let attempt = format!("{}_m_000000_0", job.replace("job_", "attempt_"));
    assert!(logs.join(job).join(&attempt).join("stdout").is_symlink());
    for rest in ["&plaintext=true&filter=stdout", "&plaintext=true&filter=stderr", ""] {
        let target = format!("/tasklog?attemptid={attempt}{rest}");
        let answer = get_under(cluster.workers[0].http, "localhost", &target);
        assert_eq!(answer.status, 200, "{target}");
        assert!(!answer.body.contains("secret"), "{target}: {}", answer.body);
    }
}

#[test]
fn a_worker_says_who_can_reach_its_port() {
    let mut cluster = Cluster::new(1);
    cluster.add_worker(&["mapred.task.tracker.http.address=0.0.0.0:0"]);
    let says = |worker: usize, words: &str| cluster.workers[worker].said.iter().any(|line| line.contains(words));
    assert!(says(0, "open to programs of this machine; logs need no token (mapred.acls.enabled is off)"));
    assert!(says(1, "open to every host that reaches this machine; logs need no token (mapred.acls.enabled is off)"));
}

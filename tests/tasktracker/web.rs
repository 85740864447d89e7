//! The web of a worker: who is answered, and what attackers of it cost others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::served::PATIENCE;
use crate::served::answered::Answered;
use crate::worker::Cluster;

/// The answer to a request with this host name.
fn get_under(http: SocketAddr, host: &str, target: &str) -> Answered {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
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

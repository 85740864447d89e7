//! Logs of attempts, as their tasktracker serves them.

use crate::cluster::Cluster;
use crate::daemon::child::try_get;

#[test]
fn long_logs_are_served_in_parts_and_pages_show_their_end() {
    let cluster = Cluster::new(1);
    let mapper = "sh -c 'yes 0123456789 | head -c 3000000 >&2; echo last >&2; cat'";
    let words =
        ["--input", "in/a", "--output", "out", "--reducer", "NONE", "-D", "mapred.map.tasks=1", "--mapper", mapper];
    let said = cluster.job(&[&["submit"], &words[..]].concat()).done();
    let job = said.split_whitespace().find(|word| word.starts_with("job_")).unwrap();
    let attempt = format!("{}_m_000000_0", job.replace("job_", "attempt_"));
    let events = cluster.job(&["events", job]).done();
    let port = events.split("http://localhost:").nth(1).unwrap().split_whitespace().next().unwrap();
    let get = |query: &str| {
        let http = format!("127.0.0.1:{port}").parse().unwrap();
        try_get(http, &format!("/tasklog?attemptid={attempt}&{query}"), "").unwrap()
    };
    let all = get("plaintext=true&filter=stderr").body;
    assert!(all.len() > 3_000_000 && all.ends_with("last\n"), "{}", all.len());
    assert_eq!(get("plaintext=true&filter=stderr&start=-6&end=-1").body, "last\n");
    assert_eq!(get("plaintext=true&filter=stderr&start=2&end=5").body, "234");
    assert_eq!(get("plaintext=true&filter=stdout").body, "");
    let page = get("all=true").body;
    assert!(page.len() < 2_000_000 && page.contains("last\n</pre>"), "{}", page.len());
    assert!(page.contains("bytes before; plaintext=true&amp;filter=stderr gives all"));
    let other = attempt.replace("_m_", "_r_");
    let http = format!("127.0.0.1:{port}").parse().unwrap();
    let gone = try_get(http, &format!("/tasklog?attemptid={other}&plaintext=true&filter=stderr"), "").unwrap();
    assert_eq!(gone.status, 410);
}

//! Signed questions of bidders about their own queues.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::arguments::Info;
use crate::latencies::Latencies;
use crate::row::Row;

use jobtracker::client::market::Signer;
use jobtracker::client::signed_query::SignedQuery;
use jobtracker::clock::wall_ms;
use jobtracker::market::{Acl, Role};

use super::{Bench, WARM_UP};

pub async fn run(bench: &Bench, arguments: &Info) -> anyhow::Result<Vec<Row>> {
    let &Info { http, clients, seconds, .. } = arguments;
    let users = users(&arguments.acl)?;
    let count = users.len();
    ensure!(count >= clients, "{count} users sign for {clients} clients: each needs one of its own");
    let mut shares: Vec<Vec<Bidder>> = (0..clients).map(|_| Vec::new()).collect();
    for (index, signer) in users.into_iter().enumerate() {
        shares[index % clients].push(Bidder { signer, last_ms: 0 });
    }
    let mut connected = Vec::new();
    for bidders in shares {
        connected.push(Client { stream: BufReader::new(TcpStream::connect(http).await?), bidders, http });
    }
    let (connected, _) = ask(connected, WARM_UP).await?;
    let start = bench.mark()?;
    let (_, mut latencies) = ask(connected, Duration::from_secs(seconds)).await?;
    let (cpu_us, took) = start.until(bench.mark()?);
    let row = bench.row("info", format!("{count} users, {clients} clients"), "signed info", latencies.count());
    Ok(vec![row.cost(cpu_us, took).latencies(&mut latencies)])
}

/// One who asks, and never signs a timestamp twice.
struct Bidder {
    signer: Signer,
    last_ms: i64,
}

/// A connection that stays open.
struct Client {
    stream: BufReader<TcpStream>,
    bidders: Vec<Bidder>,
    http: SocketAddr,
}

/// The users of an ACL file that are no administrators.
fn users(path: &Path) -> anyhow::Result<Vec<Signer>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let acl = Acl::parse(&text, &path.display().to_string())?;
    let signer = |name: &&str| {
        let entry = acl.get(name).filter(|entry| entry.role == Role::User)?;
        Some(Signer { user: (*name).to_owned(), key: entry.key.clone() })
    };
    Ok(names.iter().filter_map(signer).collect())
}

/// Has all clients ask for so long.
async fn ask(clients: Vec<Client>, time: Duration) -> anyhow::Result<(Vec<Client>, Latencies)> {
    let end = Instant::now() + time;
    let mut running = JoinSet::new();
    for mut client in clients {
        running.spawn_local(async move {
            let mut latencies = Latencies::default();
            for bidder in (0..client.bidders.len()).cycle() {
                if Instant::now() >= end {
                    break;
                }
                latencies.add(client.info(bidder).await?);
            }
            anyhow::Ok((client, latencies))
        });
    }
    let mut clients = Vec::new();
    let mut latencies = Latencies::default();
    while let Some(ended) = running.join_next().await {
        let (client, own) = ended??;
        clients.push(client);
        latencies.extend(&own);
    }
    Ok((clients, latencies))
}

// === impl Client ===

impl Client {
    /// One question, and how long its answer took.
    async fn info(&mut self, bidder: usize) -> anyhow::Result<Duration> {
        let Bidder { signer, last_ms } = &mut self.bidders[bidder];
        *last_ms = wall_ms().max(*last_ms + 1);
        let SignedQuery { query, authorization } = SignedQuery::new("info", &signer.user, *last_ms, &signer.key)?;
        let host = self.http;
        let request =
            format!("GET /scheduler?{query} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {authorization}\r\n\r\n");
        let sent = Instant::now();
        self.stream.write_all(request.as_bytes()).await?;
        let (mut line, mut length, mut is_first) = (String::new(), 0, true);
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            if std::mem::take(&mut is_first) && !line.starts_with("HTTP/1.1 200 ") {
                bail!("{query}: {}", line.trim_end());
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        let took = sent.elapsed();
        ensure!(body.ends_with(b"</QueueInfo>\n"), "{query}: {}", String::from_utf8_lossy(&body));
        Ok(took)
    }
}

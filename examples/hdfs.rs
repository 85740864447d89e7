//! Files of an HDFS of Hadoop 1 from a shell, through the client of this program; the live tests run it beside FsShell.
//!
//! `hdfs [--user NAME] [--hold-at BYTES] [--block-bytes N] [-D KEY=VALUE]... HOST:PORT COMMAND [ARGUMENT]...`
//!
//! | command | does |
//! | --- | --- |
//! | `put LOCAL PATH` | writes a file; with `--hold-at` it prints `holds` after so many bytes and waits for a line or the end of its input |
//! | `get PATH LOCAL` | reads a file; `--hold-at` as for `put` |
//! | `make-dirs PATH MODE`, `mode PATH MODE`, `owner PATH USER GROUP`, `delete PATH`, `rename FROM TO` | what their names say; modes are octal |
//! | `list PATH`, `status PATH`, `places PATH`, `summary PATH`, `safe-mode` | print what there is, one line each |

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use jobtracker::hdfs::{CreateOptions, Endpoint, HdfsClient, HdfsOptions, HdfsPath, HdfsStatus, ListBound};

const PIECE_BYTES: usize = 64 << 10;

#[derive(Default)]
struct Arguments {
    user: Option<String>,
    hold_at_bytes: Option<u64>,
    block_bytes: Option<u64>,
    keys: Vec<(String, String)>,
    words: Vec<String>,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut parsed = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word}: a value is missing"));
            match &*word {
                "--user" => parsed.user = Some(value()?),
                "--hold-at" => parsed.hold_at_bytes = Some(value()?.parse()?),
                "--block-bytes" => parsed.block_bytes = Some(value()?.parse()?),
                "-D" => {
                    let pair = value()?;
                    let (key, value) =
                        pair.split_once('=').with_context(|| format!("-D {pair}: expected KEY=VALUE"))?;
                    parsed.keys.push((key.to_owned(), value.to_owned()));
                }
                _ => parsed.words.push(word),
            }
        }
        Ok(parsed)
    }
}

/// Copies all, and holds once at the given byte.
fn copy(from: &mut impl Read, to: &mut impl Write, mut hold_at_bytes: Option<u64>) -> Result<u64> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut copied = 0;
    loop {
        if hold_at_bytes.is_some_and(|at| copied >= at) {
            hold_at_bytes = None;
            println!("holds");
            std::io::stdout().flush()?;
            std::io::stdin().lock().read_line(&mut String::new())?;
        }
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok(copied);
        }
        to.write_all(&piece[..count])?;
        copied += count as u64;
    }
}

fn print(status: &HdfsStatus) {
    let HdfsStatus { name, length_bytes, replication, block_bytes, mode, owner, group, .. } = status;
    let kind = if status.is_directory { 'd' } else { 'f' };
    println!("{kind} {mode:04o} {owner} {group} {length_bytes} {replication} {block_bytes} {name}");
}

fn run() -> Result<()> {
    let arguments = Arguments::parse()?;
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let [address, command @ ..] = &*words else { bail!("expected HOST:PORT COMMAND [ARGUMENT]...") };
    let (host, port) = address.rsplit_once(':').with_context(|| format!("{address}: expected HOST:PORT"))?;
    let namenode = Endpoint { host: host.to_owned(), port: port.parse()? };
    let keys = &arguments.keys;
    let options =
        HdfsOptions::from_keys(|key| keys.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone()))?;
    let user = match arguments.user {
        Some(user) => user,
        None => std::env::var("USER").context("--user is missing, and USER is not set")?,
    };
    let client = HdfsClient::new(namenode, &user, options);
    let path = |text: &str| HdfsPath::parse(text);
    let mode = |text: &str| u16::from_str_radix(text, 8);
    match command {
        ["put", local, to] => {
            let wanted = CreateOptions {
                mode: client.options().under_umask(0o666),
                block_bytes: arguments.block_bytes,
                ..CreateOptions::default()
            };
            let mut writer = client.create(&path(to)?, wanted)?;
            copy(&mut File::open(local)?, &mut writer, arguments.hold_at_bytes)?;
            println!("{} bytes", writer.finish()?);
        }
        ["get", from, local] => {
            let mut reader = client.open(&path(from)?)?;
            let copied = copy(&mut reader, &mut File::create(local)?, arguments.hold_at_bytes)?;
            println!("{copied} bytes");
        }
        ["make-dirs", at, text] => println!("{}", client.make_dirs(&path(at)?, mode(text)?)?),
        ["mode", at, text] => client.set_permission(&path(at)?, mode(text)?)?,
        ["owner", at, owner, group] => client.set_owner(&path(at)?, Some(owner), Some(group))?,
        ["delete", at] => println!("{}", client.delete(&path(at)?, true)?),
        ["rename", from, to] => println!("{}", client.rename(&path(from)?, &path(to)?)?),
        ["list", at] => match client.list(&path(at)?, ListBound::OF_USER)? {
            Some(entries) => entries.iter().for_each(print),
            None => bail!("{at}: no such directory"),
        },
        ["status", at] => match client.status(&path(at)?)? {
            Some(status) => print(&status),
            None => bail!("{at}: no such file"),
        },
        ["places", at] => {
            for place in client.block_places(&path(at)?, 0, u64::MAX)?.unwrap_or_default() {
                println!(
                    "{} {} {}",
                    place.offset_bytes,
                    place.length_bytes,
                    place.replicas.iter().map(|node| node.host.as_str()).collect::<Vec<_>>().join(",")
                );
            }
        }
        ["summary", at] => {
            let summary = client.content_summary(&path(at)?)?;
            println!("{} bytes, {} files, {} directories", summary.length_bytes, summary.files, summary.directories);
        }
        ["safe-mode"] => println!("{}", client.is_in_safe_mode()?),
        other => bail!("{other:?}: no such command, or not its arguments"),
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hdfs: {error}");
            ExitCode::FAILURE
        }
    }
}

//! A session with the database: how it is opened, and the lock that makes it the only writer.

use std::future::poll_fn;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode as ClientSslMode};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};

use crate::config::settings::{PostgresSettings, SslMode};
use crate::fs::{access_of_others, open_named_by_conf};

use super::error::PostgresError;
use super::shown::ShownState;
use super::tls::Tls;

/// Unless the URL says otherwise. Twice that may pass until a server has let a client in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After that a server that is gone is taken for gone, by either side: idle, then three probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const PASSWORD_LIMIT_BYTES: u64 = 4 << 10;
/// Permission bits of a file's group.
const GROUP: u32 = 0o070;
/// First, that operators and functions are the server's own: others may have planted theirs in `public`. The same times for
/// the server; and no statement outlives the time in which its result is awaited.
const SESSION: &str = "SET search_path = pg_catalog, pg_temp; SET statement_timeout = '55s'; SET lock_timeout = '20s';
    SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = 'warning';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SELECT set_config('client_connection_check_interval', '5s', false), set_config('idle_session_timeout', '0', false)
        WHERE current_setting('server_version_num')::int >= 140000";
/// In any other one some names and notes cannot be written, or not be read again.
const ENCODING: &str = "UTF8";
/// The key of the advisory lock: `jobt`, and 1.
const LOCK: &str = "1785684596, 1";
/// A session of a JobTracker is named as one, and may write what it publishes: a name alone is anyone's.
const HOLDER: &str =
    "SELECT activity.pid, activity.application_name, activity.usename::text, host(activity.client_addr),
        activity.backend_start::timestamptz(0)::text,
        (activity.application_name LIKE 'jobtracker process %'
            OR activity.application_name = current_setting('application_name'))
        AND has_table_privilege(activity.usesysid, to_regclass('jobtracker.publication'), 'UPDATE')
    FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
    WHERE held.locktype = 'advisory' AND held.granted AND held.classid = 1785684596 AND held.objid = 1
        AND held.objsubid = 2 AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1";
/// A transaction that was prepared has its locks without a session, until a person ends it.
const PREPARED_HOLDER: &str = "SELECT prepared.gid, prepared.owner::text, prepared.prepared::timestamptz(0)::text
    FROM pg_locks AS held
    JOIN pg_locks AS own ON own.virtualtransaction = held.virtualtransaction AND own.locktype = 'transactionid'
    JOIN pg_prepared_xacts AS prepared ON prepared.transaction = own.transactionid
    WHERE held.locktype = 'advisory' AND held.granted AND held.classid = 1785684596 AND held.objid = 1
        AND held.objsubid = 2 AND held.pid IS NULL AND prepared.database = current_database() LIMIT 1";
const LOCK_PAUSE: Duration = Duration::from_millis(250);
/// How long a lock may be held by none that is found: who had it has just ended.
const LOCK_GRACE: Duration = Duration::from_secs(5);
/// PostgreSQL cuts longer names.
const MOST_NAME_BYTES: usize = 63;

#[derive(Debug)]
pub(super) struct PostgresSession {
    pub(super) client: Client,
    /// What was written last under the lock; none: others may have written since.
    pub(super) written: Option<ShownState>,
    /// Of the database, as the server says it at the login.
    encoding: Option<String>,
    connection: JoinHandle<()>,
}

impl PostgresSession {
    fn over<S, T>(client: Client, connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let encoding = connection.parameter("server_encoding").map(str::to_owned);
        Self { client, written: None, encoding, connection: tokio::spawn(drive(connection)) }
    }

    /// Closes the socket, so that the server ends the session and its lock.
    pub(super) async fn close(self) {
        drop(self.client);
        // A client that is gone ends the connection with a farewell, unless the server does not read.
        let mut connection = self.connection;
        if tokio::time::timeout(Duration::from_secs(1), &mut connection).await.is_err() {
            connection.abort();
            let _: Result<(), _> = connection.await;
        }
    }
}

/// The parsed URL with what the settings say beside it, but for the password.
pub(super) fn client_config(settings: &PostgresSettings) -> Result<Config, PostgresError> {
    let mut config: Config = settings.url.parse().map_err(PostgresError::Url)?;
    if config.get_application_name().is_none() {
        config.application_name(own_name());
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
    config.keepalives_retries(KEEPALIVE_RETRIES);
    Ok(config)
}

pub(super) fn place_of(config: &Config) -> String {
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let name = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("database {user}{}/{name}", servers_of(config))
}

pub(super) fn servers_of(config: &Config) -> String {
    let named = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let mut hosts: Vec<String> = named.collect();
    if hosts.is_empty() {
        hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    let ports = config.get_ports().iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let port = if ports.is_empty() { ports } else { format!(":{ports}") };
    format!("{}{port}", hosts.join(","))
}

/// The same for each server alone: one that says nothing must not keep the next from being asked.
fn alone(config: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let servers = hosts.len().max(addresses.len());
    let is_paired = |count: usize| count == 0 || count == servers;
    if servers < 2
        || !is_paired(hosts.len())
        || !is_paired(addresses.len())
        || (ports.len() > 1 && ports.len() != servers)
    {
        return vec![config.clone()];
    }
    let one = |server: usize| {
        let mut one = Config::new();
        match hosts.get(server) {
            Some(Host::Tcp(name)) => _ = one.host(name),
            Some(Host::Unix(path)) => _ = one.host_path(path),
            None => {}
        }
        addresses.get(server).into_iter().for_each(|address| _ = one.hostaddr(*address));
        ports.get(server).or(ports.first()).into_iter().for_each(|port| _ = one.port(*port));
        config.get_user().into_iter().for_each(|user| _ = one.user(user));
        config.get_password().into_iter().for_each(|password| _ = one.password(password));
        config.get_dbname().into_iter().for_each(|name| _ = one.dbname(name));
        config.get_options().into_iter().for_each(|options| _ = one.options(options));
        config.get_application_name().into_iter().for_each(|name| _ = one.application_name(name));
        config.get_connect_timeout().into_iter().for_each(|timeout| _ = one.connect_timeout(*timeout));
        config.get_tcp_user_timeout().into_iter().for_each(|timeout| _ = one.tcp_user_timeout(*timeout));
        config.get_keepalives_interval().into_iter().for_each(|interval| _ = one.keepalives_interval(interval));
        config.get_keepalives_retries().into_iter().for_each(|retries| _ = one.keepalives_retries(retries));
        one.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
        one.ssl_negotiation(config.get_ssl_negotiation()).channel_binding(config.get_channel_binding());
        one.target_session_attrs(config.get_target_session_attrs());
        one.load_balance_hosts(config.get_load_balance_hosts());
        one
    };
    (0..servers).map(one).collect()
}

/// Opens a session with the first server that gives one; the runtime's other tasks drive it.
pub(super) async fn connect(settings: &PostgresSettings) -> Result<PostgresSession, PostgresError> {
    let mut config = client_config(settings)?;
    let password = password(settings)?;
    if let Some(password) = &password {
        config.password(password);
    }
    let limit = 2 * config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
    let mut refusal = None;
    for mut server in alone(&config) {
        let opened = tokio::time::timeout(limit, open(&mut server, settings)).await.unwrap_or_else(|_| {
            let awaited = "the login";
            Err(PostgresError::Silent { servers: servers_of(&server), awaited, limit_s: limit.as_secs() })
        });
        match opened {
            Ok(session) => return Ok(session),
            Err(error) => refusal = Some(explained(error, settings, password.as_deref())),
        }
    }
    // There is always one.
    Err(refusal.unwrap_or(PostgresError::Stopped))
}

/// A refused password that ends as no one types it.
fn explained(error: PostgresError, settings: &PostgresSettings, password: Option<&[u8]>) -> PostgresError {
    let is_refused =
        matches!(&error, PostgresError::Client(error) if error.code() == Some(&SqlState::INVALID_PASSWORD));
    match &settings.password_file {
        Some(path)
            if is_refused && password.is_some_and(|password| password.ends_with(b" ") || password.ends_with(b"\t")) =>
        {
            let reason = "the server refuses the password, and its line ends with a blank, which is part of it: remove the blank";
            PostgresError::PasswordFile { path: path.display().to_string(), reason: reason.to_owned() }
        }
        _ => error,
    }
}

async fn open(config: &mut Config, settings: &PostgresSettings) -> Result<PostgresSession, PostgresError> {
    let is_local =
        !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let session = match settings.ssl_mode {
        // libpq, too, has no TLS on Unix sockets.
        _ if is_local => open_plain(config).await?,
        SslMode::Disable => open_plain(config).await?,
        SslMode::Allow => match open_plain(config).await {
            Ok(session) => session,
            Err(_) => open_tls(config, settings, ClientSslMode::Require).await?,
        },
        SslMode::Prefer => open_tls(config, settings, ClientSslMode::Prefer).await?,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            open_tls(config, settings, ClientSslMode::Require).await?
        }
    };
    if let Some(found) = session.encoding.as_ref().filter(|encoding| *encoding != ENCODING) {
        return Err(PostgresError::Encoding { found: found.clone() });
    }
    session.client.batch_execute(SESSION).await?;
    Ok(session)
}

async fn open_plain(config: &mut Config) -> Result<PostgresSession, PostgresError> {
    let (client, connection) = config.ssl_mode(ClientSslMode::Disable).connect(NoTls).await?;
    Ok(PostgresSession::over(client, connection))
}

async fn open_tls(
    config: &mut Config,
    settings: &PostgresSettings,
    mode: ClientSslMode,
) -> Result<PostgresSession, PostgresError> {
    let tls = Tls::new(settings.ssl_mode, settings.root_certificates.as_deref())?;
    let (client, connection) = config.ssl_mode(mode).connect(tls).await?;
    Ok(PostgresSession::over(client, connection))
}

/// Moves the bytes of a session until it ends, and logs what the server says by itself.
async fn drive<S, T>(mut connection: Connection<S, T>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            tracing::warn!("the database of budgets warns: {}", notice.message());
        }
    }
}

pub(super) fn password(settings: &PostgresSettings) -> Result<Option<Vec<u8>>, PostgresError> {
    let Some(path) = &settings.password_file else { return Ok(None) };
    let failed = |reason: String| PostgresError::PasswordFile { path: path.display().to_string(), reason };
    let file = open_named_by_conf(path).map_err(|error| failed(error.to_string()))?;
    let metadata = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if let Some(access) = access_of_others(&metadata) {
        return Err(failed(format!("it is {access} for others: run chmod 600")));
    }
    // As libpq does; and what another user owns, that one can change.
    if metadata.mode() & GROUP != 0 {
        return Err(failed("it is open to its group: run chmod 600".to_owned()));
    }
    let own = rustix::process::geteuid().as_raw();
    if ![0, own].contains(&metadata.uid()) {
        return Err(failed(format!("it belongs to the user of number {}: run chown", metadata.uid())));
    }
    let content = file.read_limited(PASSWORD_LIMIT_BYTES).map_err(|error| failed(error.to_string()))?;
    let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.is_empty() {
        true => Err(failed("its first line is empty; expected the password".to_owned())),
        false => Ok(Some(line.to_vec())),
    }
}

/// Makes the session the only writer; waits that long for a session that is about to end.
pub(super) async fn lock(client: &Client, patience: Duration) -> Result<(), PostgresError> {
    let due = now() + patience;
    loop {
        let row = client.query_one(&format!("SELECT pg_try_advisory_lock({LOCK})"), &[]).await?;
        if row.try_get::<_, bool>(0)? {
            return Ok(());
        }
        if now() >= due {
            if let Some(holder) = holder(client).await? {
                return Err(holder);
            }
            // Without a holder it has just ended.
            if now() >= due + LOCK_GRACE {
                let (holder, end) = ("somebody that pg_locks does not name", "ending the sessions of pg_locks");
                return Err(PostgresError::Held { holder: holder.to_owned(), end: end.to_owned() });
            }
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// Whether the session is still the only writer. A lost lock was lost with its session; this sees one that a person released.
pub(super) async fn is_locked(client: &Client) -> Result<bool, PostgresError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
                   AND classid = 1785684596 AND objid = 1 AND objsubid = 2 AND pid = pg_backend_pid())";
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}

/// Who has the lock, as an error.
async fn holder(client: &Client) -> Result<Option<PostgresError>, PostgresError> {
    let Some(row) = client.query_opt(HOLDER, &[]).await? else { return prepared_holder(client).await };
    let text = |column: usize, before: &str| -> Result<String, PostgresError> {
        let known = row.try_get::<_, Option<String>>(column)?.filter(|text| !text.is_empty());
        Ok(known.map(|text| format!("{before}{text}")).unwrap_or_default())
    };
    let pid: i32 = row.try_get(0)?;
    let (name, since) = (text(1, "")?, text(4, ", connected since ")?);
    let holder = format!("`{name}` as {}{}, session {pid}{since}", text(2, "")?, text(3, " from ")?);
    // No table, no privilege: no JobTracker either.
    let is_jobtracker = row.try_get::<_, Option<bool>>(5)?.unwrap_or(false);
    Ok(Some(if is_jobtracker {
        PostgresError::Locked { holder }
    } else {
        PostgresError::Held { holder, end: format!("SELECT pg_terminate_backend({pid})") }
    }))
}

async fn prepared_holder(client: &Client) -> Result<Option<PostgresError>, PostgresError> {
    let Some(row) = client.query_opt(PREPARED_HOLDER, &[]).await? else { return Ok(None) };
    let (name, owner, since): (String, String, String) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let holder =
        format!("the prepared transaction `{name}` of {owner} since {since} (advisory lock {LOCK}, pg_prepared_xacts)");
    Ok(Some(PostgresError::Held { holder, end: format!("ROLLBACK PREPARED '{}'", name.replace('\'', "''")) }))
}

fn own_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut name = format!("jobtracker process {} on {host}", std::process::id());
    while name.len() > MOST_NAME_BYTES {
        name.pop();
    }
    name
}

#[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
pub(super) fn now() -> Instant {
    Instant::now()
}

//! A session with the database: how it is opened, and the lock that makes it the only writer.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode as ClientSslMode};
use tokio_postgres::{Client, Config, NoTls};

use crate::config::settings::{PostgresSettings, SslMode};
use crate::fs::{access_of_others, open_named_by_conf};

use super::error::PostgresError;
use super::tls::Tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After that a server that is gone is taken for gone, by either side: idle, then three probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const PASSWORD_LIMIT_BYTES: u64 = 4 << 10;
/// The same for the server; and no statement outlives the time in which its result is awaited.
const SESSION: &str = "SET statement_timeout = '55s'; SET lock_timeout = '20s';
    SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = 'warning';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SELECT set_config('client_connection_check_interval', '5s', false)
        WHERE current_setting('server_version_num')::int >= 140000";
/// The key of the advisory lock: `jobt`, and 1.
const LOCK: &str = "1785684596, 1";
const HOLDER: &str = "SELECT activity.application_name, activity.usename::text, activity.client_addr::text,
        activity.backend_start::timestamptz(0)::text
    FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
    WHERE held.locktype = 'advisory' AND held.granted AND held.classid = 1785684596 AND held.objid = 1
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1";
const LOCK_PAUSE: Duration = Duration::from_millis(250);
/// PostgreSQL cuts longer names.
const MOST_NAME_BYTES: usize = 63;

/// An open session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    connection: JoinHandle<()>,
}

impl Session {
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

/// What messages call the database.
pub(super) fn place_of(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let ports = config.get_ports().iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let port = if ports.is_empty() { ports } else { format!(":{ports}") };
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let name = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("database {user}{hosts}{port}/{name}")
}

/// Opens a session; the runtime's other tasks drive it.
pub(super) async fn connect(settings: &PostgresSettings) -> Result<Session, PostgresError> {
    let mut config = client_config(settings)?;
    if let Some(password) = password(settings)? {
        config.password(password);
    }
    let is_local =
        !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    let session = match settings.ssl_mode {
        // libpq, too, has no TLS on Unix sockets.
        _ if is_local => open_plain(&mut config).await?,
        SslMode::Disable => open_plain(&mut config).await?,
        SslMode::Allow => match open_plain(&mut config).await {
            Ok(session) => session,
            Err(_) => open_tls(&mut config, settings, ClientSslMode::Require).await?,
        },
        SslMode::Prefer => open_tls(&mut config, settings, ClientSslMode::Prefer).await?,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            open_tls(&mut config, settings, ClientSslMode::Require).await?
        }
    };
    session.client.batch_execute(SESSION).await?;
    Ok(session)
}

async fn open_plain(config: &mut Config) -> Result<Session, PostgresError> {
    let (client, connection) = config.ssl_mode(ClientSslMode::Disable).connect(NoTls).await?;
    Ok(Session { client, connection: tokio::spawn(async move { drop(connection.await) }) })
}

async fn open_tls(
    config: &mut Config,
    settings: &PostgresSettings,
    mode: ClientSslMode,
) -> Result<Session, PostgresError> {
    let tls = Tls::new(settings.ssl_mode, settings.root_certificates.as_deref())?;
    let (client, connection) = config.ssl_mode(mode).connect(tls).await?;
    Ok(Session { client, connection: tokio::spawn(async move { drop(connection.await) }) })
}

/// The first line of the password file.
pub(super) fn password(settings: &PostgresSettings) -> Result<Option<Vec<u8>>, PostgresError> {
    let Some(path) = &settings.password_file else { return Ok(None) };
    let failed = |reason: String| PostgresError::PasswordFile { path: path.display().to_string(), reason };
    let file = open_named_by_conf(path).map_err(|error| failed(error.to_string()))?;
    let metadata = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if let Some(access) = access_of_others(&metadata) {
        return Err(failed(format!("it is {access} for others: run chmod 600")));
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
            return Err(PostgresError::Locked { holder: holder(client).await? });
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// Whether the session is still the only writer. A lost lock was lost with its session; this sees one that a person released.
pub(super) async fn is_locked(client: &Client) -> Result<bool, PostgresError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
                   AND classid = 1785684596 AND objid = 1 AND pid = pg_backend_pid())";
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}

async fn holder(client: &Client) -> Result<String, PostgresError> {
    let Some(row) = client.query_opt(HOLDER, &[]).await? else { return Ok("it has just ended".to_owned()) };
    let text = |column| -> Result<String, PostgresError> {
        Ok(row.try_get::<_, Option<String>>(column)?.unwrap_or_else(|| "unknown".to_owned()))
    };
    let address = row.try_get::<_, Option<String>>(2)?.map(|address| format!(" from {address}")).unwrap_or_default();
    Ok(format!("`{}` as {}{address}, connected since {}", text(0)?, text(1)?, text(3)?))
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
fn now() -> Instant {
    Instant::now()
}

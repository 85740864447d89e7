//! One HTTP GET on a connection of its own, that tells apart an answer that came from one that got lost.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer: once its status is there, what was asked is done or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// What came of the body.
    pub body: String,
}

/// Asks for a path with its query. An error means that no status came.
pub async fn get(address: SocketAddr, path: &str, authorization: Option<&str>) -> io::Result<HttpAnswer> {
    let mut stream = TcpStream::connect(address).await?;
    let authorization = authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}Connection: close\r\n\r\n");
    let written = stream.write_all(request.as_bytes()).await;
    let mut bytes = Vec::new();
    // A connection that breaks off behind the status takes nothing back.
    let read = stream.read_to_end(&mut bytes).await;
    match parse(&bytes) {
        Some(answer) => Ok(answer),
        None => {
            written?;
            read?;
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        }
    }
}

fn parse(bytes: &[u8]) -> Option<HttpAnswer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let (status_line, _) = text.split_once("\r\n")?;
    let status = status_line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Some(HttpAnswer { status, body })
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, data)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or(0);
        let Some(chunk) = data.get(..length).filter(|_| length > 0) else { break };
        body.push_str(chunk);
        rest = data.get(length + 2..).unwrap_or_default();
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_from_its_status_line_on() {
        let whole = parse(b"HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nbody\n").unwrap();
        assert_eq!(whole, HttpAnswer { status: 404, body: "body\n".to_owned() });
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nA:").unwrap().status, 200);
        assert_eq!(parse(b"HTTP/1.1 20"), None);
        assert_eq!(parse(b""), None);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert_eq!(parse(chunked).unwrap().body, "abcde");
    }
}

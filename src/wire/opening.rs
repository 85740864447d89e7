//! The opening of a connection: preamble, authentication method, header (IPC version 4). The server sends nothing in response to a valid
//! opening, except that it switches a client that wants to authenticate to the simple method. All errors close the connection, as with
//! 1.2.1 `Server`.

use super::frame::{Frame, FrameError, encode_frame, split_frame};
use super::limits::PROTOCOL_NAME_BYTES;
use super::{Decode, Encode, JavaUtf, Reader, Text, WireError, Writer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// None: the client states its user.
    Simple = 0x50,
    /// By a Kerberos ticket.
    Kerberos = 0x51,
    /// By a token.
    Digest = 0x52,
}

/// The user of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionUser {
    /// The user that the calls act for.
    pub effective: String,
    /// The calling user, when it is another.
    pub real: Option<String>,
}

/// The header of a connection (1.2.1 `ConnectionHeader`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionHeader {
    /// Class name of the protocol that all calls belong to.
    pub protocol: Text,
    /// The user.
    pub user: Option<ConnectionUser>,
}

/// An invalid opening.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    /// Not a Hadoop client: an HTTP request, for example.
    #[error("does not begin with hrpc")]
    NotHadoop,
    /// A client of another release.
    #[error("version {0} of the IPC protocol is not 4")]
    Version(u8),
    /// An unknown authentication method.
    #[error("authentication method {0:#04x} is not known")]
    AuthMethod(u8),
    /// A ping where the header is expected.
    #[error("a ping in place of the header")]
    Ping,
    /// An invalid length.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A malformed header.
    #[error("header: {0}")]
    Header(#[from] WireError),
}

/// The opening of one connection.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    stage: OpeningStage,
}

/// The part of an opening that is expected next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OpeningStage {
    /// The first six bytes.
    #[default]
    Preamble,
    /// A token that a client may have sent before it read [`SWITCH_TO_SIMPLE`].
    FirstToken,
    /// The header.
    Header,
}

/// The action on the bytes of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningStep {
    /// Wait for more.
    NeedMore,
    /// Drop `consumed` bytes from the front and continue.
    Consumed {
        /// Bytes to drop.
        consumed: usize,
        /// Send [`SWITCH_TO_SIMPLE`] at once: the client waits for it.
        switch_to_simple: bool,
    },
    /// Drop `consumed` bytes; calls follow.
    Done {
        /// Bytes to drop.
        consumed: usize,
        /// The header.
        header: ConnectionHeader,
    },
}

/// Switches a client to no authentication: status 0, then a marker where a token's length would be.
pub const SWITCH_TO_SIMPLE: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xa8];

/// Longest header or token: three names of at most 64 KiB each.
pub(crate) const OPENING_LIMIT_BYTES: usize = 256 * 1024;

const PREAMBLE: &[u8; 5] = b"hrpc\x04";
const PREAMBLE_BYTES: usize = PREAMBLE.len() + 1;

impl Opening {
    /// An opening that expects `stage` next.
    pub(crate) fn at(stage: OpeningStage) -> Self {
        Self { stage }
    }

    /// The part that is expected next.
    pub(crate) fn stage(&self) -> OpeningStage {
        self.stage
    }

    /// Examines the bytes received and not yet dropped.
    pub fn advance(&mut self, buffer: &[u8]) -> Result<OpeningStep, OpeningError> {
        match self.stage {
            OpeningStage::Preamble => {
                let Some(auth_method) = decode_preamble(buffer)? else { return Ok(OpeningStep::NeedMore) };
                let switch_to_simple = auth_method != AuthMethod::Simple;
                self.stage = if switch_to_simple { OpeningStage::FirstToken } else { OpeningStage::Header };
                Ok(OpeningStep::Consumed { consumed: PREAMBLE_BYTES, switch_to_simple })
            }
            OpeningStage::FirstToken => match split_frame(buffer, OPENING_LIMIT_BYTES)? {
                None => Ok(OpeningStep::NeedMore),
                Some((_, consumed)) => {
                    self.stage = OpeningStage::Header;
                    Ok(OpeningStep::Consumed { consumed, switch_to_simple: false })
                }
            },
            OpeningStage::Header => match split_frame(buffer, OPENING_LIMIT_BYTES)? {
                None => Ok(OpeningStep::NeedMore),
                Some((Frame::Ping, _)) => Err(OpeningError::Ping),
                Some((Frame::Bytes(bytes), consumed)) => {
                    let header = ConnectionHeader::decode(&mut Reader::new(bytes))?;
                    Ok(OpeningStep::Done { consumed, header })
                }
            },
        }
    }
}

/// Reads the six bytes before the header; refuses the first wrong byte.
fn decode_preamble(buffer: &[u8]) -> Result<Option<AuthMethod>, OpeningError> {
    for (sent, expected) in buffer.iter().zip(PREAMBLE) {
        if sent != expected {
            return Err(if *expected == 4 { OpeningError::Version(*sent) } else { OpeningError::NotHadoop });
        }
    }
    let Some(auth_method) = buffer.get(PREAMBLE.len()) else { return Ok(None) };
    match auth_method {
        0x50 => Ok(Some(AuthMethod::Simple)),
        0x51 => Ok(Some(AuthMethod::Kerberos)),
        0x52 => Ok(Some(AuthMethod::Digest)),
        other => Err(OpeningError::AuthMethod(*other)),
    }
}

/// Appends a whole opening, as a client without authentication sends it.
pub fn encode_opening(out: &mut Vec<u8>, header: &ConnectionHeader) {
    out.extend_from_slice(PREAMBLE);
    out.push(AuthMethod::Simple as u8);
    encode_frame(out, |writer| header.encode(writer));
}

impl Decode for ConnectionHeader {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let protocol = reader.text_within(PROTOCOL_NAME_BYTES, "protocol")?;
        Ok(Self { protocol, user: reader.option("user flag")? })
    }
}

impl Encode for ConnectionHeader {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.text(&self.protocol);
        writer.option(&self.user);
    }
}

impl Decode for ConnectionUser {
    const MIN_BYTES: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let effective = JavaUtf::decode(reader)?.0;
        let real = if reader.bool("real user flag")? { Some(JavaUtf::decode(reader)?.0) } else { None };
        Ok(Self { effective, real })
    }
}

impl Encode for ConnectionUser {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.java_utf(&self.effective);
        writer.bool(self.real.is_some());
        if let Some(real) = &self.real {
            writer.java_utf(real);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ConnectionHeader {
        let user = ConnectionUser { effective: "h1".to_owned(), real: None };
        ConnectionHeader { protocol: "org.apache.hadoop.mapred.InterTrackerProtocol".into(), user: Some(user) }
    }

    #[test]
    fn an_opening_may_come_byte_by_byte() {
        let mut sent = Vec::new();
        encode_opening(&mut sent, &header());
        let (mut opening, mut buffer, mut done) = (Opening::default(), Vec::new(), None);
        for byte in sent {
            buffer.push(byte);
            match opening.advance(&buffer).unwrap() {
                OpeningStep::NeedMore => {}
                OpeningStep::Consumed { consumed, switch_to_simple } => {
                    assert!(!switch_to_simple);
                    buffer.drain(..consumed);
                }
                OpeningStep::Done { consumed, header } => {
                    assert_eq!(consumed, buffer.len());
                    done = Some(header);
                }
            }
        }
        assert_eq!(done, Some(header()));
    }

    #[test]
    fn another_client_is_refused_at_its_first_wrong_byte() {
        let refused = |bytes: &[u8]| Opening::default().advance(bytes).unwrap_err();
        assert_eq!(refused(b"G"), OpeningError::NotHadoop);
        assert_eq!(refused(b"hrpC"), OpeningError::NotHadoop);
        assert_eq!(refused(b"hrpc\x05"), OpeningError::Version(5));
        assert_eq!(refused(b"hrpc\x04\x01"), OpeningError::AuthMethod(1));
        assert_eq!(Opening::default().advance(b"hrpc\x04"), Ok(OpeningStep::NeedMore));
    }

    #[test]
    fn headers_have_a_limit() {
        let mut opening = Opening::default();
        opening.advance(b"hrpc\x04\x50").unwrap();
        assert!(matches!(opening.advance(&[0x7f, 0, 0, 0]), Err(OpeningError::Frame(FrameError::TooLong { .. }))));
        assert_eq!(opening.advance(&[0xff; 4]), Err(OpeningError::Ping));
    }
}

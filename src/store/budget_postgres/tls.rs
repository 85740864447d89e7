//! TLS to the database by rustls, as libpq's `sslmode` demands it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use crate::config::settings::SslMode;
use crate::fs::open_named_by_conf;

use super::error::PostgresError;

/// Limit of a file of root certificates: several times those of a machine.
const LIMIT_BYTES: u64 = 8 << 20;
/// The certificates of this machine, as Debian has them.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
const SYSTEM: &str = "system";

#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

pub(super) struct TlsTo {
    connector: TlsConnector,
    server: ServerName<'static>,
}

pub(super) struct TlsOver<S>(RustlsStream<S>);

/// Accepts what a mode of libpq accepts: any certificate, or one that a root certificate signed, whatever its name.
#[derive(Debug)]
struct LenientVerifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Tls {
    pub(super) fn new(mode: SslMode, root_certificates: Option<&str>) -> Result<Self, PostgresError> {
        let provider = Arc::new(ring::default_provider());
        let failed = |reason: String| PostgresError::RootCertificates {
            path: root_certificates.unwrap_or_default().to_owned(),
            reason,
        };
        let chain = match (mode, root_certificates) {
            // As libpq does: named certificates are for use, whatever the mode.
            (mode, Some(path)) if mode != SslMode::Disable => {
                let roots = Arc::new(read_roots(path)?);
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
                Some(verifier.map_err(|error| failed(error.to_string()))?)
            }
            _ => None,
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| failed(error.to_string()))?.dangerous();
        let verifier: Arc<dyn ServerCertVerifier> = match (mode, chain) {
            (SslMode::VerifyFull, Some(chain)) => chain,
            (_, chain) => Arc::new(LenientVerifier { chain, provider }),
        };
        Ok(Self(Arc::new(builder.with_custom_certificate_verifier(verifier).with_no_client_auth())))
    }
}

fn read_roots(path: &str) -> Result<RootCertStore, PostgresError> {
    let failed = |reason: String| PostgresError::RootCertificates { path: path.to_owned(), reason };
    let file = if path == SYSTEM { SYSTEM_CERTIFICATES } else { path };
    let read = open_named_by_conf(file.as_ref()).and_then(|file| file.read_limited(LIMIT_BYTES));
    let text = read.map_err(|error| failed(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| failed(format!("not certificates in PEM: {error}")))?;
        // Of a machine's certificates some may be of kinds that are not known.
        if let Err(error) = roots.add(certificate)
            && path != SYSTEM
        {
            return Err(failed(error.to_string()));
        }
    }
    match roots.is_empty() {
        true => Err(failed("it has no certificate in PEM".to_owned())),
        false => Ok(roots),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = TlsOver<S>;
    type TlsConnect = TlsTo;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<TlsTo, InvalidDnsNameError> {
        // Unix sockets have no name, and no TLS.
        let name = if domain.is_empty() { "localhost" } else { domain };
        let server = ServerName::try_from(name.to_owned())?;
        Ok(TlsTo { connector: TlsConnector::from(Arc::clone(&self.0)), server })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for TlsTo {
    type Stream = TlsOver<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsOver<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.server, stream).await.map(TlsOver) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for TlsOver<S> {
    /// SCRAM without binding to the certificate: the mode says how that is verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsOver<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsOver<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, server, ocsp, now) {
            // The name is looked at last, after the chain and its dates.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

//! TLS on a connection, with the trust of the operating system and of a given authority.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::flight;
use crate::client::Access;
use crate::{Error, Result};

const BUFFER: usize = 16 * 1024;

/// Reads the certificates that the options name. Called before the first connection.
pub(in crate::store) fn config(access: &Access) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if let Some(path) = &access.ca_file {
        let authorities = certificates("ca_file", path)?;
        let (added, _) = roots.add_parsable_certificates(authorities);
        if added == 0 {
            return Err(bad_file("ca_file", path, "it has no certificate of an authority"));
        }
    } else if roots.is_empty()
        && let Some(error) = found.errors.first()
    {
        crate::log::warn_user!("the system's certificates cannot be read: {error}");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots);
    let Some(path) = &access.cert_file else { return Ok(Arc::new(builder.with_no_client_auth())) };
    let chain = certificates("cert_file", path)?;
    let (option, key_path) = access.key_file.as_ref().map_or(("cert_file", path), |path| ("key_file", path));
    let key = PrivateKeyDer::from_pem_slice(&read(option, key_path)?)
        .map_err(|_| bad_file(option, key_path, "it has no private key in PEM"))?;
    match builder.with_client_auth_cert(chain, key) {
        Ok(config) => Ok(Arc::new(config)),
        Err(error) => Err(bad_file(option, key_path, &format!("the certificate and its key do not work: {error}"))),
    }
}

fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(option, path)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(std::result::Result::ok).collect();
    if found.is_empty() {
        return Err(bad_file(option, path, "it has no certificate in PEM"));
    }
    Ok(found)
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| bad_file(option, path, &error.to_string()))
}

fn bad_file(option: &str, path: &Path, fault: &str) -> Error {
    let detail = format!("{option} {}: {fault} (tls_bad_file)", path.display());
    Error::invalid("tls_bad_file", detail)
}

/// Puts TLS on the connections of `https:` URLs.
pub(in crate::store) struct Tls(pub(in crate::store) Option<Arc<ClientConfig>>);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl<In: Transport> Connector<In> for Tls {
    type Out = Either<In, TlsTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        below: Option<In>,
    ) -> std::result::Result<Option<Self::Out>, ureq::Error> {
        let Some(below) = below else { return Ok(None) };
        if !details.needs_tls() || below.is_tls() {
            flight::connected();
            return Ok(Some(Either::A(below)));
        }
        let Some(config) = &self.0 else { return Err(ureq::Error::TlsRequired) };
        // A tunnel through a proxy is a connection as well.
        flight::connecting();
        let host = details.uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("{host} is no name for TLS")))?;
        let mut session = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
        let mut adapter = TransportAdapter::new(below.boxed(), details.current_time.clone());
        while session.is_handshaking() {
            if let Err(error) = session.complete_io(&mut adapter) {
                note_distrust(host, &error);
                return Err(error.into());
            }
        }
        flight::connected();
        let stream = StreamOwned::new(session, adapter);
        Ok(Some(Either::B(TlsTransport { stream, buffers: LazyBuffers::new(BUFFER, BUFFER) })))
    }
}

/// Notes why one side did not accept the other's certificate; that is not worth a second try.
pub(in crate::store) fn note_distrust(host: &str, error: &io::Error) {
    use rustls::{AlertDescription as Alert, CertificateError as Fault, Error as TlsError};
    let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) else { return };
    let why = match error {
        TlsError::InvalidCertificate(Fault::UnknownIssuer) => {
            format!("the certificate of {host} was issued by an unknown issuer: name its authority with ca_file")
        }
        TlsError::InvalidCertificate(Fault::NotValidForName | Fault::NotValidForNameContext { .. }) => {
            format!("the certificate of {host} is for another name")
        }
        TlsError::InvalidCertificate(Fault::Expired | Fault::ExpiredContext { .. }) => {
            format!("the certificate of {host} has expired")
        }
        TlsError::InvalidCertificate(fault) => format!("the certificate of {host} is not valid: {fault:?}"),
        TlsError::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnknownCA
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::CertificateRevoked
            | Alert::AccessDenied,
        ) => format!("{host} does not accept this client's certificate ({error}): see cert_file"),
        _ => return,
    };
    flight::distrusted(why);
}

/// A connection with TLS.
pub(in crate::store) struct TlsTransport {
    stream: StreamOwned<ClientConnection, TransportAdapter>,
    buffers: LazyBuffers,
}

impl std::fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> std::result::Result<(), ureq::Error> {
        self.stream.write_all(&self.buffers.output()[..amount])?;
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        let count = match self.stream.read(self.buffers.input_append_buf()) {
            Ok(count) => count,
            Err(error) => {
                let host = "the server";
                note_distrust(host, &error);
                return Err(error.into());
            }
        };
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

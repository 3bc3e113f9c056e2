//! TLS.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

/// The files of a server that speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate and those above it, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// What connections are accepted with. It can read its files again while it works.
pub(crate) struct Certificates {
    files: Tls,
    config: RwLock<Arc<ServerConfig>>,
}

impl Certificates {
    pub(crate) fn open(files: &Tls) -> Result<Self, Failure> {
        Ok(Self { files: files.clone(), config: RwLock::new(read(files)?) })
    }

    /// Reads the files again. After a failure the former certificate stays.
    pub(crate) fn reload(&self) -> Result<(), Failure> {
        let config = read(&self.files)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

fn read(files: &Tls) -> Result<Arc<ServerConfig>, Failure> {
    let failed = |path: &PathBuf, what: &dyn std::fmt::Display| {
        Failure::usage(format!("{} cannot be used for TLS: {what}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(&files.cert, &error))?;
    if chain.is_empty() {
        return Err(failed(&files.cert, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| failed(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&files.key, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| failed(&files.key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

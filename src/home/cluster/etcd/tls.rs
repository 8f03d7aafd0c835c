//! Files that prove who is who.

use std::fs;
use std::path::Path;

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::config::Tls;
use super::error::{EngineError, in_words};

/// Where systems keep the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

pub(super) fn client(tls: &Tls) -> Result<ClientTlsConfig, EngineError> {
    let authorities = match &tls.ca {
        Some(path) => read(path)?,
        None => {
            let known = SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.is_file());
            let missing = "no authorities are known here; name a file of them with `ca`";
            read(known.ok_or_else(|| EngineError::Refused(missing.to_owned()))?)?
        }
    };
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authorities));
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<u8>, EngineError> {
    fs::read(path).map_err(|error| {
        EngineError::Refused(format!("cannot read {}: {}", path.display(), in_words(&error)))
    })
}

//! Signed tokens: JWT.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;

use super::Auth;
use super::roles::Roles;
use crate::failure::Failure;

/// How far the clocks may be apart, in seconds.
const SKEW: u64 = 30;

/// The key that tokens are signed with, and what they must say.
pub(super) struct Signed {
    key: DecodingKey,
    validation: Validation,
}

impl Signed {
    pub(super) fn read(path: &Path, auth: &Auth) -> Result<Self, Failure> {
        let failed = |what: String| Failure::usage(format!("the key in {} {what}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
        // The key decides which algorithms are taken, so that a public key is never used as a secret.
        let (key, algorithms) = if bytes.starts_with(b"-----BEGIN") {
            if let Ok(key) = DecodingKey::from_rsa_pem(&bytes) {
                (key, vec![Algorithm::RS256, Algorithm::RS384, Algorithm::RS512])
            } else {
                let key = DecodingKey::from_ed_pem(&bytes)
                    .map_err(|_| failed("is no public key of RSA or Ed25519 in PEM".into()))?;
                (key, vec![Algorithm::EdDSA])
            }
        } else {
            let secret = bytes.trim_ascii();
            if secret.len() < 32 {
                return Err(failed("is a secret of less than 32 bytes".into()));
            }
            let key = DecodingKey::from_secret(secret).map_err(|error| failed(format!("is no secret: {error}")))?;
            (key, vec![Algorithm::HS256, Algorithm::HS384, Algorithm::HS512])
        };
        let mut validation = Validation::new(algorithms[0]);
        validation.algorithms = algorithms;
        validation.leeway = SKEW;
        validation.validate_nbf = true;
        validation.required_spec_claims.clear();
        validation.validate_aud = auth.jwt_audience.is_some();
        if let Some(audience) = &auth.jwt_audience {
            validation.set_audience(&[audience]);
            validation.required_spec_claims.insert("aud".into());
        }
        if let Some(issuer) = &auth.jwt_issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".into());
        }
        Ok(Self { key, validation })
    }

    /// The roles that a token gives. `Err`: why it is not taken.
    pub(super) fn roles_of(&self, token: &str) -> Result<Roles, &'static str> {
        let header = decode_header(token).map_err(|error| match error.kind() {
            ErrorKind::InvalidAlgorithmName | ErrorKind::UnsupportedAlgorithm => "Unsupported token algorithm",
            // The algorithm is a word of the header, and one that is not known makes it unreadable.
            ErrorKind::Json(_) => "Unsupported token algorithm",
            _ => "Bad token header",
        })?;
        if !self.validation.algorithms.contains(&header.alg) {
            return Err("Unsupported token algorithm");
        }
        let claims = decode::<Value>(token, &self.key, &self.validation).map_err(|error| match error.kind() {
            ErrorKind::ExpiredSignature => "Token has expired",
            ErrorKind::ImmatureSignature => "Token not yet valid",
            ErrorKind::InvalidIssuer => "Invalid token issuer",
            ErrorKind::InvalidAudience => "Invalid token audience",
            ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => "Invalid token issuer",
            ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => "Invalid token audience",
            _ => "Invalid token signature",
        })?;
        let claims = claims.claims;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if claims["iat"].as_f64().is_some_and(|at| at > (now + SKEW) as f64) {
            return Err("Token issued in the future");
        }
        let mut roles = Roles::default();
        let listed = claims["roles"].as_array().into_iter().flatten();
        for role in listed.chain([&claims["role"]]).filter_map(Value::as_str) {
            // Roles of other services are no business of ours.
            roles.add(role);
        }
        Ok(roles)
    }
}

//! Who may do what: tokens in a file, or signed ones.

mod jwt;
mod roles;
mod tokens;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{HeaderMap, header};

use self::jwt::Signed;
use self::roles::Roles;
pub(crate) use self::roles::{Level, level_of};
use self::tokens::Tokens;
use crate::failure::Failure;

/// Where the tokens come from. Nothing set: everybody may do everything.
#[derive(Clone, Debug, Default)]
pub struct Auth {
    /// A file with one token a line: a role (`read-only`, `read-write`, `write-only`, `admin`), a blank and the token.
    pub tokens: Option<PathBuf>,
    /// A file with the key that signed tokens (JWT) are checked with: a public key in PEM (RSA, Ed25519), or a secret.
    pub jwt_key: Option<PathBuf>,
    /// The `iss` that signed tokens must have.
    pub jwt_issuer: Option<String>,
    /// The `aud` that signed tokens must have.
    pub jwt_audience: Option<String>,
}

impl Auth {
    /// Whether a request has to show a token.
    pub(crate) fn is_on(&self) -> bool {
        self.tokens.is_some() || self.jwt_key.is_some()
    }
}

/// Why a request may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Whoever asks is not known: 401 with this text.
    Unknown(&'static str),
    /// Whoever asks may not do that: 403.
    Forbidden,
}

struct Keys {
    tokens: Option<Tokens>,
    signed: Option<Signed>,
}

/// The door-keeper. It can read its files again while it works.
pub(crate) struct Keeper {
    auth: Auth,
    keys: RwLock<Arc<Keys>>,
}

impl Keeper {
    pub(crate) fn open(auth: &Auth) -> Result<Self, Failure> {
        Ok(Self { auth: auth.clone(), keys: RwLock::new(Arc::new(read(auth)?)) })
    }

    /// Reads the files again. After a failure the former keys stay.
    pub(crate) fn reload(&self) -> Result<(), Failure> {
        let keys = Arc::new(read(&self.auth)?);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Whether a request with these headers may use routes of this level.
    pub(crate) fn check(&self, headers: &HeaderMap, level: Level) -> Result<(), Denied> {
        if level == Level::Public || !self.auth.is_on() {
            return Ok(());
        }
        let shown = headers.get(header::AUTHORIZATION).ok_or(Denied::Unknown("Authentication required"))?;
        let shown = shown.to_str().map_err(|_| Denied::Unknown("Bad token header"))?.trim();
        let token = match shown.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            Some(_) => return Err(Denied::Unknown("Bad token header")),
            None => shown,
        };
        let roles = self.roles_of(token)?;
        if roles.allow(level) { Ok(()) } else { Err(Denied::Forbidden) }
    }

    fn roles_of(&self, token: &str) -> Result<Roles, Denied> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(roles) = keys.tokens.as_ref().and_then(|tokens| tokens.roles_of(token)) {
            return Ok(roles);
        }
        match &keys.signed {
            Some(signed) => signed.roles_of(token).map_err(Denied::Unknown),
            None => Err(Denied::Unknown("Invalid token")),
        }
    }
}

fn read(auth: &Auth) -> Result<Keys, Failure> {
    let tokens = auth.tokens.as_deref().map(Tokens::read).transpose()?;
    let signed = auth.jwt_key.as_deref().map(|path| Signed::read(path, auth)).transpose()?;
    Ok(Keys { tokens, signed })
}

//! Who we are to a server: a bearer token, or a user and a password.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use ureq::http::HeaderValue;

use crate::client::Access;
use crate::clock::{Moment, boot_now};
use crate::secret::Secret;
use crate::url::ServerUrl;
use crate::{Error, Result};

/// How long a secret that was read from a file is used before the file is looked at again.
const FRESH: Duration = Duration::from_secs(1);

pub(super) struct Credentials {
    token: Option<Source>,
    user: Option<String>,
    password: Option<Source>,
}

enum Source {
    Text(Secret),
    File {
        option: &'static str,
        path: PathBuf,
        /// Guards what was read last, and when.
        known: Mutex<Option<(Secret, Moment)>>,
    },
}

impl Source {
    fn of(option: &'static str, text: Option<&Secret>, path: Option<&PathBuf>) -> Option<Self> {
        let file = || path.map(|path| Self::File { option, path: path.clone(), known: Mutex::new(None) });
        text.map(|text| Self::Text(text.clone())).or_else(file)
    }

    fn get(&self) -> Result<Secret> {
        let (option, path, known) = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::File { option, path, known } => (*option, path, known),
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = boot_now();
        match (&*known, read(option, path)) {
            (Some((secret, at)), _) if now.since(*at) < FRESH => Ok(secret.clone()),
            (_, Ok(secret)) => Ok(known.insert((secret, now)).0.clone()),
            // It is being replaced: what it said before may do until it is there again.
            (Some((secret, _)), Err(_)) => Ok(secret.clone()),
            (None, Err(error)) => Err(error),
        }
    }

    /// Has the file read anew at the next use; true when that may help.
    fn forget(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::File { option, path, known } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                match (&mut *known, read(option, path)) {
                    (Some((secret, _)), Ok(fresh)) if fresh == *secret => false,
                    (known, Ok(fresh)) => {
                        *known = Some((fresh, boot_now()));
                        true
                    }
                    (_, Err(_)) => false,
                }
            }
        }
    }
}

fn read(option: &str, path: &Path) -> Result<Secret> {
    let bad =
        |fault: &str| Error::invalid("auth_bad_file", format!("{option} {}: {fault} (auth_bad_file)", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(&error.to_string()))?;
    let text = text.trim();
    if text.is_empty() { Err(bad("it is empty")) } else { Ok(Secret::new(text)) }
}

impl Credentials {
    pub(super) fn new(access: &Access) -> Self {
        Self {
            token: Source::of("auth_token_file", access.auth_token.as_ref(), access.auth_token_file.as_ref()),
            user: access.user.clone(),
            password: Source::of("password_file", access.password.as_ref(), access.password_file.as_ref()),
        }
    }

    /// The value of the header `Authorization` for `server`, if there is to be one.
    pub(super) fn header(&self, server: &ServerUrl) -> Result<Option<HeaderValue>> {
        // What the URL says is for this very server.
        let user = server.user.as_ref().or(self.user.as_ref().filter(|_| self.token.is_none()));
        let text = if let Some(user) = user {
            let password = match (&server.password, &self.password) {
                (Some(password), _) => password.clone(),
                (None, Some(source)) => source.get()?,
                (None, None) => Secret::new(""),
            };
            let both = format!("{user}:{}", password.reveal());
            format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(both))
        } else if let Some(token) = &self.token {
            format!("Bearer {}", token.get()?.reveal())
        } else {
            return Ok(None);
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let detail = "the token has characters that no HTTP header can carry (auth_bad_token)";
            Error::invalid("auth_bad_token", detail)
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// The server refused them; true when they have changed meanwhile, so that it may be asked again.
    pub(super) fn have_changed(&self) -> bool {
        let changed = |source: &Option<Source>| source.as_ref().is_some_and(Source::forget);
        let token = changed(&self.token);
        changed(&self.password) || token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    fn server(url: &str) -> ServerUrl {
        match StoreUrl::parse(url).unwrap() {
            StoreUrl::Http { servers } => servers[0].clone(),
            other => panic!("{other:?}"),
        }
    }

    fn header(access: Access, url: &str) -> Option<String> {
        let header = Credentials::new(&access).header(&server(url)).unwrap()?;
        assert!(header.is_sensitive());
        Some(header.to_str().unwrap().to_string())
    }

    #[test]
    fn a_url_speaks_for_its_server_and_the_options_for_all() {
        let token = || Access { auth_token: Some(Secret::new("t1")), ..Access::default() };
        assert_eq!(header(Access::default(), "http://a"), None);
        assert_eq!(header(token(), "http://a").as_deref(), Some("Bearer t1"));
        assert_eq!(header(token(), "http://u:p@a").as_deref(), Some("Basic dTpw"));
        let user = Access { user: Some("u".into()), password: Some(Secret::new("p")), ..Access::default() };
        assert_eq!(header(user.clone(), "http://a").as_deref(), Some("Basic dTpw"));
        assert_eq!(header(user, "http://u@a").as_deref(), Some("Basic dTpw"));
    }

    #[test]
    fn a_token_file_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let access = Access { auth_token_file: Some(path.clone()), ..Access::default() };
        let credentials = Credentials::new(&access);
        let at = server("http://a");
        let error = credentials.header(&at).unwrap_err();
        assert_eq!(error.reason(), "auth_bad_file");
        assert!(error.to_string().contains("auth_token_file"), "{error}");
        std::fs::write(&path, "one\n").unwrap();
        assert_eq!(credentials.header(&at).unwrap().unwrap(), "Bearer one");
        assert!(!credentials.have_changed());
        std::fs::write(&path, "two\n").unwrap();
        assert!(credentials.have_changed());
        assert_eq!(credentials.header(&at).unwrap().unwrap(), "Bearer two");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(credentials.header(&at).unwrap().unwrap(), "Bearer two");
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_not_repeated() {
        let access = Access { auth_token: Some(Secret::new("hunter2\n")), ..Access::default() };
        let error = Credentials::new(&access).header(&server("http://a")).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}

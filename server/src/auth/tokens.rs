//! Tokens in a file.

use std::path::Path;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::roles::Roles;
use crate::failure::Failure;

/// The tokens that are known, as their digests: the comparison takes as long for every token.
#[derive(Debug)]
pub(super) struct Tokens(Vec<([u8; 32], Roles)>);

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Tokens {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("cannot read the tokens in {}: {error}", path.display())))?;
        Self::parse(&text).map_err(|what| Failure::usage(format!("{}: {what}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |what: &str| format!("line {}: {what}", number + 1);
            let (role, token) =
                line.split_once(char::is_whitespace).ok_or_else(|| bad("a line is a role, a blank and a token"))?;
            let (token, mut roles) = (token.trim(), Roles::default());
            if !roles.add(role) {
                return Err(bad("the role is none of read-only, read-write, write-only, admin"));
            }
            if token.len() < 16 || token.contains(char::is_whitespace) {
                return Err(bad("a token is 16 characters or longer, without blanks"));
            }
            tokens.push((digest(token), roles));
        }
        if tokens.is_empty() {
            return Err("there is no token in it".into());
        }
        Ok(Self(tokens))
    }

    /// The roles of a token; `None`: it is not known.
    pub(super) fn roles_of(&self, token: &str) -> Option<Roles> {
        let shown = digest(token);
        let mut found = u32::MAX;
        for (index, (known, _)) in self.0.iter().enumerate() {
            let equal: Choice = known.ct_eq(&shown);
            found = u32::conditional_select(&found, &(index as u32), equal);
        }
        self.0.get(found as usize).map(|(_, roles)| *roles)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_file_of_tokens_is_read_and_its_faults_are_named() {
        let tokens = Tokens::parse("# ours\n\nread-only  0123456789abcdef\nadmin fedcba9876543210\n").unwrap();
        assert!(!tokens.roles_of("0123456789abcdef").unwrap().allow(Level::ReadWrite));
        assert!(tokens.roles_of("fedcba9876543210").unwrap().allow(Level::Admin));
        assert!(tokens.roles_of("0123456789abcdeF").is_none() && tokens.roles_of("").is_none());
        for (text, word) in [
            ("", "no token"),
            ("read-only", "line 1: a line is"),
            ("\nowner 0123456789abcdef", "line 2: the role"),
            ("admin short", "16 characters"),
        ] {
            let error = Tokens::parse(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}

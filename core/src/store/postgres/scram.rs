//! Showing a password without sending it (SCRAM-SHA-256, RFC 5802 and RFC 7677).

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

/// The most rounds that a server may ask for: some seconds of work.
const MAX_ROUNDS: u32 = 5_000_000;
/// No channel is bound.
const NO_BINDING: &str = "n,,";

/// One exchange in progress.
pub(super) struct Scram {
    nonce: String,
    /// What the server has to prove that it knows the password too.
    expected: Option<Vec<u8>>,
}

fn sign(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

impl Scram {
    pub(super) fn new(random: &[u8]) -> Self {
        Self { nonce: STANDARD.encode(random), expected: None }
    }

    fn bare(&self) -> String {
        // The user is known from the start of the connection.
        format!("n=,r={}", self.nonce)
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("{NO_BINDING}{}", self.bare())
    }

    /// The answer to the server's first message; what is wrong with that otherwise.
    pub(super) fn answer(&mut self, password: &str, server: &str) -> Result<String, &'static str> {
        let member = |name: &str| server.split(',').find_map(|part| part.strip_prefix(name));
        let nonce = member("r=").filter(|nonce| nonce.len() > self.nonce.len() && nonce.starts_with(&self.nonce));
        let salt = member("s=").and_then(|salt| STANDARD.decode(salt).ok());
        let rounds = member("i=").and_then(|rounds| rounds.parse().ok()).filter(|rounds| *rounds <= MAX_ROUNDS);
        let (Some(nonce), Some(salt), Some(rounds)) = (nonce, salt, rounds.and_then(NonZeroU32::new)) else {
            return Err("the server's challenge cannot be read");
        };
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client_key);
        let last = format!("c={},r={nonce}", STANDARD.encode(NO_BINDING));
        let whole = format!("{},{server},{last}", self.bare());
        let signature = sign(stored.as_ref(), whole.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, mask)| key ^ mask).collect();
        self.expected = Some(sign(&sign(&salted, b"Server Key"), whole.as_bytes()));
        Ok(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server knows the password, by its last message.
    pub(super) fn is_genuine(&self, server: &str) -> bool {
        let proof =
            server.split(',').find_map(|part| part.strip_prefix("v=")).and_then(|text| STANDARD.decode(text).ok());
        proof.is_some() && proof == self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_to_know_the_password_as_well() {
        let mut scram = Scram::new(b"eighteen bytes of x");
        let server = format!("r={}abc,s={},i=4096", scram.nonce, STANDARD.encode(b"salt"));
        let answer = scram.answer("secret", &server).unwrap();
        assert!(answer.starts_with("c=biws,r=") && answer.contains(",p=") && !answer.contains("secret"));
        assert!(!scram.is_genuine("v=AAAA") && !scram.is_genuine("") && !scram.is_genuine("e=other-error"));
        let own = format!("v={}", STANDARD.encode(scram.expected.clone().unwrap()));
        assert!(scram.is_genuine(&own));
        let nonce = scram.nonce.clone();
        for bad in
            ["", "r=x,s=c2FsdA==,i=4096", &format!("r={nonce},s=c2FsdA==,i=1"), &format!("r={nonce}a,s=c2FsdA==,i=0")]
        {
            assert!(scram.answer("secret", bad).is_err(), "{bad}");
        }
        assert!(scram.answer("secret", &format!("r={nonce}a,s=c2FsdA==,i=999999999")).is_err());
    }
}

//! Messages of PostgreSQL's protocol, version 3.

use std::io;

/// The longest message that is read.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;

/// A message: its kind and what is in it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

/// A message to the server.
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 5);
    out.push(kind);
    out.extend_from_slice(&length(body.len()));
    out.extend_from_slice(body);
    out
}

fn length(body: usize) -> [u8; 4] {
    u32::try_from(body + 4).unwrap_or(u32::MAX).to_be_bytes()
}

/// Statements, to be done one after the other until one fails.
pub(super) fn query(sql: &str) -> Vec<u8> {
    let mut body = sql.as_bytes().to_vec();
    body.push(0);
    message(b'Q', &body)
}

/// The first message of a connection.
pub(super) fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    // Nothing that a pooler does not know.
    let pairs =
        [("user", user), ("database", database), ("application_name", "fencehold"), ("client_encoding", "UTF8")];
    for (name, value) in pairs {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    [&length(body.len())[..], &body].concat()
}

/// Asks whether the server speaks TLS.
pub(super) fn ask_for_tls() -> [u8; 8] {
    [0, 0, 0, 8, 4, 210, 22, 47]
}

/// Takes a whole message from the front of what was received.
pub(super) fn take(received: &mut Vec<u8>) -> io::Result<Option<Message>> {
    let Some(head) = received.get(..5) else { return Ok(None) };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=MAX_MESSAGE).contains(&length) {
        return Err(bad("a message of a length that no server sends"));
    }
    if received.len() <= length {
        return Ok(None);
    }
    let kind = head[0];
    let rest = received.split_off(length + 1);
    let body = std::mem::replace(received, rest).split_off(5);
    Ok(Some(Message { kind, body }))
}

pub(super) fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("what answered does not speak PostgreSQL's protocol ({what})"))
}

/// A value of a row: text, or null.
pub(super) type Field = Option<Vec<u8>>;

/// The values of a row.
pub(super) fn row(body: &[u8]) -> io::Result<Vec<Field>> {
    let short = || bad("a row that is cut off");
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(short)?;
    let mut row = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        rest = after;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => row.push(None),
            Ok(length) => {
                let (value, after) = rest.split_at_checked(length).ok_or_else(short)?;
                row.push(Some(value.to_vec()));
                rest = after;
            }
        }
    }
    Ok(row)
}

/// The code and the text of an error.
pub(super) fn error(body: &[u8]) -> (String, String) {
    let (mut code, mut message) = (String::new(), String::new());
    for part in body.split(|byte| *byte == 0) {
        match part.split_first() {
            Some((b'C', text)) => code = String::from_utf8_lossy(text).into_owned(),
            Some((b'M', text)) => message = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (code, message)
}

/// The payload of a notification.
pub(super) fn payload(body: &[u8]) -> Option<&[u8]> {
    body.get(4..)?.split(|byte| *byte == 0).nth(1)
}

/// Bytes as SQL: digits only, so that nothing in them can be anything but bytes.
pub(super) fn literal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 12);
    out.push_str("'\\x");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    out.push_str("'::bytea");
    out
}

/// Bytes from hexadecimal digits.
pub(super) fn unhex(text: &[u8]) -> io::Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(|| bad("bytes that are not hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_taken_whole() {
        let mut received = [message(b'Z', b"I"), message(b'C', b"x\0")].concat();
        received.truncate(received.len() - 1);
        let first = take(&mut received).unwrap().unwrap();
        assert_eq!((first.kind, &first.body[..]), (b'Z', &b"I"[..]));
        assert!(take(&mut received).unwrap().is_none());
        received.push(0);
        assert_eq!(take(&mut received).unwrap().unwrap().body, b"x\0");
        assert!(received.is_empty());
        assert!(take(&mut b"HTTP/1.1 400".to_vec()).is_err());
        assert!(take(&mut vec![b'Z', 0, 0, 0, 3]).is_err());
    }

    #[test]
    fn what_a_server_says_is_read() {
        assert_eq!(error(b"SERROR\0C42P01\0Mno such table\0\0"), ("42P01".into(), "no such table".into()));
        assert_eq!(payload(b"\0\0\0\x01fencehold\x0042\0"), Some(&b"42"[..]));
        assert_eq!(row(&[0, 2, 0, 0, 0, 1, b'a', 255, 255, 255, 255]).unwrap(), [Some(b"a".to_vec()), None]);
    }

    proptest! {
        #[test]
        fn nothing_that_comes_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = (row(&bytes), error(&bytes), payload(&bytes), unhex(&bytes), take(&mut bytes.clone()));
        }

        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = literal(&bytes);
            let digits = &text.as_bytes()[3..text.len() - 8];
            prop_assert_eq!(unhex(digits).unwrap(), bytes);
        }
    }
}

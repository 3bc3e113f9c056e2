//! The keys of permits and tickets.

use super::limits::{MAX_PERMITS, MAX_TICKET};

/// `<name>#`: what the keys of a lock's rows start with.
pub fn prefix(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 11);
    key.extend_from_slice(name.as_bytes());
    key.push(b'#');
    key
}

/// The key of a permit: the slot in plain decimal.
pub fn permit(name: &str, slot: u32) -> Vec<u8> {
    let mut key = prefix(name);
    push_decimal(&mut key, u64::from(slot), 1);
    key
}

/// The key of a ticket: ten digits, so that keys sort as their numbers do.
pub fn ticket(name: &str, number: u64) -> Vec<u8> {
    let mut key = prefix(name);
    push_decimal(&mut key, number, 10);
    key
}

/// Appends a number in decimal with at least `width` digits.
pub fn push_decimal(out: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// The name and the slot of a permit's key; `None` for a key that is no permit, such as `a#07`.
pub fn parse_permit(key: &[u8]) -> Option<(&str, u32)> {
    let hash = key.iter().position(|byte| *byte == b'#')?;
    let name = std::str::from_utf8(&key[..hash]).ok()?;
    let slot = parse_slot(&key[hash + 1..])?;
    (!name.is_empty()).then_some((name, slot))
}

/// A slot in canonical decimal.
pub fn parse_slot(digits: &[u8]) -> Option<u32> {
    let canonical = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 4;
    if !canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let slot = digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    (slot < MAX_PERMITS).then_some(slot)
}

/// The number of a ticket.
pub fn parse_ticket(digits: &[u8]) -> Option<u64> {
    if digits.len() != 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    (1..=MAX_TICKET).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_has_its_slot_in_plain_decimal() {
        assert_eq!(permit("gpu", 0), b"gpu#0");
        assert_eq!(permit("gpu", 1023), b"gpu#1023");
        assert_eq!(parse_permit(b"gpu#1023"), Some(("gpu", 1023)));
        for foreign in ["gpu#07", "gpu#+7", "gpu#x", "gpu#1024", "gpu#1#2", "gpu#", "gpu", "#1", "gpu#00"] {
            assert_eq!(parse_permit(foreign.as_bytes()), None, "{foreign}");
        }
    }

    #[test]
    fn a_ticket_has_ten_digits() {
        assert_eq!(ticket("n", 7), b"n#0000000007");
        assert_eq!(ticket("n", MAX_TICKET), b"n#9999999999");
        assert_eq!(parse_ticket(b"0000000007"), Some(7));
        for foreign in ["7", "0000000000", "00000000070", "000000000x"] {
            assert_eq!(parse_ticket(foreign.as_bytes()), None, "{foreign}");
        }
    }
}

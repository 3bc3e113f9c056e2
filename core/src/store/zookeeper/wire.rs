//! ZooKeeper's packets: numbers in network order, texts and buffers with their length in front.

use super::failure::Failure;

/// The longest packet that is taken from a server: its own default limit, and some room.
pub(super) const MAX_PACKET: usize = 8 * 1024 * 1024;

/// What kind of request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Op {
    Create = 1,
    Delete = 2,
    Exists = 3,
    GetData = 4,
    Ping = 11,
    GetChildren2 = 12,
    Create2 = 15,
    Auth = 100,
    Close = -11,
}

/// The number that a reply to a ping carries.
pub(super) const PING: i32 = -2;
/// The number that a reply to a login carries.
pub(super) const AUTH: i32 = -4;
/// The number that the notice of a watch carries.
pub(super) const WATCH: i32 = -1;

/// A packet that is being written.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn int(mut self, value: i32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, value: i64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn bool(mut self, value: bool) -> Self {
        self.0.push(u8::from(value));
        self
    }

    pub(super) fn bytes(self, value: &[u8]) -> Self {
        let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
        let mut this = self.int(length);
        this.0.extend_from_slice(value);
        this
    }

    pub(super) fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    /// The rights of a new node: all of them, for `(scheme, id)`.
    pub(super) fn rights(self, (scheme, id): (&str, &str)) -> Self {
        const ALL: i32 = 31;
        self.int(1).int(ALL).text(scheme).text(id)
    }

    /// The packet with its length in front.
    pub(super) fn packet(self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(self.0.len() + 4);
        packet.extend_from_slice(&i32::try_from(self.0.len()).unwrap_or(i32::MAX).to_be_bytes());
        packet.extend_from_slice(&self.0);
        packet
    }
}

/// A packet that is being read. What does not fit is a failure, never a panic.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Failure> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(Failure::BadAnswer("a packet is too short"))?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn int(&mut self) -> Result<i32, Failure> {
        let mut number = [0; 4];
        number.copy_from_slice(self.take(4)?);
        Ok(i32::from_be_bytes(number))
    }

    pub(super) fn long(&mut self) -> Result<i64, Failure> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(i64::from_be_bytes(number))
    }

    /// A buffer; an absent one reads as empty.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Failure> {
        match self.int()? {
            -1 => Ok(&[]),
            length => {
                let length = usize::try_from(length).map_err(|_| Failure::BadAnswer("a length is negative"))?;
                self.take(length)
            }
        }
    }

    pub(super) fn text(&mut self) -> Result<String, Failure> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Failure::BadAnswer("a text is not UTF-8"))
    }

    pub(super) fn texts(&mut self) -> Result<Vec<String>, Failure> {
        let count = self.int()?.max(0);
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(self.text()?);
        }
        Ok(texts)
    }

    pub(super) fn stat(&mut self) -> Result<Stat, Failure> {
        let (czxid, _mzxid) = (self.long()?, self.long()?);
        let (created_millis, _changed_millis) = (self.long()?, self.long()?);
        let stat = Stat { czxid, created_millis, version: self.int()? };
        // cversion, aversion, ephemeralOwner, dataLength, numChildren, pzxid.
        self.take(4 + 4 + 8 + 4 + 4 + 8)?;
        Ok(stat)
    }
}

/// What a server tells about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The number of the change that made it: rises with every change in the whole ensemble.
    pub(super) czxid: i64,
    /// When it was made, by the server's time of day.
    pub(super) created_millis: i64,
    pub(super) version: i32,
}

/// The notice of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// 1 made, 2 removed, 3 changed, 4 children changed, -1 the state of the session.
    pub(super) kind: i32,
    pub(super) path: String,
}

impl Event {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Failure> {
        let kind = reader.int()?;
        let _state = reader.int()?;
        Ok(Self { kind, path: reader.text()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let packet = Writer::default().int(-7).long(1 << 40).bool(true).text("ä").bytes(&[]).packet();
        let mut reader = Reader::new(&packet);
        assert_eq!(reader.int().ok(), Some(packet.len() as i32 - 4));
        assert_eq!(reader.int().ok(), Some(-7));
        assert_eq!(reader.long().ok(), Some(1 << 40));
        assert_eq!(reader.take(1).ok(), Some(&[1][..]));
        assert_eq!(reader.text().ok().as_deref(), Some("ä"));
        assert_eq!(reader.bytes().ok(), Some(&[][..]));
        assert!(reader.int().is_err());
    }

    #[test]
    fn an_absent_buffer_is_empty_and_a_length_below_that_is_refused() {
        assert_eq!(Reader::new(&(-1i32).to_be_bytes()).bytes().ok(), Some(&[][..]));
        assert!(Reader::new(&(-2i32).to_be_bytes()).bytes().is_err());
        assert!(Reader::new(&i32::MAX.to_be_bytes()).bytes().is_err());
        assert!(Reader::new(&i32::MAX.to_be_bytes()).texts().is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Reader::new(&bytes).stat();
            let _ = Reader::new(&bytes).texts();
            let _ = Reader::new(&bytes).text();
            let _ = Event::read(&mut Reader::new(&bytes));
        }
    }
}

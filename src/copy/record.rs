//! `Record`: the fields of one row as they were read. One is filled again and again, so that a row allocates nothing.

/// The fields of one row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    end: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Null,
    Default,
}

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A value in the form's own bytes; UTF-8 unless that is binary.
    Data(&'a [u8]),
    /// NULL.
    Null,
    /// The column's default.
    Default,
}

impl Record {
    /// How many fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field; `None` behind the last.
    pub fn get(&self, at: usize) -> Option<FieldValue<'_>> {
        let field = self.fields.get(at)?;
        Some(match field.kind {
            Kind::Data => FieldValue::Data(&self.bytes[self.start(at)..field.end]),
            Kind::Null => FieldValue::Null,
            Kind::Default => FieldValue::Default,
        })
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.fields[before].end)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    pub(super) fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What of the field at hand is there.
    pub(super) fn open(&self) -> &[u8] {
        &self.bytes[self.start(self.fields.len())..]
    }

    pub(super) fn end_data(&mut self) {
        self.end(Kind::Data);
    }

    pub(super) fn end_null(&mut self) {
        let start = self.start(self.fields.len());
        self.bytes.truncate(start);
        self.end(Kind::Null);
    }

    pub(super) fn end_default(&mut self) {
        let start = self.start(self.fields.len());
        self.bytes.truncate(start);
        self.end(Kind::Default);
    }

    fn end(&mut self, kind: Kind) {
        let end = self.bytes.len();
        self.fields.push(Field { end, kind });
    }
}

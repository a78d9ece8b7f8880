//! How a large object is stored: a record of its length and comment, and pages of [`PAGE_BYTES`] each, of which those that are
//! not there are zeros, as the rest of a page is.

use crate::{Error, Result};

/// Bytes of a page: PostgreSQL's LOBLKSIZE.
pub const PAGE_BYTES: u64 = 2048;

/// The longest large object: PostgreSQL's, whose pages are numbered by an int4. In bytes.
pub const LARGE_OBJECT_BYTES_MAX: u64 = (i32::MAX as u64) * PAGE_BYTES;

/// What is stored of a large object beside its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LargeObjectRecord {
    /// How long it is. In bytes.
    pub length: u64,
    /// COMMENT ON LARGE OBJECT; never empty.
    pub comment: Option<String>,
}

impl LargeObjectRecord {
    /// The length (u64 BE), then the comment.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.length.to_be_bytes().to_vec();
        bytes.extend(self.comment.iter().flat_map(|comment| comment.bytes()));
        bytes
    }

    /// Reads [`LargeObjectRecord::encode`] back. Errors: `Corrupt`.
    pub fn decode(bytes: &[u8]) -> Result<LargeObjectRecord> {
        let parts = bytes.split_first_chunk();
        let read = parts.and_then(|(length, comment)| {
            let comment = std::str::from_utf8(comment).ok()?;
            Some(LargeObjectRecord {
                length: u64::from_be_bytes(*length),
                comment: (!comment.is_empty()).then(|| comment.to_string()),
            })
        });
        let read = read.filter(|record| record.length <= LARGE_OBJECT_BYTES_MAX);
        read.ok_or_else(|| Error::Corrupt {
            what: "record of a large object".to_string(),
            reason: format!("{} bytes that are none", bytes.len()),
        })
    }

    /// How many pages it may have.
    pub fn pages(&self) -> u64 {
        self.length.div_ceil(PAGE_BYTES)
    }

    /// Errors: `Corrupt` for a page that it cannot have.
    pub fn check_page(&self, page: u32, bytes: usize) -> Result<()> {
        match u64::from(page) < self.pages() && bytes as u64 <= PAGE_BYTES {
            true => Ok(()),
            false => Err(Error::Corrupt {
                what: "page of a large object".to_string(),
                reason: format!("page {page} has {bytes} bytes, and the object {}", self.length),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        for comment in [None, Some("a photo".to_string())] {
            let record = LargeObjectRecord {
                length: 2049,
                comment,
            };
            assert_eq!(LargeObjectRecord::decode(&record.encode()).unwrap(), record);
            assert_eq!(record.pages(), 2);
            record.check_page(1, 2048).unwrap();
            record.check_page(2, 1).unwrap_err();
            record.check_page(0, 2049).unwrap_err();
        }
        LargeObjectRecord::decode(&[0; 7]).unwrap_err();
        LargeObjectRecord::decode(&[0xFF; 8]).unwrap_err();
    }
}

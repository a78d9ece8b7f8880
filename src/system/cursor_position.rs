//! `CursorPosition`: where a cursor stands whose row an UPDATE or DELETE names (WHERE CURRENT OF). Told by the session, asked where the
//! statement is bound.

use arrow::array::ArrayRef;

use crate::catalog::TableDef;
use crate::error::CursorFault;
use crate::{Error, Result};

/// Where a cursor stands.
#[derive(Debug)]
pub struct CursorPosition {
    /// Its name.
    pub cursor: String,
    /// Whether its query locks rows.
    pub locks_rows: bool,
    /// The tables, by oid, of whose rows its rows are made: those that it locks, or the only one.
    pub tables: Vec<u32>,
    /// The keys of these rows, the columns of each in the key's order, one value each; `None` when it stands on no row.
    pub keys: Option<Vec<Vec<ArrayRef>>>,
}

impl CursorPosition {
    /// Of a cursor whose rows are no table's.
    pub fn unknown(cursor: &str) -> CursorPosition {
        CursorPosition {
            cursor: cursor.to_string(),
            locks_rows: false,
            tables: Vec::new(),
            keys: None,
        }
    }

    /// The key of the table's row that it stands on. Errors: 24000.
    pub fn key_of(&self, table: &TableDef) -> Result<&[ArrayRef]> {
        let mut places = self
            .tables
            .iter()
            .enumerate()
            .filter(|(_, oid)| **oid == table.oid);
        let name = || table.name.clone();
        let place = match (places.next(), places.next()) {
            (Some((place, _)), None) => place,
            (Some(_), Some(_)) => return Err(self.fault(CursorFault::LockedTwice { table: name() })),
            (None, _) if self.locks_rows => return Err(self.fault(CursorFault::NotLocked { table: name() })),
            (None, _) => return Err(self.fault(CursorFault::NotUpdatable { table: name() })),
        };
        let keys = self.keys.as_ref().and_then(|keys| keys.get(place));
        keys.map(Vec::as_slice)
            .ok_or_else(|| self.fault(CursorFault::NotOnRow))
    }

    fn fault(&self, fault: CursorFault) -> Error {
        Error::CursorState {
            cursor: self.cursor.clone(),
            fault,
        }
    }
}

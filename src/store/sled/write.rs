//! Writes: batches of the engine as batches of sled, long keys and large values cut up. Called by the engine, one call
//! at a time; knows nothing of scans.

use std::collections::HashMap;

use super::entry::{COUNTER, Entry, PIECE_BYTES, PIECES, Pieces, number, room_key, room_start};
use super::fault::Fault;
use super::read::{parse, room, split_part};
use super::stuffing::stuff;
use crate::store::engine::EngineBatch;

/// A write leaves two or three objects behind; one collection frees some five hundred that no thread can see any more.
const WRITES_PER_COLLECTION: usize = 64;

/// sled hands full buffers to threads that write and sync them; more than this are not left to wait in memory …
const UNSYNCED_BYTES_MAX: usize = 16 << 20;
/// … nor more than this part of the memory for pages. Then what is not synced is what was used last, and is still there when
/// a batch wants it, which then waits for no sync.
const UNSYNCED_PART: u64 = 4;
/// Whoever has more to write makes batches of more than this: others are synced at once, so that reads need not wait.
const SMALL_BATCH_BYTES: usize = 256 << 10;

/// What the one who writes knows of a database.
#[derive(Debug)]
pub(super) struct Writer {
    /// The next generation or room.
    next: u64,
    /// Whether any value is in pieces: then each write must look for old ones.
    has_pieces: bool,
    /// Bytes of the batches since the last flush …
    unsynced_bytes: usize,
    /// … and how many there may be.
    unsynced_bytes_max: usize,
}

/// A batch being made.
struct Draft<'a> {
    writer: &'a mut Writer,
    db: &'a sled::Db,
    writes: sled::Batch,
    /// Keys that this batch gives a value in pieces.
    pieces: HashMap<Vec<u8>, Pieces>,
    /// Rooms that this batch makes, by their keys.
    rooms: HashMap<Vec<u8>, u64>,
    /// Rooms that this batch deletes from, with their keys; those inside others behind them.
    emptied: Vec<(Vec<u8>, u64)>,
    /// An entry's bytes, used again for each.
    entry: Vec<u8>,
}

/// The bytes of batches that may wait to be synced, with so much memory for pages.
pub(super) fn unsynced_bytes_max(page_bytes: u64) -> usize {
    usize::try_from(page_bytes / UNSYNCED_PART)
        .map_or(UNSYNCED_BYTES_MAX, |part| part.min(UNSYNCED_BYTES_MAX))
}

impl Writer {
    /// Reads what it must know.
    pub(super) fn open(db: &sled::Db, unsynced_bytes_max: usize) -> Result<Writer, Fault> {
        let next = match db.get(COUNTER)? {
            Some(bytes) => number(&bytes)
                .ok_or_else(|| Fault::Damage("the counter in sled is none of ours".to_string()))?,
            None => 0,
        };
        let has_pieces = db.range(PIECES..).next().transpose()?.is_some();
        Ok(Writer {
            next,
            has_pieces,
            unsynced_bytes: 0,
            unsynced_bytes_max,
        })
    }

    /// Applies a batch: after a crash all of it is there or nothing.
    pub(super) fn apply(&mut self, db: &sled::Db, batch: &EngineBatch) -> Result<(), Fault> {
        if !self.is_synced() && self.unsynced_bytes + batch.size_bytes() > self.unsynced_bytes_max {
            self.flush(db)?;
        }
        self.unsynced_bytes += batch.size_bytes();
        let first = self.next;
        let mut draft = Draft {
            writer: self,
            db,
            writes: sled::Batch::default(),
            pieces: HashMap::new(),
            rooms: HashMap::new(),
            emptied: Vec::new(),
            entry: Vec::new(),
        };
        for (key, value) in batch.iter() {
            draft.write(key, value)?;
        }
        let Draft {
            mut writes, emptied, ..
        } = draft;
        if self.next != first {
            writes.insert(&COUNTER, &self.next.to_be_bytes());
        }
        db.apply_batch(writes)?;
        remove_empty_rooms(db, emptied)?;
        free_replaced_pages(batch.len());
        match batch.size_bytes() < SMALL_BATCH_BYTES {
            true => self.flush(db),
            false => Ok(()),
        }
    }

    /// Whether everything applied is durable.
    pub(super) fn is_synced(&self) -> bool {
        self.unsynced_bytes == 0
    }

    /// Makes everything durable.
    pub(super) fn flush(&mut self, db: &sled::Db) -> Result<(), Fault> {
        db.flush()?;
        self.unsynced_bytes = 0;
        Ok(())
    }

    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

impl Draft<'_> {
    fn write(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Fault> {
        let stuffed = stuff(key);
        let place = match split_part(&stuffed) {
            None => stuffed,
            Some(_) => match self.place_in_room(&stuffed, value.is_some())? {
                Some(place) => place.into(),
                None => return Ok(()),
            },
        };
        self.remove_pieces(&place)?;
        match value {
            None => self.writes.remove(&*place),
            Some(value) if value.len() > PIECE_BYTES => self.put_in_pieces(&place, value),
            Some(value) => {
                Entry::Plain(value).write(&mut self.entry);
                self.writes.insert(&*place, self.entry.as_slice());
            }
        }
        Ok(())
    }

    /// The sled key of a long key. Rooms that are not there are made for a value; for a deletion the answer is `None`.
    fn place_in_room(&mut self, stuffed: &[u8], is_put: bool) -> Result<Option<Vec<u8>>, Fault> {
        let (mut space, mut rest) = (Vec::new(), stuffed);
        while let Some((part, after)) = split_part(rest) {
            let key = room_key(&space, part);
            let found = match self.rooms.get(&key) {
                Some(&room) => Some(room),
                None => self.db.get(&key)?.map(|entry| room(&entry)).transpose()?,
            };
            let number = match found {
                Some(room) => room,
                None if is_put => self.make_room(&key),
                None => return Ok(None),
            };
            if !is_put {
                self.emptied.push((key, number));
            }
            space = room_start(number);
            rest = after;
        }
        space.extend_from_slice(rest);
        Ok(Some(space))
    }

    fn make_room(&mut self, key: &[u8]) -> u64 {
        let room = self.writer.take_number();
        Entry::Room(room).write(&mut self.entry);
        self.writes.insert(key, self.entry.as_slice());
        self.rooms.insert(key.to_vec(), room);
        room
    }

    fn put_in_pieces(&mut self, place: &[u8], value: &[u8]) {
        let pieces = Pieces {
            generation: self.writer.take_number(),
            bytes: value.len() as u64,
        };
        for (key, range) in pieces.keys() {
            self.writes.insert(&key, &value[range]);
        }
        Entry::Pieces(pieces).write(&mut self.entry);
        self.writes.insert(place, self.entry.as_slice());
        self.pieces.insert(place.to_vec(), pieces);
        self.writer.has_pieces = true;
    }

    /// Removes the pieces of the value that a key has, in the database or by an earlier write of this batch.
    fn remove_pieces(&mut self, place: &[u8]) -> Result<(), Fault> {
        if !self.writer.has_pieces {
            return Ok(());
        }
        let mut old = self.pieces.remove(place).into_iter().collect::<Vec<_>>();
        if let Some(entry) = self.db.get(place)?
            && let Entry::Pieces(pieces) = parse(&entry)?
        {
            old.push(pieces);
        }
        for (key, _) in old.into_iter().flat_map(Pieces::keys) {
            self.writes.remove(&key);
        }
        Ok(())
    }
}

/// Removes the rooms that hold nothing any more. No reader can tell, so that it need not be one with the batch.
fn remove_empty_rooms(db: &sled::Db, emptied: Vec<(Vec<u8>, u64)>) -> Result<(), Fault> {
    for (key, room) in emptied.into_iter().rev() {
        let start = room_start(room);
        let first = db.range(start.as_slice()..).next().transpose()?;
        if first.is_none_or(|(key, _)| !key.starts_with(&start)) {
            db.remove(key)?;
        }
    }
    Ok(())
}

/// Has the epochs that sled uses free what the batch replaced, and what was left by earlier ones.
fn free_replaced_pages(writes: usize) {
    for _ in 0..writes / WRITES_PER_COLLECTION {
        crossbeam_epoch::pin().flush();
    }
}

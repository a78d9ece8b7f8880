//! Writes: batches of the engine as writes of sled, long keys and large values cut up. Called by the engine, one call
//! at a time; knows nothing of scans.
//!
//! sled's own batches are atomic, but go through their keys in no order, keep all readers out and every page that they replace
//! until they end: per write they take near twice the time of single ones in key order. So what is one entry of sled's is written on its
//! own; what takes several entries (a value in pieces, a room made for a key) is in one batch of sled's. Behind both comes the batch's
//! last write, so that after a crash nobody finds it without the others.

use std::collections::{BTreeMap, HashMap};

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

/// A key of sled's and its new value; `None`: it is removed.
type EntryWrite = (sled::IVec, Option<sled::IVec>);

/// A batch being made.
struct Draft<'a> {
    writer: &'a mut Writer,
    db: &'a sled::Db,
    /// What is written one after the other, each key by its last write.
    apart: Vec<EntryWrite>,
    /// The newest write, if it is not one of those that follow: it is to be one of `apart` once there is another.
    last: Option<EntryWrite>,
    /// What is written in one step, and so are later writes of the same keys.
    together: BTreeMap<sled::IVec, Option<sled::IVec>>,
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

    /// Applies a batch: after a crash its last write is there only with all others.
    pub(super) fn apply(&mut self, db: &sled::Db, batch: &EngineBatch) -> Result<(), Fault> {
        if !self.is_synced() && self.unsynced_bytes + batch.size_bytes() > self.unsynced_bytes_max {
            self.flush(db)?;
        }
        self.unsynced_bytes += batch.size_bytes();
        let first = self.next;
        let mut draft = Draft {
            writer: self,
            db,
            apart: Vec::with_capacity(batch.len()),
            last: None,
            together: BTreeMap::new(),
            pieces: HashMap::new(),
            rooms: HashMap::new(),
            emptied: Vec::new(),
            entry: Vec::new(),
        };
        for (key, value) in batch.iter() {
            draft.write(key, value)?;
        }
        let next = draft.writer.next;
        if next != first {
            let next = next.to_be_bytes().as_slice().into();
            draft.together.insert(COUNTER.as_slice().into(), Some(next));
        }
        let emptied = std::mem::take(&mut draft.emptied);
        draft.apply()?;
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
        let (place, is_in_new_room) = match split_part(&stuffed) {
            None => (stuffed, false),
            Some(_) => match self.place_in_room(&stuffed, value.is_some())? {
                Some((place, is_new)) => (place.into(), is_new),
                None => return Ok(()),
            },
        };
        let had_pieces = self.remove_pieces(&place)?;
        let value = match value {
            Some(value) if value.len() > PIECE_BYTES => {
                self.put_in_pieces(&place, value);
                return Ok(());
            }
            Some(value) => {
                Entry::Plain(value).write(&mut self.entry);
                Some(self.entry.as_slice().into())
            }
            None => None,
        };
        let place = sled::IVec::from(&*place);
        match is_in_new_room || had_pieces || self.together.contains_key(&place) {
            true => self.write_together(place, value),
            false => self.apart.extend(self.last.replace((place, value))),
        }
        Ok(())
    }

    fn write_together(&mut self, place: sled::IVec, value: Option<sled::IVec>) {
        self.apart.extend(self.last.take());
        self.together.insert(place, value);
    }

    /// Hands all of it to sled.
    fn apply(mut self) -> Result<(), Fault> {
        // The later write of a key wins: sorting keeps their order, and of those of one key the first is kept here.
        self.apart.reverse();
        self.apart.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.apart.dedup_by(|(a, _), (b, _)| a == b);
        for write in self.apart {
            apply_one(self.db, write)?;
        }
        if !self.together.is_empty() {
            let mut step = sled::Batch::default();
            for (place, value) in self.together {
                match value {
                    Some(value) => step.insert(place, value),
                    None => step.remove(place),
                }
            }
            self.db.apply_batch(step)?;
        }
        self.last.map_or(Ok(()), |write| apply_one(self.db, write))
    }

    /// The sled key of a long key, and whether this batch makes a room that it is in. Rooms that are not there are made for a
    /// value; for a deletion the answer is `None`.
    fn place_in_room(&mut self, stuffed: &[u8], is_put: bool) -> Result<Option<(Vec<u8>, bool)>, Fault> {
        let (mut space, mut rest) = (Vec::new(), stuffed);
        let mut is_new = false;
        while let Some((part, after)) = split_part(rest) {
            let key = room_key(&space, part);
            let made = self.rooms.get(&key).copied();
            let found = match made {
                Some(room) => Some(room),
                None => self.db.get(&key)?.map(|entry| room(&entry)).transpose()?,
            };
            is_new |= made.is_some() || found.is_none();
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
        Ok(Some((space, is_new)))
    }

    fn make_room(&mut self, key: &[u8]) -> u64 {
        let room = self.writer.take_number();
        Entry::Room(room).write(&mut self.entry);
        self.write_together(key.into(), Some(self.entry.as_slice().into()));
        self.rooms.insert(key.to_vec(), room);
        room
    }

    fn put_in_pieces(&mut self, place: &[u8], value: &[u8]) {
        let pieces = Pieces {
            generation: self.writer.take_number(),
            bytes: value.len() as u64,
        };
        for (key, range) in pieces.keys() {
            self.write_together((&key).into(), Some(value[range].into()));
        }
        Entry::Pieces(pieces).write(&mut self.entry);
        self.write_together(place.into(), Some(self.entry.as_slice().into()));
        self.pieces.insert(place.to_vec(), pieces);
        self.writer.has_pieces = true;
    }

    /// Removes the pieces of the value that a key has, in the database or by an earlier write of this batch; whether there were
    /// any.
    fn remove_pieces(&mut self, place: &[u8]) -> Result<bool, Fault> {
        if !self.writer.has_pieces {
            return Ok(false);
        }
        let mut old = self.pieces.remove(place).into_iter().collect::<Vec<_>>();
        if let Some(entry) = self.db.get(place)?
            && let Entry::Pieces(pieces) = parse(&entry)?
        {
            old.push(pieces);
        }
        let had_pieces = !old.is_empty();
        for (key, _) in old.into_iter().flat_map(Pieces::keys) {
            self.write_together((&key).into(), None);
        }
        Ok(had_pieces)
    }
}

fn apply_one(db: &sled::Db, (place, value): EntryWrite) -> Result<(), Fault> {
    match value {
        Some(value) => db.insert(place, value)?,
        None => db.remove(place)?,
    };
    Ok(())
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

//! Reads of entries, long keys and values in pieces put together again. Called by the engine; writes nothing.
//!
//! A batch of sled's is applied at once for each single get and each step of an iterator, but not for several of them. A
//! value in pieces is therefore read entry first: if a piece is gone, the entry must have changed, and is read again.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::entry::{Entry, PART_BYTES, Pieces, room_key, room_start, space_end};
use super::fault::Fault;
use super::stuffing::{stuff, unstuff};
use crate::store::engine::Visit;

/// Calls `visit` with the value of `key`, if there is one.
pub(super) fn get(db: &sled::Db, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
    match place(db, stuff(key))? {
        Some(place) => get_at(db, &place, visit),
        None => Ok(()),
    }
}

/// The sled key of a stuffed key; `None`: it would be in a room that is not there.
fn place<'a>(db: &sled::Db, stuffed: Cow<'a, [u8]>) -> Result<Option<Cow<'a, [u8]>>, Fault> {
    if stuffed.len() <= PART_BYTES {
        return Ok(Some(stuffed));
    }
    let (mut space, mut rest) = (Vec::new(), &*stuffed);
    while let Some((part, after)) = split_part(rest) {
        match db.get(room_key(&space, part))? {
            Some(entry) => space = room_start(room(&entry)?),
            None => return Ok(None),
        }
        rest = after;
    }
    space.extend_from_slice(rest);
    Ok(Some(Cow::Owned(space)))
}

/// The first part of a key, and what follows it, when it is longer than a part.
pub(super) fn split_part(stuffed: &[u8]) -> Option<(&[u8], &[u8])> {
    (stuffed.len() > PART_BYTES).then(|| stuffed.split_at(PART_BYTES))
}

/// The room that an entry names.
pub(super) fn room(entry: &[u8]) -> Result<u64, Fault> {
    match parse(entry)? {
        Entry::Room(room) => Ok(room),
        _ => Err(Fault::Damage(
            "a value in sled stands where a room should".to_string(),
        )),
    }
}

/// An entry of ours.
pub(super) fn parse(entry: &[u8]) -> Result<Entry<'_>, Fault> {
    Entry::parse(entry).ok_or_else(|| Fault::Damage("a value in sled is none of ours".to_string()))
}

fn get_at(db: &sled::Db, place: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
    let mut missing = None;
    while let Some(entry) = db.get(place)? {
        let pieces = match parse(&entry)? {
            Entry::Plain(value) => {
                visit(value);
                return Ok(());
            }
            Entry::Pieces(pieces) => pieces,
            Entry::Room(_) => {
                return Err(Fault::Damage(
                    "a room in sled stands where a value should".to_string(),
                ));
            }
        };
        if let Some(value) = put_together(db, pieces)? {
            visit(&value);
            return Ok(());
        }
        if missing == Some(pieces) {
            return Err(Fault::Damage("a piece of a value is missing in sled".to_string()));
        }
        missing = Some(pieces);
    }
    Ok(())
}

/// The value of these pieces; `None`: one is missing, or is not what it was.
fn put_together(db: &sled::Db, pieces: Pieces) -> Result<Option<Vec<u8>>, Fault> {
    let mut value = Vec::new();
    for (key, range) in pieces.keys() {
        match db.get(key)? {
            Some(piece) if piece.len() == range.len() => value.extend_from_slice(&piece),
            _ => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// The bytes of all keys and values, as sled has them; `most` when there are more.
pub(super) fn live_bytes(db: &sled::Db, most: u64) -> Result<u64, Fault> {
    let mut bytes = 0;
    for entry in db.iter() {
        let (key, value) = entry?;
        bytes += (key.len() + value.len()) as u64;
        if bytes >= most {
            return Ok(most);
        }
    }
    Ok(bytes)
}

/// Visits the entries with `start <= key` and `key < end`, as [`crate::store::engine::Engine::scan`] wants it.
pub(super) fn scan(
    db: &sled::Db,
    start: &[u8],
    end: Option<&[u8]>,
    reverse: bool,
    visit: Visit<'_>,
) -> Result<(), Fault> {
    let mut scan = Scan {
        db,
        reverse,
        visit,
        before: Vec::new(),
        joined: Vec::new(),
        key: Vec::new(),
    };
    let (start, end) = (stuff(start), end.map(stuff));
    scan.walk(&[], &start, end.as_deref()).map(drop)
}

/// A scan under way.
struct Scan<'a> {
    db: &'a sled::Db,
    reverse: bool,
    visit: Visit<'a>,
    /// The parts of the stuffed key before the room that is walked.
    before: Vec<u8>,
    /// Buffers, used again for every key.
    joined: Vec<u8>,
    key: Vec<u8>,
}

impl Scan<'_> {
    /// Walks the keys of a room, or those outside of rooms (`space` is empty). The bounds are what follows `before`.
    fn walk(&mut self, space: &[u8], start: &[u8], end: Option<&[u8]>) -> Result<ControlFlow<()>, Fault> {
        let low = match split_part(start) {
            Some((part, _)) => room_key(space, part),
            None => [space, start].concat(),
        };
        let high = match end.map(|end| (end, split_part(end))) {
            // Behind the room, whose keys are compared inside of it.
            Some((_, Some((part, _)))) => [space, part, &[1]].concat(),
            Some((end, None)) => [space, end].concat(),
            None => space_end(space),
        };
        // sled compares every key with the far bound twice: it is not told of it.
        let mut entries = match self.reverse {
            false => self.db.range(low.as_slice()..),
            true => self.db.range(..high.as_slice()),
        };
        while let Some(entry) = if self.reverse {
            entries.next_back()
        } else {
            entries.next()
        } {
            let (place, entry) = entry?;
            let is_beyond = if self.reverse {
                *place < *low
            } else {
                *place >= *high
            };
            if is_beyond {
                break;
            }
            let rest = &place[space.len()..];
            let flow = match parse(&entry)? {
                Entry::Plain(value) => self.visit(rest, value)?,
                Entry::Pieces(pieces) => self.visit_pieces(&place, rest, pieces)?,
                Entry::Room(room) => self.walk_room(rest, room, start, end)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn visit(&mut self, rest: &[u8], value: &[u8]) -> Result<ControlFlow<()>, Fault> {
        let stuffed = if self.before.is_empty() {
            rest
        } else {
            self.joined.clear();
            self.joined.extend_from_slice(&self.before);
            self.joined.extend_from_slice(rest);
            &self.joined
        };
        let key = unstuff(stuffed, &mut self.key)
            .ok_or_else(|| Fault::Damage("a key in sled is none of ours".to_string()))?;
        Ok((self.visit)(key, value))
    }

    fn visit_pieces(&mut self, place: &[u8], rest: &[u8], pieces: Pieces) -> Result<ControlFlow<()>, Fault> {
        if let Some(value) = put_together(self.db, pieces)? {
            return self.visit(rest, &value);
        }
        let mut now = None;
        get_at(self.db, place, &mut |value| now = Some(value.to_vec()))?;
        match now {
            Some(value) => self.visit(rest, &value),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// `rest` is a part and one byte more.
    fn walk_room(
        &mut self,
        rest: &[u8],
        room: u64,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> Result<ControlFlow<()>, Fault> {
        let Some((part, _)) = split_part(rest) else {
            return Err(Fault::Damage(
                "a room in sled stands where a value should".to_string(),
            ));
        };
        let inside = |bound| split_part(bound).and_then(|(of, inside)| (of == part).then_some(inside));
        let length = self.before.len();
        self.before.extend_from_slice(part);
        let flow = self.walk(
            &room_start(room),
            inside(start).unwrap_or_default(),
            end.and_then(inside),
        )?;
        self.before.truncate(length);
        Ok(flow)
    }
}

//! What sled holds: the bytes of its keys and values. Used by `tree` and `upgrade`; calls nothing.
//!
//! ```text
//! key in sled                                             value
//! stuffed key, at most 4,096 bytes                        00 | value, at most 32 KiB
//!                                                         01 | generation u64 BE | bytes u64 BE    in pieces
//! first 4,096 bytes of a longer stuffed key | 00          02 | room u64 BE         its other keys are in a room
//!
//! FF FF FF FF 00                                          the next generation or room, u64 BE
//! FF FF FF FF 01 | room, 9 bytes below 80 | rest          as above: what follows the first 4,096 bytes of a key
//! FF FF FF FF 02 | generation u64 BE | index u32 BE       a piece of a value, 32 KiB or what is left of it
//! ```
//!
//! A stuffed key never begins with four FF bytes, and a key in sled of 4,097 bytes (behind its room) is no other key's:
//! so these kinds are told apart, and stand in the order of the keys they belong to. A room's number holds no FF byte,
//! or the rule of `stuffing` would not hold where the rest begins.
//!
//! # Why no page becomes a file
//!
//! sled writes an item above a quarter of a segment (2 MiB less 52 bytes) into a file that it never syncs. An item is a
//! page or one change of a page. `view_for_key` splits each page that has more than 16 entries (a leaf) or 256 (an
//! index) before it goes on, so that the next change meets no larger one; a merge puts a leaf of less than 4 entries, or
//! an index of less than 64, into its left neighbour, where the same call then finds and splits it. That makes 17 + 3
//! entries in a leaf and 257 + 63 in an index, plus 3 or 63 for every other thread that merges into the same page at
//! that moment. With keys of 4,111 bytes (a room's place, its 4,096 bytes and the 00 behind), values of 32 KiB and some
//! 20 bytes for lengths, a leaf of 50 entries and an index of 500 pages stay below the limit.

use std::ops::Range;

/// A stuffed key is cut into parts of this length, so that pages stay small.
pub(super) const PART_BYTES: usize = 4096;
/// Longer values are cut into pieces of this length.
pub(super) const PIECE_BYTES: usize = 32 << 10;

/// What no stuffed key begins with.
pub(super) const RESERVED: [u8; 4] = [0xFF; 4];
/// The key of the next generation or room.
pub(super) const COUNTER: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 0];
/// The beginning of every piece's key.
pub(super) const PIECES: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 2];

const ROOMS: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 1];
const PLAIN: u8 = 0;
const IN_PIECES: u8 = 1;
const IN_ROOM: u8 = 2;

/// A value in sled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// The value itself.
    Plain(&'a [u8]),
    /// The value stands elsewhere.
    Pieces(Pieces),
    /// Keys that go on stand elsewhere.
    Room(u64),
}

/// Where the pieces of a value are. No two values ever have the same generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) generation: u64,
    pub(super) bytes: u64,
}

impl<'a> Entry<'a> {
    /// `None`: no entry of ours.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let (&tag, rest) = bytes.split_first()?;
        match tag {
            PLAIN => Some(Entry::Plain(rest)),
            IN_PIECES => {
                let (generation, bytes) = rest.split_at_checked(8)?;
                Some(Entry::Pieces(Pieces {
                    generation: number(generation)?,
                    bytes: number(bytes)?,
                }))
            }
            IN_ROOM => Some(Entry::Room(number(rest)?)),
            _ => None,
        }
    }

    /// Puts the bytes into `buffer`.
    pub(super) fn write(self, buffer: &mut Vec<u8>) {
        buffer.clear();
        match self {
            Entry::Plain(value) => {
                buffer.push(PLAIN);
                buffer.extend_from_slice(value);
            }
            Entry::Pieces(pieces) => {
                buffer.push(IN_PIECES);
                buffer.extend_from_slice(&pieces.generation.to_be_bytes());
                buffer.extend_from_slice(&pieces.bytes.to_be_bytes());
            }
            Entry::Room(room) => {
                buffer.push(IN_ROOM);
                buffer.extend_from_slice(&room.to_be_bytes());
            }
        }
    }
}

impl Pieces {
    /// The key of each piece, and what it holds of the value.
    pub(super) fn keys(self) -> impl Iterator<Item = ([u8; 17], Range<usize>)> {
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        (0..bytes)
            .step_by(PIECE_BYTES)
            .zip(0u32..)
            .map(move |(start, index)| {
                let mut key = [0; 17];
                key[..5].copy_from_slice(&PIECES);
                key[5..13].copy_from_slice(&self.generation.to_be_bytes());
                key[13..].copy_from_slice(&index.to_be_bytes());
                (key, start..bytes.min(start + PIECE_BYTES))
            })
    }
}

/// Eight bytes as a number.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// What the keys of a room begin with.
pub(super) fn room_start(room: u64) -> Vec<u8> {
    let mut start = ROOMS.to_vec();
    start.extend((0..9).rev().map(|place| (room >> (place * 7)) as u8 & 0x7F));
    start
}

/// The key of the room for keys that go on behind this first part.
pub(super) fn room_key(space: &[u8], part: &[u8]) -> Vec<u8> {
    [space, part, &[0]].concat()
}

/// The first key behind everything in a space: a room, or the keys outside of rooms (an empty start).
pub(super) fn space_end(space: &[u8]) -> Vec<u8> {
    let mut end = space.to_vec();
    match end.last_mut() {
        // Below 80 hexadecimal, so there is one more.
        Some(last) => *last += 1,
        None => end.extend_from_slice(&RESERVED),
    }
    end
}

//! UUIDs by the names that uuid-ossp gives them: by time, by a name in a namespace, by chance.

use md5::{Digest, Md5};

use super::argument::Uuid;
use super::definition::{FunctionDef, T};
use super::digest::sha1;
use crate::system::now_us;

/// From the beginning of the Gregorian calendar to 1970, in tenths of microseconds.
const GREGORIAN_TENTHS: u64 = 0x01B2_1DD2_1381_4000;

/// The namespaces of RFC 4122; each is the first with another fourth byte.
const NAMESPACE: [u8; 16] = [
    0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
];

pub(super) const FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("uuid_generate_v4", &[], T::Uuid, |b| {
        b.map0(|| versioned(rand::random(), 4))
    })
    .volatile()
    .bounded(),
    FunctionDef::new("uuid_generate_v1", &[], T::Uuid, |b| b.map0(by_time))
        .volatile()
        .bounded(),
    FunctionDef::new("uuid_generate_v1mc", &[], T::Uuid, |b| b.map0(by_time))
        .volatile()
        .bounded(),
    FunctionDef::new("uuid_generate_v3", &[T::Uuid, T::Text], T::Uuid, |b| {
        b.map2(|Uuid(space): Uuid, name: &str| {
            let digest = Md5::digest([&space[..], name.as_bytes()].concat());
            versioned(first_of(&digest), 3)
        })
    })
    .bounded(),
    FunctionDef::new("uuid_generate_v5", &[T::Uuid, T::Text], T::Uuid, |b| {
        b.map2(|Uuid(space): Uuid, name: &str| {
            let digest = sha1(&[&space[..], name.as_bytes()].concat());
            versioned(first_of(&digest), 5)
        })
    })
    .bounded(),
    FunctionDef::new("uuid_nil", &[], T::Uuid, |b| b.map0(|| Uuid([0; 16]))).bounded(),
    FunctionDef::new("uuid_ns_dns", &[], T::Uuid, |b| b.map0(|| namespace(0x10))).bounded(),
    FunctionDef::new("uuid_ns_url", &[], T::Uuid, |b| b.map0(|| namespace(0x11))).bounded(),
    FunctionDef::new("uuid_ns_oid", &[], T::Uuid, |b| b.map0(|| namespace(0x12))).bounded(),
    FunctionDef::new("uuid_ns_x500", &[], T::Uuid, |b| b.map0(|| namespace(0x14))).bounded(),
];

fn namespace(fourth: u8) -> Uuid {
    let mut bytes = NAMESPACE;
    bytes[3] = fourth;
    Uuid(bytes)
}

fn first_of(digest: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes
}

/// The bytes as a UUID of a version.
fn versioned(mut bytes: [u8; 16], version: u8) -> Uuid {
    bytes[6] = (bytes[6] & 0x0F) | version << 4;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    Uuid(bytes)
}

/// One of the time, at a node of chance.
fn by_time() -> Uuid {
    let tenths = u64::try_from(now_us()).unwrap_or_default().wrapping_mul(10);
    let tenths = tenths
        .wrapping_add(GREGORIAN_TENTHS)
        .wrapping_add(u64::from(rand::random::<u8>() % 10));
    let [h0, h1, m0, m1, l0, l1, l2, l3] = tenths.to_be_bytes();
    let mut bytes: [u8; 16] = rand::random();
    bytes[..8].copy_from_slice(&[l0, l1, l2, l3, m0, m1, h0, h1]);
    // A node that is nobody's address.
    bytes[10] |= 1;
    versioned(bytes, 1)
}

//! Digests by the names that pgcrypto gives them: `digest`, `hmac`, and random bytes. `uuid` asks here for SHA-1, which names of UUIDs are
//! made by.

use md5::Md5;
use rand::Rng;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::definition::{FunctionDef, T};
use crate::Result;
use crate::error::Raised;

/// The most bytes that `gen_random_bytes` gives; pgcrypto's.
const RANDOM_BYTES_MAX: i32 = 1024;

pub(super) const FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("digest", &[T::Bytea, T::Text], T::Bytea, |b| {
        b.map2(|bytes: &[u8], name: &str| Algorithm::named(name).map(|algorithm| algorithm.digest(bytes)))
    })
    .bounded(),
    FunctionDef::new("digest", &[T::Text, T::Text], T::Bytea, |b| {
        b.map2(|text: &str, name: &str| {
            Algorithm::named(name).map(|algorithm| algorithm.digest(text.as_bytes()))
        })
    })
    .bounded(),
    FunctionDef::new("hmac", &[T::Bytea, T::Bytea, T::Text], T::Bytea, |b| {
        b.map3(|bytes: &[u8], key: &[u8], name: &str| {
            Algorithm::named(name).map(|algorithm| algorithm.hmac(bytes, key))
        })
    })
    .bounded(),
    FunctionDef::new("hmac", &[T::Text, T::Text, T::Text], T::Bytea, |b| {
        b.map3(|text: &str, key: &str, name: &str| {
            Algorithm::named(name).map(|algorithm| algorithm.hmac(text.as_bytes(), key.as_bytes()))
        })
    })
    .bounded(),
    FunctionDef::new("gen_random_bytes", &[T::Int4], T::Bytea, |b| b.map1(random_bytes))
        .volatile()
        .bounded(),
];

/// So many random bytes. Errors: 39000 for none or too many.
fn random_bytes(count: i32) -> Result<Vec<u8>> {
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(Raised::new("39000", "Length not in range").into());
    }
    let mut bytes = vec![0; usize::try_from(count).unwrap_or_default()];
    rand::rng().fill(bytes.as_mut_slice());
    Ok(bytes)
}

/// How a digest is computed.
#[derive(Debug, Clone, Copy)]
enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// The one of this name. Errors: 22023.
    fn named(name: &str) -> Result<Algorithm> {
        Ok(match name.to_lowercase().as_str() {
            "md5" => Algorithm::Md5,
            "sha1" => Algorithm::Sha1,
            "sha224" => Algorithm::Sha224,
            "sha256" => Algorithm::Sha256,
            "sha384" => Algorithm::Sha384,
            "sha512" => Algorithm::Sha512,
            _ => {
                let message = format!("Cannot use \"{name}\": No such hash algorithm");
                return Err(Raised::new("22023", message).into());
            }
        })
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Algorithm::Md5 => Md5::digest(bytes).to_vec(),
            Algorithm::Sha1 => sha1(bytes).to_vec(),
            Algorithm::Sha224 => Sha224::digest(bytes).to_vec(),
            Algorithm::Sha256 => Sha256::digest(bytes).to_vec(),
            Algorithm::Sha384 => Sha384::digest(bytes).to_vec(),
            Algorithm::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    /// Bytes of input that it takes at once.
    fn block_bytes(self) -> usize {
        match self {
            Algorithm::Sha384 | Algorithm::Sha512 => 128,
            _ => 64,
        }
    }

    /// RFC 2104.
    fn hmac(self, bytes: &[u8], key: &[u8]) -> Vec<u8> {
        let block = self.block_bytes();
        let mut padded = match key.len() > block {
            true => self.digest(key),
            false => key.to_vec(),
        };
        padded.resize(block, 0);
        let with = |pad: u8, rest: &[u8]| {
            let mut text: Vec<u8> = padded.iter().map(|byte| byte ^ pad).collect();
            text.extend_from_slice(rest);
            self.digest(&text)
        };
        let inner = with(0x36, bytes);
        with(0x5C, &inner)
    }
}

/// SHA-1 (FIPS 180-4).
pub(super) fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state: [u32; 5] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        round(&mut state, block);
    }
    let mut out = [0; 20];
    for (slot, word) in out.chunks_exact_mut(4).zip(state) {
        slot.copy_from_slice(&word.to_be_bytes());
    }
    out
}

fn round(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for at in 16..80 {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (at, word) in words.iter().enumerate() {
        let (mixed, constant) = match at {
            0..20 => ((b & c) | (!b & d), 0x5A82_7999),
            20..40 => (b ^ c ^ d, 0x6ED9_EBA1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC),
            _ => (b ^ c ^ d, 0xCA62_C1D6u32),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(mixed)
            .wrapping_add(e)
            .wrapping_add(constant)
            .wrapping_add(*word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (slot, value) in state.iter_mut().zip([a, b, c, d, e]) {
        *slot = slot.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_their_standards() {
        assert_eq!(hex(&sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(&sha1(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(
            hex(&sha1(&[b'a'; 200])),
            "e61cfffe0d9195a525fc6cf06ca2d77119c24a40"
        );
        assert_eq!(
            hex(&Algorithm::Sha256.hmac(b"what do ya want for nothing?", b"Jefe")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(&Algorithm::Md5.hmac(b"Hi There", &[0x0b; 16])),
            "9294727a3638bb1c13f48ef8158bfc9d"
        );
    }
}

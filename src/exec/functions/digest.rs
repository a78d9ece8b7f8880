//! MD5 (RFC 1321) and SHA-256 (FIPS 180-4), for `md5()` and `sha256()`: checksums of users' data, no protection of ours.

/// The digest in hexadecimal.
pub(super) fn md5_hex(message: &[u8]) -> String {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in padded.chunks_exact(64) {
        round(&mut state, block);
    }
    state
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn round(state: &mut [u32; 4], block: &[u8]) {
    let word = |at: usize| {
        u32::from_le_bytes([
            block[at * 4],
            block[at * 4 + 1],
            block[at * 4 + 2],
            block[at * 4 + 3],
        ])
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64_usize {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // The constants are the sines of the steps, as the RFC defines them.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below 2^32 and positive"
        )]
        let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let rotated = mixed
            .wrapping_add(a)
            .wrapping_add(constant)
            .wrapping_add(word(at))
            .rotate_left(SHIFTS[step / 16][step % 4]);
        (a, d, c, b) = (d, c, b, b.wrapping_add(rotated));
    }
    for (word, added) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(added);
    }
}

/// The digest.
pub(super) fn sha256(message: &[u8]) -> [u8; 32] {
    let primes = primes(64);
    let mut state: [u32; 8] = std::array::from_fn(|at| root_bits(primes[at], f64::sqrt));
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64).wrapping_mul(8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for at in 16..64 {
            let (a, b) = (words[at - 15], words[at - 2]);
            let low = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let high = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words[at] = words[at - 16]
                .wrapping_add(low)
                .wrapping_add(words[at - 7])
                .wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (word, prime) in words.iter().zip(&primes) {
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h
                .wrapping_add(high)
                .wrapping_add(choice)
                .wrapping_add(root_bits(*prime, f64::cbrt))
                .wrapping_add(*word);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = low.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (
                g,
                f,
                e,
                d.wrapping_add(first),
                c,
                b,
                a,
                first.wrapping_add(second),
            );
        }
        for (word, added) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *word = word.wrapping_add(added);
        }
    }
    let mut out = [0; 32];
    for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    out
}

/// The first primes, of whose roots the standard takes its constants.
fn primes(count: usize) -> Vec<u32> {
    (2_u32..)
        .filter(|number| (2..*number).all(|divisor| number % divisor != 0))
        .take(count)
        .collect()
}

/// The first 32 bits behind the point of a root.
fn root_bits(prime: u32, root: impl Fn(f64) -> f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^32 and positive"
    )]
    let bits = (root(f64::from(prime)).fract() * 4_294_967_296.0) as u32;
    bits
}

#[cfg(test)]
mod tests {
    use super::{md5_hex, sha256};

    #[test]
    fn digests_are_the_rfcs() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_hex(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let abc: String = sha256(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            abc,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}

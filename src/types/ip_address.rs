//! `IpAddress`: an address of IPv4 or IPv6 with the length of its network's mask, which inet and cidr are; what is computed of it, and its
//! bytes in rows and keys:
//!
//! ```text
//! family   the network's bytes   mask length   the address's bytes, unless they are the network's
//! 04|06    4 | 16                1             4 | 16
//! ```
//!
//! PostgreSQL orders addresses by family, by the bits that both masks keep, by the lengths of the masks, then by all bits. Bits behind a mask
//! are zeros in a network, so that the order of the bytes is the same one: a shorter mask comes first where the bits in front are equal, and
//! the network itself before every other address in it. Each address has one form.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

const V4: u8 = 4;
const V6: u8 = 6;

/// An address with the mask of its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpAddress {
    is_v6: bool,
    bits: u8,
    /// The first four of an IPv4 address; the rest are zeros.
    octets: [u8; 16],
}

impl IpAddress {
    /// Of four octets or sixteen. `None`: of another number, or for a mask that is too long.
    pub(crate) fn new(octets: &[u8], bits: u8) -> Option<IpAddress> {
        let is_v6 = match octets.len() {
            4 => false,
            16 => true,
            _ => return None,
        };
        let mut whole = [0; 16];
        whole[..octets.len()].copy_from_slice(octets);
        (bits <= IpAddress::bits_max(is_v6)).then_some(IpAddress {
            is_v6,
            bits,
            octets: whole,
        })
    }

    /// An address alone.
    pub(crate) fn of_host(address: std::net::IpAddr) -> IpAddress {
        let (is_v6, mut octets) = (address.is_ipv6(), [0; 16]);
        match address {
            std::net::IpAddr::V4(address) => octets[..4].copy_from_slice(&address.octets()),
            std::net::IpAddr::V6(address) => octets = address.octets(),
        }
        IpAddress {
            is_v6,
            bits: IpAddress::bits_max(is_v6),
            octets,
        }
    }

    /// The first of all in their order.
    pub(super) fn lowest() -> IpAddress {
        IpAddress {
            is_v6: false,
            bits: 0,
            octets: [0; 16],
        }
    }

    /// The last of all in their order.
    pub(super) fn highest() -> IpAddress {
        IpAddress {
            is_v6: true,
            bits: 128,
            octets: [0xFF; 16],
        }
    }

    /// 32, or 128 of IPv6.
    pub(crate) fn bits_max(is_v6: bool) -> u8 {
        if is_v6 { 128 } else { 32 }
    }

    /// Whether it is of IPv6.
    pub(crate) fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// The length of the mask.
    pub(crate) fn bits(&self) -> u8 {
        self.bits
    }

    /// Its four octets, or sixteen.
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.octet_count()]
    }

    fn octet_count(&self) -> usize {
        usize::from(IpAddress::bits_max(self.is_v6)) / 8
    }

    /// With other octets.
    fn with_octets(self, octet: impl Fn(usize, u8) -> u8) -> IpAddress {
        let mut octets = [0; 16];
        for at in 0..self.octet_count() {
            octets[at] = octet(at, self.octets[at]);
        }
        IpAddress { octets, ..self }
    }

    /// As an address without a network: the mask keeps all bits.
    pub(crate) fn alone(self) -> IpAddress {
        let bits = IpAddress::bits_max(self.is_v6);
        IpAddress { bits, ..self }
    }

    /// With another mask; `None` for one that is too long. -1 is the longest one.
    pub(crate) fn with_mask(self, bits: i32) -> Option<IpAddress> {
        if bits == -1 {
            return Some(self.alone());
        }
        let bits = u8::try_from(bits).ok()?;
        (bits <= IpAddress::bits_max(self.is_v6)).then_some(IpAddress { bits, ..self })
    }

    /// The byte at a place of a mask of so many bits.
    fn mask_octet(bits: u8, at: usize) -> u8 {
        let kept = usize::from(bits).saturating_sub(at * 8).min(8);
        !(0xFF_u16 >> kept) as u8
    }

    /// The network that it is in: the bits behind the mask are zeros.
    pub(crate) fn network(self) -> IpAddress {
        self.with_octets(|at, octet| octet & IpAddress::mask_octet(self.bits, at))
    }

    /// Whether no bit behind the mask is set.
    pub(crate) fn is_network(&self) -> bool {
        self.network() == *self
    }

    /// The last address of its network.
    pub(crate) fn broadcast(self) -> IpAddress {
        self.with_octets(|at, octet| octet | !IpAddress::mask_octet(self.bits, at))
    }

    /// The mask as an address.
    pub(crate) fn netmask(self) -> IpAddress {
        self.with_octets(|at, _| IpAddress::mask_octet(self.bits, at))
            .alone()
    }

    /// What the mask leaves, as an address.
    pub(crate) fn hostmask(self) -> IpAddress {
        self.with_octets(|at, _| !IpAddress::mask_octet(self.bits, at))
            .alone()
    }

    /// The address with each bit turned.
    pub(crate) fn complement(self) -> IpAddress {
        self.with_octets(|_, octet| !octet)
    }

    /// Octet by octet with another, and the longer mask; `None` for the other family.
    pub(crate) fn combine(self, other: IpAddress, octet: impl Fn(u8, u8) -> u8) -> Option<IpAddress> {
        let bits = self.bits.max(other.bits);
        let combined = self.with_octets(|at, own| octet(own, other.octets[at]));
        (self.is_v6 == other.is_v6).then_some(IpAddress { bits, ..combined })
    }

    /// How many of the first bits, so many at most, it has in common with another of its family.
    fn common_bits(&self, other: &IpAddress, most: u8) -> u8 {
        let mut common = 0;
        for (own, other) in self.octets().iter().zip(other.octets()) {
            let equal = (own ^ other).leading_zeros() as u8;
            common += equal;
            if equal < 8 {
                break;
            }
        }
        common.min(most)
    }

    /// Whether one of the two networks has all of the other in it.
    pub(crate) fn overlaps(&self, other: &IpAddress) -> bool {
        let shorter = self.bits.min(other.bits);
        self.is_v6 == other.is_v6 && self.common_bits(other, shorter) == shorter
    }

    /// Whether the other's network has all of its own in it.
    pub(crate) fn is_within(&self, other: &IpAddress) -> bool {
        self.bits >= other.bits && self.overlaps(other)
    }

    /// The smallest network that both are in; `None` for addresses of two families.
    pub(crate) fn merge(self, other: IpAddress) -> Option<IpAddress> {
        let bits = self.common_bits(&other, self.bits.min(other.bits));
        (self.is_v6 == other.is_v6).then(|| IpAddress { bits, ..self }.network())
    }

    fn number(&self) -> u128 {
        let number = u128::from_be_bytes(self.octets);
        if self.is_v6 { number } else { number >> 96 }
    }

    /// The address so many further; `None` where there is none.
    pub(crate) fn plus(self, addend: i128) -> Option<IpAddress> {
        let sum = self.number().checked_add_signed(addend)?;
        let sum = match self.is_v6 {
            true => sum,
            false => u128::from(u32::try_from(sum).ok()?) << 96,
        };
        Some(IpAddress {
            octets: sum.to_be_bytes(),
            ..self
        })
    }

    /// How many addresses it is behind another of its family; `None` for more than a bigint.
    pub(crate) fn minus(&self, other: &IpAddress) -> Option<i64> {
        let (own, other) = (self.number(), other.number());
        let distance = i128::try_from(own.abs_diff(other)).ok()?;
        i64::try_from(if own < other { -distance } else { distance }).ok()
    }

    /// The address without its mask, as text.
    pub(crate) fn host(&self) -> String {
        let mut text = String::new();
        match self.is_v6 {
            false => {
                let [a, b, c, d, ..] = self.octets;
                text.push_str(&Ipv4Addr::new(a, b, c, d).to_string());
            }
            true => put_v6(&mut text, &self.words()),
        }
        text
    }

    /// The two-byte groups of an IPv6 address.
    fn words(&self) -> [u16; 8] {
        Ipv6Addr::from(self.octets).segments()
    }

    /// The bytes of rows and keys.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let network = self.network();
        let mut bytes = Vec::with_capacity(2 + 2 * self.octet_count());
        bytes.push(if self.is_v6 { V6 } else { V4 });
        bytes.extend_from_slice(network.octets());
        bytes.push(self.bits);
        if network != self {
            bytes.extend_from_slice(self.octets());
        }
        bytes
    }

    /// `None`: they are no address, or not in the form that it has.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<IpAddress> {
        let (family, rest) = bytes.split_first()?;
        let count = match *family {
            V4 => 4,
            V6 => 16,
            _ => return None,
        };
        let (network, rest) = rest.split_at_checked(count)?;
        let (bits, own) = rest.split_first()?;
        let octets = if own.is_empty() { network } else { own };
        let address = IpAddress::new(octets, *bits).filter(|_| octets.len() == count)?;
        let is_its_form = address.network().octets() == network && (own.is_empty() || own != network);
        is_its_form.then_some(address)
    }
}

/// As inet prints it: the mask stands behind it unless it keeps all bits.
impl fmt::Display for IpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host())?;
        match self.bits == IpAddress::bits_max(self.is_v6) {
            true => Ok(()),
            false => write!(f, "/{}", self.bits),
        }
    }
}

/// Appends an IPv6 address: the first of the longest runs of zeros as `::`, one that has an IPv4 address in it with that.
fn put_v6(text: &mut String, words: &[u16; 8]) {
    use fmt::Write as _;
    let (start, length) = longest_zeros(words);
    let embeds_v4 =
        start == 0 && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xFFFF);
    for at in 0..8 {
        if (start..start + length).contains(&at) {
            if at == start {
                text.push(':');
            }
            continue;
        }
        if at > 0 {
            text.push(':');
        }
        if at == 6 && embeds_v4 {
            let ([a, b], [c, d]) = (words[6].to_be_bytes(), words[7].to_be_bytes());
            let _ = write!(text, "{a}.{b}.{c}.{d}");
            return;
        }
        let _ = write!(text, "{:x}", words[at]);
    }
    if length > 0 && start + length == 8 {
        text.push(':');
    }
}

/// Where the first of the longest runs of two zeros and more begins, and how many they are; (0, 0) where there is none.
fn longest_zeros(words: &[u16; 8]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut at = 0;
    while at < 8 {
        let length = words[at..].iter().take_while(|word| **word == 0).count();
        if length > best.1 && length >= 2 {
            best = (at, length);
        }
        at += length.max(1);
    }
    best
}

/// The shortest text of an address: of a network without the octets that its mask leaves out (`10.1/16`), as `abbrev` of cidr gives it.
pub(crate) fn abbreviated(address: &IpAddress) -> String {
    let bits = address.bits;
    let shown = match address.is_v6 {
        false => abbreviated_v4(address.octets(), bits),
        true => abbreviated_v6(&address.network().octets, bits),
    };
    format!("{shown}/{bits}")
}

fn abbreviated_v4(octets: &[u8], bits: u8) -> String {
    if bits == 0 {
        return "0".to_string();
    }
    let shown = octets.iter().take(usize::from(bits).div_ceil(8)).enumerate();
    let shown = shown.map(|(at, octet)| (octet & IpAddress::mask_octet(bits, at)).to_string());
    shown.collect::<Vec<_>>().join(".")
}

/// The same as PostgreSQL's, in what it makes of several runs of zeros, too: a run that is no longer than the longest so far is added to the next.
fn abbreviated_v6(octets: &[u8; 16], bits: u8) -> String {
    use fmt::Write as _;
    if bits == 0 {
        return "::".to_string();
    }
    let words: Vec<u16> = octets
        .chunks(2)
        .take(usize::from(bits).div_ceil(16).max(2))
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    let (start, length) = zeros_of_abbreviation(&words);
    let embeds_v4 = length != words.len()
        && start == 0
        && (length == 6
            || length == 5 && octets[10..12] == [0xFF, 0xFF]
            || length == 7 && octets[14] != 0 && octets[15] != 1);
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        if length > 0 && (start..start + length).contains(&at) {
            if at == start {
                text.push(':');
            }
            if at == words.len() - 1 {
                text.push(':');
            }
        } else if embeds_v4 && at > 5 {
            let [high, low] = word.to_be_bytes();
            let _ = write!(text, "{}{high}", if at == 6 { ':' } else { '.' });
            if at != 7 || bits > 120 {
                let _ = write!(text, ".{low}");
            }
        } else {
            let _ = write!(text, "{}{word:x}", if text.is_empty() { "" } else { ":" });
        }
    }
    text
}

fn zeros_of_abbreviation(words: &[u16]) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), (0, 0));
    for (at, word) in words.iter().enumerate() {
        if *word == 0 {
            if run.1 == 0 {
                run.0 = at;
            }
            run.1 += 1;
        } else if run.1 > best.1 {
            best = run;
            run.1 = 0;
        }
    }
    if run.1 > best.1 { run } else { best }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;
    use crate::types::ip_text::parse_inet;

    fn read(text: &str) -> IpAddress {
        parse_inet(text).unwrap()
    }

    /// PostgreSQL's order, bit by bit.
    fn compare(a: &IpAddress, b: &IpAddress) -> Ordering {
        let bits = |address: &IpAddress, count: u8| -> Vec<u8> {
            let bit = |at: u8| address.octets[usize::from(at / 8)] >> (7 - at % 8) & 1;
            (0..count).map(bit).collect()
        };
        let shorter = a.bits.min(b.bits);
        a.is_v6
            .cmp(&b.is_v6)
            .then_with(|| bits(a, shorter).cmp(&bits(b, shorter)))
            .then(a.bits.cmp(&b.bits))
            .then(a.octets.cmp(&b.octets))
    }

    fn addresses() -> impl Strategy<Value = IpAddress> {
        let octet = || prop_oneof![Just(0_u8), Just(0xFF), Just(0x80), any::<u8>()];
        let of = |octets: Vec<u8>, bits: u8| IpAddress::new(&octets, bits).unwrap();
        prop_oneof![
            (prop::collection::vec(octet(), 4), 0_u8..=32).prop_map(move |(octets, bits)| of(octets, bits)),
            (prop::collection::vec(octet(), 16), 0_u8..=128).prop_map(move |(octets, bits)| of(octets, bits)),
        ]
    }

    proptest! {
        #[test]
        fn bytes_are_in_the_order_of_addresses(a in addresses(), b in addresses()) {
            prop_assert_eq!(a.to_bytes().cmp(&b.to_bytes()), compare(&a, &b));
            prop_assert_eq!(IpAddress::from_bytes(&a.to_bytes()), Some(a));
            prop_assert!(IpAddress::lowest().to_bytes() <= a.to_bytes());
            prop_assert!(a.to_bytes() <= IpAddress::highest().to_bytes());
        }

        #[test]
        fn texts_are_read_as_they_are_printed(a in addresses()) {
            prop_assert_eq!(read(&a.to_string()), a);
            let _ = abbreviated(&a);
        }

        #[test]
        fn other_bytes_are_no_address(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(address) = IpAddress::from_bytes(&bytes) {
                prop_assert_eq!(address.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn addresses_are_computed() {
        let address = read("192.168.5.9/24");
        assert_eq!(address.broadcast().to_string(), "192.168.5.255/24");
        assert_eq!(address.network().to_string(), "192.168.5.0/24");
        assert_eq!(address.netmask().to_string(), "255.255.255.0");
        assert_eq!(address.hostmask().to_string(), "0.0.0.255");
        assert_eq!(address.plus(-10).unwrap().to_string(), "192.168.4.255/24");
        assert_eq!(read("0.0.0.1").plus(-2), None);
        assert_eq!(read("255.255.255.255").plus(1), None);
        assert_eq!(read("::1").minus(&read("::3")), Some(-2));
        assert_eq!(read("ffff::").minus(&read("::")), None);
        assert_eq!(
            read("10.1.2.3").merge(read("10.1.3.3")).unwrap().to_string(),
            "10.1.2.0/23"
        );
    }
}

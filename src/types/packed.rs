//! Types whose values are bytes: `inet`, `cidr`, `macaddr`, `macaddr8`, `timetz`. The order of the bytes is PostgreSQL's order of the values, so
//! that they compare, and stand in keys and rows, as bytea does. What the bytes are stands in `ip_address`, `mac_address` and `time_tz`.

use super::ip_address::IpAddress;
use super::mac_address::MacAddress;
use super::time_tz::TimeTz;
use super::{FormatSettings, ip_text, mac_address};
use crate::{Error, Result};

/// Which type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PackedKind {
    /// An address of IPv4 or IPv6, with the length of its network's mask.
    Inet,
    /// A network: an address without bits to the right of its mask.
    Cidr,
    /// Six bytes.
    MacAddr,
    /// Eight bytes.
    MacAddr8,
    /// A time of day with the offset of a zone, and how many digits stand behind its second (`None`: microseconds).
    TimeTz(Option<u8>),
}

impl PackedKind {
    /// pg_type.typname, as errors of reading name it.
    pub const fn name(self) -> &'static str {
        match self {
            PackedKind::Inet => "inet",
            PackedKind::Cidr => "cidr",
            PackedKind::MacAddr => "macaddr",
            PackedKind::MacAddr8 => "macaddr8",
            PackedKind::TimeTz(_) => "timetz",
        }
    }

    /// As SQL writes it.
    pub(super) const fn sql_name(self) -> &'static str {
        match self {
            PackedKind::TimeTz(_) => "time with time zone",
            kind => kind.name(),
        }
    }

    /// The kind without digits, which values are of.
    pub fn whole(self) -> PackedKind {
        match self {
            PackedKind::TimeTz(_) => PackedKind::TimeTz(None),
            kind => kind,
        }
    }

    /// inet, cidr.
    pub fn is_ip(self) -> bool {
        matches!(self, PackedKind::Inet | PackedKind::Cidr)
    }

    /// macaddr, macaddr8.
    pub fn is_mac(self) -> bool {
        matches!(self, PackedKind::MacAddr | PackedKind::MacAddr8)
    }

    /// Whether values of the two have casts into each other.
    pub fn is_like(self, other: PackedKind) -> bool {
        self.whole() == other.whole() || self.is_ip() && other.is_ip() || self.is_mac() && other.is_mac()
    }
}

/// A value: its bytes are those of one, in the only form that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedValue {
    /// Which type it is of.
    pub kind: PackedKind,
    bytes: Vec<u8>,
}

impl PackedValue {
    /// Reads the text form. Errors: 22P02; 22003 for an octet of a macaddr that is above 255; 22007, 22008, 22009 for a time.
    pub(crate) fn parse(text: &str, kind: PackedKind, settings: &FormatSettings) -> Result<PackedValue> {
        Ok(match kind {
            PackedKind::Inet => PackedValue::inet(ip_text::parse_inet(text)?),
            PackedKind::Cidr => PackedValue::cidr(ip_text::parse_cidr(text)?),
            PackedKind::MacAddr => PackedValue::mac(&mac_address::parse_macaddr(text)?),
            PackedKind::MacAddr8 => PackedValue::mac(&mac_address::parse_macaddr8(text)?),
            PackedKind::TimeTz(_) => PackedValue::time(TimeTz::parse(text, settings)?),
        })
    }

    /// The value of these bytes of a row, key or column; `None`: they are none.
    pub fn from_bytes(bytes: &[u8], kind: PackedKind) -> Option<PackedValue> {
        let is_one = match kind {
            PackedKind::Inet => IpAddress::from_bytes(bytes).is_some(),
            PackedKind::Cidr => IpAddress::from_bytes(bytes).is_some_and(|address| address.is_network()),
            PackedKind::MacAddr => bytes.len() == 6,
            PackedKind::MacAddr8 => bytes.len() == 8,
            PackedKind::TimeTz(_) => TimeTz::from_bytes(bytes).is_some(),
        };
        is_one.then(|| PackedValue {
            kind: kind.whole(),
            bytes: bytes.to_vec(),
        })
    }

    /// The first of all in their order, and the last.
    pub(crate) fn bounds(kind: PackedKind) -> (PackedValue, PackedValue) {
        let value = |bytes| PackedValue {
            kind: kind.whole(),
            bytes,
        };
        let (first, last) = match kind {
            PackedKind::Inet | PackedKind::Cidr => {
                (IpAddress::lowest().to_bytes(), IpAddress::highest().to_bytes())
            }
            PackedKind::MacAddr => (vec![0; 6], vec![0xFF; 6]),
            PackedKind::MacAddr8 => (vec![0; 8], vec![0xFF; 8]),
            PackedKind::TimeTz(_) => (
                TimeTz::FIRST.to_bytes().to_vec(),
                TimeTz::LAST.to_bytes().to_vec(),
            ),
        };
        (value(first), value(last))
    }

    /// An inet.
    pub(crate) fn inet(address: IpAddress) -> PackedValue {
        PackedValue {
            kind: PackedKind::Inet,
            bytes: address.to_bytes(),
        }
    }

    /// The value of bytes that are compared with those of this type: a cidr is as an inet.
    pub(crate) fn comparable(bytes: &[u8], kind: PackedKind) -> Option<PackedValue> {
        let kind = if kind.is_ip() { PackedKind::Inet } else { kind };
        PackedValue::from_bytes(bytes, kind)
    }

    /// The length of the mask of an inet or cidr.
    pub(crate) fn mask(&self) -> Option<u8> {
        self.ip().map(|address| address.bits())
    }

    /// The first and the last address, of whatever mask, in the network of an inet or cidr.
    pub(crate) fn members(&self) -> Option<(PackedValue, PackedValue)> {
        let address = self.ip()?;
        let last = address.broadcast().alone();
        Some((PackedValue::inet(address.network()), PackedValue::inet(last)))
    }

    /// The first and the last inet with a mask of so many bits whose network has this address in it.
    pub(crate) fn of_mask(&self, bits: u8) -> Option<(PackedValue, PackedValue)> {
        let address = self.ip()?.with_mask(i32::from(bits))?;
        let (first, last) = (address.network(), address.broadcast());
        Some((PackedValue::inet(first), PackedValue::inet(last)))
    }

    /// The inet of an address alone.
    pub(crate) fn of_host(address: std::net::IpAddr) -> PackedValue {
        PackedValue::inet(IpAddress::of_host(address))
    }

    /// The network that an address is in.
    pub(crate) fn cidr(address: IpAddress) -> PackedValue {
        PackedValue {
            kind: PackedKind::Cidr,
            bytes: address.network().to_bytes(),
        }
    }

    /// A macaddr of six bytes, a macaddr8 of eight.
    pub(crate) fn mac(address: &MacAddress) -> PackedValue {
        let kind = match address {
            MacAddress::Six(_) => PackedKind::MacAddr,
            MacAddress::Eight(_) => PackedKind::MacAddr8,
        };
        PackedValue {
            kind,
            bytes: address.octets().to_vec(),
        }
    }

    /// A timetz.
    pub(crate) fn time(time: TimeTz) -> PackedValue {
        PackedValue {
            kind: PackedKind::TimeTz(None),
            bytes: time.to_bytes().to_vec(),
        }
    }

    /// The time of a timetz.
    pub(crate) fn time_tz(&self) -> Option<TimeTz> {
        match self.kind {
            PackedKind::TimeTz(_) => TimeTz::from_bytes(&self.bytes),
            _ => None,
        }
    }

    /// The bytes that it is in rows, keys and columns.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The address of an inet or cidr.
    pub(crate) fn ip(&self) -> Option<IpAddress> {
        match self.kind.is_ip() {
            true => IpAddress::from_bytes(&self.bytes),
            false => None,
        }
    }

    /// The address of a macaddr or macaddr8.
    pub(crate) fn mac_address(&self) -> Option<MacAddress> {
        match self.kind.is_mac() {
            true => MacAddress::from_octets(&self.bytes),
            false => None,
        }
    }

    /// PostgreSQL's order; `None`: the two are of types that do not compare.
    pub fn compare(&self, other: &PackedValue) -> Option<std::cmp::Ordering> {
        let alike = self.kind == other.kind || self.kind.is_ip() && other.kind.is_ip();
        alike.then(|| self.bytes.cmp(&other.bytes))
    }

    /// As a value of another of these types; `None` where PostgreSQL has no such cast. Errors: 22003 for a macaddr8 that is no macaddr.
    pub(super) fn cast(self, kind: PackedKind) -> Option<Result<PackedValue>> {
        use PackedKind as K;
        Some(match (self.kind, kind) {
            (from, to) if from == to.whole() => Ok(self),
            (K::Cidr, K::Inet) => Ok(PackedValue { kind, ..self }),
            (K::Inet, K::Cidr) => Ok(PackedValue::cidr(self.ip()?)),
            (K::MacAddr, K::MacAddr8) => Ok(PackedValue::mac(&self.mac_address()?.widened())),
            (K::MacAddr8, K::MacAddr) => self
                .mac_address()?
                .narrowed()
                .map(|narrow| PackedValue::mac(&narrow)),
            _ => return None,
        })
    }

    /// The text that a cast to text gives: of an inet or cidr with its mask, whatever that is.
    pub(crate) fn cast_text(&self) -> String {
        match self.ip() {
            Some(address) => format!("{}/{}", address.host(), address.bits()),
            None => String::from_utf8_lossy(&text_of(&self.bytes, self.kind)).into_owned(),
        }
    }
}

/// The text form of bytes that are a value, and nothing of others.
fn text_of(bytes: &[u8], kind: PackedKind) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, bytes, kind);
    out
}

/// Appends the text form.
pub(super) fn put_text(out: &mut Vec<u8>, bytes: &[u8], kind: PackedKind) {
    match kind {
        PackedKind::Inet | PackedKind::Cidr => {
            let Some(address) = IpAddress::from_bytes(bytes) else {
                return;
            };
            let text = match kind {
                PackedKind::Cidr => format!("{}/{}", address.host(), address.bits()),
                _ => address.to_string(),
            };
            out.extend_from_slice(text.as_bytes());
        }
        PackedKind::MacAddr | PackedKind::MacAddr8 => mac_address::put_text(out, bytes),
        PackedKind::TimeTz(_) => TimeTz::from_bytes(bytes)
            .iter()
            .for_each(|time| time.put_text(out)),
    }
}

/// PostgreSQL's numbers of the families in binary forms.
const FAMILIES: [(u8, bool); 2] = [(2, false), (3, true)];

/// Appends the binary form: of an IP address its family, mask, whether it is a cidr, how many bytes follow, these.
pub(super) fn put_binary(out: &mut Vec<u8>, bytes: &[u8], kind: PackedKind) {
    if matches!(kind, PackedKind::TimeTz(_)) {
        return TimeTz::from_bytes(bytes)
            .iter()
            .for_each(|time| time.put_binary(out));
    }
    if !kind.is_ip() {
        return out.extend_from_slice(bytes);
    }
    let Some(address) = IpAddress::from_bytes(bytes) else {
        return;
    };
    let octets = address.octets();
    out.extend_from_slice(&[
        FAMILIES[usize::from(address.is_v6())].0,
        address.bits(),
        u8::from(kind == PackedKind::Cidr),
        octets.len() as u8,
    ]);
    out.extend_from_slice(octets);
}

/// Reads the binary form; `None`: it has another length. Errors: 22P03.
pub(super) fn from_binary(bytes: &[u8], kind: PackedKind) -> Option<Result<PackedValue>> {
    if matches!(kind, PackedKind::TimeTz(_)) {
        return TimeTz::from_binary(bytes).map(|time| time.map(PackedValue::time));
    }
    if !kind.is_ip() {
        let address = match kind {
            // Six bytes are one of the eight, too.
            PackedKind::MacAddr8 => MacAddress::from_octets(bytes)?.widened(),
            _ => MacAddress::Six(bytes.try_into().ok()?),
        };
        return Some(Ok(PackedValue::mac(&address)));
    }
    let [family, bits, _is_cidr, length, octets @ ..] = bytes else {
        return None;
    };
    let invalid = |message: String| {
        Some(Err(Error::DataException {
            state: "22P03",
            message,
        }))
    };
    let name = kind.name();
    let Some((_, is_v6)) = FAMILIES.iter().find(|(number, _)| number == family) else {
        return invalid(format!("invalid address family in external \"{name}\" value"));
    };
    if *bits > IpAddress::bits_max(*is_v6) {
        return invalid(format!("invalid bits in external \"{name}\" value"));
    }
    if *length != IpAddress::bits_max(*is_v6) / 8 {
        return invalid(format!("invalid length in external \"{name}\" value"));
    }
    if octets.len() != usize::from(*length) {
        return None;
    }
    let address = IpAddress::new(octets, *bits)?;
    Some(match kind {
        PackedKind::Cidr if !address.is_network() => Err(Error::RefusedValue {
            state: "22P03",
            message: "invalid external \"cidr\" value".to_string(),
            detail: Some(ip_text::BITS_BEHIND_MASK.into()),
            hint: None,
        }),
        PackedKind::Cidr => Ok(PackedValue::cidr(address)),
        _ => Ok(PackedValue::inet(address)),
    })
}

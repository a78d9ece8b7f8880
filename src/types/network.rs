//! Network addresses: `inet`, `cidr`, `macaddr`, `macaddr8`. A value is bytes whose order as bytes is PostgreSQL's order of addresses, so that
//! they compare, and stand in keys and rows, as bytea does. What the bytes are stands in `ip_address` and `mac_address`.

use super::ip_address::IpAddress;
use super::mac_address::MacAddress;
use super::{ip_text, mac_address};
use crate::{Error, Result};

/// Which type of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkKind {
    /// An address of IPv4 or IPv6, with the length of its network's mask.
    Inet,
    /// A network: an address without bits to the right of its mask.
    Cidr,
    /// Six bytes.
    MacAddr,
    /// Eight bytes.
    MacAddr8,
}

impl NetworkKind {
    /// pg_type.typname, as errors of reading name it.
    pub const fn name(self) -> &'static str {
        match self {
            NetworkKind::Inet => "inet",
            NetworkKind::Cidr => "cidr",
            NetworkKind::MacAddr => "macaddr",
            NetworkKind::MacAddr8 => "macaddr8",
        }
    }

    /// inet, cidr.
    pub fn is_ip(self) -> bool {
        matches!(self, NetworkKind::Inet | NetworkKind::Cidr)
    }
}

/// An address: its bytes are those of one, in the only form that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkValue {
    /// Which type it is of.
    pub kind: NetworkKind,
    bytes: Vec<u8>,
}

impl NetworkValue {
    /// Reads the text form. Errors: 22P02; 22003 for an octet of a macaddr that is above 255.
    pub(crate) fn parse(text: &str, kind: NetworkKind) -> Result<NetworkValue> {
        Ok(match kind {
            NetworkKind::Inet => NetworkValue::inet(ip_text::parse_inet(text)?),
            NetworkKind::Cidr => NetworkValue::cidr(ip_text::parse_cidr(text)?),
            NetworkKind::MacAddr => NetworkValue::mac(&mac_address::parse_macaddr(text)?),
            NetworkKind::MacAddr8 => NetworkValue::mac(&mac_address::parse_macaddr8(text)?),
        })
    }

    /// The value of these bytes of a row, key or column; `None`: they are none.
    pub fn from_bytes(bytes: &[u8], kind: NetworkKind) -> Option<NetworkValue> {
        let is_one = match kind {
            NetworkKind::Inet => IpAddress::from_bytes(bytes).is_some(),
            NetworkKind::Cidr => IpAddress::from_bytes(bytes).is_some_and(|address| address.is_network()),
            NetworkKind::MacAddr => bytes.len() == 6,
            NetworkKind::MacAddr8 => bytes.len() == 8,
        };
        is_one.then(|| NetworkValue {
            kind,
            bytes: bytes.to_vec(),
        })
    }

    /// The first of all in their order, and the last.
    pub(crate) fn bounds(kind: NetworkKind) -> (NetworkValue, NetworkValue) {
        let value = |bytes| NetworkValue { kind, bytes };
        let (first, last) = match kind {
            NetworkKind::Inet | NetworkKind::Cidr => {
                (IpAddress::lowest().to_bytes(), IpAddress::highest().to_bytes())
            }
            NetworkKind::MacAddr => (vec![0; 6], vec![0xFF; 6]),
            NetworkKind::MacAddr8 => (vec![0; 8], vec![0xFF; 8]),
        };
        (value(first), value(last))
    }

    /// An inet.
    pub(crate) fn inet(address: IpAddress) -> NetworkValue {
        NetworkValue {
            kind: NetworkKind::Inet,
            bytes: address.to_bytes(),
        }
    }

    /// The value of bytes that are compared with those of this type: a cidr is as an inet.
    pub(crate) fn comparable(bytes: &[u8], kind: NetworkKind) -> Option<NetworkValue> {
        let kind = if kind.is_ip() { NetworkKind::Inet } else { kind };
        NetworkValue::from_bytes(bytes, kind)
    }

    /// The length of the mask of an inet or cidr.
    pub(crate) fn mask(&self) -> Option<u8> {
        self.ip().map(|address| address.bits())
    }

    /// The first and the last address, of whatever mask, in the network of an inet or cidr.
    pub(crate) fn members(&self) -> Option<(NetworkValue, NetworkValue)> {
        let address = self.ip()?;
        let last = address.broadcast().alone();
        Some((NetworkValue::inet(address.network()), NetworkValue::inet(last)))
    }

    /// The first and the last inet with a mask of so many bits whose network has this address in it.
    pub(crate) fn of_mask(&self, bits: u8) -> Option<(NetworkValue, NetworkValue)> {
        let address = self.ip()?.with_mask(i32::from(bits))?;
        let (first, last) = (address.network(), address.broadcast());
        Some((NetworkValue::inet(first), NetworkValue::inet(last)))
    }

    /// The inet of an address alone.
    pub(crate) fn of_host(address: std::net::IpAddr) -> NetworkValue {
        NetworkValue::inet(IpAddress::of_host(address))
    }

    /// The network that an address is in.
    pub(crate) fn cidr(address: IpAddress) -> NetworkValue {
        NetworkValue {
            kind: NetworkKind::Cidr,
            bytes: address.network().to_bytes(),
        }
    }

    /// A macaddr of six bytes, a macaddr8 of eight.
    pub(crate) fn mac(address: &MacAddress) -> NetworkValue {
        let kind = match address {
            MacAddress::Six(_) => NetworkKind::MacAddr,
            MacAddress::Eight(_) => NetworkKind::MacAddr8,
        };
        NetworkValue {
            kind,
            bytes: address.octets().to_vec(),
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
        match self.kind.is_ip() {
            true => None,
            false => MacAddress::from_octets(&self.bytes),
        }
    }

    /// PostgreSQL's order of addresses; `None`: the two are of types that do not compare.
    pub fn compare(&self, other: &NetworkValue) -> Option<std::cmp::Ordering> {
        let alike = self.kind == other.kind || self.kind.is_ip() && other.kind.is_ip();
        alike.then(|| self.bytes.cmp(&other.bytes))
    }

    /// As a value of another of these types; `None` where PostgreSQL has no such cast. Errors: 22003 for a macaddr8 that is no macaddr.
    pub(super) fn cast(self, kind: NetworkKind) -> Option<Result<NetworkValue>> {
        use NetworkKind as K;
        Some(match (self.kind, kind) {
            (from, to) if from == to => Ok(self),
            (K::Cidr, K::Inet) => Ok(NetworkValue { kind, ..self }),
            (K::Inet, K::Cidr) => Ok(NetworkValue::cidr(self.ip()?)),
            (K::MacAddr, K::MacAddr8) => Ok(NetworkValue::mac(&self.mac_address()?.widened())),
            (K::MacAddr8, K::MacAddr) => self
                .mac_address()?
                .narrowed()
                .map(|narrow| NetworkValue::mac(&narrow)),
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

/// The text form of bytes that are an address, and nothing of others.
fn text_of(bytes: &[u8], kind: NetworkKind) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, bytes, kind);
    out
}

/// Appends the text form.
pub(super) fn put_text(out: &mut Vec<u8>, bytes: &[u8], kind: NetworkKind) {
    match kind {
        NetworkKind::Inet | NetworkKind::Cidr => {
            let Some(address) = IpAddress::from_bytes(bytes) else {
                return;
            };
            let text = match kind {
                NetworkKind::Cidr => format!("{}/{}", address.host(), address.bits()),
                _ => address.to_string(),
            };
            out.extend_from_slice(text.as_bytes());
        }
        NetworkKind::MacAddr | NetworkKind::MacAddr8 => mac_address::put_text(out, bytes),
    }
}

/// PostgreSQL's numbers of the families in binary forms.
const FAMILIES: [(u8, bool); 2] = [(2, false), (3, true)];

/// Appends the binary form: of an IP address its family, mask, whether it is a cidr, how many bytes follow, these.
pub(super) fn put_binary(out: &mut Vec<u8>, bytes: &[u8], kind: NetworkKind) {
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
        u8::from(kind == NetworkKind::Cidr),
        octets.len() as u8,
    ]);
    out.extend_from_slice(octets);
}

/// Reads the binary form; `None`: it has another length. Errors: 22P03.
pub(super) fn from_binary(bytes: &[u8], kind: NetworkKind) -> Option<Result<NetworkValue>> {
    if !kind.is_ip() {
        let address = match kind {
            // Six bytes are one of the eight, too.
            NetworkKind::MacAddr8 => MacAddress::from_octets(bytes)?.widened(),
            _ => MacAddress::Six(bytes.try_into().ok()?),
        };
        return Some(Ok(NetworkValue::mac(&address)));
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
        NetworkKind::Cidr if !address.is_network() => Err(Error::RefusedValue {
            state: "22P03",
            message: "invalid external \"cidr\" value".to_string(),
            detail: Some(ip_text::BITS_BEHIND_MASK),
            hint: None,
        }),
        NetworkKind::Cidr => Ok(NetworkValue::cidr(address)),
        _ => Ok(NetworkValue::inet(address)),
    })
}

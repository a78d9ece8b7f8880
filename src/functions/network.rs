//! Functions and operators of inet, cidr, macaddr and macaddr8. What they compute is `types`' own; where an inet is taken a cidr may stand.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T, mismatched_types};
use crate::types::{IpAddress, MacAddress, PackedKind, PackedValue, Value, abbreviated_network};
use crate::{Error, Result};

const I: T = T::Packed(PackedKind::Inet);
const C: T = T::Packed(PackedKind::Cidr);
const M6: T = T::Packed(PackedKind::MacAddr);
const M8: T = T::Packed(PackedKind::MacAddr8);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("<<", &[I, I], T::Bool, |b| {
        of_pair(b, |a, b| Ok(is_inside(&a, &b)))
    })
    .bounded(),
    FunctionDef::new("<<=", &[I, I], T::Bool, |b| {
        of_pair(b, |a, b| Ok(a.is_within(&b)))
    })
    .bounded(),
    FunctionDef::new(">>", &[I, I], T::Bool, |b| {
        of_pair(b, |a, b| Ok(is_inside(&b, &a)))
    })
    .bounded(),
    FunctionDef::new(">>=", &[I, I], T::Bool, |b| {
        of_pair(b, |a, b| Ok(b.is_within(&a)))
    })
    .bounded(),
    FunctionDef::new("&&", &[I, I], T::Bool, |b| of_pair(b, |a, b| Ok(a.overlaps(&b)))).bounded(),
    FunctionDef::new("~", &[I], I, |b| of_one(b, |a| Ok(inet(a.complement())))).bounded(),
    FunctionDef::new("&", &[I, I], I, |b| {
        of_pair(b, |a, b| combined("AND", a.combine(b, |x, y| x & y)))
    })
    .bounded(),
    FunctionDef::new("|", &[I, I], I, |b| {
        of_pair(b, |a, b| combined("OR", a.combine(b, |x, y| x | y)))
    })
    .bounded(),
    FunctionDef::new("+", &[I, T::Int8], I, |b| {
        b.map2(|address: PackedValue, by: i64| moved(&address, i128::from(by)))
    })
    .bounded(),
    FunctionDef::new("+", &[T::Int8, I], I, |b| {
        b.map2(|by: i64, address: PackedValue| moved(&address, i128::from(by)))
    })
    .bounded(),
    FunctionDef::new("-", &[I, T::Int8], I, |b| {
        b.map2(|address: PackedValue, by: i64| moved(&address, -i128::from(by)))
    })
    .bounded(),
    FunctionDef::new("-", &[I, I], T::Int8, |b| of_pair(b, |a, b| distance(&a, &b))).bounded(),
    FunctionDef::new("host", &[I], T::Text, |b| of_one(b, |a| Ok(a.host()))).bounded(),
    FunctionDef::new("text", &[I], T::Text, |b| of_one(b, |a| Ok(inet_text(a)))).bounded(),
    FunctionDef::new("abbrev", &[I], T::Text, |b| of_one(b, |a| Ok(a.to_string()))).bounded(),
    FunctionDef::new("abbrev", &[C], T::Text, |b| {
        of_one(b, |a| Ok(abbreviated_network(&a)))
    })
    .bounded(),
    FunctionDef::new("masklen", &[I], T::Int4, |b| {
        of_one(b, |a| Ok(i32::from(a.bits())))
    })
    .bounded(),
    FunctionDef::new("family", &[I], T::Int4, |b| {
        of_one(b, |a| Ok(if a.is_v6() { 6 } else { 4 }))
    })
    .bounded(),
    FunctionDef::new("set_masklen", &[I, T::Int4], I, |b| masked(b, PackedValue::inet)).bounded(),
    FunctionDef::new("set_masklen", &[C, T::Int4], C, |b| masked(b, PackedValue::cidr)).bounded(),
    FunctionDef::new("netmask", &[I], I, |b| of_one(b, |a| Ok(inet(a.netmask())))).bounded(),
    FunctionDef::new("hostmask", &[I], I, |b| of_one(b, |a| Ok(inet(a.hostmask())))).bounded(),
    FunctionDef::new("broadcast", &[I], I, |b| of_one(b, |a| Ok(inet(a.broadcast())))).bounded(),
    FunctionDef::new("network", &[I], C, |b| of_one(b, |a| Ok(cidr(a)))).bounded(),
    FunctionDef::new("cidr", &[I], C, |b| of_one(b, |a| Ok(cidr(a)))).bounded(),
    FunctionDef::new("inet_same_family", &[I, I], T::Bool, |b| {
        of_pair(b, |a, b| Ok(a.is_v6() == b.is_v6()))
    })
    .bounded(),
    FunctionDef::new("inet_merge", &[I, I], C, |b| of_pair(b, merged)).bounded(),
    FunctionDef::new("~", &[M6], M6, |b| {
        of_mac(b, |a| a.with_octets(|_, octet| !octet))
    })
    .bounded(),
    FunctionDef::new("~", &[M8], M8, |b| {
        of_mac(b, |a| a.with_octets(|_, octet| !octet))
    })
    .bounded(),
    FunctionDef::new("&", &[M6, M6], M6, |b| of_macs(b, |x, y| x & y)).bounded(),
    FunctionDef::new("&", &[M8, M8], M8, |b| of_macs(b, |x, y| x & y)).bounded(),
    FunctionDef::new("|", &[M6, M6], M6, |b| of_macs(b, |x, y| x | y)).bounded(),
    FunctionDef::new("|", &[M8, M8], M8, |b| of_macs(b, |x, y| x | y)).bounded(),
    FunctionDef::new("trunc", &[M6], M6, |b| of_mac(b, manufacturer)).bounded(),
    FunctionDef::new("trunc", &[M8], M8, |b| of_mac(b, manufacturer)).bounded(),
    FunctionDef::new("macaddr8_set7bit", &[M8], M8, |b| {
        of_mac(b, |a| {
            a.with_octets(|at, octet| if at == 0 { octet | 2 } else { octet })
        })
    })
    .bounded(),
];

fn ip_of(address: &PackedValue) -> Result<IpAddress> {
    address.ip().ok_or_else(mismatched_types)
}

fn mac_of(address: &PackedValue) -> Result<MacAddress> {
    address.mac_address().ok_or_else(mismatched_types)
}

fn inet(address: IpAddress) -> Value {
    Value::Packed(PackedValue::inet(address))
}

fn cidr(address: IpAddress) -> Value {
    Value::Packed(PackedValue::cidr(address))
}

fn inet_text(address: IpAddress) -> String {
    PackedValue::inet(address).cast_text()
}

fn of_one<R>(batch: &Batch, compute: impl Fn(IpAddress) -> Result<R>) -> Result<ArrayRef>
where
    R: super::output::Output,
{
    batch.map1(|value: PackedValue| compute(ip_of(&value)?))
}

fn of_pair<R>(batch: &Batch, compute: impl Fn(IpAddress, IpAddress) -> Result<R>) -> Result<ArrayRef>
where
    R: super::output::Output,
{
    batch.map2(|a: PackedValue, b: PackedValue| compute(ip_of(&a)?, ip_of(&b)?))
}

fn of_mac(batch: &Batch, compute: impl Fn(MacAddress) -> MacAddress) -> Result<ArrayRef> {
    batch.map1(|value: PackedValue| {
        let address = compute(mac_of(&value)?);
        Ok::<_, Error>(Value::Packed(PackedValue::mac(&address)))
    })
}

fn of_macs(batch: &Batch, octet: impl Fn(u8, u8) -> u8) -> Result<ArrayRef> {
    batch.map2(|a: PackedValue, b: PackedValue| {
        let (a, b) = (mac_of(&a)?, mac_of(&b)?);
        let address = a.with_octets(|at, own| octet(own, b.octets()[at]));
        Ok::<_, Error>(Value::Packed(PackedValue::mac(&address)))
    })
}

/// The address with zeros behind the three bytes that name who made the device.
fn manufacturer(address: MacAddress) -> MacAddress {
    address.with_octets(|at, octet| if at < 3 { octet } else { 0 })
}

/// Whether a network lies in another one that is larger.
fn is_inside(a: &IpAddress, b: &IpAddress) -> bool {
    a.bits() > b.bits() && a.is_within(b)
}

fn refused(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}

/// Errors: 22023 where the addresses are of two families.
fn combined(name: &str, address: Option<IpAddress>) -> Result<Value> {
    let address = address.ok_or_else(|| refused(format!("cannot {name} inet values of different sizes")))?;
    Ok(inet(address))
}

fn out_of_range() -> Error {
    Error::NumericOutOfRange {
        message: "result is out of range".to_string(),
        detail: None,
    }
}

/// The address so many further. Errors: 22003.
fn moved(address: &PackedValue, by: i128) -> Result<Value> {
    ip_of(address)?.plus(by).map(inet).ok_or_else(out_of_range)
}

/// Errors: 22023 where the addresses are of two families, 22003.
fn distance(a: &IpAddress, b: &IpAddress) -> Result<i64> {
    if a.is_v6() != b.is_v6() {
        return Err(refused(
            "cannot subtract inet values of different sizes".to_string(),
        ));
    }
    a.minus(b).ok_or_else(out_of_range)
}

/// With another mask. Errors: 22023 for a length that it cannot have.
fn masked(batch: &Batch, value: fn(IpAddress) -> PackedValue) -> Result<ArrayRef> {
    batch.map2(|address: PackedValue, bits: i32| {
        let masked = ip_of(&address)?.with_mask(bits);
        let masked = masked.ok_or_else(|| refused(format!("invalid mask length: {bits}")))?;
        Ok(Value::Packed(value(masked)))
    })
}

/// Errors: 22023 where the addresses are of two families.
fn merged(a: IpAddress, b: IpAddress) -> Result<Value> {
    let network = a.merge(b);
    let network =
        network.ok_or_else(|| refused("cannot merge addresses from different families".to_string()))?;
    Ok(cidr(network))
}

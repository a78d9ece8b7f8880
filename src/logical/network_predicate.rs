//! Networks in networks (`<<`, `<<=`, `>>`, `>>=`) as comparisons, which bound keys: in the order of addresses those of a network stand
//! together. Called by `filter_predicate`.

use crate::plan::{CompareOp, Predicate};
use crate::types::{PackedKind, PackedValue, Value};

/// What `column symbol network` means for a column of inet or cidr; `None`: the symbol is another, or the value no such address.
pub(super) fn of_symbol(
    (column, kind): (usize, PackedKind),
    symbol: &str,
    network: &PackedValue,
) -> Option<Predicate> {
    match symbol {
        "<<=" => {
            let (first, last) = network.members()?;
            Some(between(column, (CompareOp::GreaterEq, first), last))
        }
        // Without those whose mask is as long: they stand in front of all others.
        "<<" => {
            let (first_equal, last_equal) = network.of_mask(network.mask()?)?;
            let equal = match kind {
                PackedKind::Cidr => first_equal,
                _ => last_equal,
            };
            let (_, last) = network.members()?;
            Some(between(column, (CompareOp::Greater, equal), last))
        }
        ">>=" | ">>" => {
            let longest = network.mask()? + u8::from(symbol == ">>=");
            let networks = (0..longest).map(|bits| network.of_mask(bits));
            let networks: Vec<_> = networks.collect::<Option<_>>()?;
            Some(match kind {
                // No bit of a cidr stands behind its mask.
                PackedKind::Cidr => Predicate::InList {
                    column,
                    values: networks
                        .into_iter()
                        .map(|(first, _)| Value::Packed(first))
                        .collect(),
                },
                _ => Predicate::any(
                    networks
                        .into_iter()
                        .map(|(first, last)| between(column, (CompareOp::GreaterEq, first), last))
                        .collect(),
                ),
            })
        }
        _ => None,
    }
}

fn between(column: usize, (op, first): (CompareOp, PackedValue), last: PackedValue) -> Predicate {
    let compare = |op, value| Predicate::Compare {
        column,
        op,
        value: Value::Packed(value),
    };
    Predicate::all(vec![compare(op, first), compare(CompareOp::LessEq, last)])
}

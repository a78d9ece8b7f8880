//! Transactions by number: xid8, snapshots of such numbers, and how transactions ended.

use super::{FunctionDef, T};
use crate::system::pg_catalog::CatalogContext;
use crate::txn::TransactionState;
use crate::types::{CatalogType, TransactionSnapshot};
use crate::{Error, Result};

const XID8: T = T::Catalog(CatalogType::Xid8);
const SNAPSHOT: T = T::Catalog(CatalogType::PgSnapshot);
const TXID_SNAPSHOT: T = T::Catalog(CatalogType::TxidSnapshot);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_current_xact_id", &[], XID8, |b, catalog| {
        b.map0(|| current(catalog))
    }),
    FunctionDef::catalog("pg_current_xact_id_if_assigned", &[], XID8, |b, catalog| {
        b.map0(|| assigned(catalog))
    }),
    FunctionDef::catalog("txid_current", &[], T::Int8, |b, catalog| {
        b.map0(|| current(catalog))
    }),
    FunctionDef::catalog("txid_current_if_assigned", &[], T::Int8, |b, catalog| {
        b.map0(|| assigned(catalog))
    }),
    FunctionDef::catalog("pg_current_snapshot", &[], SNAPSHOT, |b, catalog| {
        b.map0(|| snapshot(catalog))
    }),
    FunctionDef::catalog("txid_current_snapshot", &[], TXID_SNAPSHOT, |b, catalog| {
        b.map0(|| snapshot(catalog))
    }),
    FunctionDef::new("pg_snapshot_xmin", &[SNAPSHOT], XID8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "pg_snapshot").map(|snapshot| snapshot.first))
    }),
    FunctionDef::new("pg_snapshot_xmax", &[SNAPSHOT], XID8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "pg_snapshot").map(|snapshot| snapshot.next))
    }),
    FunctionDef::rows("pg_snapshot_xip", &[SNAPSHOT], XID8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "pg_snapshot").map(|snapshot| snapshot.open))
    }),
    FunctionDef::new("pg_visible_in_snapshot", &[XID8, SNAPSHOT], T::Bool, |b| {
        b.map2(|number: i64, text: &str| {
            TransactionSnapshot::parse(text, "pg_snapshot").map(|snapshot| snapshot.sees(number))
        })
    }),
    FunctionDef::new("txid_snapshot_xmin", &[TXID_SNAPSHOT], T::Int8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "txid_snapshot").map(|snapshot| snapshot.first))
    }),
    FunctionDef::new("txid_snapshot_xmax", &[TXID_SNAPSHOT], T::Int8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "txid_snapshot").map(|snapshot| snapshot.next))
    }),
    FunctionDef::rows("txid_snapshot_xip", &[TXID_SNAPSHOT], T::Int8, |b| {
        b.map1(|text: &str| TransactionSnapshot::parse(text, "txid_snapshot").map(|snapshot| snapshot.open))
    }),
    FunctionDef::new(
        "txid_visible_in_snapshot",
        &[T::Int8, TXID_SNAPSHOT],
        T::Bool,
        |b| {
            b.map2(|number: i64, text: &str| {
                TransactionSnapshot::parse(text, "txid_snapshot").map(|snapshot| snapshot.sees(number))
            })
        },
    ),
    FunctionDef::catalog("pg_xact_status", &[XID8], T::Text, |b, catalog| {
        b.map1(|number| status(catalog, number))
    }),
    FunctionDef::catalog("txid_status", &[T::Int8], T::Text, |b, catalog| {
        b.map1(|number| status(catalog, number))
    }),
];

/// The first number that this process gives: those of one that starts later are greater.
fn first_number() -> i64 {
    super::server::started_us()
}

fn shown(number: u64) -> i64 {
    first_number().saturating_add(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The low half of the number that the next transaction gets, as xid has it.
pub(super) fn next_number(catalog: &CatalogContext) -> i64 {
    shown(catalog.statement().txn.open_numbers().next) & i64::from(u32::MAX)
}

fn current(catalog: &CatalogContext) -> i64 {
    shown(catalog.statement().txn.transaction_number())
}

/// That of a transaction that has one, or has written.
fn assigned(catalog: &CatalogContext) -> Option<i64> {
    let txn = &catalog.statement().txn;
    match txn.has_writes() {
        true => Some(shown(txn.transaction_number())),
        false => txn.given_transaction_number().map(shown),
    }
}

fn snapshot(catalog: &CatalogContext) -> String {
    let numbers = catalog.statement().txn.open_numbers();
    let next = shown(numbers.next);
    let open: Vec<i64> = numbers.open.iter().copied().map(shown).collect();
    let first = open.first().copied().unwrap_or(next);
    TransactionSnapshot { first, next, open }.to_string()
}

/// Errors: 22023 for a number that nobody has yet.
fn status(catalog: &CatalogContext, number: i64) -> Result<Option<&'static str>> {
    let Some(own) = number
        .checked_sub(first_number())
        .and_then(|own| u64::try_from(own).ok())
    else {
        return Ok(None);
    };
    Ok(match catalog.statement().txn.numbers().state(own) {
        TransactionState::InProgress => Some("in progress"),
        TransactionState::Committed => Some("committed"),
        TransactionState::Aborted => Some("aborted"),
        TransactionState::Forgotten => None,
        TransactionState::Future => {
            return Err(Error::InvalidParameter {
                message: format!("transaction ID {number} is in the future"),
                hint: None,
            });
        }
    })
}

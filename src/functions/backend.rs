//! Other sessions: stopping them, telling them something (`pg_notify`), letting them see what this one sees (`pg_export_snapshot`); and
//! where the ends of this one's connection are.

use std::net::SocketAddr;

use super::{FunctionDef, T};
use crate::system::interrupt::Cause;
use crate::system::pg_catalog::CatalogContext;
use crate::system::settings::Isolation;
use crate::system::{ExportedSnapshot, Notice, TcpEnds};
use crate::types::{PackedKind, PackedValue, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_cancel_backend", &[T::Int4], T::Bool, |b, catalog| {
        b.map1(|process_id| stop(catalog, process_id, Cause::Cancel))
    })
    .volatile()
    .bounded(),
    FunctionDef::catalog("pg_terminate_backend", &[T::Int4], T::Bool, |b, catalog| {
        b.map1(|process_id| stop(catalog, process_id, Cause::Shutdown))
    })
    .volatile()
    .bounded(),
    FunctionDef::catalog(
        "pg_terminate_backend",
        &[T::Int4, T::Int8],
        T::Bool,
        |b, catalog| b.map2(|process_id, _timeout: i64| stop(catalog, process_id, Cause::Shutdown)),
    )
    .volatile()
    .bounded(),
    FunctionDef::catalog("pg_blocking_pids", &[T::Int4], T::IntArray, |b, catalog| {
        let locks = catalog.statement().txn.lock_table();
        b.map1(|process_id| locks.blockers(process_id))
    })
    .volatile()
    .bounded(),
    FunctionDef::catalog(
        "pg_isolation_test_session_is_blocked",
        &[T::Int4, T::IntArray],
        T::Bool,
        |b, catalog| {
            let locks = catalog.statement().txn.lock_table();
            b.map2(|process_id, others: Vec<Option<i32>>| {
                let blockers = locks.blockers(process_id);
                blockers.iter().any(|blocker| others.contains(&Some(*blocker)))
            })
        },
    )
    .volatile()
    .bounded(),
    FunctionDef::catalog("pg_notify", &[T::Text, T::Text], T::VOID, |b, catalog| {
        b.map2(|channel: Option<&str>, payload: Option<&str>| {
            notify(catalog, channel.unwrap_or_default(), payload.unwrap_or_default())
        })
    })
    .on_null()
    .volatile()
    .bounded(),
    FunctionDef::catalog("pg_export_snapshot", &[], T::Text, |b, catalog| {
        b.map0(|| export_snapshot(catalog))
    })
    .volatile()
    .bounded(),
    FunctionDef::catalog_rows("pg_listening_channels", &[], T::Text, |b, catalog| {
        b.map0(|| catalog.statement().session.channels.listening())
    })
    .volatile(),
    FunctionDef::catalog("pg_notification_queue_usage", &[], T::Float8, |b, catalog| {
        let statement = catalog.statement();
        let bytes_max = statement.settings.notify_queue_bytes_max;
        b.map0(|| statement.server.channels.queued_share(bytes_max))
    })
    .volatile()
    .bounded(),
    FunctionDef::catalog("inet_client_addr", &[], INET, |b, catalog| {
        b.map0(|| address_of(ends_of(catalog).map(|ends| ends.client)))
    }),
    FunctionDef::catalog("inet_client_port", &[], T::Int4, |b, catalog| {
        b.map0(|| port_of(ends_of(catalog).map(|ends| ends.client)))
    }),
    FunctionDef::catalog("inet_server_addr", &[], INET, |b, catalog| {
        b.map0(|| address_of(ends_of(catalog).map(|ends| ends.server)))
    }),
    FunctionDef::catalog("inet_server_port", &[], T::Int4, |b, catalog| {
        b.map0(|| port_of(ends_of(catalog).map(|ends| ends.server)))
    }),
];

const INET: T = T::Packed(PackedKind::Inet);

/// `None`: the session has no connection.
fn ends_of(catalog: &CatalogContext) -> Option<TcpEnds> {
    catalog.statement().session.client
}

fn address_of(end: Option<SocketAddr>) -> Value {
    end.map_or(Value::Null, |end| Value::Packed(PackedValue::of_host(end.ip())))
}

fn port_of(end: Option<SocketAddr>) -> Option<i32> {
    end.map(|end| i32::from(end.port()))
}

fn stop(catalog: &CatalogContext, process_id: i32, cause: Cause) -> bool {
    let statement = catalog.statement();
    match statement.server.get_session(process_id) {
        Some(session) => {
            session.interrupt.raise(cause);
            true
        }
        None => {
            statement.notice(Notice::warning(
                "01000",
                format!("PID {process_id} is not a PostgreSQL backend process"),
            ));
            false
        }
    }
}

fn export_snapshot(catalog: &CatalogContext) -> Result<String> {
    let statement = catalog.statement();
    if statement.in_savepoint {
        return Err(Error::TransactionState {
            state: "25001",
            message: "cannot export a snapshot from a subtransaction".to_string(),
        });
    }
    let settings = &statement.settings;
    statement.session.touch();
    let exported = ExportedSnapshot {
        snapshot: statement.txn.share_snapshot(),
        is_serializable: settings.isolation == Isolation::Serializable,
        is_read_only: settings.transaction_read_only,
    };
    statement.server.snapshots.export(statement.process_id, exported)
}

fn notify(catalog: &CatalogContext, channel: &str, payload: &str) -> Result<&'static str> {
    let statement = catalog.statement();
    statement.session.touch();
    let bytes_max = statement.settings.notify_queue_bytes_max;
    statement.session.channels.notify(channel, payload, bytes_max)?;
    Ok("")
}

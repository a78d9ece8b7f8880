//! Every relation of the catalogs over a small database. What they say is in `sql-tests/catalogs*.slt`.

use std::path::Path;
use std::sync::Arc;

use super::{CatalogContext, definition};
use crate::catalog::{
    Catalog, ColumnDef, ColumnDefault, IndexDef, KeyColumn, Relation, TableDef, TableOptions, ViewDef,
};
use crate::store::{StoreKind, StoreOptions, open_store};
use crate::system::catalog_version::definitions;
use crate::system::{Settings, StatementContext, StatementMemory};
use crate::table::Sequences;
use crate::txn::Transaction;
use crate::types::{NumericSize, SqlType, Value};

fn column(id: u16, name: &str, ty: SqlType, not_null: bool) -> ColumnDef {
    ColumnDef {
        not_null,
        ..ColumnDef::new(id, name, ty)
    }
}

/// `CREATE TABLE sensor (device text, ts timestamp, temp double precision, hum integer DEFAULT 0, note varchar(40),
/// amount numeric(10,2), PRIMARY KEY (device, ts DESC))` with an index, and the view `hot` over it.
fn catalog() -> Catalog {
    let mut columns = vec![
        column(1, "device", SqlType::Text, true),
        column(2, "ts", SqlType::Timestamp(None), true),
        column(3, "temp", SqlType::Float8, false),
        column(4, "hum", SqlType::Int4, false),
        column(5, "note", SqlType::Varchar(Some(40)), false),
        column(
            6,
            "amount",
            SqlType::Numeric(Some(NumericSize {
                precision: 10,
                scale: 2,
            })),
            false,
        ),
    ];
    columns[2].comment = Some("celsius".to_string());
    columns[3].default = Some(ColumnDefault::Constant {
        text: None,
        value: Value::Int(0),
        sql: "0".to_string(),
    });
    let key = |column, descending| KeyColumn {
        column,
        descending,
        nulls_first: descending,
    };
    let index = |id, oid, name: &str, columns, unique| IndexDef {
        unique,
        constraint: id == 0,
        ..IndexDef::new(id, oid, name, columns)
    };
    let table = TableDef {
        version: 1,
        next_column_id: 7,
        next_index_id: 2,
        indexes: vec![index(
            1,
            16387,
            "sensor_note_idx",
            vec![key(5, false), key(4, true)],
            false,
        )],
        options: TableOptions {
            dynamic_columns: true,
            ..TableOptions::default()
        },
        comment: Some("readings".to_string()),
        ..TableDef::new(
            (1, 16385),
            "public",
            "sensor",
            columns,
            index(0, 16386, "sensor_pkey", vec![key(1, false), key(2, true)], true),
        )
    };
    let mut catalog = Catalog::empty();
    catalog.insert_relation(Relation::Table(Arc::new(table)));
    catalog.insert_relation(Relation::View(Arc::new(hot_view())));
    catalog
}

fn hot_view() -> ViewDef {
    ViewDef {
        id: 4,
        version: 0,
        schema: "public".to_string(),
        name: "hot".to_string(),
        columns: vec![
            ("device".to_string(), "text".to_string()),
            ("t".to_string(), "numeric(10,2)".to_string()),
        ],
        query: "SELECT device, max(amount) AS t FROM sensor GROUP BY device".to_string(),
        printed: None,
        search_path: vec!["public".to_string()],
        comment: None,
        column_comments: Default::default(),
        depends_on: Vec::new(),
        options: Default::default(),
        shows: None,
        triggers: Vec::new(),
    }
}

pub(crate) async fn statement() -> StatementContext {
    let store = open_store(StoreKind::Memory, Path::new(""), &StoreOptions::default()).expect("memory opens");
    let txn = Transaction::begin(Arc::clone(&store), 1 << 20)
        .await
        .expect("a new store has a snapshot");
    StatementContext {
        in_block: false,
        asks_deferred: false,
        in_savepoint: false,
        jobs: Arc::default(),
        index_builds: Arc::default(),
        server: Arc::default(),
        session: crate::system::ServerState::default().begin_test_session(),
        text: Arc::default(),
        txn: Arc::new(txn),
        catalog: Arc::new(catalog()),
        began: None,
        part_began: None,
        common_rows: Arc::default(),
        lookups: Arc::default(),
        sequences: Arc::new(Sequences::new(store)),
        settings: Arc::new(Settings::default()),
        memory: StatementMemory::new(&Arc::default(), 1 << 30),
        parameters: Arc::new([]),
        parameter_types: Arc::default(),
        parameters_are_constants: false,
        transaction_time_us: 1_800_000_000_000_000,
        statement_time_us: 1_800_000_000_000_000,
        hints: Default::default(),
        notices: Arc::default(),
        user: "alice".into(),
        session_user: "alice".into(),
        database: "shop".into(),
        process_id: 42,
        prepared: Arc::default(),
        cursors: Arc::default(),
        cursor_position: None,
        transaction_control: None,
        variables: None,
        place: None,
        calls: 0,
        in_stable_function: false,
        rows_wanted: None,
        trigger_depth: 0,
        call_routine: |_, _| Box::pin(async { Err(crate::Error::internal("no functions here")) }),
        compile_generated: |_, _| Err(crate::Error::internal("no generated columns here")),
    }
}

#[tokio::test]
async fn every_relation_has_rows_of_its_schema() {
    let statement = statement().await;
    let catalog = CatalogContext::new(Arc::new(statement.clone()));
    for definition in definitions::definitions() {
        let columns: Vec<usize> = (0..definition.fields.fields().len()).collect();
        let rows = catalog.rows(definition, &columns).await;
        let rows = rows.unwrap_or_else(|error| panic!("{}: {error}", definition.full_name));
        let schema = rows.all().schema();
        assert_eq!(
            &schema.fields()[..columns.len()],
            &definition.fields.fields()[..],
            "{}",
            definition.full_name
        );
    }
}

/// Rows that say something of a statement are its own; the others are made once.
#[tokio::test]
async fn statements_share_what_their_catalog_says() {
    let statement = statement().await;
    let first = CatalogContext::new(Arc::new(statement.clone()));
    let second = CatalogContext::new(Arc::new(statement));
    for (name, is_shared) in [("pg_attribute", true), ("pg_settings", false)] {
        let relation = definition("pg_catalog", name).expect("it is defined");
        let (own, other) = (
            first.rows(relation, &[0]).await,
            second.rows(relation, &[0]).await,
        );
        let (own, other) = (own.expect("it has rows"), other.expect("it has rows"));
        assert_eq!(Arc::ptr_eq(&own, &other), is_shared, "{name}");
    }
    let classes = definition("pg_catalog", "pg_class").expect("it is defined");
    let counted = [classes.position("reltuples")];
    let names = first.rows(classes, &[classes.position("relname")]).await;
    let counts = first.rows(classes, &counted).await;
    assert!(!Arc::ptr_eq(
        &names.expect("it has rows"),
        &counts.expect("it has rows")
    ));
}

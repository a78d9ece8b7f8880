//! Tests of records, lookups and changes over the memory store.

use std::collections::HashMap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::store::memory::MemoryEngine;
use crate::store::mvcc::MvccStore;
use crate::store::{Store, StoreOptions, Write};
use crate::txn::Transaction;
use crate::types::{FormatSettings, NumericSize, SqlType, Value};

const TXN_BYTES_MAX: usize = 1 << 20;

fn memory_store() -> Arc<dyn Store> {
    Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap())
}

async fn begin(store: &Arc<dyn Store>) -> Transaction {
    Transaction::begin(Arc::clone(store), TXN_BYTES_MAX)
        .await
        .unwrap()
}

fn table_def(id: TableId, schema: &str, name: &str, columns: Vec<ColumnDef>) -> TableDef {
    TableDef {
        next_column_id: columns.len() as u16 + 1,
        ..TableDef::new(
            (id, FIRST_OID + id),
            schema,
            name,
            columns,
            IndexDef {
                unique: true,
                constraint: true,
                ..IndexDef::new(
                    0,
                    FIRST_OID + id + 1,
                    format!("{name}_pkey"),
                    vec![KeyColumn {
                        column: 1,
                        descending: true,
                        nulls_first: true,
                    }],
                )
            },
        )
    }
}

/// A number that no object has.
async fn next_id(store: &Arc<dyn Store>) -> TableId {
    ObjectIds::new(Arc::clone(store)).take().await.unwrap()
}

/// Creates a table of one column in a transaction that commits.
async fn create(store: &Arc<dyn Store>, name: &str) -> Arc<TableDef> {
    let txn = begin(store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    let id = next_id(store).await;
    let table = writer
        .put_table(table_def(
            id,
            "public",
            name,
            vec![ColumnDef::new(1, "a", SqlType::Int4)],
        ))
        .unwrap();
    txn.commit(false).await.unwrap();
    table
}

async fn load(store: &Arc<dyn Store>) -> Arc<Catalog> {
    Catalog::load(&begin(store).await, None).await.unwrap()
}

#[tokio::test]
async fn a_new_store_holds_the_builtin_schemas() {
    let catalog = load(&memory_store()).await;
    assert_eq!(catalog.version, 0);
    let names: Vec<_> = catalog.schemas.keys().map(String::as_str).collect();
    assert_eq!(names, ["information_schema", "keyspan", "pg_catalog", "public"]);
    assert_eq!(
        catalog.creation_schema(&["pg_catalog".to_string(), "public".to_string()]),
        Ok("public")
    );
    assert_eq!(
        catalog
            .creation_schema(&["nope".to_string()])
            .unwrap_err()
            .sqlstate(),
        "3F000"
    );
}

/// A column type of every kind, with the text of a constant of it.
fn samples() -> Vec<(SqlType, &'static str)> {
    vec![
        (SqlType::Bool, "true"),
        (SqlType::Int2, "-3"),
        (SqlType::Int8, "9223372036854775807"),
        (SqlType::Float4, "1.1"),
        (SqlType::Float8, "0.1"),
        (
            SqlType::Numeric(Some(NumericSize {
                precision: 10,
                scale: 2,
            })),
            "12.50",
        ),
        (SqlType::Numeric(None), "1.25"),
        (SqlType::Text, "it's \"quoted\"\n"),
        (SqlType::Varchar(Some(7)), "seven"),
        (SqlType::Varchar(None), ""),
        (SqlType::Char(Some(3)), "ab "),
        (SqlType::Bytea, "\\x00ff"),
        (SqlType::Date, "2024-02-29"),
        (SqlType::Time(None), "23:59:59.999999"),
        (SqlType::Timestamp(None), "2024-02-29 12:00:00.5"),
        (SqlType::TimestampTz(None), "2024-02-29 12:00:00+00"),
        (SqlType::Interval(None), "1 mon 2 days 00:00:03"),
        (SqlType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (SqlType::Json, "{\"a\": 1}"),
        (SqlType::Jsonb, "{\"a\": 1}"),
    ]
}

fn commented_schema() -> SchemaDef {
    SchemaDef {
        name: "s".to_string(),
        oid: 20000,
        comment: Some("a schema".to_string()),
        dropped: false,
    }
}

/// What a name means in the schema `public`.
fn searched<'a>(catalog: &'a Catalog, name: &str) -> Object<'a> {
    let path = ["public".to_string()];
    let name = RelationName::searched(name, &path);
    catalog.relation(name, Access::Name).unwrap()
}

fn every_option() -> TableOptions {
    TableOptions {
        buckets: Some(16),
        dynamic_columns: true,
        update_adds_columns: true,
        wildcard_column: None,
        full_scan_allowed: true,
        full_scan_rejected: false,
        unlogged: true,
        triggers_disabled: true,
        on_commit: None,
        split: SplitOptions {
            regions: Some(8),
            start_key: Some("1".to_string()),
            end_key: Some("9".to_string()),
            split_keys: Some("2,3".to_string()),
        },
        expiry: Expiry {
            ttl: Some(90_000_000),
            column: Some("ts".to_string()),
            since: 5,
            by_row: true,
        },
        versions: Versions {
            count: Some(5),
            history: Some(90_000_000),
            store: 7,
            since: 5,
            whole_since: 6,
        },
        kept: [("compression".to_string(), "ZSTD".to_string())].into(),
    }
}

#[tokio::test]
async fn every_kind_of_definition_reads_back() {
    let store = memory_store();
    let utc = FormatSettings::default();
    let constant = |text: &str, ty: &SqlType| Value::parse(text, ty, &utc).unwrap();
    let types = samples();
    let mut columns: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(at, (ty, text))| {
            let mut column = ColumnDef::new(at as u16 + 1, format!("c{at}"), ty.clone());
            column.missing = constant(text, ty);
            column.default = Some(ColumnDefault::Constant {
                text: None,
                value: constant(text, ty),
                sql: format!("'{text}'"),
            });
            column
        })
        .collect();
    let id = columns.len() as u16;
    columns[0].default = Some(ColumnDefault::Expression {
        text: None,
        sql: "now() IS NULL".to_string(),
        sequences: vec![16402],
    });
    columns[1].default = Some(ColumnDefault::Sequence { oid: 16400 });
    columns[2].default = Some(ColumnDefault::Identity {
        always: true,
        oid: 16401,
    });
    columns[3].comment = Some("Größe".to_string());
    columns.push(ColumnDef {
        hidden: true,
        default: Some(ColumnDefault::RowId),
        ..ColumnDef::new(id + 1, "row id", SqlType::Int8)
    });
    let mut table = table_def(0, "public", "wide", columns);
    table.options = every_option();
    table.indexes.push(IndexDef {
        id: 1,
        unique: false,
        built: false,
        building: false,
        invalid: false,
        constraint: false,
        ..table.primary_key.clone()
    });

    let txn = begin(&store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    table.id = next_id(&store).await;
    let written = writer.put_table(table).unwrap();
    let view = ViewDef {
        id: next_id(&store).await,
        version: 0,
        schema: "public".to_string(),
        name: "v".to_string(),
        columns: vec![("a".to_string(), "integer".to_string())],
        query: "SELECT 1 AS a".to_string(),
        printed: None,
        search_path: vec!["public".to_string()],
        comment: None,
        column_comments: BTreeMap::from([("a".to_string(), "one".to_string())]),
        depends_on: vec![written.oid],
        options: Default::default(),
        shows: None,
        triggers: Vec::new(),
    };
    writer.put_view(&view).unwrap();
    let schema = commented_schema();
    writer.put_schema(&schema).unwrap();
    txn.commit(false).await.unwrap();

    let catalog = load(&store).await;
    assert_eq!(searched(&catalog, "wide").table().ok(), Some(&written));
    let version = catalog.version;
    let view = ViewDef { version, ..view };
    assert!(matches!(searched(&catalog, "v"), Object::View(found) if **found == view));
    assert_eq!(catalog.schema("s"), Ok(&schema));
    assert_eq!(catalog.queries_reading(written.oid).count(), 1);
}

#[tokio::test]
async fn the_cache_stands_while_the_version_does() {
    let store = memory_store();
    let first = create(&store, "t").await;
    let cached = load(&store).await;
    let again = Catalog::load(&begin(&store).await, Some(Arc::clone(&cached)))
        .await
        .unwrap();
    assert!(Arc::ptr_eq(&cached, &again));

    create(&store, "u").await;
    let newer = Catalog::load(&begin(&store).await, Some(cached)).await.unwrap();
    assert_ne!(newer.version, again.version);
    let kept = newer
        .relation(RelationName::in_schema("public", "t"), Access::Name)
        .unwrap()
        .table()
        .ok()
        .unwrap();
    assert_eq!(**kept, *first);
    let known = again
        .relation(RelationName::in_schema("public", "t"), Access::Name)
        .unwrap()
        .table()
        .ok()
        .unwrap();
    assert!(
        Arc::ptr_eq(kept, known),
        "an unchanged table is not decoded again"
    );
    assert!(
        newer
            .get_relation(RelationName::in_schema("public", "u"), Access::Name)
            .unwrap()
            .is_some()
    );
}

/// Changes a table's comment in a transaction that commits.
async fn comment(store: &Arc<dyn Store>, name: &str, comment: &str) {
    let txn = begin(store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    let table = catalog
        .relation(RelationName::in_schema("public", name), Access::Name)
        .unwrap();
    let mut table = TableDef::clone(table.table().unwrap());
    table.comment = Some(comment.to_string());
    writer.put_table(table).unwrap();
    txn.commit(false).await.unwrap();
}

#[tokio::test]
async fn records_of_parts_that_did_not_change_are_not_read_again() {
    let store = memory_store();
    // Each takes a block of numbers, and so stands in a part of its own.
    let (kept, _) = (create(&store, "t").await, create(&store, "u").await);
    let cached = load(&store).await;
    let txn = begin(&store).await;
    let damage = Write::Put {
        key: record_key(kept.id),
        value: vec![7; 30],
    };
    txn.write(damage, None).unwrap();
    txn.commit(false).await.unwrap();
    let txn = begin(&store).await;
    let writer = CatalogWriter::begin(&txn, &cached).unwrap();
    let changed = cached
        .relation(RelationName::in_schema("public", "u"), Access::Name)
        .unwrap();
    writer
        .put_table(TableDef::clone(changed.table().unwrap()))
        .unwrap();
    txn.commit(false).await.unwrap();
    let newer = Catalog::load(&begin(&store).await, Some(Arc::clone(&cached)))
        .await
        .unwrap();
    let version = |catalog: &Catalog, name| catalog.relations.get("public", name).unwrap().version();
    assert_eq!(version(&newer, "t"), version(&cached, "t"));
    assert_ne!(version(&newer, "u"), version(&cached, "u"));
    let error = Catalog::load(&begin(&store).await, None).await.unwrap_err();
    assert_eq!(error.sqlstate(), "XX001", "the damage is there to be read");
}

#[tokio::test]
async fn an_older_snapshot_sees_the_older_definitions_whatever_is_cached() {
    let store = memory_store();
    create(&store, "t").await;
    comment(&store, "t", "old").await;
    let old = begin(&store).await;
    comment(&store, "t", "new").await;
    create(&store, "later").await;
    let newer = load(&store).await;
    let seen = Catalog::load(&old, Some(newer)).await.unwrap();
    let comment_of = |catalog: &Catalog| {
        let table = catalog.relations.get("public", "t").unwrap();
        table.get_table().unwrap().comment.clone()
    };
    assert_eq!(comment_of(&seen).as_deref(), Some("old"));
    assert!(seen.relations.get("public", "later").is_none());
    let now = Catalog::load(&begin(&store).await, Some(seen)).await.unwrap();
    assert_eq!(comment_of(&now).as_deref(), Some("new"));
    assert!(now.relations.get("public", "later").is_some());
}

/// Everything that a catalog says.
fn told(catalog: &Catalog) -> String {
    format!(
        "{:?} {:?} {:?}",
        catalog.schemas, catalog.relations, catalog.altered
    )
}

/// One change of any kind, of objects with names of a few letters.
fn change_any(rng: &mut impl Rng, writer: &CatalogWriter<'_>, catalog: &Catalog, id: TableId) {
    let name = ["a", "b", "c", "d", "e"][rng.random_range(0..5)];
    let known = catalog.relations.get("public", name);
    match (rng.random_range(0..7), known) {
        (0, _) => match catalog.schemas.get(name) {
            Some(schema) => writer.drop_schema(schema).unwrap(),
            None => writer
                .put_schema(&SchemaDef {
                    name: name.to_string(),
                    oid: FIRST_OID + id,
                    comment: None,
                    dropped: false,
                })
                .unwrap(),
        },
        (1, _) => {
            let value = rng.random_range(0..3).to_string();
            let values = [("x".to_string(), value)].into_iter();
            let altered = SettingOverrides {
                owner: SettingsOwner::Role(name.to_string()),
                values: values.filter(|(_, value)| value != "0").collect(),
            };
            writer.put_settings(&altered).unwrap();
        }
        (2, None) => writer.put_view(&view_of(catalog, name, id)).unwrap(),
        (4, None) => {
            let (schema, name) = ("public".to_string(), name.to_string());
            let sequence = SequenceDef::rising(id, schema, name, SequenceType::Integer);
            writer.put_sequence(&sequence).unwrap();
        }
        (_, None) => put(name, writer, id),
        (3, Some(Relation::Sequence(sequence))) => writer.drop_sequence(sequence).unwrap(),
        (_, Some(Relation::Sequence(sequence))) => {
            let mut sequence = SequenceDef::clone(sequence);
            sequence.generation = sequence.generation.wrapping_add(1);
            writer.put_sequence(&sequence).unwrap();
        }
        (2, Some(Relation::Table(table))) => drop(writer.replace_table(table, emptied(table, id)).unwrap()),
        (3, Some(Relation::Table(table))) => writer.drop_table(table).unwrap(),
        (_, Some(Relation::Table(table))) => {
            let mut table = TableDef::clone(table);
            table.comment = Some(id.to_string());
            writer.put_table(table).map(drop).unwrap();
        }
        (3, Some(Relation::View(view))) => writer.drop_view(view).unwrap(),
        (_, Some(Relation::View(view))) => {
            let mut view = ViewDef::clone(view);
            view.comment = Some(id.to_string());
            writer.put_view(&view).unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_loaded_over_any_other_catalog_is_what_is_loaded_anew() {
    let seed = std::env::var("KEYSPAN_RANDOM_SEED").ok();
    let seed = seed.and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut rng = StdRng::seed_from_u64(seed);
    let store = memory_store();
    let ids = ObjectIds::new(Arc::clone(&store));
    let (mut known, mut snapshots) = (vec![Arc::new(Catalog::empty())], Vec::new());
    create(&store, "t").await;
    for _ in 0..300 {
        let txn = begin(&store).await;
        let before = known[rng.random_range(0..known.len())].clone();
        let before = Catalog::load(&txn, Some(before)).await.unwrap();
        let writer = CatalogWriter::begin(&txn, &before).unwrap();
        change_any(&mut rng, &writer, &before, ids.take().await.unwrap());
        let own = Catalog::load(&txn, Some(before)).await.unwrap();
        let anew = Catalog::load(&txn, None).await.unwrap();
        assert_eq!(told(&own), told(&anew), "uncommitted, seed {seed}");
        if rng.random_range(0..3) > 0 {
            txn.commit(false).await.unwrap();
        }
        snapshots.push(begin(&store).await);
        let seen = &snapshots[rng.random_range(0..snapshots.len())];
        let over = known[rng.random_range(0..known.len())].clone();
        let loaded = Catalog::load(seen, Some(over)).await.unwrap();
        let anew = Catalog::load(seen, None).await.unwrap();
        assert_eq!(told(&loaded), told(&anew), "seed {seed}");
        known.push(loaded);
    }
}

#[tokio::test]
async fn a_catalog_seen_in_a_rolled_back_transaction_is_not_taken_for_a_later_one() {
    let store = memory_store();
    let rolled_back = begin(&store).await;
    let before = Catalog::load(&rolled_back, None).await.unwrap();
    let writer = CatalogWriter::begin(&rolled_back, &before).unwrap();
    let id = next_id(&store).await;
    writer
        .put_table(table_def(
            id,
            "public",
            "ghost",
            vec![ColumnDef::new(1, "a", SqlType::Int4)],
        ))
        .unwrap();
    let seen = Catalog::load(&rolled_back, Some(before)).await.unwrap();
    assert!(
        seen.get_relation(RelationName::in_schema("public", "ghost"), Access::Name)
            .unwrap()
            .is_some()
    );
    drop(rolled_back);

    create(&store, "real").await;
    let now = Catalog::load(&begin(&store).await, Some(seen)).await.unwrap();
    assert!(
        now.get_relation(RelationName::in_schema("public", "ghost"), Access::Name)
            .unwrap()
            .is_none()
    );
    assert!(
        now.get_relation(RelationName::in_schema("public", "real"), Access::Name)
            .unwrap()
            .is_some()
    );
}

fn emptied(table: &TableDef, id: TableId) -> TableDef {
    TableDef { id, ..table.clone() }
}

/// What a transaction changes.
type Change = fn(&CatalogWriter<'_>, &Catalog, TableId);

fn put(name: &str, writer: &CatalogWriter<'_>, id: TableId) {
    let table = table_def(id, "public", name, vec![ColumnDef::new(1, "a", SqlType::Int4)]);
    writer.put_table(table).unwrap();
}

fn table_of(catalog: &Catalog) -> TableDef {
    let table = catalog
        .relation(RelationName::in_schema("public", "t"), Access::Name)
        .unwrap()
        .table()
        .ok();
    TableDef::clone(table.unwrap())
}

fn view_of(catalog: &Catalog, name: &str, id: TableId) -> ViewDef {
    ViewDef {
        id,
        version: 0,
        schema: "public".to_string(),
        name: name.to_string(),
        columns: vec![("a".to_string(), "integer".to_string())],
        query: "SELECT a FROM t".to_string(),
        printed: None,
        search_path: vec!["public".to_string()],
        comment: None,
        column_comments: BTreeMap::new(),
        depends_on: vec![table_of(catalog).oid],
        options: Default::default(),
        shows: None,
        triggers: Vec::new(),
    }
}

#[tokio::test]
async fn changes_conflict_that_meet_in_an_object_and_no_others() {
    let alter: Change = |writer, catalog, _| {
        let mut table = table_of(catalog);
        table.comment = Some("changed".to_string());
        writer.put_table(table).unwrap();
    };
    // What a view may rest on.
    let alter_column: Change = |writer, catalog, _| {
        let mut table = table_of(catalog);
        writer.guard_dependents(table.oid);
        table.columns[0].ty = SqlType::Int8;
        writer.put_table(table).unwrap();
    };
    let drop_table: Change = |writer, catalog, _| writer.drop_table(&table_of(catalog)).unwrap();
    let drop_schema: Change = |writer, catalog, _| writer.drop_schema(&catalog.schemas["s"]).unwrap();
    let create_a: Change = |writer, _, id| put("a", writer, id);
    let create_in_s: Change = |writer, _, id| {
        let table = table_def(id, "s", "a", vec![ColumnDef::new(1, "a", SqlType::Int4)]);
        writer.put_table(table).unwrap();
    };
    let view: Change = |writer, catalog, id| writer.put_view(&view_of(catalog, "v", id)).unwrap();
    let index_named_a: Change = |writer, catalog, id| {
        let mut table = table_of(catalog);
        let mut index = table.primary_key.clone();
        (index.id, index.oid, index.name) = (1, FIRST_OID + id, "a".to_string());
        table.indexes.push(index);
        table.next_index_id = 2;
        writer.put_table(table).unwrap();
    };
    let cases: [(&str, Change, Change, bool); 12] = [
        (
            "tables of two names",
            create_a,
            |writer, _, id| put("b", writer, id),
            false,
        ),
        ("tables of one name", create_a, create_a, true),
        ("a table and an index of one name", create_a, index_named_a, true),
        ("a table and another's change", create_a, alter, false),
        ("two changes of a table", alter, alter, true),
        ("a change and a drop", alter, drop_table, true),
        ("a view and the change of its table", alter_column, view, true),
        ("a view and the drop of its table", view, drop_table, true),
        (
            "views of one table",
            view,
            |writer, catalog, id| {
                writer.put_view(&view_of(catalog, "w", id)).unwrap();
            },
            false,
        ),
        ("a table in a schema and its drop", create_in_s, drop_schema, true),
        (
            "tables in a schema",
            create_in_s,
            |writer, _, id| {
                let table = table_def(id, "s", "b", vec![ColumnDef::new(1, "a", SqlType::Int4)]);
                writer.put_table(table).unwrap();
            },
            false,
        ),
        (
            "a table elsewhere and the drop of a schema",
            create_a,
            drop_schema,
            false,
        ),
    ];
    for (case, one, other, expected) in cases {
        for (first, second) in [(one, other), (other, one)] {
            change_at_once(case, first, second, expected).await;
        }
    }
}

/// Two changes over one snapshot, the second of which fails when they conflict; the catalog is sound either way.
async fn change_at_once(case: &str, first: Change, second: Change, expected: bool) {
    let store = memory_store();
    create(&store, "t").await;
    let txn = begin(&store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let schema = SchemaDef {
        name: "s".to_string(),
        oid: FIRST_OID + next_id(&store).await,
        comment: None,
        dropped: false,
    };
    CatalogWriter::begin(&txn, &catalog)
        .unwrap()
        .put_schema(&schema)
        .unwrap();
    txn.commit(false).await.unwrap();

    let transactions = [begin(&store).await, begin(&store).await];
    for (txn, change) in transactions.iter().zip([first, second]) {
        let catalog = Catalog::load(txn, None).await.unwrap();
        let writer = CatalogWriter::begin(txn, &catalog).unwrap();
        change(&writer, &catalog, next_id(&store).await);
    }
    let [left, right] = transactions;
    left.commit(false).await.unwrap();
    let ended = right.commit(false).await;
    assert_eq!(ended.is_err(), expected, "{case}: {ended:?}");
    if let Err(error) = ended {
        assert_eq!(error.sqlstate(), "40001", "{case}");
    }
    let mut faults = check::Faults::default();
    check::check_catalog(&*store.snapshot().await.unwrap(), &mut faults)
        .await
        .unwrap();
    let reasons: Vec<_> = faults.by_kind().flat_map(|(_, _, kept)| kept.to_vec()).collect();
    let reasons: Vec<_> = reasons
        .iter()
        .map(|fault| &fault.reason)
        .filter(|reason| !reason.contains("counter"))
        .collect();
    assert!(reasons.is_empty(), "{case}: {reasons:?}");
}

#[tokio::test]
async fn numbers_are_given_once_whoever_asks() {
    let store = memory_store();
    let mut given = std::collections::HashSet::new();
    for _ in 0..3 {
        let ids = Arc::new(ObjectIds::new(Arc::clone(&store)));
        let other = Arc::new(ObjectIds::new(Arc::clone(&store)));
        let mut asking = tokio::task::JoinSet::new();
        for at in 0..200 {
            let ids = Arc::clone(if at % 3 == 0 { &other } else { &ids });
            asking.spawn(async move { ids.take().await.unwrap() });
        }
        for id in asking.join_all().await {
            assert!(given.insert(id), "{id} is given twice");
        }
    }
}

#[tokio::test]
async fn a_guarded_write_conflicts_with_a_schema_change() {
    let store = memory_store();
    let table = create(&store, "t").await;
    let txn = begin(&store).await;
    txn.guard(&record_key(table.id));
    txn.write(
        Write::Put {
            key: vec![9; 9],
            value: vec![],
        },
        None,
    )
    .unwrap();

    let other = begin(&store).await;
    let catalog = Catalog::load(&other, None).await.unwrap();
    CatalogWriter::begin(&other, &catalog)
        .unwrap()
        .replace_table(&table, emptied(&table, next_id(&store).await))
        .unwrap();
    other.commit(false).await.unwrap();
    assert_eq!(txn.commit(false).await.unwrap_err().sqlstate(), "40001");
}

#[tokio::test]
async fn dropped_keys_are_reclaimed_and_ids_never_come_back() {
    let store = memory_store();
    let table = create(&store, "t").await;
    let other = create(&store, "u").await;
    let rows = |id: TableId| {
        Keyspace::Entry {
            table: id,
            index: 0,
            fields: &[1],
        }
        .encode()
    };
    let txn = begin(&store).await;
    for key in [rows(table.id), rows(other.id)] {
        txn.write(Write::Put { key, value: vec![1] }, None).unwrap();
    }
    txn.commit(false).await.unwrap();

    let txn = begin(&store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    writer.drop_table(&table).unwrap();
    let emptied = writer
        .replace_table(&other, emptied(&other, next_id(&store).await))
        .unwrap();
    txn.commit(false).await.unwrap();
    assert_eq!(emptied.oid, other.oid);
    assert!(emptied.id > other.id);

    assert_eq!(reclaim_dropped(&store).await, Ok(2));
    assert_eq!(reclaim_dropped(&store).await, Ok(0));
    let txn = begin(&store).await;
    let values = txn.get_many(&[rows(table.id), rows(other.id)]).await.unwrap();
    assert_eq!((values.get(0), values.get(1)), (None, None));
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let names: Vec<_> = catalog
        .tables()
        .map(|table| (table.name.as_str(), table.id))
        .collect();
    assert_eq!(names, [("u", emptied.id)]);
    assert!(create(&store, "v").await.id > emptied.id);
}

#[tokio::test]
async fn dynamic_columns_are_added_before_the_hidden_one() {
    let store = memory_store();
    let txn = begin(&store).await;
    let catalog = Catalog::load(&txn, None).await.unwrap();
    let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
    let hidden = ColumnDef {
        hidden: true,
        ..ColumnDef::new(2, "row id", SqlType::Int8)
    };
    let id = next_id(&store).await;
    let table = table_def(
        id,
        "public",
        "t",
        vec![ColumnDef::new(1, "a", SqlType::Int4), hidden],
    );
    let new = vec![NewDynamicColumn::of_value("b".to_string(), SqlType::Text)];
    let table = writer.add_dynamic_columns(&table, new, COLUMNS_MAX).unwrap();
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| (column.id, column.name.as_str(), column.dynamic))
        .collect();
    assert_eq!(columns, [(1, "a", false), (3, "b", true), (2, "row id", false)]);
    assert_eq!(table.next_column_id, 4);

    let many = (0..COLUMNS_MAX)
        .map(|at| NewDynamicColumn::of_value(format!("c{at}"), SqlType::Text))
        .collect();
    assert_eq!(
        writer
            .add_dynamic_columns(&table, many, COLUMNS_MAX)
            .unwrap_err()
            .sqlstate(),
        "54011"
    );
}

#[tokio::test]
async fn unknown_relations_name_the_nearest() {
    let store = memory_store();
    create(&store, "orders").await;
    let catalog = load(&store).await;
    let path = ["public".to_string()];
    let error = catalog
        .relation(RelationName::searched("order", &path), Access::Name)
        .unwrap_err();
    assert_eq!(error.to_string(), "relation \"order\" does not exist");
    assert_eq!(
        error.hint().as_deref(),
        Some("Perhaps you meant the table \"orders\".")
    );
    let error = catalog
        .relation(RelationName::in_schema("public", "ordrs"), Access::Name)
        .unwrap_err();
    assert_eq!(error.to_string(), "relation \"public.ordrs\" does not exist");
    assert_eq!(
        error.hint().as_deref(),
        Some("Perhaps you meant the table \"public.orders\".")
    );
    assert_eq!(
        catalog
            .relation(RelationName::searched("orders", &[]), Access::Name)
            .unwrap_err()
            .sqlstate(),
        "42P01"
    );
    assert!(catalog.is_name_taken("public", "orders_pkey"));
    assert!(!catalog.is_name_taken("keyspan", "orders_pkey"));
}

#[test]
fn damaged_records_are_refused() {
    let table = table_def(1, "public", "t", vec![ColumnDef::new(1, "a", SqlType::Int4)]);
    let bytes = record::encode_table(&table, FIRST_DATABASE).unwrap();
    assert!(record::decode_relation(&bytes, &HashMap::new(), &UserTypes::default()).is_ok());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let error = record::decode_relation(&damaged, &HashMap::new(), &UserTypes::default()).unwrap_err();
        assert_eq!(error.sqlstate(), "XX001", "byte {at}");
    }
    for length in 0..bytes.len() {
        assert!(record::decode_relation(&bytes[..length], &HashMap::new(), &UserTypes::default()).is_err());
    }
    assert!(record::decode_schema(&bytes).is_err());
}

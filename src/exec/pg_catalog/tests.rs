//! The catalogs of a small database, read through DataFusion as a client would, against PostgreSQL's answers.

use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result as DataFusionResult;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use datafusion::prelude::{SessionConfig, SessionContext};

use super::{CatalogContext, definitions};
use crate::catalog::{
    Catalog, ColumnDef, ColumnDefault, FieldCache, IndexDef, KeyColumn, Relation, TableDef, TableOptions,
    ViewDef,
};
use crate::exec::functions::{self, FunctionDef, Returns};
use crate::exec::{Settings, StatementContext};
use crate::store::{StoreKind, StoreOptions, open_store};
use crate::table::Sequences;
use crate::txn::Transaction;
use crate::types::{FormatSettings, NumericSize, SqlType, Value};

/// `CREATE TABLE sensor (device text, ts timestamp, temp double precision, hum integer DEFAULT 0, note varchar(40),
/// amount numeric(10,2), PRIMARY KEY (device, ts DESC))` with an index, and the view `hot` over it.
fn catalog() -> Catalog {
    let column = |id, name: &str, ty, not_null| ColumnDef {
        id,
        name: name.to_string(),
        ty,
        not_null,
        unverified: None,
        default: None,
        missing: Value::Null,
        hidden: false,
        dynamic: false,
        comment: None,
    };
    let mut columns = vec![
        column(1, "device", SqlType::Text, true),
        column(2, "ts", SqlType::Timestamp, true),
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
        value: Value::Int(0),
        sql: "0".to_string(),
    });
    let key = |column, descending| KeyColumn {
        column,
        descending,
        nulls_first: descending,
    };
    let index = |id, oid, name: &str, columns, unique| IndexDef {
        id,
        oid,
        name: name.to_string(),
        columns,
        unique,
        constraint: id == 0,
        built: true,
        building: false,
    };
    let table = TableDef {
        id: 1,
        oid: 16385,
        version: 1,
        schema: "public".to_string(),
        name: "sensor".to_string(),
        columns,
        next_column_id: 7,
        next_index_id: 2,
        primary_key: index(0, 16386, "sensor_pkey", vec![key(1, false), key(2, true)], true),
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
        fields: FieldCache::default(),
    };
    let mut catalog = Catalog::empty();
    catalog.insert_relation(Relation::Table(Arc::new(table)));
    catalog.insert_relation(Relation::View(Arc::new(hot_view())));
    catalog
}

fn hot_view() -> ViewDef {
    ViewDef {
        id: 4,
        schema: "public".to_string(),
        name: "hot".to_string(),
        columns: vec![
            ("device".to_string(), "text".to_string()),
            ("t".to_string(), "numeric(10,2)".to_string()),
        ],
        query: "SELECT device, max(amount) AS t FROM sensor GROUP BY device".to_string(),
        search_path: vec!["public".to_string()],
        comment: None,
        column_comments: Default::default(),
        depends_on: Vec::new(),
    }
}

pub(in crate::exec) async fn statement() -> StatementContext {
    let store = open_store(StoreKind::Memory, Path::new(""), &StoreOptions::default()).expect("memory opens");
    let txn = Transaction::begin(Arc::clone(&store), 1 << 20)
        .await
        .expect("a new store has a snapshot");
    StatementContext {
        transient: Arc::default(),
        in_block: false,
        row_plans: Arc::default(),
        jobs: Arc::default(),
        txn: Arc::new(txn),
        catalog: Arc::new(catalog()),
        sequences: Arc::new(Sequences::new(store)),
        settings: Arc::new(Settings::default()),
        parameters: Arc::new([]),
        parameter_types: Arc::default(),
        parameters_are_constants: false,
        transaction_time_us: 1_800_000_000_000_000,
        allow_filtering: false,
        notices: Arc::new(Mutex::new(Vec::new())),
        user: "alice".into(),
        database: "shop".into(),
        process_id: 42,
        prepared: Arc::default(),
    }
}

/// The functions of a name as plain DataFusion calls them: that whose arguments are carried by most of the same Arrow types.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    name: &'static str,
    signature: Signature,
}

impl Named {
    fn new(name: &'static str) -> Named {
        let any = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
        Named {
            name,
            signature: Signature::one_of(any, Volatility::Stable),
        }
    }

    fn row(&self, fields: &[FieldRef]) -> &'static FunctionDef {
        let fits = |row: &&FunctionDef| {
            let types = row.arguments.iter().map(|wanted| wanted.sql_type());
            let pairs = types.zip(fields);
            pairs
                .filter(|(ty, field)| ty.as_ref().is_none_or(|ty| ty.arrow_type() == *field.data_type()))
                .count()
        };
        functions::functions_named(self.name)
            .filter(|row| row.arguments.len() == fields.len())
            .max_by_key(fits)
            .expect("a function of so many arguments")
    }

    fn return_type_of(&self, fields: &[FieldRef]) -> SqlType {
        match self.row(fields).returns {
            Returns::Type(ty) => ty.sql_type().expect("no polymorphic one"),
            Returns::ArrayOf(ty) => SqlType::Array(Box::new(ty.sql_type().expect("no polymorphic one"))),
            Returns::Computed(compute) => {
                let types: Vec<SqlType> = fields.iter().map(|field| SqlType::from_field(field)).collect();
                compute(&types, &vec![None; types.len()])
            }
        }
    }
}

impl ScalarUDFImpl for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Null)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(
            self.return_type_of(args.arg_fields).field(self.name, true),
        ))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let row = self.row(&args.arg_fields);
        let mut types = Vec::new();
        for ((wanted, field), argument) in row.arguments.iter().zip(&args.arg_fields).zip(&mut args.args) {
            let ty = wanted.sql_type().unwrap_or_else(|| SqlType::from_field(field));
            let array = cast(&argument.to_array(args.number_rows)?, &ty.arrow_type())?;
            *argument = ColumnarValue::Array(array);
            types.push((Expr::default(), ty));
        }
        let definition = (row.name, row.body, row.strict, row.volatility);
        let returns = self.return_type_of(&args.arg_fields);
        match functions::call(definition, types, returns, &Arc::new(FormatSettings::default())) {
            Expr::ScalarFunction(call) => call.func.invoke_with_args(args),
            other => panic!("no call: {other}"),
        }
    }
}

/// Runs SQL over the catalogs by plain DataFusion; cells joined by `|`, rows by newlines, NULL as nothing.
async fn check(sql: &str, expected: &str) {
    let statement = statement().await;
    let catalog = CatalogContext::new(&statement);
    let mut config = SessionConfig::new().with_target_partitions(1);
    super::install(&statement, config.options_mut());
    let session = SessionContext::new_with_config(config);
    for definition in definitions::definitions().iter().filter(|d| sql.contains(d.name)) {
        let (schema, batches) = catalog
            .table(definition.schema, definition.name)
            .expect("it is defined");
        let table = MemTable::try_new(schema, vec![batches]).expect("batches have the schema");
        session
            .register_table(definition.name, Arc::new(table))
            .expect("the name is free");
    }
    for name in functions::function_names() {
        session.register_udf(ScalarUDF::new_from_impl(Named::new(name)));
    }
    let batches = session.sql(sql).await.expect(sql).collect().await.expect(sql);
    let options = FormatOptions::default();
    let mut rows = Vec::new();
    for batch in &batches {
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).expect("it prints"))
            .collect();
        for row in 0..batch.num_rows() {
            rows.push(
                columns
                    .iter()
                    .map(|column| column.value(row).to_string())
                    .collect::<Vec<_>>()
                    .join("|"),
            );
        }
    }
    assert_eq!(rows.join("\n"), expected, "{sql}");
}

#[tokio::test]
async fn classes_are_tables_views_and_indexes() {
    check(
        "SELECT relname, relkind, relam, relhasindex, relnatts, pg_get_userbyid(relowner), pg_table_is_visible(oid), \
         array_to_string(reloptions, ',') FROM pg_class WHERE oid >= 16384 ORDER BY oid",
        "sensor|r|2|true|6|postgres|true|dynamic_columns=true\nsensor_pkey|i|403|false|2|postgres|true|\n\
         sensor_note_idx|i|403|false|2|postgres|true|\nhot|v|0|false|2|postgres|true|",
    )
    .await;
}

#[tokio::test]
async fn attributes_tell_types_defaults_and_comments() {
    check(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attlen, \
         a.attstorage, a.attcollation, col_description(a.attrelid, a.attnum) FROM pg_attribute a \
         LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = 16385 ORDER BY a.attnum",
        "device|text|true||-1|x|100|\nts|timestamp without time zone|true||8|p|0|\n\
         temp|double precision|false||8|p|0|celsius\nhum|integer|false|0|4|p|0|\n\
         note|character varying(40)|false||-1|x|100|\namount|numeric(10,2)|false||-1|m|0|",
    )
    .await;
}

#[tokio::test]
async fn indexes_and_constraints_print_as_sql() {
    check(
        "SELECT i.indisprimary, array_to_string(i.indkey, ' '), array_to_string(i.indoption, ' '), \
         array_to_string(i.indclass, ' '), pg_get_indexdef(i.indexrelid), pg_get_indexdef(i.indexrelid, 2, true), \
         pg_get_constraintdef(c.oid) FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid \
         WHERE i.indrelid = 16385 ORDER BY i.indexrelid",
        "true|1 2|0 3|3126 3128|CREATE UNIQUE INDEX sensor_pkey ON public.sensor USING btree (device, ts DESC)|ts|\
         PRIMARY KEY (device, ts DESC)\n\
         false|5 4|0 3|3126 1978|CREATE INDEX sensor_note_idx ON public.sensor USING btree (note, hum DESC)|hum|",
    )
    .await;
}

#[tokio::test]
async fn names_become_oids_and_back() {
    check(
        "SELECT regclass('sensor'), regclass('pg_catalog.pg_class'), regclass('\"hot\"'), to_regclass('none'), \
         regtype('integer'), regtype('varchar[]'), object_name('regclass', 16385), object_name('regclass', 1259), \
         object_name('regtype', 1700), object_name('regproc', 1242), object_name('regclass', 99999), \
         format_type(1043, 44), format_type(1009, -1), format_type(0, NULL), format_type(1042, NULL)",
        "16385|1259|16388||23|1015|sensor|pg_class|numeric|boolin|99999|character varying(40)|text[]|-|character",
    )
    .await;
}

#[tokio::test]
async fn the_system_describes_itself() {
    check(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = regclass('pg_am') \
         ORDER BY a.attnum",
        "oid|oid\namname|name\namhandler|regproc\namtype|\"char\"",
    )
    .await;
    check(
        "SELECT pg_get_indexdef(2662), pg_get_constraintdef(oid), pg_get_function_arguments(1242), \
         pg_get_function_result(1242) FROM pg_constraint WHERE conname = 'pg_class_oid_index'",
        "CREATE UNIQUE INDEX pg_class_oid_index ON pg_catalog.pg_class USING btree (oid)|PRIMARY KEY (oid)|cstring|boolean",
    )
    .await;
}

#[tokio::test]
async fn information_schema_describes_columns() {
    check(
        "SELECT column_name, data_type, is_nullable, character_maximum_length, numeric_precision, numeric_scale, udt_name \
         FROM columns WHERE table_name = 'sensor' ORDER BY ordinal_position",
        "device|text|NO||||text\nts|timestamp without time zone|NO||||timestamp\ntemp|double precision|YES||53||float8\n\
         hum|integer|YES||32|0|int4\nnote|character varying|YES|40|||varchar\namount|numeric|YES||10|2|numeric",
    )
    .await;
}

#[tokio::test]
async fn views_give_their_query() {
    check(
        "SELECT pg_get_viewdef(oid, true) FROM pg_class WHERE relname = 'hot'",
        " SELECT device, max(amount) AS t FROM sensor GROUP BY device;",
    )
    .await;
}

#[tokio::test]
async fn every_relation_has_its_rows() {
    let statement = statement().await;
    let catalog = CatalogContext::new(&statement);
    for definition in definitions::definitions() {
        let (schema, batches) = catalog
            .table(definition.schema, definition.name)
            .expect("it is defined");
        for batch in batches {
            assert_eq!(batch.schema(), schema, "{}", definition.name);
        }
    }
    assert!(catalog.table("pg_catalog", "orders").is_none());
}

//! Every function of the registry is called with the types that its row says.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;

use super::*;
use crate::functions::value_array::array_of;
use crate::system::pg_catalog::CatalogContext;
use crate::types::{
    CatalogType, EnumLabel, EnumType, EnumValue, FormatSettings, Interval, MultirangeValue, Numeric,
    PackedKind, PackedValue, RangeKind, RangeValue, RecordType, SqlType, Value, element_type,
};

/// A type that a registration stands for, and a value of it.
#[expect(clippy::too_many_lines, reason = "an arm a type")]
fn sample(argument: T) -> (SqlType, Value) {
    let text = |text: &str| Value::Text(text.to_string());
    match argument {
        T::Bool => (SqlType::Bool, Value::Bool(true)),
        T::Int2 => (SqlType::Int2, Value::Int(1)),
        T::Int4 => (SqlType::Int4, Value::Int(1)),
        T::Int8 => (SqlType::Int8, Value::Int(1)),
        T::Float4 => (SqlType::Float4, Value::Float4(1.0)),
        T::Float8 => (SqlType::Float8, Value::Float8(1.0)),
        T::Numeric => (SqlType::numeric_of_scale(2), Value::Numeric(Numeric::from_i64(1))),
        T::AnyRecord => {
            let columns = [("a".to_string(), SqlType::Int4), ("b".to_string(), SqlType::Text)];
            let ty = SqlType::Record(Arc::new(RecordType::anonymous(columns)));
            (ty, Value::Record(vec![Value::Int(1), Value::Null]))
        }
        T::Range(kind) => (SqlType::Range(kind), Value::Range(RangeValue::empty(kind))),
        T::Multirange(kind) => (
            SqlType::Multirange(kind),
            Value::Multirange(MultirangeValue::new(kind, [])),
        ),
        T::AnyRange => (
            SqlType::Range(RangeKind::Int4),
            Value::Range(RangeValue::empty(RangeKind::Int4)),
        ),
        T::AnyMultirange => (
            SqlType::Multirange(RangeKind::Int4),
            Value::Multirange(MultirangeValue::new(RangeKind::Int4, [])),
        ),
        T::AnyEnum => {
            let labels = ["1", "2"].iter().zip(1_i64..).map(|(label, position)| EnumLabel {
                oid: 0,
                position,
                label: (*label).to_string(),
            });
            let ty = Arc::new(EnumType {
                oid: 1,
                array_oid: 2,
                version: 0,
                name: "e".to_string(),
                labels: labels.collect(),
            });
            let value = Value::Enum(EnumValue {
                ty: Arc::clone(&ty),
                position: 1,
            });
            (SqlType::Enum(ty), value)
        }
        T::Text | T::Any | T::AnyElement => (SqlType::Text, text("1")),
        T::Bit => (SqlType::Bit(None), text("1")),
        T::VarBit => (SqlType::VarBit(None), text("1")),
        T::Citext => (SqlType::Citext, text("1")),
        T::Money => (SqlType::Money, Value::Money(1)),
        T::Bytea => (SqlType::Bytea, Value::Bytes(vec![1])),
        T::Date => (SqlType::Date, Value::Date(1)),
        T::Time => (SqlType::Time(None), Value::Time(1)),
        T::Timestamp => (SqlType::Timestamp(None), Value::Timestamp(1)),
        T::TimestampTz => (SqlType::TimestampTz(None), Value::TimestampTz(1)),
        T::Interval => (
            SqlType::Interval(None),
            Value::Interval(Interval {
                months: 1,
                days: 1,
                microseconds: 1,
            }),
        ),
        T::Uuid => (SqlType::Uuid, Value::Uuid([1; 16])),
        T::TsVector => (SqlType::TsVector, text("'a':1")),
        T::TsQuery => (SqlType::TsQuery, text("'a'")),
        T::Packed(kind) => {
            let text = match kind {
                PackedKind::Inet | PackedKind::Cidr => "1.2.3.4",
                PackedKind::MacAddr | PackedKind::MacAddr8 => "08:00:2b:01:02:03",
                PackedKind::TimeTz(_) => "04:05:06+01",
            };
            let address = PackedValue::parse(text, kind, &FormatSettings::default()).unwrap();
            (SqlType::Packed(kind), Value::Packed(address))
        }
        T::Json => (SqlType::Json, text("{}")),
        T::Jsonb => (SqlType::Jsonb, text("{}")),
        T::Name => (SqlType::Name, text("a")),
        T::Oid => (SqlType::Oid, Value::Int(1)),
        T::Char => (SqlType::InternalChar, text("r")),
        T::Regclass => (SqlType::Regclass, Value::Int(1)),
        T::Catalog(ty) if SqlType::Catalog(ty).arrow_type() == DataType::Int64 => {
            (SqlType::Catalog(ty), Value::Int(1))
        }
        T::Catalog(ty @ CatalogType::OidVector) => {
            (SqlType::Catalog(ty), Value::Array(vec![Value::Int(1)].into()))
        }
        T::Catalog(ty @ (CatalogType::PgSnapshot | CatalogType::TxidSnapshot)) => {
            (SqlType::Catalog(ty), text("1:1:"))
        }
        T::Catalog(ty @ CatalogType::Regconfig) => (SqlType::Catalog(ty), text("english")),
        T::Catalog(ty @ CatalogType::Regdictionary) => (SqlType::Catalog(ty), text("simple")),
        T::Catalog(ty) => (SqlType::Catalog(ty), text("1")),
        T::IntArray => (
            SqlType::array(SqlType::Int4),
            Value::Array(vec![Value::Int(1)].into()),
        ),
        T::RealArray => (
            SqlType::array(SqlType::Float4),
            Value::Array(vec![Value::Float4(0.5); 4].into()),
        ),
        T::CharArray => (
            SqlType::array(SqlType::InternalChar),
            Value::Array(vec![text("a")].into()),
        ),
        T::TextArray | T::AnyArray => (
            SqlType::array(SqlType::Text),
            Value::Array(vec![text("a"), Value::Null].into()),
        ),
    }
}

/// The type that a registration says for arguments of these types.
fn result_of(row: &FunctionDef, arguments: &[SqlType]) -> SqlType {
    let of = |ty: T| sample(ty).0;
    match row.returns {
        Returns::Type(ty) => of(ty),
        Returns::ArrayOf(ty) if row.gives_rows() => SqlType::list(of(ty)),
        Returns::ArrayOf(ty) => SqlType::array(of(ty)),
        Returns::Computed(compute) => {
            let computed = compute(arguments, &vec![None; arguments.len()]);
            match row.gives_rows() {
                true => SqlType::list(element_type(&computed).clone()),
                false => computed,
            }
        }
    }
}

/// One row of NULLs, one of a value each and one where only the first is NULL.
fn columns(row: &FunctionDef) -> Vec<(ArrayRef, SqlType)> {
    let mut columns = Vec::new();
    for (place, argument) in row.arguments.iter().enumerate() {
        let (ty, value) = sample(*argument);
        let mixed = match place {
            0 => Value::Null,
            _ => value.clone(),
        };
        let array = array_of(&[Value::Null, value, mixed], &ty).expect("a sample of its type");
        columns.push((array, ty));
    }
    columns
}

#[tokio::test]
async fn every_function_takes_and_gives_what_its_registration_says() {
    let settings = Arc::new(FormatSettings::default());
    let catalog = CatalogContext::new(std::sync::Arc::new(
        crate::system::pg_catalog::tests::statement().await,
    ));
    for row in TABLES.iter().flat_map(|table| table.iter()) {
        let (arrays, arguments): (Vec<_>, Vec<_>) = columns(row).into_iter().unzip();
        let returns = result_of(row, &arguments);
        let batch = Batch {
            arrays: &arrays,
            arguments: &arguments,
            returns: &returns,
            rows: 3,
            strict: row.strict,
            settings: &settings,
        };
        let called = format!("{}({arguments:?})", row.name);
        let result = match row.body {
            Body::Batch(body) | Body::Rows(body) | Body::Spread(body) => body(&batch),
            Body::Catalog(body) | Body::CatalogRows(body) => body(&batch, &catalog),
            // What they wait for is in the tests over the wire.
            Body::Waiting(_) | Body::Routine(..) => continue,
        };
        match result {
            Ok(result) => {
                assert_eq!(result.len(), 3, "{called}");
                assert_eq!(result.data_type(), &returns.arrow_type(), "{called}");
                let gives_null = row.strict && !arrays.is_empty();
                assert!(!gives_null || result.is_null(0), "{called} of NULLs is no NULL");
                assert!(!gives_null || result.is_null(2), "{called} of a NULL is no NULL");
            }
            // A value may not be one that the function takes; its type must be.
            Err(error) => assert_ne!(error.sqlstate(), "XX000", "{called}: {error}"),
        }
    }
}

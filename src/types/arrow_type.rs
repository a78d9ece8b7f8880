//! The Arrow type that carries each `SqlType`. Types that share one (text, varchar(n), json …) are told apart by field
//! metadata. Everybody asks it; it knows nothing of values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::array_column::{array_carrier, item_field};
use super::{CatalogType, NumericSize, RecordType, SqlType};

/// The field metadata key that holds the SQL type's name where the Arrow type alone does not tell it.
pub const TYPE_METADATA_KEY: &str = "keyspan.type";

impl SqlType {
    /// The Arrow type that carries it.
    pub fn arrow_type(&self) -> DataType {
        match self {
            SqlType::Bool => DataType::Boolean,
            SqlType::Int2 => DataType::Int16,
            SqlType::Int4 => DataType::Int32,
            SqlType::Int8 | SqlType::Money | SqlType::Oid | SqlType::Regclass | SqlType::Enum(_) => {
                DataType::Int64
            }
            SqlType::Float4 => DataType::Float32,
            SqlType::Float8 => DataType::Float64,
            SqlType::Numeric(Some(size)) if size.is_fixed() => {
                DataType::Decimal128(size.precision as u8, size.scale as i8)
            }
            SqlType::Numeric(_) => DataType::Binary,
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Citext
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Name
            | SqlType::InternalChar
            | SqlType::Bit(_)
            | SqlType::VarBit(_)
            | SqlType::TsVector
            | SqlType::TsQuery
            | SqlType::Unknown => DataType::Utf8,
            SqlType::Bytea | SqlType::Range(_) | SqlType::Multirange(_) | SqlType::Packed(_) => {
                DataType::Binary
            }
            SqlType::Date => DataType::Date32,
            SqlType::Time(_) => DataType::Time64(TimeUnit::Microsecond),
            SqlType::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            SqlType::TimestampTz(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            SqlType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            SqlType::Uuid => DataType::FixedSizeBinary(16),
            SqlType::Record(ty) => DataType::Struct(columns_of(ty)),
            SqlType::Array(item) if self.is_list() => list_of(item.arrow_type()),
            SqlType::Array(element) => array_carrier(element.arrow_type()),
            SqlType::Int2Vector => list_of(DataType::Int16),
            SqlType::Catalog(
                CatalogType::Regproc
                | CatalogType::Regprocedure
                | CatalogType::Regoper
                | CatalogType::Regoperator
                | CatalogType::Regtype
                | CatalogType::Regnamespace
                | CatalogType::Regrole
                | CatalogType::Regcollation
                | CatalogType::Xid
                | CatalogType::Cid
                | CatalogType::Tid
                | CatalogType::PgLsn
                | CatalogType::Xid8,
            ) => DataType::Int64,
            SqlType::Catalog(CatalogType::OidVector) => list_of(DataType::Int64),
            SqlType::Catalog(_) => DataType::Utf8,
            SqlType::Void => DataType::Null,
        }
    }

    /// An Arrow field that carries it, with the metadata that tells it from others of the same Arrow type.
    pub fn field(&self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.arrow_type(), nullable);
        if SqlType::from_arrow(field.data_type()) == *self {
            return field;
        }
        field.with_metadata(HashMap::from([(TYPE_METADATA_KEY.to_string(), self.metadata())]))
    }

    /// The SQL type of an Arrow field: by metadata when present and true to the Arrow type (an expression may have
    /// passed the metadata of its argument on), else the natural one (Utf8 is text, Int64 bigint …).
    pub fn from_field(field: &Field) -> SqlType {
        let declared = field
            .metadata()
            .get(TYPE_METADATA_KEY)
            .and_then(|name| SqlType::of_metadata(name));
        match declared {
            Some(ty) if same_carrier(&ty.arrow_type(), field.data_type()) => ty,
            _ => SqlType::from_arrow(field.data_type()),
        }
    }

    /// The natural SQL type of an Arrow type: the one whose values it can hold. What PostgreSQL has no type for is text.
    pub fn from_arrow(data_type: &DataType) -> SqlType {
        match data_type {
            DataType::Null => SqlType::Void,
            DataType::Boolean => SqlType::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => SqlType::Int2,
            DataType::UInt16 | DataType::Int32 => SqlType::Int4,
            DataType::UInt32 | DataType::UInt64 | DataType::Int64 => SqlType::Int8,
            DataType::Float16 | DataType::Float32 => SqlType::Float4,
            DataType::Float64 => SqlType::Float8,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => SqlType::Numeric(Some(NumericSize {
                precision: u16::from(*precision),
                scale: i16::from(*scale),
            })),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => SqlType::Bytea,
            DataType::FixedSizeBinary(16) => SqlType::Uuid,
            DataType::FixedSizeBinary(_) => SqlType::Bytea,
            DataType::Date32 => SqlType::Date,
            DataType::Date64 | DataType::Timestamp(_, None) => SqlType::Timestamp(None),
            DataType::Timestamp(_, Some(_)) => SqlType::TimestampTz(None),
            DataType::Time32(_) | DataType::Time64(_) => SqlType::Time(None),
            DataType::Interval(_) | DataType::Duration(_) => SqlType::Interval(None),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item) => SqlType::list(SqlType::from_field(item)),
            carrier @ DataType::Struct(columns) => {
                if let Some(item) = item_field(carrier) {
                    return SqlType::array(SqlType::from_field(item));
                }
                let columns = columns.iter().map(|column| {
                    let ty = SqlType::from_field(column);
                    (column.name().clone(), ty)
                });
                SqlType::Record(Arc::new(RecordType::anonymous(columns)))
            }
            DataType::Dictionary(_, value) => SqlType::from_arrow(value),
            DataType::RunEndEncoded(_, value) => SqlType::from_field(value),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Union(_, _)
            | DataType::Map(_, _) => SqlType::Text,
        }
    }
}

/// The columns of a row, by their places: rows whose columns are alike are carried by one Arrow type, whatever they are called.
fn columns_of(ty: &RecordType) -> Fields {
    let columns = (1..).zip(&ty.fields);
    columns
        .map(|(number, field)| Field::new(format!("f{number}"), field.ty.arrow_type(), true))
        .collect()
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new(
        Field::LIST_FIELD_DEFAULT_NAME,
        element,
        true,
    )))
}

/// Whether two Arrow types carry the same values, however laid out.
fn same_carrier(declared: &DataType, found: &DataType) -> bool {
    match (declared, found) {
        (DataType::Utf8, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => true,
        (DataType::Binary, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => true,
        (DataType::List(declared), DataType::List(found) | DataType::LargeList(found)) => {
            same_carrier(declared.data_type(), found.data_type())
        }
        (declared, DataType::Dictionary(_, found)) => same_carrier(declared, found),
        (declared, found) => declared == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::type_names::tests::every_type;

    #[test]
    fn fields_tell_every_type_apart() {
        for ty in every_type() {
            let list = SqlType::list(ty.clone());
            assert_eq!(SqlType::from_field(&ty.field("c", true)), ty);
            assert_eq!(SqlType::from_field(&list.field("c", true)), list);
        }
    }

    #[test]
    fn metadata_of_another_arrow_type_is_not_believed() {
        let cast = SqlType::Varchar(Some(3))
            .field("c", true)
            .with_data_type(DataType::Int32);
        assert_eq!(SqlType::from_field(&cast), SqlType::Int4);
        let view = SqlType::Varchar(Some(3))
            .field("c", true)
            .with_data_type(DataType::Utf8View);
        assert_eq!(SqlType::from_field(&view), SqlType::Varchar(Some(3)));
    }
}

//! A row of the registry: what a function is called, takes and gives, and what computes it.

use arrow::array::ArrayRef;
use futures::future::BoxFuture;

use super::batch::Batch;
use super::routine::RoutineForm;
use crate::Result;
use crate::system::pg_catalog::CatalogContext;
use crate::types::{CatalogType, PackedKind, RangeKind, SqlType, Value};

/// How a function's result depends on more than its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// On nothing more.
    Immutable,
    /// On what stays the same in a statement.
    Stable,
    /// Each call may give another one.
    Volatile,
}

/// The type of an argument or a result in a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum T {
    /// boolean.
    Bool,
    /// smallint.
    Int2,
    /// integer.
    Int4,
    /// bigint.
    Int8,
    /// real.
    Float4,
    /// double precision.
    Float8,
    /// numeric of any size.
    Numeric,
    /// money.
    Money,
    /// text.
    Text,
    /// citext.
    Citext,
    /// bytea.
    Bytea,
    /// bit of any length.
    Bit,
    /// bit varying.
    VarBit,
    /// date.
    Date,
    /// time.
    Time,
    /// timestamp.
    Timestamp,
    /// timestamptz.
    TimestampTz,
    /// interval.
    Interval,
    /// uuid.
    Uuid,
    /// json.
    Json,
    /// jsonb.
    Jsonb,
    /// name.
    Name,
    /// oid.
    Oid,
    /// text[].
    TextArray,
    /// integer[].
    IntArray,
    /// real[].
    RealArray,
    /// "char"[].
    CharArray,
    /// "char".
    Char,
    /// regclass.
    Regclass,
    /// A type that only catalog relations have.
    Catalog(CatalogType),
    /// Any type, each argument its own.
    Any,
    /// Any type, the same for all arguments marked so.
    AnyElement,
    /// An enum type, the same for all arguments marked so.
    AnyEnum,
    /// A range of these bounds.
    Range(RangeKind),
    /// A multirange of such.
    Multirange(RangeKind),
    /// A range whose bounds are of `AnyElement`'s type.
    AnyRange,
    /// A multirange of such.
    AnyMultirange,
    /// inet, cidr, macaddr or macaddr8.
    Packed(PackedKind),
    /// tsvector.
    TsVector,
    /// tsquery.
    TsQuery,
    /// A row of any type.
    AnyRecord,
    /// An array whose items are of `AnyElement`'s type.
    AnyArray,
}

impl T {
    /// void.
    pub const VOID: T = T::Catalog(CatalogType::Void);

    /// The SQL type; `None` for the polymorphic ones.
    pub fn sql_type(self) -> Option<SqlType> {
        Some(match self {
            T::Bool => SqlType::Bool,
            T::Int2 => SqlType::Int2,
            T::Int4 => SqlType::Int4,
            T::Int8 => SqlType::Int8,
            T::Float4 => SqlType::Float4,
            T::Float8 => SqlType::Float8,
            T::Numeric => SqlType::Numeric(None),
            T::Money => SqlType::Money,
            T::Text => SqlType::Text,
            T::Citext => SqlType::Citext,
            T::Bytea => SqlType::Bytea,
            T::Bit => SqlType::Bit(None),
            T::VarBit => SqlType::VarBit(None),
            T::Date => SqlType::Date,
            T::Time => SqlType::Time(None),
            T::Timestamp => SqlType::Timestamp(None),
            T::TimestampTz => SqlType::TimestampTz(None),
            T::Interval => SqlType::Interval(None),
            T::Uuid => SqlType::Uuid,
            T::Json => SqlType::Json,
            T::Jsonb => SqlType::Jsonb,
            T::Name => SqlType::Name,
            T::Oid => SqlType::Oid,
            T::TextArray => SqlType::array(SqlType::Text),
            T::IntArray => SqlType::array(SqlType::Int4),
            T::RealArray => SqlType::array(SqlType::Float4),
            T::CharArray => SqlType::array(SqlType::InternalChar),
            T::Char => SqlType::InternalChar,
            T::Regclass => SqlType::Regclass,
            T::Catalog(ty) => SqlType::Catalog(ty),
            T::Range(kind) => SqlType::Range(kind),
            T::Multirange(kind) => SqlType::Multirange(kind),
            T::Packed(kind) => SqlType::Packed(kind),
            T::TsVector => SqlType::TsVector,
            T::TsQuery => SqlType::TsQuery,
            T::Any
            | T::AnyElement
            | T::AnyEnum
            | T::AnyRange
            | T::AnyMultirange
            | T::AnyRecord
            | T::AnyArray => return None,
        })
    }
}

/// The type of a function's result.
#[derive(Clone, Copy)]
pub enum Returns {
    /// Always this type (for `AnyElement` and `AnyArray`: as the arguments decided).
    Type(T),
    /// An array of this type.
    ArrayOf(T),
    /// Found from the argument types and the arguments that are constants (numeric scales).
    Computed(fn(&[SqlType], &[Option<Value>]) -> SqlType),
}

/// How a function is computed.
#[derive(Clone, Copy)]
pub enum Body {
    /// Gives a value a row.
    Batch(fn(&Batch) -> Result<ArrayRef>),
    /// As `Batch`; of a call with VARIADIC, whose last argument is an array of those that may come more often.
    Spread(fn(&Batch) -> Result<ArrayRef>),
    /// Gives a value a row, which the statement's catalog and session decide too.
    Catalog(fn(&Batch, &CatalogContext) -> Result<ArrayRef>),
    /// Gives an array a row, whose items become rows.
    Rows(fn(&Batch) -> Result<ArrayRef>),
    /// The same, which the statement's session decides.
    CatalogRows(fn(&Batch, &CatalogContext) -> Result<ArrayRef>),
    /// Gives a value a row, and may wait for it: for another session, for time, for the store. The general plan runs it.
    Waiting(Waits),
    /// Calls the function of a user's with this oid.
    Routine(u32, RoutineForm),
}

/// See [`Body::Waiting`].
pub(super) type Waits = for<'a> fn(&'a Batch<'a>, &'a CatalogContext) -> BoxFuture<'a, Result<ArrayRef>>;

/// A registration.
#[derive(Clone, Copy)]
pub struct FunctionDef {
    /// Its name, lower case.
    pub name: &'static str,
    /// Its arguments; with `variadic` the last may come once or more.
    pub arguments: &'static [T],
    /// See `arguments`.
    pub variadic: bool,
    /// Its result.
    pub returns: Returns,
    /// NULL when any argument is NULL, without a call.
    pub strict: bool,
    /// Immutable, stable or volatile, as PostgreSQL's.
    pub volatility: Volatility,
    /// Whether it computes and answers about as much as it is given: it makes nothing much of little, as `repeat`,
    /// `generate_series` or a pattern may.
    pub is_bounded: bool,
    /// The names of its arguments, and what stands for those that a call with names leaves out; of functions whose arguments have
    /// names.
    pub parameters: &'static [Parameter],
    /// How it is computed.
    pub body: Body,
}

/// The name of an argument, and its default as text; `None`: a call must have it.
pub type Parameter = (&'static str, Option<&'static str>);

impl FunctionDef {
    /// A strict, immutable function of arrays.
    pub const fn new(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&Batch) -> Result<ArrayRef>,
    ) -> FunctionDef {
        Self::strict(name, arguments, Returns::Type(returns), Body::Batch(body))
    }
    /// A strict function that reads the statement's catalog or session. Stable, not immutable: a plan may outlive the
    /// statement that made it.
    pub const fn catalog(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&Batch, &CatalogContext) -> Result<ArrayRef>,
    ) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Stable,
            ..Self::strict(name, arguments, Returns::Type(returns), Body::Catalog(body))
        }
    }
    /// A strict, immutable function that gives a set of rows.
    pub const fn rows(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&Batch) -> Result<ArrayRef>,
    ) -> FunctionDef {
        Self::strict(name, arguments, Returns::ArrayOf(returns), Body::Rows(body))
    }
    /// Whether it gives a list a row, whose items become rows.
    pub fn gives_rows(&self) -> bool {
        matches!(self.body, Body::Rows(_) | Body::CatalogRows(_))
    }
    /// A strict function that gives a set of rows, and reads the statement's session.
    pub const fn catalog_rows(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: fn(&Batch, &CatalogContext) -> Result<ArrayRef>,
    ) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Stable,
            ..Self::strict(
                name,
                arguments,
                Returns::ArrayOf(returns),
                Body::CatalogRows(body),
            )
        }
    }
    /// A strict, volatile function that may wait.
    pub const fn waiting(
        name: &'static str,
        arguments: &'static [T],
        returns: T,
        body: Waits,
    ) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Volatile,
            ..Self::strict(name, arguments, Returns::Type(returns), Body::Waiting(body))
        }
    }
    const fn strict(
        name: &'static str,
        arguments: &'static [T],
        returns: Returns,
        body: Body,
    ) -> FunctionDef {
        FunctionDef {
            name,
            arguments,
            variadic: false,
            returns,
            strict: true,
            volatility: Volatility::Immutable,
            is_bounded: false,
            parameters: &[],
            body,
        }
    }
    /// The last argument may come once or more.
    pub const fn variadic(self) -> FunctionDef {
        FunctionDef {
            variadic: true,
            ..self
        }
    }
    /// It is called with NULLs too.
    pub const fn on_null(self) -> FunctionDef {
        FunctionDef {
            strict: false,
            ..self
        }
    }
    /// The same value for all rows of a statement.
    pub const fn stable(self) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Stable,
            ..self
        }
    }
    /// Another value at every call.
    pub const fn volatile(self) -> FunctionDef {
        FunctionDef {
            volatility: Volatility::Volatile,
            ..self
        }
    }
    /// It computes and answers about as much as it is given.
    pub const fn bounded(self) -> FunctionDef {
        FunctionDef {
            is_bounded: true,
            ..self
        }
    }
    /// Its arguments have names; the form with all of them says the defaults.
    pub const fn parameters(self, parameters: &'static [Parameter]) -> FunctionDef {
        FunctionDef { parameters, ..self }
    }
    /// A result type found from the arguments.
    pub const fn computed(self, returns: fn(&[SqlType], &[Option<Value>]) -> SqlType) -> FunctionDef {
        FunctionDef {
            returns: Returns::Computed(returns),
            ..self
        }
    }
    /// An array result.
    pub const fn array(self, item: T) -> FunctionDef {
        FunctionDef {
            returns: Returns::ArrayOf(item),
            ..self
        }
    }
}

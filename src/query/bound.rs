//! `Bound`: an expression whose names and types are resolved. Every binding function gives one.

use crate::Result;
use crate::functions::value_array::{scalar_of, value_of_scalar};
use crate::tree::{Expr, FieldMetadata};
use crate::types::{SqlType, Value};

/// An expression with its SQL type. The expression's Arrow type is always the one that carries the SQL type.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// The expression.
    pub(super) expr: Expr,
    /// Its type.
    pub(super) ty: SqlType,
    /// The column of a relation that it is, unchanged: the oid of the table or view and the attribute number (0: its whole row;
    /// [`UNWRITTEN`]: a column that the table does not have yet).
    pub(super) origin: Option<(u32, i16)>,
    /// Whether the digits of its type are those that a column or a cast declares. What is computed has as many as may be needed, of
    /// which a client, and who makes a table of it, is told nothing: `price + 1` is numeric.
    pub(super) is_declared: bool,
}

/// The attribute number of a column that nobody has written yet.
const UNWRITTEN: i16 = i16::MIN;

/// Whether a column comes from one that its table has.
pub(super) fn is_stored((_, attribute): &(u32, i16)) -> bool {
    *attribute != UNWRITTEN
}

/// Whether a construct (CASE, COALESCE …) of these operands and of this type declares its digits: all of them declare the same.
pub(super) fn declare_alike(operands: &[Bound], ty: &SqlType) -> bool {
    let declares = |operand: &Bound| operand.is_declared && operand.ty == *ty;
    operands.iter().all(declares)
}

/// Whether a construct that gives one of these values gives what has no type: all are of columns that nobody has written yet, or NULL
/// beside one that is.
pub(super) fn are_of_unwritten(values: &[Bound]) -> bool {
    let is_null = |value: &Bound| value.ty == SqlType::Unknown && value.is_null_literal();
    let is_open = |value: &Bound| value.is_of_unwritten() || is_null(value);
    values.iter().all(is_open) && values.iter().any(Bound::is_of_unwritten)
}

impl Bound {
    /// A computed expression.
    pub(super) fn new(expr: Expr, ty: SqlType) -> Bound {
        Bound {
            expr,
            ty,
            origin: None,
            is_declared: false,
        }
    }
    /// The same value as one that is computed: no column of a relation.
    pub(super) fn computed(self) -> Bound {
        Bound { origin: None, ..self }
    }
    /// The value with the digits that its type declares.
    pub(super) fn declared(self) -> Bound {
        Bound {
            is_declared: true,
            ..self
        }
    }
    /// A constant.
    pub(super) fn constant(value: &Value, ty: SqlType) -> Result<Bound> {
        // A number says nothing of the enum whose label it stands for, columns nothing of what they are called.
        let label = ty.has_label().then(|| ty.field("", true).metadata().clone());
        let label = label.map(FieldMetadata::from);
        Ok(Bound::new(Expr::Literal(scalar_of(value, &ty)?, label), ty))
    }
    /// A string literal whose type the context decides.
    pub(super) fn unknown(text: Option<String>) -> Bound {
        Bound::new(
            Expr::Literal(crate::tree::ScalarValue::Utf8(text), None),
            SqlType::Unknown,
        )
    }
    /// It as a column of this name, with a label where the Arrow type does not tell a numeric, or char of no length: what is above
    /// a projection knows its columns by their fields.
    pub(super) fn named(self, name: &str) -> Expr {
        if !self.ty.needs_label() {
            return self.expr.alias(name);
        }
        let label = self.ty.field(name, true).metadata().clone();
        self.expr
            .alias_with_metadata(name, Some(FieldMetadata::from(label)))
    }
    /// Its value, when it is a constant of a decided type.
    pub(super) fn literal(&self) -> Result<Option<Value>> {
        match &self.expr {
            Expr::Literal(scalar, _) => value_of_scalar(scalar, &self.ty).map(Some),
            _ => Ok(None),
        }
    }
    /// It as a column that the table with this oid may get.
    pub(super) fn of_unwritten_column(self, table: u32) -> Bound {
        Bound {
            origin: Some((table, UNWRITTEN)),
            ..self
        }
    }
    /// Whether it is the NULL of a column that nobody has written yet.
    pub(super) fn is_unwritten(&self) -> bool {
        self.is_null_literal() && self.origin.is_some_and(|origin| !is_stored(&origin))
    }
    /// The same, or what is computed of such columns alone: NULL, of no type.
    pub(super) fn is_of_unwritten(&self) -> bool {
        self.ty == SqlType::Unknown && self.origin.is_some_and(|origin| !is_stored(&origin))
    }
    /// It as what is computed of columns alone that nobody has written yet, where it is so: a NULL of no type, as they are.
    pub(super) fn open_if(self, is_of_unwritten: bool) -> Bound {
        match is_of_unwritten {
            true => Bound {
                ty: SqlType::Unknown,
                origin: Some((0, UNWRITTEN)),
                ..self
            },
            false => self,
        }
    }
    /// Whether it is NULL written out.
    pub(super) fn is_null_literal(&self) -> bool {
        matches!(&self.expr, Expr::Literal(scalar, _) if scalar.is_null())
    }
}

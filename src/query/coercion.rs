//! PostgreSQL's type rules for expressions: which types convert into which without a cast, what type several expressions
//! have in common, and how a bound expression becomes one of another type.

use std::sync::Arc;

use super::binder::{Binder, Bound};
use crate::functions::Volatility;
use crate::functions::cast;
use crate::functions::value_array::scalar_of;
use crate::tree::{self, Cast, Expr, Placeholder, ScalarValue};
use crate::types::{CatalogType, FormatSettings, NumericSize, PackedKind, RecordType, SqlType, Value};
use crate::{Error, Result};

/// The groups of types inside which PostgreSQL prefers one (`pg_type.typcategory`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Boolean,
    Number,
    String,
    DateTime,
    Interval,
    Array,
    Bits,
    Network,
    Other,
    Unknown,
}

pub(super) fn category(ty: &SqlType) -> Category {
    use SqlType as S;
    match ty {
        S::Bool => Category::Boolean,
        S::Int2 | S::Int4 | S::Int8 | S::Float4 | S::Float8 | S::Numeric(_) | S::Money => Category::Number,
        ty if cast::oid_like(ty) => Category::Number,
        S::Text | S::Varchar(_) | S::Char(_) | S::Citext | S::Name => Category::String,
        S::Date | S::Time(_) | S::Timestamp(_) | S::TimestampTz(_) | S::Packed(PackedKind::TimeTz(_)) => {
            Category::DateTime
        }
        S::Interval(_) => Category::Interval,
        S::Bit(_) | S::VarBit(_) => Category::Bits,
        S::Packed(kind) if kind.is_ip() => Category::Network,
        S::Array(_) | S::Int2Vector | S::Catalog(CatalogType::OidVector) => Category::Array,
        S::Unknown | S::Void => Category::Unknown,
        _ => Category::Other,
    }
}

/// Whether the type is its category's preferred one.
pub(super) fn is_preferred(ty: &SqlType) -> bool {
    use SqlType as S;
    matches!(
        ty,
        S::Bool
            | S::Float8
            | S::Oid
            | S::Text
            | S::TimestampTz(_)
            | S::Interval(_)
            | S::VarBit(_)
            | S::Packed(PackedKind::Inet)
    )
}

/// The type without its modifiers, an array's items without theirs, as functions, operators and parameters see it.
pub(crate) fn base(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Varchar(_) => SqlType::Varchar(None),
        SqlType::Numeric(_) => SqlType::Numeric(None),
        SqlType::Char(_) => SqlType::Char(None),
        SqlType::Array(item) => item.map(base),
        other => unrounded(other),
    }
}

/// Whether a string literal reads as a value of the type, were it not for its length and digits.
pub(crate) fn is_readable(text: &str, ty: &SqlType, settings: &FormatSettings) -> bool {
    let text = Value::Unknown(text.to_string());
    cast::cast_value(text, &SqlType::Unknown, &base(ty), settings).is_ok()
}

/// A type of times or bits, or of arrays of them, without digits, fields and length: a constant is not rounded, or refused, to be compared.
pub(super) fn unrounded(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Time(_) => SqlType::Time(None),
        SqlType::Timestamp(_) => SqlType::Timestamp(None),
        SqlType::TimestampTz(_) => SqlType::TimestampTz(None),
        SqlType::Interval(_) => SqlType::Interval(None),
        SqlType::Bit(_) => SqlType::Bit(None),
        SqlType::VarBit(_) => SqlType::VarBit(None),
        SqlType::Packed(kind) => SqlType::Packed(kind.whole()),
        SqlType::Array(item) => item.map(unrounded),
        other => other.clone(),
    }
}

/// Whether both are the same type, whatever their modifiers.
pub(super) fn same_base(a: &SqlType, b: &SqlType) -> bool {
    base(a) == base(b)
}

/// Whether a value converts without a cast being written (`pg_cast.castcontext = 'i'`).
pub(super) fn implicit(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    if same_base(from, to) || matches!(from, S::Unknown | S::Void) {
        return true;
    }
    match (from, to) {
        (S::Int2, S::Int4 | S::Int8 | S::Numeric(_) | S::Float4 | S::Float8 | S::Oid | S::Regclass)
        | (S::Int4, S::Int8 | S::Numeric(_) | S::Float4 | S::Float8 | S::Oid | S::Regclass)
        | (S::Int8, S::Numeric(_) | S::Float4 | S::Float8 | S::Oid | S::Regclass)
        | (S::Numeric(_), S::Float4 | S::Float8)
        | (S::Float4, S::Float8)
        | (S::Text | S::Varchar(_) | S::Char(_), S::Text | S::Varchar(_) | S::Char(_) | S::Name)
        | (S::Name, S::Text)
        | (S::Citext, S::Text | S::Varchar(_))
        | (S::Text | S::Varchar(_), S::Regclass)
        | (S::InternalChar, S::Text)
        | (S::Date, S::Timestamp(_) | S::TimestampTz(_))
        | (S::Timestamp(_), S::TimestampTz(_))
        | (S::Time(_), S::Interval(_) | S::Packed(PackedKind::TimeTz(_)))
        | (S::Bit(_), S::VarBit(_))
        | (S::VarBit(_), S::Bit(_))
        | (S::Packed(PackedKind::Cidr), S::Packed(PackedKind::Inet))
        | (S::Packed(PackedKind::MacAddr), S::Packed(PackedKind::MacAddr8))
        | (S::Packed(PackedKind::MacAddr8), S::Packed(PackedKind::MacAddr))
        | (S::Int2Vector | S::Catalog(CatalogType::OidVector), S::Array(_)) => true,
        (S::Array(a), S::Array(b)) => implicit(a, b),
        // A row of no name is any row whose columns its own become.
        (S::Record(a), S::Record(b)) if a.is_anonymous() || b.is_anonymous() => {
            cast::are_pairs(a, b, implicit)
        }
        (a, b) if cast::oid_like(b) => cast::oid_like(a) || matches!(a, S::Int2 | S::Int4 | S::Int8),
        (S::Catalog(_), S::Array(_)) => from.arrow_type() == to.arrow_type(),
        _ => false,
    }
}

/// Whether PostgreSQL casts one type to the other where a column is given a value; a timestamp also takes milliseconds.
pub(crate) fn is_assignable(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    let is_moment = |ty: &S| matches!(ty, S::Date | S::Timestamp(_) | S::TimestampTz(_));
    let is_instant = |ty: &S| matches!(ty, S::Timestamp(_) | S::TimestampTz(_));
    match (from, to) {
        (S::Array(from), S::Array(to)) => is_assignable(from, to),
        (S::Record(a), S::Record(b)) if a.is_anonymous() => cast::are_pairs(a, b, is_assignable),
        (S::Interval(_), S::Time(_)) | (S::Json | S::Jsonb, S::Json | S::Jsonb) => true,
        (S::Int4 | S::Int8 | S::Numeric(_), S::Money) | (S::Money, S::Numeric(_)) => true,
        (S::Packed(PackedKind::Inet), S::Packed(PackedKind::Cidr)) => true,
        (S::Packed(PackedKind::TimeTz(_)), S::Time(_))
        | (S::TimestampTz(_), S::Packed(PackedKind::TimeTz(_))) => true,
        (from, S::Int4 | S::Int8) if cast::oid_like(from) => true,
        (from, to) if from.is_number() && to.is_number() || is_moment(from) && is_moment(to) => true,
        (from, to) if is_instant(to) && from.is_integer() => true,
        (from, S::Time(_)) if is_instant(from) => true,
        (from, to) => to.is_string() || implicit(from, to),
    }
}

/// What a conversion is for: it decides which casts are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CastContext {
    /// An operand or argument.
    Implicit,
    /// CAST or `::`.
    Explicit,
}

/// The digits a number type needs as a fixed numeric; `None`: it is none.
pub(super) fn numeric_size(ty: &SqlType) -> Option<NumericSize> {
    match ty {
        SqlType::Int2 => Some(NumericSize {
            precision: 5,
            scale: 0,
        }),
        SqlType::Int4 => Some(NumericSize {
            precision: 10,
            scale: 0,
        }),
        SqlType::Int8 | SqlType::Oid => Some(NumericSize {
            precision: 19,
            scale: 0,
        }),
        SqlType::Numeric(_) => ty.fixed_size(),
        _ => None,
    }
}

/// The numeric type that holds both without rounding; bare numeric when 38 digits do not.
pub(super) fn common_numeric(a: &SqlType, b: &SqlType) -> SqlType {
    let (Some(a), Some(b)) = (numeric_size(a), numeric_size(b)) else {
        return SqlType::Numeric(None);
    };
    let scale = a.scale.max(b.scale);
    let whole = |size: NumericSize| size.precision - size.shown_scale();
    let size = NumericSize {
        precision: whole(a).max(whole(b)) + scale.unsigned_abs(),
        scale,
    };
    SqlType::Numeric(Some(size).filter(NumericSize::is_fixed))
}

/// The number type that arithmetic and comparisons of the two use.
pub(super) fn promote(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    use SqlType as S;
    let rank = |ty: &S| match ty {
        S::Int2 => Some(0),
        S::Int4 => Some(1),
        S::Int8 => Some(2),
        S::Numeric(_) => Some(3),
        S::Float4 => Some(4),
        S::Float8 => Some(5),
        _ => None,
    };
    let (low, high) = (rank(a)?.min(rank(b)?), rank(a)?.max(rank(b)?));
    Some(match (low, high) {
        (4, 4) => S::Float4,
        (_, 4 | 5) => S::Float8,
        (_, 3) => common_numeric(a, b),
        (_, 2) => S::Int8,
        (_, 1) => S::Int4,
        _ => S::Int2,
    })
}

/// The one type of several expressions (CASE, UNION, VALUES, IN, COALESCE …); `None` when they have none. Untyped
/// literals take part only when all are untyped: then it is text. A length or scale stays if all have it: what one of them is
/// as long as is nothing that another may be cut to.
pub(crate) fn common_type(types: &[SqlType]) -> Option<SqlType> {
    let mut known = types
        .iter()
        .filter(|ty| !matches!(ty, SqlType::Unknown | SqlType::Void));
    let Some(first) = known.next() else {
        return Some(SqlType::Text);
    };
    let mut common = first.clone();
    let mut count = 1;
    for ty in known {
        common = join_types(&common, ty)?;
        count += 1;
    }
    // An untyped literal is as long, and has as many digits, as it has.
    Some(match count < types.len() {
        true => base(&common),
        false => common,
    })
}

/// The common type of constants: a numeric among them keeps each one's own digits.
pub(super) fn without_scale_of_constants(ty: SqlType, constants: bool) -> SqlType {
    if constants && matches!(ty, SqlType::Numeric(_)) {
        SqlType::Numeric(None)
    } else {
        ty
    }
}

/// Two types of a construct that have none in common: 42846 for those of one category, 42804.
pub(super) fn no_common_type(construct: &str, first: &SqlType, other: &SqlType) -> Error {
    let (first_name, other_name) = (type_name(first), type_name(other));
    if category(first) == category(other) {
        let construct = if construct == "CASE" {
            "CASE/WHEN"
        } else {
            construct
        };
        return Error::DataException {
            state: "42846",
            message: format!("{construct} could not convert type {other_name} to {first_name}"),
        };
    }
    Error::DatatypeMismatch {
        message: format!("{construct} types {first_name} and {other_name} cannot be matched"),
        hint: None,
    }
}

fn join_types(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    use SqlType as S;
    if a == b {
        return Some(a.clone());
    }
    if let (S::Numeric(_), other) | (other, S::Numeric(_)) = (a, b)
        && *other != S::Float4
        && let Some(number) = promote(a, b)
    {
        // Each value shows the digits that it has: one scale for all only where it is theirs.
        let scale = |ty: &S| numeric_size(ty).map(|size| size.scale);
        return Some(match number {
            S::Numeric(_) if scale(a) != scale(b) => S::Numeric(None),
            number => number,
        });
    }
    if same_base(a, b) {
        return Some(base(a));
    }
    if let (S::Array(a), S::Array(b)) = (a, b) {
        // Arrays are of one category, whatever their items are of.
        let item = join_types(a, b).or_else(|| converted(a, b))?;
        return Some(S::array(item));
    }
    if let (S::Record(a), S::Record(b)) = (a, b) {
        return join_rows(a, b);
    }
    if category(a) != category(b) {
        return None;
    }
    converted(a, b)
}

/// Of types that convert both ways the first stays, as of strings.
fn converted(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    if implicit(b, a) {
        return Some(base(a));
    }
    implicit(a, b).then(|| base(b))
}

/// The row of no name in which rows of two types compare that are not the same, whose columns are. `None`: they are something else.
pub(super) fn row_without_name(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let (SqlType::Record(own), SqlType::Record(other)) = (left, right) else {
        return None;
    };
    let have_names = !own.is_anonymous() && !other.is_anonymous();
    let are_alike = own.is_anonymous() && other.is_anonymous();
    if own == other || !have_names && !are_alike {
        return None;
    }
    if are_alike {
        return join_rows(own, other);
    }
    let columns = own
        .fields
        .iter()
        .map(|field| (field.name.clone(), field.ty.clone()));
    let plain = SqlType::Record(Arc::new(RecordType::anonymous(columns.collect::<Vec<_>>())));
    (implicit(left, &plain) && implicit(right, &plain)).then_some(plain)
}

/// The row type that two have in common: the one that has a name, or column by column.
fn join_rows(a: &RecordType, b: &RecordType) -> Option<SqlType> {
    let (named, other) = match a.is_anonymous() {
        false => (a, b),
        true => (b, a),
    };
    if a.fields.len() != b.fields.len() || !other.is_anonymous() {
        return None;
    }
    if !named.is_anonymous() {
        return cast::are_pairs(other, named, implicit).then(|| SqlType::Record(Arc::new(named.clone())));
    }
    let mut columns = Vec::with_capacity(a.fields.len());
    for (a, b) in a.fields.iter().zip(&b.fields) {
        let ty = match (&a.ty, &b.ty) {
            (SqlType::Unknown, SqlType::Unknown) => SqlType::Unknown,
            (a, b) => common_type(&[a.clone(), b.clone()])?,
        };
        columns.push((a.name.clone(), ty));
    }
    Some(SqlType::Record(Arc::new(RecordType::anonymous(columns))))
}

impl Binder<'_> {
    /// The type that expressions of a construct (`CASE`, `UNION` …) have in common. Errors: 42804.
    pub(super) fn common_type_of(&self, construct: &str, bound: &[Bound]) -> Result<SqlType> {
        let types: Vec<SqlType> = bound.iter().map(|bound| bound.ty.clone()).collect();
        // NULL has a type, but fits any length and scale of it.
        let filled = bound.iter().filter(|bound| !bound.is_null_literal());
        let filled: Vec<SqlType> = filled.map(|bound| bound.ty.clone()).collect();
        let constants = bound.iter().all(|bound| matches!(bound.expr, Expr::Literal(..)));
        let sized = common_type(&filled);
        common_type(&types)
            .map(|ty| sized.filter(|sized| same_base(sized, &ty)).unwrap_or(ty))
            .map(|ty| without_scale_of_constants(ty, constants))
            .ok_or_else(|| {
                let known: Vec<&SqlType> = types.iter().filter(|ty| **ty != SqlType::Unknown).collect();
                let other = known
                    .iter()
                    .find(|ty| join_types(known[0], ty).is_none())
                    .copied()
                    .unwrap_or(known[0]);
                no_common_type(construct, known[0], other)
            })
    }

    /// The expression as one of `target`, where an operand or argument of that type is needed.
    pub(super) fn coerce(&mut self, bound: Bound, target: &SqlType) -> Result<Bound> {
        if !self.converts(&bound.ty, target) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "cannot convert type {} to {}",
                    type_name(&bound.ty),
                    type_name(target)
                ),
                hint: None,
            });
        }
        self.convert(bound, target, CastContext::Implicit)
    }

    /// Converts where the cast is known to exist, or an explicit one was written. Errors: 42846, and those of reading a
    /// literal.
    pub(super) fn convert(&mut self, bound: Bound, target: &SqlType, context: CastContext) -> Result<Bound> {
        match self.user_cast(&bound.ty, target, context) {
            Some(cast) => self.by_user_cast(bound, target, &cast, context),
            None => self.convert_built_in(bound, target, context),
        }
    }

    /// The same, where no user's cast is meant.
    pub(super) fn convert_built_in(
        &mut self,
        bound: Bound,
        target: &SqlType,
        context: CastContext,
    ) -> Result<Bound> {
        let is_row = *target == SqlType::Catalog(CatalogType::Record) && bound.ty.record_type().is_some();
        if bound.ty == *target || is_row {
            return Ok(bound);
        }
        if matches!(bound.ty, SqlType::Unknown | SqlType::Void) {
            if let Some(converted) = self.convert_unknown(&bound, target, context)? {
                return Ok(converted);
            }
        } else if context == CastContext::Implicit && same_base(&bound.ty, target) && !sized_numeric(target) {
            // A modifier alone asks for no conversion of an operand.
            return Ok(bound);
        }
        if !cast::cast_exists(&bound.ty, target) {
            return Err(Error::CannotCoerce {
                from: type_name(&bound.ty),
                to: type_name(target),
            });
        }
        let names_object = bound.ty.output_type() != bound.ty || target.output_type() != *target;
        if let Some(value) = bound.literal()?.filter(|_| !names_object) {
            let value = cast::cast_value(value, &bound.ty, target, &self.ctx.format_settings())?;
            return Bound::constant(&value, target.clone());
        }
        let is_text = |ty: &SqlType| ty.item_type().unwrap_or(ty).is_string();
        if target.output_type() != *target && is_text(&bound.ty) {
            return match target {
                SqlType::Regclass => self.resolve_function("relation_named", vec![bound]),
                _ => self.objects_named(bound, target),
            };
        }
        if bound.ty.output_type() != bound.ty && is_text(target) {
            let names = self.object_names(bound)?;
            return self.convert_built_in(names, target, context);
        }
        let (from_arrow, to_arrow) = (bound.ty.arrow_type(), target.arrow_type());
        let keeps_values = cast::is_widening(&bound.ty, target);
        let expr = if keeps_values && !cast::compares_otherwise(&bound.ty, target) {
            if from_arrow == to_arrow {
                bound.expr
            } else {
                Expr::Cast(Cast::new(Box::new(bound.expr), to_arrow))
            }
        } else {
            let definition = (cast::CAST_NAME, cast::CAST, true, Volatility::Immutable);
            tree::call(
                definition,
                vec![(bound.expr, bound.ty)],
                target.clone(),
                &self.settings,
            )
        };
        Ok(Bound::new(expr, target.clone()))
    }

    /// An untyped literal, NULL or parameter takes the type.
    fn convert_unknown(
        &mut self,
        bound: &Bound,
        target: &SqlType,
        context: CastContext,
    ) -> Result<Option<Bound>> {
        match &bound.expr {
            Expr::Literal(scalar, _) if scalar.is_null() => {
                Ok(Some(Bound::constant(&Value::Null, target.clone())?))
            }
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
                if target.output_type() != *target {
                    let text = Bound::constant(&Value::Text(text.clone()), SqlType::Text)?;
                    return self.objects_named(text, target).map(Some);
                }
                let settings = self.ctx.format_settings();
                let value = Value::Unknown(text.clone());
                let value = cast::cast_value(value, &SqlType::Unknown, target, &settings);
                let value = value.inspect_err(|error| {
                    if !is_readable(text, target, &settings) {
                        self.unread = Some((error.clone(), text.clone()));
                    }
                });
                Ok(Some(Bound::constant(&value?, target.clone())?))
            }
            Expr::Placeholder(placeholder) => {
                let ty = match (context, target) {
                    // Read without a length, which the cast cuts it to.
                    (
                        CastContext::Explicit,
                        SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Bit(_) | SqlType::VarBit(_),
                    ) => self.decide_parameter(&placeholder.id, &base(target)),
                    _ => self.decide_parameter(&placeholder.id, target),
                };
                let field = std::sync::Arc::new(ty.field(&placeholder.id, true));
                let expr = Expr::Placeholder(Placeholder {
                    id: placeholder.id.clone(),
                    field: Some(field),
                });
                let decided = Bound::new(expr, ty);
                if decided.ty == *target {
                    return Ok(Some(decided));
                }
                self.convert(decided, target, CastContext::Explicit).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The oids, or the array of them, that names of objects of the target's kind mean. Errors: 42P01 and its kin.
    fn objects_named(&mut self, names: Bound, target: &SqlType) -> Result<Bound> {
        let SqlType::Array(_) = target else {
            return self.resolve_function(target.base_name(), vec![names]);
        };
        let texts = SqlType::array(SqlType::Text);
        let names = self.convert(names, &texts, CastContext::Explicit)?;
        let kind = Bound::constant(&Value::Text(target.base_name().to_string()), SqlType::Text)?;
        let oids = self.resolve_function("object_oids", vec![kind, names])?;
        Ok(Bound::new(oids.expr, target.clone()))
    }

    /// The names of the objects that an oid, or an array of them, of a kind means.
    pub(super) fn object_names(&mut self, oids: Bound) -> Result<Bound> {
        self.object_names_by(oids, ["object_name", "object_names"])
    }

    /// The same by these functions, of an oid and of an array.
    pub(super) fn object_names_by(&mut self, oids: Bound, [of_one, of_array]: [&str; 2]) -> Result<Bound> {
        let kind = Bound::constant(&Value::Text(oids.ty.base_name().to_string()), SqlType::Text)?;
        let function = if matches!(oids.ty, SqlType::Array(_)) {
            of_array
        } else {
            of_one
        };
        self.resolve_function(function, vec![kind, oids])
    }

    /// A condition. `place` is `WHERE`, `AND` … for the message. Errors: 42804.
    pub(super) fn coerce_boolean(&mut self, bound: Bound, place: &str) -> Result<Expr> {
        if !matches!(bound.ty, SqlType::Bool | SqlType::Unknown | SqlType::Void) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "argument of {place} must be type boolean, not type {}",
                    type_name(&bound.ty)
                ),
                hint: None,
            });
        }
        Ok(self.convert(bound, &SqlType::Bool, CastContext::Implicit)?.expr)
    }

    /// The expression with a type of its own: an untyped literal becomes text.
    pub(super) fn with_decided_type(&mut self, bound: Bound) -> Result<Bound> {
        match bound.ty {
            SqlType::Unknown | SqlType::Void => self.convert(bound, &SqlType::Text, CastContext::Implicit),
            _ => Ok(bound),
        }
    }
}

fn sized_numeric(ty: &SqlType) -> bool {
    match ty {
        SqlType::Numeric(_) => true,
        SqlType::Array(item) => sized_numeric(item),
        _ => false,
    }
}

/// A type as messages name it: without modifiers.
pub(super) fn type_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Unknown | SqlType::Void => "unknown".to_string(),
        SqlType::Array(item) => format!("{}[]", type_name(item)),
        other => other.base_name().to_string(),
    }
}

/// A typed NULL.
pub(super) fn null_of(ty: &SqlType) -> Result<Expr> {
    Ok(Expr::Literal(scalar_of(&Value::Null, ty)?, None))
}

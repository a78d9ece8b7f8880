//! `Printed`: an expression as SQL text in two forms, plain and pretty, with what decides where parentheses stand.

use std::sync::Arc;

use super::coercion::{base, promote};
use super::literal_pins::{LiteralPins, Written};
use super::printed_names::type_text;
use crate::types::{FormatSettings, SqlType, Value};

/// An expression as text.
#[derive(Debug, Clone)]
pub(super) struct Printed {
    pub(super) plain: String,
    pub(super) pretty: String,
    pub(super) shape: Shape,
    pub(super) ty: SqlType,
    /// The string literal that it is, which has no type of its own.
    pub(super) untyped: Option<Untyped>,
    /// Whether it is of a domain over its type, from which operators and functions convert it.
    pub(super) is_of_domain: bool,
}

/// A string literal without a type.
#[derive(Debug, Clone)]
pub(super) struct Untyped {
    pub(super) written: Written,
    pub(super) pins: Option<Arc<LiteralPins>>,
}

impl Untyped {
    /// As a constant of a type.
    pub(super) fn typed(&self, ty: &SqlType) -> Printed {
        if let Some(pins) = &self.pins {
            pins.note(&self.written, ty);
        }
        literal(&self.written.text, ty)
    }
}

/// What decides whether an expression needs parentheses in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It reads as one word.
    Word,
    /// `+` or `-`.
    Sum,
    /// `*`, `/` or `%`.
    Product,
    /// Any other operator.
    Operator,
    /// IS NULL and its like.
    Test,
    /// `= ANY (…)`.
    Member,
    Not,
    And,
    Or,
}

/// What stands around an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// An operator, of which it is the left operand or the right.
    Operator(Shape, Side),
    Not,
    And,
    Or,
    /// A test or a cast.
    Tight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Shape {
    /// Of a symbol.
    pub(super) fn of(symbol: &str) -> Shape {
        match symbol {
            "+" | "-" => Shape::Sum,
            "*" | "/" | "%" => Shape::Product,
            _ => Shape::Operator,
        }
    }

    pub(super) fn reads_alone(self, around: Around) -> bool {
        match (self, around) {
            (Shape::Word, _) => true,
            (Shape::Member, _) => false,
            (Shape::Sum, Around::Operator(Shape::Sum, side))
            | (Shape::Product, Around::Operator(Shape::Product, side)) => side == Side::Left,
            (Shape::Product, Around::Operator(Shape::Sum, _)) => true,
            (Shape::Sum | Shape::Product | Shape::Operator | Shape::Test, around) => {
                matches!(around, Around::Not | Around::And | Around::Or)
            }
            (Shape::And | Shape::Not, around) => matches!(around, Around::And | Around::Or),
            (Shape::Or, around) => around == Around::Or,
        }
    }
}

impl Printed {
    pub(super) fn word(text: impl Into<String>, ty: SqlType) -> Printed {
        let text = text.into();
        Printed {
            plain: text.clone(),
            pretty: text,
            shape: Shape::Word,
            ty,
            untyped: None,
            is_of_domain: false,
        }
    }

    /// Of parts that `join` puts together, in parentheses in the plain form.
    pub(super) fn of(
        shape: Shape,
        ty: SqlType,
        join: impl Fn(&dyn Fn(&Printed, Around) -> String) -> String,
    ) -> Printed {
        let plain = join(&|part, _| part.plain.clone());
        let pretty = join(&|part, around| match part.shape.reads_alone(around) {
            true => part.pretty.clone(),
            false => format!("({})", part.pretty),
        });
        Printed {
            plain: format!("({plain})"),
            pretty,
            shape,
            ty,
            untyped: None,
            is_of_domain: false,
        }
    }

    /// `name(a, b)`, or anything else in which arguments stand by themselves.
    pub(super) fn call(ty: SqlType, join: impl Fn(&dyn Fn(&Printed) -> String) -> String) -> Printed {
        Printed {
            plain: join(&|part| part.plain.clone()),
            pretty: join(&|part| part.pretty.clone()),
            shape: Shape::Word,
            ty,
            untyped: None,
            is_of_domain: false,
        }
    }

    /// `(a)::type`.
    pub(super) fn cast(self, ty: SqlType) -> Printed {
        let name = type_text(&ty);
        self.cast_to(&name, ty)
    }

    /// The same to a type or domain of this name, the values of which are of `ty`.
    pub(super) fn cast_to(self, name: &str, ty: SqlType) -> Printed {
        let alone = self.shape.reads_alone(Around::Tight);
        Printed {
            plain: format!("({})::{name}", self.plain),
            pretty: match alone {
                true => format!("{}::{name}", self.pretty),
                false => format!("({})::{name}", self.pretty),
            },
            shape: Shape::Word,
            ty,
            untyped: None,
            is_of_domain: false,
        }
    }

    /// As an operand of the type.
    pub(super) fn into_type(self, ty: &SqlType) -> Printed {
        if let Some(untyped) = &self.untyped {
            return untyped.typed(ty);
        }
        if self.plain == "NULL" && *ty != SqlType::Unknown {
            return Printed::word(format!("NULL::{}", type_text(ty)), ty.clone());
        }
        let is_same = self.ty == *ty || is_alike(&self.ty, ty);
        match is_same && !self.is_of_domain || *ty == SqlType::Unknown {
            true => self,
            // A domain's length stays behind with it.
            false if is_same => self.cast(base(ty)),
            false => self.cast(ty.clone()),
        }
    }

    /// As a value of no domain.
    pub(super) fn of_base(self) -> Printed {
        let ty = self.ty.clone();
        match self.is_of_domain {
            true => self.into_type(&ty),
            false => self,
        }
    }
}

/// Whether they differ in what they are limited to, and so need no conversion.
fn is_alike(a: &SqlType, b: &SqlType) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && !matches!(a, SqlType::Array(_))
}

/// A number as a constant of its type: bare where it reads as one of that type.
pub(super) fn number(digits: &str, ty: &SqlType) -> Printed {
    let settings = FormatSettings::default();
    let (ty, digits) = match ty {
        SqlType::Numeric(_) => {
            let ty = SqlType::Numeric(None);
            let value = Value::parse(digits, &ty, &settings).map(|value| value.to_text(&settings));
            (ty, value.unwrap_or_else(|_| digits.to_string()))
        }
        ty => (ty.clone(), digits.to_string()),
    };
    let is_bare = digits.starts_with(|first: char| first.is_ascii_digit())
        && match ty {
            SqlType::Int4 => true,
            SqlType::Numeric(_) => digits.contains('.'),
            _ => false,
        };
    match is_bare {
        true => Printed::word(digits, ty),
        false => Printed::word(format!("'{digits}'::{ty}"), ty),
    }
}

/// A string literal as a constant of a type, in the type's own words.
fn literal(text: &str, ty: &SqlType) -> Printed {
    // Blanks at its end stay.
    if matches!(ty, SqlType::Char(_)) {
        return Printed::word(format!("{}::bpchar", quoted(text)), ty.clone());
    }
    let settings = FormatSettings::default();
    let parsed = Value::parse(text, ty, &settings).map(|value| value.to_text(&settings));
    let text = parsed.unwrap_or_else(|_| text.to_string());
    match ty {
        SqlType::Bool => Printed::word(if text == "t" { "true" } else { "false" }, ty.clone()),
        SqlType::Int4 | SqlType::Numeric(_) => number(&text, ty),
        _ => Printed::word(format!("{}::{}", quoted(&text), type_text(ty)), ty.clone()),
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Both operands as PostgreSQL's operator takes them.
pub(super) fn operands(symbol: &str, left: Printed, right: Printed) -> (Printed, Printed) {
    let (a, b) = (wanted(symbol, &left, &right), wanted(symbol, &right, &left));
    (left.into_type(&a), right.into_type(&b))
}

/// The type that an operand has beside another.
fn wanted(symbol: &str, operand: &Printed, other: &Printed) -> SqlType {
    use SqlType::{Char, Float4, Float8, Interval, Jsonb, Numeric, Text, Unknown, Varchar};
    let is_pattern = symbol.contains('~') || matches!(symbol, "||" | "->" | "->>" | "?");
    let is_float = |ty: &SqlType| matches!(ty, Float4 | Float8);
    let is_numeric = |ty: &SqlType| matches!(ty, Numeric(_));
    match (&operand.ty, &other.ty) {
        _ if operand.untyped.is_some() => match &other.ty {
            _ if other.untyped.is_some() => Text,
            _ if is_pattern => Text,
            Jsonb if symbol == "||" => Jsonb,
            SqlType::TsVector if symbol == "@@" => SqlType::TsQuery,
            Varchar(_) => Text,
            SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Date if symbol == "+" => {
                Interval(Default::default())
            }
            Unknown => Text,
            ty => ty.clone(),
        },
        (Varchar(_), _) => Text,
        (Char(_), Text | Varchar(_)) if !is_pattern && other.untyped.is_none() => Text,
        // These are there for two of a kind alone.
        (ty, other) if ty.is_integer() && other.is_integer() && matches!(symbol, "%" | "#" | "&" | "|") => {
            promote(ty, other).unwrap_or_else(|| ty.clone())
        }
        (ty, other) if ty.is_integer() && is_numeric(other) => Numeric(Default::default()),
        (ty, other) if (ty.is_integer() || is_numeric(ty)) && is_float(other) => Float8,
        (ty, _) => ty.clone(),
    }
}

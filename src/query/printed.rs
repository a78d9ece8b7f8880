//! `Printed`: an expression as SQL text in two forms, plain and pretty, with what decides where parentheses stand.

use std::sync::Arc;

use super::catalog_operators::operand_types;
use super::coercion::base;
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

    /// Its type; `Unknown` of a literal that has none of its own.
    pub(super) fn given_type(&self) -> SqlType {
        match self.untyped {
            Some(_) => SqlType::Unknown,
            None => self.ty.clone(),
        }
    }

    /// As what an operator takes: a literal of no type is text where that is not decided, and what has no type stays as it is.
    pub(super) fn into_operand(self, ty: &SqlType) -> Printed {
        match (ty, &self.ty) {
            (SqlType::Unknown, _) if self.untyped.is_some() => self.into_type(&SqlType::Text),
            (_, SqlType::Unknown) if self.untyped.is_none() && self.plain != "NULL" => self,
            (ty, _) => self.into_type(ty),
        }
    }

    /// As the operand of an operator that has no other.
    pub(super) fn into_only_operand(self, symbol: &str) -> Printed {
        let types = operand_types(symbol, &[self.given_type()]).unwrap_or_default();
        match types.first() {
            Some(ty) => self.into_operand(ty),
            None => self.of_base(),
        }
    }

    /// Where a function is written in words of its own, conversions are not: a literal alone has its type.
    pub(super) fn into_part(self, ty: &SqlType) -> Printed {
        match self.untyped.is_some() || self.plain == "NULL" {
            true => self.into_type(ty),
            false => self,
        }
    }

    /// As a condition: nobody sees how a domain becomes boolean.
    pub(super) fn into_condition(self) -> Printed {
        self.into_part(&SqlType::Bool)
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
        // Without zeros that say nothing, and zero without a sign.
        ty => (
            ty.clone(),
            digits
                .parse::<i128>()
                .map_or_else(|_| digits.to_string(), |number| number.to_string()),
        ),
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
    // A value that does not know what it is of, as a pg_lsn that is a number, has no text that reads as one: it stays as it was written.
    let parsed = parsed
        .ok()
        .filter(|shown| Value::parse(shown, ty, &settings).is_ok());
    let text = parsed.unwrap_or_else(|| text.to_string());
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
    let [a, b] = taken(symbol, [left.given_type(), right.given_type()]);
    (left.into_operand(&a), right.into_operand(&b))
}

/// What PostgreSQL's operator takes beside each other operands of these types.
pub(super) fn taken(symbol: &str, given: [SqlType; 2]) -> [SqlType; 2] {
    let taken = operand_types(symbol, &given).and_then(|types| types.try_into().ok());
    taken.unwrap_or_else(|| {
        // A type that the catalog knows nothing of has operators for two of its kind.
        let beside = |own: &SqlType, other: &SqlType| match own {
            SqlType::Unknown => other.clone(),
            own => own.clone(),
        };
        [beside(&given[0], &given[1]), beside(&given[1], &given[0])]
    })
}

//! Functions that are called in words, as `pg_get_expr` prints them: `SUBSTRING(a FROM 2)`. What these make of their arguments is not shown.
//! Called by `condition_text`.

use sqlparser::ast;

use super::condition_text::Printer;
use super::printed::Printed;
use super::printed_conditions::negated;
use super::printed_query::as_test;
use crate::types::SqlType;

impl Printer<'_, '_> {
    /// See the module.
    pub(super) fn spelt_call(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        let ty = self.type_of(expr);
        match expr {
            E::Substring { .. } => self.substring(expr, ty),
            E::Overlay { .. } => self.overlay(expr, ty),
            E::Trim { .. } => self.trim(expr, ty),
            E::IsNormalized {
                expr,
                form,
                negated: not,
            } => {
                let value = self.print(expr).into_part(&SqlType::Text);
                let form = form.as_ref().map_or_else(String::new, |form| format!("{form} "));
                let test = as_test(Printed::call(SqlType::Bool, |text| {
                    format!("({} IS {form}NORMALIZED)", text(&value))
                }));
                match not {
                    true => negated(test),
                    false => test,
                }
            }
            E::Position { expr: part, r#in } => {
                let (part, whole) = beside_each_other(self.print(part), self.print(r#in));
                Printed::call(ty, |text| {
                    format!("POSITION(({}) IN ({}))", text(&part), text(&whole))
                })
            }
            E::AtTimeZone { timestamp, time_zone } => {
                let zone = self.print(time_zone).into_part(&SqlType::Text);
                let moment = self.print(timestamp).into_part(&SqlType::TimestampTz(None));
                Printed::call(ty, |text| {
                    format!("({} AT TIME ZONE {})", text(&moment), text(&zone))
                })
            }
            E::Extract {
                field, expr: from, ..
            } => {
                let from = self.print(from);
                let field = field.to_string().trim_matches('\'').to_lowercase();
                Printed::call(ty, |text| format!("EXTRACT({field} FROM {})", text(&from)))
            }
            E::Ceil { expr: value, .. } | E::Floor { expr: value, .. } => {
                let name = match expr {
                    E::Ceil { .. } => "ceil",
                    _ => "floor",
                };
                let value = self.print(value).into_type(&ty);
                Printed::call(ty, |text| format!("{name}({})", text(&value)))
            }
            other => self.as_written(other),
        }
    }

    fn substring(&mut self, expr: &ast::Expr, ty: SqlType) -> Printed {
        let ast::Expr::Substring {
            expr: value,
            substring_from: Some(from),
            substring_for,
            special,
            shorthand,
        } = expr
        else {
            return self.as_written(expr);
        };
        let (value, from) = (self.print(value).into_part(&SqlType::Text), self.print(from));
        let length = substring_for.as_ref().map(|length| self.print(length));
        let of_text = |part: Printed| match part.given_type() {
            SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Unknown => part.into_type(&SqlType::Text),
            _ => part,
        };
        let is_pattern = !from.given_type().is_number();
        if *shorthand || *special || is_pattern && length.is_none() {
            let name = if *shorthand { "substr" } else { "\"substring\"" };
            let arguments: Vec<Printed> = [value, from].into_iter().chain(length).map(of_text).collect();
            return Printed::call(ty, |text| {
                let arguments: Vec<String> = arguments.iter().map(text).collect();
                format!("{name}({})", arguments.join(", "))
            });
        }
        let (before, behind) = match is_pattern {
            true => (" SIMILAR ", " ESCAPE "),
            false => (" FROM ", " FOR "),
        };
        let (from, length) = (
            from.into_part(&SqlType::Text),
            length.map(|length| length.into_part(&SqlType::Text)),
        );
        Printed::call(ty, |text| {
            let length = length.as_ref().map(|length| format!("{behind}{}", text(length)));
            let length = length.unwrap_or_default();
            format!("SUBSTRING({}{before}{}{length})", text(&value), text(&from))
        })
    }

    /// `NORMALIZE(a, NFC)`.
    pub(super) fn normalize(&mut self, expr: &ast::Expr, arguments: &[ast::FunctionArg]) -> Printed {
        let (value, form) = match arguments {
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value))] => (value, String::new()),
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)), form] => {
                (value, format!(", {}", form.to_string().to_uppercase()))
            }
            _ => return self.as_written(expr),
        };
        let value = self.print(value).into_part(&SqlType::Text);
        Printed::call(SqlType::Text, |text| format!("NORMALIZE({}{form})", text(&value)))
    }

    fn overlay(&mut self, expr: &ast::Expr, ty: SqlType) -> Printed {
        let ast::Expr::Overlay {
            expr: value,
            overlay_what,
            overlay_from,
            overlay_for,
        } = expr
        else {
            return self.as_written(expr);
        };
        let (value, placed) = beside_each_other(self.print(value), self.print(overlay_what));
        let from = self.print(overlay_from);
        let length = overlay_for.as_ref().map(|length| self.print(length));
        Printed::call(ty, |text| {
            let length = length.as_ref().map(|length| format!(" FOR {}", text(length)));
            let (value, placed, length) = (text(&value), text(&placed), length.unwrap_or_default());
            format!("OVERLAY({value} PLACING {placed} FROM {}{length})", text(&from))
        })
    }

    fn trim(&mut self, expr: &ast::Expr, ty: SqlType) -> Printed {
        let ast::Expr::Trim {
            trim_where,
            trim_what,
            expr: value,
            ..
        } = expr
        else {
            return self.as_written(expr);
        };
        let value = self.print(value);
        let characters = trim_what.as_ref().map(|characters| self.print(characters));
        let (value, characters) = match characters {
            Some(characters) => {
                let (value, characters) = beside_each_other(value, characters);
                (value, Some(characters))
            }
            None => (value.into_part(&SqlType::Text), None),
        };
        let ends = trim_where.unwrap_or(ast::TrimWhereField::Both);
        Printed::call(ty, |text| {
            let characters = characters
                .as_ref()
                .map(|characters| format!("{} ", text(characters)));
            format!(
                "TRIM({ends} {}FROM {})",
                characters.unwrap_or_default(),
                text(&value)
            )
        })
    }
}

/// Two parts of which a literal is what the other is: text, unless that is bytes or bits.
fn beside_each_other(one: Printed, other: Printed) -> (Printed, Printed) {
    let of = |ty: SqlType| match ty {
        SqlType::Bytea | SqlType::Bit(_) => ty,
        _ => SqlType::Text,
    };
    let (first, second) = (of(other.given_type()), of(one.given_type()));
    (one.into_part(&first), other.into_part(&second))
}

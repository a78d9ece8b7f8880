//! Bound expressions as SQL text, in PostgreSQL's manner, for EXPLAIN.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Case, Expr};

use super::functions;
use super::functions::compare::{FLOAT_ORDER_NAME, TRIM_CHAR_NAME};
use super::functions::json_order::JSONB_ORDER_NAME;
use crate::exec::cell::value_of_scalar;
use crate::plan::literal;
use crate::types::SqlType;

/// How columns are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// `id`.
    Bare,
    /// `orders.id`.
    Qualified,
}

/// The expression as SQL. What it has no words for it prints as DataFusion does.
pub fn expr_text(expr: &Expr, names: Names) -> String {
    Printer { names }.print(expr)
}

struct Printer {
    names: Names,
}

impl Printer {
    fn print(&self, expr: &Expr) -> String {
        match expr {
            Expr::Alias(alias) => self.print(&alias.expr),
            Expr::Column(column) => match self.names {
                Names::Bare => column.name.clone(),
                Names::Qualified => column.flat_name(),
            },
            Expr::Literal(scalar, _) => scalar_text(scalar),
            Expr::Placeholder(placeholder) => placeholder.id.clone(),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.infix(left, &op.to_string(), right),
            Expr::Not(inner) => format!("NOT {}", self.print(inner)),
            Expr::IsNull(inner) => self.suffixed(inner, "IS NULL"),
            Expr::IsNotNull(inner) => self.suffixed(inner, "IS NOT NULL"),
            Expr::IsTrue(inner) => self.suffixed(inner, "IS TRUE"),
            Expr::IsNotTrue(inner) => self.suffixed(inner, "IS NOT TRUE"),
            Expr::IsFalse(inner) => self.suffixed(inner, "IS FALSE"),
            Expr::IsNotFalse(inner) => self.suffixed(inner, "IS NOT FALSE"),
            Expr::IsUnknown(inner) => self.suffixed(inner, "IS UNKNOWN"),
            Expr::IsNotUnknown(inner) => self.suffixed(inner, "IS NOT UNKNOWN"),
            // Comparisons convert to a wider type without saying so.
            Expr::Cast(cast) => self.print(&cast.expr),
            Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            }) => format!(
                "({} {}BETWEEN {} AND {})",
                self.print(expr),
                not(*negated),
                self.print(low),
                self.print(high)
            ),
            Expr::InList(InList { expr, list, negated }) => {
                format!(
                    "({} {}IN ({}))",
                    self.print(expr),
                    not(*negated),
                    self.listed(list)
                )
            }
            Expr::Like(like) => self.like_text(like),
            Expr::Case(case) => self.case_text(case),
            Expr::ScalarFunction(call) => self.call_text(call),
            Expr::AggregateFunction(call) => {
                let counts_all =
                    call.func.name() == "count" && matches!(call.params.args.as_slice(), [Expr::Literal(..)]);
                let arguments = if counts_all {
                    "*".to_string()
                } else {
                    self.listed(&call.params.args)
                };
                let distinct = if call.params.distinct { "DISTINCT " } else { "" };
                format!("{}({distinct}{arguments})", call.func.name())
            }
            other => other.to_string(),
        }
    }

    fn call_text(&self, call: &ScalarFunction) -> String {
        let name = call.func.name();
        match (name, call.args.as_slice()) {
            // What comparisons put around columns so that Arrow's order is PostgreSQL's.
            (FLOAT_ORDER_NAME | TRIM_CHAR_NAME | JSONB_ORDER_NAME, [inner]) => self.print(inner),
            ("cast", [inner]) => match functions::result_type(&call.func) {
                Some(ty) => format!("({})::{ty}", self.print(inner)),
                None => self.print(inner),
            },
            (symbol, [left, right]) if is_operator(symbol) => self.infix(left, symbol, right),
            (symbol, [inner]) if is_operator(symbol) => format!("({symbol} {})", self.print(inner)),
            (name, arguments) => format!("{name}({})", self.listed(arguments)),
        }
    }

    fn infix(&self, left: &Expr, op: &str, right: &Expr) -> String {
        format!("({} {op} {})", self.print(left), self.print(right))
    }

    fn suffixed(&self, inner: &Expr, test: &str) -> String {
        format!("({} {test})", self.print(inner))
    }

    fn listed(&self, items: &[Expr]) -> String {
        items
            .iter()
            .map(|item| self.print(item))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn like_text(&self, like: &Like) -> String {
        let operator = if like.case_insensitive { "ILIKE" } else { "LIKE" };
        let (value, pattern) = (self.print(&like.expr), self.print(&like.pattern));
        format!("({value} {}{operator} {pattern})", not(like.negated))
    }

    fn case_text(&self, case: &Case) -> String {
        let mut text = "CASE".to_string();
        for (when, then) in &case.when_then_expr {
            text.push_str(&format!(" WHEN {} THEN {}", self.print(when), self.print(then)));
        }
        if let Some(otherwise) = &case.else_expr {
            text.push_str(&format!(" ELSE {}", self.print(otherwise)));
        }
        text.push_str(" END");
        text
    }
}

fn is_operator(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn scalar_text(scalar: &ScalarValue) -> String {
    let ty = match scalar {
        ScalarValue::Utf8(_) => SqlType::Text,
        ScalarValue::List(_) => return format!("'{scalar}'"),
        // Values say by themselves what they are.
        _ => SqlType::Unknown,
    };
    value_of_scalar(scalar, &ty).map_or_else(|_| scalar.to_string(), |value| literal(&value))
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn expressions_read_as_sql() {
        let cases = [
            (
                col("a").gt(lit(5_i64)).and(col("b").eq(lit("it's"))),
                "((a > 5) AND (b = 'it''s'))",
            ),
            (col("a").is_null().or(!col("b")), "((a IS NULL) OR NOT b)"),
            (
                col("a").in_list(vec![lit(1_i64), lit(2_i64)], true),
                "(a NOT IN (1, 2))",
            ),
            (
                col("a").between(lit(1.5), lit(ScalarValue::Float64(None))),
                "(a BETWEEN 1.5 AND NULL)",
            ),
        ];
        for (expr, text) in cases {
            assert_eq!(expr_text(&expr, Names::Bare), text);
        }
    }
}

//! Expressions as SQL text, in PostgreSQL's manner, for EXPLAIN: every operator stands in parentheses.

use arrow::datatypes::Field;

use super::outer_values::outer_name;
use crate::functions::sort_key::{is_around_operands, is_key_of_operand, value_of_key};
use crate::functions::value_array::value_of_scalar;
use crate::plan::literal;
use crate::tree::{
    AggregateFunction, BinaryExpr, Case, Expr, FieldMetadata, FunctionCall, InList, Let, Like, Operator,
    OrderKey, ScalarValue, escape_clause,
};
use crate::types::SqlType;

/// How columns are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// `id`.
    Bare,
    /// `orders.id`.
    Qualified,
}

/// The expression as SQL. What it has no words for it prints as it is told of.
pub fn expr_text(expr: &Expr, names: Names) -> String {
    Printer {
        names,
        lets: Vec::new(),
    }
    .print(expr)
}

/// A sort key: computed values stand in parentheses, as PostgreSQL writes them.
pub fn order_text(expr: &Expr, names: Names, descending: bool, nulls_first: bool) -> String {
    let text = expr_text(expr, names);
    let text = match is_column(expr) {
        true => text,
        false => format!("({text})"),
    };
    let direction = match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    };
    text + direction
}

/// Conditions that must all hold, as one; `None` without any.
pub fn all_text(conditions: &[String]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("({})", several.join(" AND "))),
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_column(&alias.expr),
        Expr::Cast(cast) => is_column(&cast.expr),
        Expr::ScalarFunction(call) => is_around_operands(call.func.name()) && call.args.iter().all(is_column),
        _ => false,
    }
}

struct Printer {
    names: Names,
    /// Values that are computed once, and by which number they are asked for; the innermost last.
    lets: Vec<(usize, String)>,
}

impl Printer {
    fn print(&self, expr: &Expr) -> String {
        match expr {
            Expr::Alias(alias) => self.print(&alias.expr),
            Expr::Column(column) => match self.names {
                Names::Bare => column.name.clone(),
                Names::Qualified => column.flat_name(),
            },
            Expr::Literal(scalar, metadata) => match metadata.as_ref().and_then(outer_name) {
                Some(column) => column.to_string(),
                None => scalar_text(scalar, metadata.as_ref()),
            },
            Expr::Placeholder(placeholder) => placeholder.id.clone(),
            Expr::BinaryExpr(BinaryExpr {
                op: op @ (Operator::And | Operator::Or),
                ..
            }) => {
                let mut parts = Vec::new();
                self.chain(expr, *op, &mut parts);
                format!("({})", parts.join(&format!(" {op} ")))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.infix(left, &op.to_string(), right),
            Expr::Not(inner) => format!("(NOT {})", self.print(inner)),
            Expr::IsNull(inner) => self.suffixed(inner, "IS NULL"),
            Expr::IsNotNull(inner) => self.suffixed(inner, "IS NOT NULL"),
            Expr::TruthTest(test) => self.suffixed(&test.expr, test.words()),
            // Comparisons convert to a wider type without saying so.
            Expr::Cast(cast) => self.print(&cast.expr),
            Expr::InList(InList { expr, list, negated }) => {
                let items: Vec<String> = list.iter().map(|item| self.beside(expr, item)).collect();
                format!(
                    "({} {}IN ({}))",
                    self.print(expr),
                    not(*negated),
                    items.join(", ")
                )
            }
            Expr::Like(like) => self.like_text(like),
            Expr::Case(case) => self.case_text(case),
            Expr::Let(kept) => self.with_let(kept).print(&kept.body),
            Expr::LetValue(value) => self.let_text(value.number),
            Expr::ScalarFunction(call) => self.call_text(call),
            Expr::AggregateFunction(call) => self.aggregate_text(call),
            other => other.to_string(),
        }
    }

    /// The parts of a chain of one connective.
    fn chain(&self, expr: &Expr, connective: Operator, parts: &mut Vec<String>) {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == connective => {
                self.chain(left, connective, parts);
                self.chain(right, connective, parts);
            }
            part => parts.push(self.print(part)),
        }
    }

    fn aggregate_text(&self, call: &AggregateFunction) -> String {
        let params = &call.params;
        let counts_all =
            call.func.name() == "count" && matches!(params.args.as_slice(), [Expr::Literal(..)] | []);
        let mut arguments = match counts_all {
            true => "*".to_string(),
            false => self.listed(&params.args),
        };
        if !params.order_by.is_empty() {
            let order = |key: &OrderKey| order_text(&key.expr, self.names, !key.asc, key.nulls_first);
            let order: Vec<String> = params.order_by.iter().map(order).collect();
            arguments.push_str(&format!(" ORDER BY {}", order.join(", ")));
        }
        let distinct = if params.distinct { "DISTINCT " } else { "" };
        let filter = params.filter.as_ref();
        let filter = filter.map(|filter| format!(" FILTER (WHERE {})", self.print(filter)));
        format!(
            "{}({distinct}{arguments}){}",
            call.func.name(),
            filter.unwrap_or_default()
        )
    }

    fn call_text(&self, call: &FunctionCall) -> String {
        let name = call.func.name();
        match (name, call.args.as_slice()) {
            // What comparisons put around columns so that Arrow's order is PostgreSQL's.
            (name, [inner]) if is_around_operands(name) => self.print(inner),
            ("cast", [inner]) => format!("({})::{}", self.print(inner), call.func.returns()),
            (symbol, [_, _]) if is_operator(symbol) => {
                let sides = self.arguments(call);
                format!("({} {symbol} {})", sides[0], sides[1])
            }
            (symbol, [inner]) if is_operator(symbol) => format!("({symbol} {})", self.print(inner)),
            (name, _) => format!("{name}({})", self.arguments(call).join(", ")),
        }
    }

    fn infix(&self, left: &Expr, op: &str, right: &Expr) -> String {
        format!("({} {op} {})", self.beside(right, left), self.beside(left, right))
    }

    /// An operand of a comparison: beside the key of a value, a constant is one, too.
    fn beside(&self, other: &Expr, operand: &Expr) -> String {
        let value = match (other, operand) {
            (Expr::ScalarFunction(call), Expr::Literal(key, _)) if is_key_of_operand(call.name()) => {
                let ty = call.func.arguments().first();
                let key = value_of_scalar(key, call.func.returns()).ok();
                ty.zip(key).and_then(|(ty, key)| value_of_key(ty, key))
            }
            _ => None,
        };
        value.map_or_else(|| self.print(operand), |value| literal(&value))
    }

    /// The arguments of a call, of which those of variable length are numerics where the function takes such.
    fn arguments(&self, call: &FunctionCall) -> Vec<String> {
        let types = call.func.arguments();
        let argument = |(at, argument): (usize, &Expr)| match (argument, types.get(at)) {
            (Expr::Literal(scalar @ ScalarValue::Binary(Some(_)), _), Some(ty @ SqlType::Numeric(_))) => {
                value_of_scalar(scalar, ty).map_or_else(|_| self.print(argument), |value| literal(&value))
            }
            _ => self.print(argument),
        };
        call.args.iter().enumerate().map(argument).collect()
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
        let (value, pattern) = (self.print(&like.expr), self.print(&like.pattern));
        let (not, word, escape) = (not(like.negated), like.word(), escape_clause(like.escape));
        format!("({value} {not}{word} {pattern}{escape})")
    }

    fn case_text(&self, case: &Case) -> String {
        if let Some(text) = self.choice_text(case) {
            return text;
        }
        let (operand, mut text) = (operand_of(case), "CASE".to_string());
        if let Some(operand) = operand.or(case.expr.as_deref()) {
            text.push_str(&format!(" {}", self.print(operand)));
        }
        for (when, then) in &case.when_then_expr {
            let when = match when.as_ref() {
                Expr::BinaryExpr(equal) if operand.is_some() => &equal.right,
                when => when,
            };
            text.push_str(&format!(" WHEN {} THEN {}", self.print(when), self.print(then)));
        }
        if let Some(otherwise) = &case.else_expr {
            text.push_str(&format!(" ELSE {}", self.print(otherwise)));
        }
        text.push_str(" END");
        text
    }

    /// A CASE that COALESCE, NULLIF, GREATEST or LEAST is.
    fn choice_text(&self, case: &Case) -> Option<String> {
        let (branches, otherwise) = (case.when_then_expr.as_slice(), case.else_expr.as_deref()?);
        if is_coalesce(case) {
            let mut items = Vec::new();
            self.coalesced(case, &mut items);
            return Some(format!("COALESCE({})", items.join(", ")));
        }
        let [(when, then)] = branches else { return None };
        match when.as_ref() {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Eq,
                right,
            }) if is_null(then) && **left == *otherwise => Some(format!(
                "NULLIF({}, {})",
                self.print(left),
                self.beside(left, right)
            )),
            Expr::BinaryExpr(BinaryExpr {
                left: wins,
                op: Operator::Or,
                right: is_null,
            }) => match (wins.as_ref(), is_null.as_ref()) {
                (Expr::BinaryExpr(wins), Expr::IsNull(tested))
                    if **tested == *otherwise && *wins.left == **then && *wins.right == *otherwise =>
                {
                    let name = match wins.op {
                        Operator::GtEq => "GREATEST",
                        Operator::LtEq => "LEAST",
                        _ => return None,
                    };
                    let (first, second) = (self.print(then), self.beside(then, otherwise));
                    // Of several it is the best of the best so far and the next one.
                    let first = first
                        .strip_prefix(&format!("{name}("))
                        .and_then(|so_far| so_far.strip_suffix(')'))
                        .unwrap_or(&first);
                    Some(format!("{name}({first}, {second})"))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What a COALESCE chooses of.
    fn coalesced(&self, case: &Case, items: &mut Vec<String>) {
        for (_, then) in &case.when_then_expr {
            items.push(self.print(then));
        }
        match case.else_expr.as_deref() {
            Some(Expr::Let(kept)) => match kept.body.as_ref() {
                Expr::Case(rest) if is_coalesce(rest) => self.with_let(kept).coalesced(rest, items),
                _ => items.push(self.print(&Expr::Let(kept.clone()))),
            },
            Some(otherwise) => items.push(self.beside(&case.when_then_expr[0].1, otherwise)),
            None => {}
        }
    }

    fn with_let(&self, kept: &Let) -> Printer {
        let mut lets = self.lets.clone();
        lets.push((kept.number, self.print(&kept.value)));
        Printer { lets, ..*self }
    }

    fn let_text(&self, number: usize) -> String {
        let mut known = self.lets.iter().rev();
        let found = known.find(|(known, _)| *known == number);
        found.map_or_else(|| format!("let {number}"), |(_, text)| text.clone())
    }
}

/// Whether every branch is taken where what it gives is not NULL.
fn is_coalesce(case: &Case) -> bool {
    let mut branches = case.when_then_expr.iter();
    let gives_what_it_tests =
        |(when, then): &(Box<Expr>, Box<Expr>)| matches!(&**when, Expr::IsNotNull(tested) if tested == then);
    case.expr.is_none() && case.else_expr.is_some() && branches.all(gives_what_it_tests)
}

/// The value that every branch compares, where it is computed once for all of them.
fn operand_of(case: &Case) -> Option<&Expr> {
    let mut operands = case.when_then_expr.iter().map(|(when, _)| match when.as_ref() {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            ..
        }) if matches!(**left, Expr::LetValue(_)) => Some(left.as_ref()),
        _ => None,
    });
    let first = operands.next()??;
    operands.all(|operand| operand == Some(first)).then_some(first)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

fn is_operator(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn scalar_text(scalar: &ScalarValue, metadata: Option<&FieldMetadata>) -> String {
    let ty = match scalar {
        ScalarValue::Int64(_) | ScalarValue::List(_) | ScalarValue::Struct(_) if metadata.is_some() => {
            let field = Field::new("", scalar.data_type(), true);
            let labels = metadata
                .map(|metadata| metadata.to_hash_map())
                .unwrap_or_default();
            SqlType::from_field(&field.with_metadata(labels))
        }
        ScalarValue::Utf8(_) => SqlType::Text,
        ScalarValue::List(_) | ScalarValue::Struct(_) => {
            SqlType::from_field(&Field::new("", scalar.data_type(), true))
        }
        // Values say by themselves what they are.
        _ => SqlType::Unknown,
    };
    value_of_scalar(scalar, &ty).map_or_else(|_| scalar.to_string(), |value| literal(&value))
}

#[cfg(test)]
mod tests {
    use crate::tree::{col, lit};

    use super::*;

    #[test]
    fn expressions_read_as_sql() {
        let cases = [
            (
                col("a").gt(lit(5_i64)).and(col("b").eq(lit("it's"))),
                "((a > 5) AND (b = 'it''s'))",
            ),
            (
                col("a").gt(lit(1_i64)).and(col("b").and(col("c"))),
                "((a > 1) AND b AND c)",
            ),
            (col("a").null_test().or(!col("b")), "((a IS NULL) OR (NOT b))"),
            (
                col("a").in_list(vec![lit(1_i64), lit(2_i64)], true),
                "(a NOT IN (1, 2))",
            ),
        ];
        for (expr, text) in cases {
            assert_eq!(expr_text(&expr, Names::Bare), text);
        }
    }
}

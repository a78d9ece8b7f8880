//! What expressions are called: as outputs, by which nodes above refer to them, and where one is told of.

use std::fmt::{self, Display, Write};

use super::column::RelationAlias;
use super::expr::{AggregateFunction, Expr, OrderKey, escape_clause};
use super::operator::Operator;
use super::window::WindowFunction;
use super::with_stack;

/// The name of an expression as an output.
pub struct SchemaName<'a>(&'a Expr);

impl Expr {
    /// What an output computes, without its name.
    pub fn unnamed(&self) -> &Expr {
        match self {
            Expr::Alias(alias) => alias.expr.unnamed(),
            expr => expr,
        }
    }

    /// What it is called as an output, the relation of a column with it.
    pub fn schema_name(&self) -> SchemaName<'_> {
        SchemaName(self)
    }

    /// The relation and the name of it as an output.
    pub fn qualified_name(&self) -> (Option<RelationAlias>, String) {
        match self {
            Expr::Column(column) => (column.relation.clone(), column.name.clone()),
            Expr::Alias(alias) => (alias.relation.clone(), alias.name.clone()),
            other => (None, other.schema_name().to_string()),
        }
    }

    /// What the column is called that it becomes.
    pub fn column_name(&self) -> String {
        self.qualified_name().1
    }
}

/// The names of expressions.
pub(super) fn comma_separated(exprs: &[Expr], comma: &str) -> String {
    let mut names = String::new();
    for (at, expr) in exprs.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(names, "{}{}", if at > 0 { comma } else { "" }, SchemaName(expr));
    }
    names
}

/// An operand, in parentheses where it would be read otherwise.
fn write_operand(operand: &Expr, op: Operator, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let binds = |op: Operator| match op {
        Operator::Or => 0,
        Operator::And => 1,
        _ => 2,
    };
    match operand {
        Expr::BinaryExpr(inner) if binds(inner.op) < binds(op) => write!(f, "({operand})"),
        operand => write!(f, "{operand}"),
    }
}

/// Expressions as they are told of.
pub(super) fn listed<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> String {
    let texts = exprs.into_iter().map(Expr::to_string);
    texts.collect::<Vec<_>>().join(", ")
}

/// Keys of an order, likewise.
pub(super) fn sort_text(keys: &[OrderKey]) -> String {
    let names = keys.iter().map(|key| {
        let direction = if key.asc { "ASC" } else { "DESC" };
        let nulls = if key.nulls_first {
            "NULLS FIRST"
        } else {
            "NULLS LAST"
        };
        format!("{} {direction} {nulls}", key.expr)
    });
    names.collect::<Vec<_>>().join(", ")
}

impl Display for SchemaName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_stack(|| match self.0 {
            Expr::Alias(alias) => match &alias.relation {
                Some(relation) => write!(f, "{relation}.{}", alias.name),
                None => f.write_str(&alias.name),
            },
            // A cast between types of one kind goes without saying.
            Expr::Cast(cast) => write!(f, "{}", SchemaName(&cast.expr)),
            Expr::Exists(exists) => f.write_str(if exists.negated { "NOT EXISTS" } else { "EXISTS" }),
            Expr::InSubquery(test) => f.write_str(if test.negated { "NOT IN" } else { "IN" }),
            Expr::ScalarSubquery(subquery) => f.write_str(subquery.subquery.schema().field(0).name()),
            Expr::ScalarFunction(call) => f.write_str(&call.schema_name()),
            Expr::AggregateFunction(call) => {
                aggregate_text(call, &comma_separated(&call.params.args, ","), f)
            }
            Expr::WindowFunction(call) => {
                let params = &call.params;
                let parts = comma_separated(&params.partition_by, ", ");
                window_text(call, (&comma_separated(&params.args, ","), &parts), f)
            }
            Expr::InList(list) => {
                let not = if list.negated { "NOT " } else { "" };
                write!(
                    f,
                    "{} {not}IN {}",
                    SchemaName(&list.expr),
                    comma_separated(&list.list, ", ")
                )
            }
            other => structure(other, f, &|expr, f| write!(f, "{}", SchemaName(expr))),
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_stack(|| match self {
            Expr::Alias(alias) => write!(f, "{} AS {}", alias.expr, alias.name),
            Expr::Cast(cast) => write!(f, "CAST({} AS {})", cast.expr, cast.ty),
            Expr::ScalarFunction(call) => write!(f, "{}({})", call.name(), listed(&call.args)),
            Expr::InList(list) => {
                let not = if list.negated { "NOT " } else { "" };
                write!(f, "{} {not}IN ([{}])", list.expr, listed(&list.list))
            }
            Expr::Exists(_) => write!(f, "{} (<subquery>)", SchemaName(self)),
            Expr::InSubquery(test) => write!(f, "{} {} (<subquery>)", test.expr, SchemaName(self)),
            Expr::ScalarSubquery(_) => f.write_str("(<subquery>)"),
            Expr::BinaryExpr(binary) => {
                write_operand(&binary.left, binary.op, f)?;
                write!(f, " {} ", binary.op)?;
                write_operand(&binary.right, binary.op, f)
            }
            Expr::AggregateFunction(call) => aggregate_text(call, &listed(&call.params.args), f),
            Expr::WindowFunction(call) => {
                let params = &call.params;
                window_text(call, (&listed(&params.args), &listed(&params.partition_by)), f)
            }
            other => structure(other, f, &|expr, f| write!(f, "{expr}")),
        })
    }
}

/// How a part of an expression is written.
type Part<'a> = &'a dyn Fn(&Expr, &mut fmt::Formatter<'_>) -> fmt::Result;

/// What is written alike as a name and where it is told of.
fn structure(expr: &Expr, f: &mut fmt::Formatter<'_>, part: Part<'_>) -> fmt::Result {
    let suffixed = |inner: &Expr, test: &str, f: &mut fmt::Formatter<'_>| {
        part(inner, f)?;
        write!(f, " {test}")
    };
    match expr {
        Expr::Column(column) => write!(f, "{column}"),
        Expr::OuterReferenceColumn(_, column) => write!(f, "outer_ref({column})"),
        Expr::Literal(value, _) => write!(f, "{value:?}"),
        Expr::Placeholder(placeholder) => f.write_str(&placeholder.id),
        Expr::BinaryExpr(binary) => {
            part(&binary.left, f)?;
            write!(f, " {} ", binary.op)?;
            part(&binary.right, f)
        }
        Expr::Not(inner) => {
            f.write_str("NOT ")?;
            part(inner, f)
        }
        Expr::IsNull(inner) => suffixed(inner, "IS NULL", f),
        Expr::IsNotNull(inner) => suffixed(inner, "IS NOT NULL", f),
        Expr::TruthTest(test) => suffixed(&test.expr, test.words(), f),
        Expr::Like(like) => {
            part(&like.expr, f)?;
            let not = if like.negated { "NOT " } else { "" };
            write!(f, " {not}{} ", like.word())?;
            part(&like.pattern, f)?;
            f.write_str(&escape_clause(like.escape))
        }
        Expr::Case(case) => {
            f.write_str("CASE ")?;
            let spaced = |lead: &str, expr: &Expr, f: &mut fmt::Formatter<'_>| {
                f.write_str(lead)?;
                part(expr, f)?;
                f.write_str(" ")
            };
            case.expr.iter().try_for_each(|operand| spaced("", operand, f))?;
            for (when, then) in &case.when_then_expr {
                spaced("WHEN ", when, f)?;
                spaced("THEN ", then, f)?;
            }
            case.else_expr
                .iter()
                .try_for_each(|otherwise| spaced("ELSE ", otherwise, f))?;
            f.write_str("END")
        }
        Expr::Let(_) | Expr::LetValue(_) | Expr::Fold(_) => let_text(expr, f, part),
        Expr::Unnest(unnest) => {
            f.write_str("UNNEST(")?;
            part(&unnest.expr, f)?;
            f.write_str(")")
        }
        Expr::GroupingSets(sets) => {
            f.write_str("GROUPING SETS (")?;
            for set in sets {
                write!(f, "({})", comma_separated(set, ", "))?;
            }
            f.write_str(")")
        }
        // The others are written in one way each.
        _ => Ok(()),
    }
}

/// A value that is computed once, what asks for it, and what is made of items one after the other.
fn let_text(expr: &Expr, f: &mut fmt::Formatter<'_>, part: Part<'_>) -> fmt::Result {
    match expr {
        Expr::Let(kept) => {
            write!(f, "let {} = ", kept.number)?;
            part(&kept.value, f)?;
            f.write_str(" in ")?;
            part(&kept.body, f)
        }
        Expr::Fold(fold) => {
            write!(f, "fold {} of ", fold.number)?;
            part(&fold.initial, f)?;
            fold.lists.iter().try_for_each(|list| {
                f.write_str(", ")?;
                part(list, f)
            })?;
            f.write_str(" by ")?;
            part(&fold.step, f)
        }
        Expr::LetValue(value) => write!(f, "let {}", value.number),
        // It is one of these.
        _ => Ok(()),
    }
}

fn aggregate_text(call: &AggregateFunction, arguments: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let params = &call.params;
    let distinct = if params.distinct { "DISTINCT " } else { "" };
    write!(f, "{}({distinct}{arguments})", call.func.name())?;
    if let Some(filter) = &params.filter {
        write!(f, " FILTER (WHERE {filter})")?;
    }
    match params.order_by.is_empty() {
        true => Ok(()),
        false => write!(f, " ORDER BY [{}]", sort_text(&params.order_by)),
    }
}

fn window_text(
    call: &WindowFunction,
    (arguments, parts): (&str, &str),
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let params = &call.params;
    write!(f, "{}({arguments})", call.fun.name())?;
    if let Some(filter) = &params.filter {
        write!(f, " FILTER (WHERE {filter})")?;
    }
    if !parts.is_empty() {
        write!(f, " PARTITION BY [{parts}]")?;
    }
    if !params.order_by.is_empty() {
        write!(f, " ORDER BY [{}]", sort_text(&params.order_by))?;
    }
    write!(f, " {}", params.window_frame)
}

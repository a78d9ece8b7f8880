//! `Prepared`: the statement that a fragment of a body has become, kept as long as the variables that it may name are of the same types.

use std::sync::{Arc, Mutex, PoisonError};

use sqlparser::ast;

use super::sight::{Layout, Scope};
use super::words::Words;
use crate::error::StatementFault;
use crate::operators::formula::Formula;
use crate::parse::plpgsql::tree::Target;
use crate::parse::subscript_assignment::with_root;
use crate::query::QueryPlan;
use crate::scan::OutputColumn;
use crate::sql::Statement;
use crate::system::{CommonRows, StatementContext, Variables};
use crate::tree::Plan;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// What a fragment has become.
#[derive(Debug)]
pub(super) struct Prepared {
    words: Words,
    /// Whether it may read what others have committed meanwhile.
    pub(super) reads_anew: bool,
    /// What it was for the variables last seen.
    known: Mutex<Option<Arc<Known>>>,
    text: String,
    /// Of an assignment to a part of a variable: its name.
    assigned: Option<Vec<String>>,
}

/// What it is for variables of these types.
#[derive(Debug)]
pub(super) struct Known {
    /// Where their values are found. `None`: they have to be looked for each time.
    layout: Option<Layout>,
    pub(super) variables: Arc<Variables>,
    /// The types of all that it may name.
    pub(super) types: Arc<[SqlType]>,
    /// Of a trigger.
    tables: Arc<[CommonRows]>,
    pub(super) statement: Arc<Statement>,
    formula: Mutex<Option<KnownFormula>>,
}

/// The plan of a query, and the formula that it is, with the column that it gives.
type KnownFormula = (Arc<QueryPlan>, Option<Arc<(Formula, OutputColumn)>>);

impl Known {
    /// Whether the tables of a trigger are those that it was made for.
    fn is_for(&self, tables: &[CommonRows]) -> bool {
        let mut both = self.tables.iter().zip(tables);
        self.tables.len() == tables.len() && both.all(|(known, table)| known.is_like(table))
    }

    /// Its value and type, where it is an expression over the variables alone, and is planned. Errors: the expression's.
    pub(super) fn compute(
        &self,
        ctx: &StatementContext,
        values: &[Value],
    ) -> Option<Result<(Value, SqlType)>> {
        let plan = self.statement.kept_query()?.get(ctx.plan_basis())?;
        let formula = {
            let mut known = self.formula.lock().unwrap_or_else(PoisonError::into_inner);
            match known.as_ref() {
                Some((of, formula)) if Arc::ptr_eq(of, &plan) => formula.clone()?,
                _ => {
                    let formula = self.formula_of(&plan).map(Arc::new);
                    *known = Some((plan, formula.clone()));
                    formula?
                }
            }
        };
        let (formula, column) = &*formula;
        let computed = formula.compute(values, &column.ty);
        let computed = computed.map(|value| (value, column.decided_type()));
        Some(computed.map_err(|error| self.statement.parsed.locate(error)))
    }

    fn formula_of(&self, plan: &QueryPlan) -> Option<(Formula, OutputColumn)> {
        let Plan::Projection(row) = plan.bound() else {
            return None;
        };
        let columns = plan.columns();
        match (row.expr.as_slice(), &*columns) {
            ([expr], [column]) if plan.is_of_constants() && *plan.parameters() == *self.types => {
                Some((Formula::of(expr, &self.types)?, column.clone()))
            }
            _ => None,
        }
    }
}

impl Prepared {
    /// Of `name[1] := value`: a query of the whole that the variable holds, with the part replaced.
    pub(super) fn of_assignment(target: &Target, value: &str) -> Prepared {
        let text = format!("{}{} {value}", target.name(), target.subscripts.concat());
        Prepared {
            text: format!("UPDATE t SET a{} = {value}", target.subscripts.concat()),
            assigned: Some(target.parts.clone()),
            reads_anew: value.contains('('),
            ..Prepared::new("", &text)
        }
    }

    /// Of the text of a statement, or of an expression with `before` in front of it.
    pub(super) fn new(before: &str, text: &str) -> Prepared {
        let reads_anew = reads_anew(before, text);
        let text = with_arguments_from_one(format!("{before}{text}"));
        Prepared {
            words: Words::of(&text),
            reads_anew,
            known: Mutex::default(),
            text,
            assigned: None,
        }
    }

    /// What it is for the variables at hand, and their values. Errors: 42601; 55000 for a record that nothing was assigned to.
    /// `tables`: those of the trigger.
    pub(super) fn known(&self, scope: &Scope<'_>, tables: &[CommonRows]) -> Result<(Arc<Known>, Vec<Value>)> {
        let mut last = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let last_good = last.as_ref().filter(|known| known.is_for(tables));
        if let Some(known) = last_good
            && let Some(layout) = &known.layout
            && let Some(values) = layout.values(scope)
        {
            return Ok((Arc::clone(known), values));
        }
        let seen = scope.visible(&self.words)?;
        let as_before = last_good.filter(|known| *known.variables == seen.variables);
        let statement = match (as_before, &self.assigned) {
            (Some(known), _) => Arc::clone(&known.statement),
            (None, None) => Arc::new(only_statement(&self.text)?),
            (None, Some(parts)) => Arc::new(part_assignment(&self.text, parts)?),
        };
        let (values, types): (Vec<_>, Vec<_>) = seen.values.into_iter().unzip();
        let known = Arc::new(Known {
            layout: seen.layout,
            variables: Arc::new(seen.variables),
            types: types.into(),
            tables: tables.iter().map(CommonRows::anew).collect(),
            statement,
            formula: Mutex::default(),
        });
        *last = Some(Arc::clone(&known));
        Ok((known, values))
    }
}

/// Whether a fragment may read what others have committed meanwhile: an expression over variables alone does not.
fn reads_anew(before: &str, text: &str) -> bool {
    let reads = |words: &[u8]| words.eq_ignore_ascii_case(b"from");
    before.is_empty() || text.contains('(') || text.as_bytes().windows(4).any(reads)
}

/// TG_ARGV counts from zero, as no other array does: its subscripts get one more.
fn with_arguments_from_one(text: String) -> String {
    let is_of_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    let bytes = text.as_bytes();
    let (mut counted, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let length = match byte {
            b'\'' | b'"' => match bytes[at + 1..].iter().position(|other| other == byte) {
                Some(length) => length + 2,
                None => bytes.len() - at,
            },
            _ => bytes[at..]
                .iter()
                .take_while(|byte| is_of_word(byte))
                .count()
                .max(1),
        };
        let end = at + length;
        let word = &bytes[at..end];
        let is_name = word.eq_ignore_ascii_case(b"tg_argv") || word == b"\"tg_argv\"";
        let blanks = bytes[end..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let bracket = end + blanks;
        if is_name && bytes.get(bracket) == Some(&b'[') {
            counted.push_str(&text[copied..=bracket]);
            counted.push_str("1 + ");
            copied = bracket + 1;
        }
        at = end;
    }
    if copied == 0 {
        return text;
    }
    counted.push_str(&text[copied..]);
    counted
}

/// SELECT of what an UPDATE's only assignment computes, of a variable where it names a column. Errors: 42601.
fn part_assignment(update: &str, parts: &[String]) -> Result<Statement> {
    let updated = only_statement(update)?;
    let mut selected = crate::sql::parse("SELECT NULL")?;
    let value = match &updated.parsed.ast {
        ast::Statement::Update(update) => update.assignments.first().map(|assignment| &assignment.value),
        _ => None,
    };
    let (Some(value), Some(selected)) = (value, selected.pop()) else {
        return Err(Error::internal("an assignment that is none"));
    };
    let names = parts.iter().map(|part| ast::Ident::with_quote('"', part.clone()));
    let variable = match parts {
        [name] => ast::Expr::Identifier(ast::Ident::with_quote('"', name.clone())),
        _ => ast::Expr::CompoundIdentifier(names.collect()),
    };
    let value = with_root(value, variable);
    let mut parsed = selected.parsed;
    if let ast::Statement::Query(query) = &mut parsed.ast
        && let ast::SetExpr::Select(select) = query.body.as_mut()
    {
        select.projection = vec![ast::SelectItem::UnnamedExpr(value)];
    }
    Ok(Statement::new(parsed))
}

/// The statement of a text. Errors: 42601 for several.
pub(super) fn only_statement(text: &str) -> Result<Statement> {
    let mut statements = crate::sql::parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "cannot insert multiple commands into a prepared statement".to_string(),
            hint: None,
        }),
    }
}

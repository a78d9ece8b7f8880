//! Indexes over expressions, and of some rows only (`WHERE`): each is an index over hidden columns that are generated of the others,
//! so that writes compute them, entries hold them and `plan` reads them as it does any column.
//!
//! - An expression is a hidden column by itself. Where a query has it in a condition, or orders by it, it reads the column
//!   (`query::indexed_expressions`).
//! - The condition of a partial index is a hidden column before those of the index, `true` in the rows of which it holds and NULL in
//!   all others. So a unique index leaves these alone, as NULLs are never equal; and a query whose conditions say as much as the index's
//!   bounds the column.
//!
//! Rows that are there are given what they lack before the index is built (`backfill`).

use std::collections::{BTreeMap, HashMap};

use sqlparser::ast::{Expr, IndexColumn};

use super::few_values::few_values;
use super::index_key::{ExpressionColumn, Key, WrittenKey};
use super::index_terms;
use super::key::{self, KeyKind};
use super::row_expression;
use super::table_change::Change;
use crate::catalog::{
    ColumnDef, ColumnDefault, Generation, IndexBuckets, IndexExpression, KeyColumn, TableDef,
};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::parse::quoting::quote_ident;
use crate::query::{self, Clause};
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Reads the key of CREATE INDEX; the columns that it needs are `table`'s then. Errors: 42703, 42P17, 42803, 42804, 0A000.
pub(super) fn key(ctx: &StatementContext, table: &mut TableDef, written: WrittenKey<'_>) -> Result<Key> {
    let mut key = Key {
        columns: Vec::new(),
        expressions: Vec::new(),
        predicate: None,
        buckets: None,
        terms: None,
        classes: BTreeMap::new(),
        names: Vec::new(),
    };
    if let Some(condition) = written.condition {
        let predicate = condition_column(ctx, table, condition)?;
        key.columns.push(KeyColumn::ascending(predicate.column));
        key.predicate = Some(predicate);
    }
    if let Some(method) = written.inverted {
        if written.buckets.is_some() {
            return Err(Error::unsupported(
                "BUCKETS of an inverted index",
                Some("Leave them out."),
            ));
        }
        let parts: Vec<IndexColumn> = written.parts.iter().map(without_parentheses).collect();
        let column =
            |table: &mut TableDef, key: &mut Key, part: &IndexColumn| expression_part(ctx, table, key, part);
        index_terms::add_terms(
            table,
            &mut key,
            (&parts, method, has_plain_classes(ctx, method)),
            column,
        )?;
        return Ok(key);
    }
    for part in written.parts {
        match expression_part(ctx, table, &mut key, part)? {
            None => {
                let plain = key::key_columns(KeyKind::Index, &[without_parentheses(part)], &table.columns)?;
                let id = plain[0].column;
                let at = table.column_index_by_id(id);
                let name = at.map(|at| name_among(&key.names, &table.columns[at].name));
                key.names.extend(name);
                key.classes.extend(key::told_class(part).map(|class| (id, class)));
                key.columns.extend(plain);
            }
            Some(ExpressionColumn { id, ty }) => {
                let at = table.column_index_by_id(id);
                check_key_type(&ty, at.map_or("", |at| &table.columns[at].name))?;
                key::check_operator_class(part, &ty)?;
                key.classes.extend(key::told_class(part).map(|class| (id, class)));
                key.columns.push(key::key_column(id, part));
            }
        }
    }
    if let Some(count) = written.buckets {
        let column = bucket_column(table, &key, count)?;
        key.columns.insert(0, KeyColumn::ascending(column));
        key.buckets = Some(IndexBuckets { column, count });
    }
    Ok(key)
}

/// Whether values that sort may stand in an inverted index beside others.
pub(super) fn has_plain_classes(ctx: &StatementContext, method: &str) -> bool {
    match method {
        "gin" => ctx.catalog.extensions.contains_key("btree_gin"),
        _ => true,
    }
}

/// Adds to a key the expression that a part is; answers the column that holds it. `None`: the part is a column.
fn expression_part(
    ctx: &StatementContext,
    table: &mut TableDef,
    key: &mut Key,
    part: &IndexColumn,
) -> Result<Option<ExpressionColumn>> {
    let Some(expr) = expression(part) else {
        return Ok(None);
    };
    let expression = expression_column(ctx, table, expr)?;
    let id = expression.column;
    let at = table.column_index_by_id(id);
    let at = at.ok_or_else(|| Error::internal("a column that was added is not there"))?;
    key.names
        .push(name_among(&key.names, &query::index_column_name(expr)));
    key.expressions.push(expression);
    let ty = table.columns[at].ty.clone();
    Ok(Some(ExpressionColumn { id, ty }))
}

/// The hidden column that says in which of so many buckets an entry stands: by the hash of all that the index is over.
fn bucket_column(table: &mut TableDef, key: &Key, count: u16) -> Result<ColumnId> {
    let (mut texts, mut inputs) = (Vec::new(), Vec::new());
    let sorted = key.columns.iter().skip(usize::from(key.predicate.is_some()));
    for part in sorted {
        let at = table.column_index_by_id(part.column);
        let at = at.ok_or_else(|| Error::internal("a column of a key that is not there"))?;
        let column = &table.columns[at];
        match column.generation() {
            Some(generation) => {
                texts.push(format!("({})", generation.sql));
                inputs.extend(&generation.inputs);
            }
            None => {
                texts.push(quote_ident(&column.name));
                inputs.push(column.id);
            }
        }
    }
    inputs.sort_unstable();
    inputs.dedup();
    let sql = format!("hash32({}) % {count}", texts.join(", "));
    let values = Some((0, i64::from(count) - 1));
    let generation = Generation {
        sql,
        inputs,
        values,
        text: None,
        written: None,
    };
    let id = hidden_column(table, generation, &format!("bucket({count})"), SqlType::Int2)?;
    // A hash is never NULL, whatever is hashed.
    let column = table.columns.iter_mut().find(|column| column.id == id);
    column.into_iter().for_each(|column| column.not_null = true);
    Ok(id)
}

/// What a part is computed of, if it is no column.
pub(super) fn expression(part: &IndexColumn) -> Option<&Expr> {
    let mut expr = &part.column.expr;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    let mut named = expr;
    while let Expr::Collate { expr: inner, .. } | Expr::Nested(inner) = named {
        named = inner;
    }
    (!matches!(named, Expr::Identifier(_))).then_some(expr)
}

/// A column that stands in parentheses, without these.
fn without_parentheses(part: &IndexColumn) -> IndexColumn {
    let mut part = part.clone();
    while let Expr::Nested(inner) = part.column.expr {
        part.column.expr = *inner;
    }
    part
}

/// What an index is named after for a part, which differs from the names of those before it: `expr`, `expr1`.
fn name_among(names: &[String], base: &str) -> String {
    let numbered = (1..).map(|number| format!("{base}{number}"));
    let mut candidates = std::iter::once(base.to_string()).chain(numbered);
    let free = candidates.find(|name| !names.contains(name));
    free.unwrap_or_else(|| base.to_string())
}

/// The hidden column of an expression: one that the table has, or a new one.
fn expression_column(ctx: &StatementContext, table: &mut TableDef, expr: &Expr) -> Result<IndexExpression> {
    let expr = row_expression::kept(ctx, expr, &table.name);
    let clause = Clause::IndexExpression;
    row_expression::check_no_subquery(&expr, "index expression")?;
    let (inputs, computed) = computed(table, &expr)?;
    let ty = dml::computed_type(ctx, (&table.name, &table.columns), &computed, &inputs, clause)?;
    let ty = match ty {
        SqlType::Unknown => SqlType::Text,
        ty => ty,
    };
    let expr = query::pinned_condition(ctx, table, &expr)?;
    let (text, pretty_text) = query::condition_text(ctx, table, &expr)?;
    let computed = query::pinned_condition(ctx, table, &computed)?;
    let sql = computed.to_string();
    let written = written(&expr, &computed, str::to_string);
    let values = few_values(&expr, &table.columns);
    let column = hidden_column(
        table,
        Generation {
            sql,
            inputs,
            values,
            text: None,
            written,
        },
        &pretty_text,
        ty,
    )?;
    Ok(IndexExpression {
        column,
        text,
        pretty_text,
        is_call: matches!(
            expr,
            Expr::Function(_)
                | Expr::Substring { .. }
                | Expr::Overlay { .. }
                | Expr::Trim { .. }
                | Expr::Position { .. }
                | Expr::Extract { .. }
                | Expr::Ceil { .. }
                | Expr::Floor { .. }
        ),
    })
}

/// The hidden column of a condition.
fn condition_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    condition: &Expr,
) -> Result<IndexExpression> {
    let expr = row_expression::kept(ctx, condition, &table.name);
    let clause = Clause::IndexPredicate;
    row_expression::check_no_subquery(&expr, "index predicate")?;
    let (inputs, computed) = computed(table, &expr)?;
    let ty = dml::computed_type(ctx, (&table.name, &table.columns), &computed, &inputs, clause)?;
    if !matches!(ty, SqlType::Bool | SqlType::Unknown) {
        return Err(Error::DatatypeMismatch {
            message: format!(
                "argument of WHERE must be type boolean, not type {}",
                ty.full_base_name()
            ),
            hint: None,
        });
    }
    let expr = query::pinned_condition(ctx, table, &expr)?;
    let (text, pretty_text) = query::condition_text(ctx, table, &expr)?;
    let computed = query::pinned_condition(ctx, table, &computed)?;
    let sql = condition_sql(&computed.to_string());
    let written = written(&expr, &computed, condition_sql);
    let name = format!("WHERE {pretty_text}");
    let values = None;
    let column = hidden_column(
        table,
        Generation {
            sql,
            inputs,
            values,
            text: None,
            written,
        },
        &name,
        SqlType::Bool,
    )?;
    Ok(IndexExpression {
        column,
        text,
        pretty_text,
        is_call: false,
    })
}

/// What an expression is computed of: its columns, and it with the expressions of generated columns in their places. Errors: `Corrupt`.
fn computed(table: &TableDef, expr: &Expr) -> Result<(Vec<ColumnId>, Expr)> {
    let mut inputs = row_expression::columns_named(expr, &table.columns);
    let is_named = |column: &&ColumnDef| inputs.contains(&column.id);
    let generated: Vec<(&ColumnDef, &Generation)> = table
        .columns
        .iter()
        .filter(is_named)
        .filter_map(|column| Some((column, column.generation()?)))
        .collect();
    let mut computed = expr.clone();
    for (column, generation) in &generated {
        let value = format!("(({})::{})", generation.sql, column.ty.full_base_name());
        let value = dml::parse_expression(&value)?;
        row_expression::put(&mut computed, &column.name, &value);
    }
    let of_generated: Vec<ColumnId> = generated
        .iter()
        .flat_map(|(_, generation)| generation.inputs.clone())
        .collect();
    inputs.extend(of_generated);
    inputs.sort_unstable();
    inputs.dedup();
    Ok((inputs, computed))
}

/// The text of an expression as it was written, if that is not how it is computed.
fn written(expr: &Expr, computed: &Expr, text: impl Fn(&str) -> String) -> Option<String> {
    (expr != computed).then(|| text(&expr.to_string()))
}

fn hidden_column(table: &mut TableDef, generation: Generation, name: &str, ty: SqlType) -> Result<ColumnId> {
    let is_same = |column: &&ColumnDef| {
        // One that is unverified another session is filling, and may take back.
        let is_there = column.hidden && column.unverified.is_none();
        is_there && column.generation() == Some(&generation) && column.ty == ty
    };
    let known = table.columns.iter().find(is_same);
    if let Some(known) = known {
        return Ok(known.id);
    }
    let name = match table.has_column_named(name) {
        false => name.to_string(),
        true => format!("{name} ({})", table.next_column_id),
    };
    table.add_column(ColumnDef {
        default: Some(ColumnDefault::Generated(generation)),
        ..ColumnDef::hidden(table.next_column_id, name, ty)
    })
}

/// A column has another type, and so may what is computed of it for indexes. Errors: those of binding; 0A000 for a type that no key has.
pub(super) fn retype_column(ctx: &StatementContext, change: &mut Change, id: ColumnId) -> Result<()> {
    let table = &mut change.table;
    // As they are printed they say what their literals and operands are.
    let mut printed: HashMap<ColumnId, String> = HashMap::new();
    for index in &table.indexes {
        let expressions = index.expressions.iter();
        printed.extend(expressions.map(|expression| (expression.column, expression.text.clone())));
        let predicate = index.predicate.as_ref();
        printed.extend(predicate.map(|predicate| (predicate.column, condition_sql(&predicate.text))));
    }
    for at in 0..table.columns.len() {
        let column = &mut table.columns[at];
        let Some(text) = printed.get(&column.id) else {
            continue;
        };
        let Some(ColumnDefault::Generated(generation)) = &mut column.default else {
            continue;
        };
        if !generation.inputs.contains(&id) {
            continue;
        }
        if let Some(written) = &mut generation.written {
            written.clone_from(text);
            continue;
        }
        generation.sql.clone_from(text);
        let (generation, column) = (generation.clone(), column.clone());
        let expr = dml::parse_expression(text)?;
        let columns = (table.name.as_str(), table.columns.as_slice());
        let ty = dml::computed_type(ctx, columns, &expr, &generation.inputs, Clause::IndexExpression)?;
        let terms = table.indexes.iter().flat_map(|index| &index.terms);
        match table
            .indexes
            .iter()
            .any(|index| index.term_sources().any(|source| source.column == column.id))
        {
            true => index_terms::check_type(terms, column.id, &ty)?,
            false => check_key_type(&ty, &column.name)?,
        }
        if ty != column.ty {
            table.columns[at].ty = ty;
            change.rewrite.get_or_insert_default();
        }
    }
    print(ctx, &mut change.table, id)
}

/// Prints the expressions anew that are of a column: it has another name, by which they name it already, or another type. Errors: `Corrupt`; those
/// of binding.
pub(super) fn print(ctx: &StatementContext, table: &mut TableDef, id: ColumnId) -> Result<()> {
    let generation = |table: &TableDef, column: ColumnId| {
        let at = table.column_index_by_id(column);
        let generation = at.and_then(|at| table.columns[at].generation());
        generation
            .filter(|generation| generation.inputs.contains(&id))
            .cloned()
    };
    for index in 0..table.indexes.len() {
        for place in 0..table.indexes[index].expressions.len() {
            let column = table.indexes[index].expressions[place].column;
            if let Some(generation) = generation(table, column) {
                let expr = dml::parse_expression(generation.written())?;
                let texts = query::condition_text(ctx, table, &expr)?;
                let expression = &mut table.indexes[index].expressions[place];
                (expression.text, expression.pretty_text) = texts;
            }
        }
        let column = table.indexes[index]
            .predicate
            .as_ref()
            .map(|predicate| predicate.column);
        if column.and_then(|column| generation(table, column)).is_none() {
            continue;
        }
        if let Some(condition) = query::index_condition(table, &table.indexes[index])? {
            let texts = query::condition_text(ctx, table, &condition)?;
            if let Some(predicate) = &mut table.indexes[index].predicate {
                (predicate.text, predicate.pretty_text) = texts;
            }
        }
    }
    name_hidden_columns(table);
    Ok(())
}

/// What the column of a partial index's condition is computed by.
fn condition_sql(condition: &str) -> String {
    format!("CASE WHEN {condition} THEN true END")
}

/// Hidden columns are named by what they hold: errors say it.
fn name_hidden_columns(table: &mut TableDef) {
    let names: Vec<(ColumnId, String)> = table
        .indexes
        .iter()
        .flat_map(|index| index.expressions.iter())
        .map(|expression| (expression.column, expression.pretty_text.clone()))
        .collect();
    for (id, name) in names {
        let at = table.column_index_by_id(id);
        if let Some(at) = at.filter(|_| !table.has_column_named(&name)) {
            table.columns[at].name = name;
        }
    }
}

//! UPDATE, DELETE and MERGE of a partitioned table: the same statement of each of its partitions, one after the other, all of which see the tables as
//! they were before the first.

use std::sync::Arc;

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
};

use super::cell::is_default;
use super::default::parse_expression;
use super::merge_kind::Kind;
use super::view_target::target_of;
use crate::catalog::{Access, ColumnDefault, Object, TableDef};
use crate::parse::names;
use crate::parse::walk::{WalkMut, change_outside_subqueries};
use crate::sql::relation::get_relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The partitioned table that an UPDATE, DELETE or MERGE writes to, unless ONLY leaves its partitions out. Errors: 42P01.
pub(super) fn partitioned_target(
    ctx: &StatementContext,
    statement: &ast::Statement,
) -> Result<Option<Arc<TableDef>>> {
    let name = match statement {
        ast::Statement::Update(_) | ast::Statement::Delete(_) => target_of(statement),
        ast::Statement::Merge(merge) => match &merge.table {
            TableFactor::Table { name, .. } => Some(name),
            _ => None,
        },
        _ => None,
    };
    let Some(name) = name.filter(|name| !ctx.hints.names_only(name)) else {
        return Ok(None);
    };
    match get_relation(ctx, name, Access::Name)? {
        Some(Object::Table(table)) if table.partitioning.is_some() => Ok(Some(Arc::clone(table))),
        _ => Ok(None),
    }
}

/// The statement of a table for a partition of it, which is called as the table is. Errors: 0A000.
pub(super) fn of_partition(
    statement: &ast::Statement,
    table: &TableDef,
    partition: &TableDef,
) -> Result<ast::Statement> {
    let (mut statement, mut none) = (statement.clone(), None);
    let (factor, returning, reads_more) = match &mut statement {
        ast::Statement::Update(update) => {
            state_defaults(&mut update.assignments, table)?;
            let reads_more = update.from.is_some();
            (&mut update.table.relation, &mut update.returning, reads_more)
        }
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                &mut delete.from;
            let factor = from.first_mut().map(|table| &mut table.relation);
            let factor = factor.ok_or_else(|| Error::internal("a DELETE without its table"))?;
            (factor, &mut delete.returning, delete.using.is_some())
        }
        ast::Statement::Merge(merge) => {
            merge
                .clauses
                .retain(|clause| Kind::of(&clause.clause_kind) != Kind::NotMatched);
            for clause in &mut merge.clauses {
                if let ast::MergeAction::Update(update) = &mut clause.action {
                    state_defaults(&mut update.assignments, table)?;
                }
            }
            (&mut merge.table, &mut none, true)
        }
        _ => {
            return Err(Error::internal(
                "a write of a partitioned table that is none of its partitions",
            ));
        }
    };
    let TableFactor::Table { name, alias, .. } = factor else {
        return Err(Error::internal("a write to no table"));
    };
    *name = names::quoted_relation(&partition.schema, &partition.name);
    let alias = alias.get_or_insert_with(|| ast::TableAlias {
        explicit: true,
        name: Ident::with_quote('"', &table.name),
        columns: Vec::new(),
        at: None,
    });
    let known_as = alias.name.clone();
    if let Some(items) = returning {
        in_order(items, &known_as, (table, partition), reads_more)?;
    }
    // Beside other tables it may be a column of theirs; but for its type a whole row of the partition is one of the table.
    if !reads_more || column_names(table) != column_names(partition) {
        name_whole_rows(&mut statement, &known_as, (table, partition));
    }
    Ok(statement)
}

/// Has `SET column = DEFAULT` give the default of the table, whatever that of a partition is. Errors: `Corrupt`.
pub(super) fn state_defaults(assignments: &mut [Assignment], table: &TableDef) -> Result<()> {
    let state = |name: &ObjectName, value: &mut Expr| -> Result<()> {
        let column = names::last_name(name).and_then(|name| table.column_index(&name));
        let column = column.map(|at| &table.columns[at]);
        let Some(column) = column.filter(|column| column.domain.is_none() && is_default(value)) else {
            return Ok(());
        };
        *value = match &column.default {
            None => parse_expression("NULL")?,
            Some(ColumnDefault::Constant { sql, .. } | ColumnDefault::Expression { sql, .. }) => {
                parse_expression(sql)?
            }
            Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) => parse_expression(
                &format!("pg_catalog.nextval({oid}::pg_catalog.oid::pg_catalog.regclass)"),
            )?,
            // It has it of the table.
            Some(ColumnDefault::RowId | ColumnDefault::Generated(_)) => return Ok(()),
        };
        Ok(())
    };
    for assignment in assignments {
        match (&assignment.target, &mut assignment.value) {
            (AssignmentTarget::ColumnName(name), value) => state(name, value)?,
            (AssignmentTarget::Tuple(names), Expr::Tuple(values)) => {
                let mut pairs = names.iter().zip(values);
                pairs.try_for_each(|(name, value)| state(name, value))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Has the name of the table, where it stands for a whole row, give one of the table's type. Within subqueries it may be a column of others.
pub(super) fn name_whole_rows<T: WalkMut>(
    tree: &mut T,
    known_as: &Ident,
    (table, partition): (&TableDef, &TableDef),
) {
    let name = names::fold(known_as);
    if partition.has_column_named(&name) {
        return;
    }
    let whole = Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::Tuple(columns_of(known_as, table).collect())),
        data_type: DataType::Custom(names::quoted_relation(&table.schema, &table.name), Vec::new()),
        array: false,
        format: None,
    };
    let is_named = |of: &ObjectName| names::last_name(of).as_deref() == Some(name.as_str());
    change_outside_subqueries(tree, |expr| match expr {
        Expr::Identifier(named) if names::fold(named) == name => expr.clone_from(&whole),
        Expr::QualifiedWildcard(of, _) if is_named(of) => expr.clone_from(&whole),
        Expr::Function(call) => {
            let FunctionArguments::List(list) = &mut call.args else {
                return;
            };
            for argument in &mut list.args {
                if matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(of)) if is_named(of))
                {
                    *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(whole.clone()));
                }
            }
        }
        _ => {}
    });
}

/// The columns of a table, behind the name that it is known by.
fn columns_of<'t>(known_as: &'t Ident, table: &'t TableDef) -> impl Iterator<Item = Expr> {
    let names = column_names(table).into_iter();
    names.map(|name| Expr::CompoundIdentifier(vec![known_as.clone(), Ident::with_quote('"', name)]))
}

fn column_names(table: &TableDef) -> Vec<&str> {
    let columns = table.visible_columns();
    columns.map(|column| column.name.as_str()).collect()
}

/// Has `*` give the columns in the order of the table, and whole rows keep their name.
pub(super) fn in_order(
    items: &mut Vec<SelectItem>,
    known_as: &Ident,
    (table, partition): (&TableDef, &TableDef),
    reads_more: bool,
) -> Result<()> {
    let row = names::fold(known_as);
    for item in items.iter_mut() {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name))
                if names::fold(name) == row && !partition.has_column_named(&row) =>
            {
                *item = SelectItem::ExprWithAlias {
                    expr: Expr::Identifier(name.clone()),
                    alias: name.clone(),
                };
            }
            _ => {}
        }
    }
    if column_names(table) == column_names(partition) {
        return Ok(());
    }
    let columns = || columns_of(known_as, table).map(SelectItem::UnnamedExpr);
    let mut ordered = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match &item {
            SelectItem::Wildcard(_) if reads_more => {
                return Err(Error::unsupported(
                    "RETURNING * of a partition whose columns stand in another order, beside other tables",
                    Some("Name the columns."),
                ));
            }
            SelectItem::Wildcard(_) => ordered.extend(columns()),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _)
                if names::last_name(name) == Some(names::fold(known_as)) =>
            {
                ordered.extend(columns());
            }
            _ => ordered.push(item),
        }
    }
    *items = ordered;
    Ok(())
}

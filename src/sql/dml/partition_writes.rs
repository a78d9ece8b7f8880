//! UPDATE and DELETE of a partitioned table: the same statement of each of its partitions, one after the other, all of which see the tables as
//! they were before the first.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    VisitorMut,
};

use super::cell::is_default;
use super::default::parse_expression;
use super::view_target::target_of;
use crate::catalog::{Access, ColumnDefault, Object, TableDef};
use crate::parse::names;
use crate::parse::walk::WalkMut;
use crate::sql::relation::get_relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The partitioned table that an UPDATE or DELETE writes to, unless ONLY leaves its partitions out. Errors: 42P01, 0A000 for MERGE into one.
pub(super) fn partitioned_target(
    ctx: &StatementContext,
    statement: &ast::Statement,
) -> Result<Option<Arc<TableDef>>> {
    let name = match statement {
        ast::Statement::Update(_) | ast::Statement::Delete(_) => target_of(statement),
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
    let mut statement = statement.clone();
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
            // It has it of the table.
            Some(_) => return Ok(()),
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
    let columns = table.visible_columns().map(|column| {
        let parts = vec![known_as.clone(), Ident::with_quote('"', &column.name)];
        Expr::CompoundIdentifier(parts)
    });
    let whole = Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::Tuple(columns.collect())),
        data_type: DataType::Custom(names::quoted_relation(&table.schema, &table.name), Vec::new()),
        array: false,
        format: None,
    };
    let _ = tree.walk_mut(&mut WholeRows {
        name,
        whole,
        subqueries: 0,
    });
}

/// Puts whole rows in the place of their name.
struct WholeRows {
    name: String,
    whole: Expr,
    /// How many subqueries it is in.
    subqueries: usize,
}

impl WholeRows {
    fn names(&self, of: &ObjectName) -> bool {
        names::last_name(of).as_deref() == Some(self.name.as_str())
    }
}

impl VisitorMut for WholeRows {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.subqueries > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(named) if names::fold(named) == self.name => expr.clone_from(&self.whole),
            Expr::QualifiedWildcard(of, _) if self.names(of) => expr.clone_from(&self.whole),
            Expr::Function(call) => {
                let FunctionArguments::List(list) = &mut call.args else {
                    return ControlFlow::Continue(());
                };
                for argument in &mut list.args {
                    let is_whole = matches!(
                        argument,
                        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(of)) if self.names(of)
                    );
                    if is_whole {
                        *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(self.whole.clone()));
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
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
    let columns = || {
        let columns = column_names(table).into_iter();
        columns.map(|name| {
            let parts = vec![known_as.clone(), Ident::with_quote('"', name)];
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
        })
    };
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

//! Reserved words where a name stands, which sqlparser takes there: `CREATE TABLE t (user text)` would make a column that `SELECT user`
//! does not read. Asked by `tree` of every statement that was read.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterTableOperation, AssignmentTarget, ColumnDef, CreateTable, Cte, Expr, Ident, Insert, ObjectName,
    Query, RenameTableNameKind, SchemaName, Select, Statement, TableAlias, TableConstraint, TableFactor,
    Visitor,
};
use sqlparser::tokenizer::Span;

use super::quoting::is_fully_reserved;
use super::walk::Walk;

/// The first reserved word, not quoted, that the statement has as a name; as it is written, with its place.
pub(super) fn find(statement: &Statement) -> Option<Ident> {
    match statement.walk(&mut Names) {
        ControlFlow::Break(ident) => Some(ident),
        ControlFlow::Continue(()) => None,
    }
}

struct Names;

type Flow = ControlFlow<Ident>;

impl Visitor for Names {
    type Break = Ident;

    fn pre_visit_statement(&mut self, statement: &Statement) -> Flow {
        match statement {
            Statement::CreateTable(create) => of_table(create),
            Statement::CreateView(view) => {
                check_first(&view.name)?;
                view.columns.iter().try_for_each(|column| check(&column.name))
            }
            Statement::CreateSchema {
                schema_name: SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _),
                ..
            } => check_first(name),
            Statement::Drop { names, .. } => names.iter().try_for_each(check_first),
            Statement::CreateIndex(index) => index.name.iter().try_for_each(check_first),
            Statement::CreateSequence { name, .. } => check_first(name),
            Statement::AlterTable(alter) => alter.operations.iter().try_for_each(of_action),
            Statement::Insert(insert) => of_insert(insert),
            Statement::Update(update) => update
                .assignments
                .iter()
                .try_for_each(|assignment| of_target(&assignment.target)),
            _ => Flow::Continue(()),
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> Flow {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        tables.map(|cte: &Cte| &cte.alias).try_for_each(of_alias)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Flow {
        select
            .named_window
            .iter()
            .try_for_each(|definition| check(&definition.0))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Flow {
        check_first(relation)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Flow {
        match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => alias.iter().try_for_each(of_alias),
            _ => Flow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Flow {
        match expr {
            // What is said of no column: a value of INSERT and SET.
            Expr::Identifier(name) if name.value.eq_ignore_ascii_case("default") => Flow::Continue(()),
            Expr::Identifier(name) => check(name),
            Expr::CompoundIdentifier(names) => names.first().map_or(Flow::Continue(()), check),
            _ => Flow::Continue(()),
        }
    }
}

fn of_table(create: &CreateTable) -> Flow {
    create.columns.iter().try_for_each(of_column)?;
    create.constraints.iter().try_for_each(of_constraint)
}

fn of_column(column: &ColumnDef) -> Flow {
    check(&column.name)?;
    let constraints = column.options.iter().filter_map(|option| option.name.as_ref());
    constraints.into_iter().try_for_each(check)
}

fn of_constraint(constraint: &TableConstraint) -> Flow {
    let name = match constraint {
        TableConstraint::Unique(constraint) => &constraint.name,
        TableConstraint::PrimaryKey(constraint) => &constraint.name,
        TableConstraint::ForeignKey(constraint) => &constraint.name,
        TableConstraint::Check(constraint) => &constraint.name,
        _ => &None,
    };
    name.iter().try_for_each(check)
}

fn of_action(action: &AlterTableOperation) -> Flow {
    match action {
        AlterTableOperation::AddColumn { column_def, .. } => of_column(column_def),
        AlterTableOperation::AddConstraint { constraint, .. } => of_constraint(constraint),
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => [old_column_name, new_column_name].into_iter().try_for_each(check),
        AlterTableOperation::RenameTable {
            table_name: RenameTableNameKind::To(name) | RenameTableNameKind::As(name),
        } => check_first(name),
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            [old_name, new_name].into_iter().try_for_each(check)
        }
        AlterTableOperation::DropColumn { column_names, .. } => column_names.iter().try_for_each(check),
        AlterTableOperation::AlterColumn { column_name, .. } => check(column_name),
        _ => Flow::Continue(()),
    }
}

fn of_insert(insert: &Insert) -> Flow {
    insert.columns.iter().try_for_each(check_first)
}

fn of_target(target: &AssignmentTarget) -> Flow {
    match target {
        AssignmentTarget::ColumnName(name) => check_first(name),
        AssignmentTarget::Tuple(names) => names.iter().try_for_each(check_first),
    }
}

fn of_alias(alias: &TableAlias) -> Flow {
    check(&alias.name)?;
    alias.columns.iter().try_for_each(|column| check(&column.name))
}

/// Behind a point any word is a name.
fn check_first(name: &ObjectName) -> Flow {
    let first = name.0.first().and_then(|part| part.as_ident());
    first.map_or(Flow::Continue(()), check)
}

/// What the text does not have was put into the tree for what has no place in it.
fn check(name: &Ident) -> Flow {
    match name.quote_style.is_none() && name.span != Span::empty() && is_fully_reserved(&name.value) {
        true => Flow::Break(name.clone()),
        false => Flow::Continue(()),
    }
}

//! What names mean inside a SELECT: the relations of its FROM, and those of the queries around it.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};

use super::bound::Bound;
use super::clause::Clause;
use super::indexed_column::IndexedColumn;
use super::row_origin::RowOrigin;
use crate::catalog::TableDef;
use crate::error::{StatementFault, levenshtein, nearest_name};
use crate::parse::VERSION_TIME_END;
use crate::tree::{Column, Expr, Transformed, TreeNode, TreeNodeRecursion};
use crate::types::{RecordType, SqlType};
use crate::{Error, Result};

/// A named column of a relation or of a join.
#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    /// The name the user sees.
    pub(super) name: String,
    /// What it stands for.
    pub(super) bound: Bound,
}

/// A column's name as it is written.
#[derive(Clone, Copy)]
pub(super) struct ColumnName<'a> {
    /// What stands before it.
    pub(super) relation: Option<&'a str>,
    /// The name itself, folded.
    pub(super) name: &'a str,
    /// Whether it is in double quotes.
    pub(super) is_quoted: bool,
}

/// A relation of FROM.
#[derive(Debug, Clone)]
pub(super) struct ScopeRelation {
    /// Its alias or name.
    pub(super) name: String,
    /// Its schema, when it was not given an alias.
    pub(super) schema: Option<String>,
    /// The name of its table or view, where that is hidden by an alias.
    pub(super) hidden_name: Option<String>,
    /// Its columns.
    pub(super) columns: Vec<ScopeColumn>,
    /// Columns that `*` leaves out.
    pub(super) hidden: Vec<ScopeColumn>,
    /// Where its rows are from: tables of PostgreSQL have more columns.
    pub(super) origin: RowOrigin,
    /// Columns (positions) that the primary key pins: grouping by them groups by the row.
    pub(super) key: Vec<usize>,
    /// Whether it stands for one value a row, as a function in FROM does: its whole row is that value.
    pub(super) is_value: bool,
    /// Whether an outer join may show NULLs in the place of its rows.
    pub(super) may_be_missing: bool,
    /// What indexes of its table hold beside its columns.
    pub(super) indexed: Vec<IndexedColumn>,
    /// The table that it is, if that gets columns that writes name.
    pub(super) dynamic_table: Option<Arc<TableDef>>,
    /// The type of its whole row, where that has a name.
    pub(super) row_type: Option<Arc<RecordType>>,
}

impl ScopeRelation {
    /// Rows of these columns under a name, and no more.
    pub(super) fn new(name: String, columns: Vec<ScopeColumn>) -> ScopeRelation {
        ScopeRelation {
            name,
            schema: None,
            hidden_name: None,
            columns,
            hidden: Vec::new(),
            origin: RowOrigin::Computed,
            key: Vec::new(),
            is_value: false,
            may_be_missing: false,
            indexed: Vec::new(),
            dynamic_table: None,
            row_type: None,
        }
    }
}

/// The FROM of one SELECT.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// What `*` expands to, and where unqualified names are looked up.
    pub(super) visible: Vec<ScopeColumn>,
    /// Where qualified names are looked up.
    pub(super) relations: Vec<ScopeRelation>,
}

/// The query around a subquery.
pub(super) struct Outer<'a> {
    /// Its names.
    pub(super) scope: &'a Scope,
    /// The query around that one.
    pub(super) parent: Option<&'a Outer<'a>>,
    /// Where the subquery stands in it; `None`: among the items of FROM.
    pub(super) clause: Option<Clause>,
    /// What the subquery uses of the query around: columns of `scope`, and its aggregates; each with the name it has in the subquery.
    pub(super) captured: RefCell<Vec<(Column, Expr)>>,
    /// Whether the subquery uses columns from further out as well.
    pub(super) reaches_out: RefCell<bool>,
}

/// Whether a name is that of the time of a column's versions, as SELECT knows it of tables that keep them.
pub(super) fn is_version_time(name: &str, is_column: impl Fn(&str) -> bool) -> bool {
    name.strip_suffix(VERSION_TIME_END).is_some_and(is_column)
}

/// What serves instead of a column that every table of PostgreSQL has, or instead of the time of a version.
fn hidden_column_hint<'a>(
    name: &str,
    mut relations: impl Iterator<Item = &'a ScopeRelation>,
) -> Option<&'static str> {
    let is_column =
        |relation: &ScopeRelation, name: &str| relation.columns.iter().any(|column| column.name == name);
    if relations.any(|relation| is_version_time(name, |name| is_column(relation, name))) {
        return Some(
            "Only SELECT tells the times of versions, of a table with VERSIONS or HISTORY: find the rows by one, as in \
             WHERE id IN (SELECT id FROM t WHERE …).",
        );
    }
    match name {
        "ctid" => Some("Rows of tables have it, those of views and subqueries do not."),
        "xmin" => Some("Rows of tables have it, those of views and subqueries do not."),
        "xmax" | "cmin" | "cmax" => Some(
            "Rows do not say which transactions wrote them: count their versions in a column of your own, or return what an INSERT ... \
             ON CONFLICT tells apart.",
        ),
        _ => None,
    }
}

impl<'a> Outer<'a> {
    /// The surroundings of a subquery that stands where `scope` is visible.
    pub(super) fn new(scope: &'a Scope, parent: Option<&'a Outer<'a>>, clause: Option<Clause>) -> Outer<'a> {
        Outer {
            scope,
            parent,
            clause,
            captured: RefCell::default(),
            reaches_out: RefCell::new(false),
        }
    }
}

impl Scope {
    /// The type of one of its columns.
    pub(super) fn type_of(&self, column: &Column) -> Option<&SqlType> {
        let relations = self.relations.iter();
        let columns = relations.flat_map(|relation| relation.columns.iter().chain(&relation.hidden));
        let mut columns = self.visible.iter().chain(columns);
        let is_it = |known: &&ScopeColumn| matches!(&known.bound.expr, Expr::Column(own) if own == column);
        columns.find(is_it).map(|known| &known.bound.ty)
    }

    /// An unqualified name. `None`: unknown here. Errors: 42702.
    pub(super) fn get_column(&self, name: &str) -> Result<Option<&Bound>> {
        let mut found = self.visible.iter().filter(|column| column.name == name);
        let Some(first) = found.next() else {
            return self.get_hidden(name);
        };
        if found.next().is_some() {
            return Err(Error::AmbiguousColumn {
                name: name.to_string(),
            });
        }
        Ok(Some(&first.bound))
    }

    /// A column that `*` leaves out (`tableoid`).
    fn get_hidden(&self, name: &str) -> Result<Option<&Bound>> {
        let mut found = self
            .relations
            .iter()
            .flat_map(|relation| &relation.hidden)
            .filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(Error::AmbiguousColumn {
                name: name.to_string(),
            }),
            (first, _) => Ok(first.map(|column| &column.bound)),
        }
    }

    /// The relation of this name. Errors: 42P09-like ambiguity as 42712.
    pub(super) fn get_relation(&self, schema: Option<&str>, name: &str) -> Option<&ScopeRelation> {
        self.relations.iter().find(|relation| {
            relation.name == name && (schema.is_none() || relation.schema.as_deref() == schema)
        })
    }

    /// A qualified name. `None`: no such relation here. Errors: 42703.
    pub(super) fn get_qualified(
        &self,
        schema: Option<&str>,
        relation: &str,
        name: &str,
    ) -> Result<Option<&Bound>> {
        let Some(relation) = self.get_relation(schema, relation) else {
            return Ok(None);
        };
        let mut found = relation
            .columns
            .iter()
            .chain(&relation.hidden)
            .filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(Some(&column.bound)),
            (Some(_), Some(_)) => Err(Error::AmbiguousColumn {
                name: name.to_string(),
            }),
            (None, _) => Err(Error::UndefinedColumn {
                name: format!("{}.{name}", relation.name),
                hint: hidden_column_hint(name, std::iter::once(relation))
                    .map(str::to_string)
                    .or_else(|| {
                        nearest_name(name, relation.columns.iter().map(|column| column.name.as_str())).map(
                            |near| {
                                format!(
                                    "Perhaps you meant to reference the column \"{}.{near}\".",
                                    relation.name
                                )
                            },
                        )
                    }),
            }),
        }
    }

    /// The HINT for an unknown unqualified name.
    pub(super) fn hint_for(&self, name: &str, quoted: bool) -> Option<String> {
        if let Some(hint) = hidden_column_hint(name, self.relations.iter()) {
            return Some(hint.to_string());
        }
        let relations = self.relations.iter();
        let columns =
            relations.flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)));
        let near = nearest_name(name, columns.clone().map(|(_, column)| column.name.as_str()));
        // Of a string in the wrong quotes no column is meant that is only somewhat like it.
        let near = near.filter(|near| !quoted || levenshtein(name, near) <= 1);
        match near.and_then(|near| columns.clone().find(|(_, column)| column.name == near)) {
            Some((relation, near)) => Some(format!(
                "Perhaps you meant to reference the column \"{}.{}\".",
                relation.name, near.name
            )),
            _ if quoted => Some(format!(
                "Strings take single quotes: '{name}'. Double quotes name columns and tables."
            )),
            _ => None,
        }
    }

    /// The table of which an unknown name may become a column: that of the relation before the name, or any.
    pub(super) fn dynamic_table(&self, column: ColumnName<'_>) -> Option<&Arc<TableDef>> {
        let is_named = |known: &&ScopeRelation| column.relation.is_none_or(|name| name == known.name);
        let tables = self.relations.iter().filter(is_named);
        let mut tables = tables.filter_map(|known| known.dynamic_table.as_ref());
        tables.find(|table| table.may_get_column(column.name))
    }

    /// Notes that an outer join may show NULLs in the place of its rows.
    pub(super) fn note_may_be_missing(&mut self) {
        for relation in &mut self.relations {
            relation.may_be_missing = true;
            // What is the same in all its rows is not there in those that are not.
            let is_constant = |column: &ScopeColumn| matches!(column.bound.expr, Expr::Literal(..));
            relation.hidden.retain(|column| !is_constant(column));
        }
    }

    /// Adds the names of a joined FROM item. Errors: 42712 when a name is there already.
    pub(super) fn add_relations(&mut self, relations: Vec<ScopeRelation>) -> Result<()> {
        for relation in &relations {
            let clash = self.relations.iter().any(|other| {
                other.name == relation.name
                    && (other.schema.is_none()
                        || other.schema == relation.schema
                        || relation.schema.is_none())
            });
            if clash && !relation.name.is_empty() {
                return Err(Error::InvalidStatement {
                    state: StatementFault::DuplicateAlias,
                    message: format!("table name \"{}\" specified more than once", relation.name),
                    hint: None,
                });
            }
        }
        self.relations.extend(relations);
        Ok(())
    }
}

/// A column of a query further out, as seen from inside; noted in every query it passes through.
pub(super) fn capture(outer: &Outer<'_>, levels: usize, bound: &Bound) -> Bound {
    if let Expr::Column(column) = &bound.expr {
        note_captured(outer, levels, column, &bound.expr);
        return outer_reference(bound);
    }
    // An argument of a function, in the function's query: computed outside, under a name of its own.
    let computed = bound.expr.apply(|expr| {
        let is_subquery = matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..)
        );
        match is_subquery {
            true => Ok(TreeNodeRecursion::Stop),
            false => Ok(TreeNodeRecursion::Continue),
        }
    });
    let is_plain = computed.is_ok_and(|walked| walked != TreeNodeRecursion::Stop);
    if is_plain && !bound.expr.column_refs().is_empty() {
        let name = Column::new_unqualified(format!("?argument {}", bound.expr.schema_name()));
        note_captured(outer, levels, &name, &bound.expr);
        return outer_reference(&Bound {
            expr: Expr::Column(name),
            ..bound.clone()
        });
    }
    for column in bound.expr.column_refs() {
        note_captured(outer, levels, column, &Expr::Column(column.clone()));
    }
    let expr = bound.expr.clone().transform_up(|expr| match expr {
        Expr::Column(column) => {
            let field = Arc::new(Field::new(&column.name, DataType::Null, true));
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    });
    Bound {
        expr: expr.map_or_else(|_| bound.expr.clone(), |expr| expr.data),
        ..bound.clone()
    }
}

/// An aggregate of a query further out, as seen from inside, under a name.
pub(super) fn capture_aggregate(outer: &Outer<'_>, levels: usize, name: Column, aggregate: Bound) -> Bound {
    note_captured(outer, levels, &name, &aggregate.expr);
    outer_reference(&Bound {
        expr: Expr::Column(name),
        ..aggregate
    })
}

fn note_captured(outer: &Outer<'_>, levels: usize, name: &Column, expr: &Expr) {
    let mut at = outer;
    for _ in 0..levels {
        *at.reaches_out.borrow_mut() = true;
        match at.parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
    let mut captured = at.captured.borrow_mut();
    if !captured.iter().any(|(known, _)| known == name) {
        captured.push((name.clone(), expr.clone()));
    }
}

/// The bound expression with every column of it as an outer reference.
fn outer_reference(bound: &Bound) -> Bound {
    match &bound.expr {
        Expr::Column(column) => {
            let field = Arc::new(Field::new(&column.name, bound.ty.arrow_type(), true));
            Bound {
                expr: Expr::OuterReferenceColumn(field, column.clone()),
                ..bound.clone()
            }
        }
        _ => bound.clone(),
    }
}

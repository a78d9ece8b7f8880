//! What MERGE adds to what was written: a column that tells whether a row of the source is there, and one for `merge_action()`. Their names
//! no statement can write.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Expr, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, VisitorMut,
    WildcardAdditionalOptions,
};

use super::target::Target;
use crate::parse::walk::WalkMut;
use crate::parse::{names, parse_query};
use crate::query::{RowColumn, RowRelation};
use crate::types::SqlType;
use crate::{Error, Result};

/// The relation of `merge_action()`, and the name of what a row of the source has that is there.
const MARK: &str = "\0merge";

/// The source with a column behind its own that is true.
pub(super) fn marked(source: &TableFactor) -> Result<TableFactor> {
    of_source(source, "SELECT *, true FROM x", |select| {
        if let Some(last) = select.projection.last_mut() {
            *last = SelectItem::ExprWithAlias {
                expr: Expr::value(ast::Value::Boolean(true)),
                alias: Ident::with_quote('"', MARK),
            };
        }
    })
}

/// The rows of the source that no row of a partitioned table matches.
pub(super) fn unmatched(merge: &ast::Merge) -> Result<TableFactor> {
    let text = "SELECT * FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE true)";
    of_source(&merge.source, text, |select| {
        let Some(Expr::Exists { subquery, .. }) = &mut select.selection else {
            return;
        };
        if let ast::SetExpr::Select(matching) = subquery.body.as_mut() {
            matching.selection = Some(merge.on.as_ref().clone());
            if let Some(from) = matching.from.first_mut() {
                from.relation = merge.table.clone();
            }
        }
    })
}

/// A query over the source, under its name. `text`: the query, over some `x`; `change`: what the text cannot say.
fn of_source(source: &TableFactor, text: &str, change: impl FnOnce(&mut ast::Select)) -> Result<TableFactor> {
    let name = name_of(source)?;
    let query = parse_query(text);
    let mut query = query.map_err(|error| Error::internal(error.to_string()))?;
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        if let Some(from) = select.from.first_mut() {
            from.relation = source.clone();
        }
        change(select);
    }
    Ok(TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias: Some(ast::TableAlias {
            explicit: true,
            name: Ident::with_quote('"', name),
            columns: Vec::new(),
            at: None,
        }),
        sample: None,
    })
}

/// What the clauses know the source by. Errors: 0A000.
fn name_of(source: &TableFactor) -> Result<String> {
    Ok(match source {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::NestedJoin {
            alias: Some(alias), ..
        }
        | TableFactor::Function {
            alias: Some(alias), ..
        } => names::fold(&alias.name),
        TableFactor::Table { name, .. } => names::relation_name(name)?.1,
        other => {
            return Err(Error::unsupported(
                format!("a MERGE of {other}, for rows that are not matched"),
                Some("Give the source an alias."),
            ));
        }
    })
}

/// The relation of one column that `merge_action()` becomes.
pub(super) fn action_relation() -> RowRelation {
    RowRelation::new(
        MARK.to_string(),
        vec![RowColumn {
            name: "merge_action".to_string(),
            ty: SqlType::Text,
            origin: None,
        }],
    )
}

/// The select list with a column in place of each `merge_action()`; `None`: there is none.
pub(super) fn with_action(
    items: &[SelectItem],
    source: &[RowRelation],
    target: &Target,
) -> Option<Vec<SelectItem>> {
    let mut items = items.to_vec();
    let mut tells = Tells(false);
    for item in &mut items {
        let _ = item.walk_mut(&mut tells);
    }
    if !tells.0 {
        return None;
    }
    let all = |item: SelectItem| match item {
        SelectItem::Wildcard(options) => {
            let names = source.iter().map(|relation| relation.name.as_str());
            let names = names.chain([target.name()]);
            names.map(|name| all_of(name, options.clone())).collect()
        }
        item => vec![item],
    };
    Some(items.into_iter().flat_map(all).collect())
}

fn all_of(name: &str, options: WildcardAdditionalOptions) -> SelectItem {
    let name = ObjectName::from(vec![Ident::with_quote('"', name)]);
    SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
}

/// Puts a column in place of `merge_action()`.
struct Tells(bool);

impl VisitorMut for Tells {
    type Break = ();
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_action = matches!(expr, Expr::Function(function)
            if names::relation_name(&function.name).is_ok_and(|(_, name)| name == "merge_action"));
        if is_action {
            self.0 = true;
            let names = [MARK, "merge_action"].map(|name| Ident::with_quote('"', name));
            *expr = Expr::CompoundIdentifier(names.to_vec());
        }
        ControlFlow::Continue(())
    }
}

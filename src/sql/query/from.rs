//! FROM: tables, views, WITH queries, subqueries, functions and joins become a plan and the names it brings.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, JoinType, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::expr::Unnest;
use datafusion::logical_expr::{
    Case, Expr, LogicalPlan, LogicalPlanBuilder, Operator, TableSource, TableType,
};
use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, Clause, Place, fault, fold, name_parts, unsupported};
use super::coercion::CastContext;
use super::operator::binary;
use super::scope::{Outer, Scope, ScopeColumn, ScopeRelation};
use super::select::unnest_columns;
use super::subquery::has_subquery;
use crate::catalog::{Relation, TableDef, ViewDef};
use crate::error::StatementFault;
use crate::exec::catalog_table;
use crate::exec::datafusion_error::from_datafusion;
use crate::exec::dependent_join::{DependentJoin, SubPlan, SubPlanKind};
use crate::exec::pg_catalog;
use crate::exec::table_provider::table_source;
use crate::types::SqlType;
use crate::{Error, Result};

/// A bound FROM item.
struct Item {
    plan: LogicalPlan,
    scope: Scope,
}

impl Binder<'_> {
    /// Binds the FROM list; without one, a plan of one row without columns.
    pub(super) fn from(
        &mut self,
        from: &[ast::TableWithJoins],
        outer: Option<&Outer<'_>>,
    ) -> Result<(LogicalPlan, Scope)> {
        let mut joined: Option<Item> = None;
        for table in from {
            joined = Some(self.table_with_joins(joined, table, outer)?);
        }
        match joined {
            Some(item) => Ok((item.plan, item.scope)),
            None => Ok((
                LogicalPlanBuilder::empty(true).build().map_err(from_datafusion)?,
                Scope::default(),
            )),
        }
    }

    /// `left, table JOIN …`: the joins bind tighter than the comma, but see what stands before it when lateral.
    fn table_with_joins(
        &mut self,
        left: Option<Item>,
        table: &ast::TableWithJoins,
        outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        if table.joins.is_empty() {
            return self.cross(left, &table.relation, outer);
        }
        let mut item = self.cross(None, &table.relation, outer)?;
        for join in &table.joins {
            item = self.deeper(|binder| binder.join(item, join, outer))?;
        }
        match left {
            Some(left) => cross_join(left, item),
            None => Ok(item),
        }
    }

    /// The cross join of `left` and a FROM item that may be lateral.
    fn cross(
        &mut self,
        left: Option<Item>,
        factor: &ast::TableFactor,
        outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        let Some(left) = left else {
            return self.factor(factor, outer);
        };
        if let Some(item) = self.lateral(&left, factor, false, outer)? {
            return Ok(item);
        }
        let right = self.factor(factor, outer)?;
        cross_join(left, right)
    }

    /// A FROM item that uses columns of the items before it. `None`: it does not.
    fn lateral(
        &mut self,
        left: &Item,
        factor: &ast::TableFactor,
        keep_left: bool,
        outer: Option<&Outer<'_>>,
    ) -> Result<Option<Item>> {
        match factor {
            ast::TableFactor::Derived {
                lateral: true,
                subquery,
                alias,
                ..
            } => {
                let around = Outer::new(&left.scope, outer);
                let bound = self.query(subquery, Some(&around))?;
                let captured = around.captured.into_inner();
                let (right, fields) = self.derived(bound, alias.as_ref())?;
                if captured.is_empty() && !keep_left {
                    return Ok(None);
                }
                let bindings = captured
                    .into_iter()
                    .map(|column| (column.clone(), Expr::Column(column)))
                    .collect();
                let kind = SubPlanKind::Rows {
                    keep_left,
                    schema: right.plan.schema().clone(),
                };
                let sub_plan = SubPlan {
                    plan: Arc::new(right.plan),
                    kind,
                    bindings,
                    name: fields,
                };
                let plan = DependentJoin::plan(left.plan.clone(), vec![sub_plan])?;
                let mut scope = left.scope.clone();
                scope.visible.extend(right.scope.visible);
                scope.add_relations(right.scope.relations)?;
                Ok(Some(Item { plan, scope }))
            }
            _ => {
                let Some(call) = table_function(factor) else {
                    return Ok(None);
                };
                let place = Place {
                    scope: &left.scope,
                    outer,
                    clause: Clause::From,
                    windows: &[],
                };
                let sets = self.set_arguments(&call, place)?;
                if !sets.iter().any(|set| {
                    set.expr
                        .exists(|expr| Ok(matches!(expr, Expr::Column(_))))
                        .unwrap_or(false)
                }) {
                    return Ok(None);
                }
                let (item, names) = self.function_item(&call, sets, left.plan.clone(), left.scope.clone())?;
                let _ = names;
                Ok(Some(item))
            }
        }
    }

    fn factor(&mut self, factor: &ast::TableFactor, outer: Option<&Outer<'_>>) -> Result<Item> {
        match factor {
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                with_ordinality: false,
                ..
            } => self.table(name, alias.as_ref(), outer),
            ast::TableFactor::Derived { subquery, alias, .. } => {
                // Not lateral: the items before it are not visible, the queries around are.
                let bound = self.query(subquery, outer)?;
                Ok(self.derived(bound, alias.as_ref())?.0)
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let item = self.table_with_joins(None, table_with_joins, outer)?;
                match alias {
                    None => Ok(item),
                    Some(alias) => self.aliased_join(item, alias),
                }
            }
            other => match table_function(other) {
                Some(call) => {
                    let nothing = Scope::default();
                    let place = Place {
                        scope: &nothing,
                        outer,
                        clause: Clause::From,
                        windows: &[],
                    };
                    let sets = self.set_arguments(&call, place)?;
                    let one_row = LogicalPlanBuilder::empty(true).build().map_err(from_datafusion)?;
                    Ok(self.function_item(&call, sets, one_row, Scope::default())?.0)
                }
                None => Err(unsupported(format!("{other} in FROM"))),
            },
        }
    }

    // ---- relations ----------------------------------------------------------------------------------------------

    fn table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        let parts = name_parts(name)?;
        let (schema, table) = match parts.as_slice() {
            [table] => (None, table.as_str()),
            [schema, table] | [_, schema, table] => (Some(schema.as_str()), table.as_str()),
            _ => return Err(unsupported(format!("the relation name {name}"))),
        };
        if schema.is_none()
            && let Some(common) = self
                .common_tables
                .iter()
                .rev()
                .find(|common| common.name == table)
        {
            let bound = common.source.clone();
            return self.named(bound, table, alias);
        }
        if schema.is_none()
            && let Some(rows) = self.ctx.transient.get(table)
        {
            return self.transient_rows(table, rows.clone(), alias);
        }
        if let Some(item) = self.catalog_relation(schema, table, alias)? {
            return Ok(item);
        }
        let catalog = self.ctx.catalog.clone();
        let relation = catalog
            .relation(schema, table, &self.search_path)
            .map_err(|error| match (error, schema) {
                (Error::UndefinedTable { nearest, .. }, Some(schema)) => Error::UndefinedTable {
                    name: format!("{schema}.{table}"),
                    nearest,
                },
                (error, _) => error,
            })?;
        match relation {
            Relation::Table(table) => self.stored_table(table, alias),
            Relation::View(view) => self.view(view, alias, outer),
        }
    }

    /// Rows in memory that the statement itself brings: what a write returns, `excluded` …
    fn transient_rows(
        &mut self,
        name: &str,
        rows: RecordBatch,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Item> {
        let fields = rows.schema().fields().clone();
        let columns = fields
            .iter()
            .map(|field| (field.name().clone(), SqlType::from_field(field), None))
            .collect();
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]]).map_err(from_datafusion)?;
        self.scan(
            provider_as_source(Arc::new(table)),
            None,
            name,
            columns,
            Vec::new(),
            alias,
        )
    }

    /// A relation of pg_catalog, information_schema or keyspan; unqualified names look into pg_catalog first.
    fn catalog_relation(
        &mut self,
        schema: Option<&str>,
        name: &str,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Option<Item>> {
        let schema_name = schema.unwrap_or("pg_catalog");
        let Some(source) = catalog_table::source(schema_name, name) else {
            return Ok(None);
        };
        let types: Vec<(String, SqlType)> = source
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), SqlType::from_field(field)))
            .collect();
        let columns = types.into_iter().map(|(name, ty)| (name, ty, None)).collect();
        let schema = alias.is_none().then(|| schema_name.to_string());
        self.scan(source, schema, name, columns, Vec::new(), alias)
            .map(Some)
    }

    fn stored_table(&mut self, table: &Arc<TableDef>, alias: Option<&ast::TableAlias>) -> Result<Item> {
        let oid = table.oid();
        let columns = table
            .visible_columns()
            .enumerate()
            .map(|(index, column)| {
                let attribute = i16::try_from(index + 1).unwrap_or(0);
                (column.name.clone(), column.ty.clone(), Some((oid, attribute)))
            })
            .collect();
        let key = if table.has_hidden_key() {
            Vec::new()
        } else {
            table.key_columns()
        };
        let schema = alias.is_none().then(|| table.schema.clone());
        self.scan(table_source(table), schema, &table.name, columns, key, alias)
    }

    /// A scan of a relation under a name of its own.
    #[expect(clippy::type_complexity, reason = "name, type and origin of each column")]
    fn scan(
        &mut self,
        source: Arc<dyn TableSource>,
        schema: Option<String>,
        name: &str,
        columns: Vec<(String, SqlType, Option<(u32, i16)>)>,
        key: Vec<usize>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Item> {
        let visible_name = alias.map_or_else(|| name.to_string(), |alias| fold(&alias.name));
        let catalog = source.table_type() == TableType::View;
        let reference = TableReference::bare(self.unique_name(&visible_name));
        let plan = LogicalPlanBuilder::scan(reference.clone(), source, None)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let columns: Vec<ScopeColumn> = columns
            .into_iter()
            .map(|(name, ty, origin)| {
                let expr = Expr::Column(Column::new(Some(reference.clone()), &name));
                ScopeColumn {
                    name,
                    bound: Bound { expr, ty, origin },
                }
            })
            .collect();
        let (hidden, columns): (Vec<ScopeColumn>, Vec<ScopeColumn>) = columns
            .into_iter()
            .partition(|column| catalog && column.name == catalog_table::TABLE_OID);
        let columns = renamed(columns, alias, &visible_name)?;
        let relation = ScopeRelation {
            name: visible_name,
            schema,
            columns: columns.clone(),
            hidden,
            key,
        };
        Ok(Item {
            plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    /// A view is its query, planned where the view was made.
    fn view(
        &mut self,
        view: &Arc<ViewDef>,
        alias: Option<&ast::TableAlias>,
        _outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        let mut statements = crate::sql::parse(&view.query)?;
        let statement = match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => statement,
            _ => {
                return Err(Error::Corrupt {
                    what: format!("view \"{}\"", view.name),
                    reason: "its text is not one query".to_string(),
                });
            }
        };
        let ast::Statement::Query(query) = statement.ast else {
            return Err(Error::Corrupt {
                what: format!("view \"{}\"", view.name),
                reason: "its text is no query".to_string(),
            });
        };
        let search_path = std::mem::replace(&mut self.search_path, view.search_path.clone());
        let common_tables = std::mem::take(&mut self.common_tables);
        let bound = self.deeper(|binder| binder.query(&query, None));
        self.search_path = search_path;
        self.common_tables = common_tables;
        let mut bound = bound?;
        for (column, (name, _)) in bound.columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        let mut item = self.named(bound, &view.name, alias)?;
        if alias.is_none()
            && let Some(relation) = item.scope.relations.first_mut()
        {
            relation.schema = Some(view.schema.clone());
        }
        Ok(item)
    }

    /// A bound query as a relation called `name`, or as its alias says.
    fn named(&mut self, bound: BoundQuery, name: &str, alias: Option<&ast::TableAlias>) -> Result<Item> {
        let visible_name = alias.map_or_else(|| name.to_string(), |alias| fold(&alias.name));
        let reference = TableReference::bare(self.unique_name(if visible_name.is_empty() {
            "subquery"
        } else {
            &visible_name
        }));
        let plan = LogicalPlanBuilder::new(bound.plan)
            .alias(reference.clone())
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let columns: Vec<ScopeColumn> = bound
            .columns
            .into_iter()
            .map(|column| {
                let expr = Expr::Column(Column::new(Some(reference.clone()), &column.column.name));
                let ty = match column.ty {
                    SqlType::Unknown | SqlType::Void => SqlType::Text,
                    ty => ty,
                };
                ScopeColumn {
                    name: column.name,
                    bound: Bound {
                        expr,
                        ty,
                        origin: column.origin,
                    },
                }
            })
            .collect();
        let columns = renamed(columns, alias, &visible_name)?;
        let relation = ScopeRelation {
            name: visible_name,
            schema: None,
            columns: columns.clone(),
            hidden: Vec::new(),
            key: Vec::new(),
        };
        Ok(Item {
            plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    /// A subquery in FROM; also the internal name of its relation.
    fn derived(&mut self, bound: BoundQuery, alias: Option<&ast::TableAlias>) -> Result<(Item, String)> {
        let item = self.named(bound, "", alias)?;
        let name = match item.plan.schema().iter().next() {
            Some((Some(reference), _)) => reference.table().to_string(),
            _ => String::new(),
        };
        Ok((item, name))
    }

    /// `(a JOIN b) AS x`: one relation of all the columns.
    fn aliased_join(&mut self, item: Item, alias: &ast::TableAlias) -> Result<Item> {
        let name = fold(&alias.name);
        let columns = renamed(item.scope.visible, Some(alias), &name)?;
        let relation = ScopeRelation {
            name,
            schema: None,
            columns: columns.clone(),
            hidden: Vec::new(),
            key: Vec::new(),
        };
        Ok(Item {
            plan: item.plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    // ---- joins --------------------------------------------------------------------------------------------------

    fn join(&mut self, left: Item, join: &ast::Join, outer: Option<&Outer<'_>>) -> Result<Item> {
        use ast::JoinOperator as J;
        let (kind, constraint) = match &join.join_operator {
            J::Join(constraint) | J::Inner(constraint) => (JoinType::Inner, constraint),
            J::Left(constraint) | J::LeftOuter(constraint) => (JoinType::Left, constraint),
            J::Right(constraint) | J::RightOuter(constraint) => (JoinType::Right, constraint),
            J::FullOuter(constraint) => (JoinType::Full, constraint),
            J::CrossJoin(_) => return self.cross(Some(left), &join.relation, outer),
            other => return Err(unsupported(format!("the join {other:?}"))),
        };
        if matches!(kind, JoinType::Inner | JoinType::Left)
            && let Some(item) = self.lateral(&left, &join.relation, kind == JoinType::Left, outer)?
        {
            return self.lateral_condition(item, kind, constraint, outer);
        }
        let right = self.factor(&join.relation, outer)?;
        match constraint {
            ast::JoinConstraint::On(condition) => self.join_on(left, right, kind, condition, outer),
            ast::JoinConstraint::Using(names) => {
                let names = names
                    .iter()
                    .map(|name| Ok(name_parts(name)?.pop().unwrap_or_default()))
                    .collect::<Result<Vec<String>>>()?;
                self.join_using(left, right, kind, &names)
            }
            ast::JoinConstraint::Natural => {
                let names: Vec<String> = left
                    .scope
                    .visible
                    .iter()
                    .map(|column| column.name.clone())
                    .filter(|name| right.scope.visible.iter().any(|column| column.name == *name))
                    .collect();
                self.join_using(left, right, kind, &names)
            }
            ast::JoinConstraint::None if kind == JoinType::Inner => cross_join(left, right),
            ast::JoinConstraint::None => Err(Error::Syntax {
                message: "a join needs ON or USING".to_string(),
                position: 0,
            }),
        }
    }

    /// ON of a join whose right side is lateral: a filter above an inner one, TRUE only above an outer one.
    fn lateral_condition(
        &mut self,
        item: Item,
        kind: JoinType,
        constraint: &ast::JoinConstraint,
        outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        let ast::JoinConstraint::On(condition) = constraint else {
            return Ok(item);
        };
        let place = Place {
            scope: &item.scope,
            outer,
            clause: Clause::JoinOn,
            windows: &[],
        };
        let condition = self.condition(condition, place)?;
        let always = matches!(
            &condition,
            Expr::Literal(datafusion::common::ScalarValue::Boolean(Some(true)), _)
        );
        if always {
            return Ok(item);
        }
        if kind != JoinType::Inner {
            return Err(unsupported("LEFT JOIN LATERAL with a condition other than TRUE"));
        }
        let plan = self.filter(item.plan, condition)?;
        Ok(Item {
            plan,
            scope: item.scope,
        })
    }

    fn join_on(
        &mut self,
        left: Item,
        right: Item,
        kind: JoinType,
        condition: &ast::Expr,
        outer: Option<&Outer<'_>>,
    ) -> Result<Item> {
        let mut scope = left.scope;
        scope.visible.extend(right.scope.visible);
        scope.add_relations(right.scope.relations)?;
        let place = Place {
            scope: &scope,
            outer,
            clause: Clause::JoinOn,
            windows: &[],
        };
        let condition = self.condition(condition, place)?;
        if has_subquery(&condition) {
            if kind != JoinType::Inner {
                return Err(unsupported("a subquery in the condition of an outer join"));
            }
            let crossed = LogicalPlanBuilder::new(left.plan)
                .cross_join(right.plan)
                .and_then(LogicalPlanBuilder::build)
                .map_err(from_datafusion)?;
            let plan = self.filter(crossed, condition)?;
            return Ok(Item { plan, scope });
        }
        let plan = LogicalPlanBuilder::new(left.plan)
            .join_on(right.plan, kind, [condition])
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        Ok(Item { plan, scope })
    }

    /// USING and NATURAL: each named column comes once, before the others.
    fn join_using(&mut self, left: Item, right: Item, kind: JoinType, names: &[String]) -> Result<Item> {
        if names.is_empty() && kind == JoinType::Inner {
            return cross_join(left, right);
        }
        let mut merged = Vec::with_capacity(names.len());
        let mut condition: Option<Expr> = None;
        for name in names {
            let find = |scope: &Scope, side: &str| match scope.get_column(name) {
                Ok(Some(bound)) => Ok(bound.clone()),
                Ok(None) => Err(Error::UndefinedColumn {
                    name: format!("\"{name}\" specified in USING clause"),
                    hint: Some(format!("The {side} table of the join has no such column.")),
                    position: 0,
                }),
                Err(_) => Err(Error::AmbiguousColumn { name: name.clone() }),
            };
            let (a, b) = (find(&left.scope, "left")?, find(&right.scope, "right")?);
            let equal = self.compare(Operator::Eq, a.clone(), b.clone())?.expr;
            condition = Some(match condition {
                Some(before) => binary(before, Operator::And, equal),
                None => equal,
            });
            merged.push(ScopeColumn {
                name: name.clone(),
                bound: self.merged(kind, a, b)?,
            });
        }
        let rest = |scope: &Scope| -> Vec<ScopeColumn> {
            scope
                .visible
                .iter()
                .filter(|column| !names.contains(&column.name))
                .cloned()
                .collect()
        };
        let mut visible = merged;
        visible.extend(rest(&left.scope));
        visible.extend(rest(&right.scope));
        let mut scope = Scope {
            visible,
            relations: left.scope.relations,
        };
        scope.add_relations(right.scope.relations)?;
        let condition = match condition {
            Some(condition) => condition,
            None => datafusion::logical_expr::lit(true),
        };
        let plan = LogicalPlanBuilder::new(left.plan)
            .join_on(right.plan, kind, [condition])
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        Ok(Item { plan, scope })
    }

    fn merged(&mut self, kind: JoinType, left: Bound, right: Bound) -> Result<Bound> {
        match kind {
            JoinType::Right => Ok(right),
            JoinType::Full => {
                let ty = self.common_type_of("JOIN/USING", &[left.clone(), right.clone()])?;
                let left = self.convert(left, &ty, CastContext::Implicit)?;
                let right = self.convert(right, &ty, CastContext::Implicit)?;
                let present = Expr::IsNotNull(Box::new(left.expr.clone()));
                let branches = vec![(Box::new(present), Box::new(left.expr))];
                Ok(Bound::new(
                    Expr::Case(Case::new(None, branches, Some(Box::new(right.expr)))),
                    ty,
                ))
            }
            _ => Ok(left),
        }
    }

    // ---- functions ----------------------------------------------------------------------------------------------

    /// The arrays that the calls of a FROM function give, one a column.
    fn set_arguments(&mut self, call: &TableFunction<'_>, place: Place<'_>) -> Result<Vec<Bound>> {
        let mut sets = Vec::new();
        for array in &call.arrays {
            let bound = self.expression(array, place)?;
            let bound = match bound.ty {
                SqlType::Unknown => self.convert(
                    bound,
                    &SqlType::Array(Box::new(SqlType::Text)),
                    CastContext::Implicit,
                )?,
                _ => bound,
            };
            if super::coercion::item_type(&bound.ty).is_none() {
                return Err(super::function_call::no_function("unnest", &[bound.ty], false));
            }
            sets.push(bound);
        }
        if let Some(name) = &call.name
            && let Some(last) = name_parts(name)?.pop()
            && let Some(set) = pg_catalog::set_function(&last)
        {
            let arguments = ast::FunctionArguments::List(ast::FunctionArgumentList {
                duplicate_treatment: None,
                args: call.args.to_vec(),
                clauses: Vec::new(),
            });
            let arguments = self.arguments(&last, &arguments, place)?;
            return set
                .columns
                .iter()
                .map(|(_, column)| self.resolve_function(column, arguments.clone()))
                .collect();
        }
        if let Some(name) = &call.name {
            let function = ast::Function {
                name: name.clone(),
                uses_odbc_syntax: false,
                parameters: ast::FunctionArguments::None,
                args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: call.args.to_vec(),
                    clauses: Vec::new(),
                }),
                filter: None,
                null_treatment: None,
                over: None,
                within_group: Vec::new(),
            };
            let bound = self.function(&function, place)?;
            sets.push(match bound.expr {
                Expr::Unnest(Unnest { expr, .. }) => Bound::new(*expr, SqlType::Array(Box::new(bound.ty))),
                // A function of one value is a table of one row.
                expr => {
                    let ty = SqlType::Array(Box::new(bound.ty.clone()));
                    let definition = (
                        "array",
                        crate::exec::functions::MAKE_ARRAY,
                        false,
                        datafusion::logical_expr::Volatility::Immutable,
                    );
                    let array = crate::exec::functions::call(
                        definition,
                        vec![(expr, bound.ty)],
                        ty.clone(),
                        &self.settings,
                    );
                    Bound::new(array, ty)
                }
            });
        }
        Ok(sets)
    }

    /// The rows of a FROM function beside `plan`'s.
    fn function_item(
        &mut self,
        call: &TableFunction<'_>,
        sets: Vec<Bound>,
        plan: LogicalPlan,
        scope: Scope,
    ) -> Result<(Item, Vec<String>)> {
        let default = call
            .name
            .as_ref()
            .and_then(|name| name_parts(name).ok()?.pop())
            .unwrap_or_else(|| "unnest".to_string());
        let visible_name = call
            .alias
            .map_or_else(|| default.clone(), |alias| fold(&alias.name));
        let one_column = sets.len() == 1;
        let (mut columns, mut arrays, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for set in sets {
            let ty = super::coercion::item_type(&set.ty).unwrap_or(SqlType::Text);
            let name = self.unique_name("?set");
            arrays.push((set.expr, name.clone()));
            // A function's only column is called as its alias is.
            let column_name = match pg_catalog::set_function(&default) {
                Some(set) => set
                    .columns
                    .get(columns.len())
                    .map_or_else(|| default.clone(), |(name, _)| name.to_string()),
                None if one_column => visible_name.clone(),
                None => default.clone(),
            };
            let bound = Bound::new(Expr::Column(Column::new_unqualified(&name)), ty);
            columns.push(ScopeColumn {
                name: column_name,
                bound,
            });
            names.push(name);
        }
        if call.ordinality {
            let name = self.unique_name("?ordinality");
            let first = arrays
                .first()
                .map(|(expr, _)| expr.clone())
                .ok_or_else(|| unsupported("WITH ORDINALITY of nothing"))?;
            let ty = SqlType::Array(Box::new(SqlType::Int8));
            let array_type = SqlType::Array(Box::new(columns[0].bound.ty.clone()));
            let definition = (
                "ordinality",
                crate::exec::functions::ORDINALITY,
                true,
                datafusion::logical_expr::Volatility::Immutable,
            );
            let numbers =
                crate::exec::functions::call(definition, vec![(first, array_type)], ty, &self.settings);
            arrays.push((numbers, name.clone()));
            let bound = Bound::new(Expr::Column(Column::new_unqualified(&name)), SqlType::Int8);
            columns.push(ScopeColumn {
                name: "ordinality".to_string(),
                bound,
            });
        }
        let plan = unnest_columns(plan, arrays)?;
        let columns = renamed(columns, call.alias, &visible_name)?;
        let relation = ScopeRelation {
            name: visible_name,
            schema: None,
            columns: columns.clone(),
            hidden: Vec::new(),
            key: Vec::new(),
        };
        let mut scope = scope;
        scope.visible.extend(columns);
        scope.add_relations(vec![relation])?;
        Ok((Item { plan, scope }, names))
    }
}

/// A function call in FROM.
struct TableFunction<'a> {
    /// The function; `None` for UNNEST of `arrays`.
    name: Option<ast::ObjectName>,
    args: &'a [ast::FunctionArg],
    arrays: Vec<&'a ast::Expr>,
    ordinality: bool,
    alias: Option<&'a ast::TableAlias>,
}

fn table_function(factor: &ast::TableFactor) -> Option<TableFunction<'_>> {
    match factor {
        ast::TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality,
            ..
        } => Some(TableFunction {
            name: Some(name.clone()),
            args: &args.args,
            arrays: Vec::new(),
            ordinality: *with_ordinality,
            alias: alias.as_ref(),
        }),
        ast::TableFactor::Function {
            name,
            args,
            alias,
            with_ordinality,
            ..
        } => Some(TableFunction {
            name: Some(name.clone()),
            args,
            arrays: Vec::new(),
            ordinality: *with_ordinality,
            alias: alias.as_ref(),
        }),
        ast::TableFactor::UNNEST {
            alias,
            array_exprs,
            with_ordinality,
            ..
        } => Some(TableFunction {
            name: None,
            args: &[],
            arrays: array_exprs.iter().collect(),
            ordinality: *with_ordinality,
            alias: alias.as_ref(),
        }),
        _ => None,
    }
}

fn cross_join(left: Item, right: Item) -> Result<Item> {
    let plan = LogicalPlanBuilder::new(left.plan)
        .cross_join(right.plan)
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)?;
    let mut scope = left.scope;
    scope.visible.extend(right.scope.visible);
    scope.add_relations(right.scope.relations)?;
    Ok(Item { plan, scope })
}

/// `AS name(a, b)` renames the first columns. Errors: 42P10 when it names more than there are.
fn renamed(
    mut columns: Vec<ScopeColumn>,
    alias: Option<&ast::TableAlias>,
    relation: &str,
) -> Result<Vec<ScopeColumn>> {
    let Some(alias) = alias else { return Ok(columns) };
    if alias.columns.len() > columns.len() {
        return Err(fault(
            StatementFault::InvalidColumnReference,
            format!(
                "table \"{relation}\" has {} columns available but {} columns specified",
                columns.len(),
                alias.columns.len()
            ),
        ));
    }
    for (column, name) in columns.iter_mut().zip(&alias.columns) {
        column.name = fold(&name.name);
    }
    Ok(columns)
}

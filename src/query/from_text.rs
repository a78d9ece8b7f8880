//! FROM as `pg_get_viewdef` prints it: relations, joins, subqueries and functions. Called by `select_text`.

use sqlparser::ast;

use super::binder::{Binder, Clause};
use super::period::written_period;
use super::printed_query::{Outputs, ShownRelations};
use super::query_layout::QueryLayout;
use super::scope::{Outer, Scope};
use crate::catalog::{Access, Object, RELATION_BEGINS, RELATION_ENDS, RelationName};
use crate::parse::from_forms;
use crate::parse::names::{fold, relation_name};
use crate::parse::quoting::quote_ident;

impl Binder<'_> {
    pub(super) fn print_from(
        &mut self,
        from: &[ast::TableWithJoins],
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for (at, table) in from.iter().enumerate() {
            match at {
                0 => {
                    layout.keyword(" FROM ", -8, 8, 2);
                    self.print_joined(table, (scope, outer, shown), layout)?;
                }
                _ => {
                    layout.word(", ");
                    let mut item = QueryLayout::new(layout.indent);
                    self.print_joined(table, (scope, outer, shown), &mut item)?;
                    layout.item(&item);
                }
            }
        }
        Some(())
    }

    fn print_joined(
        &mut self,
        table: &ast::TableWithJoins,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for _ in &table.joins {
            layout.plain_word("(");
        }
        self.print_factor(&table.relation, (scope, outer, shown), layout)?;
        for (at, join) in table.joins.iter().enumerate() {
            use ast::JoinOperator as J;
            let (word, constraint) = match &join.join_operator {
                J::Join(constraint) | J::Inner(constraint) => (" JOIN ", Some(constraint)),
                J::Left(constraint) | J::LeftOuter(constraint) => (" LEFT JOIN ", Some(constraint)),
                J::Right(constraint) | J::RightOuter(constraint) => (" RIGHT JOIN ", Some(constraint)),
                J::FullOuter(constraint) => (" FULL JOIN ", Some(constraint)),
                J::CrossJoin(_) => (" CROSS JOIN ", None),
                _ => return None,
            };
            layout.keyword(word, -8, 8, 4);
            let is_nested = matches!(&join.relation, ast::TableFactor::NestedJoin { .. });
            if is_nested {
                layout.pretty_word("(");
            }
            self.print_factor(&join.relation, (scope, outer, shown), layout)?;
            if is_nested {
                layout.pretty_word(")");
            }
            match constraint {
                None => {}
                Some(ast::JoinConstraint::On(condition)) => {
                    layout.word(" ON ");
                    layout.plain_word("(");
                    let printed = self.printed(
                        condition,
                        (scope, Clause::JoinOn),
                        (outer, shown),
                        (&[], layout.indent),
                    )?;
                    layout.printed(&printed.into_condition());
                    layout.plain_word(")");
                }
                Some(ast::JoinConstraint::Using(names)) => {
                    let (names, called) = from_forms::split_using(names);
                    let names: Option<Vec<String>> = names
                        .iter()
                        .map(|name| Some(quote_ident(&fold(name.0.last()?.as_ident()?))))
                        .collect();
                    layout.word(&format!(" USING ({})", names?.join(", ")));
                    if let Some(called) = called {
                        layout.word(&format!(" AS {}", quote_ident(called)));
                    }
                }
                Some(ast::JoinConstraint::Natural) => {
                    let names = self.common_columns(table, at, outer)?;
                    layout.word(&format!(" USING ({})", names.join(", ")));
                }
                Some(_) => return None,
            }
            layout.plain_word(")");
        }
        Some(())
    }

    /// The columns that a natural join is over, quoted. `None`: there is none.
    fn common_columns(
        &mut self,
        table: &ast::TableWithJoins,
        at: usize,
        outer: Option<&Outer<'_>>,
    ) -> Option<Vec<String>> {
        let before = ast::TableWithJoins {
            relation: table.relation.clone(),
            joins: table.joins[..at].to_vec(),
        };
        let left = self.table_with_joins(None, &before, outer).ok()?.scope.visible;
        let right = self.factor(&table.joins[at].relation, outer).ok()?.scope.visible;
        let common = left
            .iter()
            .filter(|column| right.iter().any(|other| other.name == column.name));
        let names: Vec<String> = common.map(|column| quote_ident(&column.name)).collect();
        (!names.is_empty()).then_some(names)
    }

    fn print_factor(
        &mut self,
        factor: &ast::TableFactor,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        match factor {
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.print_joined(table_with_joins, (scope, outer, shown), layout),
            ast::TableFactor::Derived {
                lateral,
                subquery,
                alias: Some(alias),
                sample: None,
            } => {
                if *lateral {
                    layout.word("LATERAL ");
                }
                layout.word("(");
                let mut inner = QueryLayout::new(layout.indent);
                let around = Outer::new(scope, outer, None);
                let outer = if *lateral { Some(&around) } else { outer };
                let outputs = Outputs {
                    types: &[],
                    names: None,
                    are_visible: true,
                };
                self.print_query(subquery, outer, Some(shown), (&mut inner, outputs))?;
                layout.append(&inner);
                layout.word(")");
                self.print_alias(alias, &fold(&alias.name), shown, layout);
                Some(())
            }
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                version,
                with_ordinality: false,
                sample: None,
                ..
            } => self.print_relation((name, version.as_ref(), alias.as_ref()), shown, layout),
            _ => self.print_function_item(factor, (scope, outer, shown), layout),
        }
    }

    /// A relation, or a query of WITH, by its name.
    fn print_relation(
        &mut self,
        (name, version, alias): (
            &ast::ObjectName,
            Option<&ast::TableVersion>,
            Option<&ast::TableAlias>,
        ),
        shown: &ShownRelations<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        let (schema, own) = relation_name(name).ok()?;
        let is_cte = schema.is_none() && self.common_tables.iter().any(|table| table.name == own);
        let called = alias.map_or_else(|| own.clone(), |alias| fold(&alias.name));
        match is_cte {
            true => layout.word(&quote_ident(&own)),
            false => {
                let (schema, relation) = self.relation_meant(name)?;
                layout.word(&format!(
                    "{RELATION_BEGINS}{}.{}{RELATION_ENDS}",
                    quote_ident(&schema),
                    quote_ident(&relation)
                ));
            }
        }
        if let Some(version) = version {
            layout.word(&format!(" {}", written_period(version)));
        }
        let is_renamed = shown.name(&called) != own;
        match alias {
            Some(alias) => {
                self.print_alias(alias, &called, shown, layout);
            }
            _ if is_renamed => layout.word(&format!(" {}", quote_ident(&shown.name(&called)))),
            _ => {}
        }
        Some(())
    }

    fn print_alias(
        &mut self,
        alias: &ast::TableAlias,
        called: &str,
        shown: &ShownRelations<'_>,
        layout: &mut QueryLayout,
    ) {
        layout.word(&format!(" {}", quote_ident(&shown.name(called))));
        let columns: Vec<String> = alias
            .columns
            .iter()
            .map(|column| quote_ident(&fold(&column.name)))
            .collect();
        if !columns.is_empty() {
            layout.word(&format!("({})", columns.join(", ")));
        }
    }

    /// A function in FROM, whose columns are always named.
    fn print_function_item(
        &mut self,
        factor: &ast::TableFactor,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        let ast::TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality,
            version: None,
            ..
        } = factor
        else {
            return None;
        };
        if from_forms::is_rows_from(name) {
            return None;
        }
        let own = fold(name.0.last()?.as_ident()?);
        let called = alias
            .as_ref()
            .map_or_else(|| own.clone(), |alias| fold(&alias.name));
        if alias
            .as_ref()
            .is_some_and(|alias| alias.columns.iter().any(|column| column.data_type.is_some()))
        {
            return None;
        }
        let call = ast::Expr::Function(call_of(name, args));
        let place = (scope, Clause::From);
        let printed = self.printed(&call, place, (outer, shown), (&[], layout.indent))?;
        layout.printed(&printed);
        if *with_ordinality {
            layout.word(" WITH ORDINALITY");
        }
        let relation = scope.relations.iter().find(|relation| relation.name == called)?;
        let columns: Vec<String> = relation
            .columns
            .iter()
            .map(|column| quote_ident(&column.name))
            .collect();
        layout.word(&format!(
            " {}({})",
            quote_ident(&shown.name(&called)),
            columns.join(", ")
        ));
        Some(())
    }

    /// The schema and name of the relation that a name means.
    fn relation_meant(&self, name: &ast::ObjectName) -> Option<(String, String)> {
        let (schema, name) = relation_name(name).ok()?;
        let wanted = RelationName {
            schema: schema.as_deref(),
            name: &name,
            search_path: &self.search_path,
        };
        let found = self.ctx.get_relation(wanted, Access::Name).ok()??;
        match found {
            Object::Table(table) => Some((table.schema.clone(), table.name.clone())),
            Object::View(view) => Some((view.schema.clone(), view.name.clone())),
            _ => None,
        }
    }
}

/// A function in FROM as a call in an expression.
fn call_of(name: &ast::ObjectName, args: &ast::TableFunctionArgs) -> ast::Function {
    ast::Function {
        name: name.clone(),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: args.args.clone(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

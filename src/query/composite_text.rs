//! Casts, rows, and what is taken out of rows and arrays, as `pg_get_expr` prints them. Called by `condition_text`.

use sqlparser::ast;

use super::condition_text::Printer;
use super::printed::{Printed, operands};
use super::printed_names::type_text;
use super::printed_query::{as_test, items_of_row, resolved, without_parentheses};
use super::type_name::{NamedType, named_type_in};
use crate::catalog::{Relation, TypeDef, standard_name};
use crate::parse::names;
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::SqlType;

impl Printer<'_, '_> {
    /// A domain's name: in a query with its schema.
    fn domain_name(&self, domain: &TypeDef) -> String {
        match self.shown {
            None => standard_name(&domain.schema, &domain.name),
            Some(_) => qualified(&domain.schema, &domain.name),
        }
    }

    /// The domain that a column is of.
    pub(super) fn domain_of(&mut self, expr: &ast::Expr) -> Option<u32> {
        if let (ast::Expr::Identifier(name), None) = (expr, self.shown) {
            let name = names::fold(name);
            let mut known = self.domains.iter();
            return known.find(|(column, _)| *column == name).map(|(_, oid)| *oid);
        }
        if !matches!(expr, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)) {
            return None;
        }
        let (relation, attribute) = self.binder.expression(expr, self.place).ok()?.origin?;
        let at = usize::try_from(attribute).ok()?.checked_sub(1)?;
        let ctx = self.binder.ctx;
        match ctx.relation_by_oid(relation)? {
            Relation::Table(table) => {
                let column = table.visible_columns().nth(at)?;
                column.domain.as_ref().map(|domain| domain.oid)
            }
            Relation::View(view) => {
                let (_, ty) = view.columns.get(at)?;
                let domain = ctx.domain_of_stored_name(ty);
                domain.map(|domain| domain.oid)
            }
            Relation::Sequence(_) => None,
        }
    }

    /// `ROW(1, 'x'::text)`. `ty`: what it becomes, whose fields the items are then.
    pub(super) fn row(&mut self, items: &[ast::Expr], ty: Option<&SqlType>) -> Printed {
        let fields = match ty {
            Some(SqlType::Record(row)) => row.fields.as_slice(),
            _ => &[],
        };
        let mut printed = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            printed.push(resolved(self.print(item), fields.get(at).map(|field| &field.ty)));
        }
        let ty = ty.cloned().unwrap_or(SqlType::Unknown);
        Printed::call(ty, |text| {
            let items: Vec<String> = printed.iter().map(text).collect();
            format!("ROW({})", items.join(", "))
        })
    }

    /// An expression that is assigned to something of a type: a row has its fields.
    pub(super) fn assigned(&mut self, expr: &ast::Expr, ty: &SqlType) -> Printed {
        match items_of_row(expr) {
            Some(items) if matches!(ty, SqlType::Record(_)) => self.row(&items, Some(ty)),
            _ => self.print(expr),
        }
    }

    pub(super) fn cast(&mut self, expr: &ast::Expr, inner: &ast::Expr) -> Printed {
        let ast::Expr::Cast { data_type, .. } = expr else {
            return self.as_written(expr);
        };
        let Ok(NamedType { ty, domain }) =
            named_type_in(self.binder.ctx, data_type, &self.binder.search_path)
        else {
            return self.as_written(expr);
        };
        match domain {
            None => self.cast_value(inner, &ty),
            // It is one already.
            Some(domain) if self.domain_of(inner) == Some(domain.oid) => self.print(inner),
            // What it becomes one of the domain's type by is not shown.
            Some(domain) => {
                let value = self.print(inner);
                let value = match value.untyped.is_some() || value.plain == "NULL" {
                    true => value.into_type(&ty),
                    false => value,
                };
                Printed {
                    is_of_domain: true,
                    ..value.cast_to(&self.domain_name(&domain), ty)
                }
            }
        }
    }

    /// Rows that are compared item by item, each pair as the operator takes it.
    pub(super) fn ordered_rows(
        &mut self,
        left: &[ast::Expr],
        op: &ast::BinaryOperator,
        right: &[ast::Expr],
    ) -> Printed {
        let symbol = op.to_string();
        let pairs = left.iter().zip(right);
        let (left, right): (Vec<Printed>, Vec<Printed>) = pairs
            .map(|(one, other)| operands(&symbol, self.print(one), self.print(other)))
            .unzip();
        as_test(Printed::call(SqlType::Bool, |text| {
            let row = |items: &[Printed]| items.iter().map(text).collect::<Vec<_>>().join(", ");
            format!("(ROW({}) {symbol} ROW({}))", row(&left), row(&right))
        }))
    }

    /// `(start, end) OVERLAPS (start, end)`.
    pub(super) fn overlaps(&mut self, left: &ast::Expr, right: &ast::Expr) -> Printed {
        let (Some(left), Some(right)) = (items_of_row(left), items_of_row(right)) else {
            return self.as_written(left);
        };
        let mut ends: Vec<Printed> = left.iter().chain(&right).map(|end| self.print(end)).collect();
        let mut known = ends.iter().map(Printed::given_type);
        // Of moments of any kind the one with a time zone is preferred.
        let ty = known.find(|ty| matches!(ty, SqlType::Timestamp(_) | SqlType::Time(_)));
        let ty = ty.unwrap_or(SqlType::TimestampTz(None));
        ends = ends.into_iter().map(|end| end.into_part(&ty)).collect();
        as_test(Printed::call(SqlType::Bool, |text| {
            let ends: Vec<String> = ends.iter().map(text).collect();
            match ends.as_slice() {
                [a, b, c, d] => format!("(({a}, {b}) OVERLAPS ({c}, {d}))"),
                _ => ends.join(", "),
            }
        }))
    }

    /// A value as one of a type that a cast names.
    fn cast_value(&mut self, inner: &ast::Expr, ty: &SqlType) -> Printed {
        if let (Some(items), SqlType::Record(_)) = (items_of_row(inner), ty) {
            let row = self.row(&items, Some(ty));
            let name = type_text(ty);
            return Printed::call(ty.clone(), |text| format!("{}::{name}", text(&row)));
        }
        if let (ast::Expr::Array(array), SqlType::Array(item)) = (without_parentheses(inner), ty)
            && item.modifier() == -1
        {
            return self.array_of_cast(&array.elem, (ty, item));
        }
        let inner = self.print(inner);
        match &inner.untyped {
            Some(untyped) => untyped.typed(ty),
            None if inner.ty == *ty && !inner.is_of_domain => inner,
            None if inner.plain == "NULL" => inner.into_type(ty),
            None => inner.cast(ty.clone()),
        }
    }

    /// Items each of which a cast of their array makes one of its type.
    fn array_of_cast(&mut self, items: &[ast::Expr], (ty, item_type): (&SqlType, &SqlType)) -> Printed {
        let items = items.iter().map(|item| match without_parentheses(item) {
            // A part of an array of more dimensions.
            ast::Expr::Array(_) => self.cast_value(item, ty),
            _ => self.cast_value(item, item_type),
        });
        let items: Vec<Printed> = items.collect();
        let name = type_text(ty);
        Printed::call(ty.clone(), |text| {
            let items: Vec<String> = items.iter().map(text).collect();
            match items.is_empty() {
                true => format!("ARRAY[]::{name}"),
                false => format!("ARRAY[{}]", items.join(", ")),
            }
        })
    }

    /// `a[1]`, `a[1:2]`, `(a).b`.
    pub(super) fn accessed(
        &mut self,
        expr: &ast::Expr,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
    ) -> Printed {
        let ty = self.type_of(expr);
        let named = self.column_of_relation(root, chain);
        let (root, chain) = match &named {
            Some(column) => (column, &chain[1..]),
            None => (root, chain),
        };
        // A column needs no parentheses before a subscript, and before a field all but a field do.
        let is_column = matches!(
            without_parentheses(root),
            ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
        );
        let root = self.print(root);
        let mut steps = Vec::with_capacity(chain.len());
        for access in chain {
            let Some(step) = self.step(access) else {
                return self.as_written(expr);
            };
            steps.push(step);
        }
        let begins_with_field = matches!(steps.first(), Some(Step::Field(_)));
        Printed::call(ty, |text| {
            let root = match is_column && !begins_with_field {
                true => text(&root),
                false => format!("({})", text(&root)),
            };
            steps.iter().fold(root, |whole, step| match step {
                Step::Field(name) => format!("{whole}.{}", quote_ident(name)),
                Step::Item(item) => format!("{whole}[{}]", text(item)),
                Step::Slice(first, last) => {
                    let [first, last] =
                        [first, last].map(|bound| bound.as_ref().map(text).unwrap_or_default());
                    format!("{whole}[{first}:{last}]")
                }
            })
        })
    }

    /// The column that a name and its first access are, of a relation: `t.a` of `t.a[1]`.
    fn column_of_relation(&mut self, root: &ast::Expr, chain: &[ast::AccessExpr]) -> Option<ast::Expr> {
        let (ast::Expr::Identifier(relation), [ast::AccessExpr::Dot(ast::Expr::Identifier(column)), _, ..]) =
            (root, chain)
        else {
            return None;
        };
        let column = ast::Expr::CompoundIdentifier(vec![relation.clone(), column.clone()]);
        (self.type_of(&column) != SqlType::Unknown).then_some(column)
    }

    fn step(&mut self, access: &ast::AccessExpr) -> Option<Step> {
        match access {
            ast::AccessExpr::Dot(ast::Expr::Identifier(name)) => Some(Step::Field(names::fold(name))),
            ast::AccessExpr::Subscript(ast::Subscript::Index { index }) => {
                Some(Step::Item(self.print(index)))
            }
            ast::AccessExpr::Subscript(ast::Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) => {
                let [lower, upper] =
                    [lower_bound, upper_bound].map(|bound| bound.as_ref().map(|bound| self.print(bound)));
                Some(Step::Slice(lower, upper))
            }
            _ => None,
        }
    }
}

/// What is taken out of a value.
enum Step {
    Field(String),
    Item(Printed),
    Slice(Option<Printed>, Option<Printed>),
}

//! Texts of definitions with other names in them: the caller says what relations and types are to be called. Called by `system::pg_catalog`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, DataType, Expr, Ident, ObjectName, Query, TableFactor, VisitorMut};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::names::{fold, relation_name};
use super::quoting::quote_ident;
use super::tree::parse_query;
use super::walk::WalkMut;

/// What a name is to be: its schema, where it is named with one, and itself.
pub(crate) type NewName = (Option<String>, String);

/// What the relations and types of a query are to be called; `None`: as they are.
pub(crate) trait Naming {
    /// A relation, which the query names with a schema or without.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<NewName>;
    /// A type, likewise.
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<NewName>;
}

/// An expression with other names: of relations in `'name'::regclass`, of types that are named bare behind `::`. `None`: it is no expression.
pub(crate) fn expression_with_names(
    text: &str,
    relation: impl Fn(&str) -> Option<String>,
    user_type: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    // Strings stay as they are written, quotes and backslashes doubled: tokens print what they hold.
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .with_unescape(false)
        .tokenize()
        .ok()?;
    for at in 0..tokens.len().saturating_sub(2) {
        if tokens[at + 1] != Token::DoubleColon {
            continue;
        }
        match (&tokens[at], &tokens[at + 2]) {
            (Token::SingleQuotedString(name), Token::Word(ty)) if ty.value == "regclass" => {
                if let Some(name) = relation(&name.replace("''", "'")) {
                    tokens[at] = Token::SingleQuotedString(name.replace('\'', "''"));
                }
            }
            (_, Token::Word(word)) if tokens.get(at + 3) != Some(&Token::Period) => {
                if let Some(name) = user_type(&word.value) {
                    tokens[at + 2] = Token::make_word(&name, None);
                }
            }
            _ => {}
        }
    }
    Some(tokens.iter().map(ToString::to_string).collect())
}

/// Whether an expression names something with this schema before it.
pub(crate) fn names_schema(text: &str, schema: &str) -> bool {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize()
        .unwrap_or_default();
    tokens.windows(2).any(|pair| match pair {
        [Token::Word(word), Token::Period] => match word.quote_style {
            Some(_) => word.value == schema,
            None => word.value.to_lowercase() == schema,
        },
        _ => false,
    })
}

/// A query with other names. `None`: it is no query, or nothing changes.
pub(crate) fn query_with_names(text: &str, naming: &dyn Naming) -> Option<String> {
    let mut query = parse_query(text).ok()?;
    let mut names = Names {
        naming,
        hidden: BTreeSet::new(),
        has_changed: false,
    };
    let _ = query.walk_mut(&mut names);
    names.has_changed.then(|| query.to_string())
}

/// Changes names.
struct Names<'a> {
    naming: &'a dyn Naming,
    /// Names of WITH clauses.
    hidden: BTreeSet<String>,
    has_changed: bool,
}

impl Names<'_> {
    fn change(&mut self, name: &mut ObjectName, new: Option<NewName>) {
        let Some((schema, bare)) = new else { return };
        if schema.is_none() == (name.0.len() == 1) {
            return;
        }
        let parts = schema.into_iter().chain([bare]).map(ident);
        *name = ObjectName::from(parts.collect::<Vec<_>>());
        self.has_changed = true;
    }

    fn change_type(&mut self, ty: &mut DataType) {
        match ty {
            DataType::Custom(name, _) => {
                if let Ok((schema, bare)) = relation_name(name) {
                    let new = self.naming.user_type(schema.as_deref(), &bare);
                    self.change(name, new);
                }
            }
            DataType::Array(
                ast::ArrayElemTypeDef::SquareBracket(element, _)
                | ast::ArrayElemTypeDef::AngleBracket(element)
                | ast::ArrayElemTypeDef::Parenthesis(element),
            ) => self.change_type(element),
            _ => {}
        }
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.extend(ctes.map(|cte| fold(&cte.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let Ok((schema, bare)) = relation_name(name)
            && !(schema.is_none() && self.hidden.contains(&bare))
        {
            let new = self.naming.relation(schema.as_deref(), &bare);
            self.change(name, new);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr {
            self.change_type(data_type);
        }
        ControlFlow::Continue(())
    }
}

fn ident(name: String) -> Ident {
    match quote_ident(&name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    }
}

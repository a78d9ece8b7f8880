//! Texts of definitions with other names in them: the caller says what relations and types are to be called. Called by `system::pg_catalog`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, DataType, Expr, Ident, ObjectName, Query, TableFactor, VisitorMut};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::dialect::parse_expression;
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
    /// A function, likewise.
    fn function(&self, schema: Option<&str>, name: &str) -> Option<NewName>;
}

/// What the names in an expression are to be; `None`: as they are.
pub(crate) trait ExpressionNaming {
    /// A relation, as `'name'::regclass` has it.
    fn relation(&self, name: &str) -> Option<String>;
    /// A type, with a schema or without: quoted where it must be.
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String>;
    /// A function, likewise.
    fn function(&self, schema: Option<&str>, name: &str) -> Option<String>;
}

/// An expression with other names: of relations in `'name'::regclass`, of types behind `::`, of functions before their arguments. `None`: it
/// is no expression.
pub(crate) fn expression_with_names(text: &str, naming: &impl ExpressionNaming) -> Option<String> {
    // Strings stay as they are written, quotes and backslashes doubled: tokens print what they hold.
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .with_unescape(false)
        .tokenize()
        .ok()?;
    let mut named: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let is_behind_colons = named.last() == Some(&Token::DoubleColon);
        let Some((schema, name, width)) = name_at(&tokens[at..]) else {
            named.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let is_called = tokens.get(at + width) == Some(&Token::LParen);
        let new = match (is_behind_colons, is_called) {
            (true, _) if schema.is_none() && name == "regclass" => {
                rename_relation(&mut named, naming);
                None
            }
            (true, _) => naming.user_type(schema, name),
            (false, true) => naming.function(schema, name),
            (false, false) => None,
        };
        match new {
            Some(new) => named.push(Token::make_word(&new, None)),
            None => named.extend_from_slice(&tokens[at..at + width]),
        }
        at += width;
    }
    Some(named.iter().map(ToString::to_string).collect())
}

/// The name that tokens begin with, how it is folded, and of how many of them it is.
fn name_at(tokens: &[Token]) -> Option<(Option<&str>, &str, usize)> {
    match tokens {
        [Token::Word(schema), Token::Period, Token::Word(name), ..] => {
            Some((Some(&schema.value), &name.value, 3))
        }
        [Token::Word(name), ..] => Some((None, &name.value, 1)),
        _ => None,
    }
}

/// Another name for the relation that the last string is of.
fn rename_relation(tokens: &mut [Token], naming: &impl ExpressionNaming) {
    if let [.., Token::SingleQuotedString(name), Token::DoubleColon] = tokens
        && let Some(new) = naming.relation(&name.replace("''", "'"))
    {
        *name = new.replace('\'', "''");
    }
}

/// A query with other names. `None`: it is no query, or nothing changes.
pub(crate) fn query_with_names(text: &str, naming: &dyn Naming) -> Option<String> {
    tree_with_names(parse_query(text).ok()?, naming)
}

/// An expression as it is read with other names. `None`: it is no expression, or nothing changes.
pub(crate) fn read_expression_with_names(text: &str, naming: &dyn Naming) -> Option<String> {
    tree_with_names(parse_expression(text).ok()?, naming)
}

fn tree_with_names<T: WalkMut + std::fmt::Display>(mut tree: T, naming: &dyn Naming) -> Option<String> {
    let mut names = Names {
        naming,
        hidden: BTreeSet::new(),
        has_changed: false,
    };
    let _ = tree.walk_mut(&mut names);
    names.has_changed.then(|| tree.to_string())
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
        let is_same = relation_name(name).is_ok_and(|(known, own)| known == schema && own == bare);
        if is_same {
            return;
        }
        let parts = schema.into_iter().chain([bare]).map(ident);
        *name = ObjectName::from(parts.collect::<Vec<_>>());
        self.has_changed = true;
    }

    fn change_function(&mut self, name: &mut ObjectName) {
        if let Ok((schema, bare)) = relation_name(name) {
            let new = self.naming.function(schema.as_deref(), &bare);
            self.change(name, new);
        }
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
        match factor {
            TableFactor::Table { name, args: None, .. } => {
                if let Ok((schema, bare)) = relation_name(name)
                    && !(schema.is_none() && self.hidden.contains(&bare))
                {
                    let new = self.naming.relation(schema.as_deref(), &bare);
                    self.change(name, new);
                }
            }
            TableFactor::Table { name, alias, .. } => {
                self.change_function(name);
                let columns = alias.iter_mut().flat_map(|alias| &mut alias.columns);
                for ty in columns.filter_map(|column| column.data_type.as_mut()) {
                    self.change_type(ty);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, .. } => self.change_type(data_type),
            Expr::TypedString(typed) => self.change_type(&mut typed.data_type),
            Expr::Function(call) => self.change_function(&mut call.name),
            _ => {}
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

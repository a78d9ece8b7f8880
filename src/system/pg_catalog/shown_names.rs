//! Names in definitions as this session reads them: with their schemas where its search path does not find them bare. A dump is read with
//! an empty search path, so that what it prints must name schemas. Called by catalog functions and rows.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, DataType, Expr, Ident, ObjectName, Query, TableFactor, VisitMut, VisitorMut};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::naming::split_name;
use crate::catalog::is_temporary_schema;
use crate::parse::names::{fold, relation_name};
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::catalog_version::objects::{Objects, path_with_catalog};

/// An expression of the catalogs, in which names are bare where the standard search path finds them: sequences in `'name'::regclass`, and
/// types that users made behind `::`.
pub(crate) fn shown_expression(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let standard = search_path.first().is_some_and(|first| first == "public");
    if (standard && !objects.has_user_types()) || !text.contains("::") {
        return text.to_string();
    }
    let Ok(mut tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize() else {
        return text.to_string();
    };
    for at in 0..tokens.len().saturating_sub(2) {
        if tokens[at + 1] != Token::DoubleColon {
            continue;
        }
        match (&tokens[at], &tokens[at + 2]) {
            (Token::SingleQuotedString(name), Token::Word(ty)) if ty.value == "regclass" => {
                if let Some(name) = shown_relation(name, objects, search_path) {
                    tokens[at] = Token::SingleQuotedString(name.replace('\'', "''"));
                }
            }
            (_, Token::Word(word)) if tokens.get(at + 3) != Some(&Token::Period) => {
                if let Some(name) = shown_type(&word.value, objects, search_path) {
                    tokens[at + 2] = Token::make_word(&name, None);
                }
            }
            _ => {}
        }
    }
    tokens.iter().map(ToString::to_string).collect()
}

/// A relation that the standard search path finds, or that is named with its schema.
fn shown_relation(name: &str, objects: &Objects, search_path: &[String]) -> Option<String> {
    let oid = match split_name(name)?.as_slice() {
        [name] => objects.relation_oid("public", name)?,
        [schema, name] => objects.relation_oid(schema, name)?,
        _ => return None,
    };
    objects.relation_display_name(oid, search_path)
}

fn shown_type(name: &str, objects: &Objects, search_path: &[String]) -> Option<String> {
    let ty = objects.user_type_called(name)?;
    Some(match objects.user_type_named(None, name, search_path) {
        Some(found) if found.oid == ty.oid => quote_ident(&ty.name),
        _ => qualified(&ty.schema, &ty.name),
    })
}

/// The query of a view that was made with this search path.
pub(crate) fn shown_query(
    text: &str,
    made_with: &[String],
    objects: &Objects,
    search_path: &[String],
) -> String {
    let Ok(mut query) = crate::parse::parse_query(text) else {
        return text.to_string();
    };
    let mut names = Names {
        objects,
        made_with,
        search_path,
        hidden: BTreeSet::new(),
        has_changed: false,
    };
    let _ = query.visit(&mut names);
    match names.has_changed {
        true => query.to_string(),
        false => text.to_string(),
    }
}

/// Writes names as the reader finds them.
struct Names<'a> {
    objects: &'a Objects,
    made_with: &'a [String],
    search_path: &'a [String],
    /// Names of WITH clauses.
    hidden: BTreeSet<String>,
    has_changed: bool,
}

impl Names<'_> {
    fn show(&mut self, name: &mut ObjectName) {
        let oid = match relation_name(name) {
            Ok((None, bare)) if self.hidden.contains(&bare) => None,
            Ok((None, bare)) => {
                path_with_catalog(self.made_with).find_map(|schema| self.objects.relation_oid(schema, &bare))
            }
            Ok((Some(schema), bare)) => self.objects.relation_oid(&schema, &bare),
            Err(_) => None,
        };
        let Some((schema, bare)) = oid.and_then(|oid| self.objects.relation_name(oid)) else {
            return;
        };
        let is_visible = oid.and_then(|oid| self.objects.is_visible(oid, self.search_path)) == Some(true);
        if is_visible == (name.0.len() == 1) || is_temporary_schema(&schema) {
            return;
        }
        *name = object_name(&schema, &bare, is_visible);
        self.has_changed = true;
    }

    fn show_type(&mut self, ty: &mut DataType) {
        match ty {
            DataType::Custom(name, _) => {
                let Ok((schema, bare)) = relation_name(name) else {
                    return;
                };
                let named = |path| self.objects.user_type_named(schema.as_deref(), &bare, path);
                let Some(found) = named(self.made_with) else {
                    return;
                };
                let bare = self.objects.user_type_named(None, &found.name, self.search_path);
                let is_visible = bare.is_some_and(|bare| bare.oid == found.oid);
                if is_visible != (name.0.len() == 1) {
                    *name = object_name(&found.schema, &found.name, is_visible);
                    self.has_changed = true;
                }
            }
            DataType::Array(
                ast::ArrayElemTypeDef::SquareBracket(element, _)
                | ast::ArrayElemTypeDef::AngleBracket(element)
                | ast::ArrayElemTypeDef::Parenthesis(element),
            ) => self.show_type(element),
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
        if let TableFactor::Table { name, args: None, .. } = factor {
            self.show(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr {
            self.show_type(data_type);
        }
        ControlFlow::Continue(())
    }
}

fn object_name(schema: &str, name: &str, is_bare: bool) -> ObjectName {
    let ident = |name: &str| match quote_ident(name) {
        bare if bare == name => Ident::new(name),
        _ => Ident::with_quote('"', name),
    };
    match is_bare {
        true => ObjectName::from(vec![ident(name)]),
        false => ObjectName::from(vec![ident(schema), ident(name)]),
    }
}

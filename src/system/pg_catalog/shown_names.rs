//! Names in definitions as this session reads them: with their schemas where its search path does not find them bare. A dump is read with
//! an empty search path, so that what it prints must name schemas. Called by catalog functions and rows.

use super::naming::split_name;
use crate::catalog::{RELATION_BEGINS, RELATION_ENDS, is_temporary_schema};
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::shown_names::{Naming, NewName, expression_with_names, query_with_names};
use crate::system::catalog_version::objects::{Objects, path_with_catalog};

/// An expression of the catalogs, in which names are bare where the standard search path finds them: sequences in `'name'::regclass`, and
/// types that users made behind `::`.
pub(crate) fn shown_expression(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let standard = search_path == ["public"];
    if (standard && !objects.has_user_types()) || !text.contains("::") {
        return text.to_string();
    }
    let relation = |name: &str| shown_relation(name, objects, search_path);
    let user_type = |name: &str| shown_type(name, objects, search_path);
    expression_with_names(text, relation, user_type).unwrap_or_else(|| text.to_string())
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

/// A printed query: its marked relations as the reader finds them, types likewise.
pub(crate) fn shown_printed(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(RELATION_BEGINS) {
        shown.push_str(before);
        let (name, behind) = behind.split_once(RELATION_ENDS).unwrap_or((behind, ""));
        let meant = split_name(name).and_then(|parts| match parts.as_slice() {
            [schema, name] => objects.relation_oid(schema, name),
            _ => None,
        });
        let called = meant.and_then(|oid| objects.relation_display_name(oid, search_path));
        shown.push_str(called.as_deref().unwrap_or(name));
        rest = behind;
    }
    shown.push_str(rest);
    shown_expression(&shown, objects, search_path)
}

/// The query of a view that was made with this search path.
pub(crate) fn shown_query(
    text: &str,
    made_with: &[String],
    objects: &Objects,
    search_path: &[String],
) -> String {
    let names = ShownNames {
        objects,
        made_with,
        search_path,
    };
    query_with_names(text, &names).unwrap_or_else(|| text.to_string())
}

/// Names as the reader finds what they meant.
struct ShownNames<'a> {
    objects: &'a Objects,
    made_with: &'a [String],
    search_path: &'a [String],
}

impl Naming for ShownNames<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        let find = |schema: &str| self.objects.relation_oid(schema, name);
        let oid = match schema {
            None => path_with_catalog(self.made_with).find_map(find),
            Some(schema) => find(schema),
        }?;
        let (schema, name) = self.objects.relation_name(oid)?;
        if is_temporary_schema(&schema) {
            return None;
        }
        let is_visible = self.objects.is_visible(oid, self.search_path) == Some(true);
        Some(((!is_visible).then_some(schema), name))
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        let found = self.objects.user_type_named(schema, name, self.made_with)?;
        let bare = self.objects.user_type_named(None, &found.name, self.search_path);
        let is_visible = bare.is_some_and(|bare| bare.oid == found.oid);
        Some(((!is_visible).then(|| found.schema.clone()), found.name.clone()))
    }
}

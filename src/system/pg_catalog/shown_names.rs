//! Names in definitions as this session reads them: with their schemas where its search path does not find them bare. A dump is read with
//! an empty search path, so that what it prints must name schemas. Called by catalog functions and rows.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use super::naming::split_name;
use super::object_class::{PROCEDURE_CLASS, TYPE_CLASS};
use crate::catalog::{PrintedQuery, STANDARD_SCHEMA, is_temporary_schema};
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::shown_names::{ExpressionNaming, Naming, NewName, expression_with_names, query_with_names};
use crate::system::catalog_version::objects::{Objects, SYSTEM, path_with_catalog};

/// The names of the server's functions, which a text means where it names none of a user's.
static SERVER_FUNCTIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let procedures = SYSTEM.procedures.values();
    procedures.map(|procedure| procedure.name.as_str()).collect()
});

/// An expression of the catalogs, in which names are as the standard search path finds them: sequences in `'name'::regclass`, types that users
/// made behind `::`, functions of users.
pub(crate) fn shown_expression(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let standard = search_path == ["public"];
    let may_differ = !standard || objects.has_user_types() || !objects.routines.is_empty();
    if !may_differ || !(text.contains("::") || text.contains('(')) {
        return text.to_string();
    }
    let names = StandardNames { objects, search_path };
    expression_with_names(text, &names).unwrap_or_else(|| text.to_string())
}

/// Names of the standard search path as the reader finds what they mean.
struct StandardNames<'a> {
    objects: &'a Objects,
    search_path: &'a [String],
}

impl ExpressionNaming for StandardNames<'_> {
    fn relation(&self, name: &str) -> Option<String> {
        let oid = match split_name(name)?.as_slice() {
            [name] => self.objects.relation_oid("public", name)?,
            [schema, name] => self.objects.relation_oid(schema, name)?,
            _ => return None,
        };
        self.objects.relation_display_name(oid, self.search_path)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let ty = match schema {
            Some(schema) => self.objects.user_type_named(Some(schema), name, &[]),
            None => self.objects.user_type_called(name),
        };
        let Some(ty) = ty else {
            // The rows of a relation have a type of its name.
            let oid = self.objects.relation_oid(schema.unwrap_or(STANDARD_SCHEMA), name);
            let oid = oid.filter(|oid| self.objects.find(*oid).is_some())?;
            return self.objects.relation_display_name(oid, self.search_path);
        };
        let found = self.objects.user_type_named(None, &ty.name, self.search_path);
        Some(match found {
            Some(found) if found.oid == ty.oid => quote_ident(&ty.name),
            _ => qualified(&ty.schema, &ty.name),
        })
    }

    fn function(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let routine = match schema {
            None if SERVER_FUNCTIONS.contains(name) => return None,
            schema => self.objects.routine_called(schema, name)?,
        };
        Some(self.objects.shown_routine(routine, self.search_path))
    }
}

/// A printed query: its marked relations and functions as the reader finds them, types likewise.
pub(crate) fn shown_printed(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let shown = PrintedQuery::with_names(text, |name, is_function| {
        let parts = split_name(name);
        let Some([schema, own]) = parts.as_deref() else {
            return name.to_string();
        };
        let called = match is_function {
            true => objects
                .routine_called(Some(schema), own)
                .map(|routine| objects.shown_routine(routine, search_path)),
            false => objects
                .relation_oid(schema, own)
                .and_then(|oid| objects.relation_display_name(oid, search_path)),
        };
        called.unwrap_or_else(|| name.to_string())
    });
    shown_types(&shown, objects, search_path)
}

/// The functions and types of users that an expression of the catalogs names, by class and oid, each once.
pub(super) fn objects_in_expression(text: &str, objects: &Objects) -> BTreeSet<(i64, i64)> {
    let named = NamedObjects {
        objects,
        found: RefCell::default(),
        has_functions: true,
    };
    if objects.has_user_types() || !objects.routines.is_empty() {
        // Nothing gets another name.
        let _ = expression_with_names(text, &named);
    }
    named.found.into_inner()
}

/// The same of a printed query, the functions of which stand in marks.
pub(super) fn objects_in_query(text: &str, objects: &Objects) -> BTreeSet<(i64, i64)> {
    let named = NamedObjects {
        objects,
        found: RefCell::default(),
        has_functions: false,
    };
    let read = PrintedQuery::with_names(text, |name, is_function| {
        if let (true, Some([schema, own])) = (is_function, split_name(name).as_deref()) {
            named.take_function(Some(schema), own);
        }
        name.to_string()
    });
    let _ = expression_with_names(&read, &named);
    named.found.into_inner()
}

/// Gathers what names mean.
struct NamedObjects<'a> {
    objects: &'a Objects,
    found: RefCell<BTreeSet<(i64, i64)>>,
    /// Whether what stands before parentheses is a function's name.
    has_functions: bool,
}

impl NamedObjects<'_> {
    fn take_function(&self, schema: Option<&str>, name: &str) {
        let found = self.objects.routine_called(schema, name);
        let found = found.map(|routine| (PROCEDURE_CLASS, i64::from(routine.oid)));
        self.found.borrow_mut().extend(found);
    }
}

impl ExpressionNaming for NamedObjects<'_> {
    fn relation(&self, _: &str) -> Option<String> {
        None
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let ty = match schema {
            Some(schema) => self.objects.user_type_named(Some(schema), name, &[]),
            None => self.objects.user_type_called(name),
        };
        let found = ty.map(|ty| (TYPE_CLASS, i64::from(ty.oid)));
        self.found.borrow_mut().extend(found);
        None
    }

    fn function(&self, schema: Option<&str>, name: &str) -> Option<String> {
        if self.has_functions && !(schema.is_none() && SERVER_FUNCTIONS.contains(name)) {
            self.take_function(schema, name);
        }
        None
    }
}

/// A query in which relations and functions are called as they are to be.
fn shown_types(text: &str, objects: &Objects, search_path: &[String]) -> String {
    let names = TypesAlone(StandardNames { objects, search_path });
    expression_with_names(text, &names).unwrap_or_else(|| text.to_string())
}

/// The same without functions.
struct TypesAlone<'a>(StandardNames<'a>);

impl ExpressionNaming for TypesAlone<'_> {
    fn relation(&self, name: &str) -> Option<String> {
        self.0.relation(name)
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String> {
        self.0.user_type(schema, name)
    }

    fn function(&self, _: Option<&str>, _: &str) -> Option<String> {
        None
    }
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

    fn function(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        let found = match schema {
            None if SERVER_FUNCTIONS.contains(name) => return None,
            schema => self.objects.routines.find(schema, name, self.made_with),
        };
        let routine = found.first()?;
        let is_visible = self.objects.is_routine_visible(routine, self.search_path);
        Some((
            (!is_visible).then(|| routine.schema.clone()),
            routine.name.clone(),
        ))
    }
}

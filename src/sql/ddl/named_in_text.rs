//! What the texts of definitions name: a type, a function, a schema. Told by how the text reads, names found as it finds them. Where such a
//! thing gets another name, the texts are written anew with that; who drops it asks which texts name it.

use crate::catalog::{Catalog, ExpressionText, IndexDef, PrintedQuery, RoutineDef, STANDARD_SCHEMA, TypeDef};
use crate::functions::functions_named;
use crate::parse::mentions_word;
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::shown_names::{
    ExpressionNaming, Naming, NewName, expression_with_names, query_with_names, read_expression_with_names,
};
use crate::system::pg_catalog::naming::split_name;

/// Something that texts may name.
#[derive(Clone, Copy)]
pub(super) enum NamedObject<'a> {
    /// A type or domain.
    Type(&'a TypeDef),
    /// A function, which shares its name with no other of its schema.
    Routine(&'a RoutineDef),
    /// All that is in a schema.
    Schema(&'a str),
}

impl NamedObject<'_> {
    /// The word that a text has which names it.
    fn word(&self) -> &str {
        match self {
            NamedObject::Type(ty) => &ty.name,
            NamedObject::Routine(routine) => &routine.name,
            NamedObject::Schema(name) => name,
        }
    }
}

/// Something under a new name.
pub(super) struct Renaming<'a> {
    catalog: &'a Catalog,
    object: NamedObject<'a>,
    /// Its schema and name; of a schema the name alone.
    schema: &'a str,
    name: &'a str,
}

/// The expressions of an index, as they are printed.
pub(super) fn texts_of(index: &IndexDef) -> Vec<&str> {
    let expressions = index
        .expressions
        .iter()
        .map(|expression| expression.text.as_str());
    expressions
        .chain(index.predicate.as_ref().map(|predicate| predicate.text.as_str()))
        .collect()
}

/// Texts in which names without a schema are found along a path.
struct Along<'a> {
    renaming: &'a Renaming<'a>,
    path: &'a [String],
    /// Whether bare names are those of `public` in these texts.
    is_standard: bool,
}

impl<'a> Renaming<'a> {
    /// Of an object in the catalog, which is to have this schema and name.
    pub(super) fn new(
        catalog: &'a Catalog,
        object: NamedObject<'a>,
        (schema, name): (&'a str, &'a str),
    ) -> Renaming<'a> {
        Renaming {
            catalog,
            object,
            schema,
            name,
        }
    }

    /// What tells whether texts name an object, and no more.
    pub(super) fn asking(catalog: &'a Catalog, object: NamedObject<'a>) -> Renaming<'a> {
        Renaming::new(catalog, object, ("", ""))
    }

    /// Whether an expression that is read names it.
    pub(super) fn is_in_expression(&self, sql: &str) -> bool {
        self.expression(sql).is_some()
    }

    /// Whether a query that is read does, which was made with this search path.
    pub(super) fn is_in_query(&self, text: &str, path: &[String]) -> bool {
        self.query(text, path).is_some()
    }

    /// Whether a printed expression does.
    pub(super) fn is_in_printed(&self, text: &ExpressionText) -> bool {
        self.printed(&text.plain).is_some()
    }

    /// An expression that is read, with the new name. `None`: it does not name it.
    pub(super) fn expression(&self, sql: &str) -> Option<String> {
        if !self.may_be_in(sql) {
            return None;
        }
        let path = [STANDARD_SCHEMA.to_string()];
        read_expression_with_names(sql, &self.along(&path, true))
    }

    /// The same of one whose names are found along a path.
    pub(super) fn expression_along(&self, sql: &str, path: &[String]) -> Option<String> {
        match self.may_be_in(sql) {
            true => read_expression_with_names(sql, &self.along(path, false)),
            false => None,
        }
    }

    /// Whether a text has its word.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        mentions_word(text, self.object.word())
    }

    /// The same of a query.
    pub(super) fn query(&self, text: &str, path: &[String]) -> Option<String> {
        if !self.may_be_in(text) {
            return None;
        }
        query_with_names(text, &self.along(path, false))
    }

    /// The same of a printed expression.
    pub(super) fn printed(&self, text: &str) -> Option<String> {
        let path = [STANDARD_SCHEMA.to_string()];
        let renamed = expression_with_names(text, &self.along(&path, true))?;
        (renamed != text).then_some(renamed)
    }

    /// The same of a printed query, which has marks. `None`: it names it where it has none.
    pub(super) fn printed_query(&self, query: &PrintedQuery) -> Option<PrintedQuery> {
        Some(PrintedQuery {
            plain: self.marked(&query.plain)?,
            pretty: self.marked(&query.pretty)?,
        })
    }

    fn marked(&self, text: &str) -> Option<String> {
        let path = [STANDARD_SCHEMA.to_string()];
        let along = self.along(&path, false);
        let text = PrintedQuery::with_marked(text, |name, is_function| {
            let parts = split_name(name)?;
            let [schema, name] = parts.as_slice() else {
                return None;
            };
            let new = match is_function {
                true => Naming::function(&along, Some(schema), name)?,
                false => Naming::relation(&along, Some(schema), name)?,
            };
            Some(qualified(new.0.as_deref().unwrap_or(STANDARD_SCHEMA), &new.1))
        });
        // What an older release printed has functions without marks.
        let is_left = matches!(self.object, NamedObject::Routine(_))
            && mentions_word(&PrintedQuery::without_marked(&text), self.object.word());
        let types = expression_with_names(&text, &TypesAlone(along));
        types.filter(|_| !is_left)
    }

    fn along<'t>(&'t self, path: &'t [String], is_standard: bool) -> Along<'t> {
        Along {
            renaming: self,
            path,
            is_standard,
        }
    }
}

impl Along<'_> {
    /// Whether a name is that of the type.
    fn is_type(&self, schema: Option<&str>, name: &str) -> bool {
        let types = &self.renaming.catalog.types;
        match self.renaming.object {
            NamedObject::Schema(renamed) => schema == Some(renamed) && types.get(renamed, name).is_some(),
            NamedObject::Routine(_) => false,
            NamedObject::Type(ty) => {
                let found = types.find(schema, name, self.path).or_else(|| {
                    // What an older release stored names no schemas.
                    let mut called = types.iter().filter(|ty| ty.name == name);
                    let only = called.next().filter(|_| called.next().is_none())?;
                    (schema.is_none() && self.is_standard).then_some(only)
                });
                found.is_some_and(|found| found.oid == ty.oid)
            }
        }
    }

    /// Whether a name is that of the function.
    fn is_function(&self, schema: Option<&str>, name: &str) -> bool {
        let routines = &self.renaming.catalog.routines;
        match self.renaming.object {
            NamedObject::Schema(renamed) => {
                schema == Some(renamed) && !routines.find(schema, name, &[]).is_empty()
            }
            NamedObject::Type(_) => false,
            // A bare name is the server's where that has one of it.
            NamedObject::Routine(_) if schema.is_none() && functions_named(name).next().is_some() => false,
            NamedObject::Routine(routine) => {
                let found = routines.find(schema, name, self.path);
                found.first().is_some_and(|found| found.oid == routine.oid)
            }
        }
    }

    /// The new name: bare where the text has such names of `public`.
    fn new_name(&self, own: &str) -> NewName {
        let (schema, name) = match self.renaming.object {
            NamedObject::Schema(_) => (self.renaming.name, own),
            _ => (self.renaming.schema, self.renaming.name),
        };
        let is_bare = self.is_standard && schema == STANDARD_SCHEMA;
        ((!is_bare).then(|| schema.to_string()), name.to_string())
    }
}

impl Naming for Along<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        let is_in = matches!(self.renaming.object, NamedObject::Schema(renamed) if schema == Some(renamed));
        is_in.then(|| self.new_name(name))
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        self.is_type(schema, name).then(|| self.new_name(name))
    }

    fn function(&self, schema: Option<&str>, name: &str) -> Option<NewName> {
        self.is_function(schema, name).then(|| self.new_name(name))
    }
}

impl ExpressionNaming for Along<'_> {
    fn relation(&self, _: &str) -> Option<String> {
        // Sequences stand by their numbers.
        None
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String> {
        Naming::user_type(self, schema, name).map(written)
    }

    fn function(&self, schema: Option<&str>, name: &str) -> Option<String> {
        Naming::function(self, schema, name).map(written)
    }
}

/// Names of types alone: what stands before parentheses in a query may be an alias.
struct TypesAlone<'a>(Along<'a>);

impl ExpressionNaming for TypesAlone<'_> {
    fn relation(&self, _: &str) -> Option<String> {
        None
    }

    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<String> {
        ExpressionNaming::user_type(&self.0, schema, name)
    }

    fn function(&self, _: Option<&str>, _: &str) -> Option<String> {
        None
    }
}

fn written((schema, name): NewName) -> String {
    match schema {
        Some(schema) => qualified(&schema, &name),
        None => quote_ident(&name),
    }
}

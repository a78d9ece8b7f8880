//! What the names of types and functions of users mean in stored text, and what those are called to a reader. Asked by who shows such text.

use super::objects::Objects;
use crate::catalog::{RoutineDef, STANDARD_SCHEMA, TypeDef};
use crate::parse::quoting::{qualified, quote_ident};

impl Objects {
    /// Whether users have made types.
    pub(crate) fn has_user_types(&self) -> bool {
        !self.types.is_empty()
    }

    /// The type that a user made and that stored text, which names no schemas of types, means: that of `public`, or the only one.
    pub(crate) fn user_type_called(&self, name: &str) -> Option<&TypeDef> {
        let types = self.types.iter().map(|(_, ty)| &**ty);
        let mut called = types.filter(|ty| ty.name == name);
        called.clone().find(|ty| ty.schema == "public").or_else(|| {
            let first = called.next()?;
            called.next().is_none().then_some(first)
        })
    }

    /// The function that users made and that stored text means: that of the schema, or of `public`. (What an older release stored names no
    /// schemas: the only one is meant.)
    pub(crate) fn routine_called(&self, schema: Option<&str>, name: &str) -> Option<&RoutineDef> {
        let called = || self.routines.iter().filter(|routine| routine.name == name);
        let of = |schema: &str| called().find(|routine| routine.schema == schema);
        let found = match schema {
            Some(schema) => of(schema),
            None => of(STANDARD_SCHEMA).or_else(|| {
                let first = called().next()?;
                called()
                    .all(|other| other.schema == first.schema)
                    .then_some(first)
            }),
        };
        found.map(|routine| &**routine)
    }

    /// Whether a function's bare name means it, or another of its schema.
    pub(crate) fn is_routine_visible(&self, routine: &RoutineDef, search_path: &[String]) -> bool {
        let found = self.routines.find(None, &routine.name, search_path);
        found.first().is_some_and(|first| first.schema == routine.schema)
    }

    /// A function's name, quoted where it must be: with its schema where the bare name does not mean it.
    pub(crate) fn shown_routine(&self, routine: &RoutineDef, search_path: &[String]) -> String {
        match self.is_routine_visible(routine, search_path) {
            true => quote_ident(&routine.name),
            false => qualified(&routine.schema, &routine.name),
        }
    }
}

//! `Lookups`: what one who works something out (a plan) asks of the catalog by name, and what it answers. By the answers one can
//! tell whether another catalog would have led to the same: a table that changed, was dropped and made again, renamed, or is
//! hidden by one in an earlier schema answers otherwise; anything else that changed does not matter. A definition stands for all
//! that belongs to it: columns (those that are not there yet among them), indexes, options, sequences.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Access, Casts, Catalog, Object, ObjectKind, RelationName, RoutineDef, TypeDef, record_key};
use crate::Result;

/// What has been asked so far. Whoever shares it adds to it.
#[derive(Debug, Default)]
pub struct Lookups(Mutex<BTreeSet<Lookup>>);

/// What was asked, and what each was answered.
#[derive(Debug, Clone, Default)]
pub struct Answers(Box<[Lookup]>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Lookup {
    Relation {
        schema: Option<String>,
        name: String,
        search_path: Vec<String>,
        found: Option<Definition>,
    },
    Schema {
        name: String,
        is_there: bool,
    },
    Extension {
        name: String,
        schema: Option<String>,
    },
    Type {
        schema: Option<String>,
        name: String,
        search_path: Vec<String>,
        found: Option<(u32, u64)>,
    },
    Routines {
        schema: Option<String>,
        name: String,
        search_path: Vec<String>,
        found: Vec<(u32, u64)>,
    },
    Casts {
        found: Vec<(u32, u64)>,
    },
}

/// A definition, by what it is, oid and version.
type Definition = (ObjectKind, u32, u64);

impl Lookups {
    /// As [`Catalog::get_relation`].
    pub fn get_relation<'c>(
        &self,
        catalog: &'c Catalog,
        name: RelationName<'_>,
        access: Access,
    ) -> Result<Option<Object<'c>>> {
        let found = catalog.get_relation(name, Access::Name)?;
        self.lock().insert(Lookup::Relation {
            schema: name.schema.map(str::to_string),
            name: name.name.to_string(),
            search_path: match name.schema {
                Some(_) => Vec::new(),
                None => name.search_path.to_vec(),
            },
            found: found.map(Object::definition),
        });
        catalog.get_relation(name, access)
    }

    /// Whether there is a schema of this name.
    pub fn has_schema(&self, catalog: &Catalog, name: &str) -> bool {
        let is_there = catalog.schemas.contains_key(name);
        self.lock().insert(Lookup::Schema {
            name: name.to_string(),
            is_there,
        });
        is_there
    }

    /// The schema that an extension was made in. `None`: it was not.
    pub fn schema_of_extension<'c>(&self, catalog: &'c Catalog, name: &str) -> Option<&'c str> {
        let schema = catalog.extensions.get(name).map(|made| made.schema.as_str());
        self.lock().insert(Lookup::Extension {
            name: name.to_string(),
            schema: schema.map(str::to_string),
        });
        schema
    }

    /// As [`UserTypes::find`](super::UserTypes::find).
    pub fn get_type(
        &self,
        catalog: &Catalog,
        schema: Option<&str>,
        name: &str,
        search_path: &[String],
    ) -> Option<Arc<TypeDef>> {
        let found = catalog.types.find(schema, name, search_path);
        self.lock().insert(Lookup::Type {
            schema: schema.map(str::to_string),
            name: name.to_string(),
            search_path: match schema {
                Some(_) => Vec::new(),
                None => search_path.to_vec(),
            },
            found: found.map(|found| (found.oid, found.version_with_types())),
        });
        found.cloned()
    }

    /// As [`Routines::find`](super::Routines::find).
    pub fn get_routines(
        &self,
        catalog: &Catalog,
        schema: Option<&str>,
        name: &str,
        search_path: &[String],
    ) -> Vec<Arc<RoutineDef>> {
        if catalog.routines.is_empty() && search_path.is_empty() {
            return Vec::new();
        }
        let found = catalog.routines.find(schema, name, search_path);
        self.lock().insert(Lookup::Routines {
            schema: schema.map(str::to_string),
            name: name.to_string(),
            search_path: match schema {
                Some(_) => Vec::new(),
                None => search_path.to_vec(),
            },
            found: versions(&found),
        });
        found
    }

    /// All casts that users made.
    pub fn casts<'c>(&self, catalog: &'c Catalog) -> &'c Casts {
        self.lock().insert(Lookup::Casts {
            found: cast_versions(&catalog.casts),
        });
        &catalog.casts
    }

    /// The records of the tables and views that were found: who changes a definition locks its record.
    pub fn records(&self, catalog: &Catalog) -> BTreeSet<Vec<u8>> {
        let objects = self.objects(catalog).into_iter();
        objects.filter_map(record_of).collect()
    }

    /// The same of views alone.
    pub fn view_records(&self, catalog: &Catalog) -> Vec<Vec<u8>> {
        let views = self.objects(catalog).into_iter();
        views
            .filter(|object| matches!(object, Object::View(_)))
            .filter_map(record_of)
            .collect()
    }

    /// The relations that were found, as the catalog has them.
    fn objects<'c>(&self, catalog: &'c Catalog) -> Vec<Object<'c>> {
        let asked = self.lock();
        let found = asked.iter().filter_map(|lookup| match lookup {
            Lookup::Relation {
                schema,
                name,
                search_path,
                found: Some(_),
            } => {
                let name = RelationName {
                    schema: schema.as_deref(),
                    name,
                    search_path,
                };
                catalog.get_relation(name, Access::Name).ok().flatten()
            }
            _ => None,
        });
        found.collect()
    }

    /// Forgets what has been asked.
    pub fn forget(&self) {
        self.lock().clear();
    }

    /// What was answered so far.
    pub fn answers(&self) -> Answers {
        Answers(self.lock().iter().cloned().collect())
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<Lookup>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    /// Whether the catalog would answer the same.
    pub fn are_those_of(&self, catalog: &Catalog) -> bool {
        self.0.iter().all(|lookup| lookup.is_answered_by(catalog))
    }
}

impl Lookup {
    fn is_answered_by(&self, catalog: &Catalog) -> bool {
        match self {
            Lookup::Relation {
                schema,
                name,
                search_path,
                found,
            } => {
                let name = RelationName {
                    schema: schema.as_deref(),
                    name,
                    search_path,
                };
                let now = catalog.get_relation(name, Access::Name);
                now.is_ok_and(|now| now.map(Object::definition) == *found)
            }
            Lookup::Type {
                schema,
                name,
                search_path,
                found,
            } => {
                let now = catalog.types.find(schema.as_deref(), name, search_path);
                now.map(|now| (now.oid, now.version_with_types())) == *found
            }
            Lookup::Routines {
                schema,
                name,
                search_path,
                found,
            } => versions(&catalog.routines.find(schema.as_deref(), name, search_path)) == *found,
            Lookup::Extension { name, schema } => {
                let now = catalog.extensions.get(name).map(|made| &made.schema);
                now == schema.as_ref()
            }
            Lookup::Casts { found } => cast_versions(&catalog.casts) == *found,
            Lookup::Schema { name, is_there } => catalog.schemas.contains_key(name) == *is_there,
        }
    }
}

fn cast_versions(casts: &Casts) -> Vec<(u32, u64)> {
    casts.iter().map(|cast| (cast.oid, cast.version)).collect()
}

fn versions(found: &[Arc<RoutineDef>]) -> Vec<(u32, u64)> {
    found
        .iter()
        .map(|routine| (routine.oid, routine.version))
        .collect()
}

/// The record of a table or view.
fn record_of(object: Object<'_>) -> Option<Vec<u8>> {
    match object {
        Object::Table(table) | Object::Index(table, _) => Some(record_key(table.id)),
        Object::View(view) => Some(record_key(view.id)),
        Object::Sequence(_) => None,
    }
}

//! The schemas that names are searched in: those of `search_path`, and the one of the session's temporary objects.

use super::{Settings, value};
use crate::catalog::{TEMPORARY_ALIAS, temporary_schema};

impl Settings {
    /// Gives the session of this process id a schema for its temporary objects.
    pub fn begin_session(&mut self, process_id: i32) {
        self.temporary_schema = temporary_schema(process_id).into();
        self.derive_search_path();
    }

    /// The schema that a statement means by this name: `pg_temp` is the session's own.
    pub fn schema_meant<'a>(&'a self, name: &'a str) -> &'a str {
        match name == TEMPORARY_ALIAS && !self.temporary_schema.is_empty() {
            true => &self.temporary_schema,
            false => name,
        }
    }

    /// The schemas that the setting names: new objects are made in the first that there is.
    pub fn named_path(&self) -> &[String] {
        let is_implicit = !self.temporary_schema.is_empty() && !self.names_temporary_schema;
        &self.search_path[usize::from(is_implicit)..]
    }

    /// Works the path out of the setting.
    pub(super) fn derive_search_path(&mut self) {
        let mut path = value::search_path(self.value("search_path"));
        self.names_temporary_schema = path.iter().any(|schema| schema == TEMPORARY_ALIAS);
        if !self.temporary_schema.is_empty() {
            let own = self.temporary_schema.to_string();
            match self.names_temporary_schema {
                true => path
                    .iter_mut()
                    .filter(|schema| *schema == TEMPORARY_ALIAS)
                    .for_each(|schema| schema.clone_from(&own)),
                false => path.insert(0, own),
            }
        }
        self.search_path = path;
    }
}

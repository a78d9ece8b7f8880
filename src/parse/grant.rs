//! `Grant`: what GRANT, REVOKE and ALTER DEFAULT PRIVILEGES name. `grant_reader` reads them, `sql::ddl::grant` runs them.

use sqlparser::ast::ObjectName;

use super::definition::RoleName;
use super::routine::{RoutineRef, RoutineWord};

/// GRANT, REVOKE, or either in ALTER DEFAULT PRIVILEGES.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// REVOKE.
    pub revokes: bool,
    /// The columns that a privilege is of, of each relation.
    pub columns: Vec<String>,
    /// On what.
    pub objects: GrantObjects,
    /// To whom, or from whom; PUBLIC is `public`.
    pub roles: Vec<RoleName>,
}

/// What privileges are granted on.
#[derive(Debug, Clone, PartialEq)]
pub enum GrantObjects {
    /// Tables, views, sequences: any relation.
    Relations(Vec<ObjectName>),
    /// Sequences alone.
    Sequences(Vec<ObjectName>),
    /// Databases, by their names.
    Databases(Vec<String>),
    /// Schemas, or all objects of some kind in them.
    Schemas(Vec<String>),
    /// Functions and procedures.
    Routines(RoutineWord, Vec<RoutineRef>),
    /// Types and domains.
    Types(Vec<ObjectName>),
    /// Large objects, by their oids.
    LargeObjects(Vec<u32>),
    /// Objects that are to be made, in these schemas.
    Defaults(Vec<String>),
    /// What no database here has of its own, or a role.
    Others,
}

impl Grant {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match (&self.objects, self.revokes) {
            (GrantObjects::Defaults(_), _) => "ALTER DEFAULT PRIVILEGES",
            (_, false) => "GRANT",
            (_, true) => "REVOKE",
        }
    }
}

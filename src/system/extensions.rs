//! The extensions that may be asked for: one row each, for CREATE EXTENSION and for pg_available_extensions.

use crate::types::SqlType;

/// The extension that is always there.
pub const PLPGSQL: &str = "plpgsql";

/// An extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownExtension {
    /// Its name.
    pub name: &'static str,
    /// Its version: PostgreSQL 15's.
    pub version: &'static str,
    /// What it is for.
    pub comment: &'static str,
    /// The types that it makes.
    pub types: &'static [SqlType],
    /// The functions without arguments that it makes, which stand in the catalog as users' do.
    pub routines: &'static [KnownRoutine],
}

impl KnownExtension {
    /// Whether it makes a function of this name.
    pub fn makes(&self, routine: &str) -> bool {
        self.routines.iter().any(|made| made.name == routine)
    }
}

/// A function that an extension makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownRoutine {
    /// Its name.
    pub name: &'static str,
    /// The CREATE FUNCTION that makes it.
    pub definition: &'static str,
}

/// The extension that makes a type.
pub fn extension_of(ty: &SqlType) -> Option<&'static str> {
    let known = KNOWN_EXTENSIONS.iter().find(|known| known.types.contains(ty));
    known.map(|known| known.name)
}

/// All of them, but for [`PLPGSQL`].
pub const KNOWN_EXTENSIONS: &[KnownExtension] = &[
    KnownExtension {
        name: "btree_gin",
        version: "1.3",
        comment: "support for indexing common datatypes in GIN",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "btree_gist",
        version: "1.7",
        comment: "support for indexing common datatypes in GiST",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "citext",
        version: "1.6",
        comment: "data type for case-insensitive character strings",
        types: &[SqlType::Citext],
        routines: &[],
    },
    KnownExtension {
        name: "fuzzystrmatch",
        version: "1.1",
        comment: "determine similarities and distance between strings",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "moddatetime",
        version: "1.0",
        comment: "functions for tracking last modification time",
        types: &[],
        routines: &[KnownRoutine {
            name: "moddatetime",
            definition: include_str!("moddatetime.sql"),
        }],
    },
    KnownExtension {
        name: "pg_stat_statements",
        version: "1.10",
        comment: "track planning and execution statistics of all SQL statements executed",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "unaccent",
        version: "1.1",
        comment: "text search dictionary that removes accents",
        types: &[],
        routines: &[],
    },
    KnownExtension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        types: &[],
        routines: &[],
    },
];

/// An extension as pg_available_extensions lists it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AvailableExtension {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) comment: &'static str,
}

impl AvailableExtension {
    /// Whether ALTER EXTENSION … SET SCHEMA may move it.
    pub(crate) fn is_relocatable(self) -> bool {
        self.name != PLPGSQL
    }

    /// The schema that it has to stand in, if it is not to be moved.
    pub(crate) fn schema(self) -> Option<&'static str> {
        (!self.is_relocatable()).then_some("pg_catalog")
    }
}

/// What there is of extensions.
pub(crate) fn available() -> impl Iterator<Item = AvailableExtension> {
    let known = KNOWN_EXTENSIONS.iter().map(|known| AvailableExtension {
        name: known.name,
        version: known.version,
        comment: known.comment,
    });
    known.chain([AvailableExtension {
        name: PLPGSQL,
        version: "1.0",
        comment: "PL/pgSQL procedural language",
    }])
}

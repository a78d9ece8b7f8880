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
    },
    KnownExtension {
        name: "btree_gist",
        version: "1.7",
        comment: "support for indexing common datatypes in GiST",
        types: &[],
    },
    KnownExtension {
        name: "citext",
        version: "1.6",
        comment: "data type for case-insensitive character strings",
        types: &[SqlType::Citext],
    },
    KnownExtension {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        types: &[],
    },
    KnownExtension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        types: &[],
    },
    KnownExtension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        types: &[],
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

//! The extensions that may be asked for: one row each, for CREATE EXTENSION and for pg_available_extensions.

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
}

/// All of them, but for [`PLPGSQL`].
pub const KNOWN_EXTENSIONS: &[KnownExtension] = &[
    KnownExtension {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
    },
    KnownExtension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
    },
    KnownExtension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
    },
];

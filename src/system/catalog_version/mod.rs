//! What the system catalogs say of one version of our catalog, whoever asks: rows that every PostgreSQL 15 database has
//! (`definitions`, from `postgres15/`), the objects of this one (`objects`), and the rows made of both, which the server keeps
//! (`version`). Knows nothing of statements: `pg_catalog` makes what depends on one.

pub(crate) mod cells;
pub(crate) mod constraints;
pub(crate) mod default_text;
pub(crate) mod definitions;
mod named_objects;
pub(crate) mod objects;
pub(crate) mod partitions;
pub(crate) mod routine_text;
mod system_objects;
pub(crate) mod triggers;
pub(crate) mod updatability;
pub(crate) mod user_column;
mod user_index;
pub(crate) mod version;

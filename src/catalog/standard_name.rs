//! Names of types and functions in the texts of definitions: bare in `public`, where the standard search path finds them, with their schemas
//! elsewhere.

/// The schema whose types and functions need no schema before them in a text.
pub const STANDARD_SCHEMA: &str = "public";

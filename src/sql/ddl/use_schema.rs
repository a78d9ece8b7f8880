//! LindormTable's USE: the schema in which names are looked up from now on, as SET search_path has it.

use crate::error::nearest_name;
use crate::parse::quoting::quote_ident;
use crate::system::{SettingChange, StatementContext};
use crate::{Error, Result};

/// Runs it; ROLLBACK takes it back, as SET. Errors: 3F000.
pub(super) fn execute(ctx: &StatementContext, schema: &str) -> Result<()> {
    match ctx.catalog.schema(schema) {
        Ok(known) => {
            let path = quote_ident(&known.name);
            let change = SettingChange::of_text("search_path", Some(&path), false);
            ctx.settings.request_change(change).map(drop)
        }
        Err(error) => {
            let known = ctx.catalog.schemas.keys().map(String::as_str);
            let is_database = ctx.database_id(schema).is_ok();
            let hint = match nearest_name(schema, known) {
                _ if is_database => format!(
                    "{schema} is a database, to which a session connects (\\c {schema} in psql); CREATE SCHEMA makes a schema."
                ),
                Some(near) => format!("Perhaps you meant {near}."),
                None => "CREATE SCHEMA makes one; SHOW SCHEMAS tells which there are. Tables stand in public unless a schema is named.".to_string(),
            };
            Err(Error::Advised {
                error: Box::new(error),
                hint,
            })
        }
    }
}

//! What a function without arguments gives that the statement's surroundings decide: time, user, database.

use super::binder::{Binder, Bound};
use super::coercion::CastContext;
use crate::Result;
use crate::exec::placeholder::transaction_time;
use crate::types::{SqlType, Value};

impl Binder<'_> {
    /// What a function without arguments gives that the statement's surroundings decide. `None`: it is no such function.
    pub(super) fn context_value(&mut self, name: &str) -> Result<Option<Bound>> {
        let text = |text: &str| Bound::constant(&Value::Text(text.to_string()), SqlType::Name).map(Some);
        match name {
            "now" | "transaction_timestamp" | "current_timestamp" | "statement_timestamp" => {
                Ok(Some(Bound::new(transaction_time(), SqlType::TimestampTz)))
            }
            "localtimestamp" | "current_date" | "localtime" | "current_time" => {
                let now = Bound::new(transaction_time(), SqlType::TimestampTz);
                let ty = match name {
                    "localtimestamp" => SqlType::Timestamp,
                    "current_date" => SqlType::Date,
                    _ => SqlType::Time,
                };
                self.convert(now, &ty, CastContext::Explicit).map(Some)
            }
            "current_user" | "session_user" | "user" | "current_role" => text(&self.ctx.user),
            "current_database" | "current_catalog" => text(&self.ctx.database),
            "current_schema" => match self
                .search_path
                .iter()
                .find(|schema| self.ctx.catalog.schemas.contains_key(*schema))
            {
                Some(schema) => text(&schema.clone()),
                None => Bound::constant(&Value::Null, SqlType::Name).map(Some),
            },
            "pg_backend_pid" => {
                Bound::constant(&Value::Int(i64::from(self.ctx.process_id)), SqlType::Int4).map(Some)
            }
            _ => Ok(None),
        }
    }
}

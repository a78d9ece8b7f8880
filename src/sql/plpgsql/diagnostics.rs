//! GET DIAGNOSTICS.

use super::frame::Frame;
use crate::Result;
use crate::error::Raised;
use crate::parse::plpgsql::tree::Target;
use crate::types::{SqlType, Value};

impl Frame {
    pub(super) async fn diagnostics(&mut self, items: &[(Target, String)]) -> Result<()> {
        for (target, item) in items {
            let (value, ty) = match item.as_str() {
                "row_count" => (Value::Int(self.row_count), SqlType::Int8),
                "pg_context" => (Value::Text(self.context()), SqlType::Text),
                _ => (Value::Text(self.of_error(item)?), SqlType::Text),
            };
            self.assign_to(target, value, &ty).await?;
        }
        Ok(())
    }

    /// The bodies that it stands in.
    fn context(&self) -> String {
        let place = self.ctx.place.as_ref();
        place.map(|place| place.context()).unwrap_or_default()
    }

    /// What is told of the error that is being handled. Errors: 0Z002 where none is.
    fn of_error(&self, item: &str) -> Result<String> {
        let Some(error) = self.handled.last() else {
            return Err(Raised::new(
                "0Z002",
                "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
            )
            .into());
        };
        let object = error.object();
        let text = match item {
            "returned_sqlstate" => Some(error.sqlstate().to_string()),
            "message_text" => Some(error.to_string()),
            "pg_exception_detail" => error.detail(),
            "pg_exception_hint" => error.hint(),
            "pg_exception_context" => error.context().map(str::to_string),
            "column_name" => object.column.map(str::to_string),
            "constraint_name" => object.constraint.map(str::to_string),
            "pg_datatype_name" => object.data_type.map(str::to_string),
            "table_name" => object.table.map(str::to_string),
            _ => object.schema.map(str::to_string),
        };
        Ok(text.unwrap_or_default())
    }
}

//! current_setting and set_config.

use super::{Call, Function, Returns, lenient};
use crate::Result;
use crate::types::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    lenient("current_setting", (1, 2), Returns::Text, current_setting).bounded(),
    lenient("set_config", (3, 3), Returns::Text, set_config).bounded(),
];

fn current_setting(call: &Call<'_>) -> Result<Value> {
    if call.arguments[0] == Value::Null {
        return Ok(Value::Null);
    }
    let settings = &call.catalog.statement().settings;
    let name = call.text(0)?;
    if call.flag(1)? {
        return Ok(settings.get(name).map_or(Value::Null, Value::Text));
    }
    settings.show(name).map(Value::Text)
}

/// The change takes effect when the statement has succeeded. A NULL value sets the empty text, as in PostgreSQL.
fn set_config(call: &Call<'_>) -> Result<Value> {
    let value = match &call.arguments[1] {
        Value::Null => "",
        _ => call.text(1)?,
    };
    call.catalog
        .statement()
        .settings
        .request_change(call.text(0)?, value, call.flag(2)?)
        .map(Value::Text)
}

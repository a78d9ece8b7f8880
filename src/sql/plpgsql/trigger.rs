//! What a trigger's function finds when it is called: NEW, OLD and the variables whose names begin with TG_.

use std::sync::Arc;

use super::frame::Frame;
use super::variable::{Field, Fields, Holder, Variable};
use crate::catalog::TriggerTiming;
use crate::system::TriggerCall;
use crate::types::{SqlType, Value};

impl Frame {
    /// Declares them, and what the function is to give.
    pub(super) fn declare_trigger(&mut self, call: &TriggerCall) {
        let row = |values: &Option<Vec<Value>>| {
            let is_missing = values.is_none();
            let mut values = values.clone().unwrap_or_default().into_iter();
            let fields = call.table.visible_columns().map(|column| Field {
                name: column.name.clone(),
                ty: column.ty.clone(),
                value: values.next().unwrap_or(Value::Null),
            });
            Variable::of(Holder::Row(Fields {
                all: fields.collect(),
                is_null: is_missing,
            }))
        };
        self.ctx.common_rows = Arc::clone(&call.tables);
        self.declare("new", None, row(&call.new));
        self.declare("old", None, row(&call.old));
        let level = if call.for_each_row { "ROW" } else { "STATEMENT" };
        let (name, text) = (SqlType::Name, SqlType::Text);
        let relation = call.table.name.as_str();
        for (variable, ty, value) in [
            ("tg_name", &name, call.name.as_str()),
            ("tg_when", &text, call.timing.word()),
            ("tg_level", &text, level),
            ("tg_op", &text, call.event.word()),
            ("tg_relname", &name, relation),
            ("tg_table_name", &name, relation),
            ("tg_table_schema", &name, call.table.schema.as_str()),
        ] {
            self.declare_value(variable, ty.clone(), Value::Text(value.to_string()));
        }
        let oid = Value::Int(i64::from(call.table.oid));
        self.declare_value("tg_relid", SqlType::Oid, oid);
        let count = call.arguments.len() as i64;
        self.declare_value("tg_nargs", SqlType::Int4, Value::Int(count));
        let arguments = call.arguments.iter().cloned().map(Value::Text);
        let arguments = match call.arguments.is_empty() {
            true => Value::Null,
            false => Value::Array(arguments.collect()),
        };
        self.declare_value("tg_argv", SqlType::array(SqlType::Text), arguments);
        self.fired_after = call.timing == TriggerTiming::After || !call.for_each_row;
        let types = call.table.visible_columns().map(|column| column.ty.clone());
        self.wanted = Some(types.collect());
    }

    fn declare_value(&mut self, name: &str, ty: SqlType, value: Value) {
        self.declare(name, None, Variable::of(Holder::Scalar { ty, value }));
    }
}

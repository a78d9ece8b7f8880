//! The methods of a path's items: `.size()`, `.double()`, `.datetime()`, `.keyvalue()` and their like.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::json_path_item::Item;
use super::json_path_moment::Moment;
use super::json_path_object_id::place_in;
use super::json_path_run::{Fault, Found, Run, Sink};
use crate::types::json_path::{Method, Step};
use crate::types::{FormatSettings, Numeric, SqlType, Value};

/// Objects of one base count from a multiple of it.
const OBJECT_IDS: i64 = 10_000_000_000;

impl<'d> Run<'d> {
    /// What a method gives for an item; `None`: nothing.
    pub(super) fn method(
        &self,
        method: Method,
        item: &Item<'d>,
    ) -> std::result::Result<Option<Item<'d>>, Fault> {
        let name = method.name();
        match method {
            Method::Type => return Ok(Some(Item::made(Json::String(item.type_name().to_string())))),
            Method::Size => {
                let length = match item.length() {
                    Some(length) => length,
                    None if self.is_lax => 1,
                    None => {
                        let message =
                            format!("jsonpath item method .{name}() can only be applied to an array");
                        self.lacking("22039", &message)?;
                        return Ok(None);
                    }
                };
                return Ok(Some(Item::made(Json::from(length))));
            }
            Method::Double => return self.double(item).map(Some),
            _ => {}
        }
        let number = item.as_number().ok_or_else(|| {
            self.fault(
                "22036",
                format!("jsonpath item method .{name}() can only be applied to a numeric value"),
            )
        })?;
        let result = match method {
            Method::Floor => number.floored(),
            Method::Ceiling => number.ceiled(),
            _ => number.absolute(),
        };
        Ok(Some(Item::number(&result)?))
    }

    fn double(&self, item: &Item<'d>) -> std::result::Result<Item<'d>, Fault> {
        let parsed = |text: &str| match Value::parse(text, &SqlType::Float8, &FormatSettings::default()) {
            Ok(Value::Float8(double)) => Some(double).filter(|double| double.is_finite()),
            _ => None,
        };
        if let Some(number) = item.as_number() {
            let mut digits = Vec::new();
            number.put_text(&mut digits);
            return match std::str::from_utf8(&digits).ok().and_then(parsed) {
                Some(_) => Ok(item.clone()),
                None => Err(self.fault(
                    "22036",
                    "numeric argument of jsonpath item method .double() is out of range for type double precision",
                )),
            };
        }
        let Some(text) = item.as_text() else {
            return Err(self.fault(
                "22036",
                "jsonpath item method .double() can only be applied to a string or numeric value",
            ));
        };
        match parsed(text) {
            Some(double) => Ok(Item::number(&Numeric::from_f64(double)?)?),
            None => Err(self.fault(
                "22036",
                "string argument of jsonpath item method .double() is not a valid representation of a double precision number",
            )),
        }
    }

    pub(super) fn moment(
        &self,
        template: Option<&str>,
        item: &Item<'d>,
    ) -> std::result::Result<Moment, Fault> {
        let Some(text) = item.as_text() else {
            return Err(self.fault(
                "22031",
                "jsonpath item method .datetime() can only be applied to a string",
            ));
        };
        Moment::read(text, template, self.request.zone).map_err(|error| match self.throws {
            true => error.into(),
            false => Fault::Quiet,
        })
    }

    /// `.keyvalue()`: an object of each member, which says by a number whose member it was.
    pub(super) fn key_values(&mut self, rest: &[Step], item: &Item<'d>, mut sink: Sink<'_, 'd>) -> Found {
        let Some(object) = item.json().and_then(Json::as_object) else {
            return Err(self.fault(
                "2203C",
                "jsonpath item method .keyvalue() can only be applied to an object",
            ));
        };
        let place = item
            .json()
            .and_then(|object| place_in(&self.base.0, object))
            .unwrap_or(0);
        let id = self.base.1.saturating_mul(OBJECT_IDS).saturating_add(place);
        let mut any = false;
        for (key, value) in object {
            let mut pair = serde_json::Map::new();
            // In the order in which jsonb keeps keys.
            pair.insert("id".to_string(), Json::from(id));
            pair.insert("key".to_string(), Json::String(key.clone()));
            pair.insert("value".to_string(), value.clone());
            let pair = Json::Object(pair);
            let base = (Cow::Owned(pair.clone()), self.last_base);
            self.last_base += 1;
            let outer = std::mem::replace(&mut self.base, base);
            let found = self.go_on(rest, Item::made(pair), sink.as_deref_mut());
            self.base = outer;
            any = found?;
            if any && sink.is_none() {
                break;
            }
        }
        Ok(any)
    }
}

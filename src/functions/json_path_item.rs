//! What a path of the SQL/JSON path language finds: an item of a document, one that was computed, or a date or time.

use std::borrow::Cow;

use serde_json::{Number, Value as Json};

use super::json_path_moment::Moment;
use crate::Result;
use crate::types::Numeric;

/// An item. What stands in the document is not copied.
#[derive(Debug, Clone)]
pub(super) enum Item<'d> {
    Json(Cow<'d, Json>),
    Moment(Moment),
}

impl<'d> Item<'d> {
    /// Of what the document holds.
    pub(super) fn of(json: &'d Json) -> Item<'d> {
        Item::Json(Cow::Borrowed(json))
    }

    /// One that is computed.
    pub(super) fn made(json: Json) -> Item<'d> {
        Item::Json(Cow::Owned(json))
    }

    /// A number that is computed.
    pub(super) fn number(number: &Numeric) -> Result<Item<'d>> {
        let mut digits = Vec::new();
        number.put_text(&mut digits);
        let number: Number = serde_json::from_slice(&digits)
            .map_err(|_| crate::Error::internal("a finite numeric is a number of JSON"))?;
        Ok(Item::made(Json::Number(number)))
    }

    pub(super) fn json(&self) -> Option<&Json> {
        match self {
            Item::Json(json) => Some(json),
            Item::Moment(_) => None,
        }
    }

    pub(super) fn is_array(&self) -> bool {
        self.json().is_some_and(Json::is_array)
    }

    pub(super) fn is_object(&self) -> bool {
        self.json().is_some_and(Json::is_object)
    }

    /// The number that it is; `None` for all else.
    pub(super) fn as_number(&self) -> Option<Numeric> {
        match self.json() {
            Some(Json::Number(number)) => Numeric::parse(&number.to_string()).ok(),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        self.json().and_then(Json::as_str)
    }

    /// The name of its type, as the method `.type()` gives it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Item::Moment(moment) => moment.type_name(),
            Item::Json(json) => match json.as_ref() {
                Json::Null => "null",
                Json::Bool(_) => "boolean",
                Json::Number(_) => "number",
                Json::String(_) => "string",
                Json::Array(_) => "array",
                Json::Object(_) => "object",
            },
        }
    }

    /// The items of an array, or the values of an object; none of anything else.
    pub(super) fn children(&self) -> Vec<Item<'d>> {
        match self {
            Item::Json(Cow::Borrowed(Json::Array(items))) => items.iter().map(Item::of).collect(),
            Item::Json(Cow::Borrowed(Json::Object(members))) => members.values().map(Item::of).collect(),
            Item::Json(Cow::Owned(Json::Array(items))) => items.iter().cloned().map(Item::made).collect(),
            Item::Json(Cow::Owned(Json::Object(members))) => {
                members.values().cloned().map(Item::made).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value of a key of an object.
    pub(super) fn member(&self, key: &str) -> Option<Item<'d>> {
        match self {
            Item::Json(Cow::Borrowed(Json::Object(members))) => members.get(key).map(Item::of),
            Item::Json(Cow::Owned(Json::Object(members))) => members.get(key).cloned().map(Item::made),
            _ => None,
        }
    }

    /// The item at a place of an array.
    pub(super) fn element(&self, place: usize) -> Option<Item<'d>> {
        match self {
            Item::Json(Cow::Borrowed(Json::Array(items))) => items.get(place).map(Item::of),
            Item::Json(Cow::Owned(Json::Array(items))) => items.get(place).cloned().map(Item::made),
            _ => None,
        }
    }

    /// How many items it has; `None`: it is no array.
    pub(super) fn length(&self) -> Option<usize> {
        self.json().and_then(Json::as_array).map(Vec::len)
    }

    /// As JSON.
    pub(super) fn into_json(self) -> Json {
        match self {
            Item::Json(json) => json.into_owned(),
            Item::Moment(moment) => Json::String(moment.to_text()),
        }
    }
}

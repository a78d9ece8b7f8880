//! The functions and operators of the SQL/JSON path language: `jsonb_path_query` and its kin, `@?`, `@@`.

use std::cell::RefCell;

use arrow::array::ArrayRef;
use serde_json::Value as Json;

use super::json::{document, read};
use super::json_path_item::Item;
use super::json_path_run::{Fault, Request, run};
use super::{Batch, FunctionDef, Parameter, T};
use crate::types::json_path::JsonPath;
use crate::types::json_piece::Piece;
use crate::types::{CatalogType, Value};
use crate::{Error, Result};

const PATH: T = T::Catalog(CatalogType::JsonPath);
const TWO: &[T] = &[T::Jsonb, PATH];
const THREE: &[T] = &[T::Jsonb, PATH, T::Jsonb];
const FOUR: &[T] = &[T::Jsonb, PATH, T::Jsonb, T::Bool];

const PARAMETERS: &[Parameter] = &[
    ("target", None),
    ("path", None),
    ("vars", Some("{}")),
    ("silent", Some("false")),
];

/// The forms of a function, with and without variables and `silent`, that uses the session's zone or not.
macro_rules! forms {
    ($name:literal, $zoned:literal, $returns:expr, $make:path, $body:path) => {
        [
            $make($name, TWO, $returns, |b| $body(b, false)),
            $make($name, THREE, $returns, |b| $body(b, false)),
            $make($name, FOUR, $returns, |b| $body(b, false)).parameters(PARAMETERS),
            $make($zoned, TWO, $returns, |b| $body(b, true)).stable(),
            $make($zoned, THREE, $returns, |b| $body(b, true)).stable(),
            $make($zoned, FOUR, $returns, |b| $body(b, true))
                .stable()
                .parameters(PARAMETERS),
        ]
    };
}

pub(super) static FUNCTIONS: &[FunctionDef] = FORMS.as_flattened();

static FORMS: &[[FunctionDef; 6]] = &[
    forms!(
        "jsonb_path_exists",
        "jsonb_path_exists_tz",
        T::Bool,
        FunctionDef::new,
        exists
    ),
    forms!(
        "jsonb_path_match",
        "jsonb_path_match_tz",
        T::Bool,
        FunctionDef::new,
        matches
    ),
    forms!(
        "jsonb_path_query",
        "jsonb_path_query_tz",
        T::Jsonb,
        FunctionDef::rows,
        query
    ),
    forms!(
        "jsonb_path_query_array",
        "jsonb_path_query_array_tz",
        T::Jsonb,
        FunctionDef::new,
        query_array
    ),
    forms!(
        "jsonb_path_query_first",
        "jsonb_path_query_first_tz",
        T::Jsonb,
        FunctionDef::new,
        query_first
    ),
];

/// The operators: no error of the document is told, and variables are null.
pub(super) static OPERATORS: &[FunctionDef] = &[
    FunctionDef::new("@?", TWO, T::Bool, |b| {
        each(b, Call::Operator, |call| call.exists())
    }),
    FunctionDef::new("@@", TWO, T::Bool, |b| {
        each(b, Call::Operator, |call| call.matches(true))
    }),
];

thread_local! {
    /// The path read last: a constant path is read once a thread, not once a row.
    static LAST: RefCell<Option<(String, JsonPath)>> = const { RefCell::new(None) };
}

fn with_path<R>(text: &str, work: impl FnOnce(&JsonPath) -> R) -> Result<R> {
    let known = LAST.take().filter(|(known, _)| known == text);
    let known = match known {
        Some(known) => known,
        None => (text.to_string(), JsonPath::parse(text)?),
    };
    let result = work(&known.1);
    LAST.set(Some(known));
    Ok(result)
}

/// How a path is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Operator,
    Function { uses_zone: bool },
}

/// One call: a document and a path over it.
struct Asked<'a> {
    document: Json,
    path: &'a str,
    variables: Option<Json>,
    is_silent: bool,
    uses_zone: bool,
    batch: &'a Batch<'a>,
}

/// What `answer` makes of each row.
fn each<R: super::output::Output>(
    batch: &Batch,
    call: Call,
    answer: impl Fn(&Asked) -> Result<R>,
) -> Result<ArrayRef> {
    batch.map_values(|values| {
        let [Value::Text(target), Value::Text(path), rest @ ..] = values else {
            return Ok(None);
        };
        let variables = match (rest, call) {
            ([Value::Text(variables), ..], _) => Some(read(Piece::new(variables))?),
            (_, Call::Function { .. }) => Some(Json::Object(serde_json::Map::new())),
            (_, Call::Operator) => None,
        };
        let asked = Asked {
            document: read(Piece::new(target))?,
            path,
            variables,
            is_silent: call == Call::Operator || matches!(rest, [_, Value::Bool(true)]),
            uses_zone: call == Call::Function { uses_zone: true },
            batch,
        };
        if values.contains(&Value::Null) {
            return Ok(None);
        }
        answer(&asked).map(Some)
    })
}

impl Asked<'_> {
    fn request(&self) -> Request<'_> {
        Request {
            root: &self.document,
            variables: self.variables.as_ref(),
            throws: !self.is_silent,
            uses_zone: self.uses_zone,
            zone: self.batch.settings.time_zone,
            limits: self.batch.limits(),
        }
    }

    /// Whether the path finds something; `None` after an error that is not told.
    fn exists(&self) -> Result<Option<bool>> {
        let found = with_path(self.path, |path| run(path, self.request(), None))?;
        told(found)
    }

    /// The one true or false that the path finds. Errors: 22038 for anything else, unless that is not told.
    fn matches(&self, is_silent: bool) -> Result<Option<bool>> {
        let mut items = Vec::new();
        with_path(self.path, |path| {
            told(run(path, self.request(), Some(&mut items)))
        })??;
        match items.as_slice() {
            [item] if item.json().is_some_and(Json::is_null) => return Ok(None),
            [item] => {
                if let Some(truth) = item.json().and_then(Json::as_bool) {
                    return Ok(Some(truth));
                }
            }
            _ => {}
        }
        match is_silent {
            true => Ok(None),
            false => Err(Error::DataException {
                state: "22038",
                message: "single boolean result is expected".to_string(),
            }),
        }
    }

    /// All that the path finds, as documents.
    fn items(&self) -> Result<Vec<Json>> {
        let mut items = Vec::new();
        with_path(self.path, |path| {
            told(run(path, self.request(), Some(&mut items)))
        })??;
        Ok(items.into_iter().map(Item::into_json).collect())
    }

    fn text(&self, item: &Json) -> Result<String> {
        crate::types::jsonb_text(&item.to_string())
    }
}

fn told(found: std::result::Result<bool, Fault>) -> Result<Option<bool>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Fault::Quiet) => Ok(None),
        Err(Fault::Raised(error)) => Err(*error),
    }
}

fn exists(batch: &Batch, uses_zone: bool) -> Result<ArrayRef> {
    each(batch, Call::Function { uses_zone }, |asked| asked.exists())
}

fn matches(batch: &Batch, uses_zone: bool) -> Result<ArrayRef> {
    each(batch, Call::Function { uses_zone }, |asked| {
        asked.matches(asked.is_silent)
    })
}

fn query(batch: &Batch, uses_zone: bool) -> Result<ArrayRef> {
    each(batch, Call::Function { uses_zone }, |asked| {
        let items = asked.items()?;
        items
            .iter()
            .map(|item| asked.text(item))
            .collect::<Result<Vec<_>>>()
    })
}

fn query_array(batch: &Batch, uses_zone: bool) -> Result<ArrayRef> {
    each(batch, Call::Function { uses_zone }, |asked| {
        document(&Json::Array(asked.items()?).to_string(), batch)
    })
}

fn query_first(batch: &Batch, uses_zone: bool) -> Result<ArrayRef> {
    each(batch, Call::Function { uses_zone }, |asked| {
        let items = asked.items()?;
        items.first().map(|item| asked.text(item)).transpose()
    })
}

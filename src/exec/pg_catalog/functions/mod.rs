//! The catalog functions as DataFusion scalar functions: one table of rows ([`FUNCTIONS`]), one type that runs them
//! value by value. The query layer looks them up by name through [`super::function`]; where a plan runs, a function finds
//! the statement's catalog in the configuration. Knows nothing of SQL text.

pub(crate) mod arrays;
mod definition_text;
mod object_names;
mod privileges;
mod server;
mod settings;

pub(crate) use server::note_server_start;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result as DataFusionResult, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use super::definitions::type_by_catalog_name;
use super::{CatalogContext, installed};
use crate::exec::datafusion_error::to_datafusion;
use crate::exec::value_array::array_of;
use crate::types::value_at;
use crate::types::{CatalogType, SqlType, Value};
use crate::{Error, Result};

/// What a function answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// boolean.
    Bool,
    /// integer.
    Int4,
    /// bigint.
    Int8,
    /// text.
    Text,
    /// name.
    Name,
    /// oid.
    Oid,
    /// An oid that names an object of this kind (`regclass`).
    Object(&'static str),
    /// name[].
    Names,
    /// text[].
    Texts,
    /// aclitem[].
    AclItems,
    /// integer[].
    Int4s,
    /// record[].
    Records,
    /// timestamptz.
    TimestampTz,
    /// inet.
    Inet,
    /// What the elements of the first argument are.
    Element,
    /// An array of what the elements of the first argument are.
    Elements,
}

/// One call: the statement, the arguments as values, and what is known of them.
pub(crate) struct Call<'a> {
    pub(crate) function: &'static Function,
    pub(crate) catalog: &'a CatalogContext,
    pub(crate) arguments: &'a [Value],
    pub(crate) fields: &'a [FieldRef],
}

/// One function: a row of [`FUNCTIONS`].
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: &'static str,
    /// How many arguments it takes, at least and at most.
    pub(crate) arguments: (usize, usize),
    /// What it answers.
    pub(crate) returns: Returns,
    /// NULL for any NULL argument, without a call.
    pub(crate) strict: bool,
    /// Whether it computes and answers about as much as it is given.
    pub(crate) is_bounded: bool,
    /// What computes it.
    pub(crate) call: fn(&Call<'_>) -> Result<Value>,
}

/// A function that answers NULL for a NULL argument.
const fn strict(
    name: &'static str,
    arguments: (usize, usize),
    returns: Returns,
    call: fn(&Call<'_>) -> Result<Value>,
) -> Function {
    Function {
        name,
        arguments,
        returns,
        strict: true,
        is_bounded: false,
        call,
    }
}

/// A function that looks at NULL arguments itself.
const fn lenient(
    name: &'static str,
    arguments: (usize, usize),
    returns: Returns,
    call: fn(&Call<'_>) -> Result<Value>,
) -> Function {
    Function {
        name,
        arguments,
        returns,
        strict: false,
        is_bounded: false,
        call,
    }
}

/// Every catalog function, by topic.
static FUNCTIONS: &[&[Function]] = &[
    object_names::FUNCTIONS,
    definition_text::FUNCTIONS,
    privileges::FUNCTIONS,
    server::FUNCTIONS,
    settings::FUNCTIONS,
    arrays::FUNCTIONS,
];

/// All functions.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().flat_map(|topic| topic.iter())
}

/// The function of this name that takes so many arguments.
pub(crate) fn find(name: &str, arguments: usize) -> Option<&'static Function> {
    all().find(|function| {
        function.name == name && (function.arguments.0..=function.arguments.1).contains(&arguments)
    })
}

/// The function as DataFusion calls it.
pub(crate) fn scalar_function(function: &'static Function) -> Arc<ScalarUDF> {
    let (least, most) = function.arguments;
    let arities = (least..=most).map(|count| {
        if count == 0 {
            TypeSignature::Nullary
        } else {
            TypeSignature::Any(count)
        }
    });
    // Stable, not immutable: the answers depend on the catalog, and a plan may outlive the statement that made it.
    let signature = Signature::one_of(arities.collect(), Volatility::Stable);
    Arc::new(ScalarUDF::new_from_impl(CatalogFunction { function, signature }))
}

/// A row of [`FUNCTIONS`] as DataFusion calls it.
#[derive(Debug)]
struct CatalogFunction {
    function: &'static Function,
    signature: Signature,
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.function, other.function)
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl CatalogFunction {
    fn return_field(&self, arguments: &[FieldRef]) -> Field {
        let types: Vec<SqlType> = arguments.iter().map(|field| SqlType::from_field(field)).collect();
        self.function.return_type(&types).field(self.function.name, true)
    }
}

impl Function {
    /// It computes and answers about as much as it is given.
    const fn bounded(self) -> Function {
        Function {
            is_bounded: true,
            ..self
        }
    }

    /// What it answers for arguments of these types.
    pub(crate) fn return_type(&self, arguments: &[SqlType]) -> SqlType {
        let array = |element| SqlType::Array(Box::new(element));
        match self.returns {
            Returns::Bool => SqlType::Bool,
            Returns::Int4 => SqlType::Int4,
            Returns::Int8 => SqlType::Int8,
            Returns::Text => SqlType::Text,
            Returns::Element => element_type(arguments.first()),
            Returns::Elements => array(element_type(arguments.first())),
            Returns::Name => SqlType::Name,
            Returns::Oid => SqlType::Oid,
            Returns::Object(kind) => type_by_catalog_name(kind, -1),
            Returns::Names => array(SqlType::Name),
            Returns::Texts => array(SqlType::Text),
            Returns::AclItems => array(SqlType::Catalog(CatalogType::Aclitem)),
            Returns::Int4s => array(SqlType::Int4),
            Returns::Records => array(SqlType::Catalog(CatalogType::Record)),
            Returns::TimestampTz => SqlType::TimestampTz,
            Returns::Inet => SqlType::Catalog(CatalogType::Inet),
        }
    }
}

/// What the elements of an array or vector are; the characters of a name are text.
fn element_type(array: Option<&SqlType>) -> SqlType {
    match array {
        Some(SqlType::Array(element)) => element.as_ref().clone(),
        Some(SqlType::Int2Vector) => SqlType::Int2,
        Some(SqlType::Catalog(CatalogType::OidVector)) => SqlType::Oid,
        _ => SqlType::Text,
    }
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> DataFusionResult<DataType> {
        let fields: Vec<FieldRef> = types
            .iter()
            .map(|ty| Arc::new(Field::new("", ty.clone(), true)))
            .collect();
        Ok(self.return_field(&fields).data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.return_field(args.arg_fields)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let constant = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let catalog = installed(&args.config_options)?;
        let answer = self.evaluate(catalog, &args, rows).map_err(to_datafusion)?;
        let ty = SqlType::from_field(&args.return_field);
        let array = array_of(&answer, &ty).map_err(to_datafusion)?;
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            false => ColumnarValue::Array(array),
        })
    }
}

impl CatalogFunction {
    fn evaluate(
        &self,
        catalog: &CatalogContext,
        args: &ScalarFunctionArgs,
        rows: usize,
    ) -> Result<Vec<Value>> {
        let arrays = args
            .args
            .iter()
            .map(|arg| {
                arg.to_array(rows)
                    .map_err(crate::exec::datafusion_error::from_datafusion)
            })
            .collect::<Result<Vec<_>>>()?;
        let types: Vec<SqlType> = args
            .arg_fields
            .iter()
            .map(|field| SqlType::from_field(field))
            .collect();
        let mut answers = Vec::with_capacity(rows);
        let mut arguments = Vec::with_capacity(arrays.len());
        for row in 0..rows {
            arguments.clear();
            for (array, ty) in arrays.iter().zip(&types) {
                arguments.push(value_at(array.as_ref(), row, ty)?);
            }
            answers.push(if self.function.strict && arguments.contains(&Value::Null) {
                Value::Null
            } else {
                let call = Call {
                    function: self.function,
                    catalog,
                    arguments: &arguments,
                    fields: &args.arg_fields,
                };
                (self.function.call)(&call)?
            });
        }
        Ok(answers)
    }
}

impl Call<'_> {
    /// An argument as an integer or oid; text is read as one.
    fn integer(&self, position: usize) -> Result<i64> {
        match self.arguments.get(position) {
            Some(Value::Int(value)) => Ok(*value),
            Some(Value::Text(text) | Value::Unknown(text)) => {
                text.trim().parse().map_err(|_| Error::InvalidText {
                    type_name: "oid".to_string(),
                    value: text.clone(),
                })
            }
            _ => Err(self.wrong_argument()),
        }
    }

    /// An argument as text.
    fn text(&self, position: usize) -> Result<&str> {
        match self.arguments.get(position) {
            Some(Value::Text(text) | Value::Unknown(text)) => Ok(text),
            _ => Err(self.wrong_argument()),
        }
    }

    /// An argument as a boolean; `false` when it is left out.
    fn flag(&self, position: usize) -> Result<bool> {
        match self.arguments.get(position) {
            Some(Value::Bool(flag)) => Ok(*flag),
            None | Some(Value::Null) => Ok(false),
            Some(Value::Text(text) | Value::Unknown(text)) if text == "t" || text == "true" => Ok(true),
            Some(Value::Text(text) | Value::Unknown(text)) if text == "f" || text == "false" => Ok(false),
            _ => Err(self.wrong_argument()),
        }
    }

    /// The function does not take arguments of these types.
    fn wrong_argument(&self) -> Error {
        let types = self.fields.iter().map(|field| SqlType::from_field(field).name());
        let types: Vec<String> = types.collect();
        Error::undefined_function(format!("{}({})", self.function.name, types.join(", ")))
    }
}

/// A text answer that may be missing.
fn text_or_null(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::Text)
}

//! The error of a function that there is not, of that name or for those types.

use super::coercion::type_name;
use super::scope::nearest;
use crate::Error;
use crate::functions;
use crate::types::SqlType;

/// 42883 for a function; the HINT tells whether the name or the types are wrong.
pub(super) fn no_function(name: &str, types: &[SqlType], unknown_name: bool) -> Error {
    let types: Vec<String> = types.iter().map(type_name).collect();
    let near = if unknown_name {
        nearest(name, functions::function_names())
    } else {
        None
    };
    let signature = format!("{name}({})", types.join(", "));
    match near {
        Some(near) => Error::UndefinedFunction {
            signature,
            hint: Some(format!("Perhaps you meant the function {near}().")),
        },
        None => Error::undefined_function(signature),
    }
}

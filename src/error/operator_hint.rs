//! What to do about an operator that there is not, or that there are several of.

/// PostgreSQL's words. `signature`: the operator and the types of its operands, as it is written.
pub(super) fn operator_hint(signature: &str, is_ambiguous: bool) -> String {
    let is_prefix =
        !signature.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '"' | '_'));
    let (types, casts) = match is_prefix {
        true => ("type", "an explicit type cast"),
        false => ("types", "explicit type casts"),
    };
    match is_ambiguous {
        true => format!("Could not choose a best candidate operator. You might need to add {casts}."),
        false => {
            format!("No operator matches the given name and argument {types}. You might need to add {casts}.")
        }
    }
}

//! Every operator, function and aggregate of PostgreSQL's catalogs whose types have edge values, and statements that call
//! them.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::known;
use super::values::{ITEMS, literal, monomorphic, texts_of, values_of};
use crate::client::{Protocol, TextClient};

/// How something is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Operator,
    Function,
    SetFunction,
    Aggregate,
}

/// Something to call, and the types of its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    form: Form,
    name: String,
    types: Vec<String>,
}

/// The operators.
const OPERATORS: &str = "
    SELECT 'o', oprname, concat_ws('|', CASE WHEN oprleft <> 0 THEN format_type(oprleft, NULL) END, format_type(oprright, NULL))
    FROM pg_operator ORDER BY 2, 3";

/// The functions that answer for their arguments alone (and not for today, as `age` of one), and that nothing else of the catalogs is
/// made of.
const FUNCTIONS: &str = "
    SELECT CASE WHEN prokind = 'a' THEN 'a' WHEN proretset THEN 's' ELSE 'f' END, proname,
           coalesce((SELECT string_agg(format_type(t, NULL), '|' ORDER BY o) FROM unnest(proargtypes) WITH ORDINALITY u(t, o)), '')
    FROM pg_proc p
    WHERE pronamespace = 'pg_catalog'::regnamespace AND pronargs BETWEEN 1 AND 4 AND provolatile <> 'v'
      AND NOT (proname = 'age' AND pronargs = 1)
      AND (prokind = 'f' OR prokind = 'a' AND oid IN (SELECT aggfnoid FROM pg_aggregate WHERE aggkind = 'n'))
      AND prorettype NOT IN ('internal'::regtype, 'trigger'::regtype, 'cstring'::regtype)
      AND oid NOT IN (SELECT oprcode FROM pg_operator)
      AND oid NOT IN (SELECT castfunc FROM pg_cast)
      AND oid NOT IN (SELECT amproc FROM pg_amproc)
      AND oid NOT IN (SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout]) FROM pg_type)
      AND oid NOT IN (SELECT unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn,
                                          aggminvtransfn, aggmfinalfn]) FROM pg_aggregate)
    ORDER BY 2, 3";

/// Every call that PostgreSQL has, but for functions that `known` says are not called.
pub(super) async fn calls(postgresql: &mut TextClient) -> Vec<Call> {
    let mut found = Vec::new();
    for sql in [OPERATORS, FUNCTIONS] {
        let reply = postgresql.run(sql, Protocol::Simple).await;
        for row in reply.expect("the catalogs are read").rows {
            let [Some(form), Some(name), Some(types)] = row.as_slice() else {
                continue;
            };
            let form = match form.as_str() {
                "o" => Form::Operator,
                "a" => Form::Aggregate,
                "s" => Form::SetFunction,
                _ => Form::Function,
            };
            let types: Vec<&str> = types.split('|').filter(|ty| !ty.is_empty()).collect();
            let is_polymorphic = types.iter().any(|ty| ty.starts_with("any") || *ty == "\"any\"");
            let items = if is_polymorphic { ITEMS } else { &ITEMS[..1] };
            for item in items {
                let call = Call {
                    form,
                    name: name.clone(),
                    types: types.iter().map(|ty| monomorphic(ty, item)).collect(),
                };
                let has_values = call.types.iter().all(|ty| values_of(ty).is_some());
                if has_values && (form == Form::Operator || !known::is_uncalled(&call.name)) {
                    found.push(call);
                }
            }
        }
    }
    found
}

impl Call {
    /// The call over these arguments.
    fn over(&self, arguments: &[String]) -> String {
        match (self.form, arguments) {
            (Form::Operator, [operand]) => format!("({} {operand})", self.name),
            (Form::Operator, [left, right]) => format!("({left} {} {right})", self.name),
            _ => format!("pg_catalog.\"{}\"({})", self.name, arguments.join(", ")),
        }
    }

    /// So many rows of arguments.
    fn rows(&self, count: usize, rng: &mut StdRng) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for _ in 0..count {
            let values = self.types.iter().enumerate().map(|(place, ty)| {
                let name = match self.types[0].as_str() {
                    "integer" | "bigint" | "numeric" | "real" | "double precision"
                        if self.name == "to_char" =>
                    {
                        "to_number"
                    }
                    _ => &self.name,
                };
                let special = texts_of(name, place).filter(|_| ty == "text");
                let values = special.or_else(|| values_of(ty)).unwrap_or_default();
                literal(values.choose(rng).copied().unwrap_or_default(), ty)
            });
            let row = values.collect();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Statements that call it over so many rows: over columns, and over literals where a row may fail.
    pub(super) fn statements(&self, count: usize, rng: &mut StdRng) -> Statements {
        let rows = self.rows(count, rng);
        let columns: Vec<String> = (1..=self.types.len())
            .map(|number| format!("c{number}"))
            .collect();
        let numbered = (1..).zip(&rows);
        let numbered = numbered.map(|(number, row)| format!("({number}, {})", row.join(", ")));
        let from = format!(
            "(VALUES {}) v(n, {})",
            numbered.collect::<Vec<_>>().join(", "),
            columns.join(", ")
        );
        let over = self.over(&columns);
        match self.form {
            Form::SetFunction => {
                let calls = rows.iter().map(|row| format!("SELECT * FROM {}", self.over(row)));
                Statements {
                    whole: None,
                    single: calls.collect(),
                }
            }
            Form::Aggregate => {
                let ordered = over.replacen(')', " ORDER BY n)", 1);
                let mut single = vec![
                    format!("SELECT ({ordered}) FROM {from}"),
                    format!("SELECT ({ordered} FILTER (WHERE n > 2)) FROM {from}"),
                    format!("SELECT ({ordered} FILTER (WHERE n = 0)) FROM {from}"),
                    format!("SELECT n, ({over} OVER (ORDER BY n ROWS 1 PRECEDING)) FROM {from} ORDER BY n"),
                ];
                if self.types.len() == 1 {
                    let distinct = over.replacen('(', "(DISTINCT ", 1);
                    single.push(format!("SELECT ({distinct}) FROM {from}"));
                }
                Statements { whole: None, single }
            }
            Form::Operator | Form::Function => Statements {
                whole: Some(format!("SELECT n, ({over}) FROM {from} ORDER BY n")),
                single: rows
                    .iter()
                    .map(|row| format!("SELECT ({})", self.over(row)))
                    .collect(),
            },
        }
    }
}

/// The statements of one call: one of all its rows, which fails where a row does, and one of each row.
pub(super) struct Statements {
    pub(super) whole: Option<String>,
    pub(super) single: Vec<String>,
}

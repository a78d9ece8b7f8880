//! Functions and operators by name, with or without the types of their arguments, and back: what regproc, regprocedure,
//! regoper and regoperator read and print. Called by `object_name`; knows those of pg_catalog and information_schema.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::StatementFault;
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::catalog_version::definitions::PG_CATALOG_OID;
use crate::system::catalog_version::objects::read;
use crate::system::catalog_version::routine_text::type_oid;
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::naming::{self, split_name};
use crate::{Error, Result};

/// A function or an operator.
struct Routine {
    oid: i64,
    namespace: i64,
    name: String,
    /// The types of its arguments; 0 for the side that a prefix operator has none on.
    arguments: Vec<i64>,
}

/// All of one kind.
struct Routines {
    by_oid: HashMap<i64, Routine>,
    by_name: HashMap<String, Vec<i64>>,
}

impl Routines {
    fn new(routines: impl Iterator<Item = Routine>) -> Routines {
        let by_oid: HashMap<i64, Routine> = routines.map(|routine| (routine.oid, routine)).collect();
        let mut by_name: HashMap<String, Vec<i64>> = HashMap::new();
        for routine in by_oid.values() {
            by_name.entry(routine.name.clone()).or_default().push(routine.oid);
        }
        Routines { by_oid, by_name }
    }

    fn named<'a>(&'a self, namespace: i64, name: &str) -> impl Iterator<Item = &'a Routine> + use<'a> {
        let oids = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let found = oids.iter().filter_map(|oid| self.by_oid.get(oid));
        found.filter(move |routine| routine.namespace == namespace)
    }
}

static FUNCTIONS: LazyLock<Routines> = LazyLock::new(|| {
    let rows = read("pg_proc", &["oid", "pronamespace", "proname", "proargtypes"]);
    Routines::new(rows.filter_map(|[oid, namespace, name, arguments]| {
        let arguments = arguments.unwrap_or_default();
        Some(Routine {
            oid: oid?.parse().ok()?,
            namespace: namespace?.parse().ok()?,
            name: name?,
            arguments: arguments
                .split_whitespace()
                .filter_map(|oid| oid.parse().ok())
                .collect(),
        })
    }))
});

/// A function of pg_catalog by its oid: its name and the oids of the types of its arguments.
pub(crate) fn function_by_oid(oid: u32) -> Option<(String, Vec<u32>)> {
    let found = FUNCTIONS.by_oid.get(&i64::from(oid))?;
    let types = found.arguments.iter().map(|oid| u32::try_from(*oid).ok());
    let in_catalog = found.namespace == PG_CATALOG_OID;
    in_catalog.then(|| Some((quote_ident(&found.name), types.collect::<Option<_>>()?)))?
}

/// What a function's name with its arguments is made of: its schema, its name, the oids of the types of its arguments.
pub(super) fn routine_parts(catalog: &CatalogContext, oid: i64) -> Option<(i64, String, Vec<i64>)> {
    let users = users(catalog);
    let found = FUNCTIONS.by_oid.get(&oid).or_else(|| users.by_oid.get(&oid))?;
    Some((found.namespace, found.name.clone(), found.arguments.clone()))
}

/// The functions that users made.
fn users(catalog: &CatalogContext) -> Routines {
    let routines = catalog.statement().catalog.routines.iter();
    Routines::new(routines.map(|routine| {
        Routine {
            oid: i64::from(routine.oid),
            namespace: catalog.objects().schema_oid(&routine.schema).unwrap_or(0),
            name: routine.name.clone(),
            arguments: routine
                .inputs()
                .map(|input| i64::from(type_oid(&input.ty)))
                .collect(),
        }
    }))
}

/// Whether the bare name of a function of a user's, with the types of its arguments, means it; `None`: it is none.
pub(super) fn routine_is_visible(catalog: &CatalogContext, oid: i64) -> Option<bool> {
    let known = &catalog.statement().catalog.routines;
    let routine = known.by_oid(u32::try_from(oid).ok()?)?;
    let found = known.find(None, &routine.name, catalog.search_path());
    let first = found
        .iter()
        .find(|other| other.signature() == routine.signature());
    Some(first.is_some_and(|first| first.oid == routine.oid))
}

static OPERATORS: LazyLock<Routines> = LazyLock::new(|| {
    let rows = read(
        "pg_operator",
        &["oid", "oprnamespace", "oprname", "oprleft", "oprright"],
    );
    Routines::new(rows.filter_map(|[oid, namespace, name, left, right]| {
        Some(Routine {
            oid: oid?.parse().ok()?,
            namespace: namespace?.parse().ok()?,
            name: name?,
            arguments: vec![left?.parse().ok()?, right?.parse().ok()?],
        })
    }))
});

/// Which of them a reg type is of; `None` for other reg types.
fn routines(kind: &str) -> Option<&'static Routines> {
    match kind {
        "regproc" | "regprocedure" => Some(&FUNCTIONS),
        "regoper" | "regoperator" => Some(&OPERATORS),
        _ => None,
    }
}

fn with_arguments(kind: &str) -> bool {
    matches!(kind, "regprocedure" | "regoperator")
}

/// The oid of the routine that a text names. Errors: 42883, 42725, 22P02 for a text of another form.
/// `find_type`: the oid of a type by its name.
pub(super) fn routine_oid(
    catalog: &CatalogContext,
    kind: &str,
    text: &str,
    find_type: impl Fn(&str) -> Option<i64>,
) -> Result<i64> {
    let Some(all) = routines(kind) else {
        return Err(Error::internal(format!("{kind} names no routine")));
    };
    let (name, arguments) = match with_arguments(kind) {
        true => {
            let (name, arguments) = split_signature(text).ok_or_else(|| Error::InvalidText {
                type_name: kind.to_string(),
                value: text.to_string(),
            })?;
            (name, Some(argument_types(arguments, find_type)?))
        }
        false => (text, None),
    };
    let (namespace, name, is_plain) = match kind.starts_with("regoper") {
        // The characters of an operator are no name, and may stand behind a schema's.
        true => match name.rsplit_once('.') {
            Some((schema, name)) => (namespace(catalog, schema), name.trim().to_string(), false),
            None => (Some(PG_CATALOG_OID), name.trim().to_string(), true),
        },
        false => {
            let mut parts = split_name(name).unwrap_or_default();
            let name = parts.pop().unwrap_or_default();
            match parts.pop() {
                Some(schema) => (namespace(catalog, &schema), name, false),
                None => (Some(PG_CATALOG_OID), name, true),
            }
        }
    };
    let Some(namespace) = namespace else {
        return Err(undefined(kind, text));
    };
    let fits = |routine: &&Routine| {
        arguments
            .as_ref()
            .is_none_or(|wanted| *wanted == routine.arguments)
    };
    let users = users_of(catalog, kind);
    let own = own_routines(catalog, &users, (namespace, is_plain), &name, fits);
    let mut found = all.named(namespace, &name).filter(fits).chain(own);
    match (found.next(), found.next()) {
        (Some(routine), None) => Ok(routine.oid),
        (None, _) => Err(undefined(kind, text)),
        (Some(_), Some(_)) => Err(Error::InvalidStatement {
            state: StatementFault::AmbiguousRoutine,
            message: match kind {
                "regoper" => format!("more than one operator named {text}"),
                _ => format!("more than one function named \"{text}\""),
            },
            hint: Some("Name the types of its arguments, as regprocedure and regoperator do.".to_string()),
        }),
    }
}

/// The functions of users of this name, in a schema or in the first of the path that has some.
fn own_routines<'a>(
    catalog: &CatalogContext,
    users: &'a Routines,
    (namespace, is_plain): (i64, bool),
    name: &str,
    fits: impl Fn(&&Routine) -> bool,
) -> Vec<&'a Routine> {
    let path = catalog.search_path().iter();
    let path = path.filter_map(|schema| catalog.objects().schema_oid(schema));
    let schemas: Vec<i64> = match is_plain {
        true => path.collect(),
        false => vec![namespace],
    };
    let mut found = schemas.into_iter().map(|schema| {
        users
            .named(schema, name)
            .filter(|routine| fits(routine))
            .collect::<Vec<_>>()
    });
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

/// The functions that users made; there are no such operators.
fn users_of(catalog: &CatalogContext, kind: &str) -> Routines {
    match kind.starts_with("regoper") {
        true => Routines::new(std::iter::empty()),
        false => users(catalog),
    }
}

fn namespace(catalog: &CatalogContext, schema: &str) -> Option<i64> {
    let name = split_name(schema)?.pop()?;
    catalog.objects().schema_oid(&name)
}

/// Name and arguments of `name(arguments)`.
fn split_signature(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name, rest.trim_end().strip_suffix(')')?))
}

/// The types between the commas that stand in no parentheses. Errors: 42704.
fn argument_types(text: &str, find_type: impl Fn(&str) -> Option<i64>) -> Result<Vec<i64>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = 0i32;
    let is_comma = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    let types = text.split(is_comma).map(str::trim).map(|name| match name {
        _ if name.eq_ignore_ascii_case("none") => Ok(0),
        _ => find_type(name).ok_or_else(|| Error::UndefinedObject {
            kind: "type",
            name: name.to_string(),
        }),
    });
    types.collect()
}

fn undefined(kind: &str, text: &str) -> Error {
    match kind.starts_with("regoper") {
        true => Error::UndefinedOperator {
            signature: text.to_string(),
            ambiguous: false,
        },
        false => Error::UndefinedFunction {
            signature: format!("\"{text}\""),
            hint: None,
        },
    }
}

/// What a reg type prints for a routine; `None`: there is none of this oid.
pub(super) fn routine_name(catalog: &CatalogContext, kind: &str, oid: i64) -> Option<String> {
    let is_operator = kind.starts_with("regoper");
    let users = users_of(catalog, kind);
    let system = routines(kind)?;
    let (all, routine) = match (system.by_oid.get(&oid), users.by_oid.get(&oid)) {
        (Some(routine), _) => (system, routine),
        (None, Some(routine)) => (&users, routine),
        (None, None) => return None,
    };
    let is_visible = routine.namespace == PG_CATALOG_OID || routine_is_visible(catalog, oid) == Some(true);
    // The name alone must lead back to it.
    let is_alone = || all.named(routine.namespace, &routine.name).count() == 1;
    let is_plain = is_visible && (kind != "regoper" || is_alone());
    let schema = || {
        catalog
            .objects()
            .schema_name(routine.namespace)
            .unwrap_or_default()
    };
    let name = match (is_operator, is_plain) {
        (true, true) => routine.name.clone(),
        (true, false) => format!("{}.{}", quote_ident(&schema()), routine.name),
        (false, true) => quote_ident(&routine.name),
        (false, false) => qualified(&schema(), &routine.name),
    };
    if !with_arguments(kind) {
        return Some(name);
    }
    let (objects, path) = (catalog.objects(), catalog.search_path());
    let types = routine.arguments.iter().map(|ty| match ty {
        0 => "NONE".to_string(),
        ty => naming::format_type(*ty, None, objects, path),
    });
    Some(format!("{name}({})", types.collect::<Vec<_>>().join(",")))
}

//! A function as SQL text: its arguments, its result, the statement that makes it. Asked by the functions of the catalogs and by their
//! relations.

use crate::catalog::{
    Access, ArgumentMode, BodyKind, Catalog, Parallel, Relation, RelationName, RoutineArgument, RoutineDef,
    RoutineKind, RoutineResult, RoutineType, TypeDef, Volatile,
};
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::SqlType;

/// PostgreSQL's oid of void.
const VOID_OID: u32 = 2278;
/// Of record.
const RECORD_OID: u32 = 2249;
/// Of trigger.
const TRIGGER_OID: u32 = 2279;

/// Which arguments are shown, and whether with their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All, with defaults: pg_get_function_arguments.
    All,
    /// What tells it from others: pg_get_function_identity_arguments.
    Identity,
}

/// The oid of an argument's type.
pub(crate) fn type_oid(ty: &RoutineType) -> u32 {
    match ty {
        RoutineType::Sql(ty) => ty.oid(),
        RoutineType::Polymorphic(ty) => ty.oid(),
        // A row type has the oid of its relation.
        RoutineType::Row(oid) => *oid,
        RoutineType::Domain(ty) => ty.oid,
    }
}

/// The oid of the type of its result.
pub(crate) fn result_oid(routine: &RoutineDef) -> u32 {
    match &routine.returns {
        RoutineResult::Void if routine.kind == RoutineKind::Procedure => VOID_OID,
        RoutineResult::Void => VOID_OID,
        RoutineResult::Type(ty) => type_oid(ty),
        RoutineResult::Outputs | RoutineResult::Record => RECORD_OID,
        RoutineResult::Trigger => TRIGGER_OID,
    }
}

/// Who reads a definition: names are bare where the search path finds them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// What is defined.
    pub(crate) catalog: &'a Catalog,
    /// Where the reader looks for what has no schema before it.
    pub(crate) search_path: &'a [String],
}

impl Reader<'_> {
    /// A type as it is named.
    fn type_name(&self, ty: &RoutineType) -> String {
        match ty {
            RoutineType::Sql(ty) => self.sql_type_name(ty),
            RoutineType::Domain(ty) => self.made_type_name(ty),
            RoutineType::Polymorphic(ty) => ty.name().to_string(),
            RoutineType::Row(oid) => {
                let mut relations = self.catalog.relations.iter();
                let relation = relations.find(|relation| relation.oid() == *oid);
                relation.map_or_else(|| oid.to_string(), |relation| self.relation_name(relation))
            }
        }
    }

    fn sql_type_name(&self, ty: &SqlType) -> String {
        let types = &self.catalog.types;
        let Some(made) = types.by_oid(ty.innermost().oid()) else {
            return ty.to_string();
        };
        self.made_type_name(made) + if ty.declared_dimensions() > 0 { "[]" } else { "" }
    }

    fn relation_name(&self, relation: &Relation) -> String {
        let name = RelationName {
            schema: None,
            name: relation.name(),
            search_path: self.search_path,
        };
        let found = self.catalog.get_relation(name, Access::Name).ok().flatten();
        match found.is_some_and(|found| found.oid() == relation.oid()) {
            true => quote_ident(relation.name()),
            false => qualified(relation.schema(), relation.name()),
        }
    }

    /// The same of a type that a user made.
    fn made_type_name(&self, made: &TypeDef) -> String {
        let found = self.catalog.types.find(None, &made.name, self.search_path);
        match found.is_some_and(|found| found.oid == made.oid) {
            true => quote_ident(&made.name),
            false => qualified(&made.schema, &made.name),
        }
    }
}

/// Its arguments.
pub(crate) fn arguments(reader: Reader<'_>, routine: &RoutineDef, shown: Shown) -> String {
    let is_shown = |argument: &&RoutineArgument| argument.mode != ArgumentMode::Table;
    let parts = routine.arguments.iter().filter(is_shown).map(|argument| {
        let mode = match argument.mode {
            ArgumentMode::In if routine.kind == RoutineKind::Procedure => "IN ",
            ArgumentMode::In | ArgumentMode::Table => "",
            ArgumentMode::Out => "OUT ",
            ArgumentMode::InOut => "INOUT ",
            ArgumentMode::Variadic => "VARIADIC ",
        };
        let name = argument
            .name
            .as_ref()
            .map(|name| format!("{} ", quote_ident(name)));
        let mut part = format!(
            "{mode}{}{}",
            name.unwrap_or_default(),
            reader.type_name(&argument.ty)
        );
        if let Some(default) = argument.default.as_ref().filter(|_| shown == Shown::All) {
            part += &format!(" DEFAULT {}", default_text(default, &argument.ty));
        }
        part
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A default as PostgreSQL prints it, as far as it is a constant.
pub(crate) fn default_text(default: &str, ty: &RoutineType) -> String {
    let is_string = default.len() >= 2
        && default.starts_with('\'')
        && default.ends_with('\'')
        && !default[1..default.len() - 1].replace("''", "").contains('\'');
    match ty.sql_type() {
        Some(ty) if is_string || default.eq_ignore_ascii_case("null") => {
            let constant = if is_string {
                default.to_string()
            } else {
                "NULL".to_string()
            };
            format!("{constant}::{ty}")
        }
        Some(SqlType::Bool) => default.to_lowercase(),
        _ => default.to_string(),
    }
}

/// Its result; `None` for a procedure.
pub(crate) fn result(reader: Reader<'_>, routine: &RoutineDef) -> Option<String> {
    if routine.kind == RoutineKind::Procedure {
        return None;
    }
    let table = routine
        .arguments
        .iter()
        .filter(|argument| argument.mode == ArgumentMode::Table);
    let columns: Vec<String> = table
        .map(|column| {
            let name = column.name.as_deref().map(quote_ident).unwrap_or_default();
            format!("{name} {}", reader.type_name(&column.ty))
        })
        .collect();
    if !columns.is_empty() {
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let name = match &routine.returns {
        RoutineResult::Void => "void".to_string(),
        RoutineResult::Type(ty) => reader.type_name(ty),
        RoutineResult::Outputs | RoutineResult::Record => "record".to_string(),
        RoutineResult::Trigger => "trigger".to_string(),
    };
    Some(match routine.returns_set {
        true => format!("SETOF {name}"),
        false => name,
    })
}

/// The body that is no string, as SQL.
pub(crate) fn sql_body(routine: &RoutineDef) -> Option<String> {
    match routine.body_kind {
        BodyKind::Text => None,
        BodyKind::Return => Some(format!("RETURN {}", routine.body.trim())),
        BodyKind::Atomic => {
            let body = routine.body.trim().trim_end_matches(';').trim_end();
            Some(format!("BEGIN ATOMIC\n {body};\nEND"))
        }
    }
}

/// The statement that makes it: pg_get_functiondef.
pub(crate) fn definition(reader: Reader<'_>, routine: &RoutineDef) -> String {
    let kind = routine.kind.word();
    let mut text = format!(
        "CREATE OR REPLACE {} {}({})\n",
        kind.to_uppercase(),
        qualified(&routine.schema, &routine.name),
        arguments(reader, routine, Shown::All)
    );
    if let Some(result) = result(reader, routine) {
        text += &format!(" RETURNS {result}\n");
    }
    text += &format!(" LANGUAGE {}\n", routine.language.name());
    let options = options(routine);
    if !options.is_empty() {
        text += &format!("{options}\n");
    }
    for (name, values) in &routine.settings {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("'{}'", value.replace('\'', "''")))
            .collect();
        text += &format!(" SET {} TO {}\n", quote_ident(name), values.join(", "));
    }
    match sql_body(routine) {
        Some(body) => text += &format!("{body}\n"),
        None => {
            let mut tag = format!("${kind}$");
            while routine.body.contains(tag.trim_end_matches('$')) {
                tag = format!("{}x$", tag.trim_end_matches('$'));
            }
            text += &format!("AS {tag}{}{tag}\n", routine.body);
        }
    }
    text
}

fn options(routine: &RoutineDef) -> String {
    let mut options = String::new();
    options += match routine.volatile {
        Volatile::Immutable => " IMMUTABLE",
        Volatile::Stable => " STABLE",
        Volatile::Volatile => "",
    };
    options += match routine.parallel {
        Parallel::Safe => " PARALLEL SAFE",
        Parallel::Restricted => " PARALLEL RESTRICTED",
        Parallel::Unsafe => "",
    };
    for (is_set, word) in [
        (routine.strict, " STRICT"),
        (routine.security_definer, " SECURITY DEFINER"),
        (routine.leakproof, " LEAKPROOF"),
    ] {
        if is_set {
            options += word;
        }
    }
    if let Some(cost) = routine.cost.filter(|cost| *cost != 100.0) {
        options += &format!(" COST {cost}");
    }
    if let Some(rows) = routine.rows.filter(|rows| *rows != 1000.0) {
        options += &format!(" ROWS {rows}");
    }
    options
}

//! Rows of the catalogs that tell of functions, procedures, languages and extensions: `pg_proc`, `pg_language`, `pg_extension`, and
//! information_schema's routines and parameters.

use super::object_class::{
    CLASS_CLASS, EXTENSION_CLASS, LANGUAGE_CLASS, NAMESPACE_CLASS, PROCEDURE_CLASS, TYPE_CLASS,
};
use super::relation_rows::{
    Constants, RelationRows, Source, array_or_null, array_text, boolean, text, vector,
};
use crate::catalog::{
    ArgumentMode, BodyKind, Language, Parallel, RoutineArgument, RoutineDef, RoutineKind, RoutineResult,
    RoutineType, Volatile,
};
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::objects::SYSTEM;
use crate::system::catalog_version::routine_text::{default_text, result_oid, sql_body, type_oid};
use crate::system::extensions::{AvailableExtension, available};
use crate::system::{KNOWN_EXTENSIONS, PLPGSQL};

/// The oid of plpgsql among extensions.
pub(crate) const PLPGSQL_OID: i64 = 13_559;
/// The oids of the functions that PostgreSQL runs plpgsql by: none of ours, but what lists languages asks whether there are such.
const PLPGSQL_HANDLERS: [i64; 3] = [13_560, 13_561, 13_562];

/// What all rows of `pg_proc` have in common.
pub(super) const PROCEDURE: Constants = &[("proowner", "10"), ("prosupport", "0")];

/// `pg_proc`: the functions that users made.
pub(super) fn procedures(source: &Source<'_>, rows: &mut RelationRows) {
    for routine in source.ctx.catalog.routines.iter() {
        let arguments = argument_cells(routine);
        let settings: Vec<String> = routine
            .settings
            .iter()
            .map(|(name, values)| format!("{name}={}", values.join(", ")))
            .collect();
        let mut cells = vec![
            ("oid", text(routine.oid)),
            ("proname", text(&routine.name)),
            ("pronamespace", text(schema_oid(source, &routine.schema))),
            ("prolang", text(routine.language.oid())),
            ("procost", text(routine.cost.unwrap_or(100.0))),
            ("prorows", text(rows_of(routine))),
            (
                "prokind",
                text(match routine.kind {
                    RoutineKind::Procedure => "p",
                    RoutineKind::Function => "f",
                    RoutineKind::Aggregate => "a",
                }),
            ),
            ("prosecdef", boolean(routine.security_definer)),
            ("proleakproof", boolean(routine.leakproof)),
            ("proisstrict", boolean(routine.strict)),
            ("proretset", boolean(routine.returns_set)),
            ("provolatile", text(volatile_letter(routine.volatile))),
            ("proparallel", text(parallel_letter(routine.parallel))),
            ("prorettype", text(result_oid(routine))),
            (
                "prosrc",
                text(if routine.body_kind == BodyKind::Text {
                    &routine.body
                } else {
                    ""
                }),
            ),
            ("prosqlbody", sql_body(routine)),
            ("proconfig", (!settings.is_empty()).then(|| array_text(&settings))),
        ];
        cells.extend(arguments);
        rows.push(&cells);
    }
}

/// What `pg_proc` says of a function's arguments.
fn argument_cells(routine: &RoutineDef) -> Vec<(&'static str, Cell)> {
    let inputs: Vec<&RoutineArgument> = routine.inputs().collect();
    let variadic = inputs
        .iter()
        .find(|input| input.mode == ArgumentMode::Variadic)
        .map_or(0, |input| variadic_item(&input.ty));
    let has_outputs = routine.outputs().next().is_some();
    let has_modes = has_outputs || variadic != 0;
    let modes = routine
        .arguments
        .iter()
        .map(|argument| mode_letter(argument.mode));
    let types = routine.arguments.iter().map(|argument| type_oid(&argument.ty));
    let defaults: Vec<String> = inputs
        .iter()
        .filter_map(|input| {
            input
                .default
                .as_deref()
                .map(|default| default_text(default, &input.ty))
        })
        .collect();
    let names: Vec<String> = routine
        .arguments
        .iter()
        .map(|argument| argument.name.clone().unwrap_or_default())
        .collect();
    let has_names = names.iter().any(|name| !name.is_empty());
    vec![
        ("provariadic", text(variadic)),
        ("pronargs", text(inputs.len())),
        ("pronargdefaults", text(defaults.len())),
        (
            "proargtypes",
            vector(inputs.iter().map(|input| type_oid(&input.ty))),
        ),
        (
            "proallargtypes",
            if has_modes { array_or_null(types) } else { None },
        ),
        ("proargmodes", if has_modes { array_or_null(modes) } else { None }),
        ("proargnames", has_names.then(|| array_text(&names))),
        (
            "proargdefaults",
            (!defaults.is_empty()).then(|| defaults.join(", ")),
        ),
    ]
}

fn rows_of(routine: &RoutineDef) -> f32 {
    match routine.returns_set {
        true => routine.rows.unwrap_or(1000.0),
        false => 0.0,
    }
}

fn variadic_item(ty: &RoutineType) -> u32 {
    match ty {
        RoutineType::Sql(ty) => ty.item_type().map_or(0, crate::types::SqlType::oid),
        RoutineType::Polymorphic(_) => 2283,
        RoutineType::Row(_) | RoutineType::Domain(_) => 0,
    }
}

fn mode_letter(mode: ArgumentMode) -> &'static str {
    match mode {
        ArgumentMode::In => "i",
        ArgumentMode::Out => "o",
        ArgumentMode::InOut => "b",
        ArgumentMode::Variadic => "v",
        ArgumentMode::Table => "t",
    }
}

fn volatile_letter(volatile: Volatile) -> &'static str {
    match volatile {
        Volatile::Immutable => "i",
        Volatile::Stable => "s",
        Volatile::Volatile => "v",
    }
}

fn parallel_letter(parallel: Parallel) -> &'static str {
    match parallel {
        Parallel::Safe => "s",
        Parallel::Restricted => "r",
        Parallel::Unsafe => "u",
    }
}

fn schema_oid(source: &Source<'_>, name: &str) -> i64 {
    source.objects.schema_oid(name).unwrap_or(0)
}

/// `pg_language`: plpgsql, which PostgreSQL has as an extension.
pub(super) fn languages(_: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[
        ("oid", text(Language::Plpgsql.oid())),
        ("lanname", text(PLPGSQL)),
        ("lanowner", text(10)),
        ("lanispl", boolean(true)),
        ("lanpltrusted", boolean(true)),
        ("lanplcallfoid", text(PLPGSQL_HANDLERS[0])),
        ("laninline", text(PLPGSQL_HANDLERS[1])),
        ("lanvalidator", text(PLPGSQL_HANDLERS[2])),
    ]);
}

/// `pg_extension`.
pub(super) fn extensions(source: &Source<'_>, rows: &mut RelationRows) {
    let mut push = |oid: i64, name: &str, schema: i64, version: &str, moves: bool| {
        rows.push(&[
            ("oid", text(oid)),
            ("extname", text(name)),
            ("extowner", text(10)),
            ("extnamespace", text(schema)),
            ("extrelocatable", boolean(moves)),
            ("extversion", text(version)),
        ]);
    };
    push(PLPGSQL_OID, PLPGSQL, 11, "1.0", false);
    for extension in source.ctx.catalog.extensions.values() {
        let schema = schema_oid(source, &extension.schema);
        push(
            i64::from(extension.oid),
            &extension.name,
            schema,
            &extension.version,
            true,
        );
    }
}

fn installed_version(source: &Source<'_>, name: &str, version: &str) -> Cell {
    let is_there = name == PLPGSQL || source.ctx.catalog.extensions.contains_key(name);
    is_there.then(|| version.to_string())
}

/// `pg_available_extensions`.
pub(super) fn available_extensions(source: &Source<'_>, rows: &mut RelationRows) {
    for AvailableExtension {
        name,
        version,
        comment,
    } in available()
    {
        rows.push(&[
            ("name", text(name)),
            ("default_version", text(version)),
            ("installed_version", installed_version(source, name, version)),
            ("comment", text(comment)),
        ]);
    }
}

/// `pg_available_extension_versions`.
pub(super) fn available_versions(source: &Source<'_>, rows: &mut RelationRows) {
    for extension in available() {
        let AvailableExtension {
            name,
            version,
            comment,
        } = extension;
        rows.push(&[
            ("name", text(name)),
            ("version", text(version)),
            (
                "installed",
                boolean(installed_version(source, name, version).is_some()),
            ),
            ("superuser", boolean(true)),
            ("trusted", boolean(true)),
            ("relocatable", boolean(extension.is_relocatable())),
            ("schema", extension.schema().map(str::to_string)),
            ("comment", text(comment)),
        ]);
    }
}

/// Comments on functions and extensions: object, class, comment.
pub(super) fn comments(source: &Source<'_>) -> Vec<(i64, i64, Option<String>)> {
    let routines = source.ctx.catalog.routines.iter();
    let routines = routines.map(|routine| (i64::from(routine.oid), PROCEDURE_CLASS, routine.comment.clone()));
    let extensions = source.ctx.catalog.extensions.values();
    let extensions = extensions.map(|made| (i64::from(made.oid), EXTENSION_CLASS, made.comment.clone()));
    let plpgsql = Some("PL/pgSQL procedural language".to_string());
    routines
        .chain(extensions)
        .chain([(PLPGSQL_OID, EXTENSION_CLASS, plpgsql)])
        .collect()
}

/// What functions depend on, in `pg_depend`.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    let language = (LANGUAGE_CLASS, i64::from(Language::Plpgsql.oid()));
    let handlers = PLPGSQL_HANDLERS.map(|oid| (PROCEDURE_CLASS, oid));
    for (class, oid) in handlers.into_iter().chain([language]) {
        rows.depend((class, oid), (EXTENSION_CLASS, PLPGSQL_OID), 0, "e");
    }
    for extension in source.ctx.catalog.extensions.values() {
        let known = KNOWN_EXTENSIONS.iter().find(|known| known.name == extension.name);
        let types = known.map_or(&[][..], |known| known.types);
        let types = types.iter().map(|ty| (TYPE_CLASS, ty.oid()));
        let routines = source.ctx.catalog.routines.iter();
        let routines = routines.filter(|routine| {
            routine.schema == extension.schema && known.is_some_and(|known| known.makes(&routine.name))
        });
        let routines = routines.map(|routine| (PROCEDURE_CLASS, routine.oid));
        for (class, oid) in types.chain(routines) {
            rows.depend((class, oid), (EXTENSION_CLASS, extension.oid), 0, "e");
        }
    }
    for routine in source.ctx.catalog.routines.iter() {
        let mut push = |class: i64, object: i64| {
            rows.depend((PROCEDURE_CLASS, routine.oid), (class, object), 0, "n");
        };
        push(NAMESPACE_CLASS, schema_oid(source, &routine.schema));
        if routine.language == Language::Plpgsql {
            push(LANGUAGE_CLASS, i64::from(routine.language.oid()));
        }
        for oid in routine.types_used() {
            push(TYPE_CLASS, i64::from(oid));
        }
        for oid in &routine.depends_on {
            let is_routine = source.ctx.catalog.routines.by_oid(*oid).is_some();
            push(
                if is_routine { PROCEDURE_CLASS } else { CLASS_CLASS },
                i64::from(*oid),
            );
        }
    }
}

/// The name that information_schema gives a function: its own and its oid.
fn specific_name(routine: &RoutineDef) -> String {
    format!("{}_{}", routine.name, routine.oid)
}

/// data_type, udt_schema and udt_name of a type.
fn type_cells(source: &Source<'_>, ty: &RoutineType) -> [Cell; 3] {
    let oid = i64::from(type_oid(ty));
    match ty {
        RoutineType::Sql(ty) if !ty.has_label() => {
            let system = SYSTEM.types.get(&oid);
            let name = system.map(|system| system.name.clone());
            let shown = if ty.item_type().is_some() {
                "ARRAY".to_string()
            } else {
                ty.to_string()
            };
            [Some(shown), text("pg_catalog"), name]
        }
        RoutineType::Sql(_) | RoutineType::Domain(_) => {
            let user = source.objects.user_type(oid).map(|user| user.ty);
            let schema = user.map(|ty| ty.schema.clone());
            [text("USER-DEFINED"), schema, user.map(|ty| ty.name.clone())]
        }
        RoutineType::Polymorphic(ty) => [text(ty.name()), text("pg_catalog"), text(ty.name())],
        RoutineType::Row(_) => {
            let named = source.objects.relation_name(oid);
            let (schema, name) = named.unzip();
            [text("USER-DEFINED"), schema, name]
        }
    }
}

/// What all rows of `information_schema.routines` have in common.
pub(super) const ROUTINE: Constants = &[
    ("routine_body", "EXTERNAL"),
    ("parameter_style", "GENERAL"),
    ("sql_data_access", "MODIFIES"),
    ("schema_level_routine", "YES"),
    ("max_dynamic_result_sets", "0"),
    ("security_type", "INVOKER"),
    ("as_locator", "NO"),
    ("is_udt_dependent", "NO"),
];

/// `information_schema.routines`, of functions that users made.
pub(super) fn routines(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for routine in source.ctx.catalog.routines.iter() {
        let is_function = routine.kind == RoutineKind::Function;
        let [data_type, udt_schema, udt_name] = match &routine.returns {
            _ if !is_function => [None, None, None],
            RoutineResult::Type(ty) => type_cells(source, ty),
            RoutineResult::Void => [text("void"), text("pg_catalog"), text("void")],
            RoutineResult::Outputs | RoutineResult::Record => {
                [text("record"), text("pg_catalog"), text("record")]
            }
            RoutineResult::Trigger => [text("trigger"), text("pg_catalog"), text("trigger")],
        };
        let is_sql = routine.language == Language::Sql;
        rows.push(&[
            ("specific_catalog", database.clone()),
            ("specific_schema", text(&routine.schema)),
            ("specific_name", text(specific_name(routine))),
            ("routine_catalog", database.clone()),
            ("routine_schema", text(&routine.schema)),
            ("routine_name", text(&routine.name)),
            (
                "routine_type",
                text(if is_function { "FUNCTION" } else { "PROCEDURE" }),
            ),
            ("type_udt_catalog", udt_name.as_ref().and(database.clone())),
            ("type_udt_schema", udt_schema),
            ("type_udt_name", udt_name),
            ("data_type", data_type),
            ("dtd_identifier", is_function.then(|| "0".to_string())),
            ("routine_body", text(if is_sql { "SQL" } else { "EXTERNAL" })),
            ("routine_definition", text(&routine.body)),
            ("external_language", text(routine.language.name().to_uppercase())),
            (
                "is_deterministic",
                text(if routine.volatile == Volatile::Immutable {
                    "YES"
                } else {
                    "NO"
                }),
            ),
            (
                "is_null_call",
                is_function.then(|| if routine.strict { "YES" } else { "NO" }.to_string()),
            ),
            (
                "security_type",
                text(if routine.security_definer {
                    "DEFINER"
                } else {
                    "INVOKER"
                }),
            ),
        ]);
    }
}

/// What all rows of `information_schema.parameters` have in common.
pub(super) const PARAMETER: Constants = &[("is_result", "NO"), ("as_locator", "NO")];

/// `information_schema.parameters`, of functions that users made.
pub(super) fn parameters(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for routine in source.ctx.catalog.routines.iter() {
        for (at, argument) in routine.arguments.iter().enumerate() {
            let [data_type, udt_schema, udt_name] = type_cells(source, &argument.ty);
            let mode = match argument.mode {
                ArgumentMode::In | ArgumentMode::Variadic => "IN",
                ArgumentMode::Out | ArgumentMode::Table => "OUT",
                ArgumentMode::InOut => "INOUT",
            };
            rows.push(&[
                ("specific_catalog", database.clone()),
                ("specific_schema", text(&routine.schema)),
                ("specific_name", text(specific_name(routine))),
                ("ordinal_position", text(at + 1)),
                ("parameter_mode", text(mode)),
                ("parameter_name", argument.name.clone()),
                ("data_type", data_type),
                ("udt_catalog", database.clone()),
                ("udt_schema", udt_schema),
                ("udt_name", udt_name),
                ("dtd_identifier", text(at + 1)),
                (
                    "parameter_default",
                    argument
                        .default
                        .as_deref()
                        .map(|default| default_text(default, &argument.ty)),
                ),
            ]);
        }
    }
}

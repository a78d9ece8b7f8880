//! Bytes of the records of functions and procedures: written by `change`, read all together by `load`. The format of a record is
//! `record`'s; types stand by the names that columns have them by.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use super::routine::Compiled;
use super::{
    AggregateDef, ArgumentMode, BodyKind, Language, Parallel, Polymorphic, RoutineArgument, RoutineDef,
    RoutineKind, RoutineResult, RoutineType, Routines, UserTypes, Volatile,
};
use crate::Result;

/// What stands before a function's JSON.
const KIND: u8 = b'F';

/// A function as JSON.
#[derive(Serialize, Deserialize)]
struct RoutineRecord {
    oid: u32,
    schema: String,
    name: String,
    kind: RoutineKind,
    language: Language,
    arguments: Vec<ArgumentRecord>,
    returns: String,
    returns_set: bool,
    volatile: Volatile,
    strict: bool,
    security_definer: bool,
    leakproof: bool,
    parallel: Parallel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<f32>,
    body_kind: BodyKind,
    body: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    search_path: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<(String, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aggregate: Option<AggregateDef>,
    comment: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ArgumentRecord {
    name: Option<String>,
    mode: ArgumentMode,
    #[serde(rename = "type")]
    ty: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

/// A function's record.
pub(super) fn encode(routine: &RoutineDef, stamp: Stamp) -> Result<Vec<u8>> {
    let argument = |argument: &RoutineArgument| ArgumentRecord {
        name: argument.name.clone(),
        mode: argument.mode,
        ty: argument.ty.stored_name(),
        default: argument.default.clone(),
    };
    let json = RoutineRecord {
        oid: routine.oid,
        schema: routine.schema.clone(),
        name: routine.name.clone(),
        kind: routine.kind,
        language: routine.language,
        arguments: routine.arguments.iter().map(argument).collect(),
        returns: match &routine.returns {
            RoutineResult::Void => "void".to_string(),
            RoutineResult::Type(ty) => ty.stored_name(),
            RoutineResult::Outputs => "outputs".to_string(),
            RoutineResult::Record => "record".to_string(),
            RoutineResult::Trigger => "trigger".to_string(),
        },
        returns_set: routine.returns_set,
        volatile: routine.volatile,
        strict: routine.strict,
        security_definer: routine.security_definer,
        leakproof: routine.leakproof,
        parallel: routine.parallel,
        cost: routine.cost,
        rows: routine.rows,
        body_kind: routine.body_kind,
        body: routine.body.clone(),
        search_path: routine.search_path.clone(),
        settings: routine.settings.clone(),
        depends_on: routine.depends_on.clone(),
        aggregate: routine.aggregate.clone(),
        comment: routine.comment.clone(),
    };
    record::encode(KIND, stamp, 0, &json)
}

/// A function. Errors: corrupt.
pub(super) fn decode(bytes: &[u8], types: &UserTypes) -> Result<RoutineDef> {
    match record::open(bytes)? {
        Head {
            kind: KIND,
            version,
            json,
            ..
        } => record::parse::<RoutineRecord>(json)?.into_def(version, types),
        Head { kind, .. } => Err(constant_record::corrupt(format!("kind {kind} is no function"))),
    }
}

/// The functions of all records there are. Those of `known` that have not changed are the same.
pub(super) fn decode_all<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    types: &UserTypes,
    known: &Routines,
) -> Result<Routines> {
    let mut routines = Vec::new();
    for bytes in records {
        let routine = decode(bytes, types)?;
        let same = known
            .by_oid(routine.oid)
            .filter(|known| known.version == routine.version && is_alike(known, &routine));
        routines.push(same.cloned().unwrap_or_else(|| Arc::new(routine)));
    }
    Ok(Routines::new(routines.into_iter()))
}

/// Whether the types of two versions of a function are the same: the labels of enums change without it.
fn is_alike(one: &RoutineDef, other: &RoutineDef) -> bool {
    one.arguments == other.arguments && one.returns == other.returns
}

fn type_of(name: &str, types: &UserTypes) -> Result<RoutineType> {
    if let Some(polymorphic) = Polymorphic::named(name) {
        return Ok(RoutineType::Polymorphic(polymorphic));
    }
    match name.strip_prefix("row ").and_then(|oid| oid.parse().ok()) {
        Some(oid) => Ok(RoutineType::Row(oid)),
        None => match types.domain_of_stored_name(name) {
            Some(domain) => Ok(RoutineType::Domain(Arc::clone(domain))),
            None => types.of_stored_name(name).map(RoutineType::Sql),
        },
    }
}

impl UserTypes {
    /// A type of a function by its stored name. Errors: corrupt.
    pub fn routine_type(&self, name: &str) -> Result<RoutineType> {
        type_of(name, self)
    }
}

impl RoutineRecord {
    fn into_def(self, version: u64, types: &UserTypes) -> Result<RoutineDef> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in self.arguments {
            arguments.push(RoutineArgument {
                ty: type_of(&argument.ty, types)?,
                name: argument.name,
                mode: argument.mode,
                default: argument.default,
            });
        }
        Ok(RoutineDef {
            oid: self.oid,
            version,
            schema: self.schema,
            name: self.name,
            kind: self.kind,
            language: self.language,
            arguments,
            returns: match self.returns.as_str() {
                "void" => RoutineResult::Void,
                "outputs" => RoutineResult::Outputs,
                "record" => RoutineResult::Record,
                "trigger" => RoutineResult::Trigger,
                name => RoutineResult::Type(type_of(name, types)?),
            },
            returns_set: self.returns_set,
            volatile: self.volatile,
            strict: self.strict,
            security_definer: self.security_definer,
            leakproof: self.leakproof,
            parallel: self.parallel,
            cost: self.cost,
            rows: self.rows,
            body_kind: self.body_kind,
            body: self.body,
            search_path: self.search_path,
            settings: self.settings,
            depends_on: self.depends_on,
            aggregate: self.aggregate,
            comment: self.comment,
            parsed: Compiled::default(),
            compiled: Compiled::default(),
        })
    }
}

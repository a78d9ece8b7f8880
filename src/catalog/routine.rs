//! Functions and procedures that users make, each a record; and `Routines`, those of a catalog. Knows nothing of what their bodies say.

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::type_def::{OID_MARK, TypeDef, stored_name};
use crate::types::SqlType;

/// A function's or procedure's record.
#[derive(Debug, Clone)]
pub struct RoutineDef {
    /// Its oid in pg_proc.
    pub oid: u32,
    /// The catalog version that last changed this record.
    pub version: u64,
    /// Schema and name.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// FUNCTION or PROCEDURE.
    pub kind: RoutineKind,
    /// LANGUAGE.
    pub language: Language,
    /// Its arguments, those of OUT and of RETURNS TABLE as well.
    pub arguments: Vec<RoutineArgument>,
    /// What it gives.
    pub returns: RoutineResult,
    /// RETURNS SETOF, RETURNS TABLE.
    pub returns_set: bool,
    /// IMMUTABLE, STABLE, VOLATILE.
    pub volatile: Volatile,
    /// STRICT.
    pub strict: bool,
    /// SECURITY DEFINER. There is one role: it changes nothing.
    pub security_definer: bool,
    /// LEAKPROOF.
    pub leakproof: bool,
    /// PARALLEL.
    pub parallel: Parallel,
    /// COST.
    pub cost: Option<f32>,
    /// ROWS.
    pub rows: Option<f32>,
    /// How its body was written.
    pub body_kind: BodyKind,
    /// Its body: what stood in the quotes, behind RETURN, or between BEGIN ATOMIC and END.
    pub body: String,
    /// The search path that names of a body have that is no string; empty for others, whose path is the caller's.
    pub search_path: Vec<String>,
    /// SET name = values: settings while it runs.
    pub settings: Vec<(String, Vec<String>)>,
    /// Oids of the relations and functions that a body uses that is no string.
    pub depends_on: Vec<u32>,
    /// COMMENT ON FUNCTION.
    pub comment: Option<String>,
    /// How an aggregate computes.
    pub aggregate: Option<AggregateDef>,
    /// What was read of the body.
    pub parsed: Compiled,
    /// What was made of it, by who runs it.
    pub compiled: Compiled,
}

/// How an aggregate computes: a state, which a function makes of it and of each row, and what another makes of the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateDef {
    /// SFUNC.
    pub step: AggregateFunctionDef,
    /// STYPE, by its stored name.
    #[serde(rename = "type")]
    pub state: String,
    /// INITCOND: the first state, as text; `None`: NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// FINALFUNC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<AggregateFunctionDef>,
    /// FINALFUNC_EXTRA: it takes as many NULLs as the aggregate has arguments, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finish_extra: bool,
}

/// A function that an aggregate calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateFunctionDef {
    /// A user's, by its oid.
    Function(u32),
    /// One of PostgreSQL's, by its name.
    BuiltIn(String),
}

impl AggregateFunctionDef {
    /// The oid of a user's.
    pub fn oid(&self) -> Option<u32> {
        match self {
            AggregateFunctionDef::Function(oid) => Some(*oid),
            AggregateFunctionDef::BuiltIn(_) => None,
        }
    }
}

/// A place for what is worked out of a definition, once.
#[derive(Debug, Clone, Default)]
pub struct Compiled(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Compiled {
    /// What was worked out; made by `make` where nothing was.
    pub fn get_or<T: Any + Send + Sync, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(known) = self.0.get()
            && let Ok(known) = Arc::clone(known).downcast::<T>()
        {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        // Who was first at it does not matter.
        let _ = self.0.set(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }
}

/// FUNCTION or PROCEDURE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutineKind {
    /// CREATE FUNCTION.
    Function,
    /// CREATE PROCEDURE.
    Procedure,
    /// CREATE AGGREGATE.
    Aggregate,
}

impl RoutineKind {
    /// As messages name it.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            // As PostgreSQL calls it where it says what an object is.
            RoutineKind::Aggregate => "function",
        }
    }
}

/// LANGUAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// sql.
    Sql,
    /// plpgsql.
    Plpgsql,
    /// internal: an aggregate, whose functions say what it does.
    Internal,
}

impl Language {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
            Language::Internal => "internal",
        }
    }

    /// Its oid in pg_language.
    pub fn oid(self) -> u32 {
        match self {
            Language::Sql => 14,
            Language::Plpgsql => 13_563,
            Language::Internal => 12,
        }
    }
}

/// IMMUTABLE, STABLE, VOLATILE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "VOLATILE is SQL's word")]
pub enum Volatile {
    /// On its arguments alone.
    Immutable,
    /// On what stays the same in a statement.
    Stable,
    /// Each call may give another result, or change something.
    Volatile,
}

/// PARALLEL. Nothing depends on it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parallel {
    /// UNSAFE.
    Unsafe,
    /// RESTRICTED.
    Restricted,
    /// SAFE.
    Safe,
}

/// How a body was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// AS 'text'.
    Text,
    /// RETURN expression.
    Return,
    /// BEGIN ATOMIC … END.
    Atomic,
}

/// IN, OUT, INOUT, VARIADIC, or a column of RETURNS TABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentMode {
    /// IN.
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
    /// VARIADIC.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

impl ArgumentMode {
    /// Whether a caller gives it.
    pub fn is_input(self) -> bool {
        matches!(
            self,
            ArgumentMode::In | ArgumentMode::InOut | ArgumentMode::Variadic
        )
    }

    /// Whether it is of the result.
    pub fn is_output(self) -> bool {
        matches!(
            self,
            ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table
        )
    }
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineArgument {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// IN, OUT …
    pub mode: ArgumentMode,
    /// Its type.
    pub ty: RoutineType,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
}

/// The type of an argument or a result.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineType {
    /// A type.
    Sql(SqlType),
    /// One that each call decides.
    Polymorphic(Polymorphic),
    /// The rows of the relation with this oid.
    Row(u32),
    /// A domain: what its values are, under its conditions.
    Domain(Arc<TypeDef>),
}

/// A type that each call decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polymorphic {
    /// anyelement, anynonarray, anyenum.
    Element(&'static str),
    /// anyarray.
    Array(&'static str),
}

/// The names of polymorphic types, with their oids in pg_type.
const POLYMORPHIC: [(&str, u32, bool); 7] = [
    ("anyelement", 2283, false),
    ("anyarray", 2277, true),
    ("anynonarray", 2776, false),
    ("anyenum", 3500, false),
    ("anycompatible", 5077, false),
    ("anycompatiblearray", 5078, true),
    ("anycompatiblenonarray", 5079, false),
];

impl Polymorphic {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Polymorphic> {
        let (name, _, is_array) = POLYMORPHIC.iter().find(|(known, ..)| *known == name)?;
        Some(match is_array {
            true => Polymorphic::Array(name),
            false => Polymorphic::Element(name),
        })
    }

    /// Whether what stands for it in a call may be of several types that have a common one.
    pub fn is_compatible(self) -> bool {
        self.name().starts_with("anycompatible")
    }

    /// What an item of its arrays is; of what is no array it itself.
    pub fn item(self) -> Polymorphic {
        match self {
            Polymorphic::Array(_) if self.is_compatible() => Polymorphic::Element("anycompatible"),
            Polymorphic::Array(_) => Polymorphic::Element("anyelement"),
            element => element,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Polymorphic::Element(name) | Polymorphic::Array(name) => name,
        }
    }

    /// Its oid in pg_type.
    pub fn oid(self) -> u32 {
        let known = POLYMORPHIC.iter().find(|(known, ..)| *known == self.name());
        known.map_or(0, |(_, oid, _)| *oid)
    }
}

impl RoutineType {
    /// anyelement.
    pub fn element() -> RoutineType {
        RoutineType::Polymorphic(Polymorphic::Element("anyelement"))
    }

    /// anyarray.
    pub fn array() -> RoutineType {
        RoutineType::Polymorphic(Polymorphic::Array("anyarray"))
    }

    /// The type, if no call decides it and it is no row; of a domain, what it is over.
    pub fn sql_type(&self) -> Option<&SqlType> {
        match self {
            RoutineType::Sql(ty) => Some(ty),
            RoutineType::Domain(ty) => ty.domain().map(|domain| &domain.ty),
            RoutineType::Polymorphic(_) | RoutineType::Row(_) => None,
        }
    }

    /// By which a record and a signature name it.
    pub fn stored_name(&self) -> String {
        match self {
            RoutineType::Sql(ty) => stored_name(ty),
            RoutineType::Polymorphic(ty) => ty.name().to_string(),
            RoutineType::Row(oid) => format!("row {oid}"),
            RoutineType::Domain(ty) => format!("{OID_MARK}{}", ty.oid),
        }
    }

    /// The domain that it is.
    pub fn domain(&self) -> Option<&Arc<TypeDef>> {
        match self {
            RoutineType::Domain(ty) => Some(ty),
            RoutineType::Sql(_) | RoutineType::Polymorphic(_) | RoutineType::Row(_) => None,
        }
    }
}

/// What a function gives, each time or each row.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineResult {
    /// Nothing: void, and a procedure without OUT.
    Void,
    /// A value.
    Type(RoutineType),
    /// The OUT arguments, or the columns of RETURNS TABLE, several of them.
    Outputs,
    /// record: columns that each call defines.
    Record,
    /// trigger: no statement calls it.
    Trigger,
}

impl RoutineResult {
    /// Whether it is a row, of as many values as that has columns.
    pub fn is_row(&self) -> bool {
        match self {
            RoutineResult::Outputs | RoutineResult::Record => true,
            RoutineResult::Type(RoutineType::Row(_) | RoutineType::Sql(SqlType::Record(_))) => true,
            RoutineResult::Type(_) | RoutineResult::Void | RoutineResult::Trigger => false,
        }
    }
}

impl RoutineDef {
    /// A new function with an empty body that takes and gives nothing, and has what CREATE FUNCTION gives one that names no options.
    pub fn new(schema: String, name: String) -> RoutineDef {
        RoutineDef {
            oid: 0,
            version: 0,
            schema,
            name,
            kind: RoutineKind::Function,
            language: Language::Sql,
            arguments: Vec::new(),
            returns: RoutineResult::Void,
            returns_set: false,
            volatile: Volatile::Volatile,
            strict: false,
            security_definer: false,
            leakproof: false,
            parallel: Parallel::Unsafe,
            cost: None,
            rows: None,
            body_kind: BodyKind::Text,
            body: String::new(),
            search_path: Vec::new(),
            settings: Vec::new(),
            depends_on: Vec::new(),
            comment: None,
            aggregate: None,
            parsed: Compiled::default(),
            compiled: Compiled::default(),
        }
    }

    /// The arguments that a caller gives.
    pub fn inputs(&self) -> impl Iterator<Item = &RoutineArgument> {
        self.arguments.iter().filter(|argument| argument.mode.is_input())
    }

    /// The arguments that are the result.
    pub fn outputs(&self) -> impl Iterator<Item = &RoutineArgument> {
        self.arguments.iter().filter(|argument| argument.mode.is_output())
    }

    /// Whether its last argument may come more often.
    pub fn is_variadic(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.mode == ArgumentMode::Variadic)
    }

    /// The name with the types of what a caller gives: no two functions of a schema have the same.
    pub fn signature(&self) -> String {
        signature(&self.name, self.inputs().map(|argument| &argument.ty))
    }

    /// The domains that the columns of its result are of.
    pub fn result_domains(&self) -> Vec<Option<&Arc<TypeDef>>> {
        match &self.returns {
            RoutineResult::Type(ty) => vec![ty.domain()],
            RoutineResult::Outputs => self.outputs().map(|output| output.ty.domain()).collect(),
            RoutineResult::Void | RoutineResult::Record | RoutineResult::Trigger => Vec::new(),
        }
    }

    /// The oids of the types that users made and that it is of.
    pub fn types_used(&self) -> Vec<u32> {
        let returned = match &self.returns {
            RoutineResult::Type(ty) => Some(ty),
            _ => None,
        };
        let all = self.arguments.iter().map(|argument| &argument.ty).chain(returned);
        let all = all.flat_map(|ty| match ty {
            RoutineType::Sql(ty) => ty.user_types().into_iter().map(|(oid, _)| oid).collect(),
            RoutineType::Row(oid) => vec![*oid],
            RoutineType::Domain(ty) => vec![ty.oid],
            RoutineType::Polymorphic(_) => Vec::new(),
        });
        all.collect()
    }
}

/// See [`RoutineDef::signature`].
pub fn signature<'a>(name: &str, types: impl Iterator<Item = &'a RoutineType>) -> String {
    let types: Vec<String> = types.map(RoutineType::stored_name).collect();
    format!("{name}({})", types.join(","))
}

/// The functions and procedures that users made. Copied with each change of a catalog; shares the definitions.
#[derive(Debug, Clone, Default)]
pub struct Routines {
    by_name: Arc<RoutinesByName>,
    /// The first word of each name, in lower case; an empty one for a name that has none.
    words: Arc<HashSet<String>>,
}

/// Those of one schema and name.
type RoutinesByName = BTreeMap<(String, String), Vec<Arc<RoutineDef>>>;

impl Routines {
    /// Of these.
    pub fn new(routines: impl Iterator<Item = Arc<RoutineDef>>) -> Routines {
        let mut by_name: BTreeMap<(String, String), Vec<Arc<RoutineDef>>> = BTreeMap::new();
        for routine in routines {
            let name = (routine.schema.clone(), routine.name.clone());
            by_name.entry(name).or_default().push(routine);
        }
        let words = by_name.keys().map(|(_, name)| first_word(name));
        Routines {
            words: Arc::new(words.collect()),
            by_name: Arc::new(by_name),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// All of them, by schema and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<RoutineDef>> {
        self.by_name.values().flatten()
    }

    /// Those of this name in the schema, or in all schemas of the search path, the first of these first.
    pub fn find(&self, schema: Option<&str>, name: &str, search_path: &[String]) -> Vec<Arc<RoutineDef>> {
        let of = |schema: &str| self.by_name.get(&(schema.to_string(), name.to_string()));
        match schema {
            _ if self.is_empty() => Vec::new(),
            Some(schema) => of(schema).cloned().unwrap_or_default(),
            None => {
                let found = search_path.iter().filter_map(|schema| of(schema));
                found.flatten().cloned().collect()
            }
        }
    }

    /// Whether an expression's text may have the name of one in it.
    pub fn may_be_in(&self, text: &str) -> bool {
        let is_folded = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
        };
        let is_one = |word: &str| match is_folded(word) {
            true => self.words.contains(word),
            false => self.words.contains(&word.to_lowercase()),
        };
        !self.is_empty() && (is_one("") || words(text).any(is_one))
    }

    /// Those whose names an expression's text may have in it.
    pub fn named_in(&self, text: &str) -> impl Iterator<Item = &Arc<RoutineDef>> {
        let found: HashSet<String> = match self.may_be_in(text) {
            true => words(text).map(str::to_lowercase).collect(),
            false => HashSet::new(),
        };
        self.iter().filter(move |routine| {
            let word = first_word(&routine.name);
            !found.is_empty() && (word.is_empty() || found.contains(&word))
        })
    }

    /// The one with this oid.
    pub fn by_oid(&self, oid: u32) -> Option<&Arc<RoutineDef>> {
        self.iter().find(|routine| routine.oid == oid)
    }
}

/// The first word of a name, in lower case.
fn first_word(name: &str) -> String {
    let mut words = words(name).filter(|word| !word.is_empty());
    words.next().unwrap_or_default().to_lowercase()
}

/// What letters, digits and underlines make in a text, and nothing between two other characters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

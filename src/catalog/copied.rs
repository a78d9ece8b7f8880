//! `CopiedCatalog`: what is in a database, under other numbers, for a copy of the database. Numbers and oids are given once for all
//! databases, so each that a record has is replaced by one of its own: records are JSON, and what names an object in them says so
//! ([`NAMING`], [`TYPES`], `nextval('16386'::regclass)`).

use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;

use super::record::{self, Stamp};
use super::{
    Casts, Catalog, CatalogWriter, ExtensionDef, FIRST_OID, ObjectIds, Relation, Routines, SchemaDef,
    UserTypes, cast, extension, is_temporary_schema, routine_record, type_record,
};
use crate::codec::keyspace::{DatabaseId, TableId};
use crate::{Error, Result};

/// The members of records whose numbers are oids of what the records define.
const DEFINING: [&str; 2] = ["oid", "array_oid"];
/// Those whose numbers are oids, of what the records define or of others.
const NAMING: [&str; 12] = [
    "oid",
    "array_oid",
    "domain",
    "over",
    "sequence",
    "sequences",
    "table",
    "key",
    "function",
    "depends_on",
    "parent",
    "of",
];
/// Those whose texts are types, of a user's by its oid: `@16392[]`, `row 16400`.
const TYPES: [&str; 5] = ["type", "returns", "source", "target", "base"];

/// Which number each object of a database has in a copy of it.
#[derive(Debug, Default)]
struct NewNumbers(HashMap<u32, u32>);

impl Catalog {
    /// The relations that are no session's own.
    pub fn lasting_relations(&self) -> impl Iterator<Item = &Relation> {
        let mut relations = self.relations.iter();
        std::iter::from_fn(move || relations.find(|relation| !is_temporary_schema(relation.schema())))
    }
}

impl NewNumbers {
    /// That of an object, which has its own where the copy shares it.
    fn oid(&self, oid: u32) -> u32 {
        self.0.get(&oid).copied().unwrap_or(oid)
    }

    /// The id of a relation in the copy, whatever its id is: it was not moved there.
    fn id_of(&self, relation: &Relation) -> TableId {
        self.oid(relation.oid()) - FIRST_OID
    }
}

/// The records of what is in a database.
struct Records {
    schemas: Vec<Vec<u8>>,
    types: Vec<Vec<u8>>,
    routines: Vec<Vec<u8>>,
    casts: Vec<Vec<u8>>,
    extensions: Vec<Vec<u8>>,
    /// In the order of the catalog.
    relations: Vec<Vec<u8>>,
}

impl Records {
    fn of(catalog: &Catalog, database: DatabaseId) -> Result<Records> {
        let stamp = Stamp { version: 0, database };
        let relation = |relation: &Relation| match relation {
            Relation::Table(table) => record::encode_table(table, database),
            Relation::View(view) => record::encode_view(view, stamp),
            Relation::Sequence(sequence) => record::encode_sequence(sequence, stamp),
        };
        let schemas = catalog.stored_schemas();
        let extensions = catalog.extensions.values();
        Ok(Records {
            schemas: schemas
                .map(|schema| record::encode_schema(schema, stamp))
                .collect::<Result<_>>()?,
            types: catalog
                .types
                .iter()
                .map(|ty| type_record::encode(ty, stamp))
                .collect::<Result<_>>()?,
            routines: catalog
                .routines
                .iter()
                .map(|routine| routine_record::encode(routine, stamp))
                .collect::<Result<_>>()?,
            casts: catalog
                .casts
                .iter()
                .map(|cast| cast::encode(cast, stamp))
                .collect::<Result<_>>()?,
            extensions: extensions
                .map(|extension| extension::encode(extension, stamp))
                .collect::<Result<_>>()?,
            relations: catalog.lasting_relations().map(relation).collect::<Result<_>>()?,
        })
    }

    fn all(&self) -> [&Vec<Vec<u8>>; 6] {
        [
            &self.schemas,
            &self.types,
            &self.routines,
            &self.casts,
            &self.extensions,
            &self.relations,
        ]
    }
}

/// What is in a copy of a database.
pub struct CopiedCatalog {
    schemas: Vec<SchemaDef>,
    types: UserTypes,
    routines: Routines,
    casts: Casts,
    extensions: Vec<ExtensionDef>,
    relations: Vec<Relation>,
    numbers: NewNumbers,
}

impl CopiedCatalog {
    /// A copy of what is in a database. Errors: 54000 where no number is left.
    pub async fn of(catalog: &Catalog, database: DatabaseId, ids: &ObjectIds) -> Result<CopiedCatalog> {
        let records = Records::of(catalog, database)?;
        let mut oids: BTreeSet<u32> = catalog.lasting_relations().map(Relation::oid).collect();
        for bytes in records.all().into_iter().flatten() {
            collect_oids(&record::json_of(bytes)?, &mut oids);
        }
        let mut numbers = NewNumbers::default();
        // In their order, so that what is sorted by them stays in it; those of what PostgreSQL or an extension brings are all databases'.
        for oid in oids.range(FIRST_OID..) {
            numbers.0.insert(*oid, ids.take_oid().await?);
        }
        CopiedCatalog::under(numbers, catalog, &records)
    }

    fn under(numbers: NewNumbers, catalog: &Catalog, records: &Records) -> Result<CopiedCatalog> {
        let renumbered = |records: &[Vec<u8>]| {
            let records = records.iter();
            let records =
                records.map(|bytes| record::with_json(bytes, &numbers.applied(record::json_of(bytes)?)));
            records.collect::<Result<Vec<_>>>()
        };
        let (types, routines, casts) = (
            renumbered(&records.types)?,
            renumbered(&records.routines)?,
            renumbered(&records.casts)?,
        );
        let types = type_record::decode_all(types.iter().map(Vec::as_slice), &UserTypes::default())?;
        let routines = routines.iter().map(Vec::as_slice);
        let relations = catalog.lasting_relations().zip(&records.relations);
        let relations = relations.map(|(relation, bytes)| {
            let mut json = numbers.applied(record::json_of(bytes)?);
            json["id"] = numbers.id_of(relation).into();
            record::decode_relation(&record::with_json(bytes, &json)?, &HashMap::new(), &types)
        });
        let relations = relations.collect::<Result<_>>()?;
        let schemas = renumbered(&records.schemas)?;
        let extensions = renumbered(&records.extensions)?;
        Ok(CopiedCatalog {
            schemas: schemas
                .iter()
                .map(|bytes| record::decode_schema(bytes))
                .collect::<Result<_>>()?,
            routines: routine_record::decode_all(routines, &types, &Routines::default())?,
            casts: cast::decode_all(casts.iter().map(Vec::as_slice), &types)?,
            extensions: extensions
                .iter()
                .map(|bytes| extension::decode(bytes))
                .collect::<Result<_>>()?,
            types,
            relations,
            numbers,
        })
    }

    /// What a relation has become. Errors: it was not copied.
    pub fn relation(&self, of: &Relation) -> Result<&Relation> {
        let oid = self.numbers.oid(of.oid());
        let found = self.relations.iter().find(|relation| relation.oid() == oid);
        found.ok_or_else(|| Error::internal("a relation that was not copied"))
    }

    /// Writes all of it into a database in which nothing is.
    pub fn write(&self, writer: &CatalogWriter<'_>) -> Result<()> {
        self.schemas
            .iter()
            .try_for_each(|schema| writer.put_schema(schema))?;
        let mut extensions = self.extensions.iter();
        extensions.try_for_each(|extension| writer.put_extension(extension))?;
        self.types.iter().try_for_each(|ty| writer.put_type(ty))?;
        self.routines
            .iter()
            .try_for_each(|routine| writer.put_routine(routine))?;
        self.casts.iter().try_for_each(|cast| writer.put_cast(cast))?;
        self.relations.iter().try_for_each(|relation| match relation {
            Relation::Table(table) => writer.put_table(table.as_ref().clone()).map(drop),
            Relation::View(view) => writer.put_view(view),
            Relation::Sequence(sequence) => writer.put_sequence(sequence),
        })
    }
}

/// The oids of what a record defines.
fn collect_oids(json: &Json, oids: &mut BTreeSet<u32>) {
    match json {
        Json::Object(members) => {
            for (name, member) in members {
                match oid_in(member).filter(|_| DEFINING.contains(&name.as_str())) {
                    Some(oid) => {
                        oids.insert(oid);
                    }
                    None => collect_oids(member, oids),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect_oids(item, oids)),
        _ => {}
    }
}

fn oid_in(json: &Json) -> Option<u32> {
    json.as_u64().and_then(|oid| u32::try_from(oid).ok())
}

impl NewNumbers {
    /// A record's JSON with every number replaced.
    fn applied(&self, json: Json) -> Json {
        match json {
            Json::Object(members) => {
                // A default names the sequences that it takes of in its texts.
                let sequences = members.get("sequences").and_then(Json::as_array).cloned();
                let members = members.into_iter().map(|(name, member)| {
                    let member = match &member {
                        _ if NAMING.contains(&name.as_str()) && is_oids(&member) => self.named(member),
                        Json::String(text) if TYPES.contains(&name.as_str()) => {
                            Json::String(self.type_name(text))
                        }
                        Json::Array(columns) if name == "columns" => {
                            columns.iter().map(|column| self.column(column)).collect()
                        }
                        _ => self.applied(member),
                    };
                    let member = sequences
                        .iter()
                        .flatten()
                        .filter_map(oid_in)
                        .fold(member, |member, oid| self.with_quoted(member, oid));
                    (name, member)
                });
                Json::Object(members.collect())
            }
            Json::Array(items) => Json::Array(items.into_iter().map(|item| self.applied(item)).collect()),
            json => json,
        }
    }

    /// A column: a view's is its name and its type.
    fn column(&self, column: &Json) -> Json {
        match column.as_array().map(Vec::as_slice) {
            Some([name, Json::String(ty)]) => Json::Array(vec![name.clone(), self.type_name(ty).into()]),
            _ => self.applied(column.clone()),
        }
    }

    fn named(&self, json: Json) -> Json {
        match (oid_in(&json), json) {
            (Some(oid), _) => self.oid(oid).into(),
            (None, Json::Array(items)) => items.into_iter().map(|item| self.named(item)).collect(),
            (None, json) => json,
        }
    }

    /// `@16392[]` and `row 16400`; others stay.
    fn type_name(&self, name: &str) -> String {
        for mark in ["@", "row "] {
            let Some(rest) = name.strip_prefix(mark) else {
                continue;
            };
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Ok(oid) = rest[..digits].parse() {
                return format!("{mark}{}{}", self.oid(oid), &rest[digits..]);
            }
        }
        name.to_string()
    }

    /// With the oid replaced where it stands in quotes.
    fn with_quoted(&self, json: Json, oid: u32) -> Json {
        match json {
            Json::String(text) => text
                .replace(&format!("'{oid}'"), &format!("'{}'", self.oid(oid)))
                .into(),
            Json::Object(members) => {
                let members = members.into_iter();
                Json::Object(
                    members
                        .map(|(name, member)| (name, self.with_quoted(member, oid)))
                        .collect(),
                )
            }
            json => json,
        }
    }
}

fn is_oids(json: &Json) -> bool {
    json.is_u64()
        || json
            .as_array()
            .is_some_and(|items| items.iter().all(Json::is_u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_names_an_object_is_renumbered_and_nothing_else() {
        let numbers = NewNumbers([(16390, 20000), (16391, 20001), (16392, 20002)].into());
        let json = json!({
            "id": 16390, "oid": 16390, "comment": "@16391 '16392'", "name": "row 16390",
            "columns": [
                {"id": 1, "type": "@16391[]", "domain": 16391, "missing": "16392",
                 "default": {"expression": {"sql": "nextval('16392'::REGCLASS) + 16392", "sequences": [16392],
                                            "text": {"plain": "nextval('16392'::regclass)"}}}},
                {"id": 2, "type": "bigint", "default": {"next_value": {"sequence": 16392}}},
            ],
            "indexes": [{"id": 1, "oid": 16391, "columns": [{"column": 16391}]}],
            "depends_on": [16390, 16384, 7],
            "partition": {"parent": 16390, "bound": {"hash": {"modulus": 16390, "remainder": 1}}},
        });
        assert_eq!(
            numbers.applied(json),
            json!({
                "id": 16390, "oid": 20000, "comment": "@16391 '16392'", "name": "row 16390",
                "columns": [
                    {"id": 1, "type": "@20001[]", "domain": 20001, "missing": "16392",
                     "default": {"expression": {"sql": "nextval('20002'::REGCLASS) + 16392", "sequences": [20002],
                                                "text": {"plain": "nextval('20002'::regclass)"}}}},
                    {"id": 2, "type": "bigint", "default": {"next_value": {"sequence": 20002}}},
                ],
                "indexes": [{"id": 1, "oid": 20001, "columns": [{"column": 16391}]}],
                "depends_on": [20000, 16384, 7],
                "partition": {"parent": 20000, "bound": {"hash": {"modulus": 16390, "remainder": 1}}},
            })
        );
        let view = json!({"columns": [["@16390", "@16391[]"]], "arguments": ["a", "@16391"]});
        let copied = json!({"columns": [["@16390", "@20001[]"]], "arguments": ["a", "@16391"]});
        assert_eq!(numbers.applied(view), copied);
        assert_eq!(numbers.type_name("row 16390"), "row 20000");
        assert_eq!(numbers.type_name("@16390"), "@20000");
        assert_eq!(numbers.type_name("@x"), "@x");
    }
}

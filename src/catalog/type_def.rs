//! Types that users make: enums, domains and composite types, and those of extensions, each a record; and `UserTypes`, those of a catalog. What a column or an
//! expression is of brings along what it needs of its type, so that none is looked up by whoever reads values.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{EnumType, RecordType, SqlType};
use crate::{Error, Result};

/// A type's record.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeDef {
    /// Its oid in pg_type.
    pub oid: u32,
    /// The oid of its array type.
    pub array_oid: u32,
    /// The catalog version that last changed this record.
    pub version: u64,
    /// Schema and name.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// COMMENT ON TYPE, COMMENT ON DOMAIN.
    pub comment: Option<String>,
    /// What it is.
    pub kind: TypeKind,
}

/// What a type is.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// CREATE TYPE … AS ENUM.
    Enum(Arc<EnumType>),
    /// CREATE DOMAIN.
    Domain(DomainDef),
    /// CREATE TYPE … AS (…).
    Composite(CompositeDef),
    /// CREATE EXTENSION, of a type of its own.
    Base(SqlType),
}

/// A composite type: a row that no table has. In pg_class it stands under the oid of the type.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeDef {
    /// Its attributes.
    pub row: Arc<RecordType>,
    /// The last number that an attribute was given; those of dropped ones are never used again.
    pub last_number: u16,
}

/// A domain: another type whose values pass conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct DomainDef {
    /// What its values are: no domain.
    pub ty: SqlType,
    /// The domain that it is over, if it is over one.
    pub over: Option<Arc<TypeDef>>,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
    /// NOT NULL.
    pub not_null: bool,
    /// CHECK constraints, by name.
    pub checks: Vec<DomainCheck>,
}

/// A CHECK constraint of a domain.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DomainCheck {
    /// pg_constraint.oid.
    pub oid: u32,
    /// Its name.
    pub name: String,
    /// The condition over VALUE, as SQL text.
    pub sql: String,
    /// The same as `pg_get_constraintdef` prints it.
    pub text: String,
    /// The same without parentheses that it can do without.
    pub pretty_text: String,
    /// NOT VALID.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
}

impl TypeDef {
    /// The type of its values.
    pub fn sql_type(&self) -> SqlType {
        match &self.kind {
            TypeKind::Enum(labels) => SqlType::Enum(Arc::clone(labels)),
            TypeKind::Domain(domain) => domain.ty.clone(),
            TypeKind::Composite(composite) => SqlType::Record(Arc::clone(&composite.row)),
            TypeKind::Base(ty) => ty.clone(),
        }
    }

    /// The domain, if it is one.
    pub fn domain(&self) -> Option<&DomainDef> {
        match &self.kind {
            TypeKind::Domain(domain) => Some(domain),
            TypeKind::Enum(_) | TypeKind::Composite(_) | TypeKind::Base(_) => None,
        }
    }

    /// What messages and statements call its kind.
    pub fn kind_word(&self) -> &'static str {
        match self.kind {
            TypeKind::Domain(_) => "domain",
            TypeKind::Enum(_) | TypeKind::Composite(_) | TypeKind::Base(_) => "type",
        }
    }

    /// The domains that a value of it passes, the innermost first.
    pub fn domains(&self) -> Vec<&TypeDef> {
        let mut all = match self.domain().and_then(|domain| domain.over.as_deref()) {
            Some(over) => over.domains(),
            None => Vec::new(),
        };
        if self.domain().is_some() {
            all.push(self);
        }
        all
    }

    /// Whether no value of it is NULL.
    pub fn is_never_null(&self) -> bool {
        let mut domains = self.domains().into_iter().filter_map(TypeDef::domain);
        domains.any(|domain| domain.not_null)
    }

    /// Its version and those of what it rests on as one number.
    pub fn version_with_types(&self) -> u64 {
        match &self.kind {
            TypeKind::Enum(_) | TypeKind::Base(_) => self.version,
            // It adds up those of its attributes.
            TypeKind::Composite(composite) => composite.row.version,
            TypeKind::Domain(domain) => {
                let over = domain.ty.user_types().into_iter().map(|(_, version)| version);
                let versions = self.domains().into_iter().map(|domain| domain.version);
                versions.chain(over).fold(0, u64::wrapping_add)
            }
        }
    }

    /// The oids of the types that it rests on.
    pub fn rests_on(&self) -> Vec<u32> {
        let oids = |ty: &SqlType| {
            ty.user_types()
                .into_iter()
                .map(|(oid, _)| oid)
                .collect::<Vec<_>>()
        };
        match &self.kind {
            TypeKind::Enum(_) | TypeKind::Base(_) => Vec::new(),
            TypeKind::Composite(composite) => {
                let fields = composite.row.fields.iter();
                fields.flat_map(|field| oids(&field.ty)).collect()
            }
            TypeKind::Domain(domain) => {
                let over = domain.over.iter().map(|over| over.oid);
                over.chain(oids(&domain.ty)).collect()
            }
        }
    }
}

/// The types that users made. Copied with each change of a catalog; shares the definitions.
#[derive(Debug, Clone, Default)]
pub struct UserTypes {
    by_name: Arc<BTreeMap<(String, String), Arc<TypeDef>>>,
}

impl UserTypes {
    /// Of these types.
    pub(super) fn new(types: impl Iterator<Item = Arc<TypeDef>>) -> UserTypes {
        let by_name = types.map(|ty| ((ty.schema.clone(), ty.name.clone()), ty));
        UserTypes {
            by_name: Arc::new(by_name.collect()),
        }
    }

    /// All of them, by schema and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.by_name.values()
    }

    /// The one of this name.
    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<TypeDef>> {
        self.by_name.get(&(schema.to_string(), name.to_string()))
    }

    /// The one of this name that a search path finds, or that the schema has.
    pub fn find(&self, schema: Option<&str>, name: &str, search_path: &[String]) -> Option<&Arc<TypeDef>> {
        match schema {
            Some(schema) => self.get(schema, name),
            None => search_path.iter().find_map(|schema| self.get(schema, name)),
        }
    }

    /// What a name of words means: perhaps with a schema before and brackets behind it.
    pub fn named(&self, name: &str, search_path: &[String]) -> Option<SqlType> {
        let element = name.trim_end_matches("[]");
        let found = match element.split_once('.') {
            Some((schema, name)) => self.get(schema, name),
            None => self.find(None, element, search_path),
        }?;
        Some(match element == name {
            true => found.sql_type(),
            false => SqlType::array(found.sql_type()),
        })
    }

    /// The one with this oid.
    pub fn by_oid(&self, oid: u32) -> Option<&Arc<TypeDef>> {
        self.iter().find(|ty| ty.oid == oid)
    }

    /// The type that [`stored_name`] names. Errors: corrupt.
    pub fn of_stored_name(&self, name: &str) -> Result<SqlType> {
        let corrupt = || Error::Corrupt {
            what: "catalog record".to_string(),
            reason: format!("type \"{name}\" is not known"),
        };
        let Some(oid) = name.strip_prefix(OID_MARK) else {
            return SqlType::from_formatted(name)?.ok_or_else(corrupt);
        };
        let digits = oid.trim_end_matches("[]");
        let dimensions = (oid.len() - digits.len()) / 2;
        let found = digits.parse().ok().and_then(|oid| self.by_oid(oid));
        let found = found.ok_or_else(corrupt)?.sql_type();
        Ok((0..dimensions).fold(found, |ty, _| SqlType::array(ty)))
    }

    /// The domain that a stored name is of.
    pub fn domain_of_stored_name(&self, name: &str) -> Option<&Arc<TypeDef>> {
        let found = self.by_oid(name.strip_prefix(OID_MARK)?.parse().ok()?);
        found.filter(|found| found.domain().is_some())
    }

    /// The type with the labels that it has by now.
    pub fn as_it_is(&self, ty: &SqlType) -> SqlType {
        match ty {
            SqlType::Array(item) => item.map(|item| self.as_it_is(item)),
            SqlType::Enum(_) | SqlType::Record(_) => self
                .by_oid(ty.oid())
                .map_or_else(|| ty.clone(), |now| now.sql_type()),
            ty => ty.clone(),
        }
    }
}

/// What stands before the oid of a type in a stored name.
pub(super) const OID_MARK: &str = "@";

/// The name by which a record names a type: as `format_type` prints it, or by its oid, which stays when it is renamed.
pub fn stored_name(ty: &SqlType) -> String {
    let brackets = "[]".repeat(ty.declared_dimensions());
    let oid = match ty.innermost() {
        SqlType::Enum(labels) => labels.oid,
        // The columns of a view may be rows of tables: they are bound anew with its query.
        SqlType::Record(row) if row.is_anonymous() || row.is_of_relation() => return "record".to_string(),
        SqlType::Record(row) => row.oid,
        item => return item.name() + &brackets,
    };
    format!("{OID_MARK}{oid}{brackets}")
}

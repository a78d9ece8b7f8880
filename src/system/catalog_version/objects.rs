//! `Objects`: the tables, views, indexes and columns of our catalog as PostgreSQL's catalogs count them (oids, attribute
//! numbers), beside the names of the objects that every database has. Built once a statement, at first use; rows and
//! catalog functions read from here. Knows nothing of Arrow or of queries.

use std::collections::HashMap;
use std::sync::Arc;

use super::constraints::{UserConstraint, UserForeignKey, user_constraints};
use super::default_text::DefaultNames;
use super::definitions::{Definition, definitions};
use super::partitions::{
    UserPartition, UserPartitioning, is_valid_index, parent_index, user_partition, user_partitioning,
};
use super::triggers::{UserTrigger, shown_triggers, user_triggers};
use crate::catalog::{
    Catalog, ColumnDef, DomainCheck, IndexDef, OnCommit, PrintedQuery, Relation, Routines, SequenceDef,
    ShownRelation, TableDef, TypeDef, TypeKind, UserTypes, ViewDef, is_system_schema, is_temporary_schema,
};
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::{RecordField, SqlType};

pub(crate) use super::system_objects::{
    SYSTEM, SystemObject, is_in_catalog, read, system_schema_oid, type_facts,
};
pub(crate) use super::user_column::UserColumn;
use super::user_column::user_column;
pub(crate) use super::user_index::UserIndex;
use super::user_index::user_index;

/// The role that owns everything.
pub(crate) const OWNER_OID: i64 = 10;
/// The role's name: PostgreSQL's bootstrap superuser.
pub(crate) const OWNER_NAME: &str = "postgres";

/// The schema of Keyspan's own relations.
pub(crate) const OWN_SCHEMA: &str = "keyspan";

/// A table, view or sequence.
#[derive(Debug)]
pub(crate) struct UserRelation {
    pub(crate) oid: i64,
    pub(crate) namespace: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// pg_class.relkind: `r`, `p`, `v`, `m`, `S` or `c`.
    pub(crate) kind: char,
    /// pg_class.relpersistence, of its indexes too: `p`, `u` or `t`.
    pub(crate) persistence: char,
    pub(crate) comment: Option<String>,
    pub(crate) columns: Vec<UserColumn>,
    pub(crate) indexes: Vec<UserIndex>,
    /// Its constraints that are no indexes.
    pub(crate) constraints: Vec<UserConstraint>,
    /// Its triggers.
    pub(crate) triggers: Vec<UserTrigger>,
    /// pg_class.reloptions.
    pub(crate) options: Vec<String>,
    /// ON COMMIT, of a temporary table.
    pub(crate) on_commit: Option<OnCommit>,
    /// pg_class.relispopulated.
    pub(crate) is_populated: bool,
    /// A view's SELECT, and the search path that its names are found by.
    pub(crate) query: Option<(String, Vec<String>)>,
    /// It as it is printed.
    pub(crate) printed: Option<PrintedQuery>,
    /// What a sequence is.
    pub(crate) sequence: Option<SequenceDef>,
    /// What a view that is written through shows.
    pub(crate) shows: Option<ShownRelation>,
    /// What a partitioned table is.
    pub(crate) partitioning: Option<UserPartitioning>,
    /// What a partition is.
    pub(crate) partition: Option<UserPartition>,
}

impl UserRelation {
    /// Whether it is a table, partitioned or not.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, 'r' | 'p')
    }

    /// Its foreign keys.
    pub(crate) fn foreign_keys(&self) -> impl Iterator<Item = (&UserConstraint, &UserForeignKey)> {
        let constraints = self.constraints.iter();
        constraints.filter_map(|constraint| Some((constraint, constraint.foreign_key()?)))
    }

    /// The constraints that the standard knows of its indexes.
    pub(crate) fn standard_keys(&self) -> impl Iterator<Item = &UserIndex> {
        let keys = self.indexes.iter();
        keys.filter(|index| index.constraint && index.exclusion.is_none())
    }

    /// The columns of an index of it in key order.
    pub(crate) fn index_columns<'a>(&'a self, index: &'a UserIndex) -> impl Iterator<Item = &'a UserColumn> {
        index.keys.iter().filter_map(|key| match &key.computed {
            Some(computed) => Some(&computed.column),
            None => self.columns.get(key.attribute.checked_sub(1)?),
        })
    }

    /// The columns that an index has by INCLUDE.
    pub(crate) fn included_columns<'a>(
        &'a self,
        index: &'a UserIndex,
    ) -> impl Iterator<Item = &'a UserColumn> {
        let included = index.included.iter();
        included.filter_map(|attribute| self.columns.get(attribute.checked_sub(1)?))
    }
}

/// What a relation's oid stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found<'a> {
    /// A table or view of ours.
    Relation(&'a UserRelation),
    /// An index of a table of ours.
    Index(&'a UserRelation, &'a UserIndex),
}

/// A type that a user made, or the array type of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserType<'a> {
    pub(crate) ty: &'a TypeDef,
    pub(crate) is_array: bool,
}

impl UserType<'_> {
    /// Whether its bare name means it.
    pub(crate) fn is_visible(&self, objects: &Objects, search_path: &[String]) -> bool {
        let found = objects.user_type_named(None, &self.ty.name, search_path);
        found.is_some_and(|found| found.oid == self.ty.oid)
    }
}

/// All relations of ours, findable by oid and by name.
#[derive(Debug)]
pub(crate) struct Objects {
    /// In the order of schema and name.
    pub(crate) relations: Vec<UserRelation>,
    /// Oid and name of every schema that is ours.
    pub(crate) schemas: Vec<(i64, String, Option<String>)>,
    /// Types that users made, and the oids of their schemas.
    pub(crate) types: Vec<(i64, Arc<TypeDef>)>,
    /// Functions that users made.
    pub(crate) routines: Routines,
    by_oid: HashMap<i64, (usize, Option<usize>)>,
    by_name: HashMap<(String, String), i64>,
    /// Constraints that are no indexes: the positions of their tables, and theirs there.
    constraints: HashMap<i64, (usize, usize)>,
}

impl Objects {
    /// Numbers everything in the catalog.
    pub(crate) fn new(catalog: &Catalog) -> Objects {
        let names = DefaultNames::of(catalog);
        let relations = catalog.relations.iter().map(|relation| match relation {
            Relation::Table(table) => user_table(catalog, &names, table),
            Relation::View(view) => user_view(catalog, view),
            Relation::Sequence(sequence) => user_sequence(catalog, sequence),
        });
        let own = definitions().iter().filter(|system| system.schema == OWN_SCHEMA);
        let own = own.map(|system| own_view(catalog, system));
        let types = catalog.types.iter().filter_map(|ty| composite_type(catalog, ty));
        let mut relations: Vec<UserRelation> = relations.chain(own).chain(types).collect();
        relations.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        let mut by_oid = HashMap::new();
        let (mut by_name, mut constraints) = (HashMap::new(), HashMap::new());
        for (position, relation) in relations.iter().enumerate() {
            by_oid.insert(relation.oid, (position, None));
            by_name.insert((relation.schema.clone(), relation.name.clone()), relation.oid);
            for (index_position, index) in relation.indexes.iter().enumerate() {
                by_oid.insert(index.oid, (position, Some(index_position)));
                by_name.insert((relation.schema.clone(), index.name.clone()), index.oid);
            }
            for (at, constraint) in relation.constraints.iter().enumerate() {
                constraints.insert(constraint.oid, (position, at));
            }
        }
        let schemas = catalog
            .schemas
            .values()
            .filter(|schema| !is_system_schema(&schema.name) || is_temporary_schema(&schema.name))
            .map(|schema| (i64::from(schema.oid), schema.name.clone(), schema.comment.clone()))
            .collect();
        let types = catalog
            .types
            .iter()
            .map(|ty| (namespace_oid(catalog, &ty.schema), Arc::clone(ty)))
            .collect();
        Objects {
            types,
            routines: catalog.routines.clone(),
            relations,
            schemas,
            by_oid,
            by_name,
            constraints,
        }
    }

    /// The relation of ours with this oid.
    pub(crate) fn find(&self, oid: i64) -> Option<Found<'_>> {
        let (position, index) = self.by_oid.get(&oid)?;
        let relation = &self.relations[*position];
        Some(match index {
            Some(index) => Found::Index(relation, &relation.indexes[*index]),
            None => Found::Relation(relation),
        })
    }

    /// The constraint of ours with this oid, if it is no index.
    pub(crate) fn constraint(&self, oid: i64) -> Option<&UserConstraint> {
        let (relation, at) = self.constraints.get(&oid)?;
        self.relations.get(*relation)?.constraints.get(*at)
    }

    /// The type that a user made with this oid, or with this oid of its array type.
    pub(crate) fn user_type(&self, oid: i64) -> Option<UserType<'_>> {
        let is_it = |found: u32| i64::from(found) == oid;
        let mut types = self.types.iter().map(|(_, ty)| ty);
        let ty = types.find(|ty| is_it(ty.oid) || is_it(ty.array_oid))?;
        Some(UserType {
            ty,
            is_array: is_it(ty.array_oid),
        })
    }

    /// The condition of a domain with this oid.
    pub(crate) fn domain_check(&self, oid: i64) -> Option<&DomainCheck> {
        let domains = self.types.iter().filter_map(|(_, ty)| ty.domain());
        let mut checks = domains.flat_map(|domain| &domain.checks);
        checks.find(|check| i64::from(check.oid) == oid)
    }

    /// The type that a user made and that a name means, in a schema or along a search path.
    pub(crate) fn user_type_named(
        &self,
        schema: Option<&str>,
        name: &str,
        search_path: &[String],
    ) -> Option<&TypeDef> {
        let find = |schema: &str| {
            let mut types = self.types.iter().map(|(_, ty)| &**ty);
            types.find(|ty| ty.schema == schema && ty.name == name)
        };
        match schema {
            Some(schema) => find(schema),
            None => search_path.iter().find_map(|schema| find(schema)),
        }
    }

    /// The table of ours with this oid.
    pub(crate) fn table(&self, oid: i64) -> Option<&UserRelation> {
        match self.find(oid)? {
            Found::Relation(relation) => Some(relation),
            Found::Index(..) => None,
        }
    }

    /// Schema and name of any relation, ours or the system's.
    pub(crate) fn relation_name(&self, oid: i64) -> Option<(String, String)> {
        match self.find(oid) {
            Some(Found::Relation(relation)) => Some((relation.schema.clone(), relation.name.clone())),
            Some(Found::Index(relation, index)) => Some((relation.schema.clone(), index.name.clone())),
            None => {
                let object = SYSTEM.classes.get(&oid)?;
                Some((self.schema_name(object.namespace)?, object.name.clone()))
            }
        }
    }

    /// The oid of a relation by exact name.
    pub(crate) fn relation_oid(&self, schema: &str, name: &str) -> Option<i64> {
        let ours = self.by_name.get(&(schema.to_string(), name.to_string())).copied();
        ours.or_else(|| {
            SYSTEM
                .classes_by_name
                .get(&(system_schema_oid(schema)?, name.to_string()))
                .copied()
        })
    }

    /// The name of a schema.
    pub(crate) fn schema_name(&self, oid: i64) -> Option<String> {
        let ours = self
            .schemas
            .iter()
            .find(|(schema, _, _)| *schema == oid)
            .map(|(_, name, _)| name.clone());
        ours.or_else(|| {
            SYSTEM
                .schemas
                .iter()
                .find(|(schema, _)| *schema == oid)
                .map(|(_, name)| name.clone())
        })
    }

    /// The oid of a schema.
    pub(crate) fn schema_oid(&self, name: &str) -> Option<i64> {
        let ours = self
            .schemas
            .iter()
            .find(|(_, schema, _)| schema == name)
            .map(|(oid, _, _)| *oid);
        ours.or_else(|| system_schema_oid(name))
    }

    /// Whether a relation's bare name means it under this search path. Whichever schema of the path has the name first
    /// wins; pg_catalog stands before them all.
    pub(crate) fn is_visible(&self, oid: i64, search_path: &[String]) -> Option<bool> {
        let (schema, name) = self.relation_name(oid)?;
        Some(
            path_with_catalog(search_path).find(|path| self.relation_oid(path, &name).is_some())
                == Some(&schema),
        )
    }

    /// The relation's name as `regclass` prints it: with its schema where the bare name does not mean it.
    pub(crate) fn relation_display_name(&self, oid: i64, search_path: &[String]) -> Option<String> {
        let (schema, name) = self.relation_name(oid)?;
        Some(match self.is_visible(oid, search_path) {
            Some(true) => quote_ident(&name),
            _ => qualified(&schema, &name),
        })
    }
}

/// The schemas in which a bare name is looked up: pg_catalog stands first where the path does not name it, but for what is temporary.
pub(crate) fn path_with_catalog(search_path: &[String]) -> impl Iterator<Item = &str> {
    let named = search_path.iter().any(|schema| schema == "pg_catalog");
    let begins_in_temporary = search_path
        .first()
        .is_some_and(|first| is_temporary_schema(first));
    let (first, rest) = search_path.split_at(usize::from(begins_in_temporary));
    first
        .iter()
        .map(String::as_str)
        .chain((!named).then_some("pg_catalog"))
        .chain(rest.iter().map(String::as_str))
}

/// The wildcard columns of a table with their types, as CREATE TABLE takes them.
fn wildcard_option(table: &TableDef) -> Option<String> {
    let wildcards = table.wildcards.iter().map(|column| {
        let data_type = match &column.domain {
            Some(domain) => format!("{}.{}", domain.schema, domain.name),
            None => column.ty.to_string(),
        };
        let is_plain = |letter: char| !letter.is_whitespace() && !matches!(letter, '"' | ',' | '(' | ')');
        match column.name.chars().all(is_plain) {
            true => format!("{} {data_type}", column.name),
            false => format!("\"{}\" {data_type}", column.name.replace('"', "\"\"")),
        }
    });
    let wildcards: Vec<String> = wildcards.collect();
    (!wildcards.is_empty()).then(|| format!("wildcard_column={}", wildcards.join(",")))
}

fn user_table(catalog: &Catalog, names: &DefaultNames<'_>, table: &TableDef) -> UserRelation {
    let visible: Vec<&ColumnDef> = table.visible_columns().collect();
    let columns = visible
        .iter()
        .map(|column| user_column(names, table, column))
        .collect();
    let index = |index: &IndexDef, primary: bool| UserIndex {
        parent: parent_index(catalog, table, index),
        valid: is_valid_index(catalog, table, index),
        ..user_index(names, (table, &visible), index, primary)
    };
    let mut indexes = Vec::new();
    if !table.has_hidden_key() {
        indexes.push(index(&table.primary_key, true));
    }
    indexes.extend(table.indexes.iter().map(|secondary| index(secondary, false)));
    UserRelation {
        oid: i64::from(table.oid),
        namespace: namespace_oid(catalog, &table.schema),
        schema: table.schema.clone(),
        name: table.name.clone(),
        kind: match (table.is_materialized_view(), table.partitioning.is_some()) {
            (true, _) => 'm',
            (false, true) => 'p',
            (false, false) => 'r',
        },
        persistence: persistence(&table.schema, table.options.unlogged),
        comment: table.comment.clone(),
        columns,
        indexes,
        constraints: user_constraints(catalog, table),
        triggers: user_triggers(catalog, table),
        options: [
            wildcard_option(table).into_iter().collect(),
            table.options.texts(),
        ]
        .concat(),
        on_commit: table.options.on_commit,
        is_populated: table.require_populated().is_ok(),
        query: table
            .stored_query
            .as_ref()
            .map(|stored| (stored.query.clone(), stored.search_path.clone())),
        printed: (table.stored_query.as_ref()).and_then(|stored| stored.printed.clone()),
        sequence: None,
        shows: None,
        partitioning: user_partitioning(catalog, table),
        partition: user_partition(catalog, table),
    }
}

/// A relation of our own schema, as a view whose query is nobody's business.
fn own_view(catalog: &Catalog, system: &Definition) -> UserRelation {
    let fields = system.fields.fields().iter();
    UserRelation {
        oid: system.oid,
        namespace: namespace_oid(catalog, OWN_SCHEMA),
        schema: OWN_SCHEMA.to_string(),
        name: system.name.to_string(),
        kind: 'v',
        persistence: 'p',
        comment: None,
        columns: fields
            .map(|field| UserColumn::plain(field.name().clone(), SqlType::from_field(field)))
            .collect(),
        indexes: Vec::new(),
        constraints: Vec::new(),
        triggers: Vec::new(),
        options: Vec::new(),
        on_commit: None,
        is_populated: true,
        query: None,
        printed: None,
        sequence: None,
        shows: None,
        partitioning: None,
        partition: None,
    }
}

/// What a view's column shows, if that is a column of the one table whose rows the view shows. Of others it is not known.
fn shown_column<'a>(catalog: &'a Catalog, view: &ViewDef, column: usize) -> Option<&'a ColumnDef> {
    let shows = view.shows.as_ref()?;
    let at = shows.columns.get(column).copied().flatten()?;
    let table = catalog.table_by_oid(shows.oid)?;
    table.visible_columns().nth(at)
}

fn user_view(catalog: &Catalog, view: &ViewDef) -> UserRelation {
    let columns = view
        .columns
        .iter()
        .enumerate()
        .map(|(at, (name, ty))| {
            let shown = shown_column(catalog, view, at);
            UserColumn {
                comment: view.column_comments.get(name).cloned(),
                domain: shown.and_then(|column| column.domain.clone()),
                collation: shown.and_then(|column| column.collation.clone()),
                ..UserColumn::plain(name.clone(), type_by_format(&catalog.types, ty))
            }
        })
        .collect();
    UserRelation {
        oid: i64::from(view.oid()),
        namespace: namespace_oid(catalog, &view.schema),
        schema: view.schema.clone(),
        name: view.name.clone(),
        kind: 'v',
        persistence: persistence(&view.schema, false),
        comment: view.comment.clone(),
        columns,
        indexes: Vec::new(),
        constraints: Vec::new(),
        triggers: shown_triggers(catalog, &view.triggers, &[]),
        options: view.options.texts().collect(),
        on_commit: None,
        is_populated: true,
        query: Some((view.query.clone(), view.search_path.clone())),
        printed: view.printed.clone(),
        sequence: None,
        shows: view.shows.clone(),
        partitioning: None,
        partition: None,
    }
}

/// The columns of the one row of a sequence.
pub(crate) const SEQUENCE_COLUMNS: [(&str, SqlType); 3] = [
    ("last_value", SqlType::Int8),
    ("log_cnt", SqlType::Int8),
    ("is_called", SqlType::Bool),
];

fn user_sequence(catalog: &Catalog, sequence: &SequenceDef) -> UserRelation {
    let column = |(name, ty): &(&str, SqlType)| UserColumn {
        not_null: true,
        ..UserColumn::plain((*name).to_string(), ty.clone())
    };
    UserRelation {
        oid: i64::from(sequence.oid()),
        namespace: namespace_oid(catalog, &sequence.schema),
        schema: sequence.schema.clone(),
        name: sequence.name.clone(),
        kind: 'S',
        persistence: persistence(&sequence.schema, is_unlogged(catalog, sequence)),
        comment: sequence.comment.clone(),
        columns: SEQUENCE_COLUMNS.iter().map(column).collect(),
        indexes: Vec::new(),
        constraints: Vec::new(),
        triggers: Vec::new(),
        options: Vec::new(),
        on_commit: None,
        is_populated: true,
        query: None,
        printed: None,
        sequence: Some(sequence.clone()),
        shows: None,
        partitioning: None,
        partition: None,
    }
}

/// The relation that a composite type is in pg_class.
fn composite_type(catalog: &Catalog, ty: &TypeDef) -> Option<UserRelation> {
    let TypeKind::Composite(composite) = &ty.kind else {
        return None;
    };
    let column = |field: &RecordField| UserColumn::plain(field.name.clone(), field.ty.clone());
    Some(UserRelation {
        oid: i64::from(ty.oid),
        namespace: namespace_oid(catalog, &ty.schema),
        schema: ty.schema.clone(),
        name: ty.name.clone(),
        kind: 'c',
        persistence: persistence(&ty.schema, false),
        comment: None,
        columns: composite.row.fields.iter().map(column).collect(),
        indexes: Vec::new(),
        constraints: Vec::new(),
        triggers: Vec::new(),
        options: Vec::new(),
        on_commit: None,
        is_populated: true,
        query: None,
        printed: None,
        sequence: None,
        shows: None,
        partitioning: None,
        partition: None,
    })
}

/// pg_class.relpersistence of what is in the schema.
fn persistence(schema: &str, is_unlogged: bool) -> char {
    match (is_temporary_schema(schema), is_unlogged) {
        (true, _) => 't',
        (false, true) => 'u',
        (false, false) => 'p',
    }
}

/// Whether a sequence is told to be unlogged: as its table is, if it goes with one.
fn is_unlogged(catalog: &Catalog, sequence: &SequenceDef) -> bool {
    let table = sequence.owner.and_then(|owner| catalog.table_by_oid(owner.table));
    table.map_or(sequence.unlogged, |table| table.options.unlogged)
}

fn namespace_oid(catalog: &Catalog, schema: &str) -> i64 {
    match system_schema_oid(schema) {
        Some(oid) => oid,
        None => catalog
            .schemas
            .get(schema)
            .map_or(0, |schema| i64::from(schema.oid)),
    }
}

/// The type that a record names so; text for one we do not have.
pub(crate) fn type_by_format(types: &UserTypes, name: &str) -> SqlType {
    types.of_stored_name(name).unwrap_or(SqlType::Text)
}

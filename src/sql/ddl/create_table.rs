//! CREATE TABLE: columns and constraints as they are written, and the table that they become.

use std::sync::Arc;

use sqlparser::ast::{self, CreateTable, Ident, IndexColumn, TableConstraint};

use super::check::{self, NewCheck};
use super::column::{self, NewColumn};
use super::declared_keys::declared;
use super::described_index::{DescribedIndex, described_indexes, without_repeated};
use super::foreign_key::{self, NewForeignKey};
use super::key::{self, NewUnique};
use super::like::{self, LikeIndex, Likeness};
use super::new_relation::{NewRelation, make_schema};
use super::partition_of::{self, PartitionOf};
use super::system_columns::row_id_column;
use super::table_index::{define_computed, index_name, own_indexes};
use super::{
    advice, exclusion, expiry, generation, options, partition_key, partition_triggers, region, sequence,
    storage, versions, wildcard,
};
use crate::catalog::{
    CatalogWriter, ColumnDef, Expiry, FIRST_OID, IndexDef, KeyColumn, MadeName, OnCommit, Partitioning,
    StoredQuery, TableDef, TableOptions, Versions,
};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::definition::{Persistence, SequenceOption};
use crate::parse::{included, names};
use crate::sql::named_locks;
use crate::store::LockMode;
use crate::system::{Notice, StatementContext};
use crate::table::{Sequences, begin_count};
use crate::{Error, Result};

/// The first column's id; ids are attribute numbers in the catalogs, which start at 1.
pub(super) const FIRST_COLUMN_ID: ColumnId = 1;

/// A table as its statement describes it, before it has an id.
#[derive(Default)]
pub(super) struct Description {
    columns: Vec<ColumnDef>,
    primary_key: Option<(Option<String>, Vec<KeyColumn>)>,
    /// INCLUDE of the primary key: under it stands the whole row, so that it is only told.
    primary_include: Vec<ColumnId>,
    indexes: Vec<DescribedIndex>,
    /// Those of LIKE over columns that are computed for them.
    computed_indexes: Vec<LikeIndex>,
    checks: Vec<NewCheck>,
    foreign_keys: Vec<NewForeignKey>,
    options: TableOptions,
    wildcards: Vec<ColumnDef>,
    stored_query: Option<Box<StoredQuery>>,
    partitioning: Option<Partitioning>,
    partition_of: Option<PartitionOf>,
    /// The columns for which sequences are to be made, with their options.
    sequences: Vec<(ColumnId, Vec<SequenceOption>)>,
}

impl Description {
    /// Of columns with their ids, and nothing more; `stored_query`: it is a materialized view.
    pub(super) fn of_columns(
        columns: Vec<ColumnDef>,
        options: TableOptions,
        stored_query: Option<Box<StoredQuery>>,
    ) -> Description {
        Description {
            columns,
            options,
            stored_query,
            ..Description::default()
        }
    }

    /// Gives it wildcard columns.
    pub(super) fn with_wildcards(self, wildcards: Vec<ColumnDef>) -> Description {
        Description { wildcards, ..self }
    }

    /// Takes the options of another table, where there are some, but for how long it lasts.
    fn take_options(&mut self, options: Option<TableOptions>) {
        if let Some(options) = options {
            self.options = TableOptions {
                unlogged: self.options.unlogged,
                on_commit: self.options.on_commit,
                ..options
            };
        }
    }

    /// Appends a column, which gets its id; `sequence`: the options of the one that is to be made for it. Errors: 42701.
    fn add_column(
        &mut self,
        columns: &mut Vec<ColumnDef>,
        mut def: ColumnDef,
        sequence: Option<Vec<SequenceOption>>,
    ) -> Result<()> {
        if columns.iter().any(|known| known.name == def.name) {
            return Err(Error::DuplicateColumn { name: def.name });
        }
        def.id = FIRST_COLUMN_ID + columns.len() as ColumnId;
        self.sequences.extend(sequence.map(|options| (def.id, options)));
        columns.push(def);
        Ok(())
    }
}

/// Runs CREATE TABLE.
pub(super) async fn execute(ctx: &StatementContext, create: &CreateTable) -> Result<String> {
    let new = new_table(ctx, create)?;
    if !new.is_free(ctx, create.if_not_exists)? {
        return Ok("CREATE TABLE".to_string());
    }
    let options = table_options(ctx, create, &new)?;
    let description = describe(ctx, &new.name, create, options).await?;
    let table = create_described(ctx, new, description).await?;
    if table.partition.is_none() {
        advice::advise(ctx, &table)?;
        for index in table.indexes.iter().filter(|index| index.constraint) {
            advice::check_constraint(ctx, &table, Some((index.name.as_str(), index.columns.as_slice())))?;
        }
    }
    Ok("CREATE TABLE".to_string())
}

/// The options of a new table; what is without effect is told. Errors: 22023, 42704; 42P16 for ON COMMIT.
pub(super) fn table_options(
    ctx: &StatementContext,
    create: &CreateTable,
    new: &NewRelation,
) -> Result<TableOptions> {
    storage::check_tablespaces(ctx)?;
    let (mut options, unused) = options::read(&create.table_options)?;
    storage::tell(ctx, [ctx.hints.without_effect.clone(), unused].concat());
    options.unlogged = ctx.hints.unlogged;
    options.on_commit = on_commit(create, new)?;
    Ok(options)
}

/// What CREATE TABLE names. Errors: as [`NewRelation::of`]; 0A000 for what a table here cannot be.
pub(super) fn new_table(ctx: &StatementContext, create: &CreateTable) -> Result<NewRelation> {
    check_supported(create)?;
    if create.global == Some(true) {
        ctx.notice(Notice::warning(
            "01000",
            "GLOBAL is deprecated in temporary table creation".to_string(),
        ));
    }
    let persistence = match (create.temporary, ctx.hints.unlogged) {
        (true, _) => Persistence::Temporary,
        (false, true) => Persistence::Unlogged,
        (false, false) => Persistence::Permanent,
    };
    NewRelation::of(ctx, &create.name, persistence)
}

/// Errors: 42P16 for ON COMMIT of a table that outlives its session.
fn on_commit(create: &CreateTable, new: &NewRelation) -> Result<Option<OnCommit>> {
    let on_commit = match create.on_commit {
        None => return Ok(None),
        Some(ast::OnCommit::PreserveRows) => None,
        Some(ast::OnCommit::DeleteRows) => Some(OnCommit::DeleteRows),
        Some(ast::OnCommit::Drop) => Some(OnCommit::Drop),
    };
    match new.is_temporary() {
        true => Ok(on_commit),
        false => Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: "ON COMMIT can only be used on temporary tables".to_string(),
            hint: None,
        }),
    }
}

/// Errors: 0A000 for what a table here cannot be.
fn check_supported(create: &CreateTable) -> Result<()> {
    if create.inherits.is_some() {
        return Err(Error::unsupported(
            "an inherited table",
            Some(
                "Use PARTITION OF for tables whose rows are read as those of one, or LIKE for the same columns.",
            ),
        ));
    }
    Ok(())
}

/// Reads columns and constraints.
async fn describe(
    ctx: &StatementContext,
    table: &str,
    create: &CreateTable,
    options: TableOptions,
) -> Result<Description> {
    let mut description = Description {
        options,
        ..Description::default()
    };
    let mut parts = Parts::default();
    if let Some(of) = PartitionOf::read(ctx, create, table).await? {
        let mut taken = like::of_parent(ctx, &of.parent)?;
        // What it says itself goes first.
        taken.options = taken
            .options
            .filter(|_| description.options == TableOptions::default());
        parts.take_like(table, &mut description, taken)?;
        let keys = declared(ctx, &of.parent);
        description
            .foreign_keys
            .extend(keys.iter().map(|key| NewForeignKey::of(key, None)));
        description.partition_of = Some(of);
    }
    let (wildcards, wildcards_at) =
        wildcard::take(ctx, table, &mut description.options, &create.columns).await?;
    description.wildcards = wildcards;
    let mut likes = ctx.hints.likes.iter().peekable();
    for at in 0..=create.columns.len() {
        while let Some(like) = likes.next_if(|like| like.at == at) {
            parts.take_like(table, &mut description, like::read(ctx, like)?)?;
            named_locks::lock_named(ctx).await?;
        }
        let Some(written) = create.columns.get(at) else {
            break;
        };
        if description.partition_of.is_some() {
            let said = (written, &create.columns[..at]);
            parts.take_options(ctx, (table, &mut description), said).await?;
            continue;
        }
        if !wildcards_at.contains(&at) {
            let read = column::read(ctx, table, written).await?;
            parts.take_column(table, &mut description, &written.name, read)?;
        }
    }
    parts.settle(ctx, (table, create), description)
}

/// What of a table's statement was read, until all of it is.
#[derive(Default)]
struct Parts {
    primary: Option<(Option<String>, Vec<IndexColumn>)>,
    primary_include: Vec<String>,
    unique: Vec<NewUnique>,
    columns: Vec<ColumnDef>,
    /// What columns, by position, are computed of.
    generations: Vec<(usize, ast::Expr)>,
    like_indexes: Vec<LikeIndex>,
    like_checks: Vec<NewCheck>,
}

impl Parts {
    /// What LIKE says of another table.
    fn take_like(&mut self, table: &str, description: &mut Description, taken: Likeness) -> Result<()> {
        for column in taken.columns {
            let at = self.columns.len();
            self.generations.extend(column.generation.map(|expr| (at, expr)));
            description.add_column(&mut self.columns, column.def, column.sequence)?;
        }
        if let Some(key) = taken.primary_key {
            set_primary(&mut self.primary, table, None, key)?;
            self.primary_include = taken.primary_include;
            description.options.buckets = description.options.buckets.or(taken.buckets);
        }
        description.take_options(taken.options);
        let mut wildcards = taken.wildcards.into_iter();
        wildcards.try_for_each(|def| wildcard::add(&mut description.wildcards, def))?;
        self.like_indexes.extend(taken.indexes);
        self.like_checks.extend(taken.checks);
        Ok(())
    }

    /// A column of the statement's own.
    fn take_column(
        &mut self,
        table: &str,
        description: &mut Description,
        name: &Ident,
        column: NewColumn,
    ) -> Result<()> {
        let column = self.take_constraints(table, description, name, column)?;
        let at = self.columns.len();
        self.generations.extend(column.generation.map(|expr| (at, expr)));
        description.add_column(&mut self.columns, column.def, column.sequence)
    }

    /// The constraints of a column; answers what is left of it.
    fn take_constraints(
        &mut self,
        table: &str,
        description: &mut Description,
        name: &Ident,
        mut column: NewColumn,
    ) -> Result<NewColumn> {
        if let Some(constraint) = column.primary_key.take() {
            set_primary(&mut self.primary, table, constraint, vec![index_column(name)])?;
        }
        if let Some(unique) = column.unique.take() {
            self.unique.push(NewUnique {
                columns: vec![index_column(name)],
                ..unique
            });
        }
        description.checks.append(&mut column.checks);
        description.foreign_keys.append(&mut column.foreign_keys);
        Ok(column)
    }

    /// What a partition says of a column that it has of its parent. Errors: as [`partition_of::read_options`].
    async fn take_options(
        &mut self,
        ctx: &StatementContext,
        (table, description): (&str, &mut Description),
        (written, said_before): (&ast::ColumnDef, &[ast::ColumnDef]),
    ) -> Result<()> {
        let name = names::fold(&written.name);
        let at = self.columns.iter().position(|column| column.name == name);
        let own = at.map(|at| &self.columns[at]);
        let column = Box::pin(partition_of::read_options(
            ctx,
            table,
            (written, said_before),
            own,
        ))
        .await?;
        let column = self.take_constraints(table, description, &written.name, column)?;
        let Some(own) = at.map(|at| &mut self.columns[at]) else {
            return Ok(());
        };
        own.not_null |= column.def.not_null;
        let is_default =
            |option: &ast::ColumnOptionDef| matches!(option.option, ast::ColumnOption::Default(_));
        if written.options.iter().any(is_default) {
            own.default = column.def.default;
        }
        Ok(())
    }

    /// A constraint of the table that is an index. Errors: 42P16, 0A000.
    fn take_key(&mut self, table: &str, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                key::check_primary_characteristics(key.characteristics.as_ref())?;
                let name = key.name.as_ref().map(names::fold);
                set_primary(&mut self.primary, table, name, key.columns.clone())
            }
            TableConstraint::Unique(unique) => {
                match exclusion::read(unique)? {
                    Some(index) => self.like_indexes.push(index),
                    None => self.unique.push(key::read_unique(unique)?),
                }
                Ok(())
            }
            other => Err(Error::unsupported(format!("the table constraint {other}"), None)),
        }
    }

    /// The constraints, which may name any column.
    fn settle(
        mut self,
        ctx: &StatementContext,
        (table, create): (&str, &CreateTable),
        mut description: Description,
    ) -> Result<Description> {
        let mut columns = std::mem::take(&mut self.columns);
        let generations = std::mem::take(&mut self.generations);
        generation::read_all(ctx, table, &mut columns, generations)?;
        for constraint in &create.constraints {
            if let TableConstraint::PrimaryKey(key) = constraint {
                self.primary_include = included(&key.index_options)?;
            }
        }
        description.primary_include = key::included_columns(&self.primary_include, &columns)?;
        for constraint in &create.constraints {
            match constraint {
                TableConstraint::Check(check) => description.checks.push(NewCheck::of(check, None)),
                TableConstraint::ForeignKey(key) => {
                    description.foreign_keys.push(NewForeignKey::of(key, None));
                }
                other => self.take_key(table, other)?,
            }
        }
        description.checks.extend(self.like_checks);
        self.like_indexes.extend(own_indexes(ctx, &columns)?);
        let buckets = description.options.buckets;
        description.primary_key = primary_key(ctx, table, &mut columns, (self.primary, buckets))?;
        let indexes = self.like_indexes.into_iter();
        let (computed, plain) = indexes.partition(|index| index.is_computed);
        description.computed_indexes = computed;
        description.indexes = described_indexes(self.unique, plain, &columns)?;
        let partition_by = create.partition_by.as_deref();
        let partitioning = partition_by.map(|written| partition_key::read(written, &columns));
        description.partitioning = partitioning.transpose()?;
        description.columns = columns;
        Ok(description)
    }
}

/// A key as it is written: the name of its constraint, if it has one, and its parts.
type WrittenKey = (Option<String>, Vec<IndexColumn>);

/// The primary key as written, behind the hidden column of its bucket if it has some; hidden columns are added to `columns`. Buckets of
/// a table without one wait for it: a dump makes a table first, and adds its key when the rows are there.
pub(super) fn primary_key(
    ctx: &StatementContext,
    table: &str,
    columns: &mut Vec<ColumnDef>,
    (primary, buckets): (Option<WrittenKey>, Option<u16>),
) -> Result<Option<(Option<String>, Vec<KeyColumn>)>> {
    let Some((name, written)) = primary else {
        return Ok(None);
    };
    let mut key = generation::key_columns(ctx, table, columns, &written)?;
    for column in columns.iter_mut() {
        column.not_null |= key.iter().any(|part| part.column == column.id);
    }
    if let Some(buckets) = buckets {
        let column = generation::bucket(columns, &key, buckets)?;
        if columns.iter().any(|known| known.name == column.name) {
            return Err(Error::DuplicateColumn { name: column.name });
        }
        key = generation::behind(&column, key);
        columns.push(column);
    }
    Ok(Some((name, key)))
}

fn set_primary(
    primary: &mut Option<(Option<String>, Vec<IndexColumn>)>,
    table: &str,
    name: Option<String>,
    columns: Vec<IndexColumn>,
) -> Result<()> {
    if primary.is_some() {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("multiple primary keys for table \"{table}\" are not allowed"),
            hint: None,
        });
    }
    *primary = Some((name, columns));
    Ok(())
}

/// The index of the primary key, which without a declared one is over the numbers of rows. Indexes that repeat it are left out.
fn primary_index(description: &mut Description, next_column_id: &mut ColumnId) -> DescribedIndex {
    let has_primary = description.primary_key.is_some();
    let (key_name, key_columns) = match description.primary_key.take() {
        Some(primary) => primary,
        None => {
            description.columns.push(row_id_column(*next_column_id));
            *next_column_id += 1;
            (None, vec![KeyColumn::ascending(*next_column_id - 1)])
        }
    };
    let include = std::mem::take(&mut description.primary_include);
    let mut primary = DescribedIndex::primary(key_columns, include, has_primary);
    primary.name = key_name;
    description.indexes = without_repeated(&mut primary, std::mem::take(&mut description.indexes));
    primary
}

/// The indexes of a new table with their names, the primary key first, and the next id of a column.
async fn named_indexes(
    ctx: &StatementContext,
    (schema, name): (&str, &str),
    description: &mut Description,
    taken: &mut Vec<String>,
) -> Result<(IndexDef, Vec<IndexDef>, ColumnId)> {
    let numbers = ctx.sequences.object_ids();
    let mut next_column_id = FIRST_COLUMN_ID + description.columns.len() as ColumnId;
    let mut primary = primary_index(description, &mut next_column_id);
    let key_name = primary.name.take();
    let key_name = index_name(ctx, schema, key_name, MadeName::of_table(name, "pkey"), taken)?;
    let primary_key = primary.into_def((0, numbers.take_oid().await?), key_name);
    let mut indexes = Vec::with_capacity(description.indexes.len());
    for (at, new) in std::mem::take(&mut description.indexes).into_iter().enumerate() {
        let keys = new.columns.iter().map(|key| key.column);
        let ids = keys.chain(new.include.iter().copied());
        let suffix = if new.constraint { "key" } else { "idx" };
        let base = MadeName::of_column_ids(name, ids, &description.columns, suffix);
        let oid = numbers.take_oid().await?;
        let index_name = index_name(ctx, schema, new.name.clone(), base, taken)?;
        indexes.push(new.into_def((at as IndexId + 1, oid), index_name));
    }
    Ok((primary_key, indexes, next_column_id))
}

/// Gives a described table its ids and writes it.
pub(super) async fn create_described(
    ctx: &StatementContext,
    NewRelation { schema, name }: NewRelation,
    mut description: Description,
) -> Result<Arc<TableDef>> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    make_schema(ctx, &writer, &schema).await?;
    let numbers = ctx.sequences.object_ids();
    let id = numbers.take().await?;
    // The table's own name is taken as well: an index of the same name would be ambiguous.
    let mut taken = vec![name.clone()];
    let (primary_key, indexes, next_column_id) =
        named_indexes(ctx, (&schema, &name), &mut description, &mut taken).await?;
    let of = (schema.as_str(), name.as_str(), FIRST_OID + id);
    let columns = (
        description.columns.as_mut_slice(),
        description.sequences.as_slice(),
    );
    sequence::create_for_columns(ctx, &writer, of, columns, &mut taken).await?;
    let partition_of = description.partition_of.take();
    let partition_of = partition_of
        .map(|of| of.record(&description.columns))
        .transpose()?;
    let (parent, partition) = partition_of.unzip();
    let mut table = TableDef {
        partitioning: description.partitioning,
        partition,
        next_column_id,
        next_index_id: indexes.len() as IndexId + 1,
        indexes,
        options: description.options,
        wildcards: description.wildcards,
        stored_query: description.stored_query,
        ..TableDef::new(
            (id, FIRST_OID + id),
            schema,
            name,
            description.columns,
            primary_key,
        )
    };
    for index in description.computed_indexes {
        let oid = numbers.take_oid().await?;
        define_computed(ctx, &mut table, (oid, index), &mut taken)?;
    }
    define_constraints(
        ctx,
        &writer,
        &mut table,
        (description.checks, description.foreign_keys),
    )
    .await?;
    // Options that are those of another table say this of its rows.
    table.options.expiry.by_row = false;
    expiry::settle(ctx, &mut table, &Expiry::default())?;
    versions::settle(ctx, &mut table, &Versions::default())?;
    partition_key::check_keys(&table, &[])?;
    write_new(ctx, &writer, table, parent.as_deref()).await
}

/// Writes a new table. `parent`: what it is a partition of.
async fn write_new(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    mut table: TableDef,
    parent: Option<&TableDef>,
) -> Result<Arc<TableDef>> {
    if let Some(parent) = parent {
        partition_triggers::take_of_parent(ctx, parent, &mut table).await?;
    }
    let table = writer.put_table(table)?;
    if let Some(parent) = parent {
        Box::pin(partition_of::settle_new(
            ctx,
            writer,
            (parent, LockMode::AccessExclusive),
            &table,
        ))
        .await?;
    }
    region::begin(ctx, &table)?;
    Sequences::create_row_ids(&ctx.txn, &table)?;
    begin_count(&ctx.txn, &table)?;
    Ok(table)
}

/// Adds the constraints that are no indexes.
async fn define_constraints(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &mut TableDef,
    (checks, foreign_keys): (Vec<NewCheck>, Vec<NewForeignKey>),
) -> Result<()> {
    for new in checks {
        check::define_of_new(ctx, table, new).await?;
    }
    for new in foreign_keys {
        foreign_key::define(ctx, table, new, false).await?;
    }
    let keys = table.foreign_keys.clone();
    foreign_key::shut_writers_out(ctx, table, &keys).await?;
    foreign_key::touch_referenced(ctx, writer, table, &keys)?;
    Ok(())
}

fn index_column(name: &Ident) -> IndexColumn {
    IndexColumn::from(name.clone())
}

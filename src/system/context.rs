//! `StatementContext`: what one statement runs in.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::future::BoxFuture;

use super::plan_cache::{ConstantTypes, KeptBasis, PlanBasis};
use super::trigger_functions::get_trigger_function;
use super::{
    CallPlace, CommonRows, CursorPosition, CursorRow, IndexBuilds, Jobs, Notice, Notices, PreparedList,
    RoutineCall, ServerState, SessionState, Settings, StatementMemory, TransactionControl, Variables,
};
use crate::catalog::{
    Access, Casts, Catalog, DatabaseId, FIRST_DATABASE, FIRST_DATABASE_NAME, ForeignKey, GeneratedColumns,
    Lookups, Object, Relation, RelationName, RoutineDef, RoutineType, TableDef, ToldBound, TypeDef,
    is_temporary_schema,
};
use crate::error::StatementFault;
use crate::parse::Hints;
use crate::plan::{FullScanPolicy, PlanRules};
use crate::table::Sequences;
use crate::txn::Transaction;
use crate::types::{FormatSettings, RecordType, SqlType, Value};
use crate::{Error, Result};

/// Runs a function: its rows, one for a function that gives no set.
pub type RoutineCaller =
    for<'a> fn(&'a StatementContext, RoutineCall) -> BoxFuture<'a, Result<Vec<Vec<Value>>>>;

/// What one statement runs in: a transaction, the catalog as that transaction sees it, settings, parameters.
#[derive(Debug, Clone)]
pub struct StatementContext {
    /// The transaction.
    pub txn: Arc<Transaction>,
    /// The transaction as it was before the statement wrote, where its queries run while it writes: no part of a statement
    /// sees what the others do.
    pub began: Option<Arc<Transaction>>,
    /// The same of the part of it that runs, before triggers and functions of that part wrote.
    pub part_began: Option<Arc<Transaction>>,
    /// What parts of its WITH clause have given that later parts may name.
    pub common_rows: Arc<[CommonRows]>,
    /// The catalog as the transaction sees it.
    pub catalog: Arc<Catalog>,
    /// What was looked up there while plans were made: whoever makes one asks by [`StatementContext::relation`] and its like.
    pub lookups: Arc<Lookups>,
    /// Whether other statements share the transaction: what this one does is committed, or undone, with theirs.
    pub in_block: bool,
    /// Whether what it leaves of deferred constraints is asked before its transaction commits.
    pub asks_deferred: bool,
    /// Whether it stands behind a savepoint.
    pub in_savepoint: bool,
    /// Work of the statement that outlives it.
    pub jobs: Arc<Jobs>,
    /// The indexes that the server is building.
    pub index_builds: Arc<IndexBuilds>,
    /// The session as others see it.
    pub session: Arc<SessionState>,
    /// What the statements of all sessions share.
    pub server: Arc<ServerState>,
    /// The statement as it was written.
    pub text: Arc<str>,
    /// Row ids and serial values of the server's store.
    pub sequences: Arc<Sequences>,
    /// The session's settings.
    pub settings: Arc<Settings>,
    /// What the statement holds in memory.
    pub memory: Arc<StatementMemory>,
    /// Bound parameters: `$1` first. Text-format parameters of undecided type are `Value::Unknown`.
    pub parameters: Arc<[Value]>,
    /// The types that the statement was described with, in the order of `parameters`: `Unknown` where nothing decided.
    /// Empty for a statement that was not described: then each value speaks for itself.
    pub parameter_types: Arc<[SqlType]>,
    /// See [`Parameters::constants`].
    pub parameters_are_constants: bool,
    /// `now()`: microseconds since 1970-01-01 UTC, the transaction's start.
    pub transaction_time_us: i64,
    /// `statement_timestamp()`: likewise of the client's message that the statement is of, in functions that it calls, too.
    pub statement_time_us: i64,
    /// What the statement asks of its plan.
    pub hints: Hints,
    /// What the statement tells its client beside its result.
    pub notices: Arc<Notices>,
    /// `current_user`.
    pub user: Arc<str>,
    /// `session_user`.
    pub session_user: Arc<str>,
    /// `current_database()`.
    pub database: Arc<str>,
    /// `pg_backend_pid()`.
    pub process_id: i32,
    /// The session's prepared statements.
    pub prepared: Arc<PreparedList>,
    /// The session's cursors.
    pub cursors: Arc<[Arc<CursorRow>]>,
    /// Where the cursor stands that it names in WHERE CURRENT OF; `None`: it names none, or does not run.
    pub cursor_position: Option<Arc<CursorPosition>>,
    /// The variables of the function that it is a statement of.
    pub variables: Option<Arc<Variables>>,
    /// How it ends its transaction; `None`: it shares that with others, and cannot.
    pub transaction_control: Option<Arc<TransactionControl>>,
    /// The place of the body that it is a statement of.
    pub place: Option<Arc<CallPlace>>,
    /// How many functions it is inside of.
    pub calls: usize,
    /// Whether the innermost of these is not VOLATILE: its statements may only read.
    pub in_stable_function: bool,
    /// No more of its rows are wanted than these: those behind are not computed.
    pub rows_wanted: Option<usize>,
    /// How many triggers it is inside of.
    pub trigger_depth: usize,
    /// Runs a function that a user made, which is above this layer.
    pub call_routine: RoutineCaller,
    /// Makes what computes a table's generated columns: binding, which is above this layer.
    pub compile_generated: fn(&StatementContext, &TableDef) -> Result<Arc<dyn GeneratedColumns>>,
}

impl StatementContext {
    /// What the first database is called: as the session's client calls it, if it is in that.
    pub fn first_database_name(&self) -> &str {
        match self.txn.database() {
            FIRST_DATABASE => &self.database,
            _ => FIRST_DATABASE_NAME,
        }
    }

    /// The database of a name. Errors: 3D000.
    pub fn database_id(&self, name: &str) -> Result<DatabaseId> {
        match self.catalog.databases.get(name) {
            Some(database) => Ok(database.oid),
            None if name == self.first_database_name() || name == FIRST_DATABASE_NAME => Ok(FIRST_DATABASE),
            None => Err(Error::UndefinedDatabase {
                name: name.to_string(),
            }),
        }
    }

    /// The statement as its queries run in it: they see the transaction as it was when it began.
    pub fn reading(&self) -> Cow<'_, StatementContext> {
        match &self.began {
            None => Cow::Borrowed(self),
            Some(began) => Cow::Owned(StatementContext {
                txn: Arc::clone(began),
                ..self.clone()
            }),
        }
    }

    /// The statement, whose rows are taken one by one: something is done behind each, and perhaps not all are wanted.
    pub fn fetching(&self) -> StatementContext {
        let hints = Hints {
            may_end: true,
            ..self.hints.clone()
        };
        StatementContext {
            hints,
            ..self.clone()
        }
    }

    /// The statement, none of whose queries will see what it writes from now on.
    pub fn beginning(&self) -> StatementContext {
        StatementContext {
            began: Some(Arc::new(self.txn.as_it_is())),
            ..self.clone()
        }
    }

    /// A part of the statement begins, which may be all of it: none of its queries will see what the statement writes from now on.
    pub fn beginning_part(&self) -> StatementContext {
        let now = Arc::new(self.txn.as_it_is());
        StatementContext {
            began: self.began.clone().or_else(|| Some(Arc::clone(&now))),
            part_began: Some(now),
            ..self.clone()
        }
    }

    /// The statement with the catalog as its transaction sees it now: the statement itself has changed it.
    pub async fn seeing_definitions(mut self) -> Result<StatementContext> {
        self.see_definitions().await?;
        Ok(self)
    }

    /// Takes the catalog as its transaction sees it now: one get where nothing changed.
    pub async fn see_definitions(&mut self) -> Result<()> {
        self.catalog = Catalog::load(&self.txn, Some(Arc::clone(&self.catalog))).await?;
        Ok(())
    }

    /// The same statement at the newest snapshot, whatever its transaction keeps, with the catalog as it is there: what it writes must be
    /// right beside all that is committed.
    pub async fn at_newest(&self) -> Result<StatementContext> {
        let txn = Arc::new(self.txn.again().await?);
        let catalog = Catalog::load(&txn, Some(Arc::clone(&self.catalog))).await?;
        Ok(StatementContext {
            txn,
            catalog,
            began: None,
            part_began: None,
            lookups: Arc::default(),
            common_rows: Arc::default(),
            ..self.clone()
        })
    }

    /// The table with this oid. Asked by who runs a write, each time: no plan depends on it.
    pub fn table_by_oid(&self, oid: u32) -> Option<&Arc<TableDef>> {
        self.catalog.table_by_oid(oid)
    }

    /// The foreign keys that refer to rows of a table (`Catalog::references_to_rows_of`), each with the table that it was made of: what
    /// follows it to rows of partitions may move them to others. Asked likewise.
    pub fn references_to_rows_of(
        &self,
        table: &TableDef,
    ) -> impl Iterator<Item = (&Arc<TableDef>, &ForeignKey)> {
        let keys = self.catalog.references_to_rows_of(table).into_iter();
        keys.filter(|(table, key)| !self.catalog.is_of_parent(table, key))
    }

    /// The partitions that a partitioned table has, each asked for by its name. Errors: none but of a bug.
    pub fn partitions_of(&self, table: &TableDef) -> Result<Vec<Arc<TableDef>>> {
        let partitions = self.catalog.partitions_of(table.oid);
        partitions
            .map(|partition| {
                let name = RelationName::in_schema(&partition.schema, &partition.name);
                self.relation(name, Access::Name)?.table().cloned()
            })
            .collect()
    }

    /// The table that a partition is one of, asked for by its name. Errors: none but of a bug.
    pub fn parent_of(&self, partition: &TableDef) -> Result<Option<Arc<TableDef>>> {
        let Some(parent) = self.catalog.parent_of(partition) else {
            return Ok(None);
        };
        let name = RelationName::in_schema(&parent.schema, &parent.name);
        self.relation(name, Access::Name)?.table().cloned().map(Some)
    }

    /// A table, the partitions that it has, and all that stand below these. Errors: likewise.
    pub fn tree_of(&self, table: &Arc<TableDef>) -> Result<Vec<Arc<TableDef>>> {
        let mut tree = vec![Arc::clone(table)];
        for partition in self.partitions_of(table)? {
            tree.extend(self.tree_of(&partition)?);
        }
        Ok(tree)
    }

    /// Those of them that have rows, and those of such as are partitioned themselves. Errors: likewise.
    pub fn leaves_of(&self, table: &TableDef) -> Result<Vec<Arc<TableDef>>> {
        let leaves = self.told_leaves(table)?;
        Ok(leaves.into_iter().map(|(leaf, _)| leaf).collect())
    }

    /// The same as they are read: with what their bounds tell of their rows. Errors: likewise.
    pub fn read_leaves(&self, table: &TableDef) -> Result<Vec<Arc<TableDef>>> {
        let leaves = self.told_leaves(table)?;
        let told = leaves.into_iter().map(|(leaf, told)| {
            Arc::new(TableDef {
                told: told.into(),
                ..TableDef::clone(&leaf)
            })
        });
        Ok(told.collect())
    }

    fn told_leaves(&self, table: &TableDef) -> Result<Vec<(Arc<TableDef>, Vec<ToldBound>)>> {
        let partitions = self.partitions_of(table)?;
        let mut leaves = Vec::new();
        for partition in &partitions {
            let below = match partition.partitioning.is_some() {
                true => self.told_leaves(partition)?,
                false => vec![(Arc::clone(partition), Vec::new())],
            };
            for (leaf, mut told) in below {
                told.extend(partition.told_of(table, &partitions, &leaf));
                leaves.push((leaf, told));
            }
        }
        Ok(leaves)
    }

    /// The rows of the part of its WITH clause at this place, of which whoever reads them has seen to it that it has run.
    pub fn rows_of_part(&self, place: usize) -> Arc<[RecordBatch]> {
        let part = self.common_rows.get(place);
        part.and_then(CommonRows::given).cloned().unwrap_or_default()
    }

    /// Raises a notice, if the client wants to hear of it; it reaches the client before the statement's result.
    pub fn notice(&self, mut notice: Notice) {
        let is_wanted = self.settings.wants(notice.severity);
        if let Some(place) = self.place.as_ref().filter(|_| is_wanted) {
            notice.context = Some(place.context());
        }
        self.notices.raise(notice, is_wanted);
    }

    /// How many notices the session has raised, those included that its client does not want to hear of.
    pub fn notices_raised(&self) -> usize {
        self.notices.raised()
    }

    /// How many notices there were, as [`StatementContext::forget_notices`] counts them.
    pub fn notices_count(&self) -> usize {
        self.notices.count()
    }

    /// Forgets the notices behind so many: they will be raised again.
    pub fn forget_notices(&self, kept: usize) {
        self.notices.forget_behind(kept);
    }

    /// Warns of a modifier that was put right: once, however often the statement is read.
    pub fn warn_of_parameter(&self, message: String) {
        let warning = Notice::warning("22023", message);
        if !self.notices.are_waiting(&warning) {
            self.notice(warning);
        }
    }

    /// What computes the generated columns of a table; `None` when it has none. Errors: those of binding them.
    pub fn generated_columns<'a>(
        &self,
        table: &'a TableDef,
    ) -> Result<Option<&'a Arc<dyn GeneratedColumns>>> {
        table.generated_or(|| (self.compile_generated)(self, table))
    }

    /// The rules that reads of `table` are planned under: settings, the statement's hints, the table's option.
    pub fn plan_rules(&self, table: &TableDef) -> PlanRules {
        let allowed = self.hints.allow_filtering || table.options.full_scan_allowed;
        PlanRules {
            full_scan: if allowed {
                FullScanPolicy::Allow
            } else {
                self.settings.full_scan
            },
            multi_get_keys_max: self.settings.multi_get_keys_max,
            ranges_max: self.settings.ranges_max,
            index_hint: self.hints.index.clone(),
            database: Arc::clone(&self.database),
        }
    }

    /// The functions that users made of a name, for a plan: it is one as long as the name means the same.
    pub fn routines_named(&self, schema: Option<&str>, name: &str, path: &[String]) -> Vec<Arc<RoutineDef>> {
        self.lookups.get_routines(&self.catalog, schema, name, path)
    }

    /// Whether users have made functions, whose statements may run within this one. Asked by who runs a write, each time.
    pub fn runs_routines(&self) -> bool {
        !self.catalog.routines.is_empty()
    }

    /// The schema and name of the type that users made with this oid, or of that of the rows of a relation, for a text: no plan depends on it.
    pub fn name_of_type(&self, oid: u32) -> Option<(&str, &str)> {
        self.catalog.name_of_type(oid)
    }

    /// The domain that a stored name is of, for a text.
    pub fn domain_of_stored_name(&self, name: &str) -> Option<&Arc<TypeDef>> {
        self.catalog.types.domain_of_stored_name(name)
    }

    /// The type of a function's argument by its stored name. Errors: corrupt.
    pub fn routine_type(&self, name: &str) -> Result<RoutineType> {
        self.catalog.types.routine_type(name)
    }

    /// The function with this oid, which a trigger of a table calls whatever the plan of its statement is.
    pub fn routine_by_oid(&self, oid: u32) -> Option<&Arc<RoutineDef>> {
        let made = self.catalog.routines.iter().find(|routine| routine.oid == oid);
        made.or_else(|| get_trigger_function(oid))
    }

    /// The relation with this oid, which is named before its rows are read.
    pub fn relation_by_oid(&self, oid: u32) -> Option<&Relation> {
        self.catalog
            .relations
            .iter()
            .find(|relation| relation.oid() == oid)
    }

    /// The type of the rows of a relation, for a plan. `None`: it is none, or has no rows. Errors: corrupt.
    pub fn row_type(&self, name: RelationName<'_>) -> Result<Option<Arc<RecordType>>> {
        Ok(match self.get_relation(name, Access::Name)? {
            Some(Object::Table(table)) => Some(Arc::new(table.row_type())),
            Some(Object::View(view)) => {
                let types = &self.catalog.types;
                let columns = view.columns.iter();
                let columns = columns.map(|(name, ty)| Ok((name.clone(), types.of_stored_name(ty)?)));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                Some(Arc::new(RecordType::of_relation(
                    view.oid(),
                    &view.name,
                    view.version,
                    columns,
                )))
            }
            _ => None,
        })
    }

    /// The type of the rows of the relation with this oid. Errors: as [`StatementContext::row_type`].
    pub fn row_type_by_oid(&self, oid: u32) -> Result<Option<Arc<RecordType>>> {
        let Some(relation) = self.relation_by_oid(oid) else {
            return Ok(None);
        };
        self.row_type(RelationName::in_schema(relation.schema(), relation.name()))
    }

    /// The schema that an extension was made in, for a plan. `None`: it was not.
    pub fn schema_of_extension(&self, name: &str) -> Option<&str> {
        self.lookups.schema_of_extension(&self.catalog, name)
    }

    /// Whether an extension was made in a schema.
    pub fn has_extension_in(&self, schema: &str) -> bool {
        let mut extensions = self.catalog.extensions.values();
        extensions.any(|made| made.schema == schema)
    }

    /// As [`Catalog::relation`], for a plan: it is one as long as the name means the same definition.
    pub fn relation(&self, name: RelationName<'_>, access: Access) -> Result<Object<'_>> {
        let found = self.get_relation(name, access)?;
        found.ok_or_else(|| self.catalog.undefined(name, access))
    }

    /// The same, `None` when there is none. Errors: 0A000 for rows of another session's temporary table.
    pub fn get_relation(&self, name: RelationName<'_>, access: Access) -> Result<Option<Object<'_>>> {
        let meant = RelationName {
            schema: name.schema.map(|schema| self.settings.schema_meant(schema)),
            ..name
        };
        let found = self.lookups.get_relation(&self.catalog, meant, access)?;
        match found.map(Object::schema) {
            Some(schema) if access.is_of_rows() && self.is_of_another(schema) => {
                Err(Error::InvalidStatement {
                    state: StatementFault::NotImplemented,
                    message: "cannot access temporary tables of other sessions".to_string(),
                    hint: Some("Use a table that is not temporary.".to_string()),
                })
            }
            _ => Ok(found),
        }
    }

    /// The records of the tables and views that the statement has named so far.
    pub(crate) fn named_records(&self) -> BTreeSet<Vec<u8>> {
        self.lookups.records(&self.catalog)
    }

    /// The same of views alone.
    pub(crate) fn named_views(&self) -> Vec<Vec<u8>> {
        self.lookups.view_records(&self.catalog)
    }

    /// What has the name, for who makes no plan of it: nothing is noted.
    pub(crate) fn peek_relation(&self, schema: Option<&str>, name: &str) -> Option<Object<'_>> {
        let name = RelationName {
            schema: schema.map(|schema| self.settings.schema_meant(schema)),
            name,
            search_path: &self.settings.search_path,
        };
        self.catalog.get_relation(name, Access::Name).ok().flatten()
    }

    /// Whether it is the schema of another session's temporary objects.
    pub fn is_of_another(&self, schema: &str) -> bool {
        is_temporary_schema(schema) && *schema != *self.settings.temporary_schema
    }

    /// The type of this name that a user made, for a plan. Errors: 3F000 for a schema that is not there.
    pub(crate) fn get_type(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TypeDef>>> {
        self.get_type_in(schema, name, &self.settings.search_path)
    }

    /// The same along this search path: a view's, or a function's.
    pub(crate) fn get_type_in(
        &self,
        schema: Option<&str>,
        name: &str,
        path: &[String],
    ) -> Result<Option<Arc<TypeDef>>> {
        if let Some(oid) = name.strip_prefix(TYPE_OID_MARK).and_then(|oid| oid.parse().ok()) {
            return Ok(self.catalog.types.by_oid(oid).cloned());
        }
        if let Some(schema) = schema {
            self.catalog.schema(schema)?;
        }
        Ok(self.lookups.get_type(&self.catalog, schema, name, path))
    }

    /// The type with the labels that it has by now.
    pub(crate) fn type_as_it_is(&self, ty: &SqlType) -> SqlType {
        self.catalog.types.as_it_is(ty)
    }

    /// The casts that users made, for a plan.
    pub fn casts(&self) -> &Casts {
        self.lookups.casts(&self.catalog)
    }

    /// Whether there is a schema of this name, for a plan.
    pub fn has_schema(&self, name: &str) -> bool {
        self.lookups.has_schema(&self.catalog, name)
    }

    /// What plans of the statement are worked out from.
    pub fn plan_basis(&self) -> PlanBasis<'_> {
        PlanBasis {
            catalog: &self.catalog,
            settings: self.settings.of_plans(),
        }
    }

    /// The same of plans that are made by now, to be kept with them.
    pub fn kept_basis(&self) -> KeptBasis {
        KeptBasis::new(self.settings.of_plans(), &self.lookups)
    }

    /// What reading and printing values depends on.
    pub fn format_settings(&self) -> FormatSettings {
        FormatSettings {
            now_us: Some(self.transaction_time_us),
            ..self.settings.format()
        }
    }
}

/// Values bound to a described statement, `$1` first.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The values.
    pub values: Arc<[Value]>,
    /// The types that the statement was described with: `Unknown` where nothing decided. As many, or none at all when
    /// there was no Describe.
    pub types: Arc<[SqlType]>,
    /// They stood in the statement's text: what they look like counts, for nobody declared a type. What gave them the types that they
    /// have, which others would have of another catalog.
    pub constants: Option<Arc<ConstantTypes>>,
}

/// What stands before an oid that names a type in an expression of ours.
const TYPE_OID_MARK: char = '@';

impl Parameters {
    /// Those that a client bound to a statement described with these types.
    pub fn bound(values: Vec<Value>, types: &Arc<[SqlType]>) -> Parameters {
        Parameters {
            values: values.into(),
            types: Arc::clone(types),
            constants: None,
        }
    }
}

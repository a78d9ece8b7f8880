//! Prepared statements and portals: what Parse, Bind, PREPARE and DECLARE leave in a session.

use std::sync::Arc;

use super::transaction::Block;
use super::{Portal, PortalState, PreparedStatement, Session};
use crate::catalog::{Catalog, Lookups};
use crate::error::DuplicateKind;
use crate::parse::command::{Command, PreparedType};
use crate::scan::OutputColumn;
use crate::sql::{self, Description, PARAMETER_BYTES_MAX, Statement};
use crate::store::{MemoryAccount, out_of_server_memory};
use crate::system::{Parameters, PreparedRow, StatementContext, now_us};
use crate::txn::{Transaction, TransactionOptions};
use crate::types::{FormatSettings, SqlType, Value, WireFormat};
use crate::{Error, Result};

/// About what a portal takes without its parameters.
const PORTAL_BYTES: usize = 1 << 10;

/// A parameter given as text. The name of an object stays text, also in an array: the statement looks it up. So does the label of an enum: which
/// there are is known when the statement runs. Errors: as `Value::parse`.
pub fn text_parameter(text: &str, ty: &SqlType, format: &FormatSettings) -> Result<Value> {
    match ty.names_objects() || ty.has_label() {
        true => Value::parse(text, &SqlType::Unknown, format),
        false => Value::parse(text, ty, format),
    }
}

impl Session {
    /// Parses and describes a statement and keeps it. An empty name is the unnamed statement, which may be replaced.
    /// `types`: what the client says of the parameters. Errors: 42P05, 42601, the statement's own, 25P02, 53200 when
    /// there are too many.
    pub async fn prepare(&mut self, name: &str, text: &str, types: &[Option<SqlType>]) -> Result<()> {
        self.prepare_from(name, text, types, None).await
    }

    /// Carries out PREPARE. Errors: 42704, those of [`Session::prepare`].
    pub(super) async fn prepare_as_named(
        &mut self,
        name: &str,
        types: &[PreparedType],
        text: &str,
        whole: &Arc<str>,
    ) -> Result<&'static str> {
        let types = self.prepared_types(types).await?;
        self.prepare_from(name, text, &types, Some(whole)).await?;
        Ok("PREPARE")
    }

    /// The types that PREPARE names. Errors: 42704.
    async fn prepared_types(&mut self, types: &[PreparedType]) -> Result<Vec<Option<SqlType>>> {
        let is_named = |ty: &PreparedType| matches!(ty, PreparedType::Named(_));
        let catalog = match types.iter().any(is_named) {
            true => self.catalog_now().await?.1,
            false => Arc::default(),
        };
        let search_path = &self.settings().search_path;
        let named = |ty: &PreparedType| match ty {
            PreparedType::Known(ty) => Ok(Some(ty.clone())),
            PreparedType::Named(name) => match catalog.types.named(name, search_path) {
                Some(ty) => Ok(Some(ty)),
                None => Err(Error::UndefinedObject {
                    kind: "type",
                    name: name.clone(),
                }),
            },
        };
        types.iter().map(named).collect()
    }

    /// A transaction that sees what the session does now, and the catalog as it is there.
    async fn catalog_now(&mut self) -> Result<(Arc<Transaction>, Arc<Catalog>)> {
        let deadline = self.deadline();
        let (instance, interrupt) = (self.instance.clone(), self.interrupt.clone());
        let lock_policy = self.settings().lock_policy();
        let options = TransactionOptions {
            session: self.process_id,
            ..instance.transaction_options()
        };
        let snapshot = async {
            if self.transaction.block == Block::None {
                let txn = instance.begin(options).await?;
                txn.set_lock_policy(lock_policy);
                let catalog = instance.catalog(&txn, None).await?;
                Ok((txn, catalog))
            } else {
                self.block_transaction().await
            }
        };
        interrupt.guard(deadline, snapshot).await
    }

    /// As [`Session::prepare`]. `command`: the text of the PREPARE that asks for it.
    pub(super) async fn prepare_from(
        &mut self,
        name: &str,
        text: &str,
        types: &[Option<SqlType>],
        command: Option<&Arc<str>>,
    ) -> Result<()> {
        if name.is_empty() {
            self.statements.remove(name);
        }
        let mut parsed = self.parse(text).await?;
        if parsed.len() > 1 {
            return Err(Error::Syntax {
                message: "cannot insert multiple commands into a prepared statement".to_string(),
                position: 0,
            });
        }
        let parsed = parsed.pop();
        let own = parsed.as_ref().and_then(|parsed| parsed.parsed.command.as_ref());
        if command.is_some() && matches!(own, Some(Command::Copy(_))) {
            return Err(Error::Syntax {
                message: "syntax error at or near \"copy\"".to_string(),
                position: 0,
            });
        }
        let description = match &parsed {
            Some(parsed) => self.describe(parsed, types).await?,
            None => Description {
                parameters: Vec::new(),
                columns: None,
            },
        };
        if self.statements.get(name).is_some() {
            return Err(Error::Duplicate {
                kind: DuplicateKind::PreparedStatement,
                name: name.to_string(),
            });
        }
        let prepared = Arc::new(PreparedStatement::new(parsed, description));
        let row = PreparedRow {
            text: command.map_or_else(|| text.into(), Arc::clone),
            parameter_types: Arc::clone(&prepared.types),
            prepared_us: now_us(),
            from_sql: command.is_some(),
        };
        let bytes_max = self.settings().prepared_bytes_max;
        self.statements.insert(name, prepared, bytes_max)?;
        self.prepared.add(name, row);
        Ok(())
    }

    /// The prepared statement of this name. Errors: 26000.
    pub fn statement(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        let found = self.statements.get(name).cloned();
        found.ok_or_else(|| Error::UndefinedStatement {
            name: name.to_string(),
        })
    }

    /// Forgets a prepared statement; one that does not exist is no error.
    pub fn close_statement(&mut self, name: &str) {
        self.prepared.remove(name);
        self.statements.remove(name);
    }

    /// Forgets all prepared statements that have a name.
    pub(super) fn forget_statements(&mut self) {
        self.prepared.clear();
        self.statements.clear();
    }

    /// Makes a portal of a prepared statement and parameters, which take so many bytes. Errors: 42P03 for a name in use, 25P02, 53200.
    pub fn bind(
        &mut self,
        name: &str,
        statement: Arc<PreparedStatement>,
        (parameters, parameter_bytes): (Vec<Value>, usize),
        formats: Vec<WireFormat>,
    ) -> Result<()> {
        match &statement.parsed {
            Some(parsed) => self.transaction.require_usable(parsed)?,
            None => self.transaction.require_well()?,
        }
        if !name.is_empty() && self.portals.contains_key(name) {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Cursor,
                name: name.to_string(),
            });
        }
        let _memory = self.account_of_portal(name, parameter_bytes)?;
        let portal = Portal {
            _memory,
            parameters: Parameters::bound(parameters, &statement.types),
            statement,
            formats: formats.into(),
            state: PortalState::Ready,
            declared: None,
            number: self.next_portal_number(),
        };
        self.portals.insert(name.to_string(), portal);
        Ok(())
    }

    /// There may be any number of portals with names, and one of any size without. Errors: 53200.
    fn account_of_portal(&self, name: &str, parameter_bytes: usize) -> Result<Option<MemoryAccount>> {
        if name.is_empty() && parameter_bytes <= PARAMETER_BYTES_MAX {
            return Ok(None);
        }
        let account = self.settings().memory.account();
        match account.take(PORTAL_BYTES + parameter_bytes) {
            true => Ok(Some(account)),
            false => Err(out_of_server_memory()),
        }
    }

    /// The portal of this name. Errors: 34000.
    pub fn portal(&self, name: &str) -> Result<&Portal> {
        self.portals.get(name).ok_or_else(|| self.no_portal(name))
    }

    /// Takes a portal out of the session, to run it. Errors: 34000.
    pub fn take_portal(&mut self, name: &str) -> Result<Portal> {
        self.portals.remove(name).ok_or_else(|| self.no_portal(name))
    }

    fn no_portal(&self, name: &str) -> Error {
        match self.transaction.has_lost(name) {
            true => Error::FailedTransaction,
            false => Error::UndefinedPortal {
                name: name.to_string(),
            },
        }
    }

    /// Puts a portal back that was run, wholly or in part.
    pub fn put_portal(&mut self, name: &str, portal: Portal) {
        self.portals.insert(name.to_string(), portal);
    }

    /// Puts a portal back that has no rows and is done, unless it has ended the transaction, and all portals with it.
    pub fn put_done(&mut self, name: &str, portal: Portal) {
        let command = portal
            .statement
            .parsed
            .as_ref()
            .and_then(|parsed| parsed.parsed.command.as_ref());
        if !matches!(command, Some(Command::Commit { .. } | Command::Rollback { .. })) {
            self.put_portal(name, portal);
        }
    }

    /// Forgets a portal and stops what is left of it; one that does not exist is no error.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
        self.align_cursors();
        self.transaction.lost_portals.retain(|lost| lost != name);
    }

    pub(super) fn next_portal_number(&mut self) -> u64 {
        self.portals_made += 1;
        self.portals_made - 1
    }

    pub(super) async fn describe(
        &mut self,
        parsed: &Arc<Statement>,
        types: &[Option<SqlType>],
    ) -> Result<Description> {
        let described = self.describe_by(parsed, types, Arc::default()).await;
        self.remember_refusal(&parsed.parsed.text, &described);
        described
    }

    /// The same; `lookups` is told what it depends on, whether it succeeds or fails.
    pub(super) async fn describe_by(
        &mut self,
        parsed: &Arc<Statement>,
        types: &[Option<SqlType>],
        lookups: Arc<Lookups>,
    ) -> Result<Description> {
        self.transaction.require_usable(parsed)?;
        if let Some(Command::Declare { options, text, .. }) = &parsed.parsed.command {
            // The cursor's query takes the parameters; its rows come with FETCH.
            let query = self.declared_query(options, text).await?;
            let described = Box::pin(self.describe_by(&query, types, lookups)).await?;
            return Ok(Description {
                columns: None,
                ..described
            });
        }
        if let Some(command) = &parsed.parsed.command {
            let columns = self.command_columns(command);
            return Ok(Description {
                parameters: Vec::new(),
                columns: columns.map_err(|error| parsed.parsed.locate(error))?,
            });
        }
        let deadline = self.deadline();
        let interrupt = self.interrupt.clone();
        loop {
            let (txn, catalog) = self.catalog_now().await?;
            let is_alone = self.transaction.block == Block::None;
            let keeps_snapshot = !is_alone && txn.keeps_snapshot() && !self.transaction.may_move_snapshot();
            let ctx = StatementContext {
                lookups: Arc::clone(&lookups),
                ..self.context(txn, catalog, parsed, Parameters::default())
            };
            let described = Box::pin(sql::describe(&ctx, parsed, types));
            match interrupt.guard(deadline, described).await {
                // A definition that it names was changed meanwhile.
                Err(error) if !keeps_snapshot && matches!(error.bare(), Error::Conflict { .. }) => {
                    self.forget_catalog();
                    lookups.forget();
                }
                described => return described,
            }
        }
    }

    /// What Describe tells of a portal's columns. Errors: 25P02 for one that has some in a failed block.
    pub fn described_portal_columns<'a>(
        &'a self,
        portal: &'a Portal,
    ) -> Result<Option<&'a Arc<[OutputColumn]>>> {
        self.told(self.portal_columns(portal))
    }

    /// The same of a statement.
    pub fn described_columns<'a>(
        &'a self,
        statement: &'a PreparedStatement,
    ) -> Result<Option<&'a Arc<[OutputColumn]>>> {
        self.told(self.statement_columns(statement))
    }

    fn told<T>(&self, columns: Option<T>) -> Result<Option<T>> {
        match columns {
            Some(_) => self.transaction.require_well().map(|()| columns),
            None => Ok(None),
        }
    }

    /// The columns of a portal's result; `None` when it has none.
    pub fn portal_columns<'a>(&'a self, portal: &'a Portal) -> Option<&'a Arc<[OutputColumn]>> {
        match &portal.state {
            PortalState::Streaming(rows) => Some(&rows.columns),
            _ => self.statement_columns(&portal.statement),
        }
    }

    /// The columns of a statement's result: a FETCH has those of its cursor as it is now, whatever was there when it was prepared.
    pub fn statement_columns<'a>(
        &'a self,
        statement: &'a PreparedStatement,
    ) -> Option<&'a Arc<[OutputColumn]>> {
        let command = statement
            .parsed
            .as_ref()
            .and_then(|parsed| parsed.parsed.command.as_ref());
        let fetched = match command {
            Some(Command::Fetch {
                name,
                only_move: false,
                ..
            }) => self.portals.get(name),
            _ => None,
        };
        match fetched.map(|cursor| &cursor.state) {
            Some(PortalState::Streaming(rows)) => Some(&rows.columns),
            _ => statement.description.columns.as_ref(),
        }
    }
}

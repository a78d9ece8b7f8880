//! SQL's cursors: DECLARE, FETCH, MOVE, CLOSE, and what becomes of them when a transaction ends.

use std::sync::Arc;

use super::rows::{Declared, RowStream};
use super::statement_run::{CursorSetup, Run};
use super::transaction::Block;
use super::{Portal, PortalState, PreparedStatement, Reply, Session};
use crate::error::{CursorFault, DuplicateKind};
use crate::parse::command::{Command, CursorOptions, Movement};
use crate::sql::{Description, Statement, check_cursor_query, not_a_query, shared_cursor};
use crate::system::{CursorPosition, CursorRow, Parameters, now_us};
use crate::types::WireFormat;
use crate::{Error, Result};

impl Session {
    /// The query of DECLARE CURSOR. Errors: 42601, 0A000, 42P11.
    pub(super) async fn declared_query(
        &mut self,
        options: &CursorOptions,
        text: &str,
    ) -> Result<Arc<Statement>> {
        let parsed = self.parse(text).await?.pop().ok_or_else(not_a_query)?;
        check_cursor_query(&parsed, options)?;
        Ok(parsed)
    }

    /// DECLARE, whose text is `whole`.
    pub(super) async fn declare(
        &mut self,
        command: &Command,
        whole: &Arc<str>,
        parameters: Parameters,
    ) -> Result<&'static str> {
        let Command::Declare { name, options, text } = command else {
            return Err(Error::internal("not a DECLARE"));
        };
        if !options.hold && self.transaction.has_no_block() {
            self.require_block("DECLARE CURSOR")?;
        }
        if self.portals.contains_key(name) {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Cursor,
                name: name.to_string(),
            });
        }
        let parsed = self.declared_query(options, text).await?;
        if let Some(name) = parsed.parsed.name_of_write() {
            let in_block = self.transaction.block != Block::None;
            self.settings().require_writable(in_block, &name)?;
        }
        let run = Run {
            statement: &parsed,
            parameters,
            described: None,
            deadline: self.deadline(),
            cursor: Some(CursorSetup {
                scroll: options.scroll,
                settings: Arc::clone(self.settings()),
            }),
            position: None,
        };
        let reply = match self.transaction.block {
            Block::None => Box::pin(self.run_alone(&run)).await?,
            _ => self.run_in_block(&run).await?,
        };
        let Reply::Rows(mut rows) = reply else {
            return Err(not_a_query());
        };
        rows.is_binary = options.binary;
        let txn = rows.txn.take();
        let shared = rows.cursor().cloned();
        let description = Description {
            parameters: Vec::new(),
            columns: Some(rows.columns.clone()),
        };
        let row = CursorRow {
            name: name.to_string(),
            statement: Arc::clone(whole),
            is_holdable: options.hold,
            is_binary: options.binary,
            is_scrollable: rows.is_scrollable(),
            created_us: now_us(),
        };
        let row = Arc::new(row);
        if let Some(cursor) = shared {
            self.shared.open_cursors.insert(Arc::clone(&row), cursor, true);
        }
        let format = if options.binary {
            WireFormat::Binary
        } else {
            WireFormat::Text
        };
        let portal = Portal {
            statement: Arc::new(PreparedStatement::new(Some(parsed), description)),
            parameters: Parameters::default(),
            formats: vec![format; rows.columns.len()].into(),
            state: PortalState::Streaming(rows),
            _memory: None,
            declared: Some(Declared { row, is_held: false }),
            number: self.next_portal_number(),
        };
        self.portals.insert(name.to_string(), portal);
        if self.transaction.block == Block::None {
            let held = self.hold_cursors().await;
            self.end_portals(held.is_ok());
            held?;
            self.commit_alone(txn).await?;
        }
        Ok("DECLARE CURSOR")
    }

    /// The cursor of this name, which may be a portal of the protocol. Errors: 34000.
    pub(super) fn cursor(&self, name: &str) -> Result<&Portal> {
        self.portals.get(name).ok_or_else(|| undefined_cursor(name))
    }

    /// Where the cursor stands that a statement names in WHERE CURRENT OF. Errors: 34000, 24000.
    pub(super) fn position_of(&self, statement: &Statement) -> Result<Option<Arc<CursorPosition>>> {
        let Some(name) = &statement.parsed.current_of else {
            return Ok(None);
        };
        if statement.parsed.kind.write().is_none() && !self.portals.contains_key(name) {
            // EXPLAIN runs nothing.
            return Ok(None);
        }
        let portal = self.cursor(name)?;
        let fault = |fault| Error::CursorState {
            cursor: name.clone(),
            fault,
        };
        if self.portal_columns(portal).is_none() {
            return Err(fault(CursorFault::NotSelect));
        }
        let cursor = match &portal.state {
            _ if portal.is_held() => return Err(fault(CursorFault::Held)),
            PortalState::Done { .. } => return Err(fault(CursorFault::Held)),
            PortalState::Streaming(rows) => rows.cursor(),
            PortalState::Ready => None,
        };
        let position = match cursor {
            Some(cursor) => match cursor.try_lock() {
                Ok(cursor) => cursor.position(name)?,
                Err(_) => return Err(Error::internal("a cursor that is at work")),
            },
            // Nobody knows of what rows those of a portal of the protocol are made.
            None => CursorPosition::unknown(name),
        };
        Ok(Some(Arc::new(position)))
    }

    /// The rows of a portal of the protocol that no Execute has asked for any. Errors: 55000 for one that has none; its statement's.
    async fn begin_portal(
        &mut self,
        name: &str,
        prepared: &PreparedStatement,
        parameters: Parameters,
    ) -> Result<RowStream> {
        let (Some(statement), Some(columns)) = (&prepared.parsed, &prepared.description.columns) else {
            return Err(cannot_be_run(name));
        };
        let ran = self.run(statement, parameters, Some(columns));
        match Box::pin(ran).await? {
            Reply::Rows(rows) => Ok(rows),
            _ => Err(cannot_be_run(name)),
        }
    }

    /// FETCH hands the cursor's own rows out, to be put back by `complete`; MOVE passes over them here.
    pub(super) async fn fetch(&mut self, name: &str, movement: Movement, only_move: bool) -> Result<Reply> {
        let deadline = self.deadline();
        let interrupt = self.interrupt.clone();
        let settings = Arc::clone(self.settings());
        self.renew_lock_policy();
        let mut portal = self.portals.remove(name).ok_or_else(|| undefined_cursor(name))?;
        // What fails leaves it so: it cannot be run again.
        let state = std::mem::replace(&mut portal.state, PortalState::Done { tag: None });
        let rows = match state {
            PortalState::Streaming(rows) => Ok(rows),
            PortalState::Ready => {
                let prepared = Arc::clone(&portal.statement);
                self.begin_portal(name, &prepared, portal.parameters.clone())
                    .await
            }
            PortalState::Done { .. } => Err(cannot_be_run(name)),
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                self.portals.insert(name.to_string(), portal);
                return Err(error);
            }
        };
        // A portal of the protocol becomes a cursor that goes forward.
        let mut rows = rows.into_cursor(&settings);
        let is_row_told = matches!(movement, Movement::Forward(0) | Movement::Relative(0)) && only_move;
        let Some(cursor) = rows.cursor().cloned() else {
            return Err(Error::internal("a cursor's rows are no cursor"));
        };
        let mut cursor = cursor.lock_owned().await;
        let left = match is_row_told {
            true => Ok(Some(0)),
            false => interrupt.guard(deadline, cursor.begin(movement, only_move)).await,
        };
        let stands = u64::from(is_row_told && cursor.is_on_row());
        drop(cursor);
        let left = match left {
            Ok(left) => left,
            Err(error) => {
                self.portals.insert(name.to_string(), portal);
                return Err(error);
            }
        };
        rows.fetch(left);
        rows.deadline = deadline;
        if !only_move {
            rows.cursor = Some(Box::new(portal));
            rows.cursor_name = name.to_string();
            return Ok(Reply::Rows(rows));
        }
        let mut moved = stands;
        while let Some(passed) = rows.next(&interrupt, usize::MAX).await? {
            moved += passed.num_rows() as u64;
        }
        portal.state = PortalState::Streaming(rows);
        self.portals.insert(name.to_string(), portal);
        Ok(Reply::Done {
            tag: format!("MOVE {moved}"),
        })
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            Some(name) => {
                self.portals.remove(name).ok_or_else(|| undefined_cursor(name))?;
                self.align_cursors();
                Ok("CLOSE CURSOR")
            }
            None => {
                self.portals.clear();
                self.align_cursors();
                Ok("CLOSE CURSOR ALL")
            }
        }
    }

    /// What the catalog tells of the session's cursors.
    pub(super) fn cursor_rows(&self) -> Arc<[Arc<CursorRow>]> {
        let told = self.portals.values().filter_map(|portal| {
            let declared = portal.declared.as_ref()?;
            let is_scrollable = match &portal.state {
                PortalState::Streaming(rows) => rows.is_scrollable(),
                PortalState::Ready | PortalState::Done { .. } => declared.row.is_scrollable,
            };
            if is_scrollable == declared.row.is_scrollable {
                return Some(Arc::clone(&declared.row));
            }
            Some(Arc::new(CursorRow {
                is_scrollable,
                ..CursorRow::clone(&declared.row)
            }))
        });
        match self.portals.is_empty() {
            true => Arc::default(),
            false => told.collect(),
        }
    }

    /// Reads what the cursors WITH HOLD of this transaction still have, before it commits. Errors: the queries', 53100, 53200.
    pub(super) async fn hold_cursors(&mut self) -> Result<()> {
        if self.portals.values().all(|portal| portal.declared.is_none()) {
            return Ok(());
        }
        let deadline = self.deadline();
        for portal in self.portals.values_mut() {
            let is_wanted = |declared: &Declared| declared.row.is_holdable && !declared.is_held;
            if portal.declared.as_ref().is_some_and(is_wanted)
                && let PortalState::Streaming(rows) = &mut portal.state
                && let Some(cursor) = rows.cursor()
            {
                let holding = async { cursor.lock().await.hold().await };
                self.interrupt.guard(deadline, holding).await?;
            }
        }
        Ok(())
    }

    /// A transaction is over: of its portals the cursors WITH HOLD stay, if it was committed.
    pub(super) fn end_portals(&mut self, committed: bool) {
        self.portals.retain(|_, portal| match &mut portal.declared {
            Some(declared) => {
                declared.is_held |= committed && declared.row.is_holdable;
                declared.is_held
            }
            None => false,
        });
        self.align_cursors();
    }

    /// Closes the cursors that bodies may use and that are the session's no more.
    pub(super) fn align_cursors(&self) {
        let is_own = |name: &String| {
            self.portals
                .get(name)
                .is_some_and(|portal| portal.declared.is_some())
        };
        let cursors = &self.shared.open_cursors;
        cursors.retain(|cursor| cursor.is_pinned || (cursor.is_session && is_own(&cursor.row.name)));
    }

    /// The cursors that bodies have opened are the session's, and those that they have closed are not.
    pub(super) fn adopt_cursors(&mut self) {
        let shared = Arc::clone(&self.shared);
        let cursors = &shared.open_cursors;
        let is_open = |name: &String, portal: &Portal| portal.declared.is_none() || cursors.contains(name);
        self.portals.retain(|name, portal| is_open(name, portal));
        if self.transaction.block == Block::None {
            return self.align_cursors();
        }
        for opened in cursors.take_new() {
            let Some(cursor) = shared_cursor(opened.rows) else {
                continue;
            };
            let columns = match cursor.try_lock() {
                Ok(cursor) => Arc::clone(cursor.columns()),
                Err(_) => continue,
            };
            let description = Description {
                parameters: Vec::new(),
                columns: Some(Arc::clone(&columns)),
            };
            let portal = Portal {
                statement: Arc::new(PreparedStatement::new(None, description)),
                parameters: Parameters::default(),
                formats: vec![WireFormat::Text; columns.len()].into(),
                state: PortalState::Streaming(RowStream::of_cursor(columns, cursor)),
                _memory: None,
                declared: Some(Declared {
                    row: Arc::clone(&opened.row),
                    is_held: false,
                }),
                number: self.next_portal_number(),
            };
            self.portals.insert(opened.row.name.clone(), portal);
        }
    }
}

fn cannot_be_run(name: &str) -> Error {
    Error::NotInState {
        message: format!("portal \"{name}\" cannot be run"),
    }
}

fn undefined_cursor(name: &str) -> Error {
    Error::UndefinedCursor {
        name: name.to_string(),
    }
}

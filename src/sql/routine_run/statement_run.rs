//! One statement of a function run: its rows as values. Asked by bodies in SQL and in PL/pgSQL.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast;

use crate::error::Raised;
use crate::functions::value_array::array_of;
use crate::parse::command::{Command, Modes};
use crate::parse::definition::UpkeepKind;
use crate::parse::kind::Write;
use crate::parse::{ParsedStatement, StatementKind};
use crate::query::CursorRows;
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::sql::{OpenedCursor, Outcome, Statement, execute_here, held_back, open_cursor, raise_warnings};
use crate::system::{SettingChange, Settings, StatementContext, TransactionRequest};
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};

/// What a statement gave.
pub(in crate::sql) struct Ran {
    /// Its columns; none for one without rows.
    pub(in crate::sql) columns: Vec<OutputColumn>,
    /// Its rows, as they come.
    pub(in crate::sql) rows: RanRows,
    /// How many rows a write wrote; `None`: it is no write of rows.
    pub(in crate::sql) written: Option<u64>,
}

/// Rows as they come.
pub(in crate::sql) struct RanRows {
    stream: Option<RowsStream>,
    waiting: std::vec::IntoIter<RecordBatch>,
    batch: Option<(RecordBatch, usize)>,
    types: Vec<SqlType>,
}

impl RanRows {
    /// All of them, of which none was asked for.
    fn into_stream(self) -> RowsStream {
        let waiting = futures::stream::iter(self.waiting.map(|batch| Ok(Rows::Columns(batch))));
        match self.stream {
            Some(stream) => waiting.chain(stream).boxed(),
            None => waiting.boxed(),
        }
    }

    /// Reads what there still is, so that no transaction is needed for it. Errors: the query's; 53100, 53200.
    pub(in crate::sql) async fn hold(&mut self, ctx: &StatementContext) -> Result<()> {
        if let Some(stream) = self.stream.take() {
            self.stream = Some(held_back(ctx, stream).await?);
        }
        Ok(())
    }

    /// The next row.
    pub(in crate::sql) async fn next(&mut self) -> Result<Option<Vec<Value>>> {
        loop {
            if let Some((batch, at)) = &mut self.batch
                && *at < batch.num_rows()
            {
                let columns = batch.columns().iter().zip(&self.types);
                let row = columns.map(|(array, ty)| value_at(array, *at, ty));
                let row = row.collect::<Result<Vec<Value>>>()?;
                *at += 1;
                return Ok(Some(row));
            }
            let next = match (self.waiting.next(), &mut self.stream) {
                (Some(batch), _) => Some(batch),
                (None, Some(stream)) => match stream.try_next().await? {
                    Some(rows) => Some(rows.into_batch()?),
                    None => None,
                },
                (None, None) => None,
            };
            match next {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

/// Runs a statement in the transaction of the one around it. Errors: the statement's; 0A000 for what only a session can do; 25006.
pub(in crate::sql) async fn run_statement(
    ctx: &mut StatementContext,
    statement: &Arc<Statement>,
) -> Result<Ran> {
    let parsed = &statement.parsed;
    // A function that the statement before has called may have changed them.
    ctx.see_definitions().await?;
    if let Some(changed) = ctx.settings.with_requested() {
        ctx.settings = Arc::new(changed);
    }
    if let Some(Command::Copy(_)) = &parsed.command {
        return Err(Error::unsupported(
            "COPY in a function",
            Some("Use INSERT ... SELECT."),
        ));
    }
    require_reading(ctx, parsed)?;
    if let Some(Command::SetTransaction { modes }) = &parsed.command {
        set_transaction(ctx, modes).await?;
        return Ok(Ran::nothing());
    }
    if let Some(command) = parsed.command.as_ref().filter(|command| !command.is_of_sql()) {
        return run_session_command(ctx, command);
    }
    let write = parsed.name_of_write();
    if let Some(name) = &write {
        ctx.settings.require_writable(true, name)?;
    }
    let run = run_context(ctx, parsed);
    raise_warnings(&run, statement);
    let outcome = Box::pin(execute_here(&run, statement)).await?;
    if write.is_some() {
        ctx.txn.settle().await?;
    }
    let changes_catalog = parsed.kind.write().is_some_and(Write::changes_catalog);
    if changes_catalog || parsed.command.is_some() {
        ctx.see_definitions().await?;
    }
    match outcome {
        Outcome::Rows { columns, stream } => Ok(Ran {
            rows: RanRows {
                stream: Some(stream),
                waiting: Vec::new().into_iter(),
                batch: None,
                types: columns.iter().map(|column| column.ty.clone()).collect(),
            },
            columns: columns.to_vec(),
            written: None,
        }),
        Outcome::Written(written) => Ok(Ran {
            rows: RanRows {
                stream: None,
                types: written.columns.iter().map(|column| column.ty.clone()).collect(),
                waiting: written.batches.into_iter(),
                batch: None,
            },
            columns: written.columns,
            written: Some(written.rows_written),
        }),
        Outcome::Done { .. } => Ok(Ran::nothing()),
        Outcome::CopyOut { .. } | Outcome::CopyIn(_) => Err(Error::unsupported(
            "COPY in a function",
            Some("Use INSERT ... SELECT."),
        )),
    }
}

/// Errors: 0A000 for a statement that does more than read in a function that is not VOLATILE.
pub(in crate::sql) fn require_reading(ctx: &StatementContext, parsed: &ParsedStatement) -> Result<()> {
    let refused = parsed.name_unless_query().filter(|_| ctx.in_stable_function);
    match refused {
        None => Ok(()),
        Some(name) => Err(Raised {
            hint: Some("Declare the function VOLATILE.".to_string()),
            ..Raised::new(
                "0A000",
                format!("{name} is not allowed in a non-volatile function"),
            )
        }
        .into()),
    }
}

/// What a statement of a function runs in.
fn run_context(ctx: &StatementContext, parsed: &ParsedStatement) -> StatementContext {
    let reads = parsed.command.is_none() && parsed.kind == StatementKind::Read;
    StatementContext {
        text: Arc::clone(&parsed.text),
        hints: parsed.hints.clone(),
        lookups: Arc::default(),
        txn: match reads {
            true => Arc::new(ctx.txn.as_it_was()),
            false => Arc::clone(&ctx.txn),
        },
        ..ctx.clone()
    }
}

/// Opens a cursor over a statement's rows. Errors: 42P11 for one that gives none, or writes; the query's.
pub(in crate::sql) async fn open_statement(
    ctx: &mut StatementContext,
    statement: &Arc<Statement>,
) -> Result<OpenedCursor> {
    let parsed = &statement.parsed;
    let is_query = matches!(parsed.ast, ast::Statement::Query(_)) && parsed.command.is_none();
    if is_query && parsed.kind.write().is_none() {
        require_reading(ctx, parsed)?;
        ctx.see_definitions().await?;
        let run = run_context(ctx, parsed);
        return Box::pin(open_cursor(&run, statement)).await;
    }
    let ran = run_statement(ctx, statement).await?;
    if ran.columns.is_empty() {
        let word = parsed.text.split_whitespace().next().unwrap_or_default();
        let message = format!("cannot open {} query as cursor", word.to_uppercase());
        return Err(Raised::new("42P11", message).into());
    }
    Ok(OpenedCursor {
        columns: ran.columns.into(),
        keys: Arc::default(),
        locks_rows: false,
        in_use: None,
        rows: CursorRows::Stream(ran.rows.into_stream()),
    })
}

impl Ran {
    /// What a statement gives that has no rows.
    pub(in crate::sql) fn nothing() -> Ran {
        Ran {
            columns: Vec::new(),
            rows: RanRows {
                stream: None,
                waiting: Vec::new().into_iter(),
                batch: None,
                types: Vec::new(),
            },
            written: None,
        }
    }
}

/// SET and RESET, of those that only a session runs.
fn run_session_command(ctx: &mut StatementContext, command: &Command) -> Result<Ran> {
    let change = match command {
        Command::Set { name, values, local } => SettingChange {
            name: name.clone(),
            values: values.clone(),
            local: *local,
        },
        Command::Reset { name: Some(name) } => SettingChange::of_text(name, None, false),
        Command::Satisfied { .. } => return Ok(Ran::nothing()),
        Command::Show { name: Some(name) } => return shown(ctx, name),
        Command::Listen { channel } => {
            ctx.session.touch();
            return ctx.session.channels.listen(channel).map(|()| Ran::nothing());
        }
        Command::Unlisten { channel } => {
            ctx.session.touch();
            match channel {
                Some(channel) => ctx.session.channels.unlisten(channel),
                None => ctx.session.channels.unlisten_all(),
            }
            return Ok(Ran::nothing());
        }
        Command::Notify { channel, payload } => {
            ctx.session.touch();
            let bytes_max = ctx.settings.notify_queue_bytes_max;
            let notified = ctx.session.channels.notify(channel, payload, bytes_max);
            return notified.map(|()| Ran::nothing());
        }
        other => {
            return Err(Error::unsupported(
                format!("{} in a function", command_name(other)),
                Some("Run it as a statement of its own."),
            ));
        }
    };
    let mut settings = Settings::clone(&ctx.settings);
    change.apply(&mut settings)?;
    ctx.settings.request_change(change)?;
    ctx.settings = Arc::new(settings);
    Ok(Ran::nothing())
}

/// SHOW of one setting.
fn shown(ctx: &StatementContext, name: &str) -> Result<Ran> {
    let column = OutputColumn::declared(name, SqlType::Text);
    let value = array_of(&[Value::Text(ctx.settings.show(name)?)], &SqlType::Text)?;
    let schema = Schema::new(vec![column.ty.field(&column.name, true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![value]).map_err(Error::arrow)?;
    Ok(Ran {
        columns: vec![column],
        rows: RanRows {
            stream: None,
            waiting: vec![batch].into_iter(),
            batch: None,
            types: vec![SqlType::Text],
        },
        written: None,
    })
}

/// SET TRANSACTION. Errors: 25001 for a mode that differs, where the transaction has been in use.
async fn set_transaction(ctx: &mut StatementContext, modes: &Modes) -> Result<()> {
    const NAMES: [&str; 3] = [
        "transaction_isolation",
        "transaction_read_only",
        "transaction_deferrable",
    ];
    let mut settings = Settings::clone(&ctx.settings);
    if let Some(control) = &ctx.transaction_control {
        let set = control
            .ask(TransactionRequest::SetModes(modes.clone()))
            .await?
            .settings;
        for name in NAMES {
            if let Some(value) = set.get(name) {
                settings.set_internal(name, &value)?;
            }
        }
        ctx.settings = Arc::new(settings);
        return Ok(());
    }
    let is_on = |name: &str| settings.get(name).is_some_and(|value| value == "on");
    let refused = |message: &str| {
        Err(Error::TransactionState {
            state: "25001",
            message: message.to_string(),
        })
    };
    if modes
        .isolation
        .is_some_and(|isolation| isolation != settings.isolation.name())
    {
        return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
    }
    if modes.read_only == Some(false) && is_on("transaction_read_only") {
        return refused("transaction read-write mode must be set before any query");
    }
    if modes
        .deferrable
        .is_some_and(|deferrable| deferrable != is_on("transaction_deferrable"))
    {
        return refused("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
    }
    if modes.read_only == Some(true) {
        settings.set_internal("transaction_read_only", "on")?;
        let change = SettingChange::of_text("transaction_read_only", Some("on"), true);
        ctx.settings.request_change(change)?;
        ctx.settings = Arc::new(settings);
    }
    Ok(())
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Show { .. } => "SHOW",
        Command::Prepare { .. } | Command::Execute { .. } | Command::Deallocate { .. } => "PREPARE",
        Command::Declare { .. } | Command::Fetch { .. } | Command::Close { .. } => "a cursor",
        Command::Keep(upkeep) if matches!(upkeep.kind, UpkeepKind::Vacuum { .. }) => "VACUUM",
        _ => "a statement of the session",
    }
}

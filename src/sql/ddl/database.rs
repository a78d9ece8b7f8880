//! CREATE, ALTER, DROP and COMMENT ON DATABASE. A database is a record that all databases see, and a number that stands in the keys and
//! records of what is in it: making one writes one record and, with a template, a copy of what is in that (`copy_database`); dropping one
//! takes it away, and what was in it is removed in the background (`drop_database`). Both are transactions of their own, as in PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use sqlparser::ast::Ident;

use super::copy_database::DatabaseCopy;
use super::{notice, role, storage};
use crate::catalog::{Catalog, CatalogWriter, DatabaseDef, FIRST_DATABASE, FIRST_DATABASE_NAME};
use crate::codec::keyspace::DatabaseId;
use crate::error::{DuplicateKind, Limit, StatementFault};
use crate::parse::database::{DatabaseChange, DatabaseDefinition, DatabaseOption};
use crate::parse::definition::RoleName;
use crate::sql::alone::require_alone;
use crate::system::interrupt::Cause;
use crate::system::{ClosedDatabase, Closing, Notice, StatementContext};
use crate::txn::DatabaseStore;
use crate::types::CharacterEncoding;
use crate::{Error, Result};

/// What a transaction of a database's record may write.
const RECORD_BYTES_MAX: usize = 1 << 16;
/// How often one that loses a race is tried again.
const TRIES: usize = 100;
/// How long sessions that are ended may take.
const END_TIME_MAX: Duration = Duration::from_secs(5);
/// How often it is looked whether they are gone.
const END_PAUSE: Duration = Duration::from_millis(5);
/// The templates that every PostgreSQL has, which are empty.
const EMPTY_TEMPLATES: [&str; 2] = ["template0", "template1"];

/// Runs one of them. Errors: 25001 in a transaction block, 3D000, 42P04, 55006, 42704, 22023, 0A000, 54000.
pub(super) async fn execute(ctx: &StatementContext, definition: &DatabaseDefinition) -> Result<()> {
    match definition {
        DatabaseDefinition::Create {
            name,
            if_not_exists,
            options,
        } => create(ctx, name, *if_not_exists, options).await,
        DatabaseDefinition::Drop {
            name,
            if_exists,
            force,
        } => drop_one(ctx, name, *if_exists, *force).await,
        DatabaseDefinition::Alter { name, change } => alter(ctx, name, change).await,
        DatabaseDefinition::Comment { name, comment } => match find(ctx, name) {
            // As in PostgreSQL, so that a dump of another name is read on.
            Err(error) => {
                ctx.notice(Notice::warning("3D000", error.to_string()));
                Ok(())
            }
            Ok(Some(database)) => put(
                ctx,
                DatabaseDef {
                    comment: comment.clone(),
                    ..DatabaseDef::clone(database)
                },
            ),
            Ok(None) => {
                storage::tell(ctx, vec!["COMMENT ON DATABASE of the first database".to_string()]);
                Ok(())
            }
        },
    }
}

/// What options ask of a database that is made or changed.
struct Wanted {
    allow_connections: bool,
    connection_limit: i32,
    is_template: bool,
}

impl Wanted {
    fn of(database: &DatabaseDef) -> Wanted {
        Wanted {
            allow_connections: database.allow_connections,
            connection_limit: database.connection_limit,
            is_template: database.is_template,
        }
    }

    fn of_new() -> Wanted {
        Wanted {
            allow_connections: true,
            connection_limit: -1,
            is_template: false,
        }
    }

    /// Takes an option that may also be altered; whether it is one. Errors: 22023 and 42601 for a wrong value.
    fn take(&mut self, option: &DatabaseOption) -> Result<bool> {
        match option.name.as_str() {
            "allow_connections" => self.allow_connections = boolean(option, true)?,
            "is_template" => self.is_template = boolean(option, false)?,
            "connection_limit" => self.connection_limit = connection_limit(option)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

async fn create(
    ctx: &StatementContext,
    name: &str,
    if_not_exists: bool,
    options: &[DatabaseOption],
) -> Result<()> {
    require_alone(ctx, "CREATE DATABASE")?;
    let wanted = new_of(ctx, options)?;
    let template = template_of(ctx, options)?;
    // From now on nobody comes into it until the copy is there.
    let own = ctx.session.process_id;
    let _closed = match template {
        Some((oid, name)) => Some(close(ctx, oid, name, Closing::Copied(own)).await?),
        None => None,
    };
    let template = template.map(|(oid, _)| oid);
    let mut lost = Ok(());
    for _ in 0..TRIES {
        let oid = ctx.sequences.object_ids().take_oid().await?;
        let new = DatabaseStore {
            database: oid,
            ..ctx.txn.database_store()
        };
        let txn = new.begin(ctx.settings.transaction_bytes_max).await?;
        let catalog = Catalog::load(&txn, None).await?;
        if is_taken(ctx, &catalog, name) {
            if !if_not_exists {
                return Err(Error::Duplicate {
                    kind: DuplicateKind::Database,
                    name: name.to_string(),
                });
            }
            notice(
                ctx,
                "42P04",
                format!("database \"{name}\" already exists, skipping"),
                None,
            );
            return Ok(());
        }
        require_room(ctx, &catalog)?;
        let writer = CatalogWriter::begin(&txn, &catalog)?;
        if let Some(template) = template {
            DatabaseCopy::of(ctx, template).await?.write(ctx, &writer).await?;
        }
        writer.put_database(&DatabaseDef {
            oid,
            name: name.to_string(),
            allow_connections: wanted.allow_connections,
            connection_limit: wanted.connection_limit,
            is_template: wanted.is_template,
            comment: None,
        })?;
        txn.note_statement(false);
        match ctx.jobs.commit(Arc::new(txn), false, None).await {
            Err(error @ Error::Conflict { .. }) => lost = Err(error),
            committed => return committed,
        }
    }
    lost
}

/// Whether a name is that of a database, or one under which sessions are in the first.
fn is_taken(ctx: &StatementContext, catalog: &Catalog, name: &str) -> bool {
    let mut in_first = ctx.server.live_sessions().of_database(FIRST_DATABASE).into_iter();
    catalog.databases.contains_key(name)
        || name == FIRST_DATABASE_NAME
        || EMPTY_TEMPLATES.contains(&name)
        || in_first.any(|session| *session.database == *name)
}

/// Errors: 54000 where there are as many databases as there may be.
fn require_room(ctx: &StatementContext, catalog: &Catalog) -> Result<()> {
    let databases_max = ctx.settings.databases_max;
    match catalog.databases.len() < databases_max {
        true => Ok(()),
        false => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: format!("there are {databases_max} databases already"),
            hint: "Drop some, or raise keyspan.databases_max.".to_string(),
        }),
    }
}

/// What the options of CREATE DATABASE say. Errors: as of [`execute`].
fn new_of(ctx: &StatementContext, options: &[DatabaseOption]) -> Result<Wanted> {
    let mut wanted = Wanted::of_new();
    let mut without_effect = Vec::new();
    for option in options {
        let value = option.value.as_deref();
        match option.name.as_str() {
            _ if wanted.take(option)? => {}
            "owner" => check_owner(ctx, value)?,
            "encoding" => check_encoding(option)?,
            "locale" | "lc_collate" | "lc_ctype" | "icu_locale" | "icu_rules" | "locale_provider"
            | "collation_version" | "builtin_locale" => {
                if value.is_some_and(|value| !sorts_by_bytes(value)) {
                    without_effect.push(option.name.to_uppercase());
                }
            }
            "tablespace" => {
                if value.is_some_and(|value| value != "pg_default") {
                    without_effect.push("TABLESPACE".to_string());
                }
            }
            // Who copies reads it (`template_of`).
            "strategy" | "oid" | "template" => {}
            _ => return Err(unknown_option(option)),
        }
    }
    storage::tell(ctx, without_effect);
    Ok(wanted)
}

/// Whether a locale is the order of bytes, or says nothing of an order.
fn sorts_by_bytes(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    ["c", "posix", "c.utf-8", "c.utf8", "libc", "ucs_basic"].contains(&locale.as_str())
}

fn check_owner(ctx: &StatementContext, owner: Option<&str>) -> Result<()> {
    match owner {
        None => Ok(()),
        Some(role) => role::check(ctx, &Ident::with_quote('"', role)),
    }
}

/// The database that is copied, unless it is an empty one. Errors: 3D000.
fn template_of<'o>(
    ctx: &StatementContext,
    options: &'o [DatabaseOption],
) -> Result<Option<(DatabaseId, &'o str)>> {
    let mut options = options.iter();
    let name = options.find(|option| option.name == "template");
    let name = name.and_then(|option| option.value.as_deref());
    let Some(name) = name.filter(|name| !EMPTY_TEMPLATES.contains(name)) else {
        return Ok(None);
    };
    let database = find(ctx, name).map_err(|_| Error::InvalidStatement {
        state: StatementFault::UndefinedDatabase,
        message: format!("template database \"{name}\" does not exist"),
        hint: Some("Leave TEMPLATE out for an empty database.".to_string()),
    })?;
    let oid = database.map_or(FIRST_DATABASE, |database| database.oid);
    Ok(Some((oid, name)))
}

/// Errors: 42704 for none, 22023 for another than UTF-8.
fn check_encoding(option: &DatabaseOption) -> Result<()> {
    let Some(name) = &option.value else { return Ok(()) };
    let number = name.parse().ok().and_then(CharacterEncoding::numbered);
    match number.or_else(|| CharacterEncoding::named(name)) {
        Some(CharacterEncoding::UTF8) => Ok(()),
        Some(_) => Err(Error::InvalidParameter {
            message: format!("encoding \"{name}\" is not available"),
            hint: Some("Texts are UTF-8; client_encoding says how a client sends them.".to_string()),
        }),
        None => Err(Error::InvalidStatement {
            state: StatementFault::UndefinedObject,
            message: format!("{name} is not a valid encoding name"),
            hint: Some("Texts are UTF-8: leave ENCODING out.".to_string()),
        }),
    }
}

fn unknown_option(option: &DatabaseOption) -> Error {
    Error::Syntax {
        message: format!("option \"{}\" not recognized", option.name),
        position: option.position,
    }
}

fn boolean(option: &DatabaseOption, default: bool) -> Result<bool> {
    match option.value.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None => Ok(default),
        Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(Error::Syntax {
            message: format!("{} requires a Boolean value", option.name),
            position: option.position,
        }),
    }
}

fn connection_limit(option: &DatabaseOption) -> Result<i32> {
    let Some(value) = option.value.as_deref() else {
        return Ok(-1);
    };
    let number: i32 = value.parse().map_err(|_| Error::Syntax {
        message: format!("{} requires an integer value", option.name),
        position: option.position,
    })?;
    role::require_limit(number).map(|()| number)
}

/// The database of a name; `None`: the first. Errors: 3D000.
fn find<'c>(ctx: &'c StatementContext, name: &str) -> Result<Option<&'c Arc<DatabaseDef>>> {
    ctx.database_id(name)?;
    Ok(ctx.catalog.databases.get(name))
}

fn put(ctx: &StatementContext, database: DatabaseDef) -> Result<()> {
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_database(&database)
}

/// What an UPDATE of pg_database makes of a row. Errors: 22P02, 23502; 0A000 for the first database.
pub(super) fn update_row(
    ctx: &StatementContext,
    oid: DatabaseId,
    columns: &[&str],
    values: &[Option<String>],
) -> Result<()> {
    let mut databases = ctx.catalog.databases.values();
    let Some(database) = databases.find(|database| database.oid == oid) else {
        return Err(Error::unsupported("limiting the first database", None));
    };
    let mut changed = DatabaseDef::clone(database);
    for (column, value) in columns.iter().zip(values) {
        let value = value.as_deref().ok_or_else(|| Error::NotNullViolation {
            schema: "pg_catalog".to_string(),
            table: "pg_database".to_string(),
            column: column.to_string(),
            row: String::new(),
        })?;
        match *column {
            "datallowconn" => changed.allow_connections = value == "true",
            "datistemplate" => changed.is_template = value == "true",
            _ => {
                let limit = value.parse().map_err(|_| Error::internal("an integer as text"))?;
                role::require_limit(limit)?;
                changed.connection_limit = limit;
            }
        }
    }
    put(ctx, changed)
}

async fn alter(ctx: &StatementContext, name: &str, change: &DatabaseChange) -> Result<()> {
    let found = find(ctx, name)?;
    match (change, found) {
        (DatabaseChange::Owner(RoleName::Named(role)), _) => {
            return role::check(ctx, &Ident::with_quote('"', role));
        }
        (DatabaseChange::Owner(_), _) => return Ok(()),
        (DatabaseChange::Tablespace(_), _) => {
            storage::tell(ctx, vec!["TABLESPACE".to_string()]);
            return Ok(());
        }
        (DatabaseChange::RefreshCollation, _) => {
            notice(ctx, "00000", "version has not changed".to_string(), None);
            return Ok(());
        }
        _ => {}
    }
    let Some(database) = found else {
        return Err(Error::unsupported(
            "changing the first database",
            Some("It is called whatever clients call it: make another with CREATE DATABASE."),
        ));
    };
    match change {
        DatabaseChange::Rename(new_name) => rename(ctx, database, new_name).await,
        DatabaseChange::Options(options) => {
            let mut wanted = Wanted::of(database);
            for option in options {
                match option.name.as_str() {
                    _ if wanted.take(option)? => {}
                    "tablespace" => storage::tell(ctx, vec!["TABLESPACE".to_string()]),
                    _ => return Err(unknown_option(option)),
                }
            }
            if !wanted.allow_connections && database.oid == ctx.txn.database() {
                return Err(Error::InvalidParameter {
                    message: "cannot disallow connections for current database".to_string(),
                    hint: Some("Connect to another one first.".to_string()),
                });
            }
            put(
                ctx,
                DatabaseDef {
                    allow_connections: wanted.allow_connections,
                    connection_limit: wanted.connection_limit,
                    is_template: wanted.is_template,
                    ..DatabaseDef::clone(database)
                },
            )
        }
        _ => Ok(()),
    }
}

/// RENAME TO. Errors: 42P04; 0A000 for the session's own; 55006 for one that others are in.
async fn rename(ctx: &StatementContext, database: &DatabaseDef, new_name: &str) -> Result<()> {
    if database.oid == ctx.txn.database() {
        return Err(Error::unsupported(
            "renaming the current database",
            Some("Connect to another one first."),
        ));
    }
    if is_taken(ctx, &ctx.catalog, new_name) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Database,
            name: new_name.to_string(),
        });
    }
    let _closed = close(ctx, database.oid, &database.name, Closing::Removed).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.forget_database(database)?;
    writer.put_database(&DatabaseDef {
        name: new_name.to_string(),
        ..database.clone()
    })
}

async fn drop_one(ctx: &StatementContext, name: &str, if_exists: bool, force: bool) -> Result<()> {
    require_alone(ctx, "DROP DATABASE")?;
    let database = match find(ctx, name) {
        Err(Error::UndefinedDatabase { .. }) if if_exists => {
            notice(
                ctx,
                "00000",
                format!("database \"{name}\" does not exist, skipping"),
                None,
            );
            return Ok(());
        }
        found => found?,
    };
    let (oid, is_template) = database.map_or((FIRST_DATABASE, false), |database| {
        (database.oid, database.is_template)
    });
    if oid == ctx.txn.database() {
        return Err(refused(
            StatementFault::ObjectInUse,
            "cannot drop the currently open database",
            "Connect to another one first.",
        ));
    }
    let Some(database) = database else {
        let message = format!("cannot drop database {name} because it is required by the database system");
        return Err(refused(
            StatementFault::DependentObjects,
            &message,
            "DROP SCHEMA removes what is in it.",
        ));
    };
    if is_template {
        let hint = "ALTER DATABASE … IS_TEMPLATE false first.";
        return Err(refused(
            StatementFault::WrongObjectType,
            "cannot drop a template database",
            hint,
        ));
    }
    if force {
        end_sessions(ctx, database).await?;
    }
    let closed = close(ctx, database.oid, name, Closing::Removed).await?;
    remove_record(ctx, name, database).await?;
    closed.dropped();
    Ok(())
}

fn refused(state: StatementFault, message: &str, hint: &str) -> Error {
    Error::InvalidStatement {
        state,
        message: message.to_string(),
        hint: Some(hint.to_string()),
    }
}

/// Keeps sessions out of a database, once those that are in it have ended: one that its client has closed may take a moment. Errors: 55006
/// where some are in it all the time; 57014 and the like when the statement is cancelled.
async fn close(
    ctx: &StatementContext,
    database: DatabaseId,
    name: &str,
    why: Closing,
) -> Result<ClosedDatabase> {
    let began = tokio::time::Instant::now();
    loop {
        let sessions = match ctx.server.live_sessions().close(database, why) {
            Ok(closed) => return Ok(closed),
            Err(sessions) => sessions,
        };
        if began.elapsed() > END_TIME_MAX {
            return Err(Error::DatabaseInUse {
                name: name.to_string(),
                sessions,
                is_source: matches!(why, Closing::Copied(_)),
            });
        }
        ctx.session.interrupt.check()?;
        tokio::time::sleep(END_PAUSE).await;
    }
}

/// Ends the sessions of a database, and waits until they are gone. Errors: 57014 and the like when the statement is cancelled.
async fn end_sessions(ctx: &StatementContext, database: &DatabaseDef) -> Result<()> {
    let began = tokio::time::Instant::now();
    loop {
        let sessions = ctx.server.live_sessions().of_database(database.oid);
        if sessions.is_empty() || began.elapsed() > END_TIME_MAX {
            return Ok(());
        }
        for session in sessions {
            session.interrupt.raise(Cause::Shutdown);
        }
        ctx.session.interrupt.check()?;
        tokio::time::sleep(END_PAUSE).await;
    }
}

/// Takes the record away. Errors: 3D000 where somebody else was faster.
async fn remove_record(ctx: &StatementContext, name: &str, database: &DatabaseDef) -> Result<()> {
    let mut lost = Ok(());
    for _ in 0..TRIES {
        let txn = ctx.txn.database_store().begin(RECORD_BYTES_MAX).await?;
        let catalog = Catalog::load(&txn, Some(Arc::clone(&ctx.catalog))).await?;
        let Some(standing) = catalog
            .databases
            .get(name)
            .filter(|standing| standing.oid == database.oid)
        else {
            return Err(Error::UndefinedDatabase {
                name: name.to_string(),
            });
        };
        CatalogWriter::begin(&txn, &catalog)?.drop_database(standing)?;
        txn.note_statement(true);
        match ctx.jobs.commit(Arc::new(txn), false, None).await {
            Err(error @ Error::Conflict { .. }) => lost = Err(error),
            committed => return committed,
        }
    }
    lost
}

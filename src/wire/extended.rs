//! The extended protocol: Parse, Bind, Describe, Execute, Close, Flush, Sync. A failed message is reported once and
//! everything up to Sync is skipped. What stands between two Syncs is one transaction.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete, PortalSuspended};

use super::client_encoding::{decoded, decoded_binary};
use super::message::{Bind, Message, Target, violation};
use super::responder::Responder;
use super::rows::put_row_description;
use super::state::State;
use super::statement_log::log_duration;
use crate::session::{Portal, PortalState, PreparedStatement, Reply, text_parameter};
use crate::sql::PARAMETER_BYTES_MAX;
use crate::system::{Parameters, query_threads};
use crate::types::{CatalogType, CharacterEncoding, FormatSettings, SqlType, VOID_OID, Value, WireFormat};
use crate::{Error, Result};

impl Responder {
    /// Answers a message of the extended protocol. `alone`: Sync follows, so an Execute is a transaction of its own.
    pub(super) async fn extended(&mut self, message: Message, alone: bool) -> Result<()> {
        if let Message::Sync = message {
            return self.sync().await;
        }
        if self.state == State::Failed {
            // Who flushes waits, for the error as well.
            return match message {
                Message::Flush => self.drain().await,
                _ => Ok(()),
            };
        }
        let answered = match message {
            Message::Parse { name, text, types } => self.parse(&name, &text, &types).await,
            Message::Execute { name, rows_max } => self.execute_timed(&name, rows_max, alone).await,
            Message::Bind(bind) if bind.parameter_bytes() > PARAMETER_BYTES_MAX => {
                self.bind_many_bytes(bind).await
            }
            Message::Flush => return self.drain().await,
            message => return self.extended_at_once(message),
        };
        self.skip_if_failed(answered)
    }

    /// Whether `extended_at_once` answers the message: it is only about what the session holds.
    pub(super) fn is_at_once(message: &Message) -> bool {
        match message {
            Message::Bind(bind) => bind.parameter_bytes() <= PARAMETER_BYTES_MAX,
            Message::Describe { .. } | Message::Close { .. } => true,
            _ => false,
        }
    }

    /// Answers a message of the extended protocol that needs no waiting, and nothing that could be stopped.
    pub(super) fn extended_at_once(&mut self, message: Message) -> Result<()> {
        if self.state == State::Failed {
            return Ok(());
        }
        let answered = match message {
            Message::Bind(bind) => self.bind(bind),
            Message::Describe {
                target: Target::Statement,
                name,
            } => self.describe_statement(&name),
            Message::Describe {
                target: Target::Portal,
                name,
            } => self.describe_portal(&name),
            Message::Close { target, name } => self.close(target, &name),
            _ => Err(violation("invalid message in the extended protocol")),
        };
        self.skip_if_failed(answered)
    }

    /// Reports what failed; then everything up to Sync is skipped.
    fn skip_if_failed(&mut self, answered: Result<()>) -> Result<()> {
        match answered {
            Ok(()) => Ok(()),
            Err(error) => {
                self.state.enter(State::Failed);
                self.report(error)
            }
        }
    }

    async fn sync(&mut self) -> Result<()> {
        if self.state == State::Failed {
            self.state.enter(State::Idle);
        }
        if let Err(error) = self.close_implicit().await {
            self.report(error)?;
        }
        self.send_ready()
    }

    async fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> Result<()> {
        // OID 0 leaves the type open, and so does a type we do not have: the statement may well tell.
        // A parameter of type void is one of which nothing is said but that it is there.
        let said = |ty| match ty {
            SqlType::Catalog(CatalogType::Void) => SqlType::Void,
            ty => ty,
        };
        let known = |oid: &u32| {
            let ty = SqlType::from_oid(*oid, -1).map(said);
            ty.filter(|ty| *ty != SqlType::Unknown)
        };
        let types: Vec<_> = types.iter().map(known).collect();
        self.session.prepare(name, text, &types).await?;
        self.output
            .message(&PgWireBackendMessage::ParseComplete(ParseComplete::new()))
    }

    fn bind(&mut self, bind: Bind) -> Result<()> {
        let statement = self.session.statement(&bind.statement)?;
        let (format, encoding) = (self.session.format(), self.session.settings().client_encoding);
        let parameters = decode_parameters(&bind, &statement, &format, encoding)?;
        self.bind_values(&bind, statement, parameters)
    }

    /// A Bind whose values take long to read.
    async fn bind_many_bytes(&mut self, bind: Bind) -> Result<()> {
        let statement = self.session.statement(&bind.statement)?;
        let (format, encoding) = (self.session.format(), self.session.settings().client_encoding);
        let reading = {
            let statement = Arc::clone(&statement);
            query_threads::run(async move {
                let parameters = decode_parameters(&bind, &statement, &format, encoding)?;
                Ok((bind, parameters))
            })
        };
        let (interrupt, deadline) = (Arc::clone(self.session.interrupt()), self.session.deadline());
        let (bind, parameters) = interrupt.guard(deadline, reading).await?;
        self.bind_values(&bind, statement, parameters)
    }

    fn bind_values(
        &mut self,
        bind: &Bind,
        statement: Arc<PreparedStatement>,
        parameters: Vec<Value>,
    ) -> Result<()> {
        let columns = self.session.statement_columns(&statement);
        // What gives no rows has no columns that a format could be wrong for.
        let formats = match columns {
            Some(columns) => result_formats(&bind.result_formats, columns.len())?,
            None => Vec::new(),
        };
        let parameters = (parameters, bind.parameter_bytes());
        self.session.bind(&bind.portal, statement, parameters, formats)?;
        self.output
            .message(&PgWireBackendMessage::BindComplete(BindComplete::new()))
    }

    fn describe_statement(&mut self, name: &str) -> Result<()> {
        let statement = self.session.statement(name)?;
        let types = statement
            .types
            .iter()
            .map(|ty| match ty {
                // What nothing decides reads as text, as in PostgreSQL.
                SqlType::Unknown => SqlType::Text.oid(),
                SqlType::Void => VOID_OID,
                ty => ty.oid(),
            })
            .collect();
        let columns = self.session.described_columns(&statement)?.cloned();
        self.output.message(&PgWireBackendMessage::ParameterDescription(
            ParameterDescription::new(types),
        ))?;
        match columns {
            Some(columns) => self.send_columns(&columns, &[]),
            None => self.send_no_data()?,
        }
        Ok(())
    }

    fn describe_portal(&mut self, name: &str) -> Result<()> {
        let portal = self.session.portal(name)?;
        match self.session.described_portal_columns(portal)? {
            Some(columns) => put_row_description(columns, &portal.formats, &mut self.output),
            None => self.send_no_data()?,
        }
        Ok(())
    }

    fn send_no_data(&mut self) -> Result<()> {
        self.output.message(&PgWireBackendMessage::NoData(NoData::new()))
    }

    /// Runs a portal, or goes on with it, and logs it if that took long.
    async fn execute_timed(&mut self, name: &str, rows_max: i32, alone: bool) -> Result<()> {
        let Some(limit_ms) = self.session.settings().log_min_duration_ms else {
            return self.execute(name, rows_max, alone).await;
        };
        let portal = self.session.portal(name)?;
        let text = portal
            .statement
            .parsed
            .as_ref()
            .map(|parsed| Arc::clone(&parsed.parsed.text));
        let began = Instant::now();
        let executed = self.execute(name, rows_max, alone).await;
        let text = text.as_deref().unwrap_or_default();
        log_duration(self.session.process_id(), began, Some(limit_ms), text);
        executed
    }

    /// Runs a portal, or goes on with it. The session does not hold it meanwhile: should it fail, it is gone.
    async fn execute(&mut self, name: &str, rows_max: i32, alone: bool) -> Result<()> {
        self.session.takes_message();
        let mut portal = self.session.take_portal(name)?;
        let rows_max = usize::try_from(rows_max).ok().filter(|rows_max| *rows_max > 0);
        // What has written when its rows are left behind is committed by Sync.
        let may_leave_rows = rows_max.is_some() && portal.statement.description.columns.is_some();
        if !alone || may_leave_rows {
            self.session.open_pipeline();
        }
        let state = std::mem::replace(&mut portal.state, PortalState::Done { tag: None });
        let mut rows = match state {
            PortalState::Streaming(rows) => rows,
            PortalState::Done { tag: Some(tag) } => {
                portal.state = PortalState::Done {
                    tag: Some(tag.clone()),
                };
                self.session.put_portal(name, portal);
                return self.send_tag(tag);
            }
            PortalState::Done { tag: None } => {
                return Err(Error::NotInState {
                    message: format!("portal \"{name}\" cannot be run"),
                });
            }
            PortalState::Ready => match self
                .start(portal.statement.clone(), portal.parameters.clone())
                .await?
            {
                Started::Empty => {
                    portal.state = PortalState::Ready;
                    self.session.put_portal(name, portal);
                    return self.send_empty_query();
                }
                Started::Reply(Reply::Done { tag }) => return self.end_portal(name, portal, tag),
                Started::Reply(Reply::CopyFrom(copy)) => {
                    let tag = self.receive_copy(copy).await?;
                    return self.end_portal(name, portal, tag);
                }
                Started::Reply(Reply::CopyTo(copy)) => {
                    let tag = self.send_copy(*copy).await?;
                    return self.end_portal(name, portal, tag);
                }
                Started::Reply(Reply::Rows(rows)) => rows,
            },
        };
        self.send_notices()?;
        let own_ms = portal
            .statement
            .parsed
            .as_ref()
            .and_then(|statement| statement.parsed.hints.timeout_ms);
        rows.resume(self.session.deadline_of(own_ms));
        if rows.was_moved() {
            Box::pin(rows.go_on()).await?;
        }
        let formats = portal.formats.clone();
        if self.send_rows(&mut rows, &formats, rows_max).await? {
            let again = Some(rows.tag_without_rows());
            let tag = self.complete_rows(rows).await?;
            portal.state = PortalState::Done { tag: again };
            self.session.put_portal(name, portal);
            self.send_notices()?;
            return self.send_tag(tag);
        }
        portal.state = PortalState::Streaming(rows);
        self.session.put_portal(name, portal);
        self.session.suspend();
        self.output
            .message(&PgWireBackendMessage::PortalSuspended(PortalSuspended::new()))
    }

    /// A portal without rows is done.
    fn end_portal(&mut self, name: &str, portal: Portal, tag: String) -> Result<()> {
        self.send_notices()?;
        self.session.put_done(name, portal);
        self.send_tag(tag)
    }

    async fn start(&mut self, statement: Arc<PreparedStatement>, parameters: Parameters) -> Result<Started> {
        let Some(parsed) = &statement.parsed else {
            return Ok(Started::Empty);
        };
        let described = statement.description.columns.as_deref();
        self.run(parsed, parameters, described).await.map(Started::Reply)
    }

    fn close(&mut self, target: Target, name: &str) -> Result<()> {
        match target {
            Target::Statement => self.session.close_statement(name),
            Target::Portal => self.session.close_portal(name),
        }
        self.output
            .message(&PgWireBackendMessage::CloseComplete(CloseComplete::new()))
    }
}

/// What running a portal for the first time gives.
enum Started {
    /// Its statement has no text.
    Empty,
    Reply(Reply),
}

/// The parameters of a Bind, decoded by the types that the statement gave them. Errors: 08P01, 22P03, 22021, the type's.
pub(super) fn decode_parameters(
    bind: &Bind,
    statement: &PreparedStatement,
    format: &FormatSettings,
    encoding: CharacterEncoding,
) -> Result<Vec<Value>> {
    let types = &statement.types;
    let (given, formats) = (bind.parameters.len(), bind.formats.len());
    if formats > 1 && formats != given {
        return Err(violation(format!(
            "bind message has {formats} parameter formats but {given} parameters"
        )));
    }
    if given != types.len() {
        return Err(violation(format!(
            "bind message supplies {given} parameters, but prepared statement \"{}\" requires {}",
            bind.statement,
            types.len()
        )));
    }
    let decode = |(index, (bytes, ty)): (usize, (&Option<Bytes>, &SqlType))| {
        let code = bind
            .formats
            .get(if formats == 1 { 0 } else { index })
            .copied()
            .unwrap_or(0);
        let code = wire_format(code)?;
        match bytes {
            None => Ok(Value::Null),
            Some(bytes) if matches!(ty, SqlType::Unknown | SqlType::Enum(_)) => {
                Ok(Value::Unknown(decoded(bytes, encoding)?.into_owned()))
            }
            Some(bytes) if code == WireFormat::Binary => {
                let ty = ty.without_labels();
                Value::from_binary(&decoded_binary(bytes, &ty, encoding)?, &ty, index + 1)
            }
            Some(bytes) => text_parameter(&decoded(bytes, encoding)?, ty, format),
        }
    };
    let values = bind.parameters.iter().zip(types.iter()).enumerate();
    values
        .map(|(index, given)| {
            decode((index, given)).map_err(|error| of_parameter(error, &bind.portal, index + 1))
        })
        .collect()
}

/// An error of a parameter's value, which says whose it is.
fn of_parameter(error: Error, portal: &str, number: usize) -> Error {
    error.in_context(match portal {
        "" => format!("unnamed portal parameter ${number}"),
        name => format!("portal \"{name}\" parameter ${number}"),
    })
}

/// The format of each of so many columns of the result. Errors: 08P01, 22023.
fn result_formats(codes: &[i16], columns: usize) -> Result<Vec<WireFormat>> {
    match codes {
        [] => Ok(vec![WireFormat::Text; columns]),
        [code] => Ok(vec![wire_format(*code)?; columns]),
        codes if codes.len() == columns => codes.iter().map(|code| wire_format(*code)).collect(),
        codes => Err(violation(format!(
            "bind message has {} result formats but query has {columns} columns",
            codes.len()
        ))),
    }
}

pub(super) fn wire_format(code: i16) -> Result<WireFormat> {
    match code {
        0 => Ok(WireFormat::Text),
        1 => Ok(WireFormat::Binary),
        _ => Err(Error::InvalidParameter {
            message: format!("unsupported format code: {code}"),
            hint: None,
        }),
    }
}

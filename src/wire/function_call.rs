//! The function call of the protocol: one function of PostgreSQL's by its oid, which is how libpq and pgjdbc read and write large objects.
//! It is a prepared statement of its own, which stays for the next call of the function: a large object is read by thousands of them.

use bytes::BufMut;

use super::extended::{decode_parameters, wire_format};
use super::message::{Bind, FunctionCall, violation};
use super::responder::Responder;
use super::rows::RowsEncoder;
use super::state::State;
use crate::functions::function_by_oid;
use crate::session::Reply;
use crate::types::SqlType;
use crate::{Error, Result};

/// The name of its portal. No client can give it, nor that of the statement, to one of its own.
const PORTAL: &str = "\0function call";

impl Responder {
    /// Answers a call, and says that it is ready for the next message.
    pub(super) async fn function_call(&mut self, call: FunctionCall) -> Result<()> {
        if self.state == State::Failed {
            // Until Sync, as everything else.
            return Ok(());
        }
        let called = self.call(call).await;
        self.session.close_portal(PORTAL);
        if let Err(error) = called {
            self.report(error)?;
        }
        self.send_ready()
    }

    async fn call(&mut self, call: FunctionCall) -> Result<()> {
        let Some((name, types)) = function_by_oid(call.function) else {
            return Err(undefined(call.function));
        };
        let given = call.arguments.len();
        if given != types.len() {
            return Err(violation(format!(
                "function call message contains {given} arguments but function requires {}",
                types.len()
            )));
        }
        let arguments: Vec<String> = (1..=types.len()).map(|number| format!("${number}")).collect();
        let text = format!("SELECT pg_catalog.{name}({})", arguments.join(", "));
        let types: Vec<Option<SqlType>> = types.iter().map(|oid| SqlType::from_oid(*oid, -1)).collect();
        let kept = format!("{PORTAL} {}", call.function);
        if self.session.statement(&kept).is_err() {
            self.session.prepare(&kept, &text, &types).await?;
        }
        let statement = self.session.statement(&kept)?;
        let bind = Bind {
            portal: PORTAL.to_string(),
            statement: kept,
            formats: call.formats,
            parameters: call.arguments,
            result_formats: vec![call.result_format],
        };
        let settings = self.session.settings();
        let (format, encoding) = (settings.format(), settings.client_encoding);
        let parameters = decode_parameters(&bind, &statement, &format, encoding)?;
        let result = wire_format(call.result_format)?;
        self.session
            .bind(PORTAL, statement.clone(), parameters, vec![result])?;
        let portal = self.session.take_portal(PORTAL)?;
        let parsed = statement
            .parsed
            .as_ref()
            .ok_or_else(|| Error::internal("a call of no text"))?;
        let Reply::Rows(mut rows) = self.session.run(parsed, portal.parameters, None).await? else {
            return Err(Error::internal("a call that gives no rows"));
        };
        let columns = rows.columns.clone();
        let mut value = None;
        while let Some(piece) = self.next_piece(&mut rows, usize::MAX).await? {
            let mut encoder = RowsEncoder::new(&columns, piece, &[result], &format, encoding)?;
            value = encoder.encode_only_field(encoding)?.or(value);
        }
        self.session.complete(rows).await?;
        self.session.close_implicit().await?;
        self.send_notices()?;
        self.send_result(value.as_deref())
    }

    /// FunctionCallResponse: `V`, the length of the message, then the value as a field of a row.
    fn send_result(&mut self, field: Option<&[u8]>) -> Result<()> {
        let null = (-1_i32).to_be_bytes();
        let field = field.unwrap_or(&null);
        let length = i32::try_from(4 + field.len()).map_err(|_| Error::internal("a result too long"))?;
        let buffer = self.output.buffer();
        buffer.put_u8(b'V');
        buffer.put_i32(length);
        buffer.put_slice(field);
        Ok(())
    }
}

fn undefined(oid: u32) -> Error {
    Error::UndefinedFunction {
        signature: format!("with OID {oid}"),
        hint: Some(
            "A function call reaches the functions of pg_catalog. Write SELECT with the function.".into(),
        ),
    }
}

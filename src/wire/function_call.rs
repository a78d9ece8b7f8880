//! The function call of the protocol: one function of PostgreSQL's by its oid, which is how libpq and pgjdbc read and write large objects.
//! It is a prepared statement of its own, which stays for the next call of the function: a large object is read by thousands of them.

use std::sync::Arc;

use bytes::BufMut;

use super::extended::{decode_parameters, wire_format};
use super::message::{Bind, FunctionCall, violation};
use super::responder::Responder;
use super::rows::RowsEncoder;
use super::state::State;
use crate::functions::function_by_oid;
use crate::session::{PreparedStatement, Reply};
use crate::system::Parameters;
use crate::types::SqlType;
use crate::{Error, Result};

/// What the names of its statements begin with: no client can give such a name to one of its own.
const STATEMENT: &str = "\0function call";

impl Responder {
    /// Answers a call, and says that it is ready for the next message.
    pub(super) async fn function_call(&mut self, call: FunctionCall) -> Result<()> {
        if self.state == State::Failed {
            // Until Sync, as everything else.
            return Ok(());
        }
        if let Err(error) = self.call(call).await {
            self.report(error)?;
        }
        self.send_ready()
    }

    async fn call(&mut self, call: FunctionCall) -> Result<()> {
        let statement = self.statement_of(call.function).await?;
        let (given, required) = (call.arguments.len(), statement.types.len());
        if given != required {
            return Err(violation(format!(
                "function call message contains {given} arguments but function requires {required}"
            )));
        }
        let bind = Bind {
            portal: String::new(),
            statement: String::new(),
            formats: call.formats,
            parameters: call.arguments,
            result_formats: vec![call.result_format],
        };
        let (format, encoding) = (self.session.format(), self.session.settings().client_encoding);
        let parameters = decode_parameters(&bind, &statement, &format, encoding)?;
        let parameters = Parameters::bound(parameters, &statement.types);
        let result = wire_format(call.result_format)?;
        let parsed = statement
            .parsed
            .as_ref()
            .ok_or_else(|| Error::internal("a call of no text"))?;
        self.session.takes_message();
        let Reply::Rows(mut rows) = self.run(parsed, parameters, None).await? else {
            return Err(Error::internal("a call that gives no rows"));
        };
        let columns = rows.columns.clone();
        let mut value = None;
        while let Some(piece) = self.next_piece(&mut rows, usize::MAX).await? {
            let mut encoder = RowsEncoder::new(&columns, piece, &[result], &format, encoding)?;
            value = encoder.encode_only_field(encoding)?.or(value);
        }
        self.complete_rows(rows).await?;
        self.close_implicit().await?;
        self.send_notices()?;
        self.send_result(value.as_deref())
    }

    /// The statement that calls a function. Errors: 42883, 25P02.
    async fn statement_of(&mut self, function: u32) -> Result<Arc<PreparedStatement>> {
        let name = format!("{STATEMENT} {function}");
        if let Ok(kept) = self.session.statement(&name) {
            return Ok(kept);
        }
        let (called, types) = function_by_oid(function).ok_or_else(|| undefined(function))?;
        let arguments: Vec<String> = (1..=types.len()).map(|number| format!("${number}")).collect();
        let text = format!("SELECT pg_catalog.{called}({})", arguments.join(", "));
        let types: Vec<Option<SqlType>> = types.iter().map(|oid| SqlType::from_oid(*oid, -1)).collect();
        self.session.prepare(&name, &text, &types).await?;
        self.session.statement(&name)
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

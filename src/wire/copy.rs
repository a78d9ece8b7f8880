//! COPY with the client: its data in, by CopyData messages until CopyDone or CopyFail; and rows out. Of both protocols.

use std::pin::pin;
use std::sync::Arc;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};

use super::copy_messages::CopyMessage;
use super::message;
use super::responder::{Responder, attended};
use crate::copy::RowEncoder;
use crate::scan::{OutputColumn, Rows};
use crate::session::{CopyFrom, CopyTo};
use crate::types::{ColumnEncoder, FormatSettings, WireFormat};
use crate::{Error, Result};

impl Responder {
    /// Takes the client's data to its end; answers the command tag.
    pub(super) async fn receive_copy(&mut self, mut copy: CopyFrom) -> Result<String> {
        let received = self.receive(&mut copy).await;
        match received {
            Ok(()) => {
                let (notices, interrupt) = (
                    Arc::clone(self.session.notices()),
                    Arc::clone(self.session.interrupt()),
                );
                let work = pin!(self.session.complete_copy(copy));
                attended(&mut self.output, &notices, &interrupt, work).await
            }
            Err(error) => Err(self.session.abandon_copy(copy, error).await),
        }
    }

    async fn receive(&mut self, copy: &mut CopyFrom) -> Result<()> {
        self.send_notices()?;
        let (format, columns) = overall(copy.is_binary(), copy.columns());
        let response = CopyInResponse::new(format, columns.len() as i16, columns);
        self.output
            .message(&PgWireBackendMessage::CopyInResponse(response))?;
        self.drain().await?;
        let interrupt = Arc::clone(self.session.interrupt());
        let deadline = copy.deadline();
        let encoding = self.session.settings().client_encoding;
        let messages = &mut self.copy_messages;
        let received = async {
            loop {
                let message = tokio::select! {
                    biased;
                    error = copy.failed() => return Err(error),
                    message = messages.next() => message?,
                };
                match message {
                    CopyMessage::Data(piece) => copy.push(piece).await?,
                    CopyMessage::Done => return Ok(()),
                    CopyMessage::Fail(body) => {
                        let reason = message::reason(body, encoding)?;
                        return Err(Error::CopyFailed { reason });
                    }
                }
            }
        };
        let work = pin!(interrupt.guard(deadline, received));
        attended(&mut self.output, self.session.notices(), &interrupt, work).await
    }

    /// Sends rows as data; answers the command tag.
    pub(super) async fn send_copy(&mut self, copy: CopyTo) -> Result<String> {
        let CopyTo {
            mut rows,
            mut encoder,
            copying,
        } = copy;
        self.send_notices()?;
        let (format, columns) = overall(encoder.is_binary(), encoder.columns());
        let response = CopyOutResponse::new(format, columns.len() as i16, columns);
        self.output
            .message(&PgWireBackendMessage::CopyOutResponse(response))?;
        put_message(self.output.buffer(), |out| encoder.put_header(out))?;
        let settings = self.session.settings().format();
        let columns = Arc::clone(&rows.columns);
        while let Some(piece) = self.next_piece(&mut rows, usize::MAX).await? {
            let encoders = encoders(piece, &columns, &encoder, &settings)?;
            for row in 0..encoders.rows {
                let bytes = put_message(self.output.buffer(), |out| {
                    encoder.put_row(&encoders.columns, row, out).map(|()| true)
                })?;
                copying.progress().add_bytes(bytes);
                if self.output.is_full() {
                    let interrupt = Arc::clone(self.session.interrupt());
                    interrupt.guard(rows.deadline(), self.output.drain()).await?;
                }
            }
            copying.progress().add_rows(encoders.rows as u64, 0);
        }
        put_message(self.output.buffer(), |out| Ok(encoder.put_end(out)))?;
        self.output
            .message(&PgWireBackendMessage::CopyDone(CopyDone::new()))?;
        self.complete_rows(rows).await
    }
}

/// The columns of a piece of rows.
struct Encoders {
    columns: Vec<ColumnEncoder>,
    rows: usize,
}

fn encoders(
    piece: Rows,
    columns: &[OutputColumn],
    encoder: &RowEncoder,
    settings: &FormatSettings,
) -> Result<Encoders> {
    let batch = piece.into_batch()?;
    let format: WireFormat = encoder.wire_format();
    let pairs = columns.iter().zip(batch.columns());
    let encoders = pairs.map(|(column, array)| ColumnEncoder::new(&column.ty, array, format, settings));
    Ok(Encoders {
        columns: encoders.collect::<Result<_>>()?,
        rows: batch.num_rows(),
    })
}

/// The format of the data, and that of each column, which is the same.
fn overall(is_binary: bool, columns: usize) -> (i8, Vec<i16>) {
    (i8::from(is_binary), vec![i16::from(is_binary); columns])
}

/// Appends a CopyData message of what `put` appends, if it says that there is any; answers how many bytes.
fn put_message(buffer: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<usize> {
    let start = buffer.len();
    buffer.extend_from_slice(&[b'd', 0, 0, 0, 0]);
    let put = put(buffer);
    if !matches!(put, Ok(true)) {
        buffer.truncate(start);
        return put.map(|_| 0);
    }
    let length = (buffer.len() - start - 1) as i32; // a row of 2 GiB is above every limit
    buffer[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(buffer.len() - start - 5)
}

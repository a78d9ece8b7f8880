//! Errors and notices as messages.

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};

use crate::Error;
use crate::system::Notice;

/// ErrorResponse. `fatal`: the connection ends after it.
pub(super) fn error_response(error: &Error, fatal: bool) -> PgWireBackendMessage {
    let severity = if fatal { "FATAL" } else { "ERROR" };
    let mut fields = fields(severity, error.sqlstate(), error.to_string());
    let more = [
        (b'D', error.detail()),
        (b'H', error.hint()),
        (b'P', error.position().map(|at| at.to_string())),
        (b'W', error.context().map(str::to_string)),
    ];
    fields.extend(more.into_iter().filter_map(|(code, text)| Some((code, text?))));
    let object = error.object();
    let names = [
        (b's', object.schema),
        (b't', object.table),
        (b'c', object.column),
        (b'd', object.data_type),
        (b'n', object.constraint),
    ];
    fields.extend(
        names
            .into_iter()
            .filter_map(|(code, name)| Some((code, name?.to_string()))),
    );
    // pgjdbc and others know by the routine's name that preparing again heals it.
    if matches!(error.bare(), Error::PlanChanged { .. }) {
        fields.push((b'R', "RevalidateCachedQuery".to_string()));
    }
    PgWireBackendMessage::ErrorResponse(ErrorResponse::new(without_zero_bytes(fields)))
}

/// NoticeResponse.
pub(super) fn notice_response(notice: &Notice) -> PgWireBackendMessage {
    let mut fields = fields(notice.severity, &notice.sqlstate, notice.message.clone());
    fields.extend(notice.detail.clone().map(|detail| (b'D', detail)));
    fields.extend(notice.hint.clone().map(|hint| (b'H', hint)));
    fields.extend(notice.context.clone().map(|context| (b'W', context)));
    PgWireBackendMessage::NoticeResponse(NoticeResponse::new(without_zero_bytes(fields)))
}

fn fields(severity: &str, sqlstate: &str, message: String) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.to_string()),
        (b'V', severity.to_string()),
        (b'C', sqlstate.to_string()),
        (b'M', message),
    ]
}

/// A zero byte ends a field: one inside would damage the message.
fn without_zero_bytes(mut fields: Vec<(u8, String)>) -> Vec<(u8, String)> {
    for (_, text) in &mut fields {
        if text.contains('\0') {
            *text = text.replace('\0', "\\0");
        }
    }
    fields
}

//! The floor: a server that has its answer ready, in a process of its own, over the protocol code of the real one. What a
//! client, the kernel and the protocol cost is in it; no statement is read and nothing is stored.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use keyspan::layers::{ConstantAnswer, OutputColumn, Rows, SqlType};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_postgres::SimpleQueryMessage;

use crate::system::{FLOOR_ARGUMENT, System};

/// Separates columns and rows in the file of the answer; no measured text has them.
const COLUMN_END: char = '\x1F';
const ROW_END: char = '\x1E';

/// Whether this process was started as the floor; then it serves until it is ended.
pub(crate) async fn serve_if_asked() -> bool {
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != FLOOR_ARGUMENT)
        .skip(1);
    let (Some(addr), Some(file)) = (arguments.next(), arguments.next()) else {
        return false;
    };
    let addr: SocketAddr = addr.parse().expect("an address");
    let listener = TcpListener::bind(addr).await.expect("the port is free");
    answer_of(Path::new(&file)).serve(listener).await;
    true
}

/// A floor whose answer is what `system` answers to the statement now; it lives as long as the folder.
pub(crate) async fn of(system: &System, sql: &str) -> (System, TempDir) {
    let client = system.connect().await;
    let result = client.simple_query(sql).await.expect("the statement runs");
    let mut text = String::new();
    for message in &result {
        if let SimpleQueryMessage::Row(row) = message {
            let cells: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or_default()).collect();
            text.push_str(&cells.join(&COLUMN_END.to_string()));
            text.push(ROW_END);
        }
    }
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("answer");
    std::fs::write(&file, text).expect("the answer is written");
    (System::floor(&file).await, folder)
}

/// The rows of the file, as texts.
fn answer_of(file: &Path) -> ConstantAnswer {
    let text = std::fs::read_to_string(file).expect("the answer is there");
    let rows: Vec<Vec<&str>> = text
        .split_terminator(ROW_END)
        .map(|row| row.split(COLUMN_END).collect())
        .collect();
    let width = rows.first().map_or(1, Vec::len);
    let column =
        |at: usize| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[at]))) };
    let names: Vec<String> = (0..width).map(|at| format!("column{at}")).collect();
    let fields: Vec<Field> = names
        .iter()
        .map(|name| Field::new(name, DataType::Utf8, true))
        .collect();
    let arrays = (0..width).map(column).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of equal length");
    let columns = names
        .into_iter()
        .map(|name| OutputColumn::declared(name, SqlType::Text));
    ConstantAnswer::new(columns.collect(), Rows::Columns(batch))
}

//! `Source`: a file on its way into a table. Says which columns it has, and sends its data.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::connection::Connection;
use super::ndjson::{ObjectRows, read_object};
use super::statement::{copy_statement, table_name};
use super::{LoadFault, LoadFormat, LoadOptions};
use crate::copy::{CopyForm, CopyFormat, Decoder, FieldValue, Progress, Record};
use crate::parse::quoting::quote_literal;

/// Bytes read, and sent, at once.
const PIECE_BYTES: usize = 128 << 10;
/// A line, or a header, is no longer.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Of what is not a file so much is read ahead, to know its members.
const AHEAD_BYTES_MAX: u64 = 4 << 20;

/// Is told which file is sent, and how many of its bytes were.
type Tell<'a> = &'a mut dyn FnMut(&str, u64);

/// A file, or the standard input.
pub(super) struct Source {
    name: String,
    format: LoadFormat,
    /// What was read ahead, then the rest.
    reader: BufReader<Box<dyn Read + Send>>,
    /// The same file, from its beginning; `None` for what can be read only once.
    again: Option<File>,
    size: Option<u64>,
    sent: u64,
}

impl Source {
    /// The standard input. Errors: nothing says its format.
    pub(super) fn standard_input(format: Option<LoadFormat>) -> Result<Source, LoadFault> {
        let format = format.ok_or_else(|| format_unknown("standard input"))?;
        Ok(Source {
            name: "standard input".to_string(),
            format,
            reader: buffered(Box::new(std::io::stdin())),
            again: None,
            size: None,
            sent: 0,
        })
    }

    /// A file; `-`: the standard input. Errors: it cannot be read, or nothing says its format.
    pub(super) fn open(path: &Path, format: Option<LoadFormat>) -> Result<Source, LoadFault> {
        if path == Path::new("-") {
            return Source::standard_input(format);
        }
        let name = path.display().to_string();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let format = format.or_else(|| LoadFormat::of_extension(extension?));
        let format = format.ok_or_else(|| format_unknown(&name))?;
        let failed = |error: std::io::Error| LoadFault::of_io("open the file", &error).in_file(&name);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(LoadFault::new("it is a folder".to_string()).in_file(&name));
        }
        let again = match metadata.is_file() {
            true => Some(file.try_clone().map_err(failed)?),
            false => None,
        };
        Ok(Source {
            format,
            reader: buffered(Box::new(file)),
            again,
            size: metadata.is_file().then_some(metadata.len()),
            sent: 0,
            name,
        })
    }

    /// As messages have it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes it has, if that is known.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.size
    }

    /// How many of its bytes were sent.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Sends it by a COPY; answers how many rows were written. Errors: the file's, and the server's, with the line where it is one.
    pub(super) async fn send(
        &mut self,
        options: &LoadOptions,
        connection: &mut Connection,
        tell: Tell<'_>,
    ) -> Result<u64, LoadFault> {
        match self.format {
            LoadFormat::Ndjson => self.send_objects(options, connection, tell).await,
            _ => self.send_bytes(options, connection, tell).await,
        }
    }

    async fn send_bytes(
        &mut self,
        options: &LoadOptions,
        connection: &mut Connection,
        tell: Tell<'_>,
    ) -> Result<u64, LoadFault> {
        if self.format == LoadFormat::Binary && options.header {
            return Err(LoadFault::new("binary data has no header".to_string()));
        }
        let mut ahead = Vec::new();
        let columns = match options.header && options.columns.is_empty() {
            true => self.read_header(options, &mut ahead)?,
            false => options.columns.clone(),
        };
        let sql = copy_statement(options, self.format, &columns, options.header);
        connection.begin_copy(&sql).await?;
        let sent = self.send_pieces(ahead, connection, tell).await;
        let is_binary = self.format == LoadFormat::Binary;
        sent.map_err(|fault| LoadFault {
            line: fault.line.or(fault.copied_line().filter(|_| !is_binary)),
            ..fault
        })
    }

    async fn send_pieces(
        &mut self,
        mut piece: Vec<u8>,
        connection: &mut Connection,
        tell: Tell<'_>,
    ) -> Result<u64, LoadFault> {
        loop {
            if !piece.is_empty() {
                connection.send_data(&piece).await?;
                self.sent += piece.len() as u64;
                tell(&self.name, self.sent);
            }
            piece.clear();
            let read = (&mut self.reader)
                .take(PIECE_BYTES as u64)
                .read_to_end(&mut piece);
            if read.map_err(unread)? == 0 {
                return connection.end_copy().await;
            }
        }
    }

    /// The names in the first line. What is read goes into `ahead`.
    fn read_header(&mut self, options: &LoadOptions, ahead: &mut Vec<u8>) -> Result<Vec<String>, LoadFault> {
        let form = match self.format {
            LoadFormat::Csv => CopyForm::Csv,
            _ => CopyForm::Text,
        };
        let mut format = CopyFormat::of(form);
        match options.delimiter.as_deref().map(str::as_bytes) {
            Some([delimiter]) => format.delimiter = *delimiter,
            Some(_) => return Err(LoadFault::new("a delimiter is one byte".to_string())),
            None => {}
        }
        let mut decoder = Decoder::new(format, 0, LINE_BYTES_MAX);
        let mut record = Record::default();
        let at_header = |message: String| LoadFault::at_line(1, message);
        loop {
            let mut piece = Vec::new();
            let read = (&mut self.reader)
                .take(PIECE_BYTES as u64)
                .read_to_end(&mut piece);
            let taken = match read.map_err(unread)? {
                0 => decoder.end(),
                _ => decoder.push(&piece),
            };
            taken.map_err(|error| at_header(error.to_string()))?;
            ahead.extend_from_slice(&piece);
            match decoder.read(&mut record) {
                Ok(Progress::Starved) if !piece.is_empty() => {}
                Ok(Progress::Starved | Progress::Ended) => return Ok(Vec::new()),
                Err(error) => return Err(at_header(error.to_string())),
                Ok(Progress::Row) => break,
            }
        }
        let name = |at: usize| match record.get(at) {
            Some(FieldValue::Data(name)) if !name.is_empty() => {
                Ok(String::from_utf8_lossy(name).into_owned())
            }
            _ => Err(at_header(format!(
                "missing column name in header line field {}",
                at + 1
            ))),
        };
        (0..record.len()).map(name).collect()
    }

    async fn send_objects(
        &mut self,
        options: &LoadOptions,
        connection: &mut Connection,
        tell: Tell<'_>,
    ) -> Result<u64, LoadFault> {
        let refused = |what: &str| LoadFault::new(format!("{what} is of CSV and text, not of NDJSON"));
        for (is_given, what) in [
            (options.header, "--header"),
            (options.delimiter.is_some(), "--delimiter"),
            (options.null.is_some(), "--null"),
        ] {
            if is_given {
                return Err(refused(what));
            }
        }
        let columns = match options.columns.is_empty() {
            true => self.read_members()?,
            false => options.columns.clone(),
        };
        if columns.is_empty() {
            return Ok(0);
        }
        let arrays = array_columns(options, connection).await?;
        let sql = copy_statement(options, self.format, &columns, false);
        connection.begin_copy(&sql).await?;
        let mut rows = ObjectRows::new(columns, &arrays);
        let sent = self.send_rows(&mut rows, connection, tell).await;
        sent.map_err(|fault| LoadFault {
            line: fault.line.or(fault.copied_line().map(|row| rows.line_of(row))),
            ..fault
        })
    }

    async fn send_rows(
        &mut self,
        rows: &mut ObjectRows,
        connection: &mut Connection,
        tell: Tell<'_>,
    ) -> Result<u64, LoadFault> {
        let (mut line, mut out) = (Vec::new(), Vec::with_capacity(2 * PIECE_BYTES));
        loop {
            let has_line = read_line(&mut self.reader, &mut line)?;
            self.sent += line.len() as u64;
            if has_line {
                rows.put_line(&line, &mut out)?;
            }
            if out.len() >= PIECE_BYTES || !has_line && !out.is_empty() {
                connection.send_data(&out).await?;
                out.clear();
                tell(&self.name, self.sent);
            }
            if !has_line {
                return connection.end_copy().await;
            }
        }
    }

    /// The members of all objects, in the order in which they come first. What can be read only once is read ahead for some way.
    fn read_members(&mut self) -> Result<Vec<String>, LoadFault> {
        let mut members = Members::default();
        if let Some(mut again) = self.again.take() {
            members.read(&mut BufReader::with_capacity(PIECE_BYTES, &mut again))?;
            // Both have one place in the file.
            again.seek(SeekFrom::Start(0)).map_err(unread)?;
            return Ok(members.names);
        }
        let mut ahead = Vec::new();
        let mut line = Vec::new();
        while (ahead.len() as u64) < AHEAD_BYTES_MAX && read_line(&mut self.reader, &mut line)? {
            ahead.extend_from_slice(&line);
        }
        members.read(&mut ahead.as_slice())?;
        let rest = std::mem::replace(&mut self.reader, buffered(Box::new(std::io::empty())));
        self.reader = buffered(Box::new(std::io::Cursor::new(ahead).chain(rest)));
        Ok(members.names)
    }
}

/// The members of objects.
#[derive(Default)]
struct Members {
    names: Vec<String>,
    known: HashSet<String>,
}

impl Members {
    fn read(&mut self, lines: &mut dyn BufRead) -> Result<(), LoadFault> {
        let mut line = Vec::new();
        let mut number = 0;
        while read_line(lines, &mut line)? {
            number += 1;
            let object = read_object(&line).map_err(|reason| LoadFault::at_line(number, reason))?;
            for name in object.iter().flat_map(|object| object.keys()) {
                if !self.known.contains(name) {
                    self.known.insert(name.clone());
                    self.names.push(name.clone());
                }
            }
        }
        Ok(())
    }
}

/// The table's columns that are arrays: JSON's arrays are written otherwise there.
async fn array_columns(options: &LoadOptions, connection: &mut Connection) -> Result<Vec<String>, LoadFault> {
    let table = quote_literal(&table_name(&options.table));
    let sql = format!(
        "SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
         WHERE a.attrelid = {table}::regclass AND a.attnum > 0 AND t.typcategory = 'A'"
    );
    connection.run(&sql).await
}

/// Reads a line, its end with it; `false` at the end.
fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool, LoadFault> {
    line.clear();
    let mut limited = reader.take(LINE_BYTES_MAX as u64);
    limited.read_until(b'\n', line).map_err(unread)?;
    match line.len() >= LINE_BYTES_MAX {
        true => Err(LoadFault::new(format!(
            "a line of more than {LINE_BYTES_MAX} bytes"
        ))),
        false => Ok(!line.is_empty()),
    }
}

fn buffered(reader: Box<dyn Read + Send>) -> BufReader<Box<dyn Read + Send>> {
    BufReader::with_capacity(PIECE_BYTES, reader)
}

fn unread(error: std::io::Error) -> LoadFault {
    LoadFault::of_io("read the file", &error)
}

fn format_unknown(name: &str) -> LoadFault {
    LoadFault::new(format!("nothing says the format of {name}"))
        .with_hint("Give it by --format csv, tsv, binary or ndjson.")
}

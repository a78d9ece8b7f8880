//! Files of the server that COPY reads and writes: those below the folder of `keyspan.load_dir`, and no others. Called by `from` and
//! `to`, on the query threads.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use futures::TryStreamExt;

use super::reading::{Copied, Reading};
use crate::copy::RowEncoder;
use crate::parse::copy::{Copy, CopyPlace};
use crate::scan::{OutputColumn, RowsStream};
use crate::system::{StatementContext, query_threads};
use crate::types::ColumnEncoder;
use crate::{Error, Result};

/// Bytes read, and written, at once.
const PIECE_BYTES: usize = 64 << 10;

/// What to do instead.
const CLIENT_HINT: &str =
    "COPY FROM STDIN and TO STDOUT go through the client; psql's \\copy does that with the client's files.";

/// Whether data may come from there, or go there. Errors: 0A000.
pub(super) fn check_place(ctx: &StatementContext, copy: &Copy) -> Result<()> {
    match &copy.place {
        CopyPlace::Client => Ok(()),
        CopyPlace::Program => Err(Error::unsupported("COPY with PROGRAM", Some(CLIENT_HINT))),
        CopyPlace::File(_) if load_dir(ctx).is_some() => Ok(()),
        CopyPlace::File(_) => {
            let hint = format!(
                "{CLIENT_HINT} A server that was started with --load-dir reads and writes files below it."
            );
            Err(Error::unsupported("COPY with a file of the server", Some(&hint)))
        }
    }
}

fn load_dir(ctx: &StatementContext) -> Option<PathBuf> {
    let folder = ctx.settings.get("keyspan.load_dir")?;
    (!folder.is_empty()).then(|| PathBuf::from(folder))
}

/// Reads rows off a file; answers how many were written, and where. Errors: 42501, 58P01, 58030, those of the data.
pub(super) async fn read(ctx: &StatementContext, path: &str, mut reading: Reading) -> Result<Copied> {
    let path = within(ctx, path, |path| path.canonicalize())?;
    let failed = |error: std::io::Error| cannot("open", &path, "reading", &error);
    let is_file = fs::metadata(&path).map_err(failed)?.is_file();
    if !is_file {
        return Err(not_allowed(format!("\"{}\" is not a file", path.display())));
    }
    let mut file = File::open(&path).map_err(failed)?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        query_threads::check_left()?;
        let count = file
            .read(&mut piece)
            .map_err(|error| cannot("read", &path, "reading", &error))?;
        if count == 0 {
            return reading.end().await;
        }
        reading.take(&piece[..count]).await?;
    }
}

/// Writes rows to a file, in place of what it was; answers how many. Errors: 42501, 58P01, 58030, the rows'.
pub(super) async fn write(
    ctx: &StatementContext,
    path: &str,
    columns: &[OutputColumn],
    mut rows: RowsStream,
    mut encoder: RowEncoder,
) -> Result<u64> {
    let path = within(ctx, path, |path| match path.exists() {
        true => path.canonicalize(),
        false => {
            let folder = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
            Ok(folder.join(path.file_name().unwrap_or_default()))
        }
    })?;
    if path.exists() && !path.is_file() {
        return Err(not_allowed(format!("\"{}\" is not a file", path.display())));
    }
    let mut file = File::create(&path).map_err(|error| cannot("open", &path, "writing", &error))?;
    let settings = ctx.format_settings();
    let (mut out, mut count) = (Vec::new(), 0);
    encoder.put_header(&mut out)?;
    while let Some(rows) = rows.try_next().await? {
        query_threads::check_left()?;
        let batch = rows.into_batch()?;
        let pairs = columns.iter().zip(batch.columns());
        let encoders = pairs
            .map(|(column, array)| ColumnEncoder::new(&column.ty, array, encoder.wire_format(), &settings));
        let encoders: Vec<_> = encoders.collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            encoder.put_row(&encoders, row, &mut out)?;
            if out.len() >= PIECE_BYTES {
                put(&mut file, &mut out, &path)?;
            }
        }
        count += batch.num_rows() as u64;
    }
    encoder.put_end(&mut out);
    put(&mut file, &mut out, &path)?;
    Ok(count)
}

fn put(file: &mut File, out: &mut Vec<u8>, path: &Path) -> Result<()> {
    let written = file.write_all(out);
    out.clear();
    written.map_err(|error| cannot("write", path, "writing", &error))
}

/// The path, links resolved, which must be below the folder. Errors: 42501, 58P01.
fn within(
    ctx: &StatementContext,
    path: &str,
    resolve: impl FnOnce(&Path) -> std::io::Result<PathBuf>,
) -> Result<PathBuf> {
    let folder = load_dir(ctx).ok_or_else(|| Error::internal("no folder to read files of"))?;
    let asked = folder.join(path);
    let folder = folder
        .canonicalize()
        .map_err(|error| cannot("open", &folder, "reading", &error))?;
    let resolved = resolve(&asked);
    // Of what is elsewhere not even whether it is there.
    let is_within = match &resolved {
        Ok(path) => path.starts_with(&folder) && *path != folder,
        Err(_) => !has_parents(&asked) && asked.starts_with(&folder),
    };
    if !is_within {
        return Err(not_allowed(
            "the file is not below the server's --load-dir".to_string(),
        ));
    }
    resolved.map_err(|error| cannot("open", &asked, "reading", &error))
}

fn has_parents(path: &Path) -> bool {
    path.components()
        .any(|part| part == std::path::Component::ParentDir)
}

fn not_allowed(message: String) -> Error {
    Error::FileRefused {
        state: "42501",
        message: format!("permission denied: {message}"),
        hint: CLIENT_HINT,
    }
}

fn cannot(verb: &str, path: &Path, purpose: &str, error: &std::io::Error) -> Error {
    let state = match error.kind() {
        std::io::ErrorKind::NotFound => "58P01",
        std::io::ErrorKind::PermissionDenied => "42501",
        _ => "58030",
    };
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let path = path.display();
    Error::FileRefused {
        state,
        message: match verb {
            "open" => format!("could not open file \"{path}\" for {purpose}: {reason}"),
            verb => format!("could not {verb} file \"{path}\": {reason}"),
        },
        hint: CLIENT_HINT,
    }
}

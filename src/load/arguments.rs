//! `LoadArguments`: the command line of `keyspan load`. Read by `main`.

use std::path::PathBuf;

use clap::Args;

use super::{LoadFormat, LoadOptions, LoadTarget, OnError, ServerAddress};
use crate::Error;
use crate::store::StoreKind;
use crate::wire::ServerOptions;

/// The arguments of `keyspan load`.
#[derive(Debug, Args)]
pub struct LoadArguments {
    /// The table, `schema.table` or `table`.
    #[arg(long, value_name = "TABLE")]
    table: String,
    /// What the files are; without it their names say: .csv, .tsv, .bin, .ndjson. TSV is COPY's text: \N is NULL.
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<LoadFormat>,
    /// The columns of the data, in its order; else the header's, the members' of the objects, or the table's.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    columns: Vec<String>,
    /// The first line of each file names its columns; a table with DYNAMIC_COLUMNS gets those that it has not.
    #[arg(long)]
    header: bool,
    /// What stands between two fields; \t is a tab.
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<String>,
    /// What stands for NULL.
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// Leave out rows that hold what is no value of its column, and go on.
    #[arg(long)]
    ignore_errors: bool,
    /// End when more rows than this were left out.
    #[arg(long, value_name = "ROWS", requires = "ignore_errors")]
    reject_limit: Option<u64>,
    /// Commit after so many rows: for more than a transaction may hold.
    #[arg(long, value_name = "ROWS")]
    batch_rows: Option<u64>,
    /// Load all files or none.
    #[arg(long)]
    single_transaction: bool,
    /// A running server, as postgresql://user@host:port/database; what it leaves out the next flags say.
    #[arg(long, value_name = "URL", conflicts_with = "data_dir")]
    url: Option<String>,
    /// Where the server runs.
    #[arg(long, env = "PGHOST", value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Its port.
    #[arg(long, env = "PGPORT", value_name = "PORT", default_value_t = 5433)]
    port: u16,
    /// Who loads.
    #[arg(long, env = "PGUSER", value_name = "NAME", default_value = "postgres")]
    user: String,
    /// The database.
    #[arg(long, env = "PGDATABASE", value_name = "NAME", default_value = "postgres")]
    dbname: String,
    /// A data directory that no server uses, in place of a server.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The engine of the data directory.
    #[arg(long, value_name = "ENGINE", default_value = "sled", value_parser = parse_store)]
    store: StoreKind,
    /// The files, `-` for the standard input, which it is without any.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl LoadArguments {
    /// The table, as it was given.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// What is loaded, and where to. Errors: a URL that is none.
    pub fn into_options(self) -> Result<(LoadOptions, LoadTarget), String> {
        let mut address = ServerAddress {
            host: self.host,
            port: self.port,
            user: self.user,
            database: self.dbname,
        };
        if let Some(url) = &self.url {
            address.take_url(url)?;
        }
        let target = match self.data_dir {
            None => LoadTarget::Server(address),
            Some(data_dir) => LoadTarget::Folder(Box::new(ServerOptions {
                data_dir,
                store: self.store,
                ..ServerOptions::default()
            })),
        };
        let options = LoadOptions {
            table: self.table,
            format: self.format,
            columns: self.columns,
            header: self.header,
            delimiter: self.delimiter.map(|text| text.replace("\\t", "\t")),
            null: self.null,
            on_error: match self.ignore_errors {
                true => OnError::Ignore(self.reject_limit),
                false => OnError::Stop,
            },
            batch_rows: self.batch_rows,
            single_transaction: self.single_transaction,
            files: self.files,
        };
        Ok((options, target))
    }
}

fn parse_store(name: &str) -> Result<StoreKind, String> {
    name.parse().map_err(|error: Error| error.to_string())
}

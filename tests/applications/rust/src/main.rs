//! tokio-postgres and sqlx: `clients HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL.

mod orm;
mod wire;

use std::fmt::Debug;

/// What failed, as its step prints it: a server's error by its SQLSTATE and message.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Prints what a step gave.
pub fn told<T: Debug>(name: &str, given: Result<T, Fault>) {
    match given {
        Ok(given) => println!("{name} OK {given:?}"),
        Err(fault) => println!("{name} FAIL {}", described(&fault)),
    }
}

/// A fault in a line.
pub fn described(fault: &Fault) -> String {
    if let Some(error) = fault.downcast_ref::<tokio_postgres::Error>()
        && let Some(error) = error.as_db_error()
    {
        return format!("{} {}", error.code().code(), error.message());
    }
    if let Some(error) = fault.downcast_ref::<sqlx::Error>()
        && let Some(error) = error.as_database_error()
    {
        return format!("{:?} {} {:?}", error.code(), error.message(), error.constraint());
    }
    fault.to_string().lines().next().unwrap_or_default().to_string()
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, user, database] = &arguments[..] else {
        panic!("clients HOST PORT USER DATABASE");
    };
    let url = format!("postgres://{user}@{host}:{port}/{database}?sslmode=disable");
    wire::run(&url).await;
    orm::run(&url).await;
}

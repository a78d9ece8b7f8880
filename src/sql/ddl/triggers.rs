//! ALTER TABLE … ENABLE and DISABLE TRIGGER. Nobody can make a trigger: what there is are those by which PostgreSQL asks foreign keys, which
//! ALL names. Called by `alter`.

use sqlparser::ast::Ident;

use crate::catalog::TableDef;
use crate::parse::names;
use crate::{Error, Result};

/// Triggers that a statement names together.
#[derive(PartialEq)]
enum Triggers {
    /// Those of foreign keys as well.
    All,
    /// Those that users made, of which there are none.
    OfUsers,
}

/// Whether a statement names what is there. Errors: 42704.
pub(super) fn check(table: &TableDef, name: &Ident) -> Result<()> {
    named(table, name).map(|_| ())
}

/// Errors: 42704 for a trigger by its name.
fn named(table: &TableDef, name: &Ident) -> Result<Triggers> {
    let lower = names::fold(name);
    match lower.as_str() {
        "all" if name.quote_style.is_none() => Ok(Triggers::All),
        "user" if name.quote_style.is_none() => Ok(Triggers::OfUsers),
        _ => Err(Error::UndefinedObject {
            kind: "trigger",
            name: format!("{lower}\" for table \"{}", table.name),
        }),
    }
}

/// ENABLE TRIGGER, DISABLE TRIGGER: foreign keys of the table are asked, or not.
pub(super) fn set(table: &mut TableDef, name: &Ident, disabled: bool) -> Result<()> {
    if named(table, name)? == Triggers::All {
        table.options.triggers_disabled = disabled;
    }
    Ok(())
}

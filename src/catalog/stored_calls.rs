//! Whether a write may call a function of a user's that the statement does not name: what is stored with its table may.
//!
//! Told by words, not by binding: a text that only has the word of a function's name is taken to call it. Asked at each run of a
//! write, so that a table without such texts costs nothing.

use super::{Catalog, ColumnDef, ColumnDefault, TableDef, TypeDef};

impl Catalog {
    /// Whether a write of this table may: its own texts, and those of the tables that its foreign keys' actions may write.
    pub fn write_may_call(&self, table: &TableDef) -> bool {
        if self.routines.is_empty() {
            return false;
        }
        let mut written = vec![table];
        let mut asked = 0;
        while let Some(table) = written.get(asked) {
            if self.texts_may_call(table) {
                return true;
            }
            for (referring, _) in self.references_to(table.oid()) {
                if !written.iter().any(|table| table.oid() == referring.oid()) {
                    written.push(referring);
                }
            }
            asked += 1;
        }
        false
    }

    /// Whether a text that is stored with the table may.
    fn texts_may_call(&self, table: &TableDef) -> bool {
        let routines = &self.routines;
        let domains = table.columns.iter().flat_map(|column| &column.domain);
        let mut domains = domains.flat_map(|domain| domain.domains());
        texts_of_rows(table).any(|text| routines.may_be_in(text))
            || domains.any(|domain| texts_of_type(domain).iter().any(|text| routines.may_be_in(text)))
    }
}

/// The expressions that a table stores, as texts.
pub(super) fn texts_of_table(table: &TableDef) -> Vec<&str> {
    let conditions = table.triggers.iter().filter_map(|trigger| trigger.when.as_ref());
    let conditions = conditions.map(|when| when.sql.as_str());
    texts_of_rows(table).chain(conditions).collect()
}

/// Those that are evaluated of each row that is written. What its indexes have are of hidden columns.
fn texts_of_rows(table: &TableDef) -> impl Iterator<Item = &str> {
    let checks = table.checks.iter().map(|check| check.sql.as_str());
    table.columns.iter().flat_map(texts_of_column).chain(checks)
}

fn texts_of_column(column: &ColumnDef) -> impl Iterator<Item = &str> {
    let default = match &column.default {
        Some(ColumnDefault::Expression { sql, .. }) => Some(sql.as_str()),
        _ => None,
    };
    let generated = column.generation().map(|generation| generation.sql.as_str());
    default.into_iter().chain(generated)
}

/// The expressions that a type stores, as texts: a domain's.
pub(super) fn texts_of_type(ty: &TypeDef) -> Vec<&str> {
    let Some(domain) = ty.domain() else {
        return Vec::new();
    };
    let checks = domain.checks.iter().map(|check| check.sql.as_str());
    checks.chain(domain.default.as_deref()).collect()
}

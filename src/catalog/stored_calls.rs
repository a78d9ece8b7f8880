//! Whether a write may call a function of a user's that the statement does not name: what is stored with its table may.
//!
//! Told by words, not by binding: a text that only has the word of a function's name is taken to call it. Asked at each run of a
//! write, so that a table without such texts costs nothing.

use super::{Catalog, ColumnDef, ColumnDefault, Routines, TableDef, TypeDef};

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

    /// Whether a text that is stored with the table may. Those of its indexes are of hidden columns.
    fn texts_may_call(&self, table: &TableDef) -> bool {
        let mut checks = table.checks.iter();
        table.columns.iter().any(|column| self.column_may_call(column))
            || checks.any(|check| self.routines.may_be_in(&check.sql))
    }

    fn column_may_call(&self, column: &ColumnDef) -> bool {
        let routines = &self.routines;
        let default = match &column.default {
            Some(ColumnDefault::Expression { sql, .. }) => Some(sql),
            _ => None,
        };
        let generated = column.generation().map(|generation| &generation.sql);
        let domains = column.domain.iter().flat_map(|domain| domain.domains());
        default
            .into_iter()
            .chain(generated)
            .any(|text| routines.may_be_in(text))
            || domains
                .into_iter()
                .any(|domain| domain_may_call(domain, routines))
    }
}

fn domain_may_call(ty: &TypeDef, routines: &Routines) -> bool {
    ty.domain().is_some_and(|domain| {
        let checks = domain.checks.iter().map(|check| &check.sql);
        checks.chain(&domain.default).any(|text| routines.may_be_in(text))
    })
}

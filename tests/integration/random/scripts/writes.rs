//! Statements that write rows, and the blocks that they stand in.

use super::tables::{Column, Script, Table, names};

impl Script {
    /// One statement of any kind.
    pub(super) fn statement(&mut self) {
        match self.below(100) {
            0..=17 => self.definition(),
            18..=42 => self.insert_rows(),
            43..=58 => self.update(),
            59..=67 => self.delete(),
            68..=71 => self.merge(),
            72..=75 => self.write_in_with(),
            76..=84 => self.block_statement(),
            85..=90 => self.trigger_statement(),
            _ => self.read(),
        }
    }

    fn block_statement(&mut self) {
        let sql = match (self.in_block, self.below(6)) {
            (false, _) => {
                self.in_block = true;
                "BEGIN"
            }
            (true, 0 | 1) => {
                self.in_block = false;
                "COMMIT"
            }
            (true, 2) => {
                self.in_block = false;
                "ROLLBACK"
            }
            (true, 3) => "SAVEPOINT s",
            (true, 4) => "ROLLBACK TO SAVEPOINT s",
            (true, _) => self.pick(&[
                "RELEASE SAVEPOINT s",
                "SET CONSTRAINTS ALL IMMEDIATE",
                "SET CONSTRAINTS ALL DEFERRED",
            ]),
        };
        self.push(sql);
    }

    /// Values for the columns, as a row of VALUES.
    fn row(&mut self, columns: &[Column]) -> String {
        let values: Vec<String> = columns
            .iter()
            .map(|column| match self.chance(6) {
                true => "DEFAULT".to_string(),
                false => self.value(column.kind),
            })
            .collect();
        format!("({})", values.join(", "))
    }

    /// What a statement returns, beside NULLs and values.
    fn returning(&mut self, sql: &str, table: &Table, alias: &str) -> String {
        match self.below(3) {
            0 => all_of(sql).to_string(),
            1 => {
                let column = self.pick(&table.columns);
                let name = super::tables::qualified(alias, &column.name);
                format!(" RETURNING {name}, {}", self.over(&name, column.kind))
            }
            _ => String::new(),
        }
    }

    fn insert(&mut self, table: &Table) -> String {
        let mut columns = table.written();
        if columns.is_empty() || self.chance(3) {
            return format!("INSERT INTO {} DEFAULT VALUES", table.name);
        }
        while columns.len() > 1 && self.chance(20) {
            let at = self.below(columns.len());
            columns.remove(at);
        }
        let list = names(&columns);
        if self.chance(15) {
            return self.insert_from(table, &columns);
        }
        let rows: Vec<String> = (0..1 + self.below(4)).map(|_| self.row(&columns)).collect();
        format!("INSERT INTO {} ({list}) VALUES {}", table.name, rows.join(", "))
    }

    /// An INSERT of another table's rows, or of its own.
    fn insert_from(&mut self, table: &Table, columns: &[Column]) -> String {
        let from = self.table();
        let items: Vec<String> = columns
            .iter()
            .map(|column| match self.column_of(&from, column.kind) {
                Some(other) if self.chance(50) => self.over(&other.name, column.kind),
                Some(other) => other.name,
                None => self.value(column.kind),
            })
            .collect();
        let condition = self.condition(&from, "");
        let (list, items) = (names(columns), items.join(", "));
        format!(
            "INSERT INTO {} ({list}) SELECT {items} FROM {} WHERE {condition}",
            table.name, from.name
        )
    }

    pub(super) fn insert_rows(&mut self) {
        let table = self.table();
        let mut sql = self.insert(&table);
        if self.chance(35) {
            sql.push_str(&self.on_conflict(&table));
        }
        let returning = self.returning(&sql, &table, "");
        self.push(format!("{sql}{returning}"));
    }

    fn on_conflict(&mut self, table: &Table) -> String {
        let unique = match table.unique.is_empty() || self.chance(20) {
            true => None,
            false => Some(self.pick(&table.unique)),
        };
        let target = unique
            .map(|columns| format!(" ({})", columns.join(", ")))
            .unwrap_or_default();
        if target.is_empty() || self.chance(40) {
            return format!(" ON CONFLICT{target} DO NOTHING");
        }
        let column = self.pick(&table.columns);
        let value = match self.below(4) {
            0 => self.value(column.kind),
            1 => self.over(&format!("{}.{}", table.name, column.name), column.kind),
            _ => format!("excluded.{}", column.name),
        };
        let condition = match self.chance(30) {
            true => format!(" WHERE {}", self.condition(table, &table.name)),
            false => String::new(),
        };
        format!(
            " ON CONFLICT{target} DO UPDATE SET {} = {value}{condition}",
            column.name
        )
    }

    /// The assignments of an UPDATE. A unique column gets a constant, for whether a row meets another's old value depends on their order.
    fn assignments(&mut self, table: &Table, alias: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        for column in self.some_columns(table, 3) {
            let is_unique = table.unique.iter().flatten().any(|unique| *unique == column.name);
            let value = match self.below(8) {
                0 => "DEFAULT".to_string(),
                1..=3 if !is_unique => {
                    let of = self
                        .column_of(table, column.kind)
                        .unwrap_or_else(|| column.clone());
                    self.over(&super::tables::qualified(alias, &of.name), column.kind)
                }
                4 if !is_unique => {
                    let other = self.table();
                    match self.column_of(&other, column.kind) {
                        Some(of) if !["boolean", "jsonb", "uuid"].contains(&of.kind.name) => {
                            format!("(SELECT max(s.{}) FROM {} s)", of.name, other.name)
                        }
                        _ => self.value(column.kind),
                    }
                }
                _ => self.value(column.kind),
            };
            parts.push(format!("{} = {value}", column.name));
        }
        parts.join(", ")
    }

    fn update_of(&mut self, table: &Table) -> String {
        let assignments = self.assignments(table, "a");
        let condition = self.condition(table, "a");
        let other = self.table();
        let column = self.pick(&table.columns);
        match self.column_of(&other, column.kind) {
            Some(of) if self.chance(20) && of.kind.name != "jsonb" => format!(
                "UPDATE {} a SET {assignments} FROM {} b WHERE a.{} = b.{} AND ({condition})",
                table.name, other.name, column.name, of.name
            ),
            Some(of) if self.chance(20) => format!(
                "UPDATE {} a SET {assignments} WHERE a.{} IN (SELECT {} FROM {}) AND ({condition})",
                table.name, column.name, of.name, other.name
            ),
            _ => format!("UPDATE {} a SET {assignments} WHERE {condition}", table.name),
        }
    }

    fn update(&mut self) {
        let table = self.table();
        let sql = self.update_of(&table);
        let returning = self.returning(&sql, &table, "a");
        self.push(format!("{sql}{returning}"));
    }

    fn delete_of(&mut self, table: &Table) -> String {
        let condition = self.condition(table, "a");
        let other = self.table();
        let column = self.pick(&table.columns);
        match self.column_of(&other, column.kind) {
            Some(of) if self.chance(25) => format!(
                "DELETE FROM {} a USING {} b WHERE a.{} = b.{} AND ({condition})",
                table.name, other.name, column.name, of.name
            ),
            Some(of) if self.chance(25) => format!(
                "DELETE FROM {} a WHERE NOT EXISTS (SELECT FROM {} b WHERE a.{} = b.{}) AND ({condition})",
                table.name, other.name, column.name, of.name
            ),
            _ => format!("DELETE FROM {} a WHERE {condition}", table.name),
        }
    }

    fn delete(&mut self) {
        let table = self.table();
        let sql = self.delete_of(&table);
        let returning = self.returning(&sql, &table, "a");
        self.push(format!("{sql}{returning}"));
    }

    fn merge(&mut self) {
        let (table, source) = (self.base_table(), self.table());
        let column = self.pick(&table.columns);
        let Some(of) = self.column_of(&source, column.kind) else {
            return self.update();
        };
        let matched = match self.below(3) {
            0 => "DELETE".to_string(),
            1 => "DO NOTHING".to_string(),
            _ => format!("UPDATE SET {}", self.assignments(&table, "a")),
        };
        let condition = match self.chance(40) {
            true => format!(" AND {}", self.condition(&table, "a")),
            false => String::new(),
        };
        let columns = table.written();
        let row = self.row(&columns);
        let insert = match columns.is_empty() || self.chance(20) {
            true => "DO NOTHING".to_string(),
            false => format!("INSERT ({}) VALUES {row}", names(&columns)),
        };
        self.push(format!(
            "MERGE INTO {} a USING (SELECT DISTINCT {} AS k FROM {}) b ON a.{} = b.k
             WHEN MATCHED{condition} THEN {matched} WHEN NOT MATCHED THEN {insert}",
            table.name, of.name, source.name, column.name
        ));
    }

    fn write_in_with(&mut self) {
        let (table, other) = (self.table(), self.table());
        let write = match self.below(3) {
            0 => self.insert(&table),
            1 => self.update_of(&table),
            _ => self.delete_of(&table),
        };
        let is_other = table.name != other.name && !table.is_view && !other.is_view;
        let rest = match self.below(3) {
            0 => "SELECT * FROM w".to_string(),
            1 if is_other => self.delete_of(&other),
            _ => format!("SELECT count(*), (SELECT count(*) FROM {}) FROM w", other.name),
        };
        self.push(format!("WITH w AS ({write}{}) {rest}", all_of(&write)));
    }
}

/// RETURNING of all columns: of the target's alone where USING may join several rows to one, of which PostgreSQL gives any.
fn all_of(sql: &str) -> &'static str {
    match sql.contains(" USING ") {
        true => " RETURNING a.*",
        false => " RETURNING *",
    }
}

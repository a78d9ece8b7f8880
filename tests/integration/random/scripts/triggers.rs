//! Statements that make, change and drop triggers. What they do is seen in the tables that they write to, one of which only triggers write.
//! No trigger shows in which order rows come, which PostgreSQL leaves open.

use super::tables::{Script, Table};

/// The table that triggers write what fired them to.
pub(super) const TRACE: &str = "trace";

/// A trigger that a script has made.
#[derive(Debug, Clone)]
pub(super) struct Trigger {
    name: String,
    table: String,
}

impl Script {
    /// One of them.
    pub(super) fn trigger_statement(&mut self) {
        if self.triggers.is_empty() || self.chance(70) {
            return self.create_trigger();
        }
        let triggers = self.triggers.clone();
        let Trigger { name, table } = self.pick(&triggers);
        match self.below(4) {
            0 => self.push(format!("DROP TRIGGER {name} ON {table}")),
            1 => self.push(format!("ALTER TABLE {table} DISABLE TRIGGER {name}")),
            2 => self.push(format!("ALTER TABLE {table} ENABLE TRIGGER {name}")),
            _ => {
                let new = self.fresh("g");
                self.push(format!("ALTER TRIGGER {name} ON {table} RENAME TO {new}"));
                self.triggers.push(Trigger { name: new, table });
            }
        }
    }

    fn create_trigger(&mut self) {
        if self.triggers.is_empty() {
            self.push(format!("CREATE TABLE {TRACE} (fired text)"));
        }
        let table = self.base_table();
        let (function, name) = (self.fresh("f"), self.fresh("g"));
        let events = self.events(&table);
        let is_before = self.chance(50);
        let for_each_row = self.chance(80);
        let body = match (for_each_row, is_before) {
            (false, _) => self.traced("''"),
            (true, true) => self.before_row(&table, &events),
            (true, false) => self.after_row(&table),
        };
        self.push(format!(
            "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN coalesce(new, old); END $$"
        ));
        let when = self.when(&table, &events, for_each_row);
        self.push(format!(
            "CREATE TRIGGER {name} {} {} ON {} FOR EACH {} {when}EXECUTE FUNCTION {function}()",
            if is_before { "BEFORE" } else { "AFTER" },
            events.join(" OR "),
            table.name,
            if for_each_row { "ROW" } else { "STATEMENT" },
        ));
        self.triggers.push(Trigger {
            name,
            table: table.name,
        });
    }

    /// What fires it.
    fn events(&mut self, table: &Table) -> Vec<String> {
        let mut events: Vec<String> = Vec::new();
        for event in ["INSERT", "UPDATE", "DELETE"] {
            if self.chance(60) {
                events.push(event.to_string());
            }
        }
        if events.is_empty() {
            events.push("UPDATE".to_string());
        }
        if self.chance(20) {
            let column = self.pick(&table.columns).name;
            for event in events.iter_mut().filter(|event| *event == "UPDATE") {
                *event = format!("UPDATE OF {column}");
            }
        }
        events
    }

    fn when(&mut self, table: &Table, events: &[String], for_each_row: bool) -> String {
        let [event] = events else {
            return String::new();
        };
        if !for_each_row || self.chance(60) {
            return String::new();
        }
        let column = self.pick(&table.columns);
        let condition = match event.as_str() {
            "INSERT" => self.condition_on(&format!("new.{}", column.name), column.kind),
            "DELETE" => self.condition_on(&format!("old.{}", column.name), column.kind),
            _ => format!("new.{0} IS DISTINCT FROM old.{0}", column.name),
        };
        // A generated column is not computed yet before a row is written.
        match column.is_generated {
            true => String::new(),
            false => format!("WHEN ({condition}) "),
        }
    }

    /// Tells that it has fired.
    fn traced(&mut self, row: &str) -> String {
        format!("INSERT INTO {TRACE} VALUES (concat_ws(' ', tg_name, tg_when, tg_op, {row}));")
    }

    fn before_row(&mut self, table: &Table, events: &[String]) -> String {
        let written = table.written();
        let column = self.pick(&written);
        let value = self.value(column.kind);
        let condition = self.condition_on(&format!("coalesce(new.{0}, old.{0})", column.name), column.kind);
        match self.below(5) {
            0 => format!("IF {condition} THEN RETURN NULL; END IF;"),
            1 => format!("IF {condition} THEN RAISE EXCEPTION 'not this row'; END IF;"),
            2 if events.iter().any(|event| event != "DELETE") => {
                format!(
                    "IF tg_op <> 'DELETE' THEN new.{} := {value}; END IF;",
                    column.name
                )
            }
            3 => self.elsewhere(table),
            _ => self.traced(&format!("new.{0}, old.{0}", column.name)),
        }
    }

    fn after_row(&mut self, table: &Table) -> String {
        match self.below(3) {
            0 => self.elsewhere(table),
            _ => self.traced("new::text, old::text"),
        }
    }

    /// Writes to another table.
    fn elsewhere(&mut self, table: &Table) -> String {
        let other = self.base_table();
        if other.name == table.name {
            return self.traced("new::text");
        }
        let columns = other.written();
        let column = self.pick(&columns);
        let value = self.value(column.kind);
        let condition = self.condition(&other, "");
        let write = match self.below(3) {
            0 => format!("DELETE FROM {} WHERE {condition};", other.name),
            _ => format!(
                "UPDATE {} SET {} = {value} WHERE {condition};",
                other.name, column.name
            ),
        };
        format!("IF pg_trigger_depth() < 3 THEN {write} END IF;")
    }
}

//! Statements that make and change tables, indexes and views.

use super::tables::{Column, Kind, Script, Table, names};

impl Script {
    /// The tables that a script begins with: two or three, of which later ones may reference earlier ones.
    pub(super) fn make_tables(&mut self) {
        for _ in 0..2 + self.below(2) {
            self.create_table();
        }
        for _ in 0..2 {
            self.insert_rows();
        }
    }

    fn create_table(&mut self) {
        let name = self.fresh("t");
        let mut table = Table {
            name: name.clone(),
            columns: Vec::new(),
            unique: Vec::new(),
            is_view: false,
        };
        let mut parts = Vec::new();
        for at in 0..2 + self.below(5) {
            let kind = match at {
                0 => self.kind_of_key(),
                _ => self.kind(),
            };
            let column = Column {
                name: self.fresh("c"),
                kind,
                is_generated: false,
            };
            let of_key = at == 0 && self.chance(75);
            let mut part = format!("{} {}", column.name, kind.name);
            if of_key {
                part.push_str(" PRIMARY KEY");
                table.unique.push(vec![column.name.clone()]);
                table.columns.push(column);
            } else {
                self.column_constraints(&mut part, &mut table, column, at);
            }
            parts.push(part);
        }
        for _ in 0..self.below(3) {
            if let Some(constraint) = self.table_constraint(&mut table) {
                parts.push(constraint);
            }
        }
        self.push(format!("CREATE TABLE {name} ({})", parts.join(", ")));
        self.tables.push(table);
    }

    /// Adds the column to the table, with constraints to its definition.
    fn column_constraints(&mut self, part: &mut String, table: &mut Table, mut column: Column, at: usize) {
        let (kind, name) = (column.kind, column.name.clone());
        match self.below(12) {
            0 | 1 => {
                let value = self.some_value(kind);
                part.push_str(&format!(" DEFAULT {value}"));
            }
            2 => part.push_str(" NOT NULL"),
            3 if at > 0 => {
                let of = self.pick(&table.columns);
                if of.kind == kind && !of.is_generated {
                    let over = self.over(&of.name, kind);
                    part.push_str(&format!(" GENERATED ALWAYS AS ({over}) STORED"));
                    column.is_generated = true;
                }
            }
            4 => {
                let condition = self.condition_on(&name, kind);
                part.push_str(&format!(" CHECK ({condition})"));
            }
            5 if kind.name != "double precision" && kind.name != "jsonb" => {
                let words = self.unique_words();
                part.push_str(words);
                if !words.contains("DEFERRABLE") {
                    table.unique.push(vec![name]);
                }
            }
            6 | 7 => {
                if let Some((target, key)) = self.target(kind) {
                    let rest = self.reference_words();
                    part.push_str(&format!(" REFERENCES {target} ({key}){rest}"));
                }
            }
            _ => {}
        }
        table.columns.push(column);
    }

    fn unique_words(&mut self) -> &'static str {
        self.pick(&[
            " UNIQUE",
            " UNIQUE",
            " UNIQUE",
            " UNIQUE NULLS NOT DISTINCT",
            " UNIQUE DEFERRABLE INITIALLY DEFERRED",
        ])
    }

    /// A table and a unique column of it of this type.
    fn target(&mut self, kind: Kind) -> Option<(String, String)> {
        let mut targets = Vec::new();
        for table in self.tables.iter().filter(|table| !table.is_view) {
            for unique in table.unique.iter().filter(|unique| unique.len() == 1) {
                if table
                    .columns
                    .iter()
                    .any(|column| column.name == unique[0] && column.kind == kind)
                {
                    targets.push((table.name.clone(), unique[0].clone()));
                }
            }
        }
        (!targets.is_empty()).then(|| self.pick(&targets))
    }

    fn reference_words(&mut self) -> String {
        let actions = [
            "",
            "",
            " CASCADE",
            " SET NULL",
            " SET DEFAULT",
            " RESTRICT",
            " NO ACTION",
        ];
        let mut words = String::new();
        for event in ["DELETE", "UPDATE"] {
            match self.pick(&actions) {
                "" => {}
                action => words.push_str(&format!(" ON {event}{action}")),
            }
        }
        words.push_str(self.pick(&["", "", "", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE"]));
        words
    }

    fn table_constraint(&mut self, table: &mut Table) -> Option<String> {
        let name = match self.chance(50) {
            true => format!("CONSTRAINT {} ", self.fresh("k")),
            false => String::new(),
        };
        match self.below(4) {
            0 | 1 => {
                let condition = self.condition(table, "");
                Some(format!("{name}CHECK ({condition})"))
            }
            2 => {
                let columns = self.some_columns(table, 2);
                let words = self.unique_words();
                let word = |word: &'static str| if words.contains(word) { word } else { "" };
                let (nulls, deferred) = (word(" NULLS NOT DISTINCT"), word(" DEFERRABLE"));
                let list = names(&columns);
                if deferred.is_empty() {
                    let columns = columns.into_iter().map(|column| column.name);
                    table.unique.push(columns.collect());
                }
                Some(format!("{name}UNIQUE{nulls} ({list}){deferred}"))
            }
            _ => {
                let own = self.pick(&table.columns);
                let (target, key) = self.target(own.kind)?;
                let rest = self.reference_words();
                Some(format!(
                    "{name}FOREIGN KEY ({}) REFERENCES {target} ({key}){rest}",
                    own.name
                ))
            }
        }
    }

    /// Up to so many different columns.
    pub(super) fn some_columns(&mut self, table: &Table, most: usize) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for _ in 0..1 + self.below(most) {
            let column = self.pick(&table.columns);
            if columns.iter().all(|other| other.name != column.name) {
                columns.push(column);
            }
        }
        columns
    }

    /// Something made or changed.
    pub(super) fn definition(&mut self) {
        match self.below(20) {
            0..=3 => self.create_index(),
            4 => self.create_view(),
            5 => self.table_as(),
            6 if self.tables.len() < 6 => self.create_table(),
            7 => {
                let table = self.base_table();
                let words = self.pick(&["", " CASCADE", ""]);
                self.push(format!("TRUNCATE {}{words}", table.name));
            }
            8 => self.drop_something(),
            _ => self.alter_table(),
        }
    }

    fn create_index(&mut self) {
        let table = self.base_table();
        let unique = self.pick(&["", "", "UNIQUE "]);
        let mut parts = Vec::new();
        let columns = self.some_columns(&table, 3);
        let plain = names(&columns);
        for column in &columns {
            let part = match self.chance(25) {
                true => format!("({})", self.over(&column.name, column.kind)),
                false => column.name.clone(),
            };
            let order = self.pick(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
            parts.push(format!("{part}{order}"));
        }
        let predicate = match self.chance(25) {
            true => format!(" WHERE {}", self.condition(&table, "")),
            false => String::new(),
        };
        let include = match self.chance(10) {
            true => format!(" INCLUDE ({})", self.pick(&table.columns).name),
            false => String::new(),
        };
        let name = self.fresh("i");
        let nulls = match !unique.is_empty() && self.chance(20) {
            true => " NULLS NOT DISTINCT",
            false => "",
        };
        self.push(format!(
            "CREATE {unique}INDEX {name} ON {} ({}){include}{nulls}{predicate}",
            table.name,
            parts.join(", ")
        ));
        if !unique.is_empty() && predicate.is_empty() && parts.join(", ") == plain {
            let columns = columns.into_iter().map(|column| column.name).collect();
            if let Some(known) = self.known(&table.name) {
                known.unique.push(columns);
            }
        }
    }

    fn create_view(&mut self) {
        let table = self.table();
        let name = self.fresh("v");
        let columns = self.some_columns(&table, 4);
        let condition = match self.chance(70) {
            true => format!(" WHERE {}", self.condition(&table, "")),
            false => String::new(),
        };
        let check = self.pick(&["", "", "", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION"]);
        self.push(format!(
            "CREATE VIEW {name} AS SELECT {} FROM {}{condition}{check}",
            names(&columns),
            table.name
        ));
        self.tables.push(Table {
            name,
            columns,
            unique: Vec::new(),
            is_view: true,
        });
    }

    fn table_as(&mut self) {
        let table = self.table();
        let name = self.fresh("t");
        let columns = self.some_columns(&table, 3);
        let condition = self.condition(&table, "");
        let kind = self.pick(&["TABLE", "TABLE", "MATERIALIZED VIEW", "TEMP TABLE"]);
        self.push(format!(
            "CREATE {kind} {name} AS SELECT {} FROM {} WHERE {condition}",
            names(&columns),
            table.name
        ));
        self.tables.push(Table {
            name,
            columns: columns
                .into_iter()
                .map(|column| Column {
                    is_generated: false,
                    ..column
                })
                .collect(),
            unique: Vec::new(),
            is_view: kind == "MATERIALIZED VIEW",
        });
    }

    fn drop_something(&mut self) {
        let cascade = self.pick(&["", "", " CASCADE"]);
        let last = self.number as usize;
        let number = 1 + self.below(last);
        let table = self.table();
        match self.below(4) {
            0 => self.push(format!("DROP INDEX i{number}{cascade}")),
            1 => self.push(format!("DROP VIEW v{number}{cascade}")),
            2 => self.push(format!(
                "ALTER TABLE {} DROP CONSTRAINT k{number}{cascade}",
                table.name
            )),
            _ if self.tables.len() > 3 => self.push(format!("DROP TABLE {}{cascade}", table.name)),
            _ => self.push("DROP TABLE IF EXISTS nowhere"),
        }
    }

    fn alter_table(&mut self) {
        let mut table = self.base_table();
        let column = self.pick(&table.columns);
        let (name, kind) = (column.name.clone(), column.kind);
        let action = match self.below(16) {
            0..=2 => {
                let added = Column {
                    name: self.fresh("c"),
                    kind: self.kind(),
                    is_generated: false,
                };
                let mut part = format!("ADD COLUMN {} {}", added.name, added.kind.name);
                self.column_constraints(&mut part, &mut table, added, 1);
                part
            }
            3 => {
                let cascade = self.pick(&["", " CASCADE"]);
                if table.columns.len() > 1 {
                    table.columns.retain(|other| other.name != name);
                }
                format!("DROP COLUMN {name}{cascade}")
            }
            4 => {
                let to = self.fresh("c");
                for column in table.columns.iter_mut().filter(|column| column.name == name) {
                    column.name.clone_from(&to);
                }
                for column in table
                    .unique
                    .iter_mut()
                    .flatten()
                    .filter(|column| **column == name)
                {
                    column.clone_from(&to);
                }
                format!("RENAME COLUMN {name} TO {to}")
            }
            5 | 6 => {
                let kind = self.kind();
                for column in table.columns.iter_mut().filter(|column| column.name == name) {
                    column.kind = kind;
                }
                let using = match self.chance(50) {
                    true => format!(" USING {name}::text::{}", kind.name),
                    false => String::new(),
                };
                format!("ALTER COLUMN {name} TYPE {}{using}", kind.name)
            }
            7 | 8 => format!("ALTER COLUMN {name} {} NOT NULL", self.pick(&["SET", "DROP"])),
            9 => match self.chance(70) {
                true => format!("ALTER COLUMN {name} SET DEFAULT {}", self.some_value(kind)),
                false => format!("ALTER COLUMN {name} DROP DEFAULT"),
            },
            10..=13 => {
                let Some(constraint) = self.table_constraint(&mut table) else {
                    return;
                };
                let valid = match constraint.contains("UNIQUE") || self.chance(70) {
                    true => "",
                    false => " NOT VALID",
                };
                format!("ADD {constraint}{valid}")
            }
            14 => format!("VALIDATE CONSTRAINT k{}", 1 + self.below(self.number as usize)),
            _ => format!("ALTER COLUMN {name} DROP EXPRESSION"),
        };
        self.push(format!("ALTER TABLE {} {action}", table.name));
        let of_name = table.name.clone();
        if let Some(known) = self.known(&of_name) {
            *known = table;
        }
    }
}

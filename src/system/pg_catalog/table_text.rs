//! A table, with all that goes with it, as the statements that make it again: what SHOW CREATE TABLE answers. Called by the function
//! `keyspan_table_definition`; it reads what the catalogs read.

use super::ddl_text::{constraint_definition, index_definition, written_query};
use super::naming::format_type;
use super::shown_names::shown_expression;
use crate::catalog::{MadeName, OnCommit, SequenceDef, SequenceType};
use crate::parse::quoting::{qualified, quote_ident, quote_literal};
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::objects::{Found, Objects, UserIndex, UserRelation};
use crate::system::catalog_version::user_column::UserColumn;

/// The statements, each ended by a semicolon and a line of its own: sequences that go with columns, the table with its constraints, its
/// indexes, comments. `None`: no relation of ours, or an index.
pub(crate) fn table_definition(objects: &Objects, search_path: &[String], oid: i64) -> Cell {
    let Found::Relation(relation) = objects.find(oid)? else {
        return None;
    };
    let text = Text {
        objects,
        search_path,
        relation,
        name: objects.relation_display_name(oid, search_path)?,
    };
    let statements = match relation.kind {
        'S' => vec![create_sequence(&text.name, relation.sequence.as_ref()?)],
        'v' | 'm' => text.of_view()?,
        _ => text.of_table(),
    };
    Some(statements.join(";\n") + ";")
}

struct Text<'a> {
    objects: &'a Objects,
    search_path: &'a [String],
    relation: &'a UserRelation,
    /// The relation's, with its schema where the bare name does not mean it.
    name: String,
}

impl Text<'_> {
    fn of_table(&self) -> Vec<String> {
        let relation = self.relation;
        let sequences = self.owned_sequences();
        let mut statements: Vec<String> = sequences
            .iter()
            .map(|(_, name, def)| create_sequence(name, def))
            .collect();
        statements.push(self.create_table());
        let invalid = relation.constraints.iter().filter(|constraint| !constraint.valid);
        statements.extend(invalid.map(|constraint| {
            let (name, definition) = (quote_ident(&constraint.name), &constraint.pretty_definition);
            format!("ALTER TABLE {} ADD CONSTRAINT {name} {definition}", self.name)
        }));
        for column in &relation.columns {
            let named = self.named_identity(column);
            statements.extend(named.map(|sequence| {
                let (column, added) = (quote_ident(&column.name), self.identity(column, Some(&sequence)));
                format!("ALTER TABLE {} ALTER COLUMN {column} ADD {added}", self.name)
            }));
        }
        for (column, sequence, _) in &sequences {
            let column = quote_ident(&column.name);
            statements.push(format!(
                "ALTER SEQUENCE {sequence} OWNED BY {}.{column}",
                self.name
            ));
        }
        statements.extend(self.indexes());
        statements.extend(self.attachment());
        statements.extend(self.comments());
        statements
    }

    /// What makes a partition one of its table, once all that this has is there.
    fn attachment(&self) -> Option<String> {
        let partition = self.relation.partition.as_ref()?;
        let parent = self
            .objects
            .relation_display_name(partition.parent, self.search_path)?;
        let (name, bound) = (&self.name, &partition.bound);
        Some(format!("ALTER TABLE {parent} ATTACH PARTITION {name} {bound}"))
    }

    fn of_view(&self) -> Option<Vec<String>> {
        let relation = self.relation;
        let query = written_query(relation, self.objects, self.search_path)?;
        let columns: Vec<String> = relation
            .columns
            .iter()
            .map(|column| quote_ident(&column.name))
            .collect();
        let (kind, ending) = match (relation.kind, relation.is_populated) {
            ('m', false) => ("MATERIALIZED VIEW", "\nWITH NO DATA"),
            ('m', true) => ("MATERIALIZED VIEW", ""),
            _ if relation.persistence == 't' => ("TEMPORARY VIEW", ""),
            _ => ("VIEW", ""),
        };
        let (name, options) = (self.created_name(), self.options());
        let columns = columns.join(", ");
        let mut statements = vec![format!(
            "CREATE {kind} {name} ({columns}){options} AS\n{query}{ending}"
        )];
        statements.extend(self.indexes());
        statements.extend(self.comments());
        Some(statements)
    }

    fn create_table(&self) -> String {
        let relation = self.relation;
        let mut items: Vec<String> = relation
            .columns
            .iter()
            .map(|column| self.column(column))
            .collect();
        let keys = relation.indexes.iter().filter(|index| index.constraint);
        items.extend(keys.map(|key| {
            format!(
                "CONSTRAINT {} {}",
                quote_ident(&key.name),
                constraint_definition(relation, key)
            )
        }));
        let valid = relation.constraints.iter().filter(|constraint| constraint.valid);
        items.extend(valid.map(|constraint| {
            format!(
                "CONSTRAINT {} {}",
                quote_ident(&constraint.name),
                constraint.pretty_definition
            )
        }));
        let kind = match relation.persistence {
            't' => "TEMPORARY TABLE",
            'u' => "UNLOGGED TABLE",
            _ => "TABLE",
        };
        let list = match items.is_empty() {
            true => "()".to_string(),
            false => format!("(\n    {}\n)", items.join(",\n    ")),
        };
        let on_commit = match relation.on_commit {
            None => "",
            Some(OnCommit::DeleteRows) => " ON COMMIT DELETE ROWS",
            Some(OnCommit::Drop) => " ON COMMIT DROP",
        };
        let partitioning = match &relation.partitioning {
            None => String::new(),
            Some(partitioning) => format!(" PARTITION BY {}", partitioning.definition),
        };
        format!(
            "CREATE {kind} {} {list}{partitioning}{}{on_commit}",
            self.created_name(),
            self.options()
        )
    }

    /// The name behind CREATE: what is temporary has no schema there.
    fn created_name(&self) -> String {
        match self.relation.persistence {
            't' => quote_ident(&self.relation.name),
            _ => self.name.clone(),
        }
    }

    fn options(&self) -> String {
        let options = self
            .relation
            .options
            .iter()
            .map(|option| match option.split_once('=') {
                Some((name, value)) => format!("{name} = {}", quote_literal(value)),
                None => option.clone(),
            });
        let options: Vec<String> = options.collect();
        match options.is_empty() {
            true => String::new(),
            false => format!(" WITH ({})", options.join(", ")),
        }
    }

    fn column(&self, column: &UserColumn) -> String {
        let (oid, modifier) = match &column.domain {
            Some(domain) => (domain.oid, -1),
            None => (column.ty.oid(), column.ty.modifier()),
        };
        let ty = format_type(oid.into(), Some(modifier), self.objects, self.search_path);
        let mut text = format!("{} {ty}", quote_ident(&column.name));
        let shown = |expr: &String| shown_expression(expr, self.objects, self.search_path);
        match (
            column.default.as_ref().map(shown),
            column.is_generated,
            column.identity,
        ) {
            (Some(expr), true, _) => text += &format!(" GENERATED ALWAYS AS ({expr}) STORED"),
            (_, _, "a" | "d") => match self.named_identity(column) {
                // It is said behind the table.
                Some(_) => {}
                None => text += &format!(" {}", self.identity(column, None)),
            },
            (Some(expr), false, _) => text += &format!(" DEFAULT {expr}"),
            (None, ..) => {}
        }
        if column.not_null {
            text += " NOT NULL";
        }
        text
    }

    /// `GENERATED … AS IDENTITY (…)`.
    fn identity(&self, column: &UserColumn, name: Option<&str>) -> String {
        let when = match column.identity {
            "a" => "ALWAYS",
            _ => "BY DEFAULT",
        };
        let options = self.sequence(column).map(|(_, def)| sequence_options(def));
        let name = name.map(|name| format!("SEQUENCE NAME {name}"));
        let options = name.unwrap_or_default() + &options.unwrap_or_default();
        format!("GENERATED {when} AS IDENTITY ({})", options.trim())
    }

    /// The name of an identity column's sequence, where it is not the one that it would get by itself.
    fn named_identity(&self, column: &UserColumn) -> Option<String> {
        let (name, def) = self.sequence(column).filter(|_| !column.identity.is_empty())?;
        let usual = MadeName::of_columns(&self.relation.name, [column.name.as_str()], "seq").free(|_| true);
        (def.name != usual || def.schema != self.relation.schema).then_some(name)
    }

    /// The sequence that a column takes its values of, by its name.
    fn sequence(&self, column: &UserColumn) -> Option<(String, &SequenceDef)> {
        let oid = i64::from(*column.sequences.first()?);
        let def = self.objects.table(oid)?.sequence.as_ref()?;
        let name = match self.relation.persistence {
            't' => quote_ident(&def.name),
            _ => qualified(&def.schema, &def.name),
        };
        Some((name, def))
    }

    /// The columns whose sequences go with them, but for identity columns.
    fn owned_sequences(&self) -> Vec<(&UserColumn, String, &SequenceDef)> {
        let columns = self
            .relation
            .columns
            .iter()
            .filter(|column| column.identity.is_empty());
        let owned = columns.filter_map(|column| {
            let (name, def) = self.sequence(column)?;
            let owner = def
                .owner
                .filter(|owner| i64::from(owner.table) == self.relation.oid);
            owner.map(|_| (column, name, def))
        });
        owned.collect()
    }

    /// Those of CREATE INDEX; one that is not valid is made and given up again.
    fn indexes(&self) -> Vec<String> {
        let relation = self.relation;
        let with_schema = self.name != quote_ident(&relation.name);
        let mut statements = Vec::new();
        for index in relation.indexes.iter().filter(|index| !index.constraint) {
            statements.push(index_definition(relation, index, (with_schema, true)));
            if let Some(state) = state(index) {
                statements.push(format!(
                    "ALTER INDEX {} ON {} {state}",
                    quote_ident(&index.name),
                    self.name
                ));
            }
        }
        statements
    }

    fn comments(&self) -> Vec<String> {
        let (relation, name) = (self.relation, &self.name);
        let kind = match relation.kind {
            'v' => "VIEW",
            'm' => "MATERIALIZED VIEW",
            _ => "TABLE",
        };
        let mut comments = Vec::new();
        let mut comment = |on: String, text: &Option<String>| {
            comments.extend(
                text.as_ref()
                    .map(|text| format!("COMMENT ON {on} IS {}", quote_literal(text))),
            );
        };
        comment(format!("{kind} {name}"), &relation.comment);
        for column in &relation.columns {
            comment(
                format!("COLUMN {name}.{}", quote_ident(&column.name)),
                &column.comment,
            );
        }
        for index in &relation.indexes {
            let index_name = match name.rsplit_once(&quote_ident(&relation.name)) {
                Some((schema, _)) => format!("{schema}{}", quote_ident(&index.name)),
                None => quote_ident(&index.name),
            };
            comment(format!("INDEX {index_name}"), &index.comment);
            comment(
                format!("CONSTRAINT {} ON {name}", quote_ident(&index.name)),
                &index.constraint_comment,
            );
        }
        for constraint in &relation.constraints {
            comment(
                format!("CONSTRAINT {} ON {name}", quote_ident(&constraint.name)),
                &constraint.comment,
            );
        }
        comments
    }
}

/// What ALTER INDEX makes of an index that is not read.
fn state(index: &UserIndex) -> Option<&'static str> {
    match (index.valid, index.ready, index.inactive) {
        (true, ..) => None,
        (false, _, true) => Some("INACTIVE"),
        // It is being built.
        (false, true, false) => None,
        (false, false, false) => Some("DISABLED"),
    }
}

fn create_sequence(name: &str, def: &SequenceDef) -> String {
    let ty = match def.ty {
        SequenceType::SmallInt => "smallint",
        SequenceType::Integer => "integer",
        SequenceType::BigInt => "bigint",
    };
    format!("CREATE SEQUENCE {name} AS {ty}{}", sequence_options(def))
}

fn sequence_options(def: &SequenceDef) -> String {
    let cycle = if def.cycles { " CYCLE" } else { "" };
    format!(
        " INCREMENT BY {} MINVALUE {} MAXVALUE {} START WITH {} CACHE {}{cycle}",
        def.increment, def.min, def.max, def.start, def.cache
    )
}

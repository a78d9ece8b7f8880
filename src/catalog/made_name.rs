//! Names that PostgreSQL makes up for what is given none: `orders_customer_id_fkey`, `orders_pkey`, `orders_id_seq1`.

use super::{Catalog, ColumnDef};
use crate::codec::row::ColumnId;
use crate::types::strings::NAME_BYTES_MAX;

/// What a name is made of: `table_columns_label`, where the last two may be left out.
#[derive(Debug, Clone)]
pub struct MadeName<'a> {
    table: &'a str,
    columns: Option<String>,
    label: &'a str,
}

impl<'a> MadeName<'a> {
    /// `table_label`.
    pub fn of_table(table: &'a str, label: &'a str) -> Self {
        MadeName {
            table,
            columns: None,
            label,
        }
    }

    /// `table_column_column_label`.
    pub fn of_columns<'c>(
        table: &'a str,
        columns: impl IntoIterator<Item = &'c str>,
        label: &'a str,
    ) -> Self {
        let columns: Vec<&str> = columns.into_iter().collect();
        MadeName {
            table,
            columns: Some(columns.join("_")),
            label,
        }
    }

    /// As [`of_columns`](Self::of_columns), of columns by their ids.
    pub fn of_column_ids(
        table: &'a str,
        ids: impl Iterator<Item = ColumnId>,
        columns: &[ColumnDef],
        label: &'a str,
    ) -> Self {
        let columns = ids.filter_map(|id| columns.iter().find(|column| column.id == id));
        Self::of_columns(table, columns.map(|column| column.name.as_str()), label)
    }

    /// Another name like one that is taken, perhaps.
    pub fn like(name: &'a str) -> Self {
        Self::of_table(name, "")
    }

    /// The name, or the first one with a number behind it that is free.
    pub fn free(&self, is_free: impl Fn(&str) -> bool) -> String {
        let numbers = (1u32..).map(|number| number.to_string());
        let mut names = std::iter::once(String::new())
            .chain(numbers)
            .map(|number| self.numbered(&number));
        names.find(|name| is_free(name)).unwrap_or_default()
    }

    /// As [`free`](Self::free), beside the relations of a schema and other names.
    pub fn free_in(&self, catalog: &Catalog, schema: &str, also_taken: &[String]) -> String {
        self.free(|name| {
            !catalog.is_name_taken(schema, name) && !also_taken.iter().any(|taken| taken == name)
        })
    }

    /// The parts joined. Where that is too long, the longer of table and columns is cut, byte by byte.
    fn numbered(&self, number: &str) -> String {
        let columns = self.columns.as_deref();
        let underscores = usize::from(columns.is_some()) + usize::from(!self.label.is_empty());
        let room = NAME_BYTES_MAX.saturating_sub(self.label.len() + number.len() + underscores);
        let (mut of_table, mut of_columns) = (self.table.len(), columns.map_or(0, str::len));
        while of_table + of_columns > room {
            match of_table > of_columns {
                true => of_table -= 1,
                false => of_columns -= 1,
            }
        }
        let mut name = clipped(self.table, of_table).to_string();
        if let Some(columns) = columns {
            name.push('_');
            name.push_str(clipped(columns, of_columns));
        }
        if !self.label.is_empty() {
            name.push('_');
            name.push_str(self.label);
        }
        name + number
    }
}

fn clipped(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: &str, columns: &[&str], label: &str, taken: &[&str]) -> String {
        MadeName::of_columns(table, columns.iter().copied(), label).free(|name| !taken.contains(&name))
    }

    /// Beside PostgreSQL 15.
    #[test]
    fn long_names_are_cut_where_postgresql_cuts_them() {
        let table = "icinga_contact_notificationcommands_contact";
        let column = "contact_notificationcommand_identity";
        let first = of(table, &[column], "seq", &[]);
        assert_eq!(
            first,
            "icinga_contact_notificationco_contact_notificationcommand_i_seq"
        );
        let second = of(table, &[column], "seq", &[&first]);
        assert_eq!(
            second,
            "icinga_contact_notificationco_contact_notificationcommand__seq1"
        );
        let wide = of(
            "icinga_contact_notificationcommands_contact_of_all_tables_x",
            &["expr", column],
            "idx",
            &[],
        );
        assert_eq!(
            wide,
            "icinga_contact_notificationco_expr_contact_notificationcomm_idx"
        );
        let key = MadeName::of_table(
            "icinga_contact_notificationcommands_contact_of_all_tables_x",
            "pkey",
        );
        assert_eq!(
            key.free(|_| true),
            "icinga_contact_notificationcommands_contact_of_all_tables__pkey"
        );
    }

    #[test]
    fn numbers_stand_behind_names_that_are_taken() {
        assert_eq!(
            of("t", &["a", "b"], "key", &["t_a_b_key", "t_a_b_key1"]),
            "t_a_b_key2"
        );
        assert_eq!(MadeName::like("i").free(|name| name != "i"), "i1");
        let long = "ä".repeat(40);
        let name = MadeName::of_table(&long, "pkey").free(|_| true);
        assert_eq!(name, format!("{}_pkey", "ä".repeat(29)));
    }
}

//! SELECTs of a script's tables, by whatever keys and indexes they have by then.

use super::tables::Script;

impl Script {
    pub(super) fn read(&mut self) {
        let (table, other) = (self.table(), self.table());
        let condition = self.condition(&table, "a");
        let column = self.pick(&table.columns);
        let (name, kind) = (column.name.clone(), column.kind);
        let partner = self.column_of(&other, kind);
        let sql = match (self.below(8), partner) {
            (0, Some(of)) => format!(
                "SELECT a.*, b.* FROM {} a JOIN {} b ON a.{name} = b.{} WHERE {condition}",
                table.name, other.name, of.name
            ),
            (1, Some(of)) => format!(
                "SELECT a.{name}, b.{} FROM {} a LEFT JOIN {} b ON a.{name} = b.{} AND ({condition})",
                of.name, table.name, other.name, of.name
            ),
            (2, Some(of)) => format!(
                "SELECT a.* FROM {} a WHERE EXISTS (SELECT FROM {} b WHERE b.{} = a.{name}) OR {condition}",
                table.name, other.name, of.name
            ),
            (3, Some(of)) => {
                let operation = self.pick(&["UNION", "EXCEPT", "INTERSECT ALL", "UNION ALL"]);
                format!(
                    "SELECT {name} FROM {} a WHERE {condition} {operation} SELECT {} FROM {}",
                    table.name, of.name, other.name
                )
            }
            (4, _) => format!(
                "SELECT a.{name}, count(*) FROM {} a WHERE {condition} GROUP BY a.{name} HAVING count(*) > 0",
                table.name
            ),
            (5, _) => {
                let over = self.over(&format!("a.{name}"), kind);
                format!("SELECT DISTINCT {over} FROM {} a WHERE {condition}", table.name)
            }
            (6, _) => {
                let direction = self.pick(&["", " DESC", " NULLS FIRST"]);
                format!(
                    "SELECT {name} FROM {} a WHERE {condition} ORDER BY {name}{direction} LIMIT {}",
                    table.name,
                    1 + self.below(4)
                )
            }
            _ => {
                let both = self.condition(&table, "a");
                format!("SELECT * FROM {} a WHERE ({condition}) AND ({both})", table.name)
            }
        };
        self.push(sql);
    }
}

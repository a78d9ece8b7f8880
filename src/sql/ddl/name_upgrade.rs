//! Gives what an older release let have names of more than 63 bytes the names that are read of them now. Done when a server starts,
//! before clients come.

use std::sync::Arc;

use super::verification::begin;
use crate::Result;
use crate::catalog::{Catalog, CatalogWriter, MadeName, Relation, TableDef};
use crate::txn::DatabaseStore;
use crate::types::strings::NAME_BYTES_MAX;

/// Cuts the names of relations, columns, indexes and constraints; answers the old names of the relations. Errors: the store's.
pub async fn shorten_long_names(store: &DatabaseStore) -> Result<Vec<String>> {
    let txn = begin(store).await?;
    let catalog = Catalog::load(&txn, None).await?;
    let writer = CatalogWriter::begin(&txn, &catalog)?;
    let mut taken = Vec::new();
    let mut shortened = Vec::new();
    for relation in catalog.relations.iter().filter(|relation| is_long(relation)) {
        writer.put_query(&with_short_names(relation, &catalog, &mut taken))?;
        shortened.push(relation.name().to_string());
    }
    if !shortened.is_empty() {
        txn.commit(false).await?;
    }
    Ok(shortened)
}

fn is_long(relation: &Relation) -> bool {
    let too_long = |name: &str| name.len() > NAME_BYTES_MAX;
    let of_table = |table: &TableDef| {
        table.columns.iter().any(|column| too_long(&column.name))
            || table.all_indexes().any(|index| too_long(&index.name))
            || table.checks.iter().any(|check| too_long(&check.name))
            || table.foreign_keys.iter().any(|key| too_long(&key.name))
    };
    too_long(relation.name()) || relation.get_table().is_some_and(|table| of_table(table))
}

fn with_short_names(relation: &Relation, catalog: &Catalog, taken: &mut Vec<String>) -> Relation {
    let schema = relation.schema();
    let mut shorten = |name: &mut String| {
        if name.len() > NAME_BYTES_MAX {
            *name = MadeName::like(name).free_in(catalog, schema, taken);
            taken.push(name.clone());
        }
    };
    let mut relation = relation.clone();
    match &mut relation {
        Relation::Table(table) => {
            let table = Arc::make_mut(table);
            shorten(&mut table.name);
            std::iter::once(&mut table.primary_key)
                .chain(&mut table.indexes)
                .for_each(|index| shorten(&mut index.name));
            table.checks.iter_mut().for_each(|check| shorten(&mut check.name));
            table
                .foreign_keys
                .iter_mut()
                .for_each(|key| shorten(&mut key.name));
            shorten_columns(table);
        }
        Relation::View(view) => shorten(&mut Arc::make_mut(view).name),
        Relation::Sequence(sequence) => shorten(&mut Arc::make_mut(sequence).name),
    }
    relation
}

fn shorten_columns(table: &mut TableDef) {
    for at in 0..table.columns.len() {
        let name = &table.columns[at].name;
        if name.len() > NAME_BYTES_MAX {
            let is_free = |name: &str| table.columns.iter().all(|column| column.name != name);
            let name = MadeName::like(name).free(is_free);
            table.columns[at].name = name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::testing::Client;

    /// As releases before this one let be: names are written into the record as they are.
    async fn lengthen(client: &Client, table: &str) {
        let txn = begin(&client.database()).await.unwrap();
        let catalog = Catalog::load(&txn, None).await.unwrap();
        let writer = CatalogWriter::begin(&txn, &catalog).unwrap();
        let mut def = Arc::unwrap_or_clone(client.table(table).await);
        let long = |name: &str| format!("{name}{}", "x".repeat(70));
        def.name = long("t");
        def.columns[1].name = long("c");
        def.columns[2].name = long("c");
        def.columns[2].name.push('y');
        def.indexes[0].name = long("i");
        def.checks[0].name = long("k");
        writer.put_table(def).unwrap();
        txn.commit(false).await.unwrap();
    }

    #[tokio::test]
    async fn long_names_of_an_older_release_are_cut_and_can_be_written_either_way() {
        let client = Client::new();
        client
            .ok("CREATE TABLE t (a int PRIMARY KEY, b int CHECK (b > 0), c int)")
            .await;
        client.ok("CREATE INDEX ON t (b)").await;
        client.ok("INSERT INTO t VALUES (1, 2, 3)").await;
        lengthen(&client, "t").await;
        let changed = shorten_long_names(&client.database()).await.unwrap();
        assert_eq!(changed, [format!("t{}", "x".repeat(70))]);
        let (table, column) = (
            "t".to_string() + &"x".repeat(70),
            "c".to_string() + &"x".repeat(70),
        );
        let second = "c".to_string() + &"x".repeat(61) + "1";
        let query = format!("SELECT a, {column}, {second} FROM {table} WHERE {column} = 2");
        assert_eq!(client.rows(&query).await, ["1|2|3"]);
        let short = "t".to_string() + &"x".repeat(62);
        let def = client.table(&short).await;
        assert_eq!(def.indexes[0].name, "i".to_string() + &"x".repeat(62));
        assert_eq!(def.checks[0].name, "k".to_string() + &"x".repeat(62));
        assert!(shorten_long_names(&client.database()).await.unwrap().is_empty());
    }
}

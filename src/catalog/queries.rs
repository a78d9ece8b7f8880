//! What relations with queries read: views (`ViewDef`), and materialized views, which are tables with a `StoredQuery`. Asked by whoever
//! changes or drops what they rest on.

use std::sync::Arc;

use super::{Catalog, PrintedQuery, Relation, TableDef, ViewDef};

impl Relation {
    /// The oids of what a view or a materialized view reads; nothing of any other relation.
    pub fn reads(&self) -> &[u32] {
        match self {
            Relation::View(view) => &view.depends_on,
            Relation::Table(table) => match &table.stored_query {
                Some(stored) => &stored.depends_on,
                None => &[],
            },
            Relation::Sequence(_) => &[],
        }
    }

    /// The query of a view or a materialized view, and the search path that its names are found along.
    pub fn query(&self) -> Option<(&str, &[String])> {
        match self {
            Relation::View(view) => Some((&view.query, &view.search_path)),
            Relation::Table(table) => {
                let stored = table.stored_query.as_ref()?;
                Some((&stored.query, &stored.search_path))
            }
            Relation::Sequence(_) => None,
        }
    }

    /// How its query is printed, if it has one that is.
    pub fn printed(&self) -> Option<&PrintedQuery> {
        match self {
            Relation::View(view) => view.printed.as_ref(),
            Relation::Table(table) => table.stored_query.as_ref()?.printed.as_ref(),
            Relation::Sequence(_) => None,
        }
    }

    /// The same with another query, which is printed so.
    pub fn with_printed(&self, printed: PrintedQuery) -> Relation {
        let query = PrintedQuery::unmarked(&printed.plain).trim().to_string();
        let mut changed = self.with_query(query);
        match &mut changed {
            Relation::View(view) => Arc::make_mut(view).printed = Some(printed),
            Relation::Table(table) => {
                if let Some(stored) = &mut Arc::make_mut(table).stored_query {
                    stored.printed = Some(printed);
                }
            }
            Relation::Sequence(_) => {}
        }
        changed
    }

    /// The same with another query, which reads the same. A relation without one stays as it is.
    pub fn with_query(&self, query: String) -> Relation {
        match self {
            Relation::View(view) => {
                let mut view = ViewDef::clone(view);
                (view.query, view.printed) = (query, None);
                Relation::View(Arc::new(view))
            }
            Relation::Table(table) => {
                let mut table = TableDef::clone(table);
                if let Some(stored) = &mut table.stored_query {
                    (stored.query, stored.printed) = (query, None);
                }
                Relation::Table(Arc::new(table))
            }
            Relation::Sequence(_) => self.clone(),
        }
    }
}

impl Catalog {
    /// The views and materialized views whose queries read the relation with this oid, directly.
    pub fn queries_reading(&self, oid: u32) -> impl Iterator<Item = &Relation> {
        let relations = self.relations.iter();
        relations.filter(move |relation| relation.reads().contains(&oid))
    }
}

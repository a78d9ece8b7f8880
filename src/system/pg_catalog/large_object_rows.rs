//! Rows of `pg_largeobject` and `pg_largeobject_metadata`: the large objects of the statement's snapshot, and their pages.

use std::fmt::Write;

use arrow::array::RecordBatch;

use super::relation_rows::{RelationRows, text};
use crate::Result;
use crate::codec::keyspace::{Keyspace, large_object_pages_range};
use crate::store::Page;
use crate::system::StatementContext;
use crate::system::catalog_version::definitions::Definition;
use crate::system::catalog_version::objects::OWNER_OID;
use crate::table::{large_objects, pages_of_range};

/// The oid of pg_largeobject, which comments name.
const LARGE_OBJECT_CLASS: i64 = 2613;

/// What a byte takes while the rows are made: as text, as a cell and in the rows.
const COPIES: usize = 6;

/// Whether a relation is one of these.
pub(super) fn tells_large_objects(relation: &Definition) -> bool {
    relation.schema == "pg_catalog" && matches!(relation.name, "pg_largeobject" | "pg_largeobject_metadata")
}

/// Whether a relation tells the comments of objects.
pub(super) fn tells_comments(relation: &Definition) -> bool {
    relation.schema == "pg_catalog" && relation.name == "pg_description"
}

/// The rows of `pg_description` that are of large objects, if there are any. Errors: the store's.
pub(super) async fn comments(
    ctx: &StatementContext,
    relation: &'static Definition,
) -> Result<Option<RecordBatch>> {
    let objects = large_objects(&ctx.txn).await?;
    let mut commented = objects
        .iter()
        .filter_map(|(oid, object)| Some((oid, object.comment.as_ref()?)));
    let Some(first) = commented.next() else {
        return Ok(None);
    };
    let mut rows = RelationRows::new(relation.schema, relation.name, &[("objsubid", "0")]);
    for (oid, comment) in std::iter::once(first).chain(commented) {
        let cells = [
            ("objoid", text(oid)),
            ("classoid", text(LARGE_OBJECT_CLASS)),
            ("description", text(comment)),
        ];
        rows.push(&cells);
    }
    Ok(Some(rows.finish()))
}

/// The rows of a relation. Errors: the store's; 53200 for pages that the statement has no memory for.
pub(super) async fn batches(
    ctx: &StatementContext,
    relation: &'static Definition,
) -> Result<Vec<RecordBatch>> {
    let mut rows = RelationRows::new(relation.schema, relation.name, &[]);
    match relation.name {
        "pg_largeobject" => pages(ctx, &mut rows).await?,
        _ => {
            for oid in large_objects(&ctx.txn).await?.keys() {
                rows.push(&[("oid", text(oid)), ("lomowner", text(OWNER_OID))]);
            }
        }
    }
    Ok(vec![rows.finish()])
}

async fn pages(ctx: &StatementContext, rows: &mut RelationRows) -> Result<()> {
    let mut scan = ctx
        .txn
        .scan(pages_of_range(large_object_pages_range(ctx.txn.database(), None)));
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        ctx.memory.hold(COPIES * page.size_bytes())?;
        for (key, bytes) in page.iter() {
            if let Keyspace::LargeObjectPage { oid, page, .. } = Keyspace::decode(key)? {
                let mut data = String::with_capacity(2 + 2 * bytes.len());
                data.push_str("\\x");
                bytes.iter().for_each(|byte| {
                    let _ = write!(data, "{byte:02x}");
                });
                let cells = [("loid", text(oid)), ("pageno", text(page)), ("data", Some(data))];
                rows.push(&cells);
            }
        }
    }
}

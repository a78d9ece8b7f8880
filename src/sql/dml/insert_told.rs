//! What an INSERT tells of itself before it runs: the keys of its rows, which triggers it fires.

use super::conflict::OnConflict;
use super::insert::{InsertPlan, Mode};
use super::insert_source::Source;
use crate::Result;
use crate::catalog::TriggerEvent;
use crate::codec::row::ColumnId;
use crate::system::StatementContext;
use crate::table::RowEncoder;

impl InsertPlan {
    /// The stored keys of the rows that VALUES states, for EXPLAIN; `None` when only a run tells them. Errors: those of the
    /// values.
    pub(super) async fn keys(&self, ctx: &StatementContext) -> Result<Option<Vec<Vec<u8>>>> {
        let Source::Values(values) = &self.source else {
            return Ok(None);
        };
        let table = &*self.target.table;
        let wanted = table.telling_key_columns();
        let Some(given) = values.settled_arrays(ctx, table, &wanted).await? else {
            return Ok(None);
        };
        let rows = self
            .rows
            .fill_settled(ctx, table, (given, values.rows), &wanted)?;
        let Some(rows) = rows else { return Ok(None) };
        let mut encoder = RowEncoder::new(table, ctx.settings.limits);
        let keys = (0..values.rows).map(|row| encoder.key(&rows, row));
        keys.collect::<Result<_>>().map(Some)
    }

    /// What fires triggers of its statement, and the columns that are updated.
    pub(super) fn events(&self) -> Vec<(TriggerEvent, Vec<ColumnId>)> {
        let table = &self.target.table;
        let updated = match &self.mode {
            Mode::Insert | Mode::OnConflict(OnConflict::DoNothing(_)) => None,
            Mode::OnConflict(OnConflict::DoUpdate(update)) => Some(update.set.columns(table)),
            Mode::Upsert => {
                let named = table.columns.iter().zip(self.rows.named());
                Some(
                    named
                        .filter(|(_, is_named)| *is_named)
                        .map(|(column, _)| column.id)
                        .collect(),
                )
            }
        };
        let updated = updated.map(|set| (TriggerEvent::Update, set));
        std::iter::once((TriggerEvent::Insert, Vec::new()))
            .chain(updated)
            .collect()
    }
}

//! `Arrival`: how the rows come that a chain begins with.

use std::slice;

use super::ShortPlan;
use super::ends::Ends;
use super::read::Access;
use super::step::Step;

/// How the rows of a table come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrival {
    /// In the order that the sort asks for.
    pub(super) is_ordered: bool,
    /// In the order of so many of the sort's first keys.
    pub(super) first_ordered: usize,
    /// Those of one of the first groups one after the other.
    pub(super) is_grouped: bool,
    /// The first is the extreme that the steps take.
    pub(super) is_extreme: bool,
    /// They are what the first aggregates over all rows give of each part of them.
    pub(super) are_totals: bool,
}

impl ShortPlan {
    /// How the rows come that the path gives; it is turned round if that serves the sort.
    pub(super) fn arrival(&self, access: &mut Access<'_>) -> Arrival {
        let columns = self.group_columns.as_ref();
        let is_grouped = columns.is_some_and(|columns| access.keeps_together(columns));
        // Groups that are found by hashing come in no order.
        let keeps_order = self.groupings() == usize::from(is_grouped);
        let is_ordered = match &self.order {
            Some(order) => order.is_empty() || keeps_order && access.serve(order, !is_grouped),
            None => false,
        };
        let first_ordered = match is_ordered {
            true => 0,
            false => self.serve_first(access),
        };
        let extreme = self.ends.as_ref().and_then(Ends::only_order);
        let is_extreme = extreme.is_some_and(|order| access.serve(slice::from_ref(order), !is_grouped));
        Arrival {
            is_ordered,
            first_ordered,
            is_grouped,
            is_extreme,
            are_totals: false,
        }
    }

    /// Whether the one row that comes first, or the number of rows, is all that is read.
    pub(super) fn is_end(&self, access: &Access<'_>, arrival: Arrival) -> bool {
        let is_row_count = self.ends.as_ref().is_some_and(Ends::is_row_count);
        is_row_count || arrival.is_extreme && access.is_exact()
    }

    /// Has the rows come in the order of as many of the sort's first keys as the path can; answers how many. None, unless few
    /// rows are wanted.
    fn serve_first(&self, access: &mut Access<'_>) -> usize {
        let is_limited = |step: &Step| matches!(step, Step::Limit { fetch: Some(_), .. });
        if !self.steps.iter().any(is_limited) || self.groupings() > 0 {
            return 0;
        }
        let keys = (1..=self.first_order.len()).rev();
        let mut served = keys.filter(|keys| access.serve(&self.first_order[..*keys], true));
        served.next().unwrap_or(0)
    }

    pub(super) fn groupings(&self) -> usize {
        let groups = self
            .steps
            .iter()
            .filter(|step| matches!(step, Step::Groups { .. }));
        groups.count()
    }
}

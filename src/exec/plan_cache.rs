//! `PlanCache`: what a prepared statement was worked out to mean, kept until the catalog or the settings change.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Settings, StatementContext};
use crate::catalog::Catalog;

/// A plan of a statement, good for as long as catalog and settings are the same. A clone, which may become another
/// statement, starts without.
#[derive(Debug)]
pub struct PlanCache<T>(Mutex<Option<Cached<T>>>);

#[derive(Debug)]
struct Cached<T> {
    catalog: Weak<Catalog>,
    settings: Weak<Settings>,
    plan: Arc<T>,
}

impl<T> Default for PlanCache<T> {
    fn default() -> PlanCache<T> {
        PlanCache(Mutex::new(None))
    }
}

impl<T> Clone for PlanCache<T> {
    fn clone(&self) -> PlanCache<T> {
        PlanCache::default()
    }
}

impl<T> PlanCache<T> {
    /// The plan, if it is still good in this context.
    pub fn get(&self, ctx: &StatementContext) -> Option<Arc<T>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.as_ref()?;
        let same = std::ptr::eq(cached.catalog.as_ptr(), &*ctx.catalog)
            && std::ptr::eq(cached.settings.as_ptr(), &*ctx.settings);
        same.then(|| Arc::clone(&cached.plan))
    }

    /// Keeps the plan that was made in this context.
    pub fn set(&self, ctx: &StatementContext, plan: &Arc<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Cached {
            catalog: Arc::downgrade(&ctx.catalog),
            settings: Arc::downgrade(&ctx.settings),
            plan: Arc::clone(plan),
        });
    }
}

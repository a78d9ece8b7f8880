//! `PlanCache`: what a prepared statement was worked out to mean, kept until the catalog or the settings change.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Settings;
use crate::catalog::Catalog;

/// What a plan was worked out from.
#[derive(Debug, Clone, Copy)]
pub struct PlanBasis<'a> {
    /// The catalog.
    pub catalog: &'a Arc<Catalog>,
    /// The settings.
    pub settings: &'a Arc<Settings>,
}

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
    /// The plan, if it is still good for these.
    pub fn get(&self, basis: PlanBasis<'_>) -> Option<Arc<T>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.as_ref()?;
        let same = std::ptr::eq(cached.catalog.as_ptr(), &**basis.catalog)
            && std::ptr::eq(cached.settings.as_ptr(), &**basis.settings);
        same.then(|| Arc::clone(&cached.plan))
    }

    /// Keeps the plan that was made for these.
    pub fn set(&self, basis: PlanBasis<'_>, plan: &Arc<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Cached {
            catalog: Arc::downgrade(basis.catalog),
            settings: Arc::downgrade(basis.settings),
            plan: Arc::clone(plan),
        });
    }
}

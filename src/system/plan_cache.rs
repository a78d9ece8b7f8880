//! `PlanCache`: what a prepared statement was worked out to mean, kept until something changes that it rests on: a definition that
//! it asked for, what a name means, a setting that plans depend on.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::PlanSettings;
use crate::catalog::{Answers, Catalog, Lookups};

/// What a plan is worked out from.
#[derive(Debug, Clone, Copy)]
pub struct PlanBasis<'a> {
    /// The catalog.
    pub catalog: &'a Arc<Catalog>,
    /// The settings.
    pub settings: &'a PlanSettings,
}

/// What something that is kept was worked out from.
#[derive(Debug)]
pub struct KeptBasis {
    settings: PlanSettings,
    answers: Answers,
    /// The last catalog that gave these answers: most often it is still the newest.
    catalog: Weak<Catalog>,
}

impl KeptBasis {
    /// What was worked out under these settings, and from what `lookups` were answered.
    pub fn new(settings: &PlanSettings, lookups: &Lookups) -> KeptBasis {
        KeptBasis {
            settings: Arc::clone(settings),
            answers: lookups.answers(),
            catalog: Weak::new(),
        }
    }

    /// Whether the same would be worked out from `basis`. Of a catalog that it was compared with last, only the pointer is.
    pub fn is_as_good_as(&mut self, basis: PlanBasis<'_>) -> bool {
        if !Arc::ptr_eq(&self.settings, basis.settings) && self.settings != *basis.settings {
            return false;
        }
        if std::ptr::eq(self.catalog.as_ptr(), &**basis.catalog) {
            return true;
        }
        let is_good = self.answers.are_those_of(basis.catalog);
        if is_good {
            self.catalog = Arc::downgrade(basis.catalog);
        }
        is_good
    }
}

/// What the types of a text's constants were worked out from.
#[derive(Debug)]
pub struct ConstantTypes(Mutex<KeptBasis>);

impl ConstantTypes {
    /// Worked out from this.
    pub fn new(basis: KeptBasis) -> ConstantTypes {
        ConstantTypes(Mutex::new(basis))
    }

    /// Whether they would be the same of `basis`.
    pub fn are_those_of(&self, basis: PlanBasis<'_>) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.is_as_good_as(basis)
    }
}

/// A plan of a statement, good for as long as what it rests on is the same. A clone, which may become another statement, starts
/// without.
#[derive(Debug)]
pub struct PlanCache<T>(Mutex<Option<Cached<T>>>);

#[derive(Debug)]
struct Cached<T> {
    basis: KeptBasis,
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
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.as_mut()?;
        let is_good = cached.basis.is_as_good_as(basis);
        is_good.then(|| Arc::clone(&cached.plan))
    }

    /// Keeps a plan.
    pub fn set(&self, basis: KeptBasis, plan: &Arc<T>) {
        let plan = Arc::clone(plan);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Cached { basis, plan });
    }
}

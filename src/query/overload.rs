//! Which of the functions of one name takes the arguments: PostgreSQL's choice by their types. `function_call` and
//! `operator` ask.

use super::coercion::{self, Category, base, category, is_preferred};
use crate::catalog::{CastApplies, Casts, Polymorphic, RoutineType};
use crate::functions::{FunctionDef, T};
use crate::types::SqlType;

/// What an argument is declared as: by the registry, or by a user.
pub(super) trait Takes {
    /// The type; `None` for the polymorphic ones.
    fn sql_type(&self) -> Option<SqlType>;
    /// What it stands for where it is polymorphic.
    fn polymorphic(&self) -> T;
}

impl Takes for T {
    fn sql_type(&self) -> Option<SqlType> {
        T::sql_type(*self)
    }

    fn polymorphic(&self) -> T {
        *self
    }
}

impl Takes for RoutineType {
    fn sql_type(&self) -> Option<SqlType> {
        RoutineType::sql_type(self).cloned()
    }

    fn polymorphic(&self) -> T {
        match self {
            RoutineType::Polymorphic(Polymorphic::Array(_)) => T::AnyArray,
            RoutineType::Polymorphic(Polymorphic::Element("anyenum")) => T::AnyEnum,
            RoutineType::Polymorphic(_) => T::AnyElement,
            RoutineType::Sql(_) | RoutineType::Row(_) | RoutineType::Domain(_) => T::Any,
        }
    }
}

/// PostgreSQL's choice among the registry's functions of one name.
pub(super) fn pick(
    rows: &[&'static FunctionDef],
    types: &[SqlType],
    casts: &Casts,
) -> Option<&'static FunctionDef> {
    let candidates = rows
        .iter()
        .filter_map(|row| expanded(row, types.len()).map(|wanted| (*row, wanted)))
        .collect();
    choose(candidates, types, casts).first().map(|(row, _)| *row)
}

/// PostgreSQL's choice among functions of one name, each with what it takes: an exact match, else the candidates that the arguments
/// convert to, narrowed by exact matches, preferred types, and the categories that untyped arguments most likely have. Those that are
/// left are as good.
pub(super) fn choose<C, W: Takes>(
    candidates: Vec<(C, Vec<W>)>,
    types: &[SqlType],
    casts: &Casts,
) -> Vec<(C, Vec<W>)> {
    let candidates: Vec<(C, Vec<W>)> = candidates
        .into_iter()
        .filter(|(_, wanted)| {
            wanted
                .iter()
                .zip(types)
                .all(|(wanted, ty)| accepts(wanted, ty, casts))
        })
        .collect();
    let unknown = |ty: &SqlType| matches!(ty, SqlType::Unknown | SqlType::Void);
    let exact = |wanted: &[W]| {
        wanted
            .iter()
            .zip(types)
            .filter(|(wanted, ty)| !unknown(ty) && wanted.sql_type().is_some() && matches_type(*wanted, ty))
            .count()
    };
    let candidates = best(candidates, |(_, wanted)| exact(wanted));
    let preferred = |wanted: &[W]| {
        wanted
            .iter()
            .zip(types)
            .filter(|(wanted, ty)| {
                !unknown(ty)
                    && wanted
                        .sql_type()
                        .is_some_and(|wanted| base(&wanted) == base(ty) || is_preferred(&wanted))
            })
            .count()
    };
    let candidates = best(candidates, |(_, wanted)| preferred(wanted));
    // Untyped arguments: string first, then a preferred type of the one category that all candidates share.
    let text_like = |wanted: &[W]| {
        wanted
            .iter()
            .zip(types)
            .filter(|(wanted, ty)| {
                unknown(ty)
                    && wanted
                        .sql_type()
                        .is_some_and(|wanted| category(&wanted) == Category::String)
            })
            .count()
    };
    let candidates = best(candidates, |(_, wanted)| text_like(wanted));
    let known: Vec<&SqlType> = types.iter().filter(|ty| !unknown(ty)).collect();
    let alike = |wanted: &[W]| match known.first() {
        // All known arguments of one type: the untyped ones are assumed to have it too.
        Some(first) if known.iter().all(|ty| ty == first) => wanted
            .iter()
            .zip(types)
            .filter(|(wanted, ty)| unknown(ty) && matches_type(*wanted, first))
            .count(),
        _ => 0,
    };
    let candidates = best(candidates, |(_, wanted)| alike(wanted));
    best(candidates, |(_, wanted)| {
        wanted
            .iter()
            .zip(types)
            .filter(|(wanted, ty)| unknown(ty) && wanted.sql_type().is_some_and(|ty| is_preferred(&ty)))
            .count()
    })
}

/// Whether an argument is of exactly the registered type.
pub(super) fn matches_type(wanted: &impl Takes, ty: &SqlType) -> bool {
    match wanted.sql_type() {
        Some(wanted) => base(&wanted) == base(ty),
        None => match wanted.polymorphic() {
            T::AnyArray => ty.item_type().is_some(),
            T::AnyEnum => matches!(ty, SqlType::Enum(_)),
            T::AnyRange => matches!(ty, SqlType::Range(_)),
            T::AnyMultirange => matches!(ty, SqlType::Multirange(_)),
            T::AnyRecord => matches!(ty, SqlType::Record(_)),
            _ => true,
        },
    }
}

/// Whether an argument may stand where the registered type is wanted.
pub(super) fn accepts(wanted: &impl Takes, ty: &SqlType, casts: &Casts) -> bool {
    match wanted.sql_type() {
        Some(wanted) => {
            let by_user = || casts.get_unwritten(ty, &wanted, CastApplies::Implicit).is_some();
            coercion::implicit(ty, &wanted) || by_user()
        }
        None => match wanted.polymorphic() {
            T::AnyArray => ty.item_type().is_some() || matches!(ty, SqlType::Unknown | SqlType::Void),
            T::AnyEnum => matches!(ty, SqlType::Enum(_) | SqlType::Unknown | SqlType::Void),
            T::AnyRange => matches!(ty, SqlType::Range(_) | SqlType::Unknown | SqlType::Void),
            T::AnyMultirange => matches!(ty, SqlType::Multirange(_) | SqlType::Unknown | SqlType::Void),
            T::AnyRecord => matches!(ty, SqlType::Record(_)),
            _ => true,
        },
    }
}

/// The registered types of a call with so many arguments.
pub(super) fn expanded(row: &FunctionDef, count: usize) -> Option<Vec<T>> {
    let mut types = row.arguments.to_vec();
    if row.variadic {
        let last = *types.last()?;
        while types.len() < count {
            types.push(last);
        }
    }
    (types.len() == count).then_some(types)
}

fn best<C>(candidates: Vec<C>, score: impl Fn(&C) -> usize) -> Vec<C> {
    let Some(most) = candidates.iter().map(&score).max() else {
        return candidates;
    };
    candidates
        .into_iter()
        .filter(|candidate| score(candidate) == most)
        .collect()
}

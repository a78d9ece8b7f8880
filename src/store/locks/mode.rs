//! Lock modes and which of them conflict: PostgreSQL's tables. Rows, relations and advisory numbers are never locked under one
//! key, so that modes of different kinds never meet.

/// How a key is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// A row: it must stay as it was read until something that rests on it is committed, whoever only locks it (CREATE INDEX).
    Keep,
    /// A row: its key must stay (FOR KEY SHARE, and what refers to it).
    KeyShare,
    /// A row: it must stay as it is (FOR SHARE).
    Share,
    /// A row: it must stay, its keys may be locked (FOR NO KEY UPDATE).
    NoKeyUpdate,
    /// A row: it changes, its keys do not (UPDATE).
    Change,
    /// A row: it and its key must stay (FOR UPDATE).
    Update,
    /// A key is to be a new row's (INSERT): where a row has it, the answer does not depend on who only locks that row.
    Insert,
    /// A row: it goes, gets another key, or is written whether it is there or not (DELETE, UPSERT).
    Replace,
    /// A relation: it is read.
    AccessShare,
    /// A relation: rows of it are locked.
    RowShare,
    /// A relation: rows of it are written.
    RowExclusive,
    /// A relation: it changes in a way that nobody minds who reads or writes rows.
    ShareUpdateExclusive,
    /// A relation: nobody may write rows.
    ShareRelation,
    /// A relation: nobody else may write rows, nor ask that nobody does.
    ShareRowExclusive,
    /// A relation: it may only be read.
    Exclusive,
    /// A relation: nobody else may use it.
    AccessExclusive,
}

/// Every mode, in the order of the enum.
const ALL: [LockMode; 16] = [
    LockMode::Keep,
    LockMode::KeyShare,
    LockMode::Share,
    LockMode::NoKeyUpdate,
    LockMode::Change,
    LockMode::Update,
    LockMode::Insert,
    LockMode::Replace,
    LockMode::AccessShare,
    LockMode::RowShare,
    LockMode::RowExclusive,
    LockMode::ShareUpdateExclusive,
    LockMode::ShareRelation,
    LockMode::ShareRowExclusive,
    LockMode::Exclusive,
    LockMode::AccessExclusive,
];

impl LockMode {
    /// Whether two transactions may not hold these on one key.
    pub fn conflicts(self, other: LockMode) -> bool {
        self.conflicting().holds(other)
    }

    /// As `pg_locks` and deadlock reports name it.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::KeyShare => "For Key Share",
            LockMode::Keep | LockMode::Share => "For Share",
            LockMode::NoKeyUpdate | LockMode::Change => "For No Key Update",
            LockMode::Update | LockMode::Insert | LockMode::Replace => "For Update",
            LockMode::AccessShare => "AccessShareLock",
            LockMode::RowShare => "RowShareLock",
            LockMode::RowExclusive => "RowExclusiveLock",
            LockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            LockMode::ShareRelation => "ShareLock",
            LockMode::ShareRowExclusive => "ShareRowExclusiveLock",
            LockMode::Exclusive => "ExclusiveLock",
            LockMode::AccessExclusive => "AccessExclusiveLock",
        }
    }

    /// The mode of relations at this place of PostgreSQL's order of them, from 1 on.
    pub fn of_relations(place: u8) -> Option<LockMode> {
        let modes = &ALL[LockMode::AccessShare as usize..];
        modes.get(usize::from(place).checked_sub(1)?).copied()
    }

    /// Whether it is a mode of rows.
    pub fn is_of_rows(self) -> bool {
        self <= LockMode::Replace
    }

    /// Whether nobody else may change a row that is locked so.
    pub fn keeps_row(self) -> bool {
        use LockMode::*;
        matches!(self, Keep | Share | NoKeyUpdate | Change | Update | Replace)
    }

    /// Whether nobody else may put a row under a key that is locked so and has none.
    pub fn keeps_absence(self) -> bool {
        matches!(self, LockMode::Change | LockMode::Insert | LockMode::Replace)
    }

    fn conflicting(self) -> LockModes {
        use LockMode::*;
        let modes: &[LockMode] = match self {
            Keep => &[Change, Replace],
            KeyShare => &[Update, Replace],
            Share => &[NoKeyUpdate, Change, Update, Replace],
            NoKeyUpdate => &[Share, NoKeyUpdate, Change, Update, Replace],
            Change => &[Keep, Share, NoKeyUpdate, Change, Update, Insert, Replace],
            Update => &[KeyShare, Share, NoKeyUpdate, Change, Update, Replace],
            Insert => &[Change, Insert, Replace],
            Replace => &ALL[..=Replace as usize],
            AccessShare => &[AccessExclusive],
            RowShare => &[Exclusive, AccessExclusive],
            RowExclusive => &[ShareRelation, ShareRowExclusive, Exclusive, AccessExclusive],
            ShareUpdateExclusive => &[
                ShareUpdateExclusive,
                ShareRelation,
                ShareRowExclusive,
                Exclusive,
                AccessExclusive,
            ],
            ShareRelation => &[
                RowExclusive,
                ShareUpdateExclusive,
                ShareRowExclusive,
                Exclusive,
                AccessExclusive,
            ],
            ShareRowExclusive => &[
                RowExclusive,
                ShareUpdateExclusive,
                ShareRelation,
                ShareRowExclusive,
                Exclusive,
                AccessExclusive,
            ],
            Exclusive => &[
                RowShare,
                RowExclusive,
                ShareUpdateExclusive,
                ShareRelation,
                ShareRowExclusive,
                Exclusive,
                AccessExclusive,
            ],
            AccessExclusive => &ALL[AccessShare as usize..],
        };
        modes
            .iter()
            .fold(LockModes::default(), |all, mode| all.with(*mode))
    }
}

/// A set of modes: what one transaction holds of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockModes(u16);

impl LockModes {
    /// With one more.
    pub fn with(self, mode: LockMode) -> LockModes {
        LockModes(self.0 | 1 << mode as u16)
    }

    /// Both.
    pub fn and(self, other: LockModes) -> LockModes {
        LockModes(self.0 | other.0)
    }

    /// Whether the mode is one of them.
    pub fn holds(self, mode: LockMode) -> bool {
        self.0 & (1 << mode as u16) != 0
    }

    /// Whether none is.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether another transaction may not have the mode beside these.
    pub fn conflict(self, mode: LockMode) -> bool {
        self.0 & mode.conflicting().0 != 0
    }

    /// Whether who holds these need not ask for the mode: nobody could hold with them what conflicts with it.
    pub fn include(self, mode: LockMode) -> bool {
        let wanted = mode.conflicting().0;
        self.iter()
            .any(|held| held.is_of_rows() == mode.is_of_rows() && wanted & !held.conflicting().0 == 0)
    }

    /// See [`LockMode::keeps_row`].
    pub fn keep_row(self) -> bool {
        self.iter().any(LockMode::keeps_row)
    }

    /// See [`LockMode::keeps_absence`].
    pub fn keep_absence(self) -> bool {
        self.iter().any(LockMode::keeps_absence)
    }

    /// The modes, in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = LockMode> {
        ALL.into_iter().filter(move |mode| self.holds(*mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual_and_within_a_kind() {
        for (at, mode) in ALL.into_iter().enumerate() {
            assert_eq!(mode as usize, at);
            for other in ALL {
                assert_eq!(mode.conflicts(other), other.conflicts(mode), "{mode:?} {other:?}");
                assert!(!mode.conflicts(other) || mode.is_of_rows() == other.is_of_rows());
            }
        }
    }

    #[test]
    fn a_stronger_mode_includes_the_weaker_ones() {
        let update = LockModes::default().with(LockMode::Update);
        assert!(update.include(LockMode::KeyShare) && update.include(LockMode::NoKeyUpdate));
        assert!(!update.include(LockMode::Insert) && !update.include(LockMode::Replace));
        let replace = LockModes::default().with(LockMode::Replace);
        assert!(replace.include(LockMode::Update) && replace.include(LockMode::Insert));
        let change = LockModes::default().with(LockMode::Change);
        assert!(change.include(LockMode::NoKeyUpdate) && !change.include(LockMode::Update));
        let share = LockModes::default().with(LockMode::Share);
        assert!(share.include(LockMode::KeyShare) && !share.include(LockMode::NoKeyUpdate));
        let writes = LockModes::default().with(LockMode::RowExclusive);
        assert!(!writes.include(LockMode::ShareRelation) && writes.include(LockMode::AccessShare));
        assert!(!writes.include(LockMode::KeyShare));
    }
}

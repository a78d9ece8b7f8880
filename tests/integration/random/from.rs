//! What stands in FROM of a random statement: the tables `t` and `u`, or what is made of them, under these names and with their columns.

use super::statement::Form;

/// See the module's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    T,
    U,
    /// `t JOIN u`, by u's key.
    Lookup,
    LeftLookup,
    /// Some of `t`, each once, `JOIN u`, by u's key.
    DistinctLookup,
    /// `u RIGHT JOIN` the first of `t`, by an index of `u` if there is one.
    LimitedLookup,
    /// `u JOIN u JOIN t`: the last may have to be read first.
    Relations,
    /// Numbers `JOIN t JOIN u`, by the beginning of t's key.
    Numbers,
    /// `t JOIN u`, by no key.
    Join,
    /// `t RIGHT JOIN u`, by no key.
    RightJoin,
    /// `t FULL JOIN u`, by no key.
    FullJoin,
    /// `t LEFT JOIN` what of `u` has one value in a column.
    OneValueOfU,
    /// What of `t` has one value in a column `RIGHT JOIN u`.
    OneValueOfT,
    /// `t LEFT JOIN LATERAL` the row of `u` under a key.
    LateralRow,
    /// `t, LATERAL` the last of `u` by an index, if there is one.
    LateralRows,
    /// `u, LATERAL` the first of `t` by the beginning of its key.
    LateralOfT,
    /// `t JOIN` groups of `u`.
    Groups,
    /// The first of `t` of each kind `JOIN u`.
    DistinctOn,
    /// `t LEFT JOIN` rows of `u` by their number among those of a kind.
    Ranked,
    /// `t JOIN` the rows of `u` from two queries.
    Union,
    /// `t FULL JOIN` a WITH query that is run once.
    With,
    /// Those of `t` that have, or lack, a partner `JOIN u`.
    Existing,
    /// `u RIGHT JOIN` those of `t` for which a subquery gives a value.
    Valued,
}

/// Each as often as it is to be drawn.
pub(super) const FROM: [From; 25] = [
    From::T,
    From::T,
    From::T,
    From::U,
    From::Lookup,
    From::LeftLookup,
    From::DistinctLookup,
    From::LimitedLookup,
    From::Relations,
    From::Numbers,
    From::Join,
    From::RightJoin,
    From::FullJoin,
    From::OneValueOfU,
    From::OneValueOfT,
    From::LateralRow,
    From::LateralRows,
    From::LateralOfT,
    From::Groups,
    From::DistinctOn,
    From::Ranked,
    From::Union,
    From::With,
    From::Existing,
    From::Valued,
];

impl From {
    pub(super) fn text(self, form: Form) -> String {
        let table = |name: &str| match form {
            Form::General => {
                format!("(SELECT * FROM {name} UNION ALL SELECT * FROM {name} WHERE false) {name}")
            }
            _ => name.to_string(),
        };
        let (t, u) = (table("t"), table("u"));
        match self {
            From::T => t,
            From::U => u,
            From::Lookup => format!("{t} JOIN {u} ON u.k = t.v"),
            From::LeftLookup => format!("{t} LEFT JOIN {u} ON u.k = t.v"),
            From::DistinctLookup => {
                format!("(SELECT DISTINCT * FROM {t} WHERE a < 5) t JOIN {u} ON u.k = t.v AND u.w <> t.a")
            }
            From::LimitedLookup => format!(
                "{u} RIGHT JOIN (SELECT * FROM {t} ORDER BY a, s, d LIMIT 9) t ON u.a = t.v AND u.s >= t.s"
            ),
            From::Relations => {
                format!("{u} JOIN u AS w ON w.k = u.w JOIN {t} ON t.v = w.a AND t.s <> u.s")
            }
            From::Numbers => {
                format!("(VALUES (1), (4), (NULL)) c (n) JOIN {t} ON t.a = c.n JOIN {u} ON u.k = t.v")
            }
            From::Join => format!("{t} JOIN {u} ON u.a = t.a AND u.s = t.s"),
            From::RightJoin => format!("{t} RIGHT JOIN {u} ON u.a = t.a AND u.k > t.v"),
            From::FullJoin => format!("{t} FULL JOIN {u} ON u.a = t.a AND u.s = t.s"),
            From::OneValueOfU => {
                format!("{t} LEFT JOIN (SELECT * FROM {u} WHERE u.w = 1) u ON u.a = t.a")
            }
            From::OneValueOfT => {
                format!("(SELECT * FROM {t} WHERE t.v = 1) t RIGHT JOIN {u} ON u.a = t.a")
            }
            From::LateralRow => {
                format!("{t} LEFT JOIN LATERAL (SELECT * FROM {u} WHERE u.k = t.v) u ON u.w <> t.a")
            }
            From::LateralRows => format!(
                "{t} CROSS JOIN LATERAL (SELECT * FROM {u} WHERE u.a = t.v ORDER BY a DESC, k LIMIT 2) u"
            ),
            From::LateralOfT => format!(
                "{u} LEFT JOIN LATERAL (SELECT * FROM {t} WHERE t.a = u.a ORDER BY a, s, d LIMIT 2) t ON true"
            ),
            From::Groups => format!(
                "{t} JOIN (SELECT max(k) AS k, a, min(s) AS s, max(w) AS w FROM {u} GROUP BY a) u ON u.a = t.a"
            ),
            From::DistinctOn => {
                format!("(SELECT DISTINCT ON (a, s) * FROM {t} ORDER BY a, s, d DESC) t JOIN {u} ON u.k = t.v")
            }
            From::Ranked => format!(
                "{t} LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY a ORDER BY k DESC) AS r FROM {u}) u
                 ON u.a = t.v AND u.r <= 2"
            ),
            From::Union => format!(
                "{t} JOIN (SELECT * FROM {u} WHERE w < 2 UNION SELECT * FROM u WHERE s > 'a') u ON u.k = t.v"
            ),
            From::With => format!(
                "{t} FULL JOIN (WITH w AS MATERIALIZED (SELECT * FROM {u} WHERE w <> 3) SELECT * FROM w WHERE k >= 0) u
                 ON u.k = t.v"
            ),
            From::Existing => format!(
                "(SELECT * FROM {t} WHERE EXISTS (SELECT FROM u WHERE u.k = t.v) OR t.v IS NULL) t JOIN {u} ON u.a = t.a"
            ),
            From::Valued => format!(
                "{u} RIGHT JOIN (SELECT * FROM {t} WHERE (SELECT max(u.w) FROM u WHERE u.a = t.a) > 0) t
                 ON u.k = t.v AND u.a = t.a"
            ),
        }
    }
}

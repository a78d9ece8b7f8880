//! What people write who come from another database, and what to write here: which row of the tables ([`HABITS`], [`OTHER_HABITS`]) a statement fits that has
//! failed, so that nothing that runs is ever touched by it.

use super::habit_rows::{HABITS, Habit, READS, UNDEFINED_OBJECT};
use super::other_habits::OTHER_HABITS;
use super::text_tokens::TextToken;

fn rows() -> impl Iterator<Item = &'static Habit> {
    HABITS.iter().chain(OTHER_HABITS)
}

/// Whether any row tells at this SQLSTATE.
pub(super) fn may_tell(sqlstate: &str) -> bool {
    rows().any(|(_, states, _)| states.contains(&sqlstate))
}

/// What to write instead, of a statement that failed with this SQLSTATE at the token at this place (`None`: nobody knows where).
pub(super) fn hint(tokens: &[TextToken<'_>], sqlstate: &str, at: Option<usize>) -> Option<&'static str> {
    // A type that is not there may be told of at the value that was to be of it.
    let at = at.filter(|_| sqlstate != UNDEFINED_OBJECT);
    let mut rows = rows().filter(|(written, states, _)| {
        // What is only a hint to where the text stops making sense needs that place.
        states.contains(&sqlstate) && (at.is_some() || *states != READS && is_sure(written, sqlstate))
    });
    let found =
        rows.find(|(written, ..)| (0..tokens.len()).any(|start| is_written(written, tokens, start, at)));
    found.map(|(.., hint)| *hint)
}

/// Whether the pattern tells enough by itself, wherever it stands in a statement that failed so.
fn is_sure(pattern: &str, sqlstate: &str) -> bool {
    pattern.starts_with('^') || sqlstate == UNDEFINED_OBJECT || !pattern.contains('_')
}

/// Whether the pattern stands at `start`, and the failure in what it names last, or right behind.
fn is_written(pattern: &str, tokens: &[TextToken<'_>], start: usize, at: Option<usize>) -> bool {
    let (head, tail) = match pattern.split_once(" … ") {
        Some((head, tail)) => (Some(head), tail),
        None => (None, pattern),
    };
    let (from, to) = match head {
        None => match end_of(tail, tokens, start) {
            Some(end) => (start, end),
            None => return false,
        },
        Some(head) => {
            let Some(behind) = end_of(head, tokens, start) else {
                return false;
            };
            let mut places = behind..tokens.len();
            let found = places.find_map(|from| Some((from, end_of(tail, tokens, from)?)));
            match found {
                Some(found) => found,
                None => return false,
            }
        }
    };
    match at {
        Some(at) => (from..=to).contains(&at),
        None => true,
    }
}

/// Where what is written as the pattern says ends, if it begins at `start`.
fn end_of(pattern: &str, tokens: &[TextToken<'_>], start: usize) -> Option<usize> {
    let mut at = start;
    for part in pattern.split(' ') {
        if part == "^" {
            let begins = at == 0 || tokens[at - 1].is(";");
            if !begins {
                return None;
            }
            continue;
        }
        let token = tokens.get(at)?;
        let fits = part.split('/').any(|one| match one {
            "_" => token.is_name(),
            "#" => token.is_number(),
            "'" => token.is_string(),
            word => token.is(word),
        });
        if !fits {
            return None;
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::super::text_tokens::tokens;
    use super::*;

    #[test]
    fn a_habit_is_known_where_it_fails_and_nowhere_else() {
        let hint_at = |text: &str, sqlstate: &str, position: usize| {
            let tokens = tokens(text);
            let at = tokens.iter().position(|token| token.position >= position);
            hint(&tokens, sqlstate, Some(at.unwrap_or(tokens.len())))
        };
        let of_table = hint_at("SELECT * FROM table", "42601", 15).unwrap();
        assert!(of_table.contains("word of SQL"));
        let nvl = "SELECT nvl(a, b), missing FROM t";
        assert!(hint_at(nvl, "42883", 8).unwrap().contains("coalesce"));
        assert_eq!(hint_at(nvl, "42703", 19), None);
        let update = hint_at("UPDATE t SET v = 1 LIMIT 1", "42601", 20).unwrap();
        assert!(update.contains("IN (SELECT"));
        assert_eq!(hint_at("SELECT k FROM t ORDER BY missing", "42703", 26), None);
        assert_eq!(hint_at("SELECT number FROM t", "42703", 8), None);
    }

    #[test]
    fn every_pattern_fits_what_it_says() {
        for (pattern, _, hint) in rows() {
            let text = pattern.replace("^ ", "").replace('…', "x = 1 and");
            let parts = text.split(' ').map(|part| match part.split('/').next() {
                Some("_") => "name",
                Some("#") => "7",
                Some("'") => "'name'",
                other => other.unwrap_or_default(),
            });
            let text = parts.collect::<Vec<_>>().join(" ");
            let tokens = tokens(&text);
            let last = Some(tokens.len() - 1);
            assert!(
                (0..tokens.len()).any(|at| is_written(pattern, &tokens, at, last)),
                "{pattern}"
            );
            assert!(hint.ends_with('.') && hint.len() < 120, "{hint}");
        }
    }
}

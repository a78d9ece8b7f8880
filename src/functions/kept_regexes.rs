//! Compiled regular expressions that a thread keeps: a constant pattern is compiled once a thread, not once a row or a statement.

use std::cell::RefCell;

use super::regular_expression::RegularExpression;
use crate::Result;

/// Patterns that a thread keeps; PostgreSQL keeps as many a session.
const KEPT_MAX: usize = 32;

/// What those take together, the one in use aside. In bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

struct Kept {
    flags: String,
    pattern: String,
    regex: RegularExpression,
}

thread_local! {
    /// The one used last first.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Does something with a pattern. Errors: 2201B for a pattern that is none, 22023 for flags that are none.
pub(super) fn with_regex<R>(
    pattern: &str,
    flags: &str,
    work: impl FnOnce(&RegularExpression) -> R,
) -> Result<R> {
    KEPT.with_borrow_mut(|kept| {
        match kept
            .iter()
            .position(|kept| kept.pattern == pattern && kept.flags == flags)
        {
            Some(0) => {}
            Some(at) => kept[..=at].rotate_right(1),
            None => add(kept, pattern, flags)?,
        }
        Ok(work(&kept[0].regex))
    })
}

fn add(kept: &mut Vec<Kept>, pattern: &str, flags: &str) -> Result<()> {
    let new = Kept {
        flags: flags.to_string(),
        pattern: pattern.to_string(),
        regex: RegularExpression::new(pattern, flags)?,
    };
    let mut bytes = 0;
    let staying = kept.iter().take(KEPT_MAX - 1).take_while(|old| {
        bytes += old.regex.bytes();
        bytes <= KEPT_BYTES_MAX
    });
    kept.truncate(staying.count());
    kept.insert(0, new);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_used_last_are_kept() {
        let used = |pattern: &str, flags: &str| {
            with_regex(pattern, flags, |regex| regex.is_match("AB"))
                .unwrap()
                .unwrap()
        };
        let kept =
            || KEPT.with_borrow(|kept| kept.iter().map(|kept| kept.pattern.clone()).collect::<Vec<_>>());
        assert!(!used("ab", ""));
        assert!(used("ab", "i"));
        assert!(used("A", ""));
        assert_eq!(kept(), ["A", "ab", "ab"]);
        assert!(!used("ab", ""));
        assert_eq!(kept(), ["ab", "A", "ab"]);
        assert!(with_regex("(", "", |_| ()).is_err());
        assert_eq!(kept().len(), 3);
        for number in 0..2 * KEPT_MAX {
            used(&number.to_string(), "");
        }
        assert_eq!(kept().len(), KEPT_MAX);
        used("[a-z]{255}", "");
        used("\\w{30}", "");
        used("\\w{31}", "");
        assert!(kept().len() < KEPT_MAX, "{:?}", kept());
        assert_eq!(kept()[0], "\\w{31}");
    }
}

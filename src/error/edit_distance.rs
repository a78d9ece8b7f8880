//! How far texts are from one another: Levenshtein's distance. For the HINTs of errors, and for the functions of that name. Pure.

/// What it costs to change a text by a character. Sums wrap around, as PostgreSQL's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditCosts {
    /// To put one in.
    pub insertion: i32,
    /// To take one out.
    pub deletion: i32,
    /// To put one in place of another.
    pub substitution: i32,
}

impl EditCosts {
    /// Each change counts one.
    pub const COUNT: EditCosts = EditCosts {
        insertion: 1,
        deletion: 1,
        substitution: 1,
    };

    /// The least that it costs to make the one text the other.
    pub fn between(self, source: &[char], target: &[char]) -> i32 {
        let times = |cost: i32, count: usize| cost.wrapping_mul(i32::try_from(count).unwrap_or(i32::MAX));
        // What it costs to make the first characters of the source those of the target that were looked at.
        let mut row: Vec<i32> = (0..=source.len())
            .map(|count| times(self.deletion, count))
            .collect();
        for (at, wanted) in target.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = times(self.insertion, at + 1);
            for (column, found) in source.iter().enumerate() {
                let substitution = if found == wanted { 0 } else { self.substitution };
                let substituted = diagonal.wrapping_add(substitution);
                let inserted = row[column + 1].wrapping_add(self.insertion);
                let deleted = row[column].wrapping_add(self.deletion);
                diagonal = row[column + 1];
                row[column + 1] = substituted.min(inserted).min(deleted);
            }
        }
        row[source.len()]
    }
}

/// How many characters are to be put in, taken out or replaced to make the one text the other.
pub fn levenshtein(source: &str, target: &str) -> usize {
    let source: Vec<char> = source.chars().collect();
    let target: Vec<char> = target.chars().collect();
    usize::try_from(EditCosts::COUNT.between(&source, &target)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_at_their_costs() {
        assert_eq!(levenshtein("kitten", "sitting"), 3);
        assert_eq!(levenshtein("", "abc"), 3);
        let chars = |text: &str| text.chars().collect::<Vec<char>>();
        let costs = EditCosts {
            insertion: 2,
            deletion: 3,
            substitution: 9,
        };
        assert_eq!(costs.between(&chars("ab"), &chars("b")), 3);
        assert_eq!(costs.between(&chars("b"), &chars("ab")), 2);
        assert_eq!(costs.between(&chars("a"), &chars("b")), 5);
    }
}

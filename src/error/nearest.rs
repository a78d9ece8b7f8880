//! The nearest name to one that does not exist, for HINTs. Pure.

/// The candidate with the smallest edit distance to `name`, if it is near enough to be what was meant: at most half of
/// the name's letters differ, three at most. The first of equals wins.
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance_max = (name.chars().count() / 2).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= distance_max && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// [`levenshtein`], upper and lower case taken as equal.
fn edit_distance(left: &str, right: &str) -> usize {
    levenshtein(&left.to_lowercase(), &right.to_lowercase())
}

/// How many characters are to be put in, taken out or replaced to make the one text the other.
pub fn levenshtein(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, left_char) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right_char) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(left_char != *right_char);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["orders", "customers", "channel"];
        assert_eq!(nearest_name("order", names), Some("orders"));
        assert_eq!(nearest_name("custmers", names), Some("customers"));
        assert_eq!(nearest_name("CHANEL", names), Some("channel"));
        assert_eq!(nearest_name("payments", names), None);
        assert_eq!(nearest_name("x", ["y"]), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("Straße", "straße"), 0);
    }
}

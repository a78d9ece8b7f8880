//! The nearest name to one that does not exist, for HINTs. Pure.

use super::edit_distance::levenshtein;

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

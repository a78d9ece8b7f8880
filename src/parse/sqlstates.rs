//! The names of conditions that PL/pgSQL knows, with their SQLSTATEs: `conditions.txt`, a name and a state a line, PostgreSQL 15's. Asked
//! by who reads a handler and by who raises.

/// Names and states.
const CONDITIONS: &str = include_str!("conditions.txt");

/// The states of the condition of this name: a few names have two. None: there is no such condition.
pub(crate) fn state_of_condition(name: &str) -> Vec<&'static str> {
    let lines = CONDITIONS.lines().filter_map(|line| line.split_once(' '));
    let found = lines.filter(|(known, _)| *known == name);
    found.map(|(_, state)| state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_states() {
        assert_eq!(state_of_condition("unique_violation"), ["23505"]);
        assert_eq!(state_of_condition("raise_exception"), ["P0001"]);
        assert!(state_of_condition("unique").is_empty());
        assert!(
            CONDITIONS
                .lines()
                .all(|line| line.split_once(' ').is_some_and(|(_, state)| state.len() == 5))
        );
    }
}

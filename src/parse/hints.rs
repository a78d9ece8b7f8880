//! `Hints`: what the comments behind a statement's verb ask of its plan (`SELECT /*+ _l_force_index_('i') */ …`), in
//! LindormTable's words.

/// What a statement asks of its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// `_l_allow_filtering_`, or ALLOW FILTERING: it may scan a whole table.
    pub allow_filtering: bool,
    /// Which keys there are to choose from.
    pub index: Option<IndexHint>,
    /// `CREATE INDEX … ASYNC`: the server builds the index after the statement.
    pub is_async: bool,
}

/// A hint about the keys that a statement reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexHint {
    /// `_l_force_index_('name')`: this one.
    Force(String),
    /// `_l_ignore_index_`: primary keys only.
    Ignore,
}

impl Hints {
    /// Takes the hints of a comment, if it holds any: `+ hint, hint`.
    pub(super) fn read(&mut self, comment: &str) {
        let Some(hints) = comment.strip_prefix('+') else {
            return;
        };
        let lower = hints.to_ascii_lowercase();
        self.allow_filtering |= lower.contains("_l_allow_filtering_");
        if lower.contains("_l_ignore_index_") {
            self.index = Some(IndexHint::Ignore);
        }
        if let Some(at) = lower.find("_l_force_index_")
            && let Some(name) = argument(&hints[at + "_l_force_index_".len()..])
        {
            self.index = Some(IndexHint::Force(name));
        }
    }
}

/// The name in `('name')`, `("name")` or `(name)`; one without quotes is folded.
fn argument(text: &str) -> Option<String> {
    let inner = text.trim_start().strip_prefix('(')?;
    let inner = inner[..inner.find(')')?].trim();
    let quoted = |quote: char| inner.strip_prefix(quote)?.strip_suffix(quote);
    match quoted('\'').or_else(|| quoted('"')) {
        Some(name) => Some(name.to_string()),
        None => Some(inner.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comment: &str) -> Hints {
        let mut hints = Hints::default();
        hints.read(comment);
        hints
    }

    #[test]
    fn hints_are_read_wherever_they_stand_in_the_comment() {
        let force = |name: &str| Some(IndexHint::Force(name.to_string()));
        assert_eq!(
            read(" _l_allow_filtering_ "),
            Hints::default(),
            "no hint without +"
        );
        assert!(read("+ _L_ALLOW_FILTERING_ ").allow_filtering);
        assert_eq!(read("+ _l_force_index_('By_Time') ").index, force("By_Time"));
        assert_eq!(read("+_l_force_index_ (By_Time)").index, force("by_time"));
        assert_eq!(read("+_l_ignore_index_").index, Some(IndexHint::Ignore));
        let both = read("+ _l_allow_filtering_, _l_force_index_(\"i\")");
        assert_eq!((both.allow_filtering, both.index), (true, force("i")));
        assert_eq!(read("+ _l_force_index_(").index, None);
    }
}

//! `Part`: the tables that one run may print, chosen by the environment.

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Compare,
    Stores,
    Cache,
    LargeCommit,
    Checkpoints,
    Recovery,
    Statements,
    Shapes,
    Indexes,
    Analytics,
    Tpch,
    Bulk,
    Wide,
}

impl Part {
    const ALL: [Part; 13] = [
        Part::Compare,
        Part::Stores,
        Part::Cache,
        Part::LargeCommit,
        Part::Checkpoints,
        Part::Recovery,
        Part::Statements,
        Part::Shapes,
        Part::Indexes,
        Part::Analytics,
        Part::Tpch,
        Part::Bulk,
        Part::Wide,
    ];

    /// The parts that `KEYSPAN_BENCH_PARTS` names, or the comparison alone.
    pub(crate) fn from_environment() -> Vec<Part> {
        let wanted =
            std::env::var("KEYSPAN_BENCH_PARTS").unwrap_or_else(|_| Part::Compare.name().to_string());
        if wanted == "all" {
            return Part::ALL.to_vec();
        }
        wanted.split(',').map(|name| Part::named(name.trim())).collect()
    }

    fn named(name: &str) -> Part {
        let known = || Part::ALL.map(Part::name).join(", ");
        let found = Part::ALL.into_iter().find(|part| part.name() == name);
        found.unwrap_or_else(|| panic!("KEYSPAN_BENCH_PARTS names \"{name}\"; parts are: {}", known()))
    }

    fn name(self) -> &'static str {
        match self {
            Part::Compare => "compare",
            Part::Stores => "stores",
            Part::Cache => "cache",
            Part::LargeCommit => "large-commit",
            Part::Checkpoints => "checkpoints",
            Part::Recovery => "recovery",
            Part::Statements => "statements",
            Part::Shapes => "shapes",
            Part::Indexes => "indexes",
            Part::Analytics => "analytics",
            Part::Tpch => "tpch",
            Part::Bulk => "bulk",
            Part::Wide => "wide",
        }
    }
}

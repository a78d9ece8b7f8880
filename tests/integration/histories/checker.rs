//! What a history of appends and reads says of its isolation, as Elle does it (Kingsbury, Alvaro: "Elle", 2020). Knows nothing of
//! servers: `appends` hands it what sessions did and saw.
//!
//! Every element is appended once, so a list says in which order its elements came: the longest that was read of a key is the
//! order of that key's versions, and every other read must be a prefix of it. From that follow the edges between transactions:
//!
//! ```text
//!   ww   a's element stands right before b's           a's version was replaced by b's
//!   wr   b read a list that ends with a's element      b read what a wrote
//!   rw   a read a list that b's element follows        a read what b then replaced
//! ```
//!
//! A circle of ww alone is G0; of ww and wr, G1c; with one rw, G-single; with more, G2 (Adya, "Weak Consistency", 1999).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A transaction, or what a session tried of one.
#[derive(Debug, Clone, Default)]
pub(super) struct Transaction {
    pub(super) is_committed: bool,
    /// When its commit was answered, by a clock that all sessions share.
    pub(super) ended: u64,
    pub(super) operations: Vec<Operation>,
}

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Append {
        key: usize,
        element: u64,
        /// By ROLLBACK TO.
        is_undone: bool,
    },
    Read {
        key: usize,
        list: Vec<u64>,
        /// When its snapshot was asked for, at the earliest.
        since: u64,
    },
}

/// How one transaction stands to the next in a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Circle {
    G0,
    G1c,
    GSingle,
    G2,
}

/// Something that a history shows. Transactions are named by their places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Anomaly {
    /// G1a: a read of what was rolled back.
    AbortedRead { reader: usize, element: u64 },
    /// G1b: a read of what its writer then wrote over.
    IntermediateRead { reader: usize, element: u64 },
    /// Two reads of one key of which none is the beginning of the other: versions in no order.
    IncompatibleOrder { reader: usize, key: usize },
    /// An element twice in a list.
    Repeated { reader: usize, element: u64 },
    /// A committed element that is not in the longest list: an append was lost.
    Lost { writer: usize, element: u64 },
    /// A list that begins without what was committed before its snapshot was asked for.
    Stale { reader: usize, element: u64 },
    /// A list that does not end with what its own transaction appended last.
    OwnAppendUnseen { reader: usize, element: u64 },
    /// A circle: its transactions, of which the last stands before the first; `edge` is the one from the first to the second (to
    /// itself, over the others): the one that gives it its name.
    Circle {
        kind: Circle,
        transactions: Vec<usize>,
        edge: Edge,
    },
}

/// All that a history shows. Its last read of each key must have come when all was over, so that nothing committed is missing
/// from the longest list but what was lost.
pub(super) fn anomalies(history: &[Transaction]) -> Vec<Anomaly> {
    let writes = Writes::of(history);
    let mut found = Vec::new();
    for (reader, transaction) in history.iter().enumerate() {
        writes.check_reads(reader, transaction, &mut found);
    }
    writes.check_lost(history, &mut found);
    found.extend(Graph::of(history, &writes).circles());
    found
}

/// Who appended an element, and whether it counts.
#[derive(Debug, Clone, Copy)]
struct Append {
    writer: usize,
    is_visible: bool,
    /// The last of its transaction to this key.
    is_last: bool,
}

/// The appends of a history, and the order of each key's versions.
#[derive(Debug, Default)]
struct Writes {
    appends: BTreeMap<u64, Append>,
    orders: BTreeMap<usize, Vec<u64>>,
    /// Committed elements with the ends of their transactions, by key.
    ended: BTreeMap<usize, Vec<(u64, u64)>>,
}

impl Writes {
    fn of(history: &[Transaction]) -> Writes {
        let mut writes = Writes::default();
        for (writer, transaction) in history.iter().enumerate() {
            writes.note(writer, transaction);
        }
        writes
    }

    fn note(&mut self, writer: usize, transaction: &Transaction) {
        let mut last_of_key: BTreeMap<usize, u64> = BTreeMap::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append {
                    key,
                    element,
                    is_undone,
                } => {
                    let append = Append {
                        writer,
                        is_visible: transaction.is_committed && !is_undone,
                        is_last: false,
                    };
                    self.appends.insert(*element, append);
                    if append.is_visible {
                        last_of_key.insert(*key, *element);
                        self.ended
                            .entry(*key)
                            .or_default()
                            .push((*element, transaction.ended));
                    }
                }
                Operation::Read { key, list, .. } if transaction.is_committed => {
                    let order = self.orders.entry(*key).or_default();
                    if list.len() > order.len() {
                        order.clone_from(list);
                    }
                }
                Operation::Read { .. } => {}
            }
        }
        for element in last_of_key.values() {
            if let Some(append) = self.appends.get_mut(element) {
                append.is_last = true;
            }
        }
    }

    /// What the reads of one transaction show by themselves: nobody may see what is not there, whether he commits or not.
    fn check_reads(&self, reader: usize, transaction: &Transaction, found: &mut Vec<Anomaly>) {
        let mut own: BTreeMap<usize, u64> = BTreeMap::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append {
                    key,
                    element,
                    is_undone: false,
                } => {
                    own.insert(*key, *element);
                }
                Operation::Append { .. } => {}
                Operation::Read { key, list, since } => {
                    self.check_list(reader, *key, list, found);
                    self.check_fresh(reader, *key, list, *since, found);
                    if let Some(element) = own.get(key).filter(|own| list.last() != Some(own)) {
                        found.push(Anomaly::OwnAppendUnseen {
                            reader,
                            element: *element,
                        });
                    }
                }
            }
        }
    }

    fn check_list(&self, reader: usize, key: usize, list: &[u64], found: &mut Vec<Anomaly>) {
        let mut seen = BTreeSet::new();
        // What a transaction that then failed appended is in no order.
        let mut others = Vec::new();
        for element in list {
            if !seen.insert(element) {
                let element = *element;
                found.push(Anomaly::Repeated { reader, element });
            }
            let append = self.appends.get(element);
            let is_own = append.is_some_and(|append| append.writer == reader);
            if !is_own && !append.is_some_and(|append| append.is_visible) {
                let element = *element;
                found.push(Anomaly::AbortedRead { reader, element });
            }
            if !is_own {
                others.push(*element);
            }
        }
        let order = self.orders.get(&key).map_or(&[][..], Vec::as_slice);
        let is_prefix = order.starts_with(list) || order.starts_with(&others);
        if !is_prefix {
            found.push(Anomaly::IncompatibleOrder { reader, key });
        }
        if let Some(element) = list.last()
            && let Some(append) = self.appends.get(element)
            && append.writer != reader
            && append.is_visible
            && !append.is_last
        {
            let element = *element;
            found.push(Anomaly::IntermediateRead { reader, element });
        }
    }

    fn check_fresh(&self, reader: usize, key: usize, list: &[u64], since: u64, found: &mut Vec<Anomaly>) {
        let list: BTreeSet<u64> = list.iter().copied().collect();
        let ended = self.ended.get(&key).map_or(&[][..], Vec::as_slice);
        let missing = ended
            .iter()
            .find(|(element, ended)| *ended < since && !list.contains(element));
        if let Some((element, _)) = missing {
            let element = *element;
            found.push(Anomaly::Stale { reader, element });
        }
    }

    fn check_lost(&self, history: &[Transaction], found: &mut Vec<Anomaly>) {
        for (writer, transaction) in history.iter().enumerate() {
            for operation in &transaction.operations {
                if let Operation::Append { key, element, .. } = operation
                    && self.appends[element].is_visible
                    && !self.orders.get(key).is_some_and(|order| order.contains(element))
                {
                    let element = *element;
                    found.push(Anomaly::Lost { writer, element });
                }
            }
        }
    }

    /// The committed transaction that appended an element.
    fn writer(&self, element: u64) -> Option<usize> {
        let append = self.appends.get(&element)?;
        append.is_visible.then_some(append.writer)
    }
}

/// The edges between committed transactions.
#[derive(Debug)]
struct Graph {
    /// From a transaction, by the place of the next and the kind.
    edges: Vec<BTreeSet<(usize, Edge)>>,
}

impl Graph {
    fn of(history: &[Transaction], writes: &Writes) -> Graph {
        let mut graph = Graph {
            edges: vec![BTreeSet::new(); history.len()],
        };
        for order in writes.orders.values() {
            for pair in order.windows(2) {
                graph.add(writes.writer(pair[0]), Edge::WriteWrite, writes.writer(pair[1]));
            }
        }
        let committed = history
            .iter()
            .enumerate()
            .filter(|(_, transaction)| transaction.is_committed);
        for (reader, transaction) in committed {
            for operation in &transaction.operations {
                let Operation::Read { key, list, .. } = operation else {
                    continue;
                };
                let order = writes.orders.get(key).map_or(&[][..], Vec::as_slice);
                let read = list.last().and_then(|element| writes.writer(*element));
                graph.add(read, Edge::WriteRead, Some(reader));
                let next = order.get(list.len()).and_then(|element| writes.writer(*element));
                graph.add(Some(reader), Edge::ReadWrite, next);
            }
        }
        graph
    }

    fn add(&mut self, from: Option<usize>, edge: Edge, to: Option<usize>) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges[from].insert((to, edge));
        }
    }

    /// A shortest circle over each edge that can be in one, named by the weakest kind that it is of.
    fn circles(&self) -> Vec<Anomaly> {
        use Edge::{ReadWrite, WriteRead, WriteWrite};
        let mut found = Vec::new();
        for (from, edges) in self.edges.iter().enumerate() {
            for (to, edge) in edges {
                let over: &[(Circle, &[Edge])] = match edge {
                    WriteWrite => &[(Circle::G0, &[WriteWrite])],
                    WriteRead => &[(Circle::G1c, &[WriteWrite, WriteRead])],
                    ReadWrite => &[
                        (Circle::GSingle, &[WriteWrite, WriteRead]),
                        (Circle::G2, &[WriteWrite, WriteRead, ReadWrite]),
                    ],
                };
                let circle = over.iter().find_map(|(kind, edges)| {
                    let back = self.path(*to, from, edges)?;
                    Some((*kind, back))
                });
                if let Some((kind, back)) = circle {
                    let before = back[..back.len() - 1].iter().copied();
                    found.push(Anomaly::Circle {
                        kind,
                        transactions: std::iter::once(from).chain(before).collect(),
                        edge: *edge,
                    });
                }
            }
        }
        found
    }

    /// A shortest path over edges of these kinds, both ends in it.
    fn path(&self, from: usize, to: usize, kinds: &[Edge]) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut left = VecDeque::from([from]);
        while let Some(at) = left.pop_front() {
            if at == to {
                let step = |at: &usize| before.get(at).copied().filter(|_| *at != from);
                let mut path: Vec<usize> = std::iter::successors(Some(to), step).collect();
                path.reverse();
                return Some(path);
            }
            for (next, kind) in &self.edges[at] {
                if kinds.contains(kind) && *next != from && !before.contains_key(next) {
                    before.insert(*next, at);
                    left.push_back(*next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transaction in few words: `a0:1` appends 1 to key 0, `u0:1` does and undoes it, `r0:1,2` reads a list; `!` at the end: rolled back.
    fn transaction(text: &str) -> Transaction {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let is_committed = words.pop_if(|word| *word == "!").is_none();
        let operation = |word: &&str| {
            let (key, list) = word[1..].split_once(':').expect("key:elements");
            let key = key.parse().expect("a key");
            let numbers = list.split(',').filter(|element| !element.is_empty());
            let list: Vec<u64> = numbers
                .map(|element| element.parse().expect("an element"))
                .collect();
            match &word[..1] {
                "r" => Operation::Read { key, list, since: 0 },
                kind => Operation::Append {
                    key,
                    element: list[0],
                    is_undone: kind == "u",
                },
            }
        };
        Transaction {
            is_committed,
            ended: u64::MAX,
            operations: words.iter().map(operation).collect(),
        }
    }

    fn check(history: &[&str]) -> Vec<Anomaly> {
        let history: Vec<Transaction> = history.iter().map(|text| transaction(text)).collect();
        anomalies(&history)
    }

    /// The kinds of the circles, each once.
    fn circles(history: &[&str]) -> Vec<Circle> {
        let mut kinds = Vec::new();
        for anomaly in check(history) {
            match anomaly {
                Anomaly::Circle { kind, .. } if !kinds.contains(&kind) => kinds.push(kind),
                Anomaly::Circle { .. } => {}
                other => panic!("{history:?}: {other:?}"),
            }
        }
        kinds
    }

    #[test]
    fn one_after_the_other_shows_nothing() {
        let history = [
            "a0:1 a0:2 a1:3",
            "r0:1,2 a1:4 r1:3,4",
            "a0:5 !",
            "u0:6 a0:7",
            "r0:1,2,7 r1:3,4",
        ];
        assert_eq!(check(&history), []);
        assert_eq!(check(&[]), []);
        assert_eq!(check(&["r0:", "a0:1 r0:1", "r0:1"]), []);
    }

    #[test]
    fn circles_are_told_by_their_edges() {
        // Each appends to both keys, in the other order.
        assert_eq!(
            circles(&["a0:1 a1:2", "a0:3 a1:4", "r0:1,3 r1:4,2"]),
            [Circle::G0]
        );
        // Each reads the other's.
        assert_eq!(circles(&["a0:1 r1:2", "a1:2 r0:1", "r0:1 r1:2"]), [Circle::G1c]);
        // A reader between the two appends of one.
        assert_eq!(
            circles(&["r0: r1:2", "a0:1 a1:2", "r0:1 r1:2"]),
            [Circle::GSingle]
        );
        // A lost update, but for appends that lose nothing.
        assert_eq!(circles(&["r0: a0:1 r0:2,1", "a0:2", "r0:2,1"]), [Circle::GSingle]);
        // Write skew.
        assert_eq!(circles(&["r1: a0:1", "r0: a1:2", "r0:1 r1:2"]), [Circle::G2]);
        // Over three.
        assert_eq!(
            circles(&["r0: a1:2", "a0:1 r2:", "r1: a2:3", "r0:1 r1:2 r2:3"]),
            [Circle::G2]
        );
    }

    #[test]
    fn a_circle_names_its_transactions() {
        let found = check(&["r0: r1:2", "a0:1", "r0:1 a1:2", "r0:1 r1:2"]);
        let expected = Anomaly::Circle {
            kind: Circle::GSingle,
            transactions: vec![0, 1, 2],
            edge: Edge::ReadWrite,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn reads_are_held_to_what_was_committed() {
        let aborted = |reader, element| Anomaly::AbortedRead { reader, element };
        let incompatible = |reader, key| Anomaly::IncompatibleOrder { reader, key };
        assert_eq!(check(&["a0:1 !", "r0:1", "r0:1"]), [aborted(1, 1), aborted(2, 1)]);
        assert_eq!(check(&["u0:1", "r0:1"]), [aborted(1, 1)]);
        // Also where the reader is rolled back.
        assert_eq!(
            check(&["a0:1 !", "r0:1 !", "r0:"]),
            [aborted(1, 1), incompatible(1, 0)]
        );
        let intermediate = Anomaly::IntermediateRead {
            reader: 1,
            element: 1,
        };
        assert!(check(&["a0:1 a0:2", "r0:1", "r0:1,2"]).contains(&intermediate));
        assert_eq!(
            check(&["a0:1 !", "a0:2 r0:2", "a0:3 r0:2,3 !", "r0:2"]),
            [],
            "what is its own it may see"
        );
    }

    #[test]
    fn lists_are_held_to_one_order() {
        assert_eq!(
            check(&["a0:1", "a0:2", "r0:1", "r0:2,1"])[0],
            Anomaly::IncompatibleOrder { reader: 2, key: 0 }
        );
        assert_eq!(
            check(&["a0:1", "r0:1,1"]),
            [Anomaly::Repeated {
                reader: 1,
                element: 1
            }]
        );
        assert_eq!(
            check(&["a0:1", "a0:2", "r0:2"]),
            [Anomaly::Lost {
                writer: 0,
                element: 1
            }]
        );
        assert_eq!(
            check(&["a0:1 r0:", "r0:1"])[0],
            Anomaly::OwnAppendUnseen {
                reader: 0,
                element: 1
            }
        );
    }

    #[test]
    fn a_read_shows_what_ended_before_it() {
        let mut history = ["a0:1", "r0:", "r0:1"].map(transaction);
        history[0].ended = 5;
        for (asked, found) in [(5, 0), (6, 1)] {
            if let Operation::Read { since, .. } = &mut history[1].operations[0] {
                *since = asked;
            }
            let stale = Anomaly::Stale {
                reader: 1,
                element: 1,
            };
            let count = anomalies(&history)
                .iter()
                .filter(|other| **other == stale)
                .count();
            assert_eq!(count, found);
        }
    }
}

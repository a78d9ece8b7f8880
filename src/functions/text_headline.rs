//! `ts_headline`: the piece of a document that shows best why a query finds it, with its words marked. Which piece that is PostgreSQL's
//! documents say only in part; what it does is done here: covers are the shortest runs of words that the query matches, each is made
//! longer or shorter to a good end, and the best of them is shown, or several as fragments.

use super::headline_options::HeadlineOptions;
use super::size::check_length;
use super::text_configuration::{Configuration, stemmer};
use super::text_parser::{TokenKind, tokens};
use super::text_search_documents::current;
use super::{FunctionDef, T};
use crate::Result;
use crate::types::text_search::{Operand, POSITION_MAX, QueryNode, TsQuery, WORD_BYTES_MAX};
use crate::types::{CatalogType, ResultLimits};

const C: T = T::Catalog(CatalogType::Regconfig);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ts_headline", &[C, T::Text, T::TsQuery], T::Text, |b| {
        b.map3(|name: &str, document: &str, query: &str| {
            shown((Configuration::named(name)?, document), query, "", b.limits())
        })
    }),
    FunctionDef::new("ts_headline", &[C, T::Text, T::TsQuery, T::Text], T::Text, |b| {
        b.map4(|name: &str, document: &str, query: &str, options: &str| {
            shown(
                (Configuration::named(name)?, document),
                query,
                options,
                b.limits(),
            )
        })
    }),
    FunctionDef::catalog("ts_headline", &[T::Text, T::TsQuery], T::Text, |b, catalog| {
        let configuration = current(catalog)?;
        b.map2(|document: &str, query: &str| shown((configuration, document), query, "", b.limits()))
    }),
    FunctionDef::catalog(
        "ts_headline",
        &[T::Text, T::TsQuery, T::Text],
        T::Text,
        |b, catalog| {
            let configuration = current(catalog)?;
            b.map3(|document: &str, query: &str, options: &str| {
                shown((configuration, document), query, options, b.limits())
            })
        },
    ),
];

fn shown(
    (configuration, document): (Configuration, &str),
    query: &str,
    options: &str,
    limits: ResultLimits,
) -> Result<String> {
    Headlines::new(configuration, query, options, limits)?.of(document)
}

/// What headlines are made by.
pub(super) struct Headlines {
    configuration: Configuration,
    query: TsQuery,
    options: HeadlineOptions,
    limits: ResultLimits,
}

impl Headlines {
    /// Errors: those of the options.
    pub(super) fn new(
        configuration: Configuration,
        query: &str,
        options: &str,
        limits: ResultLimits,
    ) -> Result<Headlines> {
        Ok(Headlines {
            configuration,
            options: HeadlineOptions::parse(options)?,
            query: TsQuery::parse(query)?,
            limits,
        })
    }

    /// That of a document. Errors: 54000 for one that is too long.
    pub(super) fn of(&self, document: &str) -> Result<String> {
        let shown = headline(self.configuration, document, &self.query, &self.options);
        check_length(shown.len(), self.limits)?;
        Ok(shown)
    }
}

/// A token of the document.
struct HeadlineWord<'a> {
    kind: TokenKind,
    text: &'a str,
    /// Its place, as a tsvector would have it.
    place: u16,
    /// Which operand of the query it is, by their order.
    found: Option<usize>,
    /// Whether it stands before this one already: a token that is several operands stands there, and counts, once for each.
    is_repeated: bool,
}

impl HeadlineWord<'_> {
    /// Whether it is a word of the query, met for the first time.
    fn is_found(&self) -> bool {
        self.found.is_some() && !self.is_repeated
    }

    /// Whether it counts as a word. (A hyphenated word and an address of a page stand there a second time, by their parts.)
    fn is_word(&self) -> bool {
        use TokenKind as K;
        !matches!(
            self.kind,
            K::Blank | K::Tag | K::Url | K::NumberHyphenated | K::AsciiHyphenated | K::Hyphenated
        )
    }

    /// Whether a piece should not end with it.
    fn ends_badly(&self, options: &HeadlineOptions) -> bool {
        use TokenKind as K;
        let says_little = matches!(
            self.kind,
            K::Scientific | K::Version | K::Decimal | K::Signed | K::Unsigned | K::Protocol | K::Entity
        );
        let is_short = self.text.len() <= options.short_word;
        (says_little || is_short || !self.is_word()) && !self.is_found()
    }
}

/// A piece: the numbers of its first and its last token.
type Span = (usize, usize);

/// A part of a cover that may become a fragment.
struct Fragment {
    span: Span,
    words: usize,
    found: usize,
    is_over: bool,
}

/// The headline of a document.
fn headline(
    configuration: Configuration,
    document: &str,
    query: &TsQuery,
    options: &HeadlineOptions,
) -> String {
    let operands = query.root.as_ref().map(QueryNode::operands).unwrap_or_default();
    let headline = Headline {
        words: words_of(configuration, document, &operands),
        operands,
        query,
        options,
    };
    let spans = match (options.fragments_max, headline.words.len()) {
        (_, 0) => Vec::new(),
        (0, all) if options.highlights_all => vec![(0, all - 1)],
        (0, _) => vec![headline.best_span()],
        (most, _) => headline.fragments(most),
    };
    headline.written(&spans)
}

fn words_of<'a>(
    configuration: Configuration,
    document: &'a str,
    operands: &[&Operand],
) -> Vec<HeadlineWord<'a>> {
    let (stemmer, mut place) = (stemmer(), 0_u16);
    let mut words = Vec::new();
    for token in tokens(document) {
        if token.text.len() >= WORD_BYTES_MAX {
            continue;
        }
        let mut found = Vec::new();
        if let Some(dictionary) = configuration.dictionary(token.kind) {
            place = (place + 1).min(POSITION_MAX);
            if let Some(word) = dictionary.word(token.text, &stemmer) {
                let is_it = |operand: &Operand| match operand.is_prefix {
                    true => word.starts_with(&operand.word),
                    false => word == operand.word,
                };
                found.extend((0..operands.len()).filter(|at| is_it(operands[*at])));
            }
        }
        let first = found.first().copied();
        let others = found.iter().skip(1).map(|other| (Some(*other), true));
        words.extend(
            [(first, false)]
                .into_iter()
                .chain(others)
                .map(|(found, is_repeated)| HeadlineWord {
                    kind: token.kind,
                    text: token.text,
                    place,
                    found,
                    is_repeated,
                }),
        );
    }
    words
}

struct Headline<'a> {
    words: Vec<HeadlineWord<'a>>,
    operands: Vec<&'a Operand>,
    query: &'a TsQuery,
    options: &'a HeadlineOptions,
}

impl Headline<'_> {
    /// The words of a piece, and those of the query among them.
    fn counted(&self, (first, last): Span) -> (usize, usize) {
        let words = &self.words[first..=last];
        let count = |is: &dyn Fn(&HeadlineWord<'_>) -> bool| words.iter().filter(|word| is(word)).count();
        (count(&|word| word.is_word()), count(&|word| word.is_found()))
    }

    fn ends_badly(&self, at: usize) -> bool {
        self.words[at].ends_badly(self.options)
    }

    fn next_found(&self, from: usize) -> Option<usize> {
        (from..self.words.len()).find(|at| self.words[*at].found.is_some())
    }

    /// The first and shortest run of tokens from one on that the query matches.
    fn cover(&self, from: usize) -> Option<Span> {
        let longest = (10 * self.options.words_max).max(100) * self.options.fragments_max.max(1);
        let mut first = self.next_found(from)?;
        loop {
            let mut last = Some(first);
            while let Some(end) = last.filter(|end| end - first < longest) {
                if self.is_matched((first, end)) {
                    return Some((first, end));
                }
                last = self.next_found(end + 1);
            }
            first = self.next_found(first + 1)?;
        }
    }

    fn is_matched(&self, (first, last): Span) -> bool {
        let places = |operand: &Operand| {
            let number = self
                .operands
                .iter()
                .position(|other| std::ptr::eq(*other, operand))?;
            let words = self.words[first..=last].iter();
            let words = words.filter(|word| word.found == Some(number));
            let places: Vec<u16> = words.map(|word| word.place).collect();
            Some(places).filter(|places| !places.is_empty())
        };
        self.query.matches_places(&places)
    }

    /// The best of the pieces around covers: one that holds its whole cover before others, then one with more words of the query, then
    /// one that ends well.
    fn best_span(&self) -> Span {
        let mut best: Option<(Span, (bool, usize, bool))> = None;
        let mut from = 0;
        while let Some(cover) = self.cover(from) {
            let span = self.span_around(cover);
            let (_, found) = self.counted(span);
            let holds = span.0 <= cover.0 && span.1 >= cover.1;
            let merits = (holds, found, !self.ends_badly(span.1));
            if best.is_none_or(|(_, others)| merits > others) {
                best = Some((span, merits));
            }
            from = cover.0 + 1;
        }
        best.map_or_else(|| self.beginning(), |(span, _)| span)
    }

    /// A cover, made longer up to a good end, or shorter.
    fn span_around(&self, (start, end): Span) -> Span {
        let (least, most) = (self.options.words_min, self.options.words_max);
        let (mut first, mut last, mut words) = (start, start, 0);
        for at in start..=end {
            if words >= most {
                break;
            }
            words += usize::from(self.words[at].is_word());
            last = at;
        }
        if words >= most {
            while words > least && self.ends_badly(last) && last > start {
                words -= usize::from(self.words[last].is_word());
                last -= 1;
            }
            return (first, last);
        }
        for at in end..self.words.len() {
            if words >= most {
                break;
            }
            words += usize::from(at > end && self.words[at].is_word());
            last = at;
            if !self.ends_badly(at) && words >= least {
                break;
            }
        }
        if words < least {
            for at in (0..start).rev() {
                words += usize::from(self.words[at].is_word());
                first = at;
                if words >= most {
                    break;
                }
                if !self.ends_badly(at) && words >= least {
                    break;
                }
            }
        }
        (first, last)
    }

    /// The first words, for want of a cover.
    fn beginning(&self) -> Span {
        let (mut words, mut last) = (0, 0);
        for (at, word) in self.words.iter().enumerate() {
            if words >= self.options.words_min {
                break;
            }
            words += usize::from(word.is_word());
            last = at;
        }
        (0, last)
    }

    /// The best parts of covers, each made longer on both sides, in the order in which they stand.
    fn fragments(&self, most: usize) -> Vec<Span> {
        let mut candidates = self.candidates();
        let mut chosen: Vec<Span> = Vec::new();
        while chosen.len() < most {
            let open = candidates.iter().enumerate().filter(|(_, part)| !part.is_over);
            let open = open.filter(|(_, part)| part.found > 0);
            let best = open.min_by_key(|(_, part)| (usize::MAX - part.found, part.words));
            let Some((at, _)) = best else { break };
            candidates[at].is_over = true;
            let span = self.stretched(&candidates[at], &chosen);
            chosen.push(span);
            let overlaps = |(first, last): Span| first <= span.1 && last >= span.0;
            for part in candidates.iter_mut().filter(|part| overlaps(part.span)) {
                part.is_over = true;
            }
        }
        if chosen.is_empty() {
            chosen.push(self.beginning());
        }
        chosen.sort_unstable();
        chosen
    }

    /// Covers in parts that are not too long, each from a word of the query to one.
    fn candidates(&self) -> Vec<Fragment> {
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some((first, last)) = self.cover(from) {
            from = first + 1;
            let mut start = first;
            while let Some(begins) = (start..=last).find(|at| self.words[*at].is_found()) {
                let (mut end, mut words) = (begins, 0);
                for at in begins..=last {
                    if words >= self.options.words_max {
                        break;
                    }
                    words += usize::from(self.words[at].is_word());
                    if self.words[at].is_found() || at == last {
                        end = at;
                    }
                }
                let (words, found) = self.counted((begins, end));
                parts.push(Fragment {
                    span: (begins, end),
                    words,
                    found,
                    is_over: false,
                });
                start = end + 1;
            }
        }
        parts
    }

    /// A fragment made longer: half of what it lacks before it, the rest behind it, as far as no other reaches.
    fn stretched(&self, fragment: &Fragment, others: &[Span]) -> Span {
        let most = self.options.words_max;
        let (mut first, mut last) = fragment.span;
        let mut words = fragment.words;
        if words >= most {
            return (first, last);
        }
        let is_free = |at: usize| !others.iter().any(|(from, to)| (*from..=*to).contains(&at));
        let (room, mut taken, mut marker) = ((most - words) / 2, 0, first);
        while marker > 0 && taken < room && is_free(marker - 1) {
            marker -= 1;
            taken += usize::from(self.words[marker].is_word());
        }
        words += taken;
        while marker < first && self.ends_badly(marker) {
            words -= usize::from(self.words[marker].is_word());
            marker += 1;
        }
        first = marker;
        let (end, mut marker) = (last, last);
        while marker + 1 < self.words.len() && words < most && is_free(marker + 1) {
            marker += 1;
            words += usize::from(self.words[marker].is_word());
        }
        while marker > end && self.ends_badly(marker) {
            marker -= 1;
        }
        last = marker;
        (first, last)
    }

    /// The text of the pieces, with the words of the query marked.
    fn written(&self, spans: &[Span]) -> String {
        use TokenKind as K;
        let options = self.options;
        let mut out = String::new();
        let mut behind: Option<usize> = None;
        for (first, last) in spans {
            if behind.is_some_and(|behind| behind != *first) {
                out.push_str(&options.delimiter);
            }
            behind = Some(last + 1);
            for word in self.words[*first..=*last].iter().filter(|word| !word.is_repeated) {
                match word.kind {
                    K::Tag if !options.highlights_all => out.push(' '),
                    K::Url | K::NumberHyphenated | K::AsciiHyphenated | K::Hyphenated => {}
                    _ if word.is_found() => {
                        let pieces = [options.start.as_str(), word.text, options.stop.as_str()];
                        out.extend(pieces);
                    }
                    _ => out.push_str(word.text),
                }
            }
        }
        out
    }
}

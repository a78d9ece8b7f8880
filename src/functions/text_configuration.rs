//! Configurations of text search: which words become of the tokens of a document. `simple` writes them in lower case; `english` leaves
//! out those that say nothing, and keeps the stems of the others (Snowball's, of `rust-stemmers`). Called by the functions of text search.

use rust_stemmers::{Algorithm, Stemmer};

use super::text_parser::{TokenKind, tokens};
use crate::Result;
use crate::types::letter_case::lowercase;
use crate::types::text_search::{
    Lexeme, POSITION_MAX, Position, WORD_BYTES_MAX, Weight, configuration_name, dictionary_name,
};

/// The longest word, in bytes, that is made a stem of; PostgreSQL's.
const STEM_BYTES_MAX: usize = 1_000;

/// How words are made of documents and queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Configuration {
    Simple,
    English,
}

/// PostgreSQL's english.stop.
const STOP_WORDS: [&str; 127] = [
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "me",
    "more",
    "most",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "s",
    "same",
    "she",
    "should",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

impl Configuration {
    /// By its name, in its schema or not. Errors: 42704.
    pub(super) fn named(name: &str) -> Result<Configuration> {
        Ok(match configuration_name(name)? {
            "english" => Configuration::English,
            _ => Configuration::Simple,
        })
    }

    /// Its name, in its schema.
    pub(super) fn name(self) -> &'static str {
        match self {
            Configuration::Simple => "simple",
            Configuration::English => "english",
        }
    }

    /// The dictionary that tokens of a kind are looked up in; `None`: they are left out.
    pub(super) fn dictionary(self, kind: TokenKind) -> Option<Dictionary> {
        use TokenKind as K;
        match kind {
            K::Blank | K::Tag | K::Protocol | K::Entity => None,
            K::AsciiWord | K::Word | K::WordPart | K::AsciiPart | K::AsciiHyphenated | K::Hyphenated => {
                Some(match self {
                    Configuration::Simple => Dictionary::Simple,
                    Configuration::English => Dictionary::English,
                })
            }
            _ => Some(Dictionary::Simple),
        }
    }

    /// The words of a document, each with its place from 1 up, those left out counted too.
    pub(super) fn words(self, document: &str) -> Vec<Lexeme> {
        let mut words = Words::new(self);
        words.add(document);
        words.list
    }
}

/// What words are looked up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dictionary {
    Simple,
    English,
}

impl Dictionary {
    /// By its name. Errors: 42704.
    pub(super) fn named(name: &str) -> Result<Dictionary> {
        Ok(match dictionary_name(name)? {
            "english_stem" => Dictionary::English,
            _ => Dictionary::Simple,
        })
    }

    /// The word that a token becomes; `None`: it says nothing.
    pub(super) fn word(self, token: &str, stemmer: &Stemmer) -> Option<String> {
        let lower = lowercase(token).into_owned();
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::English if lower.len() > STEM_BYTES_MAX => Some(lower),
            Dictionary::English if lower.is_empty() || STOP_WORDS.contains(&lower.as_str()) => None,
            Dictionary::English => Some(stemmer.stem(&lower).into_owned()),
        }
    }
}

/// What makes stems of English words.
pub(super) fn stemmer() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

/// Words that are gathered, of one text after the other.
pub(super) struct Words {
    configuration: Configuration,
    stemmer: Stemmer,
    place: u16,
    pub(super) list: Vec<Lexeme>,
}

impl Words {
    pub(super) fn new(configuration: Configuration) -> Words {
        Words {
            configuration,
            stemmer: stemmer(),
            place: 0,
            list: Vec::new(),
        }
    }

    /// Adds those of a text. Words that are too long are left out, as if they were not there.
    pub(super) fn add(&mut self, text: &str) {
        for token in tokens(text) {
            let Some(dictionary) = self.configuration.dictionary(token.kind) else {
                continue;
            };
            if token.text.len() >= WORD_BYTES_MAX {
                continue;
            }
            self.place = (self.place + 1).min(POSITION_MAX);
            let word = dictionary.word(token.text, &self.stemmer);
            self.list.extend(word.map(|word| Lexeme {
                word,
                positions: vec![Position {
                    place: self.place,
                    weight: Weight::D,
                }],
            }));
        }
    }

    /// Adds those of a part of a document: no phrase reaches into the next one.
    pub(super) fn add_part(&mut self, text: &str) {
        let before = self.list.len();
        self.add(text);
        if self.list.len() > before {
            self.place = (self.place + 1).min(POSITION_MAX);
        }
    }
}

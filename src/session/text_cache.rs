//! `TextCache`: statements of the simple protocol whose text came before, but for its constants. They are prepared
//! statements without a name, whose parameters are the constants: parsed and planned once for each session.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::{PreparedStatement, Session, text_parameter};
use crate::catalog::{Catalog, Lookups};
use crate::parse::Parameterized;
use crate::sql::Statement;
use crate::system::plan_cache::{ConstantTypes, KeptBasis, PlanBasis};
use crate::system::{Parameters, Settings};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Texts whose comings are counted, to tell those that come again.
const COUNTED_MAX: usize = 128;

/// The statements of a session that are kept by their text.
#[derive(Debug, Default)]
pub(super) struct TextCache {
    hasher: RandomState,
    /// Hashes of texts that are not kept, with how often they came; the newest first.
    counted: VecDeque<(u64, usize)>,
    /// The statement used last stands first.
    kept: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    hash: u64,
    text: String,
    types: Vec<Option<SqlType>>,
    /// With what the types of its parameters rest on.
    statement: Option<(Arc<PreparedStatement>, Arc<ConstantTypes>)>,
    /// What was looked up for it.
    lookups: Arc<Lookups>,
    /// Without a statement: with parameters the text is another one, or none, as long as this is what it would be worked out from.
    refusal: Option<KeptBasis>,
}

/// The newest that a text could be worked out from.
struct Newest {
    /// What the last change of definitions left; none before the first statement.
    catalog: Option<Arc<Catalog>>,
    settings: Arc<Settings>,
}

/// A statement that is known, with the constants of the text that asks for it.
#[derive(Debug)]
pub struct KnownText {
    hash: u64,
    /// The statement.
    pub statement: Arc<Statement>,
    /// The constants.
    pub parameters: Parameters,
}

/// What is known of a text.
enum Known {
    /// It did not come often enough, or parameters do not do.
    No,
    /// It is to be kept.
    New,
    Statement((Arc<PreparedStatement>, Arc<ConstantTypes>)),
}

impl TextCache {
    fn hash(&self, text: &str, types: &[Option<SqlType>]) -> u64 {
        let integers = types.iter().map(|ty| match ty {
            None => 0u8,
            Some(SqlType::Int4) => 1,
            Some(_) => 2,
        });
        self.hasher.hash_one((text, integers.collect::<Vec<u8>>()))
    }

    /// What is known of a text, which has come now. It is to be kept when it comes for the `threshold`-th time.
    fn find(
        &mut self,
        (hash, text, types): (u64, &str, &[Option<SqlType>]),
        threshold: usize,
        newest: &Newest,
    ) -> Known {
        let is_it = |kept: &Kept| kept.hash == hash && kept.text == text && kept.types == types;
        if let Some(at) = self.kept.iter().position(is_it) {
            if self.kept[at].statement.is_none() && !self.kept[at].is_refused(newest) {
                self.kept.remove(at);
                return Known::New;
            }
            let statement = self.kept[at].statement.clone();
            self.kept.make_contiguous()[..=at].rotate_right(1);
            return statement.map_or(Known::No, Known::Statement);
        }
        let counted = self.counted.iter().position(|(counted, _)| *counted == hash);
        let came = 1 + counted.map_or(0, |at| self.counted[at].1);
        if came >= threshold {
            self.counted.retain(|(counted, _)| *counted != hash);
            return Known::New;
        }
        match counted {
            Some(at) => self.counted[at].1 = came,
            None => {
                self.counted.truncate(COUNTED_MAX - 1);
                self.counted.push_front((hash, came));
            }
        }
        Known::No
    }

    /// Keeps a statement, or that there is none; what was not used for longest goes.
    fn keep(&mut self, kept: Kept, kept_max: usize) {
        self.kept.truncate(kept_max.saturating_sub(1));
        self.kept.push_front(kept);
    }

    /// The text with parameters is not the statement that it is without.
    fn forbid(&mut self, hash: u64, settings: &Settings) {
        for kept in self.kept.iter_mut().filter(|kept| kept.hash == hash) {
            kept.statement = None;
            kept.refuse(settings);
        }
    }
}

impl Kept {
    fn refuse(&mut self, settings: &Settings) {
        self.refusal = Some(KeptBasis::new(settings.of_plans(), &self.lookups));
    }

    fn is_refused(&mut self, newest: &Newest) -> bool {
        let refusal = self.refusal.as_mut().zip(newest.basis());
        refusal.is_some_and(|(refusal, newest)| refusal.is_as_good_as(newest))
    }
}

impl Newest {
    fn basis(&self) -> Option<PlanBasis<'_>> {
        let catalog = self.catalog.as_ref()?;
        let settings = self.settings.of_plans();
        Some(PlanBasis { catalog, settings })
    }
}

impl Session {
    /// The statement of a message's text, when the text came before, but for its constants. `None`: it must be parsed.
    /// Errors: what stops the session.
    pub async fn recall(&mut self, text: &str) -> Result<Option<KnownText>> {
        let (kept_max, threshold) = (
            self.settings().known_texts_max,
            self.settings().known_texts_threshold,
        );
        let Some(read) = (kept_max > 0).then(|| Parameterized::of(text)).flatten() else {
            return Ok(None);
        };
        let types = read.types();
        let hash = self.known_texts.hash(&read.text, &types);
        let newest = self.newest();
        let prepared = match self
            .known_texts
            .find((hash, &read.text, &types), threshold, &newest)
        {
            Known::No => None,
            Known::Statement(prepared) => Some(prepared),
            Known::New => {
                let lookups = Arc::default();
                let statement = self.prepare_known(&read.text, &types, &lookups).await?;
                let basis = KeptBasis::new(self.settings().of_plans(), &lookups);
                let statement = statement.map(|made| (made, Arc::new(ConstantTypes::new(basis))));
                let mut kept = Kept {
                    hash,
                    text: read.text,
                    types,
                    statement: statement.clone(),
                    lookups,
                    refusal: None,
                };
                if statement.is_none() {
                    kept.refuse(self.settings());
                }
                self.known_texts.keep(kept, kept_max);
                statement
            }
        };
        let Some(prepared) = prepared else {
            return Ok(None);
        };
        let (prepared, basis) = prepared;
        let parameters = self.constants(read.constants, (&prepared.types, &basis)).ok();
        let statement = prepared.parsed.clone();
        Ok(statement
            .zip(parameters)
            .map(|(statement, parameters)| KnownText {
                hash,
                statement,
                parameters,
            }))
    }

    /// Whether the text as it stands is to be run where it failed so with parameters: what has done something is not done twice.
    pub fn may_do_without_parameters(&self, error: &Error) -> bool {
        KnownText::may_cause(error) && (!self.has_begun_work() || KnownText::is_of_planning(error))
    }

    /// Whether the last statement had been planned, and did something.
    pub fn has_begun_work(&self) -> bool {
        self.shared.has_begun_work()
    }

    /// Says that a statement failed with parameters before it had begun, and not without.
    pub fn forbid_parameters(&mut self, known: &KnownText) {
        let settings = Arc::clone(self.settings());
        self.known_texts.forbid(known.hash, &settings);
    }

    fn newest(&self) -> Newest {
        Newest {
            catalog: self.instance.shared_catalog(),
            settings: Arc::clone(self.settings()),
        }
    }

    /// The statement of a text with parameters; `None` when that is none. Errors: what stops the session.
    async fn prepare_known(
        &mut self,
        text: &str,
        types: &[Option<SqlType>],
        lookups: &Arc<Lookups>,
    ) -> Result<Option<Arc<PreparedStatement>>> {
        match self.try_prepare(text, types, lookups).await {
            Err(error) if !KnownText::may_cause(&error) => Err(error),
            prepared => Ok(prepared.ok().flatten().map(Arc::new)),
        }
    }

    async fn try_prepare(
        &mut self,
        text: &str,
        types: &[Option<SqlType>],
        lookups: &Arc<Lookups>,
    ) -> Result<Option<PreparedStatement>> {
        let parsed = self.parse(text).await?.pop();
        let Some(parsed) = parsed.filter(|parsed| parsed.parsed.command.is_none()) else {
            return Ok(None);
        };
        let description = self.describe_by(&parsed, types, Arc::clone(lookups)).await?;
        Ok(Some(PreparedStatement::new(Some(parsed), description)))
    }

    /// The constants as the types that their places gave them. Errors: those of reading them.
    fn constants(
        &self,
        constants: Vec<Value>,
        (types, basis): (&Arc<[SqlType]>, &Arc<ConstantTypes>),
    ) -> Result<Parameters> {
        let format = self.format();
        let value = |(constant, ty): (Value, &SqlType)| match constant {
            Value::Unknown(text) => text_parameter(&text, ty, &format),
            number => Ok(number),
        };
        let values = constants.into_iter().zip(types.iter()).map(value);
        Ok(Parameters {
            values: values.collect::<Result<_>>()?,
            types: Arc::clone(types),
            constants: Some(Arc::clone(basis)),
        })
    }
}

impl KnownText {
    /// Whether the text as it stands may do without this error, or says better what is wrong: all but what stops a
    /// statement whatever it says.
    fn may_cause(error: &Error) -> bool {
        let is_partly = matches!(error, Error::Partly { .. });
        !is_partly
            && !matches!(
                error.bare(),
                Error::Conflict { .. }
                    | Error::ConcurrentDelete { .. }
                    | Error::ReadConflict
                    | Error::FailedTransaction
                    | Error::QueryCanceled
                    | Error::StatementTimeout
                    | Error::IdleTimeout { .. }
                    | Error::ClientGone
                    | Error::Shutdown
                    | Error::LockTimeout
                    | Error::LockNotAvailable { .. }
                    | Error::Deadlock { .. }
            )
    }

    /// Whether it says that a plan cannot be, or that the statement means nothing (class 42: a literal that is a parameter is of another
    /// type), which may be found out when parts of the statement run already.
    fn is_of_planning(error: &Error) -> bool {
        let is_of_function = matches!(error, Error::InContext { .. });
        let is_of_plan = |error: &Error| {
            matches!(
                error,
                Error::PlanChanged { .. } | Error::FullScan { .. } | Error::TooManyKeys { .. }
            )
        };
        !is_of_function && (is_of_plan(error.bare()) || error.sqlstate().starts_with("42"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that parameters do not do for, whatever the catalog.
    fn kept(text: &str, hash: u64) -> Kept {
        let mut kept = Kept {
            hash,
            text: text.to_string(),
            types: Vec::new(),
            statement: None,
            lookups: Arc::default(),
            refusal: None,
        };
        kept.refuse(&Settings::default());
        kept
    }

    fn newest(catalog: Catalog) -> Newest {
        Newest {
            catalog: Some(Arc::new(catalog)),
            settings: Arc::default(),
        }
    }

    fn find(known: &mut TextCache, hash: u64, text: &str, threshold: usize) -> Known {
        known.find((hash, text, &[]), threshold, &newest(Catalog::empty()))
    }

    #[test]
    fn what_was_not_used_for_longest_goes() {
        let mut known = TextCache::default();
        for (hash, text) in [(1, "a"), (2, "b"), (3, "c")] {
            known.keep(kept(text, hash), 3);
        }
        find(&mut known, 1, "a", 1);
        known.keep(kept("d", 4), 3);
        let texts: Vec<&str> = known.kept.iter().map(|kept| &*kept.text).collect();
        assert_eq!(texts, ["d", "a", "c"]);
    }

    #[test]
    fn a_text_is_known_by_its_text_and_types() {
        let mut known = TextCache::default();
        assert!(matches!(find(&mut known, 1, "a", 3), Known::No));
        assert!(matches!(find(&mut known, 2, "b", 3), Known::No));
        assert!(matches!(find(&mut known, 1, "a", 3), Known::No));
        assert!(matches!(find(&mut known, 1, "a", 3), Known::New));
        let types = [Some(SqlType::Int8)];
        assert_ne!(known.hash("a", &types), known.hash("a", &[Some(SqlType::Int4)]));
        known.keep(kept("a", 1), 3);
        assert!(matches!(find(&mut known, 1, "a", 1), Known::No));
        let other_types = (1, "a", types.as_slice());
        assert!(matches!(
            known.find(other_types, 1, &newest(Catalog::empty())),
            Known::New
        ));
        for hash in 10..1000 {
            find(&mut known, hash, "x", 3);
        }
        assert_eq!(known.counted.len(), COUNTED_MAX);
    }

    #[test]
    fn a_refused_text_is_tried_again_when_what_it_looked_up_is_there() {
        let mut known = TextCache::default();
        let refused = kept("a", 1);
        refused.lookups.has_schema(&Catalog::empty(), "app");
        known.keep(refused, 3);
        known.forbid(1, &Settings::default());
        let with_schema = |name: &str| {
            let mut catalog = Catalog::empty();
            let schema = catalog.schemas["public"].clone();
            catalog.schemas.insert(name.to_string(), schema);
            newest(catalog)
        };
        assert!(matches!(find(&mut known, 1, "a", 3), Known::No));
        assert!(matches!(
            known.find((1, "a", &[]), 3, &with_schema("other")),
            Known::No
        ));
        assert!(matches!(
            known.find((1, "a", &[]), 3, &with_schema("app")),
            Known::New
        ));
    }
}

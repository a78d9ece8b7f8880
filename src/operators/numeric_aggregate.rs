//! sum, avg, variance and stddev of numerics, whole numbers included, exactly: every sum is kept with all its digits, and
//! the result has PostgreSQL's. Sums of fixed numerics that 38 digits always hold are DataFusion's own instead
//! (`query::aggregate`). The binder picks one; it knows nothing of SQL text.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, BooleanArray};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int16Type, Int32Type, Int64Type};
use datafusion_common::{Result as DataFusionResult, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

use crate::functions::square_root_at;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::Moment;
use crate::types::{Numeric, SqlType, numeric_key};
use crate::{Error, Result};

/// The aggregate of this name. `distinct`: equal numbers count once; DataFusion is not told, to whom 1.5 and 1.50 differ.
pub(super) fn numeric_aggregate(name: &str, moment: Moment, distinct: bool) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(NumericAggregate {
        name: name.to_string(),
        moment,
        distinct,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NumericAggregate {
    name: String,
    moment: Moment,
    distinct: bool,
    signature: Signature,
}

impl NumericAggregate {
    fn state(&self) -> State {
        State {
            squares: matches!(self.moment, Moment::Deviation { .. }).then(|| Numeric::from_i64(0)),
            seen: self.distinct.then(BTreeMap::new),
            ..State::default()
        }
    }
}

impl AggregateUDFImpl for NumericAggregate {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Binary)
    }
    fn return_field(&self, _: &[FieldRef]) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(SqlType::Numeric(None).field(&self.name, true)))
    }
    fn accumulator(&self, _: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        Ok(Box::new(One {
            moment: self.moment,
            state: self.state(),
        }))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        let name = format!("{}[state]", args.name);
        Ok(vec![Arc::new(Field::new(name, DataType::Binary, true))])
    }
    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }
    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups {
            moment: self.moment,
            empty: self.state(),
            states: Vec::new(),
        }))
    }
}

/// What a state keeps on the heap, but for numbers of many digits and those that were met.
const STATE_BYTES: usize = 64;
/// What a number that was met takes beside its bytes.
const SEEN_BYTES: usize = 96;

/// What is kept of the numbers of one group.
#[derive(Debug, Clone, Default)]
struct State {
    /// How many there were, specials included.
    count: u64,
    not_a_number: u64,
    infinities: u64,
    negative_infinities: u64,
    /// How many had which scale: what leaves a window takes its digits with it.
    scales: Vec<(u16, u64)>,
    /// Of the finite ones.
    sum: Option<Numeric>,
    /// The sum of their squares, where it is asked for.
    squares: Option<Numeric>,
    /// Those that were met, by their keys, where equal ones count once.
    seen: Option<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// What these take.
    seen_bytes: usize,
}

impl State {
    fn add(&mut self, number: &Numeric) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            let mut bytes = Vec::new();
            number.put_bytes(&mut bytes);
            let key = numeric_key(&bytes).to_vec();
            if seen.contains_key(&key) {
                return Ok(());
            }
            self.seen_bytes += key.len() + bytes.len() + SEEN_BYTES;
            seen.insert(key, bytes);
        }
        self.count += 1;
        match number {
            Numeric::NaN => self.not_a_number += 1,
            Numeric::Infinity => self.infinities += 1,
            Numeric::NegativeInfinity => self.negative_infinities += 1,
            Numeric::Finite(decimal) => {
                let scale = decimal.scale();
                match self.scales.iter_mut().find(|(other, _)| *other == scale) {
                    Some((_, count)) => *count += 1,
                    None => self.scales.push((scale, 1)),
                }
                self.sum = Some(match &self.sum {
                    Some(sum) => sum.plus(number)?,
                    None => number.clone(),
                });
                if let Some(squares) = &mut self.squares {
                    *squares = squares.plus(&number.times(number)?)?;
                }
            }
        }
        Ok(())
    }

    fn take_away(&mut self, number: &Numeric) -> Result<()> {
        self.count = self.count.saturating_sub(1);
        let less = |count: &mut u64| *count = count.saturating_sub(1);
        match number {
            Numeric::NaN => less(&mut self.not_a_number),
            Numeric::Infinity => less(&mut self.infinities),
            Numeric::NegativeInfinity => less(&mut self.negative_infinities),
            Numeric::Finite(decimal) => {
                let scale = decimal.scale();
                if let Some((_, count)) = self.scales.iter_mut().find(|(other, _)| *other == scale) {
                    less(count);
                }
                if let Some(sum) = &self.sum {
                    self.sum = Some(sum.minus(number)?);
                }
                if let Some(squares) = &mut self.squares {
                    *squares = squares.minus(&number.times(number)?)?;
                }
            }
        }
        Ok(())
    }

    /// The sum, with as many digits behind the point as the number that had most.
    fn total(&self) -> Numeric {
        let (above, below) = (self.infinities > 0, self.negative_infinities > 0);
        match (self.not_a_number > 0 || above && below, above, below) {
            (true, _, _) => Numeric::NaN,
            (_, true, _) => Numeric::Infinity,
            (_, _, true) => Numeric::NegativeInfinity,
            _ => {
                let scales = self.scales.iter().filter(|(_, count)| *count > 0);
                let scale = scales.map(|(scale, _)| *scale).max().unwrap_or(0);
                self.sum
                    .as_ref()
                    .map_or(Numeric::from_i64(0), |sum| sum.rescale(scale))
            }
        }
    }

    /// `None` is NULL.
    fn result(&self, moment: Moment) -> Result<Option<Numeric>> {
        if self.count == 0 {
            return Ok(None);
        }
        match moment {
            Moment::Sum => Ok(Some(self.total())),
            Moment::Average => self.total().divided_by(&count(self.count)).map(Some),
            Moment::Deviation { is_root, of_sample } => self.deviation(is_root, of_sample),
        }
    }

    fn deviation(&self, is_root: bool, of_sample: bool) -> Result<Option<Numeric>> {
        if of_sample && self.count < 2 {
            return Ok(None);
        }
        let sum = self.total();
        let (Some(squares), true) = (&self.squares, sum.is_finite()) else {
            return Ok(Some(Numeric::NaN));
        };
        let rows = count(self.count);
        let scale = sum.scale().unwrap_or(0) * 2;
        let product = rows.times(&squares.rescale(scale))?.minus(&sum.times(&sum)?)?;
        if product.sign().is_le() {
            return Ok(Some(Numeric::from_i64(0)));
        }
        let divisor = match of_sample {
            true => rows.times(&count(self.count - 1))?,
            false => rows.times(&rows)?,
        };
        let variance = product.divided_by(&divisor)?;
        match is_root {
            // The root has as many digits as the variance.
            true => square_root_at(&variance, variance.scale().unwrap_or(0)).map(Some),
            false => Ok(Some(variance)),
        }
    }

    fn size(&self) -> usize {
        size_of::<State>() + STATE_BYTES + self.seen_bytes
    }

    /// The bytes in which a state goes from one reader to another: counts, sums, scales, then the keys that were met.
    fn put(&self, out: &mut Vec<u8>) {
        for word in [
            self.count,
            self.not_a_number,
            self.infinities,
            self.negative_infinities,
            self.scales.len() as u64,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for (scale, count) in &self.scales {
            out.extend_from_slice(&u64::from(*scale).to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        }
        let mut put_bytes = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        for number in [&self.sum, &self.squares] {
            let mut bytes = Vec::new();
            if let Some(number) = number {
                number.put_bytes(&mut bytes);
            }
            put_bytes(&bytes);
        }
        self.seen.iter().flatten().for_each(|(_, bytes)| put_bytes(bytes));
    }

    /// Takes in what [`State::put`] wrote. Errors: internal.
    fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = Reader(bytes);
        let words = [
            rest.word()?,
            rest.word()?,
            rest.word()?,
            rest.word()?,
            rest.word()?,
        ];
        let mut scales = Vec::new();
        for _ in 0..words[4] {
            scales.push((rest.word()? as u16, rest.word()?));
        }
        let (sum, squares) = (rest.number()?, rest.number()?);
        if self.seen.is_some() {
            while !rest.0.is_empty() {
                let number = Numeric::from_bytes(rest.bytes()?).ok_or_else(damaged)?;
                self.add(&number)?;
            }
            return Ok(());
        }
        self.count += words[0];
        self.not_a_number += words[1];
        self.infinities += words[2];
        self.negative_infinities += words[3];
        for (scale, count) in scales {
            match self.scales.iter_mut().find(|(other, _)| *other == scale) {
                Some((_, own)) => *own += count,
                None => self.scales.push((scale, count)),
            }
        }
        self.sum = match (self.sum.take(), sum) {
            (Some(own), Some(other)) => Some(own.plus(&other)?),
            (own, other) => own.or(other),
        };
        if let (Some(own), Some(other)) = (&mut self.squares, squares) {
            *own = own.plus(&other)?;
        }
        Ok(())
    }
}

fn count(rows: u64) -> Numeric {
    Numeric::from_i128(i128::from(rows), 0)
}

fn damaged() -> Error {
    Error::internal("a state of an aggregate that was not written by it")
}

/// The rest of a state's bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn word(&mut self) -> Result<u64> {
        let (word, rest) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.word()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<Option<Numeric>> {
        match self.bytes()? {
            [] => Ok(None),
            bytes => Numeric::from_bytes(bytes).map(Some).ok_or_else(damaged),
        }
    }
}

/// Calls `take` with every number of a column that is not NULL and its row.
fn each_number(
    array: &ArrayRef,
    mut take: impl FnMut(usize, &Numeric) -> Result<()>,
) -> DataFusionResult<()> {
    let number = |row: usize| -> Result<Numeric> {
        Ok(match array.data_type() {
            DataType::Int16 => Numeric::from_i64(array.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => Numeric::from_i64(array.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Numeric::from_i64(array.as_primitive::<Int64Type>().value(row)),
            DataType::Decimal128(_, scale) => Numeric::from_i128(
                array.as_primitive::<Decimal128Type>().value(row),
                u16::try_from(*scale).unwrap_or(0),
            ),
            DataType::Binary => {
                Numeric::from_bytes(array.as_binary::<i32>().value(row)).ok_or_else(damaged)?
            }
            other => return Err(Error::internal(format!("numbers in an array of {other}"))),
        })
    };
    for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
        number(row)
            .and_then(|number| take(row, &number))
            .map_err(to_datafusion)?;
    }
    Ok(())
}

/// Calls `take` with every state and its row.
fn each_state(array: &ArrayRef, mut take: impl FnMut(usize, &[u8]) -> Result<()>) -> DataFusionResult<()> {
    let states: &BinaryArray = array.as_binary();
    for row in (0..states.len()).filter(|row| states.is_valid(*row)) {
        take(row, states.value(row)).map_err(to_datafusion)?;
    }
    Ok(())
}

/// The numbers of one group, or of a window's frame.
#[derive(Debug)]
struct One {
    moment: Moment,
    state: State,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each_number(&values[0], |_, number| self.state.add(number))
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each_number(&values[0], |_, number| self.state.take_away(number))
    }
    fn supports_retract_batch(&self) -> bool {
        self.state.seen.is_none()
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let result = self.state.result(self.moment).map_err(to_datafusion)?;
        Ok(ScalarValue::Binary(result.map(|number| {
            let mut bytes = Vec::new();
            number.put_bytes(&mut bytes);
            bytes
        })))
    }
    fn size(&self) -> usize {
        self.state.size()
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let mut bytes = Vec::new();
        self.state.put(&mut bytes);
        Ok(vec![ScalarValue::Binary(Some(bytes))])
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        each_state(&states[0], |_, bytes| self.state.merge(bytes))
    }
}

/// The numbers of many groups.
#[derive(Debug)]
struct Groups {
    moment: Moment,
    empty: State,
    states: Vec<State>,
}

impl Groups {
    fn resize(&mut self, groups: usize) {
        if self.states.len() < groups {
            self.states.resize(groups, self.empty.clone());
        }
    }
}

/// An array of the states' bytes.
fn put_states<'a>(states: impl Iterator<Item = &'a State>) -> ArrayRef {
    let (mut array, mut bytes) = (BinaryBuilder::new(), Vec::new());
    for state in states {
        bytes.clear();
        state.put(&mut bytes);
        array.append_value(&bytes);
    }
    Arc::new(array.finish())
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DataFusionResult<()> {
        self.resize(total);
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        each_number(&values[0], |row, number| match passes(row) {
            true => self.states[groups[row]].add(number),
            false => Ok(()),
        })
    }
    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let (mut array, mut bytes) = (BinaryBuilder::new(), Vec::new());
        for state in emit.take_needed(&mut self.states) {
            match state.result(self.moment).map_err(to_datafusion)? {
                Some(number) => {
                    bytes.clear();
                    number.put_bytes(&mut bytes);
                    array.append_value(&bytes);
                }
                None => array.append_null(),
            }
        }
        Ok(Arc::new(array.finish()))
    }
    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(vec![put_states(emit.take_needed(&mut self.states).iter())])
    }
    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DataFusionResult<()> {
        self.resize(total);
        each_state(&states[0], |row, bytes| self.states[groups[row]].merge(bytes))
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let mut states = vec![self.empty.clone(); values[0].len()];
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        each_number(&values[0], |row, number| match passes(row) {
            true => states[row].add(number),
            false => Ok(()),
        })?;
        Ok(vec![put_states(states.iter())])
    }
    fn size(&self) -> usize {
        let seen = match self.empty.seen {
            Some(_) => self.states.iter().map(|state| state.seen_bytes).sum(),
            None => 0,
        };
        self.states.capacity() * (size_of::<State>() + STATE_BYTES) + seen
    }
}

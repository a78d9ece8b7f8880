//! variance, stddev, covar, corr and regr_ of floats as PostgreSQL computes them, digit for digit (Youngs and Cramer's
//! sums), with its NaNs and its overflows. The binder picks one; it knows nothing of SQL text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Builder};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::ScalarValue;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

use crate::system::datafusion_error::to_datafusion;
use crate::{Error, Result};

/// What is computed of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatMoment {
    /// variance and stddev, of one argument.
    Deviation {
        /// The square root of the variance.
        is_root: bool,
        /// Of a sample, not of all there is.
        of_sample: bool,
    },
    /// covar_pop, covar_samp.
    Covariance {
        /// Of a sample, not of all there is.
        of_sample: bool,
    },
    /// corr.
    Correlation,
    /// regr_count, as a float.
    Count,
    /// regr_avgx.
    AverageX,
    /// regr_avgy.
    AverageY,
    /// regr_sxx.
    SquaresX,
    /// regr_syy.
    SquaresY,
    /// regr_sxy.
    Products,
    /// regr_slope.
    Slope,
    /// regr_intercept.
    Intercept,
    /// regr_r2.
    Determination,
}

impl FloatMoment {
    /// The aggregate of this name.
    pub fn named(name: &str) -> Option<FloatMoment> {
        let deviation = |is_root, of_sample| FloatMoment::Deviation { is_root, of_sample };
        Some(match name {
            "stddev" | "stddev_samp" => deviation(true, true),
            "stddev_pop" => deviation(true, false),
            "variance" | "var_samp" => deviation(false, true),
            "var_pop" => deviation(false, false),
            "covar_pop" => FloatMoment::Covariance { of_sample: false },
            "covar_samp" => FloatMoment::Covariance { of_sample: true },
            "corr" => FloatMoment::Correlation,
            "regr_count" => FloatMoment::Count,
            "regr_avgx" => FloatMoment::AverageX,
            "regr_avgy" => FloatMoment::AverageY,
            "regr_sxx" => FloatMoment::SquaresX,
            "regr_syy" => FloatMoment::SquaresY,
            "regr_sxy" => FloatMoment::Products,
            "regr_slope" => FloatMoment::Slope,
            "regr_intercept" => FloatMoment::Intercept,
            "regr_r2" => FloatMoment::Determination,
            _ => return None,
        })
    }

    /// How many arguments it has.
    pub fn arguments(self) -> usize {
        match self {
            FloatMoment::Deviation { .. } => 1,
            _ => 2,
        }
    }
}

/// The aggregate of this name over doubles: one column, or Y and X.
pub fn float_aggregate(name: &str, moment: FloatMoment) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(FloatAggregate {
        name: name.to_string(),
        moment,
        signature: Signature::any(moment.arguments(), Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatAggregate {
    name: String,
    moment: FloatMoment,
    signature: Signature,
}

impl AggregateUDFImpl for FloatAggregate {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Float64)
    }
    fn accumulator(&self, _: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        Ok(Box::new(One {
            moment: self.moment,
            sums: Sums::default(),
        }))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        let field = |part| {
            Arc::new(Field::new(
                format!("{}[{part}]", args.name),
                DataType::Float64,
                true,
            ))
        };
        Ok((0..Sums::PARTS).map(field).collect())
    }
    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }
    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups {
            moment: self.moment,
            sums: Vec::new(),
        }))
    }
}

/// What is kept of the rows of one group: how many, the sums, and the sums of squares and of products around the means.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    rows: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    const PARTS: usize = 6;

    /// A row of one argument.
    fn add(&mut self, x: f64) -> Result<()> {
        let before = *self;
        self.rows += 1.0;
        self.x += x;
        if before.rows > 0.0 {
            let distance = x * self.rows - self.x;
            self.xx += distance * distance / (self.rows * before.rows);
            if self.x.is_infinite() || self.xx.is_infinite() {
                check_finite(before.x, x)?;
                self.xx = f64::NAN;
            }
        } else if !x.is_finite() {
            self.xx = f64::NAN;
        }
        Ok(())
    }

    /// A row of two.
    fn add_pair(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.rows += 1.0;
        self.x += x;
        self.y += y;
        if before.rows > 0.0 {
            let (from_x, from_y) = (x * self.rows - self.x, y * self.rows - self.y);
            let scale = 1.0 / (self.rows * before.rows);
            self.xx += from_x * from_x * scale;
            self.yy += from_y * from_y * scale;
            self.xy += from_x * from_y * scale;
            if self.x.is_infinite() || self.xx.is_infinite() {
                check_finite(before.x, x)?;
            }
            if self.y.is_infinite() || self.yy.is_infinite() {
                check_finite(before.y, y)?;
            }
            if self.xy.is_infinite() && !before.y.is_infinite() && !y.is_infinite() {
                check_finite(before.x, x)?;
            }
            for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
                if sum.is_infinite() {
                    *sum = f64::NAN;
                }
            }
        } else {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    /// The rows of both.
    fn merge(&mut self, other: Sums) -> Result<()> {
        if other.rows == 0.0 {
            return Ok(());
        }
        if self.rows == 0.0 {
            *self = other;
            return Ok(());
        }
        let rows = self.rows + other.rows;
        let between_x = self.x / self.rows - other.x / other.rows;
        let between_y = self.y / self.rows - other.y / other.rows;
        let weight = self.rows * other.rows;
        let sum = |own: f64, other: f64, more: f64| {
            let sum = own + other + more;
            match sum.is_infinite() && !own.is_infinite() && !other.is_infinite() {
                true => Err(overflow()),
                false => Ok(sum),
            }
        };
        *self = Sums {
            rows,
            x: sum(self.x, other.x, 0.0)?,
            xx: sum(self.xx, other.xx, weight * between_x * between_x / rows)?,
            y: sum(self.y, other.y, 0.0)?,
            yy: sum(self.yy, other.yy, weight * between_y * between_y / rows)?,
            xy: sum(self.xy, other.xy, weight * between_x * between_y / rows)?,
        };
        Ok(())
    }

    /// `None` is NULL.
    fn result(&self, moment: FloatMoment) -> Option<f64> {
        let Sums {
            rows,
            x,
            xx,
            y,
            yy,
            xy,
        } = *self;
        let divisor = |of_sample: bool| if of_sample { rows - 1.0 } else { rows };
        let result = match moment {
            FloatMoment::Count => return Some(rows),
            _ if rows < 1.0 => return None,
            FloatMoment::Deviation { of_sample: true, .. } | FloatMoment::Covariance { of_sample: true }
                if rows < 2.0 =>
            {
                return None;
            }
            FloatMoment::Correlation if xx == 0.0 || yy == 0.0 => return None,
            FloatMoment::Slope | FloatMoment::Intercept | FloatMoment::Determination if xx == 0.0 => {
                return None;
            }
            FloatMoment::Deviation { is_root, of_sample } => {
                let variance = xx / divisor(of_sample);
                if is_root { variance.sqrt() } else { variance }
            }
            FloatMoment::Covariance { of_sample } => xy / divisor(of_sample),
            FloatMoment::Correlation => xy / (xx * yy).sqrt(),
            FloatMoment::AverageX => x / rows,
            FloatMoment::AverageY => y / rows,
            FloatMoment::SquaresX => xx,
            FloatMoment::SquaresY => yy,
            FloatMoment::Products => xy,
            FloatMoment::Slope => xy / xx,
            FloatMoment::Intercept => (y - x * xy / xx) / rows,
            FloatMoment::Determination if yy == 0.0 => 1.0,
            FloatMoment::Determination => (xy * xy) / (xx * yy),
        };
        Some(result)
    }

    fn parts(&self) -> [f64; Self::PARTS] {
        [self.rows, self.x, self.xx, self.y, self.yy, self.xy]
    }

    fn of_parts([rows, x, xx, y, yy, xy]: [f64; Self::PARTS]) -> Sums {
        Sums {
            rows,
            x,
            xx,
            y,
            yy,
            xy,
        }
    }
}

/// Errors: 22003 where an infinite sum came of finite numbers.
fn check_finite(before: f64, added: f64) -> Result<()> {
    match before.is_infinite() || added.is_infinite() {
        true => Ok(()),
        false => Err(overflow()),
    }
}

fn overflow() -> Error {
    Error::NumericOutOfRange {
        message: "value out of range: overflow".to_string(),
        detail: None,
    }
}

/// Calls `take` with each row none of whose arguments is NULL. What an ORDER BY of the call adds behind them is left out.
fn each_row(
    values: &[ArrayRef],
    moment: FloatMoment,
    mut take: impl FnMut(usize, &[f64]) -> Result<()>,
) -> DataFusionResult<()> {
    let columns: Vec<_> = values
        .iter()
        .take(moment.arguments())
        .map(|column| column.as_primitive::<Float64Type>())
        .collect();
    let mut numbers = vec![0.0; columns.len()];
    for row in 0..values[0].len() {
        if columns.iter().all(|column| column.is_valid(row)) {
            for (number, column) in numbers.iter_mut().zip(&columns) {
                *number = column.value(row);
            }
            take(row, &numbers).map_err(to_datafusion)?;
        }
    }
    Ok(())
}

/// The sums as columns, part by part.
fn state_columns(sums: Vec<Sums>) -> Vec<ArrayRef> {
    let mut columns: [Float64Builder; Sums::PARTS] = Default::default();
    for sums in sums {
        for (column, part) in columns.iter_mut().zip(sums.parts()) {
            column.append_value(part);
        }
    }
    let finish = |column: &mut Float64Builder| Arc::new(column.finish()) as ArrayRef;
    columns.iter_mut().map(finish).collect()
}

fn add(sums: &mut Sums, moment: FloatMoment, numbers: &[f64]) -> Result<()> {
    match numbers {
        _ if moment == FloatMoment::Count => {
            sums.rows += 1.0;
            Ok(())
        }
        [x] => sums.add(*x),
        [y, x] => sums.add_pair(*y, *x),
        _ => Err(Error::internal("an aggregate of floats with other arguments")),
    }
}

/// Calls `merge` with each row's sums.
fn each_state(states: &[ArrayRef], mut merge: impl FnMut(usize, Sums) -> Result<()>) -> DataFusionResult<()> {
    let mut parts = [0.0; Sums::PARTS];
    for row in 0..states[0].len() {
        for (part, column) in parts.iter_mut().zip(states) {
            *part = column.as_primitive::<Float64Type>().value(row);
        }
        merge(row, Sums::of_parts(parts)).map_err(to_datafusion)?;
    }
    Ok(())
}

/// The rows of one group, or of a window's frame.
#[derive(Debug)]
struct One {
    moment: FloatMoment,
    sums: Sums,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let moment = self.moment;
        each_row(values, moment, |_, numbers| add(&mut self.sums, moment, numbers))
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Float64(self.sums.result(self.moment)))
    }
    fn size(&self) -> usize {
        size_of::<Self>()
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let parts = self.sums.parts();
        Ok(parts.map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        each_state(states, |_, sums| self.sums.merge(sums))
    }
}

/// The rows of many groups.
#[derive(Debug)]
struct Groups {
    moment: FloatMoment,
    sums: Vec<Sums>,
}

impl Groups {
    fn resize(&mut self, groups: usize) {
        if self.sums.len() < groups {
            self.sums.resize(groups, Sums::default());
        }
    }
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
        let moment = self.moment;
        each_row(values, moment, |row, numbers| match passes(row) {
            true => add(&mut self.sums[groups[row]], moment, numbers),
            false => Ok(()),
        })
    }
    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let mut results = Float64Builder::new();
        for sums in emit.take_needed(&mut self.sums) {
            results.append_option(sums.result(self.moment));
        }
        Ok(Arc::new(results.finish()))
    }
    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(state_columns(emit.take_needed(&mut self.sums)))
    }
    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DataFusionResult<()> {
        self.resize(total);
        each_state(states, |row, sums| self.sums[groups[row]].merge(sums))
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let mut sums = vec![Sums::default(); values[0].len()];
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        each_row(values, self.moment, |row, numbers| match passes(row) {
            true => add(&mut sums[row], self.moment, numbers),
            false => Ok(()),
        })?;
        Ok(state_columns(sums))
    }
    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Sums>()
    }
}

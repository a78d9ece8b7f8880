//! `Sums`: what aggregates of floats are computed of, as PostgreSQL computes them (Youngs and Cramer's sums), with its NaNs and its
//! overflows. Called by the aggregates over rows and over distinct values; knows nothing of DataFusion.

use crate::tree::FloatMoment;
use crate::{Error, Result};

/// What is kept of the rows of one group: how many, the sums, and the sums of squares and of products around the means.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) rows: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    pub(super) const PARTS: usize = 6;

    /// A row. Errors: 22003 where finite numbers make an infinite sum.
    pub(super) fn add_row(&mut self, moment: FloatMoment, numbers: &[f64]) -> Result<()> {
        match (moment, numbers) {
            (FloatMoment::Count, _) => {
                self.rows += 1.0;
                Ok(())
            }
            (FloatMoment::Sum { is_single }, [x]) => self.add_plainly(*x, is_single),
            (_, [x]) => self.add(*x),
            (_, [y, x]) => self.add_pair(*y, *x),
            _ => Err(Error::internal("an aggregate of floats with other arguments")),
        }
    }

    /// What is only summed up: one number after the other, each sum as exact as a float4 where it `is_single`.
    fn add_plainly(&mut self, x: f64, is_single: bool) -> Result<()> {
        let before = self.x;
        let sum = match self.rows {
            // The first is the sum, a negative zero, too.
            0.0 => x,
            _ if is_single => f64::from((before + x) as f32),
            _ => before + x,
        };
        self.rows += 1.0;
        self.x = sum;
        match sum.is_infinite() {
            true => check_finite(before, x),
            false => Ok(()),
        }
    }

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
    pub(super) fn merge(&mut self, moment: FloatMoment, other: Sums) -> Result<()> {
        if other.rows == 0.0 {
            return Ok(());
        }
        if self.rows == 0.0 {
            *self = other;
            return Ok(());
        }
        let rows = self.rows + other.rows;
        if let FloatMoment::Sum { is_single } = moment {
            self.add_plainly(other.x, is_single)?;
            self.rows = rows;
            return Ok(());
        }
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
    pub(super) fn result(&self, moment: FloatMoment) -> Option<f64> {
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
            FloatMoment::Sum { .. } => x,
            FloatMoment::Average | FloatMoment::AverageX => x / rows,
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

    pub(super) fn parts(&self) -> [f64; Self::PARTS] {
        [self.rows, self.x, self.xx, self.y, self.yy, self.xy]
    }

    pub(super) fn of_parts([rows, x, xx, y, yy, xy]: [f64; Self::PARTS]) -> Sums {
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

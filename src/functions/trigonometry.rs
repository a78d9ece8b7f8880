//! Trigonometric functions of doubles, of radians and of degrees. Those of degrees are exact at 0, 30, 45, 60 and 90: they
//! divide by what the processor gives there, as PostgreSQL's do.

use super::float::{checked, out_of_range};
use super::{FunctionDef, T};
use crate::Result;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("degrees", &[T::Float8], T::Float8, |b| b.map1(degrees)),
    FunctionDef::new("radians", &[T::Float8], T::Float8, |b| b.map1(radians)),
    FunctionDef::new("sin", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, f64::sin))
    }),
    FunctionDef::new("cos", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, f64::cos))
    }),
    FunctionDef::new("tan", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, f64::tan))
    }),
    FunctionDef::new("cot", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, |x| 1.0 / x.tan()))
    }),
    FunctionDef::new("asin", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_ratio(x, f64::asin))
    }),
    FunctionDef::new("acos", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_ratio(x, f64::acos))
    }),
    FunctionDef::new("atan", &[T::Float8], T::Float8, |b| b.map1(f64::atan)),
    FunctionDef::new("atan2", &[T::Float8, T::Float8], T::Float8, |b| {
        b.map2(f64::atan2)
    }),
    FunctionDef::new("sinh", &[T::Float8], T::Float8, |b| b.map1(f64::sinh)),
    FunctionDef::new("cosh", &[T::Float8], T::Float8, |b| b.map1(f64::cosh)),
    FunctionDef::new("tanh", &[T::Float8], T::Float8, |b| b.map1(f64::tanh)),
    FunctionDef::new("asinh", &[T::Float8], T::Float8, |b| b.map1(asinh)),
    FunctionDef::new("acosh", &[T::Float8], T::Float8, |b| b.map1(acosh)),
    FunctionDef::new("atanh", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_ratio(x, f64::atanh))
    }),
    FunctionDef::new("sind", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, |x| Angle::new(x).sine()))
    }),
    FunctionDef::new("cosd", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, |x| Angle::new(x).cosine()))
    }),
    FunctionDef::new("tand", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, |x| Angle::new(x).tangent()))
    }),
    FunctionDef::new("cotd", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_angle(x, |x| Angle::new(x).cotangent()))
    }),
    FunctionDef::new("asind", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_ratio(x, arc_sine))
    }),
    FunctionDef::new("acosd", &[T::Float8], T::Float8, |b| {
        b.map1(|x| of_ratio(x, arc_cosine))
    }),
    FunctionDef::new("atand", &[T::Float8], T::Float8, |b| {
        b.map1(|x: f64| x.atan() / 1_f64.atan() * 45.0)
    }),
    FunctionDef::new("atan2d", &[T::Float8, T::Float8], T::Float8, |b| {
        b.map2(|y: f64, x: f64| y.atan2(x) / 1_f64.atan() * 45.0)
    }),
];

const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

fn degrees(radians: f64) -> Result<f64> {
    let degrees = radians / RADIANS_PER_DEGREE;
    match radians.is_infinite() {
        true => Ok(degrees),
        false => checked(degrees, true),
    }
}

fn radians(degrees: f64) -> Result<f64> {
    let radians = degrees * RADIANS_PER_DEGREE;
    match degrees.is_infinite() {
        true => Ok(radians),
        false => checked(radians, degrees == 0.0),
    }
}

/// A function of an angle. Errors: 22003 for an infinite one.
fn of_angle(angle: f64, compute: impl Fn(f64) -> f64) -> Result<f64> {
    match angle.is_infinite() {
        true => Err(out_of_range("input is out of range")),
        false => Ok(compute(angle)),
    }
}

/// A function of a number from −1 to 1. Errors: 22003 for others.
fn of_ratio(ratio: f64, compute: impl Fn(f64) -> f64) -> Result<f64> {
    match ratio.abs() > 1.0 {
        true => Err(out_of_range("input is out of range")),
        false => Ok(compute(ratio)),
    }
}

fn acosh(number: f64) -> Result<f64> {
    match number < 1.0 {
        true => Err(out_of_range("input is out of range")),
        false if number > SQUARED_MAX => Ok(number.ln() + std::f64::consts::LN_2),
        false => Ok(number.acosh()),
    }
}

/// Beyond it squares are infinite, and 1 beside them is nothing.
const SQUARED_MAX: f64 = 1e150;

fn asinh(number: f64) -> f64 {
    match number.is_finite() && number.abs() > SQUARED_MAX {
        true => (number.abs().ln() + std::f64::consts::LN_2).copysign(number),
        false => number.asinh(),
    }
}

/// An angle brought between 0 and 90 degrees, and the half turns that it was away from there.
#[derive(Debug, Clone, Copy)]
struct Angle {
    /// The same sine, cosine and tangent but for their signs.
    within: f64,
    /// Whether it was below the horizontal axis, after whole turns.
    is_below: bool,
    /// Whether it was left of the vertical axis.
    is_left: bool,
}

impl Angle {
    fn new(degrees: f64) -> Angle {
        let turned = degrees % 360.0;
        let mut is_below = turned < 0.0;
        // A zero keeps its sign.
        let mut within = if is_below { -turned } else { turned };
        if within > 180.0 {
            (within, is_below) = (360.0 - within, !is_below);
        }
        let is_left = within > 90.0;
        if is_left {
            within = 180.0 - within;
        }
        Angle {
            within,
            is_below,
            is_left,
        }
    }

    fn sine(self) -> f64 {
        signed(sine_within(self.within), self.is_below)
    }

    fn cosine(self) -> f64 {
        signed(cosine_within(self.within), self.is_left)
    }

    fn tangent(self) -> f64 {
        let tangent = |angle| sine_within(angle) / cosine_within(angle);
        // A zero has no sign.
        signed(
            tangent(self.within) / tangent(45.0),
            self.is_below != self.is_left,
        ) + 0.0
    }

    fn cotangent(self) -> f64 {
        let cotangent = |angle| cosine_within(angle) / sine_within(angle);
        signed(
            cotangent(self.within) / cotangent(45.0),
            self.is_below != self.is_left,
        ) + 0.0
    }
}

fn signed(number: f64, is_negative: bool) -> f64 {
    match is_negative {
        true => -number,
        false => number,
    }
}

/// The sine of 0 to 90 degrees.
fn sine_within(degrees: f64) -> f64 {
    match degrees <= 30.0 {
        true => sine_to_30(degrees),
        false => cosine_to_60(90.0 - degrees),
    }
}

/// The cosine of 0 to 90 degrees.
fn cosine_within(degrees: f64) -> f64 {
    match degrees <= 60.0 {
        true => cosine_to_60(degrees),
        false => sine_to_30(90.0 - degrees),
    }
}

fn sine_to_30(degrees: f64) -> f64 {
    let sine = |degrees: f64| (degrees * RADIANS_PER_DEGREE).sin();
    sine(degrees) / sine(30.0) / 2.0
}

fn cosine_to_60(degrees: f64) -> f64 {
    let one_minus_cosine = |degrees: f64| 1.0 - (degrees * RADIANS_PER_DEGREE).cos();
    1.0 - one_minus_cosine(degrees) / one_minus_cosine(60.0) / 2.0
}

/// The angle in degrees of a sine.
fn arc_sine(sine: f64) -> f64 {
    let angle = match sine.abs() {
        small @ ..=0.5 => small.asin() / 0.5_f64.asin() * 30.0,
        large => 90.0 - large.acos() / 0.5_f64.acos() * 60.0,
    };
    angle.copysign(sine)
}

/// The angle in degrees of a cosine.
fn arc_cosine(cosine: f64) -> f64 {
    match cosine {
        ..0.0 => 90.0 + arc_sine(-cosine),
        small @ ..=0.5 => 90.0 - small.asin() / 0.5_f64.asin() * 30.0,
        large => large.acos() / 0.5_f64.acos() * 60.0,
    }
}

//! Coefficients from measurements: Voltrix §4.7, with the non-negative least squares of a model that
//! takes the tiles' cost apart.
//!
//! A backend's products are timed by who can run them; each becomes an [`Observation`]: what the
//! product's time should be linear in, and the time. [`fit`] finds the seconds per unit, and says how well
//! such a fit predicts products that it has not seen.
//!
//! ```
//! use girih_planner::calibrate::{Observation, fit};
//! use girih_planner::device::Terms;
//! use girih_formats::{DType, FormatSpec};
//!
//! // A machine that takes 2 µs, and 3 ns for every value.
//! let observations: Vec<Observation> = (1..40)
//!     .map(|i| {
//!         let values = f64::from(i * 100);
//!         let terms = Terms { product: 1.0, values, ..Terms::default() };
//!         Observation { terms, seconds: 2e-6 + 3e-9 * values }
//!     })
//!     .collect();
//! let found = fit(FormatSpec::Csr, DType::F32, &observations)?;
//! assert!((found.seconds.values - 3e-9).abs() < 1e-12);
//! assert!(found.quality.r2 > 0.999);
//! # Ok::<(), girih_planner::calibrate::CalibrateError>(())
//! ```

mod least_squares;
mod quality;
mod split;

use girih_formats::{DType, FormatSpec};
use thiserror::Error;

use crate::device::{Fit, Terms};
pub use quality::quality;

/// The fewest observations for a meaningful fit and test.
const MIN_OBSERVATIONS: usize = 20;

/// A product that was timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// What its time should be linear in: [`terms`](crate::cost::terms) of it.
    pub terms: Terms,
    /// What it took.
    pub seconds: f64,
}

/// Measurements that no coefficients can be found from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// Too few.
    #[error("{found} observations are too few to fit and to test; {needed} are needed")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// A time or a term is not a positive number.
    #[error(
        "observation {position} cannot be used: its time must be positive and its terms finite"
    )]
    Unusable {
        /// Its position.
        position: usize,
    },
}

/// A time that was predicted by coefficients found without it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// What was predicted, in seconds.
    pub predicted: f64,
    /// What was measured, in seconds.
    pub measured: f64,
}

/// Fits the seconds per unit of each term, none of them negative, so that errors are least relative to the
/// power ¾ of the time. The quality is that of [`held_out`] predictions. O(observations · log).
///
/// # Errors
/// If there are fewer than 20 observations, or one has a time that is not positive or a term that is not finite.
pub fn fit(
    spec: FormatSpec,
    dtype: DType,
    observations: &[Observation],
) -> Result<Fit, CalibrateError> {
    let quality = quality(&held_out(observations)?);
    let seconds = least_squares::solve(observations);
    Ok(Fit { spec, dtype, precision: None, seconds, quality })
}

/// Predicts every observation by coefficients that were found without it: those of five fits, each on 80 %
/// of the observations, over the 20 % that it has not seen. What a single choice of 20 % says depends on
/// where the few longest products come to lie. O(observations · log).
///
/// # Errors
/// As for [`fit`].
pub fn held_out(observations: &[Observation]) -> Result<Vec<Prediction>, CalibrateError> {
    if observations.len() < MIN_OBSERVATIONS {
        let (found, needed) = (observations.len(), MIN_OBSERVATIONS);
        return Err(CalibrateError::TooFew { found, needed });
    }
    let is_usable = |o: &Observation| {
        o.seconds.is_finite()
            && o.seconds > 0.0
            && o.terms.to_array().iter().all(|x| x.is_finite() && *x >= 0.0)
    };
    if let Some(position) = observations.iter().position(|o| !is_usable(o)) {
        return Err(CalibrateError::Unusable { position });
    }
    let folds = split::folds(observations);
    let mut predictions = Vec::with_capacity(observations.len());
    for fold in 0..split::FOLDS {
        let of = |held_out: bool| {
            let all = observations.iter().zip(&folds);
            all.filter(move |&(_, &f)| (f == fold) == held_out).map(|(o, _)| *o)
        };
        let seconds = least_squares::solve(&of(false).collect::<Vec<_>>());
        predictions.extend(
            of(true).map(|o| Prediction {
                predicted: seconds.times(o.terms).sum(),
                measured: o.seconds,
            }),
        );
    }
    Ok(predictions)
}

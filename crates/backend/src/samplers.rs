//! Choosing who samples, at run time and with reasons.

use crate::error::{BackendError, Rejection};
use crate::sampled_shape::SampledShape;
use crate::sddmm::SddmmBackend;
use crate::select::Estimate;

/// Backends that sample, in order of preference: what [`Registry`](crate::Registry) is for products.
///
/// Of those that sample here the first will, unless it [estimates](SddmmBackend::sddmm_estimate) a product and
/// another estimates less: then the fastest.
///
/// ```
/// use girih_backend::{ReferenceBackend, SampledShape, Samplers};
/// use girih_formats::{Csr, DType};
///
/// let samplers = Samplers::new().with("reference", ReferenceBackend);
/// let a = Csr::<f32>::identity(3)?;
/// let chosen = samplers.best_for(&SampledShape::of(a.pattern(), 64, DType::F32))?;
/// assert_eq!(chosen.name, "reference");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Samplers {
    backends: Vec<(String, Box<dyn SddmmBackend>)>,
}

/// The backend chosen for a sampled product.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SampledSelection<'a> {
    /// Its name.
    pub name: &'a str,
    /// The one that will sample.
    pub backend: &'a dyn SddmmBackend,
    /// Those that can't, in order of preference.
    pub rejected: Vec<Rejection>,
    /// Seconds on each backend that can and says so, in order of preference.
    pub estimates: Vec<Estimate>,
}

impl Samplers {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend that is less preferred than all others.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, backend: impl SddmmBackend + 'static) -> Self {
        self.backends.push((name.into(), Box::new(backend)));
        self
    }

    /// Adds a backend that is preferred to all others.
    #[must_use]
    pub fn prefer(mut self, name: impl Into<String>, backend: impl SddmmBackend + 'static) -> Self {
        self.backends.insert(0, (name.into(), Box::new(backend)));
        self
    }

    /// The backends with their names, in order of preference.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &dyn SddmmBackend)> {
        self.backends.iter().map(|(name, backend)| (&**name, &**backend))
    }

    /// The backend that samples here and is estimated fastest for operands on the host; the most preferred where
    /// that estimates nothing.
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] with the reason of every one.
    pub fn best_for(&self, shape: &SampledShape) -> Result<SampledSelection<'_>, BackendError> {
        let (mut rejected, mut estimates) = (Vec::new(), Vec::new());
        let mut best: Option<(&str, &dyn SddmmBackend, Option<f64>)> = None;
        for (name, backend) in self.iter() {
            let seconds = match backend.sddmm_estimate(shape) {
                Ok(seconds) => seconds,
                Err(error) => {
                    let reason = match error {
                        BackendError::Unavailable { reason, .. } => reason,
                        other => other.to_string(),
                    };
                    rejected.push(Rejection { backend: name.to_owned(), reason });
                    continue;
                }
            };
            estimates.extend(seconds.map(|seconds| Estimate { backend: name.to_owned(), seconds }));
            let is_faster = match (&best, seconds) {
                (None, _) => true,
                (Some((.., Some(least))), Some(seconds)) => seconds < *least,
                _ => false,
            };
            if is_faster {
                best = Some((name, backend, seconds));
            }
        }
        match best {
            Some((name, backend, _)) => Ok(SampledSelection { name, backend, rejected, estimates }),
            None => Err(BackendError::NoBackend { rejected }),
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, CsrPattern, DType};

    use super::*;
    use crate::dense::{DenseView, DenseViewMut};
    use crate::reference::ReferenceBackend;

    /// The reference with an estimate, or absent from the machine.
    #[derive(Debug)]
    struct Timed(Result<Option<f64>, &'static str>);

    impl SddmmBackend for Timed {
        fn sddmm(
            &self,
            pattern: CsrPattern<'_>,
            alpha: f64,
            x: DenseView<'_>,
            y: DenseView<'_>,
            beta: f64,
            s: DenseViewMut<'_>,
        ) -> Result<(), BackendError> {
            ReferenceBackend.sddmm(pattern, alpha, x, y, beta, s)
        }

        fn sddmm_estimate(&self, _: &SampledShape) -> Result<Option<f64>, BackendError> {
            self.0.map_err(|reason| BackendError::Unavailable {
                backend: "timed".to_owned(),
                reason: reason.to_owned(),
            })
        }
    }

    fn shape() -> SampledShape {
        SampledShape::of(Csr::<f32>::identity(1000).unwrap().pattern(), 64, DType::F32)
    }

    #[test]
    fn the_least_estimate_wins_unless_the_first_has_none() {
        let choice = |first: Result<Option<f64>, &'static str>| {
            let samplers = Samplers::new()
                .with("second", Timed(Ok(Some(2.0))))
                .with("reference", ReferenceBackend)
                .prefer("first", Timed(first));
            let chosen = samplers.best_for(&shape()).unwrap();
            (chosen.name.to_owned(), chosen.rejected.len(), chosen.estimates.len())
        };
        assert_eq!(choice(Ok(Some(1.0))), ("first".to_owned(), 0, 2));
        assert_eq!(choice(Ok(Some(3.0))), ("second".to_owned(), 0, 2));
        assert_eq!(choice(Ok(None)), ("first".to_owned(), 0, 1));
        assert_eq!(choice(Err("there is no device")), ("second".to_owned(), 1, 1));
    }

    #[test]
    fn errors_name_every_backend_and_reason() {
        let samplers = Samplers::new().with("gpu", Timed(Err("there is no device")));
        let error = samplers.best_for(&shape()).unwrap_err();
        assert!(matches!(&error, BackendError::NoBackend { rejected } if rejected.len() == 1));
        assert!(error.to_string().contains("gpu: there is no device"), "{error}");
    }
}

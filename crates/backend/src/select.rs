//! Choosing a backend at run time, with reasons.

use girih_planner::Plan;

use crate::backend::{Capabilities, SpmmBackend};
use crate::error::{BackendError, Rejection, Unsupported};

/// Backends in order of preference.
///
/// Of those that can run a plan the first will, unless it [estimates](SpmmBackend::estimate) a product
/// and another estimates less: then the fastest. The order is the caller's. The default registry of the
/// `girih` crate holds the reference backend last, which estimates nothing; a backend of one's own goes in front
/// with [`prefer`](Self::prefer) or behind with [`with`](Self::with). Nothing is passed over silently: a
/// [`Selection`] carries every backend that can't run the plan, with the reason, and the estimates of those
/// that can.
#[derive(Debug, Default)]
pub struct Registry {
    backends: Vec<Box<dyn SpmmBackend>>,
}

/// The backend chosen for a plan.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// The one that will run it.
    pub backend: &'a dyn SpmmBackend,
    /// Those that were preferred to it and can't, in order of preference.
    pub rejected: Vec<Rejection>,
    /// Seconds of a product on each backend that can run the plan and says so, in order of preference.
    pub estimates: Vec<Estimate>,
}

/// What a backend says of a product with operands on the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Its name.
    pub backend: String,
    /// Seconds, copies of operands included.
    pub seconds: f64,
}

/// What one backend can do on this machine, or why it can do nothing.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Its name.
    pub backend: String,
    /// What it can do, or what is missing.
    pub capabilities: Result<Capabilities, BackendError>,
}

impl Registry {
    /// A registry without backends.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend that is less preferred than all others.
    #[must_use]
    pub fn with(mut self, backend: impl SpmmBackend + 'static) -> Self {
        self.backends.push(Box::new(backend));
        self
    }

    /// Adds a backend that is preferred to all others.
    #[must_use]
    pub fn prefer(mut self, backend: impl SpmmBackend + 'static) -> Self {
        self.backends.insert(0, Box::new(backend));
        self
    }

    /// The backends, in order of preference.
    pub fn iter(&self) -> impl Iterator<Item = &dyn SpmmBackend> {
        self.backends.iter().map(|backend| &**backend)
    }

    /// The most preferred backend of that name.
    ///
    /// # Errors
    /// [`BackendError::UnknownBackend`] with the names there are.
    pub fn get(&self, name: &str) -> Result<&dyn SpmmBackend, BackendError> {
        self.iter().find(|backend| backend.name() == name).ok_or_else(|| {
            BackendError::UnknownBackend {
                name: name.to_owned(),
                known: self.iter().map(|backend| backend.name().to_owned()).collect(),
            }
        })
    }

    /// The backend that is available here, can run `plan`, and is estimated fastest for operands on the
    /// host; the most preferred where the most preferred estimates nothing.
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] with the reason of every one.
    pub fn best_for(&self, plan: &Plan) -> Result<Selection<'_>, BackendError> {
        self.best_that(plan, |_| Ok(()))
    }

    /// The same among the backends that `also` does not refuse, such as those that
    /// [support an epilogue](SpmmBackend::supports_epilogue).
    ///
    /// # Errors
    /// [`BackendError::NoBackend`] with the reason of every one.
    pub fn best_that(
        &self,
        plan: &Plan,
        also: impl Fn(&dyn SpmmBackend) -> Result<(), Unsupported>,
    ) -> Result<Selection<'_>, BackendError> {
        let mut rejected = Vec::new();
        let mut able: Vec<(&dyn SpmmBackend, Option<f64>, usize)> = Vec::new();
        for backend in self.iter() {
            let refused = refusal(backend, plan)
                .or_else(|| also(backend).err().map(|unsupported| unsupported.to_string()));
            match refused {
                None => able.push((backend, backend.estimate(plan), rejected.len())),
                Some(reason) => {
                    rejected.push(Rejection { backend: backend.name().to_owned(), reason });
                }
            }
        }
        let Some(&first) = able.first() else { return Err(BackendError::NoBackend { rejected }) };
        let named = |&(backend, seconds, _): &(&dyn SpmmBackend, Option<f64>, usize)| {
            Some(Estimate { backend: backend.name().to_owned(), seconds: seconds? })
        };
        let estimates = able.iter().filter_map(named).collect();
        let (backend, _, before) = match first.1 {
            None => first,
            Some(_) => able
                .iter()
                .filter(|one| one.1.is_some())
                .copied()
                .fold(first, |best, one| if one.1 < best.1 { one } else { best }),
        };
        rejected.truncate(before);
        Ok(Selection { backend, rejected, estimates })
    }

    /// Every backend with what it can do on this machine, in order of preference.
    #[must_use]
    pub fn report(&self) -> Vec<Report> {
        self.iter()
            .map(|backend| Report {
                backend: backend.name().to_owned(),
                capabilities: backend.capabilities(),
            })
            .collect()
    }
}

/// Why `backend` can't run `plan`, without its name in front, which a [`Rejection`] has already.
fn refusal(backend: &dyn SpmmBackend, plan: &Plan) -> Option<String> {
    match backend.capabilities() {
        Err(BackendError::Unavailable { reason, .. }) => Some(reason),
        Err(other) => Some(other.to_string()),
        Ok(_) => backend.supports(plan).err().map(|unsupported| unsupported.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, DType, FormatKind, RowCsr, RowLayout, Tiling};

    use super::*;
    use crate::backend::PreparedSpmm;
    use crate::epilogue::{Activation, Epilogue};
    use crate::reference::ReferenceBackend;

    /// A backend that can't: absent from the machine, or without the plan's value type.
    #[derive(Debug)]
    struct Fussy {
        available: bool,
    }

    impl SpmmBackend for Fussy {
        fn name(&self) -> &str {
            "fussy"
        }

        fn capabilities(&self) -> Result<Capabilities, BackendError> {
            if !self.available {
                return Err(BackendError::Unavailable {
                    backend: "fussy".into(),
                    reason: "libfussy.so is not on the loader's path".into(),
                });
            }
            let (formats, dtypes) = (vec![FormatKind::Csr], vec![DType::F64]);
            Ok(Capabilities { formats, dtypes, device: "none".into() })
        }

        fn supports(&self, _: &Plan) -> Result<(), Unsupported> {
            Err(Unsupported::ValueType { dtype: DType::F32, reason: "it takes f64 only".into() })
        }

        fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
            Err(self.supports(plan).unwrap_err().by("fussy"))
        }
    }

    fn plan() -> Plan {
        let csr = Csr::<f32>::empty(2, 2).unwrap();
        let layout = RowLayout::natural(2, 1).unwrap();
        Plan::from_tiling(Tiling::Csr(RowCsr::try_new(layout, csr).unwrap()))
    }

    #[test]
    fn the_first_that_can_is_chosen_and_the_others_say_why() {
        let registry = Registry::new()
            .with(ReferenceBackend)
            .prefer(Fussy { available: true })
            .prefer(Fussy { available: false });
        let plan = plan();
        let selection = registry.best_for(&plan).unwrap();
        assert_eq!(selection.backend.name(), "reference");
        let reasons: Vec<_> = selection.rejected.iter().map(|r| r.reason.as_str()).collect();
        assert_eq!(reasons, ["libfussy.so is not on the loader's path", "it takes f64 only"]);
    }

    /// The reference under another name, with an estimate.
    #[derive(Debug)]
    struct Timed(&'static str, Option<f64>);

    impl SpmmBackend for Timed {
        fn name(&self) -> &str {
            self.0
        }

        fn capabilities(&self) -> Result<Capabilities, BackendError> {
            ReferenceBackend.capabilities()
        }

        fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
            ReferenceBackend.supports(plan)
        }

        fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
            ReferenceBackend.prepare(plan)
        }

        fn estimate(&self, _: &Plan) -> Option<f64> {
            self.1
        }
    }

    #[test]
    fn the_least_estimate_wins_unless_the_first_has_none() {
        let choice = |first: Option<f64>| {
            let registry = Registry::new()
                .with(Timed("first", first))
                .with(Fussy { available: false })
                .with(Timed("second", Some(2.0)))
                .with(ReferenceBackend);
            let plan = plan();
            let Selection { backend, rejected, estimates } = registry.best_for(&plan).unwrap();
            (backend.name().to_owned(), rejected.len(), estimates.len())
        };
        assert_eq!(choice(Some(1.0)), ("first".to_owned(), 0, 2));
        assert_eq!(choice(Some(2.0)), ("first".to_owned(), 0, 2));
        assert_eq!(choice(Some(3.0)), ("second".to_owned(), 1, 2));
        assert_eq!(choice(None), ("first".to_owned(), 0, 1));
    }

    #[test]
    fn a_preferred_backend_that_can_leaves_no_rejections() {
        let registry = Registry::new().with(Fussy { available: true }).prefer(ReferenceBackend);
        assert_eq!(registry.best_for(&plan()).unwrap().rejected, []);
    }

    #[test]
    fn a_backend_that_lacks_the_epilogue_is_passed_over_and_says_why() {
        let registry = Registry::new().with(Timed("first", Some(1.0))).with(ReferenceBackend);
        let (plan, epilogue) = (plan(), Epilogue::from(Activation::Relu));
        let chosen = registry.best_that(&plan, |one| one.supports_epilogue(&plan, &epilogue));
        let chosen = chosen.unwrap();
        assert_eq!((chosen.backend.name(), chosen.rejected.len()), ("reference", 1));
        assert!(chosen.rejected[0].reason.contains("without bias and activation"));
    }

    #[test]
    fn errors_name_every_backend_and_reason() {
        let registry =
            Registry::new().with(Fussy { available: true }).with(Fussy { available: false });
        let error = registry.best_for(&plan()).unwrap_err().to_string();
        assert!(error.contains("fussy: it takes f64 only"), "{error}");
        assert!(error.contains("libfussy.so"), "{error}");
        let error = registry.get("gpu").unwrap_err().to_string();
        assert!(error.contains("gpu") && error.contains("fussy"), "{error}");
        let none = Registry::new().best_for(&plan()).unwrap_err().to_string();
        assert!(none.contains("none is registered"), "{none}");
    }

    #[test]
    fn the_report_says_what_is_missing() {
        let registry = Registry::new().with(Fussy { available: false }).with(ReferenceBackend);
        let report = registry.report();
        assert!(matches!(report[0].capabilities, Err(BackendError::Unavailable { .. })));
        assert_eq!(report[1].capabilities.as_ref().unwrap().formats, FormatKind::ALL);
    }
}

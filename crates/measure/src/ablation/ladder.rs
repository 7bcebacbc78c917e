//! Ladders as papers have them: steps in order, each with what it changes, the paper's figure, and our variant.

use std::str::FromStr;

use girih::DType;
use girih::cuda::ablation::Variant;
use serde::{Deserialize, Deserializer, Serialize};

use crate::MeasureError;

/// The built-in ladders, by name.
const BUILT_IN: [(&str, &str); 6] = [
    ("asyncsparse", include_str!("ladders/asyncsparse.toml")),
    ("tiles", include_str!("ladders/tiles.toml")),
    ("voltrix", include_str!("ladders/voltrix.toml")),
    ("croqtile-f16", include_str!("ladders/croqtile-f16.toml")),
    ("croqtile-e4m3", include_str!("ladders/croqtile-e4m3.toml")),
    ("article", include_str!("ladders/article.toml")),
];

/// An ablation: a kernel that a paper builds up step by step, and ours beside it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Its name, which is that of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// What is built up.
    pub title: String,
    /// The paper, its section, and what its figures are of.
    pub paper: String,
    /// The unit of the paper's figures.
    pub unit: Unit,
    /// What counts as flops.
    pub flops: Flops,
    /// The value type.
    #[serde(deserialize_with = "dtype", serialize_with = "dtype_name")]
    pub dtype: DType,
    /// Columns of B, in multiples of 8.
    pub n: Vec<usize>,
    /// Generated problems.
    pub matrices: Vec<String>,
    /// Whether cuBLASLt's dense product is timed beside the steps.
    #[serde(default)]
    pub yardstick: bool,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A step of a ladder.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name in the paper, or ours.
    pub name: String,
    /// What it changes.
    pub adds: String,
    /// The step that it changes; `None` for a first one.
    pub after: Option<String>,
    /// The paper's figure, if there is one.
    pub figure: Option<f64>,
    /// The name of the [`Variant`] that reproduces it.
    pub variant: Option<String>,
    /// Why there is none.
    pub missing: Option<String>,
    /// Where the variant deviates from the paper.
    pub note: Option<String>,
}

/// The unit of a paper's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Unit {
    /// 10¹² flops per second.
    #[serde(rename = "TFLOP/s")]
    Tflops,
    /// Speedup over cuSPARSE.
    #[serde(rename = "× cuSPARSE")]
    OfCusparse,
    /// Speedup over the step before.
    #[serde(rename = "× before")]
    OfBefore,
}

impl Unit {
    /// The unit, as a ladder's file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tflops => "TFLOP/s",
            Self::OfCusparse => "× cuSPARSE",
            Self::OfBefore => "× before",
        }
    }
}

/// What counts as flops of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flops {
    /// 2·nnz·n.
    Entries,
    /// 2·m·k·n, zeros too.
    Dense,
}

fn dtype<'de, D: Deserializer<'de>>(from: D) -> Result<DType, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn dtype_name<S: serde::Serializer>(dtype: &DType, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(dtype.name())
}

impl Ladder {
    /// The names of the built-in ladders.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.into_iter().map(|(name, _)| name)
    }

    /// The built-in ladder of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn built_in(name: &str) -> Result<Self, MeasureError> {
        let Some((_, text)) = BUILT_IN.into_iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = Self::names().collect();
            let known = known.join(", ");
            return Err(MeasureError::Request(format!(
                "there is no ladder {name:?}; there are {known}"
            )));
        };
        Ok(Self { name: name.to_owned(), ..text.parse()? })
    }

    /// The step of a name, and where it is.
    pub fn step(&self, name: &str) -> Option<(usize, &Step)> {
        self.steps.iter().enumerate().find(|(_, step)| step.name == name)
    }

    /// The nearest step before another of which there is `value`: along [`Step::after`].
    pub fn before<T>(&self, step: &Step, value: impl Fn(usize, &Step) -> Option<T>) -> Option<T> {
        let mut after = step.after.as_deref();
        while let Some((at, before)) = after.and_then(|name| self.step(name)) {
            if let Some(value) = value(at, before) {
                return Some(value);
            }
            after = before.after.as_deref();
        }
        None
    }

    /// How much faster the paper's step is than the one before it.
    pub fn paper_speedup(&self, step: &Step) -> Option<f64> {
        match self.unit {
            Unit::OfBefore => step.figure,
            Unit::Tflops | Unit::OfCusparse => {
                Some(step.figure? / self.before(step, |_, before| before.figure)?)
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.n.iter().any(|&n| n == 0 || !n.is_multiple_of(8)) {
            return Err("n must be multiples of 8".to_owned());
        }
        for (at, step) in self.steps.iter().enumerate() {
            let wrong = |what: &str| Err(format!("step {:?} {what}", step.name));
            if self.step(&step.name).is_none_or(|(first, _)| first != at) {
                return wrong("is there twice");
            }
            let before = step.after.as_deref().map(|after| self.step(after));
            if before.is_some_and(|before| before.is_none_or(|(before, _)| before >= at)) {
                return wrong("comes after a step that does not come before it");
            }
            if step.figure.is_some_and(|figure| !(figure.is_finite() && figure > 0.0)) {
                return wrong("has a figure that is none");
            }
            match (&step.variant, &step.missing) {
                (None, Some(_)) => {}
                (Some(name), None) => match Variant::find(name) {
                    None => return wrong(&format!("names a variant {name:?} that is not there")),
                    Some(variant) if !variant.has(self.dtype) => {
                        return wrong(&format!("names {name}, which is not for {}", self.dtype));
                    }
                    Some(_) => {}
                },
                _ => return wrong("needs a variant, or why there is none, and not both"),
            }
        }
        Ok(())
    }
}

impl FromStr for Ladder {
    type Err = MeasureError;

    /// Reads a ladder in TOML, without a name.
    fn from_str(text: &str) -> Result<Self, MeasureError> {
        let request = |what: String| MeasureError::Request(format!("not a ladder: {what}"));
        let ladder: Self = toml::from_str(text).map_err(|e| request(e.to_string()))?;
        ladder.check().map_err(request)?;
        Ok(ladder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Generated;

    #[test]
    fn built_in_ladders_are_sound_and_whole() {
        let count = |name: &str| Ladder::built_in(name).unwrap().steps.len();
        let whole = [
            ("asyncsparse", 9),
            ("tiles", 9),
            ("voltrix", 6),
            ("croqtile-f16", 6),
            ("croqtile-e4m3", 6),
            ("article", 10),
        ];
        for (name, steps) in whole {
            assert_eq!(count(name), steps, "{name}");
        }
        for name in Ladder::names() {
            let ladder = Ladder::built_in(name).unwrap();
            assert_eq!(ladder.name, name);
            for matrix in &ladder.matrices {
                assert!(Generated::parse(matrix).is_some_and(|known| known.is_ok()), "{matrix}");
            }
        }
        let names: Vec<_> = Ladder::built_in("asyncsparse").unwrap().steps;
        let names: Vec<_> = names.into_iter().map(|step| step.name).collect();
        let expected = ["opt0", "opt1", "opt2", "opt3", "opt4", "opt5", "opt6", "opt7", "product"];
        assert_eq!(names, expected);
    }

    #[test]
    fn every_variant_is_a_step() {
        let ladders: Vec<_> = Ladder::names().map(|name| Ladder::built_in(name).unwrap()).collect();
        let named = |variant: &Variant| {
            let mut steps = ladders.iter().flat_map(|ladder| &ladder.steps);
            steps.any(|step| step.variant.as_deref() == Some(variant.name()))
        };
        let unnamed: Vec<_> = Variant::all().iter().filter(|variant| !named(variant)).collect();
        assert!(unnamed.is_empty(), "{unnamed:?}");
    }

    #[test]
    fn speedups_are_over_the_nearest_step_with_a_figure() {
        let article = Ladder::built_in("article").unwrap();
        let of = |name| article.paper_speedup(article.step(name).unwrap().1);
        assert_eq!(of("CUDA cores"), None);
        assert_eq!(of("persistent"), None);
        assert_eq!(of("order"), Some(660.0 / 631.0));
        let voltrix = Ladder::built_in("voltrix").unwrap();
        assert_eq!(voltrix.paper_speedup(voltrix.step("pipelining").unwrap().1), Some(2.1));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let head = "title = 't'\npaper = 'p'\nunit = 'TFLOP/s'\nflops = 'dense'\ndtype = 'bf16'\n\
                    n = [8]\nmatrices = []\n";
        let steps = |steps: &str| format!("{head}{steps}").parse::<Ladder>();
        let step = "[[steps]]\nname = 'a'\nadds = 'x'\n";
        assert!(steps(&format!("{step}variant = 'csr'\n")).is_ok());
        for (text, said) in [
            (format!("{step}variant = 'csr'\n{step}variant = 'csr'\n"), "twice"),
            (format!("{step}variant = 'csr'\nafter = 'b'\n"), "come before"),
            (format!("{step}variant = 'coo'\n"), "not there"),
            (format!("{step}variant = 'bmat-buffers'\n"), "not for bf16"),
            (format!("{step}variant = 'csr'\nmissing = 'x'\n"), "not both"),
            (format!("{step}missing = 'x'\nfigure = 0.0\n"), "figure"),
            (step.to_owned(), "needs a variant"),
        ] {
            let error = steps(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

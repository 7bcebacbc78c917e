//! Pieces of self-describing texts: numbers, words and lists that a hostile file cannot misuse.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most elements of a list: many times what a planner considers.
pub(super) const MAX_LIST: usize = 1024;

/// An `f64` to the last bit, and what JSON has no number for: `"inf"`, `"-inf"` and `"nan"`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_finite() => to.serialize_f64(x),
            x if x.is_nan() => to.serialize_str("nan"),
            x if x > 0.0 => to.serialize_str("inf"),
            _ => to.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Number, E> {
                Ok(Number(x))
            }

            fn visit_u64<E: de::Error>(self, x: u64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Number, E> {
                match name {
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    "nan" => Ok(Number(f64::NAN)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
                }
            }
        }

        from.deserialize_any(NumberVisitor)
    }
}

/// A text without control characters: safe to show on a terminal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Words(pub(super) String);

pub(super) fn words(text: &str) -> Words {
    Words(text.to_owned())
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.chars().any(char::is_control) {
            return Err(de::Error::custom("a text holds control characters"));
        }
        Ok(Self(text))
    }
}

/// A list of at most [`MAX_LIST`] elements.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MAX_LIST} elements")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = from.next_element()? {
                    if list.len() == MAX_LIST {
                        return Err(de::Error::invalid_length(MAX_LIST + 1, &self));
                    }
                    list.push(element);
                }
                Ok(List(list))
            }
        }

        from.deserialize_seq(ListVisitor(PhantomData))
    }
}

/// A message about a hostile text, which may quote it, as one line that a terminal can show.
pub(super) fn printable(message: &str) -> String {
    let escaped = message.chars().flat_map(|c| {
        let control = c.is_control();
        let escape = control.then(|| c.escape_default()).into_iter().flatten();
        escape.chain((!control).then_some(c))
    });
    escaped.take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(x: f64) -> f64 {
        let text = serde_json::to_string(&Number(x)).unwrap();
        serde_json::from_str::<Number>(&text).unwrap().0
    }

    proptest! {
        #[test]
        fn numbers_come_back_to_the_last_bit(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            prop_assert!(again(x).to_bits() == bits || x.is_nan() && again(x).is_nan());
        }
    }

    #[test]
    fn numbers_that_json_has_not_come_back() {
        for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, f64::MAX]
        {
            assert_eq!(again(x).to_bits(), x.to_bits());
        }
        assert!(again(f64::NAN).is_nan());
        assert_eq!(serde_json::from_str::<Number>("3").unwrap().0, 3.0);
        assert_eq!(serde_json::from_str::<Number>("-3").unwrap().0, -3.0);
        for text in ["null", "\"infinity\"", "[1]", "true", "1e999"] {
            assert!(serde_json::from_str::<Number>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_and_lists_are_bounded() {
        assert!(serde_json::from_str::<Words>(r#""a\u001b[31m""#).is_err());
        assert_eq!(serde_json::from_str::<Words>(r#""a b ×""#).unwrap(), Words("a b ×".to_owned()));
        let list = |n: usize| format!("[{}]", vec!["1"; n].join(","));
        assert_eq!(serde_json::from_str::<List<u32>>(&list(MAX_LIST)).unwrap().0.len(), MAX_LIST);
        assert!(serde_json::from_str::<List<u32>>(&list(MAX_LIST + 1)).is_err());
        assert_eq!(printable("a\u{1b}[1m\nb"), "a\\u{1b}[1m\\nb");
    }
}

//! Activations of single elements, as plain arithmetic that the compiler vectorizes.

use girih_formats::RealAccumulator;

/// What activations need of an accumulation type.
pub(crate) trait Activate: RealAccumulator {
    /// `max(x, 0)`; NaN stays.
    fn relu(self) -> Self;

    /// [`Activation::Gelu`](girih_backend::Activation::Gelu); `mul_add` is the kernels' own.
    ///
    /// `x/2·(1 + tanh(u))` is `x·σ(2u)`, and with `e = exp(−|2u|)` that is `x/(1 + e)`, or `x·e/(1 + e)`
    /// where x is negative: nothing cancels, and nothing overflows. With rounding unit ε, 2u is off by 4 ε,
    /// so e by `4·|2u|·e ≤ 1.5` ε; the exponential and the other operations cost up to 6 ε more. That is 8 ε
    /// of x.
    fn gelu(self, mul_add: impl Fn(Self, Self, Self) -> Self + Copy) -> Self;
}

/// `2·√(2/π)`, and what x³ is multiplied by.
const SCALE: f64 = 1.595_769_121_605_730_8;
const CUBIC: f64 = 0.044_715;

macro_rules! activate {
    (
        $t:ident, mantissa $mantissa:literal, exponent bias $exponent_bias:literal, least $least:literal,
        ln 2 $ln2_high:literal + $ln2_low:literal, Taylor [$($factorial:literal)*]
    ) => {
        impl Activate for $t {
            #[inline(always)]
            fn relu(self) -> Self {
                if self < 0.0 { 0.0 } else { self }
            }

            #[inline(always)]
            fn gelu(self, mul_add: impl Fn(Self, Self, Self) -> Self + Copy) -> Self {
                let x = self;
                let twice_u = x * mul_add((SCALE * CUBIC) as $t, x * x, SCALE as $t);
                let t = -twice_u.abs();

                // exp(t) = 2^k·exp(r): k is rounded by a number whose unit in the last place is 1.
                const ROUND: $t = 1.5 * (1u64 << $mantissa) as $t;
                let bounded = if t < $least { $least } else { t };
                let rounded = mul_add(bounded, std::$t::consts::LOG2_E, ROUND);
                let k = rounded - ROUND;
                let r = mul_add(k, -$ln2_low, mul_add(k, -$ln2_high, bounded));
                let mut exp_r: $t = 0.0;
                $(exp_r = mul_add(exp_r, r, 1.0 / $factorial);)*
                let k = rounded.to_bits().wrapping_sub(ROUND.to_bits());
                let power = $t::from_bits(k.wrapping_add($exponent_bias) << $mantissa);
                let e = if t < $least { 0.0 } else { exp_r * power };

                // Inf · 0 is none of the limits.
                let scaled = if e == 0.0 { 0.0 } else { x * e };
                let numerator = if x < 0.0 { scaled } else { x };
                numerator / (1.0 + e)
            }
        }
    };
}

// `least` has an exponential that is a normal number. Taylor's series ends where, for |r| ≤ ln 2 / 2, the
// next term is below a tenth of the rounding unit. The high part of ln 2 is short enough for products with k
// to be exact.
activate!(
    f32, mantissa 23, exponent bias 127, least -87.0,
    ln 2 0.693_359_4 + -2.121_944_4e-4,
    Taylor [5040.0 720.0 120.0 24.0 6.0 2.0 1.0 1.0]
);
activate!(
    f64, mantissa 52, exponent bias 1023, least -708.0,
    ln 2 0.693_145_751_953_125 + 1.428_606_820_309_417_2e-6,
    Taylor [
        6_227_020_800.0 479_001_600.0 39_916_800.0 3_628_800.0 362_880.0 40_320.0 5040.0 720.0 120.0 24.0 6.0
        2.0 1.0 1.0
    ]
);

#[cfg(test)]
mod tests {
    use girih_backend::Activation;

    use super::*;

    /// The largest error in rounding units of x, over `points` points of each power of two, both signs.
    fn error<A: Activate>(unit: f64, least: f64, mul_add: impl Fn(A, A, A) -> A + Copy) -> f64 {
        let mut most = 0f64;
        for exponent in -12..6 {
            for i in 0..3000 {
                let x = 2f64.powi(exponent) * (1.0 + f64::from(i) / 3000.0);
                for x in [x, -x].map(A::from_f64) {
                    let exact = Activation::Gelu.apply(x.to_f64());
                    let off = (x.gelu(mul_add).to_f64() - exact).abs() - 16.0 * least;
                    most = most.max(off / (unit * x.to_f64().abs()));
                }
            }
        }
        most
    }

    #[test]
    fn gelu_is_off_by_far_less_than_its_units() {
        let narrow = [f32::mul_add, |a, b, c| a * b + c];
        let wide = [f64::mul_add, |a, b, c| a * b + c];
        let narrow = narrow.map(|f| error(f64::EPSILON.sqrt() * 4.0, f32::MIN_POSITIVE.into(), f));
        let wide = wide.map(|f| error(f64::EPSILON / 2.0, f64::MIN_POSITIVE, f));
        for most in narrow.into_iter().chain(wide) {
            assert!(most < Activation::Gelu.units() / 2.0, "{narrow:?} {wide:?}");
        }
    }

    #[test]
    fn limits_and_nan() {
        fn holds<A: Activate>(mul_add: impl Fn(A, A, A) -> A + Copy) {
            let gelu = |x: f64| A::from_f64(x).gelu(mul_add).to_f64();
            let inf = f64::INFINITY;
            assert_eq!([inf, -inf, -1e30, 1e30, 0.0].map(gelu)[..3], [inf, 0.0, 0.0]);
            assert_eq!((gelu(0.0), gelu(1e30)), (0.0, A::from_f64(1e30).to_f64()));
            assert!(gelu(f64::NAN).is_nan() && A::from_f64(f64::NAN).relu().to_f64().is_nan());
            assert_eq!([-2.0, -inf, 3.0].map(|x| A::from_f64(x).relu().to_f64()), [0.0, 0.0, 3.0]);
        }
        holds(f32::mul_add);
        holds(f64::mul_add);
        holds(|a: f32, b, c| a * b + c);
    }
}

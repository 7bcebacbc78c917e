//! Decimal numbers, eight digits at a time.
//!
//! Every function looks at text from a position on, and relies on nothing about what follows: past
//! the end of the text stand zero bytes, which are no digits.

/// How many digits, up to eight, stand at `p`, and their value.
#[inline(always)]
pub(super) fn digits(text: &[u8], p: usize) -> (u64, usize) {
    let word = text.get(p..).and_then(<[u8]>::first_chunk).map_or(0, |w| u64::from_le_bytes(*w));
    // A byte's top bit is set where it is below '0' or above '9'; what carries do to the bytes
    // above the lowest such byte does not matter.
    let other = (word.wrapping_add(0x4646_4646_4646_4646)
        | word.wrapping_sub(0x3030_3030_3030_3030))
        & 0x8080_8080_8080_8080;
    let n = other.trailing_zeros() as usize / 8;
    if n == 0 {
        return (0, 0);
    }
    // Leading zeros in place of the bytes that are no digits, then pairs, fours, eights.
    let ones = word.wrapping_sub(0x3030_3030_3030_3030) << (64 - 8 * n);
    let pairs = ones.wrapping_mul(10).wrapping_add(ones >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (low.wrapping_add(high) >> 32, n)
}

/// 10ⁿ.
const POW10: [u64; 20] = {
    let mut table = [1; 20];
    let mut n = 1;
    while n < 20 {
        table[n] = table[n - 1] * 10;
        n += 1;
    }
    table
};

/// An index of at most seven digits at `p`, and where it ends.
#[inline(always)]
pub(super) fn index(text: &[u8], p: usize) -> Option<(u64, usize)> {
    let (value, n) = digits(text, p);
    (n > 0 && n < 8).then_some((value, p + n))
}

/// An integer of at most 15 digits at `p`, and where it ends.
#[inline(always)]
pub(super) fn integer(text: &[u8], p: usize) -> Option<(f64, usize)> {
    let (negative, p) = sign(text, p);
    let (mut value, mut n) = digits(text, p);
    if n == 8 {
        let (low, more) = digits(text, p + 8);
        value = value * POW10[more] + low;
        n += more;
    }
    (n > 0 && n < 16).then(|| (with_sign(value as f64, negative), p + n))
}

/// A decimal number of the usual length at `p`, correctly rounded, and where it ends.
///
/// `None` says nothing about the text but that it takes a more careful reader: a mantissa of more
/// than 19 digits, an exponent out of the tables, `inf`, or no number at all.
#[inline(always)]
pub(super) fn decimal(text: &[u8], p: usize) -> Option<(f64, usize)> {
    let (negative, start) = sign(text, p);
    let (mut mantissa, n) = digits(text, start);
    if n == 8 {
        return None;
    }
    // Zeros before the point do not count towards the 19 digits that fit a u64.
    let whole_digits = if mantissa == 0 { 0 } else { n };
    let (mut p, mut exponent) = (start + n, 0i64);
    if text.get(p) == Some(&b'.') {
        p += 1;
        let first = p;
        loop {
            let (value, n) = digits(text, p);
            p += n;
            // Too many digits are noticed below, so what wraps here is not used.
            mantissa = mantissa.wrapping_mul(POW10[n]).wrapping_add(value);
            if n < 8 || p - first > 24 {
                break;
            }
        }
        let fraction = p - first;
        if n + fraction == 0 || whole_digits + fraction > 19 {
            return None;
        }
        exponent = -(fraction as i64);
    } else if n == 0 {
        return None;
    }
    if matches!(text.get(p), Some(b'e' | b'E')) {
        let (negative, at) = sign(text, p + 1);
        let (value, n) = digits(text, at);
        if n == 0 || n == 8 {
            return None;
        }
        exponent += if negative { -(value as i64) } else { value as i64 };
        p = at + n;
    }
    let magnitude = scaled(mantissa, exponent)?;
    Some((with_sign(magnitude, negative), p))
}

#[inline(always)]
fn sign(text: &[u8], p: usize) -> (bool, usize) {
    match text.get(p) {
        Some(b'-') => (true, p + 1),
        Some(b'+') => (false, p + 1),
        _ => (false, p),
    }
}

#[inline(always)]
fn with_sign(x: f64, negative: bool) -> f64 {
    f64::from_bits(x.to_bits() | u64::from(negative) << 63)
}

/// `mantissa · 10^exponent`, correctly rounded; `None` where the tables do not reach.
#[inline(always)]
fn scaled(mantissa: u64, exponent: i64) -> Option<f64> {
    // Both operands and so the one rounding are exact (Clinger 1990).
    if mantissa <= 1 << 53 && (-22..=22).contains(&exponent) {
        let x = mantissa as f64;
        let power = EXACT_POW10[exponent.unsigned_abs() as usize];
        return Some(if exponent < 0 { x / power } else { x * power });
    }
    lemire(mantissa, exponent)
}

/// Powers of ten that an `f64` holds exactly.
const EXACT_POW10: [f64; 23] = {
    let mut table = [1.0; 23];
    let mut n = 1;
    while n < 23 {
        table[n] = table[n - 1] * 10.0;
        n += 1;
    }
    table
};

/// Largest power of five, either way, in the table.
const REACH: i64 = 55;

/// The first 128 bits of 5^q for q in −55..=55; of a reciprocal not exact, rounded up where the
/// argument of Lemire's §5 asks for it.
const POW5: [u128; 2 * REACH as usize + 1] = {
    let mut table = [0; 2 * REACH as usize + 1];
    let mut power: u128 = 1;
    let mut q = 0;
    while q <= REACH as usize {
        table[REACH as usize + q] = power << power.leading_zeros();
        if q > 0 {
            // 2^(127 + bits) / power, by long division: 128 bits, the first of them set. The
            // division starts at 2^(bits − 1), which is below power.
            let bits = 128 - power.leading_zeros();
            let mut rest: u128 = 1 << (bits - 1);
            let mut quotient: u128 = 0;
            let mut i = 0;
            while i < 128 {
                let overflow = rest >> 127 == 1;
                rest <<= 1;
                quotient <<= 1;
                if overflow || rest >= power {
                    rest = rest.wrapping_sub(power);
                    quotient |= 1;
                }
                i += 1;
            }
            table[REACH as usize - q] = quotient + (q <= 27) as u128;
        }
        if q < REACH as usize {
            power *= 5;
        }
        q += 1;
    }
    table
};

/// Algorithm 1 of D. Lemire, *Number parsing at a gigabyte per second*, Software: Practice and
/// Experience 51(8), 2021, for mantissas below 2⁶⁴ and exponents within the table, where no result
/// is subnormal or infinite.
fn lemire(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    if !(-REACH..=REACH).contains(&exponent) {
        return None;
    }
    let power = POW5[(exponent + REACH) as usize];
    let zeros = mantissa.leading_zeros();
    let w = u128::from(mantissa << zeros);
    let mut product = w * (power >> 64);
    if (product >> 64) & 0x1ff == 0x1ff {
        product += (w * (power & u128::from(u64::MAX))) >> 64;
    }
    let (high, low) = ((product >> 64) as u64, product as u64);
    if low == u64::MAX && !(-27..=55).contains(&exponent) {
        return None;
    }
    let upper = high >> 63;
    let shift = upper as u32 + 9;
    let mut m = high >> shift;
    let binary = ((217_706 * exponent) >> 16) + 63 + upper as i64 - i64::from(zeros) + 1023;
    // Exactly between two values: round to the even one.
    if low <= 1 && (-4..=23).contains(&exponent) && m & 3 == 1 && m << shift == high {
        m &= !1;
    }
    m = (m + (m & 1)) >> 1;
    let carry = m >> 53;
    let fraction = if carry == 1 { 0 } else { m & ((1 << 52) - 1) };
    Some(f64::from_bits(((binary + carry as i64) as u64) << 52 | fraction))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(s: &str) -> Vec<u8> {
        let mut v = s.as_bytes().to_vec();
        v.extend([0; 8]);
        v
    }

    #[test]
    fn digits_stop_at_the_first_other_byte() {
        for (s, expected) in [
            ("1 ", (1, 1)),
            ("12345678", (12_345_678, 8)),
            ("123456789", (12_345_678, 8)),
            ("0042\n99", (42, 4)),
            ("99:", (99, 2)),
            ("7/", (7, 1)),
            ("5\u{ff}1", (5, 1)),
            ("", (0, 0)),
            ("-1", (0, 0)),
        ] {
            assert_eq!(digits(&padded(s), 0), expected, "{s:?}");
        }
    }

    #[test]
    fn halfway_cases_round_to_even() {
        for s in [
            "9007199254740993",
            "9007199254740995",
            "9007199254740992.5",
            "1.00000000000000011102",
            "4503599627370496.5",
            "4503599627370497.5",
            "0.1e-1",
            "8.442911973260991817e-15",
        ] {
            if let Some((x, end)) = decimal(&padded(s), 0) {
                assert_eq!(
                    (x.to_bits(), end),
                    (s.parse::<f64>().unwrap().to_bits(), s.len()),
                    "{s}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_number_is_left_to_others() {
        for s in ["", ".", "-", "e5", "-.e5", "inf", "1e", "1e+", "+-1", "12345678.5"] {
            assert_eq!(decimal(&padded(s), 0), None, "{s:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn every_shortest_form_is_read_back(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            for s in [format!("{x:?}"), format!("{x:e}"), format!("{x:.17e}")] {
                if let Some((y, end)) = decimal(&padded(&s), 0) {
                    prop_assert_eq!((y.to_bits(), end), (s.parse::<f64>().unwrap().to_bits(), s.len()));
                }
            }
        }

        #[test]
        fn every_mantissa_and_exponent_in_the_table_is_rounded_correctly(m: u64, e in -REACH..=REACH, cut in 0u32..64) {
            let m = m >> cut;
            let x = lemire(m, e);
            if let Some(x) = x {
                prop_assert_eq!(x.to_bits(), format!("{m}e{e}").parse::<f64>().unwrap().to_bits());
            } else {
                prop_assert!(e < -27);
            }
        }

        #[test]
        fn ordinary_numbers_take_the_fast_way(int in 0u32..1_000_000, fraction in 0u64..10_000_000_000_000_000, width in 16usize..18, negative: bool) {
            let s = format!("{}{int}.{fraction:0width$}", if negative { "-" } else { "" }, width = width.min(19 - int.to_string().len()).max(1));
            let digits = s.trim_start_matches('-').len() - 1;
            let got = decimal(&padded(&s), 0);
            if digits <= 19 {
                prop_assert_eq!(got, Some((s.parse::<f64>().unwrap(), s.len())));
            }
        }

        #[test]
        fn integers_agree_with_the_standard_library(i in -999_999_999_999_999i64..=999_999_999_999_999) {
            let s = i.to_string();
            prop_assert_eq!(integer(&padded(&s), 0), Some((i as f64, s.len())));
        }
    }
}

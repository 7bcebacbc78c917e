//! Text as C's `printf` makes it, from the arguments that device code packs for `vprintf`.

/// Where the values of conversions come from.
pub(super) trait Arguments {
    /// Why one cannot be read.
    type Error;

    /// The next value, which takes this many bytes and is aligned to them.
    fn value(&mut self, bytes: u32) -> Result<u64, Self::Error>;

    /// The string at an address, without its zero.
    fn string(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

/// No field is padded to more than this.
const MAX_WIDTH: usize = 4096;

#[derive(Debug, Clone, Copy, Default)]
struct Spec {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// `l`, `ll`, `z`, `j`, `t`: 8 bytes.
    long: bool,
    /// Bits kept by `h` and `hh`.
    short: u32,
}

/// Writes a format with its arguments.
pub(super) fn format<A: Arguments>(
    format: &[u8],
    arguments: &mut A,
    out: &mut Vec<u8>,
) -> Result<(), A::Error> {
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut at = 0;
        let spec = read(rest, &mut at, arguments)?;
        let Some(&conversion) = rest.get(at) else {
            out.push(b'%');
            continue;
        };
        if !convert(conversion, spec, arguments, out)? {
            // Not a conversion: it stands as it is.
            out.push(b'%');
            continue;
        }
        rest = &rest[at + 1..];
    }
    Ok(())
}

fn read<A: Arguments>(text: &[u8], at: &mut usize, from: &mut A) -> Result<Spec, A::Error> {
    let mut spec = Spec { short: 64, ..Spec::default() };
    while let Some(flag) = text.get(*at) {
        match flag {
            b'-' => spec.left = true,
            b'0' => spec.zeros = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            _ => break,
        }
        *at += 1;
    }
    let mut number = |at: &mut usize| -> Result<i32, A::Error> {
        if text.get(*at) == Some(&b'*') {
            *at += 1;
            return Ok(from.value(4)? as i32);
        }
        let mut value = 0_i32;
        while let Some(digit @ b'0'..=b'9') = text.get(*at) {
            value = value.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
            *at += 1;
        }
        Ok(value)
    };
    let width = number(at)?;
    spec.left |= width < 0;
    spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    if text.get(*at) == Some(&b'.') {
        *at += 1;
        spec.precision = usize::try_from(number(at)?).ok().map(|digits| digits.min(MAX_WIDTH));
    }
    while let Some(length) = text.get(*at) {
        match length {
            b'l' | b'z' | b'j' | b't' | b'L' | b'q' => spec.long = true,
            b'h' => spec.short = if spec.short == 64 { 16 } else { 8 },
            _ => break,
        }
        *at += 1;
    }
    Ok(spec)
}

fn convert<A: Arguments>(
    conversion: u8,
    spec: Spec,
    from: &mut A,
    out: &mut Vec<u8>,
) -> Result<bool, A::Error> {
    let bytes = if spec.long { 8 } else { 4 };
    let unused = 64 - (8 * bytes).min(spec.short);
    match conversion {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let value = (from.value(bytes)? << unused).cast_signed() >> unused;
            integer(spec, sign(spec, value < 0), &value.unsigned_abs().to_string(), out);
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = from.value(bytes)? << unused >> unused;
            let prefix = if spec.alternate && value != 0 { conversion } else { b'u' };
            let (prefix, digits) = match (conversion, prefix) {
                (b'x', b'x') => ("0x", format!("{value:x}")),
                (b'x', _) => ("", format!("{value:x}")),
                (b'X', b'X') => ("0X", format!("{value:X}")),
                (b'X', _) => ("", format!("{value:X}")),
                (b'o', b'o') => ("0", format!("{value:o}")),
                (b'o', _) => ("", format!("{value:o}")),
                _ => ("", value.to_string()),
            };
            integer(spec, prefix, &digits, out);
        }
        b'p' => {
            let digits = format!("{:x}", from.value(8)?);
            integer(Spec { zeros: false, ..spec }, "0x", &digits, out);
        }
        b'c' => {
            let byte = from.value(4)? as u8;
            pad(spec, &[byte], out);
        }
        b's' => {
            let address = from.value(8)?;
            let mut text = if address == 0 { b"(null)".to_vec() } else { from.string(address)? };
            text.truncate(spec.precision.unwrap_or(usize::MAX));
            pad(spec, &text, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(from.value(8)?);
            float(conversion, spec, value, out);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn sign(spec: Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(spec: Spec, prefix: &str, digits: &str, out: &mut Vec<u8>) {
    let digits = match spec.precision {
        Some(0) if digits == "0" => "",
        _ => digits,
    };
    let least = match spec.precision {
        Some(least) => least,
        None if spec.zeros && !spec.left => spec.width.saturating_sub(prefix.len()),
        None => 1,
    };
    let zeros = "0".repeat(least.saturating_sub(digits.len()));
    pad(spec, format!("{prefix}{zeros}{digits}").as_bytes(), out);
}

fn float(conversion: u8, spec: Spec, value: f64, out: &mut Vec<u8>) {
    let upper = conversion.is_ascii_uppercase();
    let sign = sign(spec, value.is_sign_negative() && !value.is_nan());
    let magnitude = value.abs();
    let precision = spec.precision.unwrap_or(6);
    let digits = if magnitude.is_nan() {
        "nan".to_owned()
    } else if magnitude.is_infinite() {
        "inf".to_owned()
    } else {
        match conversion.to_ascii_lowercase() {
            b'f' => format!("{magnitude:.precision$}"),
            b'e' => exponential(magnitude, precision),
            b'g' => general(magnitude, precision.max(1), spec.alternate),
            _ => hexadecimal(magnitude, spec.precision),
        }
    };
    let digits = if upper { digits.to_ascii_uppercase() } else { digits };
    let zeros = if spec.zeros && !spec.left && value.is_finite() {
        "0".repeat(spec.width.saturating_sub(sign.len() + digits.len()))
    } else {
        String::new()
    };
    pad(spec, format!("{sign}{zeros}{digits}").as_bytes(), out);
}

/// `1.500000e+00`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// The shorter of both, by C's rule.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if keep_zeros || !text.contains('.') {
            text.to_owned()
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= precision as i32 {
        match scientific.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trim(mantissa)),
            None => scientific,
        }
    } else {
        let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
        trim(&format!("{value:.decimals$}"))
    }
}

/// `0x1.8p+0`, exactly, or cut to a number of digits.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (exponent, mut mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mut lead, exponent) = match (exponent, mantissa) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1_u64, exponent - 1023),
    };
    let digits = match precision {
        Some(digits @ 0..13) => {
            let cut = 52 - 4 * digits as u32;
            let half = 1_u64 << (cut - 1);
            let whole = lead << 52 | mantissa;
            let odd = whole >> cut & 1;
            let rounded = (whole + (half - 1) + odd) >> cut << cut;
            (lead, mantissa) = (rounded >> 52, rounded & ((1 << 52) - 1));
            format!("{mantissa:013x}")[..digits].to_owned()
        }
        Some(digits) => format!("{mantissa:013x}{}", "0".repeat(digits - 13)),
        None => format!("{mantissa:013x}").trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

fn pad(spec: Spec, text: &[u8], out: &mut Vec<u8>) {
    let blanks = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
    out.extend_from_slice(text);
    if spec.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, format};

    struct Given<'a>(std::slice::Iter<'a, u64>);

    impl Arguments for Given<'_> {
        type Error = ();

        fn value(&mut self, bytes: u32) -> Result<u64, ()> {
            self.0
                .next()
                .map(|value| if bytes == 4 { value & 0xFFFF_FFFF } else { *value })
                .ok_or(())
        }

        fn string(&mut self, address: u64) -> Result<Vec<u8>, ()> {
            Ok(format!("string {address}").into_bytes())
        }
    }

    #[track_caller]
    fn check(text: &str, values: &[u64], expected: &str) {
        let mut out = Vec::new();
        format(text.as_bytes(), &mut Given(values.iter()), &mut out).unwrap();
        assert_eq!(std::str::from_utf8(&out).unwrap(), expected, "{text}");
    }

    #[test]
    fn conversions_are_those_of_c() {
        let minus = |value: i64| value.cast_unsigned();
        check(
            "%d %5d|%-5d|%05d %+d",
            &[minus(-3), 42, 42, minus(-42), 7],
            "-3    42|42   |-0042 +7",
        );
        check(
            "%u %x %#X %o %lld",
            &[minus(-1), 255, 255, 8, minus(-5)],
            "4294967295 ff 0XFF 10 -5",
        );
        check("%hd %hhu %.3d %.0d", &[0x1_FFFF, 0x1FF, 5, 0], "-1 255 005 ");
        check("%c%c %s %.3s %%", &[72, 105, 9, 9], "Hi string 9 str %");
        check("%p %*d", &[0x70, 4, 5], "0x70    5");
        let f = f64::to_bits;
        check(
            "%f %.2f %8.1f|%-8.1f|",
            &[f(1.5), f(2.345), f(-2.0), f(2.0)],
            "1.500000 2.35     -2.0|2.0     |",
        );
        check("%e %.0e %E", &[f(12345.0), f(5e-100), f(0.0)], "1.234500e+04 5e-100 0.000000E+00");
        check(
            "%g %g %g %g",
            &[f(0.0001), f(0.00001), f(1e6), f(100_000.0)],
            "0.0001 1e-05 1e+06 100000",
        );
        check("%f %F %g", &[f(f64::NAN), f(f64::INFINITY), f(f64::NEG_INFINITY)], "nan INF -inf");
        check("%a %a %.1a", &[f(1.5), f(0.0), f(1.96875)], "0x1.8p+0 0x0p+0 0x2.0p+0");
        check("%08.3f|% d|%", &[f(-3.25), 5], "-003.250| 5|%");
        check("%y", &[], "%y");
    }
}

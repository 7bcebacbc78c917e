//! What instructions are given: values where something changes, and many others.

/// Types of operands, by what is interesting about their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pred,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    F32,
    F64,
    E4m3x2,
    E5m2x2,
    /// 32 bits, of which few are used: shift counts, lengths, lanes.
    Small,
    /// 32 bits up to 255: positions and lengths of fields.
    Byte,
    /// Finite, of moderate size: what is multiplied in tensor cores.
    Plain(Plain),
}

/// Element types of tensor cores, without NaNs, infinities and overflow of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    F16x2,
    Bf16x2,
    /// All 32 bits, as they come where nothing rounded them.
    F32,
    F64,
    E4m3x4,
    E5m2x4,
    I8x4,
}

impl Plain {
    fn value_of(self, bits: u64) -> u64 {
        // Some exponents are far apart, so that what is shifted out shows, others near.
        let spread = [1, 4, 9, 14][(bits >> 60) as usize % 4];
        let exponent = |bias: u64, at: u32| bias - spread / 2 + (bits >> at) % (spread + 1);
        match self {
            Self::F16x2 => {
                let half = |at: u32| bits >> at & 0x83ff | exponent(13, at + 20) << 10;
                half(0) | half(16) << 16
            }
            Self::Bf16x2 => {
                let half = |at: u32| bits >> at & 0x807f | exponent(126, at + 20) << 7;
                half(0) | half(16) << 16
            }
            Self::F32 => bits & 0x807f_ffff | exponent(126, 40) << 23,
            Self::F64 => bits & 0x800f_ffff_ffff_ffff | exponent(1022, 52) << 52,
            Self::E4m3x4 => (0..4)
                .fold(0, |word, i| word | Self::without(bits >> (8 * i), 0x7f, 0x7e) << (8 * i)),
            Self::E5m2x4 => (0..4)
                .fold(0, |word, i| word | Self::without(bits >> (8 * i), 0x7c, 0x3c) << (8 * i)),
            Self::I8x4 => bits & 0xffff_ffff,
        }
    }

    /// A byte, with the bits of `nan` replaced where all of them are set.
    fn without(byte: u64, nan: u64, instead: u64) -> u64 {
        let byte = byte & 0xff;
        if byte & nan == nan { byte & !nan | instead } else { byte }
    }

    /// `len` bytes of elements.
    pub(crate) fn image(self, len: usize, random: &mut Random) -> Vec<u8> {
        let size = Kind::Plain(self).size();
        (0..len / size)
            .flat_map(|_| self.value_of(random.next()).to_le_bytes()[..size].to_vec())
            .collect()
    }
}

impl Kind {
    /// Bytes in memory.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I16 | Self::F16 | Self::Bf16 | Self::E4m3x2 | Self::E5m2x2 => 2,
            Self::I64 | Self::F64 | Self::Plain(Plain::F64) => 8,
            _ => 4,
        }
    }

    /// The type of registers, and its letters in register names.
    pub(crate) fn register(self) -> (&'static str, &'static str) {
        match (self, self.size()) {
            (Self::Pred, _) => (".pred", "p"),
            (_, 2) => (".b16", "h"),
            (_, 8) => (".b64", "d"),
            _ => (".b32", "r"),
        }
    }

    /// Values at which instructions change what they do.
    fn special(self) -> Vec<u64> {
        let pairs = |values: Vec<u64>| {
            let n = values.len();
            (0..2 * n).map(|i| values[i % n] | values[(i * 7 + 3) % n] << 16).collect()
        };
        match self {
            Self::Pred => vec![0, 1],
            Self::I16 => vec![
                0, 1, 2, 3, 7, 0x7f, 0x80, 0xff, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff,
            ],
            Self::I32 => vec![
                0,
                1,
                2,
                3,
                31,
                32,
                0xff,
                0xffff,
                0x8000,
                0x7fff_fffe,
                0x7fff_ffff,
                0x8000_0000,
                0x8000_0001,
                0xffff_fffe,
                0xffff_ffff,
                0x00ff_ffff,
                0x0100_0001,
                0x80ff_7f01,
            ],
            Self::Plain(_) => Vec::new(),
            Self::I64 => vec![
                0,
                1,
                2,
                63,
                64,
                0xffff_ffff,
                0x1_0000_0000,
                0x7fff_ffff,
                0x8000_0000,
                i64::MAX as u64,
                i64::MIN as u64,
                i64::MIN as u64 + 1,
                u64::MAX,
                u64::MAX - 1,
                0x001f_ffff_ffff_ffff,
            ],
            Self::Small => vec![
                0, 1, 2, 3, 4, 7, 8, 15, 16, 23, 24, 30, 31, 32, 33, 63, 64, 65, 255, 256, 0x1_0001,
            ],
            Self::Byte => Self::Small.special().into_iter().filter(|&value| value < 256).collect(),
            Self::F16 => vec![
                0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3800, 0x3c00, 0xbc00, 0x3c01, 0x4200, 0x3555,
                0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x57ff, 0x5bff, 0x6400,
                0x3e00, 0x4100,
            ],
            Self::Bf16 => vec![
                0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f00, 0x3f80, 0xbf80, 0x3f81, 0x4040, 0x3eab,
                0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x4f00, 0x5f00, 0x4b00,
                0x3fc0, 0x4020,
            ],
            Self::F16x2 => pairs(Self::F16.special()),
            Self::Bf16x2 => pairs(Self::Bf16.special()),
            Self::E4m3x2 | Self::E5m2x2 => (0..256).map(|x| x | (x ^ 0x5a) << 8).collect(),
            Self::F32 => [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                2.5,
                -2.5,
                3.0,
                1.0 / 3.0,
                0.1,
                127.5,
                128.5,
                255.5,
                448.0,
                480.0,
                57344.0,
                65504.0,
                65520.0,
                2147483520.0,
                2147483648.0,
                -2147483648.0,
                4294967040.0,
                4294967296.0,
                9.223372e18,
                1.8446744e19,
                1e-40,
                -1e-40,
                1e-7,
                6e-8,
                3e-8,
                1e30,
                -1e30,
                f32::MAX,
                f32::MIN,
                f32::MIN_POSITIVE,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::EPSILON,
                1.000_488_3,
                1.003_906_3,
                1.001_953_1,
                16_777_217.0,
                8_388_607.5,
            ]
            .map(f32::to_bits)
            .into_iter()
            .chain([
                1,
                0x8000_0001,
                0x007f_ffff,
                0x7fc0_0000,
                0xffc0_0000,
                0x7f80_0001,
                0x7fff_ffff,
                0x3f80_0001,
                0x3f80_1000,
                0x3f80_2000,
                0x3f80_3000,
                0x3f80_8000,
                0x3f81_8000,
                0x3f7f_ffff,
            ])
            .map(u64::from)
            .collect(),
            Self::F64 => [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                2.5,
                -2.5,
                3.0,
                1.0 / 3.0,
                0.1,
                65504.0,
                65520.0,
                3.4e38,
                3.402_823_5e38,
                3.402_823_6e38,
                1e-40,
                1e-46,
                2147483647.0,
                2147483648.0,
                4294967295.5,
                9.223_372_036_854_776e18,
                1.844_674_407_370_955_2e19,
                1e300,
                -1e300,
                1e-310,
                f64::MAX,
                f64::MIN_POSITIVE,
                f64::INFINITY,
                f64::NEG_INFINITY,
                1.000_000_059_604_644_8,
            ]
            .map(f64::to_bits)
            .into_iter()
            .chain([
                1,
                0x8000_0000_0000_0001,
                0x7ff8_0000_0000_0000,
                0x7ff0_0000_0000_0001,
                0xfff8_0000_0000_0001,
            ])
            .collect(),
        }
    }

    /// A value from random bits: any bits half of the time, else one whose exponent lies where
    /// neither overflow nor cancellation is likely to hide the digits.
    fn value_of(self, bits: u64) -> u64 {
        let moderate = bits >> 63 == 1;
        let value = match self {
            Self::Pred => bits & 1,
            Self::Plain(plain) => plain.value_of(bits),
            Self::Small => bits & 63,
            Self::Byte => bits & 127,
            Self::F32 if moderate => bits & 0x807f_ffff | ((112 + (bits >> 40) % 30) << 23),
            Self::F64 if moderate => {
                bits & 0x800f_ffff_ffff_ffff | ((1008 + (bits >> 54) % 30) << 52)
            }
            Self::F16 if moderate => bits & 0x83ff | ((8 + (bits >> 40) % 14) << 10),
            Self::Bf16 if moderate => bits & 0x807f | ((112 + (bits >> 40) % 30) << 7),
            Self::F16x2 | Self::Bf16x2 => {
                let half = if self == Self::F16x2 { Self::F16 } else { Self::Bf16 };
                half.value_of(bits) & 0xffff
                    | (half.value_of(bits.rotate_left(21) | bits & 1 << 63) & 0xffff) << 16
            }
            _ => bits,
        };
        match self.size() {
            2 => value & 0xffff,
            4 => value & 0xffff_ffff,
            _ => value,
        }
    }
}

/// A reproducible stream of random bits.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Pairs of `f32` whose product, quotient or sum lies at the edge of the normal numbers.
const EDGES: [[u64; 2]; 6] = [
    [0x0080_0000, 0x3f7f_ffff],
    [0x00ff_ffff, 0x3f00_0000],
    [0x8080_0001, 0x3f7f_fffe],
    [0x0080_0000, 0x3f80_0001],
    [0x0080_0001, 0x8000_0001],
    [0x0100_0000, 0x8080_0001],
];

/// `count` values for each of the operands: special ones against special ones first, as many as fit
/// in half of them, then random ones.
pub(crate) fn operands(kinds: &[Kind], count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let special: Vec<Vec<u64>> = kinds.iter().map(|kind| kind.special()).collect();
    let all: usize = special.iter().map(Vec::len).product();
    let mut columns = vec![Vec::new(); kinds.len()];
    let edges: &[[u64; 2]] = if kinds.starts_with(&[Kind::F32, Kind::F32]) { &EDGES } else { &[] };
    for i in 0..count {
        // All combinations where there is room for them, else some.
        let mut pick = if all <= count / 2 { i } else { random.next() as usize };
        for (operand, kind) in kinds.iter().enumerate() {
            let specials = &special[operand];
            let edge = edges.get(count - 1 - i).and_then(|edge| edge.get(operand));
            let value = if let Some(&edge) = edge {
                edge
            } else if i < all.min(count / 2) {
                let value = specials[pick % specials.len()];
                pick /= specials.len();
                value
            } else if random.next().is_multiple_of(8) && !specials.is_empty() {
                specials[random.next() as usize % specials.len()]
            } else {
                kind.value_of(random.next())
            };
            columns[operand].extend_from_slice(&value.to_le_bytes()[..kind.size()]);
        }
    }
    columns
}

//! What our own small programs compute, on the host.

/// What `integer_math` computes for one pair.
pub(crate) fn integer_math(x: i32, y: u32) -> u32 {
    let (ux, iy) = (x as u32, y as i32);
    let permuted = {
        let bytes = (u64::from(y) << 32 | u64::from(ux)).to_le_bytes();
        [0x5, 0x1, 0x7, 0x3]
            .iter()
            .fold((0, 0), |(value, shift), &i: &usize| {
                (value | u32::from(bytes[i]) << shift, shift + 8)
            })
            .0
    };
    let mut h = y
        .count_ones()
        .wrapping_add(ux.leading_zeros() * 3)
        .wrapping_add(if x == 0 { 0 } else { (ux.trailing_zeros() + 1) * 5 })
        .wrapping_add(y.reverse_bits())
        .wrapping_add(permuted)
        .wrapping_add((u64::from(ux) * u64::from(y) >> 32) as u32)
        .wrapping_add((i64::from(x) * i64::from(iy) >> 32) as u32);
    let funnel_left = ((u64::from(y) << 32 | u64::from(ux)) << (ux & 31) >> 32) as u32;
    let funnel_right = ((u64::from(y) << 32 | u64::from(ux)) >> (y & 63).min(32)) as u32;
    let sad = h.wrapping_add(x.abs_diff(iy));
    let dot =
        x.to_le_bytes().iter().zip(iy.to_le_bytes()).fold(h as i32, |sum, (&a, b)| {
            sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))
        });
    let low24 = |v: i32| i64::from(v << 8 >> 8);
    let mul24 = (low24(x) * low24(iy)) as u32;
    h ^= funnel_left
        .wrapping_add(funnel_right)
        .wrapping_add(sad)
        .wrapping_add(dot as u32)
        .wrapping_add(mul24);
    h = h
        .wrapping_add((x / ((y & 1023) as i32 + 1)) as u32)
        .wrapping_add(y % 37)
        .wrapping_add((x % 11) as u32)
        .wrapping_add((i64::from(x) * i64::from(iy) >> 17) as u32);
    let mut l = u64::from(h) << 32 | u64::from(y);
    l = (l / (u64::from(y & 0xffff) + 3))
        .wrapping_add(u64::from(l.count_ones()))
        .wrapping_add(u64::from(l.leading_zeros()))
        .wrapping_add(l.reverse_bits())
        .wrapping_add((u128::from(l) * u128::from(l.wrapping_mul(3)) >> 64) as u64);
    h = h.wrapping_add(l as u32 ^ (l >> 32) as u32);
    h = h
        .wrapping_add(x.min(iy) as u32)
        .wrapping_add(ux.max(y))
        .wrapping_add(x.wrapping_abs() as u32)
        .wrapping_add((x >> 3) as u32)
        .wrapping_add(y >> (x & 15))
        .wrapping_add((x << (y & 7)) as u32);
    let bytewise = |f: fn(u8, u8) -> u8| {
        let (a, b) = (ux.to_le_bytes(), y.to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|i| f(a[i], b[i])))
    };
    let halves = (ux & 0xffff).max(y & 0xffff) | (ux >> 16).max(y >> 16) << 16;
    h = h
        .wrapping_add(bytewise(u8::wrapping_add))
        .wrapping_add(halves)
        .wrapping_add(bytewise(|a, b| u8::from(a > b)));
    let field = h >> 5 & 0x1ff;
    let inserted = h & !(0x7f << 3) | (field & 0x7f) << 3;
    let mixed = inserted ^ h ^ y;
    let (sum, carry) = mixed.overflowing_add(h);
    let end = sum.wrapping_add(5).wrapping_add(u32::from(carry));
    let end = end ^ sum & 0xf;
    let second = (0..32).filter(|bit| mixed >> bit & 1 == 1).nth(1).unwrap_or(u32::MAX);
    end.wrapping_add(second)
}

/// What `warp_ops` computes for each lane of one warp.
pub(crate) fn warp_ops(x: &[i32]) -> Vec<i32> {
    let bits = |f: &dyn Fn(usize) -> bool| {
        (0..32).filter(|&lane| f(lane)).fold(0u32, |mask, lane| mask | 1 << lane)
    };
    let sum = x.iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
    let either = x.iter().fold(0, |all, &x| all | x);
    (0..32)
        .map(|lane| {
            let mut s = sum;
            let up = x[if lane >= 3 { lane - 3 } else { lane }];
            let down = x[if lane % 16 + 5 < 16 { lane + 5 } else { lane }];
            let from = x[(lane & !7) + (lane * 7 & 7)];
            let odd = bits(&|lane| x[lane] & 1 == 1);
            let any = i32::from(x.iter().any(|&x| x > 100));
            let all = i32::from(x.iter().all(|&x| x > -1000));
            let alike = bits(&|other| x[other] & 3 == x[lane] & 3);
            let mut active = 0;
            if lane & 1 == 1 {
                active = 16;
                s = s.wrapping_add(x[lane ^ 2]);
            }
            let wide = ((i64::from(x[lane ^ 1]) << 33) >> 33) as i32;
            [
                s,
                up.wrapping_mul(3),
                down.wrapping_mul(5),
                from.wrapping_mul(7),
                odd as i32,
                any,
                all * 2,
                alike as i32,
                -1,
                1,
                sum,
                x.iter().copied().max().unwrap_or(0),
                either,
                active,
                wide,
            ]
            .iter()
            .fold(0i32, |sum, &term| sum.wrapping_add(term))
        })
        .collect()
}

/// Steps of the Collatz sequence from `x` to 1.
pub(crate) fn collatz(mut x: i32) -> i32 {
    let mut steps = 0;
    while x != 1 {
        x = if x & 1 == 1 { 3 * x + 1 } else { x / 2 };
        steps += 1;
    }
    steps
}

pub(crate) fn fibonacci(n: i32) -> i32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

/// What `switches` computes for input `x` at position `i`, where `out` held 0.
pub(crate) fn switches(x: i32, i: i32) -> i32 {
    let mut r = i;
    for k in 0..3 {
        r = match x.wrapping_add(k) & 15 {
            0 => r.wrapping_add(x.wrapping_mul(3)),
            1 => r ^ x,
            2 => r.wrapping_mul(7).wrapping_add(1),
            3 => r,
            4 => !r,
            5 => r << 2 | 1,
            6 => r.reverse_bits(),
            7 => r.wrapping_add(1000),
            8 => r / 3,
            9 => r % 1001,
            10 => r.count_ones() as i32,
            11 => r ^ r >> 5,
            12 => r.wrapping_neg(),
            _ => r.wrapping_add(k),
        };
    }
    r
}

/// What `local_arrays` computes at position `i`.
pub(crate) fn local_arrays(input: &[f32], i: usize, pick: usize) -> f32 {
    let mut a: [f32; 16] = std::array::from_fn(|k| input[(i + k * 5) % input.len()]);
    for k in 0..16 {
        let j = (pick * k + i) & 15;
        let t = a[k];
        a[k] = a[j];
        a[j] = t + 1.0;
    }
    a.iter().fold(0.0, |s, &a| s * 0.5 + a)
}

/// What `float_math` computes, in f64.
pub(crate) fn float_math(x: f64) -> f64 {
    let mut y = x.sin()
        + (-x.abs()).exp()
        + (1.0 + x * x).ln()
        + 1.0 / (1.0 + x.abs()).sqrt()
        + x.tanh()
        + error_function(x)
        + (x.abs() + 0.5).powf(1.25);
    y += x / 3.0
        + x / (2.0 + x * x)
        + x.abs().sqrt()
        + (x * x + y)
        + x.trunc()
        + y.copysign(x)
        + x % f64::from(0.7f32);
    y + 1.0 / (2.0 + x * x) + (x + y) + x * y + x.clamp(0.0, 1.0)
}

/// The error function by its Taylor series where that is exact enough, else its limit.
pub(crate) fn error_function(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return 1f64.copysign(x);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

//! Codes and scales are those of the host, bit by bit.

use girih_backend::DenseScalar;
use girih_formats::{E4m3Scales, Real};
use girih_testkit::operands::{self, Layout};
use half::{bf16, f16};
use ndarray::Array2;
use ptx_emu::{Device, Gpu, Schedule, Timing};

use super::{Quantized, kernel};
use crate::emulated::Emulated;
use crate::emulated::operands::{Placed, Placing};

/// Columns that need digits, that are zero, subnormal, huge, that have NaN and infinity.
fn columns<T: Real>(k: usize, n: usize) -> Array2<T> {
    Array2::from_shape_fn((k, n), |(i, j)| {
        let x = ((i * 37 + j * 101) % 211) as f64 / 105.0 - 1.0;
        T::from_f64(match j % 8 {
            0 => x,
            1 => 0.0,
            2 => x * 2f64.powi(-20),
            3 => x * 3e4,
            4 if i == 5 => f64::NAN,
            5 if i == k / 2 => f64::NEG_INFINITY,
            6 => x.powi(9),
            _ => x * 2f64.powi(-(i as i32 % 20)),
        })
    })
}

fn agrees<T: DenseScalar + Real>(device: &Emulated, (k, n): (usize, usize), layout: Layout) {
    let of_host = operands::Placed::new(&columns::<T>(k, n), layout);
    let b = of_host.view();
    let quantized = Quantized::new(k as u64, 256);
    let mut gpu = Gpu::new(Device::h100());
    let placed = Placed::new(&mut gpu, "B", Placing::AsGiven, &b, true);
    let workspace = gpu.alloc::<u8>(quantized.bytes() as usize);
    let kernel = kernel(T::DTYPE);
    let way = (Timing::Random(3), Schedule::Random(4));
    quantized
        .launches(0, &placed.place, workspace.address(), &mut |launch| {
            let done = device.launch(&mut gpu, way, &kernel, launch);
            done.unwrap_or_else(|error| panic!("{}: {error}", launch.entry));
            Ok(())
        })
        .unwrap();
    let found = gpu.read(workspace);
    for (j, column) in b.columns().into_iter().enumerate() {
        let column: Vec<f32> = column.iter().map(|x| x.to_f64() as f32).collect();
        let scale = E4m3Scales::of_column(column.iter().copied());
        let at = (quantized.scales_at(0) as usize) + 4 * j;
        assert_eq!(found[at..at + 4], scale.to_le_bytes(), "the scale of column {j}");
        let codes = &found[j * quantized.pitch() as usize..][..quantized.pitch() as usize];
        for (i, &code) in codes.iter().enumerate() {
            let expected =
                column.get(i).map_or(0, |&x| E4m3Scales::narrow_dense(x, scale).to_bits());
            // A NaN has no sign here.
            let same = code == expected || code & 0x7f == 0x7f && expected & 0x7f == 0x7f;
            assert!(same, "row {i} of column {j}: {code:#x} where {expected:#x} is expected");
        }
    }
}

#[test]
fn quantized_columns_have_the_bits_of_the_host() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    for layout in [Layout::RowMajor, Layout::ColMajor, Layout::PaddedRows] {
        for size in [(700, 45), (1, 1), (513, 33), (16, 64)] {
            agrees::<f32>(&device, size, layout);
            agrees::<bf16>(&device, size, layout);
            agrees::<f16>(&device, size, layout);
        }
    }
}

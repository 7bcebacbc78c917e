//! Tables worked out from the PTX ISA, and slow definitions next to the quick ones.

mod layouts;
mod products;
mod rule;

/// An `f32`'s bits.
fn f32s(value: f32) -> u32 {
    value.to_bits()
}

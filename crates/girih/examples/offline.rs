//! A plan made in one process and multiplied in another.
//!
//! `cargo run --release -p girih --example offline`
//!
//! The first process plans, saves, and starts the second with the name of the file. The check: what the second says of
//! its product.

#![expect(clippy::print_stdout, reason = "an example")]

use std::process::Command;

use girih::ndarray::Array2;
use girih::prelude::*;
use girih_generate::rmat;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(file) = std::env::args().nth(1) {
        let prepared = Plan::read(file)?.prepare()?;
        let c = prepared.multiply(&Array2::<f32>::ones((prepared.ncols(), prepared.n())))?;
        print!("{}", c.sum());
        return Ok(());
    }
    let mut graph = rmat::<f32>(9, 8, 1)?;
    graph.values_mut().fill(1.0);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("graph.girih");
    let bytes = graph.plan(32)?.save(&file)?;
    let second = Command::new(std::env::current_exe()?).arg(&file).output()?;
    let said = String::from_utf8(second.stdout)?;
    println!("a plan of {bytes} bytes; the entries of all columns sum to {said}");
    assert_eq!(said.parse(), Ok(32.0 * graph.nnz() as f32));
    Ok(())
}

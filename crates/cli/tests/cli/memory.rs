//! Planning takes little more memory than the matrix and its tiles.

use girih::formats::generate::banded;
use girih::formats::io;

use crate::common::{Files, girih};

#[test]
fn planning_ten_million_nonzeros_stays_within_matrix_and_tiles() {
    let files = Files::new();
    let (a, plan) = (files.name("a.mtx"), files.name("a.girih"));
    // Large beside the program itself, of which a test profile keeps 11 MB and more resident.
    let matrix = banded::<f32>(180_000, 180_000, 28, 28, 1).unwrap();
    assert!(matrix.nnz() > 10_000_000);
    io::write(&a, &matrix).unwrap();
    for window in ["8", "64"] {
        let args = ["plan", &a, "-o", &plan, "--format", "wcsr", "--window", window, "--json"];
        let json = girih(args).ok().json();
        let bytes = |key: &str| json[key].as_u64().unwrap();
        assert_eq!(bytes("source_bytes"), matrix.bytes());
        // Besides tasks, header and padding, the file is the tiles.
        assert!(bytes("tile_bytes") > bytes("file_bytes") * 9 / 10, "{json}");
        let limit = (bytes("source_bytes") + bytes("tile_bytes")) * 12 / 10;
        assert!(bytes("peak_rss_bytes") < limit, "{} of {limit}", bytes("peak_rss_bytes"));
    }
}

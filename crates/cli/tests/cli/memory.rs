//! Planning takes little more memory than the program, the matrix and its tiles.

use girih::formats::generate::banded;
use girih::formats::io;

use crate::common::{Files, girih};

#[test]
fn planning_five_million_nonzeros_stays_within_matrix_and_tiles() {
    let files = Files::new();
    let (a, plan) = (files.name("a.mtx"), files.name("a.girih"));
    let matrix = banded::<f32>(90_000, 90_000, 28, 28, 1).unwrap();
    assert!(matrix.nnz() > 5_000_000);
    io::write(&a, &matrix).unwrap();
    // What the program takes by itself: how much of a test profile's code is resident differs from
    // system to system, and hides what the data takes.
    let one = files.name("one.mtx");
    io::write(&one, &banded::<f32>(1, 1, 0, 0, 1).unwrap()).unwrap();
    let json = girih(["plan", &one, "-o", &plan, "--format", "wcsr", "--json"]).ok().json();
    let program = json["peak_rss_bytes"].as_u64().unwrap();
    for window in ["8", "64"] {
        let args = ["plan", &a, "-o", &plan, "--format", "wcsr", "--window", window, "--json"];
        let json = girih(args).ok().json();
        let bytes = |key: &str| json[key].as_u64().unwrap();
        assert_eq!(bytes("source_bytes"), matrix.bytes());
        // Besides tasks, header and padding, the file is the tiles.
        assert!(bytes("tile_bytes") > bytes("file_bytes") * 9 / 10, "{json}");
        let limit = program + (bytes("source_bytes") + bytes("tile_bytes")) * 11 / 10;
        assert!(bytes("peak_rss_bytes") < limit, "{} of {limit}", bytes("peak_rss_bytes"));
    }
}

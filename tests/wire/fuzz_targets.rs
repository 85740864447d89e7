//! The fuzz targets as plain tests: over everything recorded of stock Hadoop, and inputs that broke a target once (`fuzz/kept/`).
//! `tests/full.sh` has a fuzzer look for more.

#[path = "../../fuzz/parsers.rs"]
mod parsers;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

type Target = fn(&[u8]);

/// Names as in `fuzz/Cargo.toml`.
const TARGETS: [(&str, Target); 5] = [
    ("call", parsers::call),
    ("file", parsers::file),
    ("hdfs", parsers::hdfs),
    ("opening", parsers::opening),
    ("response", parsers::response),
];

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder; none where there is no such folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn no_target_fails_on_an_input_that_is_kept() {
    let mut recorded = files_below(&project().join("tests/fixtures/hadoop1"));
    recorded.extend(files_below(&project().join("tests/fixtures/hdfs1")));
    assert!(recorded.len() > 480, "only {} recordings", recorded.len());
    for (name, target) in TARGETS {
        for path in recorded.iter().chain(&files_below(&project().join("fuzz/kept").join(name))) {
            let bytes = fs::read(path).unwrap();
            // Whole, and as a connection that ends early leaves it.
            for end in [bytes.len(), bytes.len() / 2] {
                assert!(catch_unwind(|| target(&bytes[..end])).is_ok(), "{name} fails on {end} bytes of {path:?}");
            }
        }
    }
}

#[test]
fn every_target_has_a_program_for_the_fuzzer() {
    let programs = files_below(&project().join("fuzz/fuzz_targets"));
    let mut names: Vec<_> = programs.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, TARGETS.map(|(name, _)| name));
    let manifest = fs::read_to_string(project().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        let program = fs::read_to_string(project().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("parsers::{name}(input)")), "{name}");
    }
}

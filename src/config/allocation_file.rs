//! The Fair scheduler's allocation file: found and read, its errors and warnings with the file's name.

use std::path::Path;
use std::sync::Arc;

use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::allocations::Allocations;

use super::conf_folder::read_optional;
use super::error::{ConfigError, Origin, Warning};
use super::settings::fair::FairSettings;
use super::xml::decode;

/// Name of the file in the conf folder, unless a key names another one.
pub(crate) const ALLOCATION_FILE: &str = "fair-scheduler.xml";

/// Reads the allocation file that a key names, else the one of the conf folder. None is there: no pool is declared.
///
/// # Errors
/// [`ConfigError`] with file and line: unreadable, not text, malformed, or refused; a file that a key names is missing.
pub(crate) fn read_allocation_file(
    settings: &FairSettings,
    conf_dir: Option<&Path>,
) -> Result<(Allocations, Vec<Warning>), ConfigError> {
    let of_folder = || conf_dir.map(|folder| folder.join(ALLOCATION_FILE));
    let Some(path) = settings.allocation_file.clone().or_else(of_folder) else { return Ok(Default::default()) };
    let file: Arc<str> = path.display().to_string().into();
    match read_optional(&path, &file)? {
        Some(bytes) => parse_allocation_file(&file, &bytes),
        None if settings.allocation_file.is_none() => Ok(Default::default()),
        None => Err(ConfigError::NoAllocationFile { file }),
    }
}

fn parse_allocation_file(file: &Arc<str>, bytes: &[u8]) -> Result<(Allocations, Vec<Warning>), ConfigError> {
    let text = decode(bytes).map_err(|error| ConfigError::NotConfiguration { file: Arc::clone(file), error })?;
    let parsed = AllocationFile::parse(&text)
        .map_err(|error| ConfigError::AllocationFile { file: Arc::clone(file), error: Box::new(error) })?;
    let warnings = parsed.warnings.into_iter().map(|warning| Warning::Questionable {
        origin: Origin::File { file: Arc::clone(file), line: warning.line },
        remark: warning.text,
    });
    Ok((parsed.allocations, warnings.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<(Allocations, Vec<Warning>), String> {
        parse_allocation_file(&"fair.xml".into(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        assert!(parse(b"<allocations/>").is_ok());
        assert_eq!(parse(b"<allocations>\n\xff").unwrap_err(), "fair.xml:2: column 1: not UTF-8 text");
        let wrong_root = parse(b"<configuration/>").unwrap_err();
        assert!(wrong_root.starts_with("fair.xml:1: Bad fair scheduler config file"), "{wrong_root}");
    }
}

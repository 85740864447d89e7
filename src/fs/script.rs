//! Why a script does not start although it is there: the system's error is about the interpreter that its first line names.

use std::io::Read;
use std::path::Path;

use rustix::fs::{Access, access};
use thiserror::Error;

use super::checked_file::Expected;
use super::untrusted::open_behind_links;

/// How much of a script the system reads to find the interpreter (`BINPRM_BUF_SIZE` of Linux), bytes.
const MAX_LINE_BYTES: u64 = 256;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScriptFault {
    #[error(
        "the interpreter {interpreter:?} in the first line of {script} is not there: the file has DOS line ends; expected those \
         of Unix, as dos2unix writes them"
    )]
    DosLineEnds { script: String, interpreter: String },
    #[error("the interpreter {interpreter:?} in the first line of {script} is not there")]
    NoInterpreter { script: String, interpreter: String },
    #[error("the interpreter {interpreter:?} in the first line of {script} may not be executed")]
    NotExecutable { script: String, interpreter: String },
    /// The system does not see the `#!`.
    #[error("{script} begins with a byte order mark, before its #!: save the file without one")]
    ByteOrderMark { script: String },
}

impl ScriptFault {
    /// Whether it is the file's own, and so the same on every machine.
    pub(crate) fn is_of_file(&self) -> bool {
        matches!(self, Self::DosLineEnds { .. } | Self::ByteOrderMark { .. })
    }
}

/// What keeps a script from starting in `folder`, if it is a script that can be read; `None` if nothing is found. With the value of a
/// `PATH` it looks for programs that `env` starts, too.
pub(crate) fn script_fault(script: &Path, folder: &Path, search_path: Option<&str>) -> Option<ScriptFault> {
    let name = script.file_name()?.to_string_lossy().into_owned();
    let head = read_head(script)?;
    if head.strip_prefix(BYTE_ORDER_MARK).is_some_and(|rest| rest.starts_with(b"#!")) {
        return Some(ScriptFault::ByteOrderMark { script: name });
    }
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let line = line.trim_matches([' ', '\t']);
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if interpreter.is_empty() {
        return None;
    }
    let found = find(&folder.join(interpreter));
    let (interpreter, found) = match (found, search_path) {
        (FoundScript::Program, Some(search_path))
            if Path::new(interpreter).file_name().is_some_and(|name| name == "env") =>
        {
            let program = program_of_env(argument)?;
            (program, find_along(program, search_path, folder))
        }
        (found, _) => (interpreter, found),
    };
    let (script, interpreter) = (name, interpreter.to_owned());
    match found {
        FoundScript::Program => None,
        FoundScript::Other => Some(ScriptFault::NotExecutable { script, interpreter }),
        FoundScript::Nothing if interpreter.ends_with('\r') => Some(ScriptFault::DosLineEnds { script, interpreter }),
        FoundScript::Nothing => Some(ScriptFault::NoInterpreter { script, interpreter }),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundScript {
    Program,
    Other,
    Nothing,
}

fn find(path: &Path) -> FoundScript {
    match std::fs::metadata(path) {
        Err(_) => FoundScript::Nothing,
        Ok(about) if about.is_file() && access(path, Access::EXEC_OK).is_ok() => FoundScript::Program,
        Ok(_) => FoundScript::Other,
    }
}

fn find_along(program: &str, search_path: &str, folder: &Path) -> FoundScript {
    if program.contains('/') {
        return find(&folder.join(program));
    }
    let mut places = search_path.split(':').filter(|place| !place.is_empty());
    let is_there = places.any(|place| find(&folder.join(place).join(program)) == FoundScript::Program);
    if is_there { FoundScript::Program } else { FoundScript::Nothing }
}

/// The program that `env` starts. The system hands over one argument, which `-S` alone makes `env` split; `None` if it is not clear.
fn program_of_env(argument: &str) -> Option<&str> {
    let Some(split) = argument.strip_prefix("-S") else {
        return Some(argument)
            .filter(|program| !program.is_empty() && !program.starts_with('-') && !program.contains('='));
    };
    split.split_whitespace().find(|word| !word.starts_with('-') && !word.contains('='))
}

fn read_head(script: &Path) -> Option<Vec<u8>> {
    if !script.is_absolute() {
        return None;
    }
    let opened = open_behind_links(script, &Expected::file_of_any_owner()).ok()?;
    let mut head = Vec::new();
    opened.file.take(MAX_LINE_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a script of this text, `env` among it.
    fn fault(text: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("m.py");
        std::fs::write(&script, text).unwrap();
        std::fs::write(folder.path().join("plain"), "").unwrap();
        let fault = script_fault(&script, folder.path(), Some("/usr/bin:/bin"))?;
        assert_eq!(fault.is_of_file(), text.contains(&b'\r') || text.starts_with(BYTE_ORDER_MARK), "{fault}");
        Some(fault.to_string())
    }

    #[test]
    fn the_interpreter_that_is_at_fault_is_named() {
        let dos = ": the file has DOS line ends; expected those of Unix, as dos2unix writes them";
        let cases: [(&[u8], String); 8] = [
            (
                b"#!/usr/no/python3\r\nimport sys\r\n",
                format!(r#"the interpreter "/usr/no/python3\r" in the first line of m.py is not there{dos}"#),
            ),
            (b"#!/bin/sh\r\n", format!(r#"the interpreter "/bin/sh\r" in the first line of m.py is not there{dos}"#)),
            (
                b"#!/usr/bin/env sh\r\n",
                format!(r#"the interpreter "sh\r" in the first line of m.py is not there{dos}"#),
            ),
            (
                b"#! /opt/no/python -u\n",
                r#"the interpreter "/opt/no/python" in the first line of m.py is not there"#.to_owned(),
            ),
            (
                b"#!/usr/bin/env no-such-python\n",
                r#"the interpreter "no-such-python" in the first line of m.py is not there"#.to_owned(),
            ),
            (b"#!/usr/bin/env sh -e\n", r#"the interpreter "sh -e" in the first line of m.py is not there"#.to_owned()),
            (b"#!plain", r#"the interpreter "plain" in the first line of m.py may not be executed"#.to_owned()),
            (
                b"\xef\xbb\xbf#!/bin/sh\n",
                "m.py begins with a byte order mark, before its #!: save the file without one".to_owned(),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text), Some(expected), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn scripts_that_start_and_other_files_have_no_fault() {
        let long = [b"#!/bin/sh\n".as_slice(), &[b'x'; 1000]].concat();
        let texts: [&[u8]; 11] = [
            b"#!/bin/sh",
            b"#! \t/bin/sh -e \necho\r\n",
            b"#!/bin/sh -e\r\n",
            b"#!/usr/bin/env sh\n",
            b"#!/usr/bin/env -S sh -e\r\n",
            b"#!/usr/bin/env -i\n",
            b"import sys\r\n",
            b"\x7fELF\0",
            b"",
            b"#!\n",
            &long,
        ];
        for text in texts {
            assert_eq!(fault(text), None, "{:?}", String::from_utf8_lossy(text));
        }
        let missing = Path::new("/nonexistent/m.py");
        assert_eq!(script_fault(missing, Path::new("/"), None), None);
        assert_eq!(script_fault(Path::new("/dev/null"), Path::new("/"), None), None);
        assert_eq!(script_fault(Path::new("m.py"), Path::new("/"), None), None);
    }

    #[test]
    fn without_a_path_programs_of_env_are_not_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("m.py");
        std::fs::write(&script, "#!/usr/bin/env no-such-python\n").unwrap();
        assert_eq!(script_fault(&script, folder.path(), None), None);
    }
}

//! The fields of a what-if question, as a job that might be submitted.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::engine::{DeadlineQuestion, DeadlineSpec, Due, InputVolume, JobClass, KeySpread, StatedCost};
use crate::model::{PartsPerMillion, PerKind};

const MB: u128 = 1 << 20;
/// Bytes of a split where the number of maps is not given: a block of Hadoop 1.
const SPLIT_BYTES: u64 = 64 << 20;
/// Most maps of a question: as many as a job may have.
const MOST_MAPS: u32 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuestionError {
    /// Neither kind of body.
    #[error("the question is not a JSON object: {0}")]
    NoObject(String),
    #[error("the fields of the form are not URL-encoded UTF-8 text")]
    NoForm,
    #[error(
        "{0:?} is not a field of a question; expected volumeMb, largestMb, reduces, deadlineMs, maps, mapMsPerMb, reduceMsPerMb, \
             copyMsPerMb, mapTaskMs, reduceTaskMs, filterRatio, keys, user, jobName, mapClass, reduceClass"
    )]
    Unknown(String),
    /// A field that is needed.
    #[error("{name} is missing; expected {expected}")]
    Missing { name: &'static str, expected: &'static str },
    /// A field that holds something else.
    #[error("{name}: {value:?} is not {expected}")]
    Field {
        name: String,
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Both forms of a cost.
    #[error("{per_mb} and {per_task} state the same cost; expected one of them")]
    TwoCosts {
        /// The time for one MB.
        per_mb: &'static str,
        /// The time of one task.
        per_task: &'static str,
    },
    /// Reduces without anything to reduce.
    #[error("volumeMb: 0 with {reduces} reduces; expected a volume above 0, or reduces 0")]
    NoVolume { reduces: u32 },
}

const NAMES: [&str; 16] = [
    "volumeMb",
    "largestMb",
    "reduces",
    "deadlineMs",
    "maps",
    "mapMsPerMb",
    "reduceMsPerMb",
    "copyMsPerMb",
    "mapTaskMs",
    "reduceTaskMs",
    "filterRatio",
    "keys",
    "user",
    "jobName",
    "mapClass",
    "reduceClass",
];

struct Fields<'a>(&'a BTreeMap<String, String>);

impl Fields<'_> {
    fn read<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, QuestionError> {
        // An empty field of a form is not given.
        let Some(value) = self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let refused = || {
            let value = value.chars().take(64).collect();
            QuestionError::Field { name: name.to_owned(), value, expected }
        };
        parse(value).map(Some).ok_or_else(refused)
    }

    fn needed<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, QuestionError> {
        self.read(name, expected, parse)?.ok_or(QuestionError::Missing { name, expected })
    }

    /// Milliseconds as microseconds, rounded up.
    fn us_per_mb(&self, name: &'static str) -> Result<Option<u64>, QuestionError> {
        self.read(name, "a decimal number of ms above 0", |text| {
            millionths(text).filter(|millionths| *millionths > 0).map(|millionths| millionths.div_ceil(1_000))
        })
    }

    fn cost(&self, per_mb: &'static str, per_task: &'static str) -> Result<Option<StatedCost>, QuestionError> {
        let task_ms = self.read(per_task, "a whole number of ms above 0", whole_above_zero)?;
        match (self.us_per_mb(per_mb)?, task_ms) {
            (Some(_), Some(_)) => Err(QuestionError::TwoCosts { per_mb, per_task }),
            (Some(us_per_mb), None) => Ok(Some(StatedCost::UsPerMb(us_per_mb))),
            (None, task_ms) => Ok(task_ms.map(StatedCost::TaskMs)),
        }
    }
}

pub(super) fn read_question(fields: &BTreeMap<String, String>) -> Result<DeadlineQuestion, QuestionError> {
    if let Some(unknown) = fields.keys().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(QuestionError::Unknown(unknown.chars().take(64).collect()));
    }
    let fields = Fields(fields);
    let volume = fields.needed("volumeMb", "a decimal number of MB, 0 or above", millionths)?;
    let to_bytes = |millionths: u64| u64::try_from(u128::from(millionths) * MB / 1_000_000).unwrap_or(u64::MAX);
    let bytes = to_bytes(volume);
    let expected = "a whole number of ms above 0 and below 2^63";
    let deadline_ms = fields.needed("deadlineMs", expected, whole_above_zero)?;
    let reduces = fields.read("reduces", "a whole number from 0 to 2147483647", number::<i32>)?.unwrap_or(1);
    let reduces = u32::try_from(reduces).map_err(|_| QuestionError::Field {
        name: "reduces".to_owned(),
        value: reduces.to_string(),
        expected: "a whole number from 0 to 2147483647",
    })?;
    if bytes == 0 && reduces > 0 {
        return Err(QuestionError::NoVolume { reduces });
    }
    let maps = fields.read("maps", "a whole number from 1 to 1000000", |text| {
        number(text).filter(|maps| (1..=MOST_MAPS).contains(maps))
    })?;
    let deadline = DeadlineSpec {
        due: Due::AfterMs(deadline_ms),
        map: fields.cost("mapMsPerMb", "mapTaskMs")?,
        reduce: fields.cost("reduceMsPerMb", "reduceTaskMs")?,
        copy_us_per_mb: fields.us_per_mb("copyMsPerMb")?,
        filter_millionths: fields.read("filterRatio", "a decimal number, 0 or above", millionths)?,
        keys: fields
            .read("keys", "uniform or single", |text| match text {
                "uniform" => Some(KeySpread::Uniform),
                "single" => Some(KeySpread::Single),
                _ => None,
            })?
            .unwrap_or(KeySpread::Uniform),
    };
    let given = |name: &'static str| fields.0.get(name).filter(|value| !value.is_empty());
    let code = PerKind::new(given("mapClass").cloned(), given("reduceClass").cloned());
    let class = given("user").zip(given("jobName")).map(|(user, name)| JobClass::new(user, name, &code));
    let largest = fields.read("largestMb", "a decimal number of MB, at most volumeMb", |text| {
        millionths(text).filter(|largest| *largest <= volume)
    })?;
    let mut input = input(bytes, maps);
    // No split is smaller than all are on average.
    input.largest_bytes = largest.map_or(0, to_bytes).max(input.largest_bytes);
    Ok(DeadlineQuestion { deadline, input, are_maps_known: maps.is_some(), reduces, class })
}

/// Equal splits; blocks where their number is not given.
fn input(bytes: u64, maps: Option<u32>) -> InputVolume {
    match maps {
        Some(maps) => InputVolume::in_equal_splits(bytes, maps),
        None => {
            let blocks = InputVolume::in_blocks(bytes, SPLIT_BYTES);
            InputVolume { splits: blocks.splits.min(MOST_MAPS), ..blocks }
        }
    }
}

fn millionths(text: &str) -> Option<u64> {
    PartsPerMillion::parse(text).map(|PartsPerMillion(millionths)| millionths)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn whole_above_zero(text: &str) -> Option<u64> {
    number::<i64>(text).and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<DeadlineQuestion, String> {
        let fields = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read_question(&fields).map_err(|error| error.to_string())
    }

    #[test]
    fn a_question_is_read() {
        let question = read(&[
            ("volumeMb", "975"),
            ("reduces", "6"),
            ("deadlineMs", "600000"),
            ("mapMsPerMb", "1875"),
            ("reduceTaskMs", "186875"),
            ("copyMsPerMb", "83.333334"),
            ("filterRatio", "1"),
            ("keys", ""),
        ])
        .unwrap();
        assert_eq!(question.input, InputVolume { splits: 16, bytes: 975 << 20, largest_bytes: 64 << 20 });
        assert_eq!(question.deadline.due, Due::AfterMs(600_000));
        assert_eq!(question.deadline.map, Some(StatedCost::UsPerMb(1_875_000)));
        assert_eq!(question.deadline.reduce, Some(StatedCost::TaskMs(186_875)));
        assert_eq!(question.deadline.copy_us_per_mb, Some(83_334));
        assert_eq!((question.reduces, question.deadline.keys), (6, KeySpread::Uniform));
        let few = read(&[("volumeMb", "10"), ("deadlineMs", "1"), ("maps", "3")]).unwrap();
        assert_eq!(few.input, InputVolume { splits: 3, bytes: 10 << 20, largest_bytes: 3_495_254 });
    }

    #[test]
    fn mistakes_name_the_field_its_value_and_what_was_expected() {
        let with = |name: &str, value: &str| {
            let all = [("volumeMb", "10"), ("deadlineMs", "1000"), ("reduces", "1")];
            let mut pairs: Vec<_> = all.into_iter().filter(|(other, _)| *other != name).collect();
            pairs.push((name, value));
            read(&pairs).unwrap_err()
        };
        for (name, value) in [
            ("deadlineMs", "0"),
            ("deadlineMs", "-1"),
            ("deadlineMs", "9223372036854775808"),
            ("deadlineMs", "soon"),
            ("mapMsPerMb", "0"),
            ("reduceMsPerMb", "-1"),
            ("copyMsPerMb", "fast"),
            ("filterRatio", "-0.1"),
            ("reduces", "-1"),
            ("reduces", "4000000000"),
            ("maps", "0"),
            ("volumeMb", "NaN"),
            ("keys", "many"),
        ] {
            let error = with(name, value);
            assert!(error.starts_with(&format!("{name}: {value:?} is not ")), "{error}");
        }
        assert!(with("volumeMb", "").starts_with("volumeMb is missing"));
        assert!(with("volumeMb", "0").contains("volumeMb: 0 with 1 reduces"));
        assert!(with("colour", "red").contains("\"colour\" is not a field"));
        let both =
            read(&[("volumeMb", "1"), ("deadlineMs", "1"), ("mapMsPerMb", "1"), ("mapTaskMs", "1")]).unwrap_err();
        assert_eq!(both, "mapMsPerMb and mapTaskMs state the same cost; expected one of them");
    }
}

//! A job that is not submitted, as the questions about deadlines have it.

use super::submit::PreparedJob;

/// Properties of a job that say the same as a field of a question.
const FIELDS: [(&str, &str); 7] = [
    ("mapred.job.deadline.map.ms.per.mb", "mapMsPerMb"),
    ("mapred.job.deadline.reduce.ms.per.mb", "reduceMsPerMb"),
    ("mapred.job.deadline.copy.ms.per.mb", "copyMsPerMb"),
    ("mapred.job.deadline.map.task.ms", "mapTaskMs"),
    ("mapred.job.deadline.reduce.task.ms", "reduceTaskMs"),
    ("mapred.job.deadline.filter.ratio", "filterRatio"),
    ("mapred.job.deadline.keys", "keys"),
];
/// Reduces of a job that does not say.
const REDUCES: u32 = 1;

impl PreparedJob {
    /// Names and values of a question's fields, for a job with a deadline that would be submitted at `now_ms`, epoch ms.
    pub(crate) fn question(&self, now_ms: i64) -> Vec<(&'static str, String)> {
        let property = |name: &str| self.property(name).map(str::trim).filter(|value| !value.is_empty());
        let code =
            |is_new: &str, new: &str, old: &str| property(if property(is_new) == Some("true") { new } else { old });
        let deadline = match property("mapred.job.deadline.at.ms").and_then(|text| text.parse::<i64>().ok()) {
            Some(at_ms) => at_ms.saturating_sub(now_ms).to_string(),
            None => property("mapred.job.deadline.ms").unwrap_or_default().to_owned(),
        };
        let input = self.input();
        let mut fields = vec![
            ("volumeMb", megabytes(input.bytes)),
            ("largestMb", megabytes(input.largest_bytes)),
            ("reduces", self.reduces().unwrap_or(REDUCES).to_string()),
            ("deadlineMs", deadline),
            ("jobName", property("mapred.job.name").unwrap_or_default().to_owned()),
        ];
        // Without input there is no map.
        let maps = (input.maps > 0).then(|| input.maps.to_string());
        let of_code = [
            ("mapClass", code("mapred.mapper.new-api", "mapreduce.map.class", "mapred.mapper.class")),
            ("reduceClass", code("mapred.reducer.new-api", "mapreduce.reduce.class", "mapred.reducer.class")),
        ];
        let stated = FIELDS.into_iter().map(|(key, field)| (field, property(key)));
        let given = of_code.into_iter().chain(stated);
        fields.extend(given.filter_map(|(field, value)| Some((field, value?.to_owned()))));
        fields.extend(maps.map(|maps| ("maps", maps)));
        fields
    }
}

/// Bytes in MB of 2^20, rounded up to millionths.
fn megabytes(bytes: u64) -> String {
    let millionths = (u128::from(bytes) * 1_000_000).div_ceil(1 << 20);
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_up_to_millionths_of_a_megabyte() {
        for (bytes, text) in [(0, "0.000000"), (1, "0.000001"), (1 << 20, "1.000000"), (3 << 19, "1.500000")] {
            assert_eq!(megabytes(bytes), text);
        }
    }
}

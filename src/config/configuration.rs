//! Values from several places laid over each other, as Hadoop 1.2.1 `Configuration` does it.
//!
//! Three differences: the key table's defaults take the place of `core-default.xml` and `mapred-default.xml`, `-D` of the
//! daemon wins over everything, final values of files included, and `${…}` in a job's values finds only the job's own
//! values, keys of the table and `user.name`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::{ConfigError, Origin, Warning, excerpt};
use super::keys::{self, Key};
use super::xml;

/// Rounds of replacement before a value is called endless (1.2.1 `Configuration.MAX_SUBST`).
const MOST_REPLACEMENTS: usize = 20;
/// A value that grows beyond this is called endless too: 20 rounds can double a text 20 times. Bytes.
const LONGEST_EXPANSION: usize = 1 << 16;

/// How strongly a value holds against another spelling of the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Standalone,
    ConfFolder,
    CommandLine,
    Job,
}

/// What `${…}` in a value finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Everything: the value was written by whoever runs the cluster.
    Cluster,
    /// Values of the job, keys of the table and `user.name`: the value was written by a user, who reads the result.
    Job,
}

#[derive(Clone, Debug)]
struct Entry {
    value: String,
    origin: Origin,
    layer: Layer,
}

/// One value that was found, `${…}` replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The spelling of the key it was found under.
    pub name: String,
    /// The value.
    pub value: String,
    /// The value as an error shows it: of a job only the first 64 characters of what was written.
    pub shown: String,
    /// Where it stands.
    pub origin: Origin,
}

/// Named values with their origins.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    entries: BTreeMap<String, Entry>,
    finals: BTreeMap<String, Origin>,
    /// What Java would call system properties; they come before keys in `${…}`.
    properties: BTreeMap<String, String>,
    warnings: Vec<Warning>,
    /// A job.xml was laid over it, so a user reads its errors.
    is_of_job: bool,
}

impl Entry {
    fn scope(&self) -> Scope {
        if self.layer == Layer::Job { Scope::Job } else { Scope::Cluster }
    }
}

impl Configuration {
    /// Nothing set. `properties` are the names that `${…}` finds first, such as `user.name`.
    #[must_use]
    pub fn new(properties: BTreeMap<String, String>) -> Self {
        Configuration { properties, ..Configuration::default() }
    }

    /// Lays a file over what is there.
    ///
    /// # Errors
    /// [`ConfigError::NotConfiguration`] with the place in the file.
    pub fn add_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), ConfigError> {
        self.add_file_where(file, bytes, |_| true)
    }

    /// Lays `mapred-queue-acls.xml` over what is there; only keys of queues are taken from it.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub fn add_queue_acls_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), ConfigError> {
        self.add_file_where(file, bytes, |name| name.starts_with("mapred.queue."))
    }

    fn add_file_where(&mut self, file: &str, bytes: &[u8], taken: fn(&str) -> bool) -> Result<(), ConfigError> {
        let file: Arc<str> = Arc::from(file);
        let document =
            xml::parse(bytes).map_err(|error| ConfigError::NotConfiguration { file: Arc::clone(&file), error })?;
        for (line, remark) in document.remarks {
            self.warnings.push(Warning::PassedOver { origin: Origin::File { file: Arc::clone(&file), line }, remark });
        }
        for property in document.properties {
            let origin = Origin::File { file: Arc::clone(&file), line: property.line };
            if taken(&property.name) {
                self.add_property(property, &origin, Layer::ConfFolder);
            } else {
                self.warnings.push(Warning::NotAQueueKey { key: property.name, origin });
            }
        }
        Ok(())
    }

    /// Lays a job.xml over what is there; final values stay.
    ///
    /// # Errors
    /// Place and reason when it is not a configuration file.
    pub fn add_job_xml(&mut self, file: &str, bytes: &[u8]) -> Result<(), xml::XmlError> {
        let file: Arc<str> = Arc::from(file);
        self.is_of_job = true;
        for property in xml::parse(bytes)?.properties {
            let origin = Origin::File { file: Arc::clone(&file), line: property.line };
            self.add_property(property, &origin, Layer::Job);
        }
        Ok(())
    }

    fn add_property(&mut self, property: xml::Property, origin: &Origin, layer: Layer) {
        let xml::Property { name, value, is_final, .. } = property;
        if let Some(value) = value {
            match self.finals.get(&name) {
                Some(made_final) => {
                    // A job repeats most of the cluster's values; that alone is no attempt to change them.
                    if layer != Layer::Job && self.entries.get(&name).is_none_or(|entry| entry.value != value) {
                        self.warnings.push(Warning::FinalKept {
                            key: name.clone(),
                            refused: origin.clone(),
                            made_final: made_final.clone(),
                        });
                    }
                }
                None => {
                    self.entries.insert(name.clone(), Entry { value, origin: origin.clone(), layer });
                }
            }
        }
        if is_final {
            self.make_final(&name, origin);
        }
    }

    /// All spellings of a key become final together, or a later file could go round it by another name.
    fn make_final(&mut self, name: &str, origin: &Origin) {
        let spellings: Vec<&str> = match keys::all().find(|key| key.spellings().any(|spelling| spelling == name)) {
            Some(key) => key.spellings().collect(),
            None => vec![name],
        };
        for spelling in spellings {
            self.finals.entry(spelling.to_owned()).or_insert_with(|| origin.clone());
        }
    }

    /// Sets what `-D key=value` asks for, over everything.
    ///
    /// # Errors
    /// [`ConfigError::BadOverride`] when the argument has no `=` or no key.
    pub fn add_override(&mut self, argument: &str) -> Result<(), ConfigError> {
        match argument.split_once('=').map(|(name, value)| (name.trim(), value)) {
            Some((name, value)) if !name.is_empty() => {
                let entry = Entry { value: value.to_owned(), origin: Origin::CommandLine, layer: Layer::CommandLine };
                self.entries.insert(name.to_owned(), entry);
                Ok(())
            }
            _ => Err(ConfigError::BadOverride { argument: argument.to_owned() }),
        }
    }

    /// Sets a default that holds only without a conf folder.
    pub fn add_standalone_default(&mut self, key: &Key, value: &str) {
        let entry = Entry { value: value.to_owned(), origin: Origin::Standalone, layer: Layer::Standalone };
        self.entries.insert(key.name.to_owned(), entry);
    }

    /// Drops what was set for a key, under all of its spellings.
    pub fn forget(&mut self, key: &Key) {
        for spelling in key.spellings() {
            self.entries.remove(spelling);
        }
    }

    /// What `${name}` finds before any key, such as `user.name`.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// A copy in which `${name}` stands for `value`.
    #[must_use]
    pub fn with_property(&self, name: &str, value: &str) -> Self {
        let mut copy = self.clone();
        copy.properties.insert(name.to_owned(), value.to_owned());
        copy
    }

    /// The value of a key, its default when nothing sets it, `None` when it has none.
    ///
    /// # Errors
    /// [`ConfigError::EndlessExpansion`].
    pub fn setting(&self, key: &Key) -> Result<Option<Setting>, ConfigError> {
        if let Some((name, entry)) = self.strongest(key.spellings()) {
            return self.entry_setting(name, entry).map(Some);
        }
        key.default.map(|default| self.default_setting(key.name, default)).transpose()
    }

    /// The value of a queue's key, as [`Self::setting`].
    ///
    /// # Errors
    /// [`ConfigError::EndlessExpansion`].
    pub fn queue_setting(&self, key: &Key, queue: &str) -> Result<Option<Setting>, ConfigError> {
        let name = key.for_queue(queue);
        match (self.entries.get(&name), key.default) {
            (Some(entry), _) => self.entry_setting(&name, entry).map(Some),
            (None, Some(default)) => self.default_setting(&name, default).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The value that files and `-D` give a name of which no table knows anything, as [`Self::setting`]: job clients pass many on.
    ///
    /// # Errors
    /// [`ConfigError::EndlessExpansion`].
    pub fn named(&self, name: &str) -> Result<Option<Setting>, ConfigError> {
        self.entries.get(name).map(|entry| self.entry_setting(name, entry)).transpose()
    }

    /// Among spellings the strongest layer wins, in one layer the first spelling.
    fn strongest(&self, spellings: impl Iterator<Item = &'static str>) -> Option<(&'static str, &Entry)> {
        let mut best: Option<(&'static str, &Entry)> = None;
        for spelling in spellings {
            if let Some(entry) = self.entries.get(spelling)
                && best.is_none_or(|(_, other)| entry.layer > other.layer)
            {
                best = Some((spelling, entry));
            }
        }
        best
    }

    /// Whether a value was set by the job itself, not by the cluster.
    #[must_use]
    pub fn is_set_by_job(&self, key: &Key) -> bool {
        self.strongest(key.spellings()).is_some_and(|(_, entry)| entry.layer == Layer::Job)
    }

    /// Whether later values of this name are not taken.
    #[must_use]
    pub fn is_final(&self, name: &str) -> bool {
        self.finals.contains_key(name)
    }

    fn entry_setting(&self, name: &str, entry: &Entry) -> Result<Setting, ConfigError> {
        self.expanded(name, &entry.value, entry.scope(), &entry.origin)
    }

    fn default_setting(&self, name: &str, default: &str) -> Result<Setting, ConfigError> {
        self.expanded(name, default, Scope::Cluster, &Origin::Default)
    }

    fn expanded(&self, name: &str, raw: &str, scope: Scope, origin: &Origin) -> Result<Setting, ConfigError> {
        let mut rounds = MOST_REPLACEMENTS;
        let Some(value) = self.expansion(raw, scope, &mut rounds) else {
            let value = if self.is_of_job { excerpt(raw) } else { raw.to_owned() };
            return Err(ConfigError::EndlessExpansion { key: name.to_owned(), origin: origin.clone(), value });
        };
        let shown = if self.is_of_job { excerpt(raw) } else { value.clone() };
        Ok(Setting { name: name.to_owned(), value, shown, origin: origin.clone() })
    }

    /// A text with every `${…}` replaced that `scope` lets it find; `None` when that does not come to an end.
    ///
    /// What replaces a name is expanded first, by what its own writer may see: a job may use a value of the cluster without
    /// seeing what that is made of, and cannot have the cluster's names looked up in its own text.
    fn expansion(&self, raw: &str, mut scope: Scope, rounds: &mut usize) -> Option<String> {
        let mut text = raw.to_owned();
        while *rounds > 0 {
            // As Hadoop: at the first unknown name the text stays as it is.
            let Some((start, end)) = variable(&text) else { return Some(text) };
            let Some((found, found_scope)) = self.raw_value(&text[start + 2..end], scope) else { return Some(text) };
            *rounds -= 1;
            let replacement = self.expansion(found, found_scope, rounds)?;
            if found_scope == Scope::Job && replacement.contains(['$', '{', '}']) {
                // What follows may be a name of the user's making.
                scope = Scope::Job;
            }
            text.replace_range(start..=end, &replacement);
            if text.len() > LONGEST_EXPANSION {
                return None;
            }
        }
        None
    }

    /// What stands under a name, and what that text may see in turn.
    fn raw_value(&self, name: &str, scope: Scope) -> Option<(&str, Scope)> {
        let is_property = scope == Scope::Cluster || name == keys::USER_NAME.name;
        if let Some(property) = self.properties.get(name).filter(|_| is_property) {
            return Some((property, Scope::Job));
        }
        if let Some(key) = keys::all().find(|key| key.spellings().any(|spelling| spelling == name)) {
            let set = self.strongest(key.spellings()).map(|(_, entry)| (entry.value.as_str(), entry.scope()));
            return set.or(key.default.map(|default| (default, Scope::Cluster)));
        }
        let entry = self.entries.get(name)?;
        (scope == Scope::Cluster || entry.layer == Layer::Job).then(|| (entry.value.as_str(), entry.scope()))
    }

    /// Every value that files and `-D` set, by name, not expanded.
    pub fn written(&self) -> impl Iterator<Item = (&str, &str, &Origin)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.value.as_str(), &entry.origin))
    }

    /// The same with every `${…}` replaced; a value that does not come to an end stays as it is written.
    pub fn expanded_values(&self) -> impl Iterator<Item = (&str, String)> {
        self.entries.iter().map(|(name, entry)| {
            let expanded = self.entry_setting(name, entry);
            (name.as_str(), expanded.map_or_else(|_| entry.value.clone(), |setting| setting.value))
        })
    }

    /// What was odd while loading, and keys whose spellings disagree.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings.clone();
        for key in keys::all().filter(|key| !key.aliases.is_empty()) {
            let Some((used, entry)) = self.strongest(key.spellings()) else { continue };
            for spelling in key.spellings().filter(|spelling| *spelling != used) {
                if let Some(other) = self.entries.get(spelling).filter(|other| {
                    // Across layers, such as -D over a file, one is meant to win.
                    other.layer == entry.layer && other.value != entry.value
                }) {
                    warnings.push(Warning::TwoSpellings {
                        used: used.to_owned(),
                        origin: entry.origin.clone(),
                        ignored: spelling.to_owned(),
                        ignored_origin: other.origin.clone(),
                    });
                }
            }
        }
        warnings
    }

    /// Adds what a caller found odd about a file.
    pub fn add_warning(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
}

/// The first `${name}` of a text, as the places of `$` and `}`. A name has no `}`, `$` or blank (1.2.1 `varPat`).
fn variable(text: &str) -> Option<(usize, usize)> {
    text.match_indices("${").find_map(|(start, _)| {
        let name = &text[start + 2..];
        let length = name.find(['}', '$', ' '])?;
        (length > 0 && name[length..].starts_with('}')).then_some((start, start + 2 + length))
    })
}

#[cfg(test)]
#[path = "tests/configuration.rs"]
mod tests;

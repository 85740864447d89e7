//! Layers of values from several sources, as in Hadoop 1.2.1 `Configuration`. Three differences: the key table's defaults replace
//! `core-default.xml` and `mapred-default.xml`, `-D` of the daemon overrides everything, final values of files included, and `${…}` in a
//! job's values expands only the job's own values, keys of the table and `user.name`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, NamedValue, Origin, Warning, excerpt};
use super::keys::Key;
use super::shown_url::without_password;
use super::unread_keys::{unread_by_jobs, unread_key_beside};
use super::{keys, xml};

/// Maximum number of replacements in a value (1.2.1 `Configuration.MAX_SUBST`).
const MOST_REPLACEMENTS: usize = 20;
/// Maximum length of an expanded value, bytes: 20 replacements can double a text 20 times.
const LONGEST_EXPANSION: usize = 1 << 16;

/// Precedence of a value over another spelling of the same key, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Layer {
    Standalone,
    ConfFolder,
    CommandLine,
    Job,
}

/// Which names `${…}` in a value may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// All names: the cluster's administrator wrote the value.
    Cluster,
    /// Values of the job, keys of the table and `user.name`: a user wrote the value and can read the result.
    Job,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SettingEntry {
    value: String,
    origin: Origin,
    layer: Layer,
}

/// One effective value, `${…}` replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The spelling of the key that set it.
    pub(crate) name: String,
    pub(crate) value: String,
    /// The value for error texts: for a job, only the first 64 characters as written.
    pub(crate) shown: String,
    pub(crate) origin: Origin,
    /// Of a default with `${name}`: the value of that name, where it is set.
    pub(crate) writer: Option<Box<NamedValue>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Configuration {
    entries: BTreeMap<String, SettingEntry>,
    finals: BTreeMap<String, Origin>,
    /// Java's system properties; `${…}` finds them before keys.
    properties: BTreeMap<String, String>,
    #[serde(skip)]
    warnings: Vec<Warning>,
    /// Whether a job.xml was added, so that a user reads the errors.
    is_of_job: bool,
}

impl SettingEntry {
    fn scope(&self) -> Scope {
        if self.layer == Layer::Job { Scope::Job } else { Scope::Cluster }
    }
}

impl Configuration {
    /// An empty configuration. `${…}` finds `properties` first, such as `user.name`.
    #[must_use]
    pub(crate) fn new(properties: BTreeMap<String, String>) -> Self {
        Configuration { properties, ..Configuration::default() }
    }

    /// Adds a file; its values override earlier ones. Errors: [`ConfigError::NotConfiguration`] with the place in the file.
    pub(crate) fn add_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), ConfigError> {
        self.add_file_where(file, bytes, |_| true)
    }

    /// Adds `mapred-queue-acls.xml`, of which only keys of queues are read.
    pub(crate) fn add_queue_acls_file(&mut self, file: &str, bytes: &[u8]) -> Result<(), ConfigError> {
        self.add_file_where(file, bytes, |name| name.starts_with("mapred.queue."))
    }

    fn add_file_where(&mut self, file: &str, bytes: &[u8], is_read: fn(&str) -> bool) -> Result<(), ConfigError> {
        let file: Arc<str> = Arc::from(file);
        let document =
            xml::parse(bytes).map_err(|error| ConfigError::NotConfiguration { file: Arc::clone(&file), error })?;
        for (line, remark) in document.remarks {
            self.warnings
                .push(Warning::Questionable { origin: Origin::File { file: Arc::clone(&file), line }, remark });
        }
        for property in document.properties {
            let origin = Origin::File { file: Arc::clone(&file), line: property.line };
            self.warnings.extend(self.set_twice(&property, &file, &origin));
            if is_read(&property.name) {
                self.add_property(property, &origin, Layer::ConfFolder);
            } else {
                self.warnings.push(Warning::NotAQueueKey { key: property.name, origin });
            }
        }
        Ok(())
    }

    /// The warning that this file has set another value, which the property replaces.
    fn set_twice(&self, property: &xml::Property, file: &Arc<str>, origin: &Origin) -> Option<Warning> {
        let (entry, value) = (self.entries.get(&property.name)?, property.value.as_ref()?);
        match &entry.origin {
            Origin::File { file: first, line } if first == file && entry.value != *value => {
                let (key, origin) = (property.name.clone(), origin.clone());
                let (value, first) = (excerpt(value), excerpt(&entry.value));
                Some(Warning::SetTwice { key, value, origin, first, first_line: *line })
            }
            _ => None,
        }
        .filter(|_| !self.finals.contains_key(&property.name))
    }

    /// Adds a job.xml; final values keep their value. Errors: place and reason when it is not a configuration file.
    pub(crate) fn add_job_xml(&mut self, file: &str, bytes: &[u8]) -> Result<(), xml::XmlError> {
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
                    // A job repeats most of the cluster's values, which is no attempt to change them.
                    if layer != Layer::Job && self.entries.get(&name).is_none_or(|entry| entry.value != value) {
                        self.warnings.push(Warning::FinalKept {
                            key: name.clone(),
                            refused: origin.clone(),
                            made_final: made_final.clone(),
                        });
                    }
                }
                None => {
                    self.entries.insert(name.clone(), SettingEntry { value, origin: origin.clone(), layer });
                }
            }
        }
        if is_final {
            self.make_final(&name, origin);
        }
    }

    /// Makes all spellings of a key final, so that a later file cannot bypass it under another name.
    fn make_final(&mut self, name: &str, origin: &Origin) {
        let spellings: Vec<&str> = match keys::all().find(|key| key.spellings().any(|spelling| spelling == name)) {
            Some(key) => key.spellings().collect(),
            None => vec![name],
        };
        for spelling in spellings {
            self.finals.entry(spelling.to_owned()).or_insert_with(|| origin.clone());
        }
    }

    /// Applies `-D key=value`, which overrides everything. Errors: [`ConfigError::BadOverride`] when the argument has no `=` or no key.
    pub(crate) fn add_override(&mut self, argument: &str) -> Result<(), ConfigError> {
        match argument.split_once('=').map(|(name, value)| (name.trim(), value)) {
            Some((name, value)) if !name.is_empty() => {
                let entry =
                    SettingEntry { value: value.to_owned(), origin: Origin::CommandLine, layer: Layer::CommandLine };
                self.entries.insert(name.to_owned(), entry);
                Ok(())
            }
            _ => Err(ConfigError::BadOverride { argument: argument.to_owned() }),
        }
    }

    /// The values of `-D`, by name, unexpanded.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.entries.iter().filter(|(_, entry)| entry.layer == Layer::CommandLine);
        given.map(|(name, entry)| (name.as_str(), entry.value.as_str()))
    }

    /// Sets a default for a run without a conf folder.
    pub(crate) fn add_standalone_default(&mut self, key: &Key, value: &str) {
        let entry = SettingEntry { value: value.to_owned(), origin: Origin::Standalone, layer: Layer::Standalone };
        self.entries.insert(key.name.to_owned(), entry);
    }

    /// Removes the values of a key under all of its spellings.
    pub(crate) fn forget(&mut self, key: &Key) {
        for spelling in key.spellings() {
            self.entries.remove(spelling);
        }
    }

    /// A property that `${name}` finds before any key, such as `user.name`.
    #[must_use]
    pub(crate) fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// A copy with the property `name` set to `value`.
    #[must_use]
    pub(crate) fn with_property(&self, name: &str, value: &str) -> Self {
        let mut copy = self.clone();
        copy.properties.insert(name.to_owned(), value.to_owned());
        copy
    }

    /// The value of a key, else its default, else `None`.
    pub(crate) fn setting(&self, key: &Key) -> Result<Option<Setting>, ConfigError> {
        if let Some((name, entry)) = self.strongest(key.spellings()) {
            return self.entry_setting(name, entry).map(Some);
        }
        key.default.map(|default| self.default_setting(key.name, default)).transpose()
    }

    /// The value of a queue's key, as [`Self::setting`].
    pub(crate) fn queue_setting(&self, key: &Key, queue: &str) -> Result<Option<Setting>, ConfigError> {
        let name = key.for_queue(queue);
        match (self.entries.get(&name), key.default) {
            (Some(entry), _) => self.entry_setting(&name, entry).map(Some),
            (None, Some(default)) => self.default_setting(&name, default).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The value that files and `-D` set for a name outside the key tables, as [`Self::setting`]: job clients pass on many.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Setting>, ConfigError> {
        self.entries.get(name).map(|entry| self.entry_setting(name, entry)).transpose()
    }

    /// The spelling with the strongest layer; within one layer the first spelling.
    fn strongest(&self, spellings: impl Iterator<Item = &'static str>) -> Option<(&'static str, &SettingEntry)> {
        let mut best: Option<(&'static str, &SettingEntry)> = None;
        for spelling in spellings {
            if let Some(entry) = self.entries.get(spelling)
                && best.is_none_or(|(_, other)| entry.layer > other.layer)
            {
                best = Some((spelling, entry));
            }
        }
        best
    }

    /// Whether the job itself, not the cluster, sets the value.
    #[must_use]
    pub(crate) fn is_set_by_job(&self, key: &Key) -> bool {
        self.strongest(key.spellings()).is_some_and(|(_, entry)| entry.layer == Layer::Job)
    }

    /// Whether later values of this name are ignored.
    #[must_use]
    pub(crate) fn is_final(&self, name: &str) -> bool {
        self.finals.contains_key(name)
    }

    fn entry_setting(&self, name: &str, entry: &SettingEntry) -> Result<Setting, ConfigError> {
        self.expanded(name, &entry.value, entry.scope(), &entry.origin)
    }

    fn default_setting(&self, name: &str, default: &str) -> Result<Setting, ConfigError> {
        let setting = self.expanded(name, default, Scope::Cluster, &Origin::Default)?;
        Ok(Setting { writer: self.writer_in(default).map(Box::new), ..setting })
    }

    /// The value that files or `-D` set for the first name in a default.
    fn writer_in(&self, default: &str) -> Option<NamedValue> {
        let (start, end) = variable(default)?;
        let key = keys::all().find(|key| key.name == &default[start + 2..end])?;
        let (name, entry) = self.strongest(key.spellings())?;
        let is_set = matches!(entry.origin, Origin::File { .. } | Origin::CommandLine);
        let (key, origin, value) = (name.to_owned(), entry.origin.clone(), entry.value.clone());
        is_set.then_some(NamedValue { key, origin, value })
    }

    fn expanded(&self, name: &str, raw: &str, scope: Scope, origin: &Origin) -> Result<Setting, ConfigError> {
        let mut rounds = MOST_REPLACEMENTS;
        let Some(value) = self.expansion(raw, scope, &mut rounds) else {
            let value = if self.is_of_job { excerpt(raw) } else { raw.to_owned() };
            return Err(ConfigError::EndlessExpansion { key: name.to_owned(), origin: origin.clone(), value });
        };
        let shown = if self.is_of_job { excerpt(raw) } else { without_password(&value) };
        Ok(Setting { name: name.to_owned(), value, shown, origin: origin.clone(), writer: None })
    }

    /// The text with every `${…}` replaced that `scope` permits; `None` if the replacement does not end. Each replacement is expanded
    /// first, in the scope of its own writer: a job may use a value of the cluster without reading the names in it, and cannot have names
    /// of the cluster expanded in its own text.
    fn expansion(&self, raw: &str, mut scope: Scope, rounds: &mut usize) -> Option<String> {
        let mut text = raw.to_owned();
        while *rounds > 0 {
            // As in Hadoop, expansion stops at the first unknown name.
            let Some((start, end)) = variable(&text) else { return Some(text) };
            let Some((found, found_scope)) = self.raw_value(&text[start + 2..end], scope) else { return Some(text) };
            *rounds -= 1;
            let replacement = self.expansion(found, found_scope, rounds)?;
            if found_scope == Scope::Job && replacement.contains(['$', '{', '}']) {
                // The rest may be a name composed by the user.
                scope = Scope::Job;
            }
            text.replace_range(start..=end, &replacement);
            if text.len() > LONGEST_EXPANSION {
                return None;
            }
        }
        None
    }

    /// The raw value of a name, and the scope for its own expansion.
    fn raw_value(&self, name: &str, scope: Scope) -> Option<(&str, Scope)> {
        let is_property = scope == Scope::Cluster || name == keys::USER_NAME.name;
        if let Some(property) = self.properties.get(name).filter(|_| is_property) {
            return Some((property, Scope::Job));
        }
        if let Some(key) = keys::all().find(|key| key.spellings().any(|spelling| spelling == name)) {
            // The spelling that is written comes first: `fs.default.name` = `${fs.defaultFS}` is no circle.
            let own = key.spellings().find(|spelling| *spelling == name);
            let set = self.strongest(own.into_iter().chain(key.spellings()));
            let set = set.map(|(_, entry)| (entry.value.as_str(), entry.scope()));
            return set.or(key.default.map(|default| (default, Scope::Cluster)));
        }
        let entry = self.entries.get(name)?;
        (scope == Scope::Cluster || entry.layer == Layer::Job).then(|| (entry.value.as_str(), entry.scope()))
    }

    /// The error that a value still holds a name that nothing sets, as only a text may. A default names the value that brought the name in.
    /// A user reads the errors of a job: they quote only what the job wrote.
    pub(super) fn unresolved(&self, setting: &Setting) -> Option<ConfigError> {
        let variable = unresolved_variable(&setting.value)?;
        let holds = |entry: &SettingEntry| entry.value.contains(variable);
        let is_own = self.is_of_job || self.entries.get(&setting.name).is_some_and(holds);
        let writer = if is_own { None } else { self.entries.iter().find(|(_, entry)| holds(entry)) };
        let (key, origin, value) = match writer {
            Some((name, entry)) => (name, &entry.origin, &entry.value),
            None => (&setting.name, &setting.origin, &setting.shown),
        };
        let variable = if self.is_of_job && !value.contains(variable) { "${...}" } else { variable };
        Some(ConfigError::UnknownVariable {
            key: key.clone(),
            origin: origin.clone(),
            value: value.clone(),
            variable: variable.to_owned(),
        })
    }

    /// Warnings about texts of the cluster that keep a name that nothing sets.
    fn unresolved_texts(&self) -> impl Iterator<Item = Warning> {
        let written = self.entries.iter().filter(|(_, entry)| entry.layer != Layer::Job && entry.value.contains("${"));
        written.filter_map(|(name, entry)| {
            keys::all().find(|key| key.kind.is_text() && key.is_spelled(name))?;
            let value = self.entry_setting(name, entry).ok()?.value;
            let (start, end) = variable(&value)?;
            let variable = value[start..=end].to_owned();
            Some(Warning::UnknownVariable { key: name.clone(), origin: entry.origin.clone(), variable })
        })
    }

    /// Warnings about keys that nothing reads.
    fn unread(&self) -> impl Iterator<Item = Warning> {
        self.entries.iter().filter_map(|(name, entry)| {
            let unread = unread_key_beside(name, |key| self.entries.contains_key(key))?;
            Some(Warning::NothingReads { key: name.clone(), origin: entry.origin.clone(), meant: unread.question() })
        })
    }

    /// Every value that files and `-D` set, by name, unexpanded.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, &str, &Origin)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.value.as_str(), &entry.origin))
    }

    /// The same, expanded; a value whose expansion does not end stays as written.
    pub(crate) fn expanded_values(&self) -> impl Iterator<Item = (&str, String)> {
        self.entries.iter().map(|(name, entry)| {
            let expanded = self.entry_setting(name, entry);
            (name.as_str(), expanded.map_or_else(|_| entry.value.clone(), |setting| setting.value))
        })
    }

    /// Of the properties of a job.xml, those that nothing reads, in one text; none: there are none.
    #[must_use]
    pub(crate) fn unread_in_job_xml(&self) -> Option<String> {
        let names = self.entries.iter().filter(|(_, entry)| entry.layer == Layer::Job).map(|(name, _)| name.as_str());
        unread_by_jobs(names, |key| self.entries.contains_key(key))
    }

    /// Warnings from loading, keys that nothing reads, and keys whose spellings disagree.
    #[must_use]
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings.clone();
        warnings.extend(self.unresolved_texts());
        warnings.extend(self.unread());
        for key in keys::all().filter(|key| !key.aliases.is_empty()) {
            let Some((used, entry)) = self.strongest(key.spellings()) else { continue };
            for spelling in key.spellings().filter(|spelling| *spelling != used) {
                if let Some(other) = self.entries.get(spelling).filter(|other| {
                    // Across layers, such as -D over a file, an override is intended.
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

    pub(crate) fn add_warning(&mut self, warning: Warning) {
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

/// What is left of a `${…}` in an expanded value: the name that stopped the expansion, else whatever begins like one.
fn unresolved_variable(value: &str) -> Option<&str> {
    match variable(value) {
        Some((start, end)) => Some(&value[start..=end]),
        None => value.find("${").and_then(|start| value[start..].split_inclusive('}').next()),
    }
}

#[cfg(test)]
#[path = "tests/configuration.rs"]
mod tests;

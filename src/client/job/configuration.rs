//! Configuration of a submission: stock defaults and conf folder, if one is given, and `-D`; and job.xml, as 1.2.1 `Configuration.writeXml` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::config::conf_folder::add_conf_folder;
use crate::config::keys::hadoop_defaults::{stock_default, stock_defaults};
use crate::config::settings::ClientAddresses;
use crate::config::{ConfigError, Configuration, Environment, keys};
use crate::fs::{FileSystems, FileUri, FileUriError};

/// Configuration of calls to a JobTracker.
#[derive(Clone, Debug)]
pub struct JobConfiguration {
    configuration: Configuration,
    has_folder: bool,
}

impl JobConfiguration {
    /// Reads the conf folder, if one is given, and applies `overrides`, `key=value`. `${user.name}` is `user`.
    ///
    /// # Errors
    /// [`ConfigError`]: the folder or one of its files cannot be read, or an override has no `=`.
    pub fn load(folder: Option<&Path>, overrides: &[String], user: &str) -> Result<Self, ConfigError> {
        let mut properties = Environment::of_process().properties;
        properties.insert("user.name".to_owned(), user.to_owned());
        let mut configuration = Configuration::new(properties);
        if let Some(folder) = folder {
            add_conf_folder(&mut configuration, folder)?;
        }
        for argument in overrides {
            configuration.add_override(argument)?;
        }
        for argument in first_names(&configuration) {
            configuration.add_override(&argument)?;
        }
        Ok(Self { configuration, has_folder: folder.is_some() })
    }

    /// All values that a stock client would write into job.xml, unexpanded. Without a conf folder only those of `-D`: a client's
    /// defaults must not override the cluster's own configuration.
    pub(crate) fn properties(&self) -> BTreeMap<String, String> {
        let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let defaults = stock_defaults().filter(|_| self.has_folder).map(|(name, value)| owned(name, value));
        defaults.chain(self.configuration.written().map(|(name, value, _)| owned(name, value))).collect()
    }

    /// The value of `-D`, unexpanded.
    pub(crate) fn overridden(&self, name: &str) -> Option<&str> {
        self.configuration.overrides().find_map(|(set, value)| (set == name).then_some(value))
    }

    /// All values of `-D`, unexpanded.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (&str, &str)> {
        self.configuration.overrides()
    }

    pub(super) fn with(&self, properties: &BTreeMap<String, String>) -> Result<Configuration, ConfigError> {
        let mut configuration = self.configuration.clone();
        let own = properties.iter().filter(|(name, value)| {
            let is_written = self.configuration.written().any(|(set, written, _)| set == *name && written == *value);
            !is_written && stock_default(name) != Some(value)
        });
        own.map(|(name, value)| format!("{name}={value}")).try_for_each(|value| configuration.add_override(&value))?;
        Ok(configuration)
    }

    /// The file systems, as this user.
    pub(crate) fn file_systems(&self, user: &str) -> FileSystems {
        self.configuration.file_systems(user)
    }

    /// What relative paths are relative to: `-D mapred.working.dir`, else `local` where paths without a scheme are those of this machine, else the user's home on the
    /// default file system (1.2.1 `DistributedFileSystem.getHomeDirectory`).
    /// Errors: `local` or the user's name is none.
    pub(crate) fn working_dir(&self, user: &str, local: &Path) -> Result<FileUri, FileUriError> {
        let root = self.configuration.default_file_system();
        if let Some(folder) = self.overridden(keys::WORKING_DIR.name) {
            return root.resolve(folder);
        }
        match root.local_path() {
            Some(_) => root.resolve(&local.to_string_lossy()),
            None => root.join("user")?.join(user),
        }
    }

    /// An expanded value, else the stock default.
    #[cfg(test)]
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        let set = self.configuration.named(name)?.map(|setting| setting.value.trim().to_owned());
        Ok(set.or_else(|| stock_default(name).map(str::to_owned)))
    }

    /// A number of at least `least`, else `default`. Errors: [`ConfigError`], with the value's place, if it is not such a number.
    pub(crate) fn number(&self, name: &str, default: u64, least: u64) -> Result<u64, ConfigError> {
        let Some(setting) = self.configuration.named(name)? else {
            return Ok(stock_default(name).and_then(|text| text.parse().ok()).unwrap_or(default));
        };
        match setting.value.trim().parse() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(setting.bad_value(format!("a whole number from {least} on"))),
        }
    }

    /// Where the conf folder and `-D` have the JobTracker.
    pub(crate) fn addresses(&self) -> Result<ClientAddresses, ConfigError> {
        ClientAddresses::of(&self.configuration)
    }
}

/// What `-D` sets under another spelling of a key, under the key's name: client and conf folder write that one, and it would win.
fn first_names(configuration: &Configuration) -> Vec<String> {
    let given: BTreeMap<&str, &str> = configuration.overrides().collect();
    let keys = keys::all().filter(|key| !given.contains_key(key.name));
    let named = keys.filter_map(|key| {
        let value = key.aliases.iter().find_map(|alias| given.get(alias))?;
        Some(format!("{}={value}", key.name))
    });
    named.collect()
}

/// A character that XML 1.0 cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} contains the character {character:?}, which cannot be written to job.xml")]
pub struct JobXmlError {
    pub(crate) name: String,
    pub(crate) character: char,
}

/// The bytes of job.xml.
pub(super) fn job_xml(properties: &BTreeMap<String, String>) -> Result<Vec<u8>, JobXmlError> {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n");
    for (name, value) in properties {
        if let Some(character) = name.chars().chain(value.chars()).find(|character| !is_xml(*character)) {
            return Err(JobXmlError { name: name.clone(), character });
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<property><name>{}</name><value>{}</value></property>", escaped(name), escaped(value));
    }
    text += "</configuration>";
    Ok(text.into_bytes())
}

fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn escaped(text: &str) -> String {
    // A parser reads a literal CR as LF.
    quick_xml::escape::partial_escape(text).replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::config::xml;

    use super::*;

    fn load(folder: Option<&Path>, overrides: &[&str]) -> JobConfiguration {
        let overrides: Vec<_> = overrides.iter().map(|text| (*text).to_owned()).collect();
        JobConfiguration::load(folder, &overrides, "alice").unwrap()
    }

    #[test]
    fn without_a_conf_folder_only_overrides_are_written() {
        let conf = load(None, &["a.b=${user.name}", "mapred.map.tasks=7"]);
        let properties = conf.properties();
        assert_eq!(properties.len(), 2);
        assert_eq!(properties["a.b"], "${user.name}");
        assert_eq!(conf.text("a.b").unwrap().as_deref(), Some("alice"));
        assert_eq!(conf.number("mapred.map.tasks", 1, 0).unwrap(), 7);
        assert_eq!(conf.number("mapred.reduce.tasks", 9, 0).unwrap(), 1);
        assert_eq!(conf.number("fs.local.block.size", 9, 1).unwrap(), 9);
        assert_eq!(conf.addresses().unwrap(), ClientAddresses::default());
    }

    #[test]
    fn a_conf_folder_brings_its_values_and_the_stock_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let property =
            |name: &str, value: &str| format!("<property><name>{name}</name><value>{value}</value></property>");
        let addresses = property("mapred.job.tracker", "master:9001")
            + &property("mapred.job.tracker.http.address", "0.0.0.0:50030");
        let site = addresses + &property("io.sort.mb", "50");
        std::fs::write(folder.path().join("mapred-site.xml"), format!("<configuration>{site}</configuration>"))
            .unwrap();
        let conf = load(Some(folder.path()), &["io.sort.mb=60"]);
        let properties = conf.properties();
        assert_eq!(properties["io.sort.mb"], "60");
        assert_eq!(properties["io.sort.factor"], "10");
        let ClientAddresses { rpc, http } = conf.addresses().unwrap();
        assert_eq!([rpc, http].map(|address| address.unwrap().to_string()), ["master:9001", "master:50030"]);
        assert!(load(None, &["mapred.job.tracker=local"]).addresses().unwrap_err().to_string().contains("local"));
    }

    #[test]
    fn other_spellings_of_keys_set_their_first_names() {
        let conf = load(None, &["mapreduce.job.reduces=5", "mapreduce.job.name=x", "mapred.job.name=y"]);
        let properties = conf.properties();
        assert_eq!(properties["mapred.reduce.tasks"], "5");
        assert_eq!(properties["mapred.job.name"], "y", "the first name wins");
        let local = Path::new("/home/alice");
        assert_eq!(conf.working_dir("alice", local).unwrap().to_string(), "file:/home/alice");
        let elsewhere = load(None, &["mapred.working.dir=/data/alice"]);
        assert_eq!(elsewhere.working_dir("alice", local).unwrap().to_string(), "file:/data/alice");
    }

    #[test]
    fn a_malformed_number_is_refused_with_its_place() {
        let error = load(None, &["mapred.min.split.size=1k"]).number("mapred.min.split.size", 1, 0).unwrap_err();
        assert!(error.to_string().contains("mapred.min.split.size"), "{error}");
    }

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn characters_that_xml_cannot_represent_are_named() {
        let error = job_xml(&one("stream.map.output.field.separator", "\u{1}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stream.map.output.field.separator contains the character '\\u{1}', which cannot be written to job.xml"
        );
    }

    proptest! {
        #[test]
        fn values_read_back(value in "[a<>&\"'\r\n\t é😀]{1,12}") {
            let bytes = job_xml(&one("k", &value)).unwrap();
            let document = xml::parse(&bytes).unwrap();
            prop_assert_eq!(document.properties[0].value.as_deref(), Some(value.as_str()));
        }
    }
}

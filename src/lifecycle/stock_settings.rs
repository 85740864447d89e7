//! What the pages of Hadoop's addresses take from the configuration.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::config::blanked::shown_value;
use crate::config::settings::PageLoginSettings;
use crate::config::{Configuration, Origin, Settings, host_name, keys};
use crate::web::{ConfProperty, PageLogin, SimpleLogin, StockSettings};

use super::serve_error::ServeError;

/// The user of 1.2.1's filter for one user.
const STATIC_USER: &str = "Dr.Who";

pub(super) fn stock_settings(settings: &Settings) -> Result<StockSettings, ServeError> {
    Ok(StockSettings {
        host: name_of_host(&settings.rpc_address.host),
        are_acls_on: settings.queues.acls_enabled,
        is_authorization_on: settings.service_policy.is_some(),
        are_numbers_for_administrators: settings.are_numbers_for_administrators,
        login: page_login(&settings.page_login)?,
        takes_get_changes: settings.takes_get_changes,
        conf: conf_properties(&settings.configuration).into(),
    })
}

/// What pages call the machine of the JobTracker's address: an address is not cut at its first dot.
fn name_of_host(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) if address.to_canonical().is_loopback() => "localhost".to_owned(),
        Ok(_) => host_name(),
        Err(_) => host.to_owned(),
    }
}

/// How requests say who asks. A name is no proof: a start says that they are believed.
fn page_login(settings: &PageLoginSettings) -> Result<PageLogin, ServeError> {
    Ok(match settings {
        PageLoginSettings::Nameless => PageLogin::Nameless,
        PageLoginSettings::OneUser => {
            tracing::info!("pages: all requests are user {STATIC_USER} ({})", keys::FILTER_INITIALIZERS.name);
            PageLogin::OneUser(STATIC_USER.into())
        }
        PageLoginSettings::Simple(simple) => {
            let secret = simple.secret().map_err(ServeError::PageSecret)?;
            let key = keys::FILTER_INITIALIZERS.name;
            tracing::info!("pages: requests are believed who they say they are, by user.name= or hadoop.auth ({key})");
            let validity_ms = i64::from(simple.validity_s).saturating_mul(1_000);
            PageLogin::Simple(SimpleLogin::new(secret, validity_ms, simple.allows_nameless))
        }
    })
}

/// The configuration in force, by name: what is written, and the defaults of what is not.
fn conf_properties(configuration: &Configuration) -> Vec<ConfProperty> {
    let mut all = BTreeMap::new();
    for key in keys::all().filter(|key| !key.name.contains('<')) {
        if let Some(default) = key.default {
            all.insert(key.name.to_owned(), (default.to_owned(), "default".to_owned()));
        }
    }
    let mut values: BTreeMap<&str, String> = configuration.expanded_values().collect();
    for (name, written, origin) in configuration.written() {
        let value = values.remove(name).unwrap_or_else(|| written.to_owned());
        all.insert(name.to_owned(), (value, resource(origin)));
    }
    let properties = all.into_iter().map(|(key, (value, resource))| {
        let value = shown_value(&key, &value).into_owned();
        ConfProperty { is_final: configuration.is_final(&key), key, value, resource }
    });
    properties.collect()
}

/// Where a value comes from, as 1.2.1 names it: the name of a file.
fn resource(origin: &Origin) -> String {
    match origin {
        Origin::Default | Origin::Standalone => "default".to_owned(),
        Origin::File { file, .. } => file.rsplit('/').next().unwrap_or_default().to_owned(),
        Origin::CommandLine => "command line".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_called_by_a_name() {
        assert_eq!(
            ["127.0.0.1", "::1", "master.example.org"].map(name_of_host),
            ["localhost", "localhost", "master.example.org"]
        );
        assert_eq!(name_of_host("192.0.2.7"), host_name());
    }

    #[test]
    fn what_is_written_stands_over_defaults_and_secrets_are_blanked() {
        let mut configuration = Configuration::new(BTreeMap::new());
        let file = b"<configuration><property><name>mapred.acls.enabled</name><value>true</value><final>true</final>\
                     </property><property><name>a.secret</name><value>tiger</value></property></configuration>";
        configuration.add_file("/etc/hadoop/mapred-site.xml", file).unwrap();
        let all = conf_properties(&configuration);
        let found = |key: &str| all.iter().find(|property| property.key == key).unwrap().clone();
        let ConfProperty { value, is_final, resource, .. } = found("mapred.acls.enabled");
        assert_eq!((&*value, is_final, &*resource), ("true", true, "mapred-site.xml"));
        assert_eq!(found("a.secret").value, "<redacted>");
        assert_eq!((&*found("mapred.job.tracker").resource, found("mapred.job.tracker").is_final), ("default", false));
        assert!(all.is_sorted_by(|left, right| left.key < right.key));
    }
}

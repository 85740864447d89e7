//! Which place a command asks, by what names one.

use super::*;

/// Conf folders and a home directory.
struct Stage {
    folder: tempfile::TempDir,
    around: Surroundings,
}

impl Stage {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), around: Surroundings::default() }
    }

    /// A conf folder with these values.
    fn conf(&self, name: &str, values: &[(&str, &str)]) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let line =
            |(key, value): &(&str, &str)| format!("<property><name>{key}</name><value>{value}</value></property>");
        let lines: String = values.iter().map(line).collect();
        std::fs::write(folder.join("mapred-site.xml"), format!("<configuration>{lines}</configuration>")).unwrap();
        folder
    }

    fn place(&self, arguments: &PlaceArguments) -> Result<JobTrackerPlace, String> {
        arguments.find_in(&self.around, &[]).map_err(|error| error.to_string())
    }

    /// HTTP and RPC address with who names them; RPC is none if the web server is asked.
    fn found(&self, arguments: &PlaceArguments) -> [String; 2] {
        let place = self.place(arguments).unwrap();
        let shown = |FoundAddress { address, origin }: FoundAddress| {
            format!("{address} by {origin}").replace(&format!("{}/", self.folder.path().display()), "")
        };
        let rpc = place.rpc.clone().map_or_else(|| "asked".to_owned(), shown);
        [shown(place.http()), rpc]
    }
}

fn options(server: Option<&str>, jobtracker: Option<&str>, conf: Option<PathBuf>) -> PlaceArguments {
    PlaceArguments { server: server.map(str::to_owned), jobtracker: jobtracker.map(str::to_owned), conf }
}

fn addresses(host: &str) -> Vec<(&'static str, String)> {
    vec![("mapred.job.tracker", format!("{host}:9001")), ("mapred.job.tracker.http.address", "0.0.0.0:8080".to_owned())]
}

#[test]
fn each_source_wins_over_those_after_it() {
    let mut stage = Stage::new();
    let conf = |stage: &Stage, host: &str| {
        let values = addresses(host);
        let values: Vec<(&str, &str)> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        stage.conf(host, &values)
    };
    let none = PlaceArguments::default();
    assert_eq!(stage.found(&none), ["127.0.0.1:50030 by no option, variable or file", "asked"]);
    stage.around.server_file = Some(" http://file/ \n".to_owned());
    assert_eq!(stage.found(&none), ["file:50030 by /etc/hadoop_server", "asked"]);
    stage.around.config =
        UserConfig { server: Some("mine:80".to_owned()), path: "config.toml".into(), ..UserConfig::default() };
    assert_eq!(stage.found(&none), ["mine:80 by config.toml", "asked"]);
    stage.around.conf_folders.insert(0, (HADOOP_CONF_DIR, conf(&stage, "hadoop")));
    let by = |host: &str, name: &str| [8080, 9001].map(|port| format!("{host}:{port} by {name} {host}"));
    assert_eq!(stage.found(&none), by("hadoop", "$HADOOP_CONF_DIR"));
    stage.around.conf_folders.insert(0, (JOBTRACKER_CONF, conf(&stage, "ours")));
    assert_eq!(stage.found(&none), by("ours", "$JOBTRACKER_CONF"));
    stage.around.server = Some("variable:80".to_owned());
    assert_eq!(stage.found(&none), ["variable:80 by $JOBTRACKER_SERVER", "asked"]);
    let given = conf(&stage, "given");
    assert_eq!(stage.found(&options(None, None, Some(given.clone()))), by("given", "--conf"));
    let server = options(Some("option"), None, None);
    assert_eq!(stage.found(&server), ["option:50030 by --server", "asked"]);
    let jobtracker = options(None, Some("option:9001"), None);
    assert_eq!(stage.found(&jobtracker), ["option:50030 by --jobtracker", "option:9001 by --jobtracker"]);
    let both = options(Some("option:80"), None, Some(given.clone()));
    assert_eq!(stage.found(&both), ["option:80 by --server", "given:9001 by --conf given"]);
    let both = options(None, Some("option:1"), Some(given));
    assert_eq!(stage.found(&both), ["option:8080 by --conf given", "option:1 by --jobtracker"]);
}

#[test]
fn values_come_from_the_folder_that_is_named_with_the_server_only() {
    let mut stage = Stage::new();
    let hadoop = stage.conf("hadoop", &[("mapred.job.tracker", "hadoop:9001")]);
    stage.around.conf_folders.push((HADOOP_CONF_DIR, hadoop.clone()));
    assert_eq!(stage.place(&PlaceArguments::default()).unwrap().conf, Some(hadoop.clone()));
    assert_eq!(stage.place(&options(Some("other"), None, None)).unwrap().conf, None, "another cluster's values");
    assert_eq!(stage.place(&options(Some("other"), None, Some(hadoop.clone()))).unwrap().conf, Some(hadoop));
}

#[test]
fn a_folder_without_addresses_names_no_server() {
    let mut stage = Stage::new();
    let hdfs = stage.conf("hdfs", &[("io.sort.mb", "50")]);
    stage.around.conf_folders.push((HADOOP_CONF_DIR, hdfs.clone()));
    stage.around.server_file = Some("file".to_owned());
    assert_eq!(stage.found(&PlaceArguments::default())[0], "file:50030 by /etc/hadoop_server");
    assert_eq!(stage.place(&PlaceArguments::default()).unwrap().conf, Some(hdfs), "for its other values");
}

#[test]
fn refusals_say_who_names_the_address() {
    let mut stage = Stage::new();
    let refused = |stage: &Stage, arguments: &PlaceArguments| stage.place(arguments).unwrap_err();
    let text = refused(&stage, &options(Some("https://h"), None, None));
    assert_eq!(text, "the HTTP address \"https://h\" is from --server: expected host:port");
    let text = refused(&stage, &options(None, Some("h"), None));
    assert_eq!(text, "the RPC address \"h\" is from --jobtracker: expected host:port");
    stage.around.conf_folders.push((HADOOP_CONF_DIR, "/nowhere/at/all".into()));
    let text = refused(&stage, &PlaceArguments::default());
    assert!(text.ends_with("; the folder is from $HADOOP_CONF_DIR"), "{text}");
    stage.around.server = Some("h:99999".to_owned());
    let text = refused(&stage, &PlaceArguments::default());
    assert_eq!(text, "the HTTP address \"h:99999\" is from $JOBTRACKER_SERVER: expected host:port");
    assert_eq!(AddressOrigin::File("/f".into()).note(), "; the address is from /f");
}

#[test]
fn addresses_are_read_as_the_documents_clients_write_them() {
    let stage = Stage::new();
    for (text, address) in [
        ("http://master:8080/", "master:8080"),
        ("other", "other:50030"),
        ("[::1]", "[::1]:50030"),
        ("[::1]:80", "[::1]:80"),
    ] {
        let place = stage.place(&options(Some(text), None, None)).unwrap();
        assert_eq!(place.http().address.to_string(), address);
    }
}

#[test]
fn definitions_of_a_job_name_its_jobtracker() {
    let stage = Stage::new();
    let defined = ["mapred.job.tracker=job:1".to_owned()];
    let place = PlaceArguments::default().find_in(&stage.around, &defined).unwrap();
    assert_eq!(place.rpc.as_ref().map(|found| found.address.to_string()).as_deref(), Some("job:1"));
    let options = place.options();
    assert_eq!((options.jobtracker.as_deref(), options.server), (Some("job:1"), None));
}

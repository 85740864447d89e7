//! Configurations, threads, levels of the log, the log, and numbers as JSON.

use super::super::super::state::JobForms;
use crate::http::LocalCaller;
use crate::web::owner::MarketPresence;
use crate::web::stock::{ConfProperty, StockSettings};

use super::recorded::middle;
use super::stage::Recorded;

fn property(key: &str, value: &str, is_final: bool) -> ConfProperty {
    ConfProperty { key: key.to_owned(), value: value.to_owned(), is_final, resource: "mapred-site.xml".to_owned() }
}

fn state() -> Recorded {
    let conf = [property("a.b", "x < y & z", false), property("mapred.job.tracker", "master:9001", true)].into();
    Recorded { settings: StockSettings { conf, ..StockSettings::default() }, ..middle() }
}

#[tokio::test]
async fn the_configuration_is_xml_or_json() {
    let state = state();
    let xml = state.get("/conf").await;
    assert_eq!((xml.status.as_u16(), &*xml.kind), (200, "text/xml; charset=utf-8"));
    assert!(xml.body.contains(
        "<property><!--Loaded from mapred-site.xml--><name>a.b</name><value>x &lt; y &amp; z</value></property>"
    ));
    assert_eq!(state.get("/conf?format=xml").await.body, xml.body);
    let json: serde_json::Value = serde_json::from_str(&state.get("/conf?format=json").await.body).unwrap();
    let expected = serde_json::json!(
        { "key": "mapred.job.tracker", "value": "master:9001", "isFinal": true, "resource": "mapred-site.xml" }
    );
    assert_eq!(json["properties"][1], expected);
    let other = state.get("/conf?format=yaml").await;
    assert_eq!((other.status.as_u16(), other.body.contains("Bad format")), (400, true));
}

#[tokio::test]
async fn the_configuration_of_a_job_has_rows_of_two_cells() {
    let conf = vec![("mapred.job.name".to_owned(), "<b>".to_owned()), ("x".to_owned(), "y".to_owned())];
    let state = Recorded { conf: Some(conf), ..state() };
    let page = state.get("/jobconf.jsp?jobid=job_202611220350_0001").await;
    // The patterns of two collectors.
    assert!(page.body.contains("<td width=\"35%\"><b>x</b></td><td width=\"65%\">y</td>"), "{}", page.body);
    assert!(
        page.body.contains("Job Configuration: JobId - job_202611220350_0001") && page.body.contains("&#60;b&#62;")
    );
    let rows: Vec<&str> = page.body.split("<tr>").skip(2).collect();
    assert!(rows.iter().all(|row| row.matches("<td").count() == 2), "{rows:?}");
    let unknown = state.get("/jobconf.jsp?jobid=job_202611220350_0099").await;
    assert!(unknown.status.is_success() && unknown.body.contains("<b>Job job_202611220350_0099 not found.</b>"));
    assert!(state.get("/jobconf.jsp").await.body.contains("Missing"));
    assert_eq!(state.get("/jobconf.jsp?jobid=x").await.status.as_u16(), 400);
    let of_past = state.get("/jobconf_history.jsp?logFile=job_202611220350_0001_1_u_n").await;
    assert!(of_past.body.contains("<b>x</b>"));
}

#[tokio::test]
async fn threads_are_listed_and_levels_are_shown_to_all() {
    let state = state();
    let stacks = state.get("/stacks").await;
    assert!(stacks.body.starts_with("Process Thread Dump:") && stacks.body.contains("State: RUNNABLE"));
    let level = state.get("/logLevel?log=org.apache.hadoop.mapred.JobTracker").await;
    let lines: Vec<&str> = level.body.lines().filter(|line| line.starts_with("<!-- OUTPUT -->")).collect();
    assert_eq!(lines[0], "<!-- OUTPUT -->Submitted Log Name: <b>org.apache.hadoop.mapred.JobTracker</b><br>");
    assert!(lines.last().unwrap().starts_with("<!-- OUTPUT -->Effective level: <b>"), "{lines:?}");
    // No connection is known to be local here.
    let set = state.get("/logLevel?log=jobtracker&level=DEBUG").await;
    assert_eq!(set.status.as_u16(), 403);
}

#[tokio::test]
async fn levels_are_set_by_who_may_change_the_daemon() {
    let set = async |uid: Option<u32>, market, are_acls_on| {
        let caller = uid.map_or(LocalCaller::Unknown, LocalCaller::Known);
        let state = Recorded { local_caller: Some(caller), market: Some(market), ..state() };
        let target = "/logLevel?log=jobtracker&level=OFF";
        state.served("GET", target, "", &[], JobForms::ForAll, are_acls_on).await.status.as_u16()
    };
    let (own, stranger) = (rustix::process::geteuid().as_raw(), 4_000_000_123);
    for (market, are_acls_on, of_stranger) in [
        (MarketPresence::Absent, false, 200),
        (MarketPresence::Idle, false, 200),
        (MarketPresence::Absent, true, 403),
        (MarketPresence::Signing, false, 403),
        (MarketPresence::Ruling, false, 403),
    ] {
        let found = [Some(own), Some(0), Some(stranger), None].map(|uid| set(uid, market, are_acls_on));
        let [own, root, stranger, elsewhere] = found;
        let found = [own.await, root.await, stranger.await, elsewhere.await];
        assert_eq!(found, [200, 200, of_stranger, 403], "{market:?} {are_acls_on}");
    }
}

#[tokio::test]
async fn numbers_are_kept_for_administrators_where_that_is_asked_for() {
    let open = state();
    let closed = Recorded {
        settings: StockSettings {
            is_authorization_on: true,
            are_numbers_for_administrators: true,
            ..open.settings.clone()
        },
        ..open.clone()
    };
    for target in ["/conf", "/jmx", "/metrics", "/metrics?format=json", "/stacks", "/logLevel", "/logs/"] {
        let (open, closed) = (open.get(target).await, closed.get(target).await);
        assert_eq!(closed.status.as_u16(), 401, "{target}");
        assert_ne!(open.status.as_u16(), 401, "{target}");
    }
}

#[tokio::test]
async fn older_collectors_find_their_numbers() {
    let metrics = state().get("/metrics?format=json").await;
    assert_eq!(&*metrics.kind, "application/json");
    let json: serde_json::Value = serde_json::from_str(&metrics.body).unwrap();
    let record = &json["mapred"]["jobtracker"][0];
    let (tags, numbers) = (&record[0], &record[1]);
    assert_eq!((tags["hostName"].as_str(), numbers["map_slots"].as_u64()), (Some("master"), Some(4)));
    assert!(numbers["running_maps"].is_u64() && numbers.get("tag.context").is_none());
}

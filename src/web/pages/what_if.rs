//! What if: the jobs of the past under other settings, as `jobtracker what-if` has it. Asking changes nothing.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode};

use crate::api::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, PlayedEnd, tenths_text};
use crate::http::RequestPlace;
use crate::model::{as_shell_word, counted};

use super::super::identify::is_administrator;
use super::super::owner::{MarketPresence, Owner};
use super::super::plays::{MOST_KEPT_PLAYS, PlayForm, PlayRefusal, PlayRun, PlayState, Plays};
use super::super::request_body::{FORM, form_fields, is_form, read_small, repeated_field};
use super::super::same_site::is_from_own_page;
use super::super::signed_request::HttpRequest;
use super::super::state::WebState;
use super::super::time_text::{parse_utc_ms, utc_text};
use super::asked::{Asked, encoded};
use super::block::{Block, Column, Field, Form, Section, Table};
use super::error::Refused;
use super::handlers::{led_to, shown};
use super::job::sentence;
use super::job_rows::{queue_link, user_link};
use super::page::Page;
use super::piece::{Cell, Piece};
use super::viewer::View;

const MAX_BYTES: usize = 8 << 10;
/// Most characters of a refused value that are repeated.
const SHOWN_CHARACTERS: usize = 64;
/// The policy that is asked for where none is.
const AS_CONFIGURED: &str = "as configured";
const POLICIES: [&str; 6] = [AS_CONFIGURED, "fifo", "capacity", "fair", "constraint", "dynamic"];
const ORDERS: [&str; 2] = ["with", "without"];
const FIELDS: &str = "policy, set, nodes, orders, since, until";
const TIME: &str = "a date such as 2026-11-21, with an optional time after a T, of UTC unless it says otherwise";

#[derive(Clone, Debug, Default)]
struct Texts {
    policy: String,
    set: String,
    nodes: String,
    orders: String,
    since: String,
    until: String,
}

/// Why no play is begun.
struct NotBegun {
    refused: Refused,
    /// When to ask again.
    retry_s: Option<u64>,
}

impl From<Refused> for NotBegun {
    fn from(refused: Refused) -> Self {
        Self { refused, retry_s: None }
    }
}

pub(super) async fn question<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let here = asked.clone();
        let mut take = |name| asked.take(name).unwrap_or_default();
        let texts = Texts {
            policy: take("policy"),
            set: take("set"),
            nodes: take("nodes"),
            orders: take("orders"),
            since: take("since"),
            until: take("until"),
        };
        match plays_for(&state, view).await {
            Ok(plays) => Ok(question_page(&here, &texts, plays)),
            Err(refused) if refused.status == StatusCode::FORBIDDEN => Ok(command_page(&refused)),
            Err(refused) => Err(refused),
        }
    })
    .await
}

pub(super) async fn begin<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> Response<Body> {
    let (Parts { method, uri, headers, extensions, .. }, body) = request.into_parts();
    let user = extensions.get().cloned();
    let request = HttpRequest { method, uri, headers, user };
    let asked = Asked::new(&request);
    let view = match View::of(&state, &request).await {
        Ok(view) => view,
        Err(refused) => return refused.line(),
    };
    match begin_play(&state, &view, &request.headers, (body, extensions.get())).await {
        Ok(id) => led_to(&play_address(&asked, &id)),
        Err(NotBegun { refused, retry_s }) => {
            let mut response = view.refuse(&refused, &asked);
            if let Some(retry_s) = retry_s {
                response.headers_mut().insert(RETRY_AFTER, retry_s.into());
            }
            response
        }
    }
}

pub(super) async fn outcome<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    Path(id): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let plays = plays_for(&state, view).await?;
        let found = plays.all().into_iter().find(|run| run.id == id);
        let run = found.ok_or_else(|| Refused {
            detail: format!(
                "What a play came to is kept for ten minutes, of the newest {MOST_KEPT_PLAYS} plays, and not longer than the daemon runs."
            ),
            ..Refused::unknown("play", &id, Some("/what-if".to_owned()))
        })?;
        Ok(outcome_page(asked, &run, &conf_option(plays), view.shows_every_cost()))
    })
    .await
}

/// What makes plays, for administrators: a play shows the jobs of all, and what they cost.
async fn plays_for<'a, O: Owner>(state: &'a WebState<O>, view: &View) -> Result<&'a dyn Plays, Refused> {
    let none = || Refused::not_now("There is no what-if here", "No JobTracker runs here.".to_owned());
    let plays = state.plays.as_deref().ok_or_else(none)?;
    let may = is_administrator(state, view.viewer()).await.map_err(|gone| Refused::unavailable(gone.to_string()))?;
    // A name that is believed shows no money.
    let sees_money = view.viewer().sees_all_money() || state.owner.market_presence() == MarketPresence::Absent;
    if may && sees_money {
        return Ok(plays);
    }
    Err(Refused {
        status: StatusCode::FORBIDDEN,
        title: "What-if is for administrators".to_owned(),
        detail: "A play is of all jobs and shows what they cost: sign in as an administrator, or run the command on the machine of \
                 the JobTracker as a user who may read its state directory."
            .to_owned(),
        try_commands: vec!["jobtracker open /what-if".to_owned(), "jobtracker what-if --policy fair".to_owned()],
    })
}

async fn begin_play<O: Owner>(
    state: &WebState<O>,
    view: &View,
    headers: &HeaderMap,
    (body, place): (Body, Option<&RequestPlace>),
) -> Result<String, NotBegun> {
    if !is_from_own_page(headers) {
        let refused = Refused {
            status: StatusCode::FORBIDDEN,
            title: "This form is of another site".to_owned(),
            detail: "A page of another site must not begin a play here.".to_owned(),
            try_commands: vec!["/what-if".to_owned()],
        };
        return Err(refused.into());
    }
    let plays = plays_for(state, view).await?;
    if !is_form(headers) {
        let detail = format!("The body is expected to be {FORM}.");
        return Err(malformed(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
    }
    let Some(bytes) = read_small(body, MAX_BYTES, place).await else {
        let detail = format!("A whole form of at most {MAX_BYTES} bytes is expected.");
        return Err(malformed(StatusCode::PAYLOAD_TOO_LARGE, detail).into());
    };
    let form = read_form(&bytes).map_err(|detail| malformed(StatusCode::BAD_REQUEST, detail))?;
    let by = view.viewer().caller().user;
    plays.begin(form, &by).map_err(|refusal| match refusal {
        PlayRefusal::Busy { retry_s } => {
            let refused = Refused {
                status: StatusCode::TOO_MANY_REQUESTS,
                title: "Another play runs".to_owned(),
                detail: sentence(&refusal.to_string()),
                try_commands: vec!["/what-if".to_owned()],
            };
            NotBegun { refused, retry_s: Some(retry_s) }
        }
        PlayRefusal::Field { .. } => malformed(StatusCode::BAD_REQUEST, format!("{refusal}.")).into(),
        PlayRefusal::NotBegun(_) => Refused::unavailable(refusal.to_string()).into(),
    })
}

fn malformed(status: StatusCode, detail: String) -> Refused {
    let title = "The form cannot be used".to_owned();
    Refused { status, title, detail, try_commands: vec!["/what-if".to_owned()] }
}

/// Reads the fields; else what is wrong with one.
fn read_form(bytes: &[u8]) -> Result<PlayForm, String> {
    let excerpt = |text: &str| text.chars().take(SHOWN_CHARACTERS).collect::<String>();
    let mut fields = form_fields(bytes).ok_or_else(|| match repeated_field(bytes) {
        Some((name, _)) => format!("The field {} is there twice; each is expected once.", excerpt(&name)),
        None => "The fields are not URL-encoded UTF-8 text.".to_owned(),
    })?;
    if fields.is_empty() {
        return Err(format!("The form has no field; expected {FIELDS}."));
    }
    let mut take = |name: &str| fields.remove(name).unwrap_or_default().trim().to_owned();
    let [policy, set, nodes, orders, since, until] =
        ["policy", "set", "nodes", "orders", "since", "until"].map(&mut take);
    if let Some(unknown) = fields.keys().next() {
        return Err(format!("{:?} is no field of this form; expected {FIELDS}.", excerpt(unknown)));
    }
    let time = |name: &str, text: &str| match text.is_empty() {
        true => Ok(None),
        false => parse_utc_ms(text).map(Some).ok_or_else(|| format!("{name}: {:?} is not {TIME}.", excerpt(text))),
    };
    let (since_ms, until_ms) = (time("since", &since)?, time("until", &until)?);
    if since_ms.zip(until_ms).is_some_and(|(since_ms, until_ms)| until_ms <= since_ms) {
        return Err(format!("until: {:?} is not a time after since.", excerpt(&until)));
    }
    let lines = set.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(PlayForm {
        policy: if policy == AS_CONFIGURED { String::new() } else { policy },
        set: lines.map(str::to_owned).collect(),
        nodes,
        without_orders: match orders.as_str() {
            "" | "with" => false,
            "without" => true,
            other => return Err(format!("orders: {:?} is not with or without.", excerpt(other))),
        },
        since_ms,
        until_ms,
    })
}

/// The address of a play, as the same viewer sees it.
fn play_address(asked: &Asked, id: &str) -> String {
    asked.at(&format!("/what-if/{}", encoded(id)))
}

fn form(asked: &Asked, texts: &Texts) -> Block {
    let policy = if texts.policy.is_empty() { AS_CONFIGURED } else { &texts.policy };
    let orders = if texts.orders.is_empty() { "with" } else { &texts.orders };
    Block::Form(Form {
        action: asked.at("/what-if"),
        label: "What if",
        fields: vec![
            Field::choice("policy", "Policy", policy, &POLICIES),
            Field {
                has_lines: true,
                ..Field::text("set", "Keys with other values, KEY=VALUE, one a line", &*texts.set)
            },
            Field::text("nodes", "TaskTrackers, if not as there were", &*texts.nodes),
            Field::choice("orders", "Deadline orders", orders, &ORDERS),
            Field::text("since", "Jobs submitted since, UTC", &*texts.since),
            Field::text("until", "and before, UTC", &*texts.until),
        ],
        button: "Play",
        is_sent: true,
    })
}

fn about() -> Block {
    Block::line(format!(
        "The jobs of the past are played again in virtual time, through the engine that ran them: once as a start would be configured \
         now, and once as you ask. This changes nothing. One play runs at a time, below all other work, for 20 s of processor time \
         at most; what came of it is kept for ten minutes, of the newest {MOST_KEPT_PLAYS} plays.",
    ))
}

fn question_page(asked: &Asked, texts: &Texts, plays: &dyn Plays) -> Page {
    let conf = conf_option(plays);
    let columns = vec![
        Column::text("Play"),
        Column::text("Asked by"),
        Column::text("Begun"),
        Column::text("State"),
        Column::text("The same as a command"),
    ];
    let rows = plays.all().into_iter().map(|run| {
        vec![
            vec![Piece::link(play_address(asked, &run.id), &run.id)],
            vec![user_link(&run.by)],
            vec![Piece::moment(run.begun_ms)],
            vec![Piece::text(word(&run.state))],
            vec![Piece::code(command(&conf, &run.form))],
        ]
    });
    let table =
        Table::new("Plays, the newest first", columns, rows.collect()).or_empty(vec![Piece::text("None is kept.")]);
    Page {
        title: "What if".to_owned(),
        heading: vec![Piece::text("What if")],
        entry: "/what-if",
        sections: vec![
            Section::new("ask", "Ask", vec![about(), form(asked, texts)]),
            Section::new("plays", "Plays that are kept", vec![Block::Table(table)]),
        ],
        ..Page::default()
    }
}

/// For those who may not ask here.
fn command_page(refused: &Refused) -> Page {
    let blocks = vec![about(), Block::line(refused.detail.clone()), Block::Commands(refused.try_commands.clone())];
    Page {
        title: "What if".to_owned(),
        heading: vec![Piece::text("What if")],
        entry: "/what-if",
        sections: vec![Section::new("ask", "Ask", blocks)],
        ..Page::default()
    }
}

const fn word(state: &PlayState) -> &'static str {
    match state {
        PlayState::Running => "runs",
        PlayState::Done(_) => "done",
        PlayState::Failed(_) => "no answer",
    }
}

/// An option of a command; none where it is empty.
fn option(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" --{name} {}", as_shell_word(value)) }
}

/// The option that leads the command to the daemon's configuration.
fn conf_option(plays: &dyn Plays) -> String {
    option("conf", &plays.conf_dir().map(|folder| folder.display().to_string()).unwrap_or_default())
}

/// The command that asks the same.
fn command(conf: &str, form: &PlayForm) -> String {
    let Texts { policy, nodes, since, until, .. } = texts_of(form);
    let set: String = form.set.iter().map(|set| option("set", set)).collect();
    let orders = if form.without_orders { " --without-orders" } else { "" };
    format!(
        "jobtracker what-if{conf}{}{set}{}{orders}{}{} --jobs",
        option("policy", &policy),
        option("nodes", &nodes),
        option("since", &since),
        option("until", &until),
    )
}

fn outcome_page(asked: &Asked, run: &PlayRun, conf: &str, shows_costs: bool) -> Page {
    let mut summary = vec![
        ("State", vec![Piece::text(word(&run.state))]),
        ("Asked by", vec![user_link(&run.by)]),
        ("Begun", vec![Piece::moment(run.begun_ms)]),
    ];
    summary.extend(run.kept_until_ms.map(|until_ms| ("Kept until", vec![Piece::moment(until_ms)])));
    let mut sections = Vec::new();
    let (finding, refresh_s) = match &run.state {
        PlayState::Running => {
            sections.push(Section::new(
                "run",
                "It runs",
                vec![Block::Summary(summary), Block::line("The plays take 20 s of processor time at most.")],
            ));
            ("What-if runs".to_owned(), 1)
        }
        PlayState::Failed(why) => {
            let complaint = Block::Complaint(vec![Piece::sentence(&sentence(why))]);
            sections.push(Section::new("run", "No answer", vec![complaint, Block::Summary(summary)]));
            ("What-if has no answer".to_owned(), 0)
        }
        PlayState::Done(comparison) => {
            sections.extend(comparison_sections(comparison, summary, shows_costs));
            (finding(comparison), 0)
        }
    };
    let blocks = vec![
        Block::line("On the machine of the JobTracker, with any -D that it was started with:"),
        Block::Commands(vec![command(conf, &run.form)]),
        form(asked, &texts_of(&run.form)),
    ];
    sections.push(Section::new("again", "The same as a command, and other questions", blocks));
    Page {
        title: finding.clone(),
        heading: vec![Piece::text(finding)],
        entry: "/what-if",
        sections,
        refresh_s,
        ..Page::default()
    }
}

fn texts_of(form: &PlayForm) -> Texts {
    let time = |at_ms: Option<i64>| at_ms.map(utc_text).unwrap_or_default();
    Texts {
        policy: form.policy.clone(),
        set: form.set.join("\n"),
        nodes: form.nodes.clone(),
        orders: if form.without_orders { "without" } else { "with" }.to_owned(),
        since: time(form.since_ms),
        until: time(form.until_ms),
    }
}

/// What is other as asked, in a line.
fn finding(comparison: &PlayComparison) -> String {
    let Some(all) = comparison.groups.last() else { return "What if".to_owned() };
    let (asked, configured) = (all.asked.succeeded, all.configured.succeeded);
    let end = if asked == 1 { "ends" } else { "end" };
    let jobs = counted(all.jobs, "job");
    format!("What if: {asked} of {jobs} {end} well as asked, {configured} of {} as configured", all.jobs)
}

fn comparison_sections(
    comparison: &PlayComparison,
    summary: Vec<(&'static str, Cell)>,
    shows_costs: bool,
) -> Vec<Section> {
    let mut blocks = vec![Block::Summary(summary), Block::Table(settings_table(comparison))];
    blocks.extend(comparison.refusal_sentence().map(|why| Block::Complaint(vec![Piece::sentence(&format!("{why}."))])));
    let mut sections = vec![
        Section::new("run", "Both plays", blocks),
        Section::new("groups", "By queue", vec![Block::Table(group_table(&comparison.groups, shows_costs))]),
    ];
    if let Some(jobs) = &comparison.jobs {
        sections.push(Section::new("jobs", "Job by job", vec![Block::Table(job_table(jobs, shows_costs))]));
    }
    let assumed = comparison.assumed.iter().map(|line| vec![Piece::text(*line)]).collect();
    sections.push(Section::new("assumed", "Assumed", vec![Block::List(assumed)]));
    sections
}

fn settings_table(comparison: &PlayComparison) -> Table {
    let columns = vec![
        Column::text("Play"),
        Column::text("Scheduler"),
        Column::number("TaskTrackers"),
        Column::text("Set"),
        Column::text("Deadline orders"),
        Column::number("Jobs in another queue"),
        Column::text("Ends"),
    ];
    let row = |word: &str, settings: &PlaySettings| {
        vec![
            vec![Piece::text(word)],
            vec![Piece::text(&*settings.scheduler)],
            vec![Piece::number("nodes", settings.nodes)],
            vec![Piece::foreign(&settings.set.join(", "))],
            vec![Piece::text(ORDERS[usize::from(!settings.orders)])],
            vec![Piece::number("moved_jobs", settings.moved_jobs)],
            vec![Piece::moment(settings.end_ms)],
        ]
    };
    let caption = format!(
        "{} jobs are played; {} that are not finished are left out",
        comparison.jobs_played, comparison.jobs_not_finished
    );
    let rows = vec![row("as configured", &comparison.configured), row("as asked", &comparison.asked)];
    Table::new(caption, columns, rows)
}

fn group_table(groups: &[ComparedGroup], shows_costs: bool) -> Table {
    let mut columns = vec![
        Column::text("Queue"),
        Column::text("Play"),
        Column::number("Jobs"),
        Column::number("Ended well"),
        Column::number("Waiting, median"),
        Column::number("Waiting, 95 %"),
        Column::number("Running, median"),
        Column::number("Running, 95 %"),
        Column::number("Slot hours"),
        Column::number("Kills"),
        Column::text("Deadlines met"),
    ];
    if shows_costs {
        columns.push(Column::number("Cost"));
    }
    let row = |group: &ComparedGroup, play: &str, figures: &PlayFigures| {
        let name = group.group.as_deref().map_or_else(|| Piece::text("all"), queue_link);
        let time = |metric, ms: u64| match figures.has_ended() {
            true => vec![Piece::shown(metric, ms, tenths_text(ms))],
            false => vec![Piece::text("–")],
        };
        let mut row = vec![
            vec![name],
            vec![Piece::text(play)],
            vec![Piece::number("jobs", group.jobs)],
            vec![Piece::number("succeeded", figures.succeeded)],
            time("waiting_ms.median", figures.waiting_ms.median),
            time("waiting_ms.p95", figures.waiting_ms.p95),
            time("running_ms.median", figures.running_ms.median),
            time("running_ms.p95", figures.running_ms.p95),
            vec![Piece::shown("slot_ms", figures.slot_ms, figures.slot_hours_text())],
            vec![Piece::number("kills", figures.kills)],
            vec![Piece::text(figures.deadlines_text())],
        ];
        if shows_costs {
            row.push(vec![Piece::number("cost", figures.cost)]);
        }
        row
    };
    let rows = groups
        .iter()
        .flat_map(|group| [row(group, "as configured", &group.configured), row(group, "as asked", &group.asked)]);
    Table::new("Queues in both plays", columns, rows.collect()).cut()
}

fn job_table(jobs: &[ComparedJob], shows_costs: bool) -> Table {
    let mut columns = vec![
        Column::text("Job"),
        Column::text("User"),
        Column::text("Submitted"),
        Column::text("Then"),
        Column::text("As configured"),
        Column::text("As asked"),
        Column::text("Deadline"),
        Column::text("Met then"),
        Column::text("Met as configured"),
        Column::text("Met as asked"),
    ];
    if shows_costs {
        columns.extend([Column::number("Cost as configured"), Column::number("Cost as asked")]);
    }
    let rows = jobs.iter().map(|job| {
        let end = |end: &PlayedEnd| vec![Piece::text(job.end_text(end))];
        let met = |end: &PlayedEnd| vec![Piece::text(end.met_text())];
        let mut row = vec![
            vec![Piece::link(format!("/jobs/{}", job.job), &job.job.to_string())],
            vec![user_link(&job.user)],
            vec![Piece::moment(job.submitted_ms)],
            end(&job.recorded),
            end(&job.configured),
            end(&job.asked),
            vec![Piece::text(job.deadline_text())],
            met(&job.recorded),
            met(&job.configured),
            met(&job.asked),
        ];
        if shows_costs {
            let cost = |end: &PlayedEnd| vec![Piece::number("cost", end.cost.unwrap_or_default())];
            row.extend([cost(&job.configured), cost(&job.asked)]);
        }
        row
    });
    Table::new("Jobs, from submission to end", columns, rows.collect()).cut()
}

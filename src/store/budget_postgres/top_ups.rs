//! The inbox of top-ups: rows that others insert, each answered once.

use tokio_postgres::Client;

use crate::market::{TopUp, TopUpAnswer};
use crate::model::Credits;
use crate::store::fault_point::FaultPoint;

use super::error::PostgresError;
use super::publish::write;
use super::shown::shown_for_update;

/// Rows that are taken over together.
pub(super) const BATCH_ROWS: i64 = 1_000;
/// Refused rows of those that are logged one by one.
const LOGGED_ROWS: usize = 20;
/// Of references that cannot be answered so many are named.
const NAMED: usize = 3;
/// Of longer texts the beginning, which is too long still: a table of before may have rows of any length.
const WAITING: &str =
    "SELECT reference, left(account, 256), amount::text, left(note, 257), left(made_by, 64) FROM jobtracker.top_up
    WHERE state = 'waiting' AND EXISTS (SELECT 1 FROM jobtracker.publication WHERE publication.state = $2)
    ORDER BY made_at, reference LIMIT $1";
/// Says how many of them were waiting, and how many are answered.
const ANSWER: &str = "WITH new AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS new (reference, state, answer)
    ), written AS (
        UPDATE jobtracker.top_up AS row SET state = new.state, answer = new.answer, answered_at = now(),
            taken_by = CASE new.state WHEN 'taken' THEN $4 END
        FROM new WHERE row.reference = new.reference AND row.state = 'waiting'
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM new JOIN jobtracker.top_up AS row USING (reference) WHERE row.state = 'waiting'),
        (SELECT count(*) FROM written)";

/// The oldest rows without an answer, where the tables are this state database's. One with an amount that is none is answered at once.
pub(super) async fn find(client: &mut Client, state: &str) -> Result<Vec<TopUp>, PostgresError> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for row in client.query(WAITING, &[&BATCH_ROWS, &state]).await? {
        let text = |column: usize| row.try_get::<_, &str>(column).map(str::to_owned);
        let (reference, amount) = (text(0)?, text(2)?);
        match Credits::parse_exact(&amount) {
            Ok(amount) => {
                let (queue, note, made_by) = (text(1)?, text(3)?, text(4)?);
                found.push(TopUp { reference, queue, amount, made_by, note });
            }
            Err(error) => refused.push(TopUpAnswer { reference, outcome: Err(format!("amount: {error}")) }),
        }
    }
    if !refused.is_empty()
        && let Err(error) = answer(client, state, &refused).await
    {
        if found.is_empty() {
            return Err(error);
        }
        tracing::warn!("{error}; the others are taken over");
    }
    if !found.is_empty() {
        FaultPoint::TopUpsFound.pass();
    }
    Ok(found)
}

/// Answers all rows together; where that fails, each alone, and the error names those that cannot be.
pub(super) async fn answer(client: &mut Client, state: &str, answers: &[TopUpAnswer]) -> Result<(), PostgresError> {
    let is_of_rows = |error: &PostgresError| {
        matches!(error, PostgresError::NotWritten { .. })
            || matches!(error, PostgresError::Client(error) if error.as_db_error().is_some())
    };
    match answer_together(client, state, answers).await {
        Err(error) if is_of_rows(&error) => {}
        done => return done,
    }
    let (mut references, mut first) = (Vec::new(), None);
    for alone in answers.chunks(1) {
        match answer_together(client, state, alone).await {
            Ok(()) => {}
            Err(error) if is_of_rows(&error) => {
                references.extend(alone.iter().map(|answer| answer.reference.as_str()));
                first = first.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    let Some(error) = first else { return Ok(()) };
    let more = references.len().saturating_sub(NAMED);
    references.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(PostgresError::TopUps { references: format!("{}{more}", references.join(", ")), source: Box::new(error) })
}

/// Answers rows or none, and logs those that are refused: who made them may not look again.
async fn answer_together(client: &mut Client, state: &str, answers: &[TopUpAnswer]) -> Result<(), PostgresError> {
    let transaction = client.transaction().await?;
    if shown_for_update(&transaction, state).await?.state.is_none() {
        // Once the tables are ours they are found again.
        return Ok(());
    }
    let (mut references, mut states, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for TopUpAnswer { reference, outcome } in answers {
        references.push(reference);
        let (state, text) = match outcome {
            Ok(taken) => ("taken", format!("{} to {}, ledger entry {}", taken.amount, taken.queue, taken.ledger)),
            Err(reason) => ("refused", reason.clone()),
        };
        states.push(state);
        texts.push(text);
    }
    write(&transaction, "top_up", ANSWER, &[&references, &states, &texts, &state]).await?;
    transaction.commit().await?;
    FaultPoint::TopUpsAnswered.pass();
    let mut refused = answers.iter().filter_map(|answer| Some((&answer.reference, answer.outcome.as_ref().err()?)));
    for (reference, reason) in refused.by_ref().take(LOGGED_ROWS) {
        tracing::warn!("the top-up {reference:.100} by SQL is refused: {reason}");
    }
    match refused.count() {
        0 => {}
        more => tracing::warn!("and {more} more top-ups by SQL are refused"),
    }
    Ok(())
}

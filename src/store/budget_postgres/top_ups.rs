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

/// The oldest rows without an answer, where the tables are this state database's. One with an amount that is none is
/// answered at once.
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
    if !refused.is_empty() {
        answer(client, state, &refused).await?;
    }
    if !found.is_empty() {
        FaultPoint::TopUpsFound.pass();
    }
    Ok(found)
}

/// Answers rows, and logs those that are refused: who made them may not look again.
pub(super) async fn answer(client: &mut Client, state: &str, answers: &[TopUpAnswer]) -> Result<(), PostgresError> {
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

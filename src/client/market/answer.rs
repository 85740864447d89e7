//! Lenient parser of `/scheduler`'s XML: accepts the document's wrapped queues and the original's bare ones. Amounts are kept as texts:
//! nothing is computed with them here, and the original writes some with an exponent.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::Serialize;

/// One queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueLine {
    /// Its name; empty if the answer omits it.
    pub queue: String,
    /// Its balance, credits.
    pub budget: String,
    /// The rate or the bid, credits for one slot over one interval.
    pub spending: String,
    /// Its share; empty if the original omits it.
    pub share: String,
    /// Slots used within the quota at the last tick.
    pub used: u64,
    /// Tasks that waited at the last tick.
    pub pending: u64,
}

/// A quote of a rate at the next tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuoteLine {
    /// The queue.
    pub queue: String,
    /// The rate, credits for one slot over one interval.
    pub rate: String,
    /// The price that would be published, credits.
    pub price: String,
    /// Its share.
    pub share: String,
    /// Its quota of map slots.
    pub map_slots: u32,
    /// Its quota of reduce slots.
    pub reduce_slots: u32,
    /// Its quota of slots for containers beside what maps and reduces leave of theirs; 0 if the answer omits it.
    pub container_slots: u32,
    /// Its balance after the current interval is charged, credits.
    pub budget: String,
    /// Time that the balance lasts with all of these slots in use, seconds; `None` if nothing would be charged.
    pub full_use_lasts_s: Option<u64>,
    /// The same at the present usage.
    pub present_use_lasts_s: Option<u64>,
}

/// A parsed answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarketAnswer {
    /// The sum of the effective rates, credits.
    pub price: Option<String>,
    /// When the server started, epoch ms.
    pub start_ms: Option<i64>,
    /// The server's clock, epoch ms.
    pub time_ms: Option<i64>,
    /// The queues, in the order of the answer.
    pub queues: Vec<QueueLine>,
    /// A quote.
    pub quote: Option<QuoteLine>,
    /// Why the request was refused.
    pub error: Option<String>,
}

/// An invalid answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid market answer: {0}")]
pub struct AnswerError(String);

impl MarketAnswer {
    /// Parses an answer.
    ///
    /// # Errors
    /// Not XML, no frame, or a time that is not a number.
    pub fn parse(text: &str) -> Result<MarketAnswer, AnswerError> {
        let wrong = |error: &dyn std::fmt::Display| AnswerError(error.to_string());
        let mut reader = Reader::from_str(text);
        let mut walk = AnswerParser::default();
        loop {
            match reader.read_event().map_err(|error| wrong(&error))? {
                Event::Start(element) => walk.open(&element)?,
                Event::Text(text) => walk.content.push_str(&text),
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().map_err(|error| wrong(&error))?;
                    let named = quick_xml::escape::resolve_predefined_entity(&reference);
                    walk.content.extend(character);
                    walk.content.push_str(named.unwrap_or_default());
                }
                Event::End(element) => walk.close(element.name().as_ref())?,
                Event::Eof if walk.has_frame => return Ok(walk.answer),
                Event::Eof => return Err(AnswerError("the element QueueInfo is missing".to_owned())),
                Event::Empty(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => {}
            }
        }
    }
}

#[derive(Default)]
struct AnswerParser {
    answer: MarketAnswer,
    content: String,
    has_frame: bool,
    is_within_queue: bool,
    /// The quote being parsed.
    quote: Option<QuoteLine>,
}

impl AnswerParser {
    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), AnswerError> {
        self.content.clear();
        match element.name().as_ref() {
            "QueueInfo" => self.has_frame = true,
            "queue" => {
                let queue = attribute(element, "name")?;
                self.answer.queues.push(QueueLine { queue, ..QueueLine::default() });
                self.is_within_queue = true;
            }
            "quote" => self.quote = Some(QuoteLine { queue: attribute(element, "queue")?, ..QuoteLine::default() }),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), AnswerError> {
        let content = std::mem::take(&mut self.content).trim().to_owned();
        if let Some(quote) = &mut self.quote {
            match name {
                "quote" => self.answer.quote = self.quote.take(),
                _ => quote.take(name, content)?,
            }
            return Ok(());
        }
        match name {
            "queue" => self.is_within_queue = false,
            "price" => self.answer.price = Some(content),
            "error" => self.answer.error = Some(content),
            "start" => self.answer.start_ms = Some(number(name, &content)?),
            "time" => self.answer.time_ms = Some(number(name, &content)?),
            "budget" => self.queue().budget = content,
            "spending" => self.queue().spending = content,
            "share" => self.queue().share = content,
            "used" => self.queue().used = number(name, &content)?,
            "pending" => self.queue().pending = number(name, &content)?,
            _ => {}
        }
        Ok(())
    }

    /// The queue being parsed: the original's single queues have no element of their own.
    fn queue(&mut self) -> &mut QueueLine {
        if !self.is_within_queue && self.answer.queues.is_empty() {
            self.answer.queues.push(QueueLine::default());
        }
        let last = self.answer.queues.len().saturating_sub(1);
        &mut self.answer.queues[last]
    }
}

impl QuoteLine {
    fn take(&mut self, name: &str, content: String) -> Result<(), AnswerError> {
        match name {
            "rate" => self.rate = content,
            "price" => self.price = content,
            "share" => self.share = content,
            "budget" => self.budget = content,
            "mapSlots" => self.map_slots = number(name, &content)?,
            "reduceSlots" => self.reduce_slots = number(name, &content)?,
            "containerSlots" => self.container_slots = number(name, &content)?,
            "fullUseLasts" => self.full_use_lasts_s = Some(number(name, &content)?),
            "presentUseLasts" => self.present_use_lasts_s = Some(number(name, &content)?),
            _ => {}
        }
        Ok(())
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<String, AnswerError> {
    let wrong = |error: &dyn std::fmt::Display| AnswerError(error.to_string());
    let value = element.try_get_attribute(name).map_err(|error| wrong(&error))?;
    let value = value.map(|value| value.normalized_value(XmlVersion::Implicit1_0)).transpose();
    Ok(value.map_err(|error| wrong(&error))?.unwrap_or_default().into_owned())
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, AnswerError> {
    text.parse().map_err(|_| AnswerError(format!("<{name}> contains {text:?}; expected a number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::answer::{Answer, QueueInfo, render, render_error};
    use crate::market::{Quote, Share};
    use crate::model::{PerPool, QueueName};

    fn line(queue: &str, share: &str) -> QueueLine {
        QueueLine {
            queue: queue.to_owned(),
            budget: "12.5".to_owned(),
            spending: "0.5".to_owned(),
            share: share.to_owned(),
            used: 1,
            pending: 43,
        }
    }

    fn info(queue: &str) -> QueueInfo {
        QueueInfo {
            queue: QueueName::new(queue).unwrap(),
            budget: "12.5".parse().unwrap(),
            spending: "0.5".parse().unwrap(),
            share: Share::new("0.5".parse().unwrap(), "2".parse().unwrap()),
            used: 1,
            pending: 43,
        }
    }

    #[test]
    fn answers_of_the_server_are_parsed() {
        let answer = Answer::Queues { price: "2".parse().unwrap(), queues: vec![info("alice"), info("b@c")] };
        let read = MarketAnswer::parse(&render(&answer, "h")).unwrap();
        assert_eq!(read.price.as_deref(), Some("2.0"));
        assert_eq!(read.queues, [line("alice", "0.250000000"), line("b@c", "0.250000000")]);
        let time = MarketAnswer::parse(&render(&Answer::Time { start_ms: 5, now_ms: 7 }, "h")).unwrap();
        assert_eq!((time.start_ms, time.time_ms), (Some(5), Some(7)));
        let error = MarketAnswer::parse(&render_error("a<b> & 'c'", "h")).unwrap();
        assert_eq!(error.error.as_deref(), Some("a<b> & 'c'"));
    }

    #[test]
    fn quotes_are_read() {
        let quote = Quote {
            queue: QueueName::new("alice").unwrap(),
            rate: "0.5".parse().unwrap(),
            is_funded: true,
            price: "2".parse().unwrap(),
            share: Share::new("0.5".parse().unwrap(), "2".parse().unwrap()),
            quota: PerPool::new(0, 0, 2),
            balance: "12.5".parse().unwrap(),
            running: Default::default(),
            full_use_lasts_s: Some(7),
            present_use_lasts_s: None,
        };
        let read = MarketAnswer::parse(&render(&Answer::Quote(quote), "h")).unwrap();
        assert!(read.queues.is_empty() && read.price.is_none());
        let text = |text: &str| text.to_owned();
        let line = QuoteLine {
            queue: text("alice"),
            rate: text("0.5"),
            price: text("2.0"),
            share: text("0.250000000"),
            map_slots: 0,
            reduce_slots: 0,
            container_slots: 2,
            budget: text("12.5"),
            full_use_lasts_s: Some(7),
            present_use_lasts_s: None,
        };
        assert_eq!(read.quote, Some(line));
    }

    #[test]
    fn the_originals_bare_elements_are_read() {
        let text = "<QueueInfo><host>h</host>\n<budget>12.5</budget>\n<spending>0.5</spending>\n<used>1</used>\n\
                    <pending>43</pending>\n</QueueInfo>\n";
        assert_eq!(MarketAnswer::parse(text).unwrap().queues, [line("", "")]);
    }

    #[test]
    fn invalid_answers_are_refused() {
        for text in ["", "hello", "<html></html>", "<QueueInfo><time>x</time></QueueInfo>", "<QueueInfo></a>"] {
            assert!(MarketAnswer::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(MarketAnswer::parse("<QueueInfo></QueueInfo>"), Ok(MarketAnswer::default()));
    }
}

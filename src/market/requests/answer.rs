//! Answers of `/scheduler` and their XML: the document's elements, each queue wrapped and all of it indented.

use std::fmt::Write as _;

use crate::api::{OrderStatus, QueueStatus};
use crate::market::money::{Account, PublishedAccount, Quote, Share};
use crate::model::{Credits, QueueName};

use super::job_request::JobAnswer;
use super::query::Operation;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The frame without content: for an empty request and for a removal.
    Frame,
    Price(Credits),
    /// The server's clock, from which clients take their timestamps.
    Time {
        /// When the server started, epoch ms.
        start_ms: i64,
        now_ms: i64,
    },
    Queue(QueueInfo),
    /// All queues, by name.
    Queues {
        price: Credits,
        queues: Vec<QueueInfo>,
    },
    /// The signer may read the history of this queue, whether it exists or not. The caller reads it.
    Statement(QueueName),
    /// The signer may do this, and it takes more than the market to answer: the caller does.
    Permitted(Operation),
    Quote(Quote),
    /// A queue, live, with its orders by job.
    Orders {
        info: QueueInfo,
        orders: Vec<OrderStatus>,
    },
    Worker {
        /// Its name, by which it is drained.
        worker: String,
        is_draining: bool,
        used: u64,
    },
    QueuePaused {
        queue: String,
        is_paused: bool,
    },
    QueueStatuses(Vec<QueueStatus>),
    Job(JobAnswer),
}

/// One queue, as published at a tick or live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    pub(crate) queue: QueueName,
    pub(crate) budget: Credits,
    /// PublishedAccount: the effective rate. Live: the bid.
    pub(crate) spending: Credits,
    /// Its part of the cluster since the last tick.
    pub(crate) share: Share,
    /// Slots used within the quota at the last tick.
    pub(crate) used: u64,
    /// Tasks that waited at the last tick.
    pub(crate) pending: u64,
}

impl QueueInfo {
    /// As `info` and `infos` show a queue: the state at the last tick.
    pub(super) fn published(queue: &QueueName, account: &Account) -> QueueInfo {
        let PublishedAccount { budget, rate, share, used, pending } = *account.published();
        QueueInfo { queue: queue.clone(), budget, spending: rate, share, used, pending }
    }

    /// As changes answer it: the present balance and bid, the rest from the last tick.
    pub(crate) fn live(queue: &QueueName, account: &Account) -> QueueInfo {
        QueueInfo { budget: account.balance(), spending: account.bid(), ..QueueInfo::published(queue, account) }
    }
}

/// A host name up to its first dot, as answers show it.
pub(crate) fn short_host(host: &str) -> &str {
    host.split_once('.').map_or(host, |(first, _)| first)
}

/// The XML of an answer; `host` is shown as given.
pub(crate) fn render(answer: &Answer, host: &str) -> String {
    let mut xml = AnswerFrame::open(host);
    match answer {
        // Answered as JSON.
        Answer::Frame | Answer::Statement(_) | Answer::Permitted(_) | Answer::QueueStatuses(_) => {}
        Answer::Worker { worker, is_draining, used } => xml.worker(worker, *is_draining, *used),
        Answer::QueuePaused { queue, is_paused } => xml.pause(queue, *is_paused),
        Answer::Quote(quote) => xml.quote(quote),
        Answer::Job(job) => xml.job(job),
        Answer::Price(price) => xml.element(1, "price", price),
        Answer::Time { start_ms, now_ms } => {
            xml.element(1, "start", start_ms);
            xml.element(1, "time", now_ms);
        }
        Answer::Queue(info) => xml.queue(info),
        Answer::Orders { info, orders } => {
            xml.queue(info);
            orders.iter().for_each(|order| xml.order(order));
        }
        Answer::Queues { price, queues } => {
            xml.element(1, "price", price);
            queues.iter().for_each(|info| xml.queue(info));
        }
    }
    xml.close()
}

pub(crate) fn render_error(message: &str, host: &str) -> String {
    let mut xml = AnswerFrame::open(host);
    xml.element(1, "error", message);
    xml.close()
}

/// A `QueueInfo` document being written. Writing to a string cannot fail.
struct AnswerFrame {
    text: String,
}

impl AnswerFrame {
    fn open(host: &str) -> AnswerFrame {
        let mut frame = AnswerFrame { text: String::from("<QueueInfo>\n") };
        frame.element(1, "host", host);
        frame
    }

    fn element(&mut self, depth: usize, name: &str, value: impl ToString) {
        let value = escape(&value.to_string());
        let _ = writeln!(self.text, "{:indent$}<{name}>{value}</{name}>", "", indent = depth * 2);
    }

    fn queue(&mut self, info: &QueueInfo) {
        let _ = writeln!(self.text, "  <queue name=\"{}\">", escape(info.queue.as_str()));
        self.element(2, "budget", info.budget);
        self.element(2, "spending", info.spending);
        self.element(2, "share", info.share);
        self.element(2, "used", info.used);
        self.element(2, "pending", info.pending);
        self.text.push_str("  </queue>\n");
    }

    fn quote(&mut self, quote: &Quote) {
        let _ = writeln!(self.text, "  <quote queue=\"{}\">", escape(quote.queue.as_str()));
        self.element(2, "rate", quote.rate);
        self.element(2, "price", quote.price);
        self.element(2, "share", quote.share);
        self.element(2, "mapSlots", quote.quota.map);
        self.element(2, "reduceSlots", quote.quota.reduce);
        self.element(2, "containerSlots", quote.quota.container);
        self.element(2, "budget", quote.balance);
        for (name, lasts_s) in
            [("fullUseLasts", quote.full_use_lasts_s), ("presentUseLasts", quote.present_use_lasts_s)]
        {
            if let Some(lasts_s) = lasts_s {
                self.element(2, name, lasts_s);
            }
        }
        self.text.push_str("  </quote>\n");
    }

    fn worker(&mut self, worker: &str, is_draining: bool, used: u64) {
        let _ = writeln!(self.text, "  <worker name=\"{}\">", escape(worker));
        self.element(2, "draining", is_draining);
        self.element(2, "usedSlots", used);
        self.text.push_str("  </worker>\n");
    }

    fn pause(&mut self, queue: &str, is_paused: bool) {
        let _ = writeln!(self.text, "  <queue name=\"{}\">", escape(queue));
        self.element(2, "paused", is_paused);
        self.text.push_str("  </queue>\n");
    }

    fn order(&mut self, order: &OrderStatus) {
        let _ = writeln!(self.text, "  <order job=\"{}\">", order.job);
        self.element(2, "deadline", order.deadline_ms);
        self.element(2, "maxRate", order.max_rate);
        if let Some(max_cost) = order.max_cost {
            self.element(2, "maxCost", max_cost);
        }
        self.element(2, "state", order.state.name());
        if let Some(rate) = order.sufficient_rate {
            self.element(2, "sufficientRate", rate);
        }
        if let Some(cost) = order.cost {
            self.element(2, "cost", cost);
        }
        self.text.push_str("  </order>\n");
    }

    fn job(&mut self, answer: &JobAnswer) {
        let JobAnswer { job, attempt, state, is_ending, priority } = answer;
        let _ = writeln!(self.text, "  <job id=\"{job}\">");
        if let Some(attempt) = attempt {
            self.element(2, "attempt", attempt);
        }
        self.element(2, "state", state);
        self.element(2, "ending", is_ending);
        self.element(2, "priority", priority);
        self.text.push_str("  </job>\n");
    }

    fn close(mut self) -> String {
        self.text.push_str("</QueueInfo>\n");
        self.text
    }
}

/// Text as XML 1.0 can hold it: markup escaped, characters it forbids replaced.
fn escape(text: &str) -> String {
    let is_forbidden = |c: char| matches!(c, '\u{FFFE}' | '\u{FFFF}') || (c.is_control() && !matches!(c, '\t' | '\n'));
    quick_xml::escape::escape(text.replace(is_forbidden, "\u{FFFD}")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits(text: &str) -> Credits {
        Credits::parse_exact(text).unwrap()
    }

    fn queue1() -> QueueInfo {
        QueueInfo {
            queue: QueueName::new("queue1").unwrap(),
            budget: credits("99972"),
            spending: credits("0.11"),
            share: Share::new(credits("0.11"), credits("12.249998")),
            used: 1,
            pending: 43,
        }
    }

    #[test]
    fn a_queue_is_the_documents_sample() {
        insta::assert_snapshot!(render(&Answer::Queue(queue1()), "myhost"), @r#"
        <QueueInfo>
          <host>myhost</host>
          <queue name="queue1">
            <budget>99972.0</budget>
            <spending>0.11</spending>
            <share>0.008979593</share>
            <used>1</used>
            <pending>43</pending>
          </queue>
        </QueueInfo>
        "#);
    }

    #[test]
    fn time_and_price_are_the_documents_samples() {
        let time = Answer::Time { start_ms: 1_238_600_160_788, now_ms: 1_238_605_061_519 };
        insta::assert_snapshot!(render(&time, "myhost"), @r"
        <QueueInfo>
          <host>myhost</host>
          <start>1238600160788</start>
          <time>1238605061519</time>
        </QueueInfo>
        ");
        insta::assert_snapshot!(render(&Answer::Price(credits("12.249998")), "myhost"), @r"
        <QueueInfo>
          <host>myhost</host>
          <price>12.249998</price>
        </QueueInfo>
        ");
    }

    #[test]
    fn all_queues_follow_the_price() {
        let second = QueueInfo { queue: QueueName::new("r").unwrap(), share: Share::ZERO, ..queue1() };
        let answer = Answer::Queues { price: credits("12.249998"), queues: vec![queue1(), second] };
        insta::assert_snapshot!(render(&answer, "h"), @r#"
        <QueueInfo>
          <host>h</host>
          <price>12.249998</price>
          <queue name="queue1">
            <budget>99972.0</budget>
            <spending>0.11</spending>
            <share>0.008979593</share>
            <used>1</used>
            <pending>43</pending>
          </queue>
          <queue name="r">
            <budget>99972.0</budget>
            <spending>0.11</spending>
            <share>0.000000000</share>
            <used>1</used>
            <pending>43</pending>
          </queue>
        </QueueInfo>
        "#);
    }

    #[test]
    fn a_quote_has_an_element_of_its_own() {
        let quote = Quote {
            queue: QueueName::new("queue1").unwrap(),
            rate: credits("0.11"),
            is_funded: true,
            price: credits("12.249998"),
            share: Share::new(credits("0.11"), credits("12.249998")),
            quota: crate::model::PerPool::new(3, 1, 2),
            balance: credits("99972"),
            running: crate::model::PerPool::new(1, 0, 0),
            full_use_lasts_s: Some(4_544_181),
            present_use_lasts_s: None,
        };
        insta::assert_snapshot!(render(&Answer::Quote(quote), "h"), @r#"
        <QueueInfo>
          <host>h</host>
          <quote queue="queue1">
            <rate>0.11</rate>
            <price>12.249998</price>
            <share>0.008979593</share>
            <mapSlots>3</mapSlots>
            <reduceSlots>1</reduceSlots>
            <containerSlots>2</containerSlots>
            <budget>99972.0</budget>
            <fullUseLasts>4544181</fullUseLasts>
          </quote>
        </QueueInfo>
        "#);
    }

    #[test]
    fn the_empty_request_gets_the_frame() {
        assert_eq!(render(&Answer::Frame, "h"), "<QueueInfo>\n  <host>h</host>\n</QueueInfo>\n");
    }

    /// Defect 23: the original escaped nothing.
    #[test]
    fn defect_23_everything_shown_is_escaped() {
        insta::assert_snapshot!(render_error("a<b> & \"c\" 'd'\u{0}\u{1b}", "<h>"), @r"
        <QueueInfo>
          <host>&lt;h&gt;</host>
          <error>a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;��</error>
        </QueueInfo>
        ");
    }

    #[test]
    fn hosts_are_cut_at_the_first_dot() {
        assert_eq!(
            [short_host("myhost.example.com"), short_host("myhost"), short_host("10.0.0.1")],
            ["myhost", "myhost", "10"]
        );
    }
}

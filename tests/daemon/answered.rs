//! An answer of `/scheduler`, taken apart as a client does that looks for elements by their names.

/// An HTTP answer.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    /// All after the status.
    pub reason: String,
    /// In lower case.
    pub headers: String,
    pub body: String,
}

// === impl Answered ===

impl Answered {
    pub fn parse(answer: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let (status_line, headers) = head.split_once("\r\n").unwrap();
        let rest = status_line.strip_prefix("HTTP/1.1 ").unwrap();
        let (status, reason) = rest.split_once(' ').unwrap();
        Self {
            status: status.parse().unwrap(),
            reason: reason.to_owned(),
            headers: headers.to_lowercase(),
            body: body.to_owned(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The text of the first element of that name, wherever it stands.
    pub fn element(&self, name: &str) -> String {
        let found = self.body.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once("</"));
        found.map(|(text, _)| text.to_owned()).unwrap_or_else(|| panic!("no {name} in {}", self.body))
    }

    /// The elements of a queue, in the order of the document's sample.
    pub fn queue(&self) -> [String; 5] {
        ["budget", "spending", "share", "used", "pending"].map(|name| self.element(name))
    }

    /// Whether it is the document's denial of that query.
    pub fn is_denial_of(&self, query: &str) -> bool {
        self.status == 500 && self.reason == format!("ACCESS DENIED: {query}")
    }

    pub fn is_denied(&self) -> bool {
        self.status == 500 && self.reason.starts_with("ACCESS DENIED: ") && self.body.starts_with("ACCESS DENIED: ")
    }

    /// The second line of a denial: why, for those whose signature was good.
    pub fn why(&self) -> &str {
        self.body.lines().nth(1).unwrap_or_default()
    }
}

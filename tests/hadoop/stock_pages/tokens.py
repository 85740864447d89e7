"""An answer as tokens: pairs of a context, which says where a text stands, and the text.

Of a page these are the starts of elements with their ids and links, and texts; the context is `@` with the text in front, or `@row ` with the
first text of the row. Left out are what ours has in another way on purpose (as in src/web/stock/tests/tokens.rs): ends of elements, other attributes, scripts
and styles, the page that loads itself again, `<main>`, the scrolling `<div>`, the link in front, and the pictures of tasks.
"""

import html.parser
import json
import re
import xml.etree.ElementTree

LEFT_OUT = {"meta", "main", "link", "head", "body", "html", "script", "style", "embed", "noscript"}
# Attributes of pictures that are a matter of taste.
COLOURS = {"style", "fill", "stroke", "class", "xmlns", "role", "aria-label", "viewBox", "width", "height", "font-family", "text-anchor", "font-size"}
# The end of a table, which in_order() takes out.
END = "</table>"
# What an entry of a list is called by.
KEYS = ("jobId", "taskId", "attemptId", "groupName", "name", "key", "hostname")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tokens = []
        self.row = None
        self.label = ""
        self.skipped = []
        self.text = []

    def handle_starttag(self, tag, attributes):
        self.flush()
        given = dict(attributes)
        if tag in ("script", "style", "svg") or "newpage" in (given.get("class") or "").split():
            self.skipped.append(tag)
        if self.skipped or tag in LEFT_OUT or (tag == "div" and given.get("class") == "wide"):
            return
        if tag == "tr":
            self.row = ""
        # A browser takes line breaks out of an address.
        plain = {name: "".join(value.split()) if name == "href" else value for name, value in attributes if value is not None}
        kept = "".join(f" {name}={plain[name]}" for name in ("id", "href") if name in plain)
        self.tokens.append((self.context(), f"<{tag}{kept}>"))

    def handle_endtag(self, tag):
        self.flush()
        if self.skipped and tag == self.skipped[-1]:
            self.skipped.pop()
        if tag in ("table", "tr"):
            self.row = None
        if tag == "table" and not self.skipped:
            self.tokens.append(("@", END))

    def handle_data(self, data):
        if not self.skipped:
            self.text.append(data)

    def flush(self):
        text = " ".join("".join(self.text).split())
        self.text = []
        if not text:
            return
        self.tokens.append((self.context(), text))
        if self.row == "":
            self.row = text
        elif self.row is None:
            self.label = text

    def context(self):
        return f"@{self.label}" if self.row is None else f"@row {self.row}"


def of_page(body):
    page = Page()
    page.feed(body)
    page.close()
    page.flush()
    return page.tokens


def in_order(name, found):
    """The same with rows in the order of their texts where a table has the order of a hash table: counters, keys and queues."""
    ordered, place = [], 0
    while place < len(found):
        end = next((at for at in range(place + 1, len(found)) if found[at][1] in (END, "<table>")), len(found))
        if found[place][1] == "<table>" and end < len(found) and found[end][1] == END:
            ordered += ordered_table(name, found[place:end])
            place = end
        else:
            ordered.append(found[place])
            place += 1
    return [token for token in ordered if token[1] != END]


def ordered_table(name, table):
    texts = [text for _, text in table]
    has_counters = "Counter" in texts or "/taskstats" in name
    if not (has_counters or "/jobconf" in name or any("jobqueue_details.jsp?queueName=" in text for text in texts)):
        return table
    rows, row = [], []
    for token in table[1:]:
        if token[1] == "<tr>" and row:
            rows.append(row)
            row = []
        row.append(token)
    rows += [row] if row else []
    heads = [row for row in rows if "<th>" in [text for _, text in row] or row[0][1] != "<tr>"]
    bodies, group = [], ""
    for row in rows:
        cells = [text for _, text in row if not text.startswith("<")]
        if row in heads or not cells:
            continue
        if has_counters and len(cells) in (1, 5):
            # The name of the group, in a row of its own or in a cell before its first counter.
            group, cells = cells[0], cells[1:]
            if not cells:
                continue
        if has_counters:
            bodies.append([(f"@row {cells[0]}", text) for text in (f"{group} / {cells[0]}", *cells[1:])])
        else:
            bodies.append(row)
    return [table[0], *(token for row in heads for token in row), *(token for row in sorted(bodies, key=lambda row: [text for _, text in row]) for token in row)]


def of_json(body):
    return of_value("", json.loads(body))


def of_value(path, value):
    """Each key and each plain value, in the order of paths: that of keys means nothing."""
    if isinstance(value, dict):
        parts = [of_value(f"{path}.{name}", part) for name, part in value.items()]
        return sorted(token for part in parts for token in part)
    if isinstance(value, list):
        found = []
        for place, part in enumerate(value):
            keys = [str(part[key]) for key in KEYS if isinstance(part, dict) and key in part]
            found += of_value(f"{path}[{keys[0] if keys else place}]", part)
        return sorted(found) or [(path, "[]")]
    # Texts of /jmx hold JSON.
    if isinstance(value, str) and re.match(r"^[\[{]", value) and path.endswith("Json"):
        return of_value(path + "!", json.loads(value))
    return [(path, json.dumps(value, ensure_ascii=False))]


def of_picture(body):
    found = []
    for element in xml.etree.ElementTree.fromstring(body).iter():
        name = element.tag.rsplit("}", 1)[-1]
        kept = "".join(f" {key}={value}" for key, value in sorted(element.attrib.items()) if key not in COLOURS)
        found.append((name, f"<{name}{kept}>"))
        if (element.text or "").strip():
            found.append((name, " ".join(element.text.split())))
    return found


def of_configuration(body):
    root = xml.etree.ElementTree.fromstring(body)
    pairs = {property.findtext("name"): property.findtext("value") or "" for property in root.iter("property")}
    return [(name, pairs[name]) for name in sorted(pairs)]


def of_history(body):
    """The value of each key of a line, by what the line is about; what happens at one time stands in any order."""
    found, lines = [], {}
    for line in body.splitlines():
        kind, _, rest = line.partition(" ")
        pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', rest)
        about = " ".join([kind, *(value for key, value in pairs if key in ("JOBID", "TASKID", "TASK_ATTEMPT_ID")), *(key for key, _ in pairs)])
        lines[about] = lines.get(about, 0) + 1
        start = f"{about.split(' TASK_TYPE')[0]} {lines[about]}.{len(pairs)}"
        for key, value in pairs:
            found += of_counters(f"{start} {key}", value) if key.endswith("COUNTERS") else [(f"{start} {key}", value)]
    return sorted(found)


def of_counters(context, value):
    """Counters in the compact text of history files, in which groups and counters have no order."""
    found = [(context, "")]
    for group in value.strip("{}").split("}{"):
        head, _, rest = group.partition("[")
        for counter in rest.rstrip("]").split("]["):
            name, _, number = counter.rpartition("(")
            found.append((f"{context} {head}{name}", number.rstrip(")")))
    return found


def of_scheduler(found):
    """The cells of the rows of a scheduler's page; its frame, its forms and a column are ours."""
    forms = {"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW", "Move", "Set", "Held back by"}
    return [token for token in found if token[0].startswith("@row") and not token[1].startswith("<") and token[1] not in forms]


def of_words(body):
    return [("line", " ".join(line.split())) for line in body.splitlines() if line.strip()]


def of_answer(name, kind, body):
    """The tokens of an answer, by its address and type."""
    path = name.split("?")[0].split()[-1]
    if "json" in kind:
        return of_json(body)
    if "svg" in kind:
        return of_picture(body)
    if path == "/conf" and "xml" in kind:
        return of_configuration(body)
    if path == "/historyfile" and "logFile=" in name:
        return of_history(body)
    if path == "/scheduler" and "html" in kind:
        return of_scheduler(of_page(body))
    if "html" in kind:
        return in_order(name, of_page(body))
    return of_words(body)

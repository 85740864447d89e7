"""What may differ between the pages of the two JobTrackers: times, hosts, memory, and what docs/differences.md says of pages.

A rule replaces a part of a text on both sides, where its address and its context match; a difference is explained when the masked texts are
equal, and counts for the rules that were needed. Rules of status and body explain a whole answer, those of pairs one token that only one
side has.
"""

import re
from dataclasses import dataclass

MEMORY_AND_TIME = (
    r"CPU time spent|CPU_MILLISECONDS|snapshot|PHYSICAL_MEMORY_BYTES|VIRTUAL_MEMORY_BYTES|heap usage|COMMITTED_HEAP|SLOTS_MILLIS|waiting after|"
    r"FALLOW_SLOTS|FILE_BYTES_"
)


@dataclass(frozen=True)
class Rule:
    name: str
    text: str
    instead: str = "~"
    page: str = ""
    context: str = ""


RULES = [
    Rule("date", r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \w+ \d{4}", "DATE"),
    Rule("date", r"\b\d{1,2}-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d", "DATE"),
    Rule("date", r"\b\d{1,2}/\d{1,2} \d\d:\d\d:\d\d|[A-Z][a-z]{2} \d\d, \d{4},? \d\d:\d\d( [AP]M)?", "DATE"),
    Rule("span", r"\b((\d+hrs, )?\d+mins, )?\d+sec\b", "SPAN"),
    Rule("time in ms", r"\b1[0-9]{12}\b", "MS"),
    Rule("port of the tracker", r"(tracker_worker-1:)[^ \"<]*", r"\1ADDRESS"),
    Rule("port of the tracker", r"(worker-1:)\d+", r"\1PORT"),
    Rule("port of the tracker", r"^\d+$", "PORT", "format=json", r"httpPort$"),
    Rule("memory of the process", r"\(Heap Size is [^)]*\)", "(Heap Size is ~)"),
    Rule("memory of the process", r"^\d+$", "N", "jobtracker", r"HeapMemoryBytes$"),
    Rule("memory of the process", r"^-?\d+$", "N", "/jmx", r"type=Memory\]"),
    Rule("counter of time or memory", r"^\"?-?[\d,]+\"?$", "N", "", MEMORY_AND_TIME),
    Rule("counter of time or memory", rf"(\(({MEMORY_AND_TIME})\w*\)\([^)]*\))\(\d+\)", r"\1(N)", "historyfile", "COUNTERS"),
    Rule("span", r"^-?\d+$", "N", "format=json", r"(durationSecs|DurationSecs)$"),
    # 1.2.1 adds them up every few seconds.
    Rule("statistics of the tracker", r"^\d+$", "N", "/machines.jsp", r"^@row tracker_"),
    # In 1.2.1 they stand still while a sink runs.
    Rule("number of a metrics bean", r"^-?[\d.E]+$", "N", "/jmx", r"name=(JobTrackerMetrics|QueueMetrics,q=\w+|jvm)\]"),
    Rule("threads and time of the process", r"^-?[\d.]+$", "N", "/jmx", r"ThreadCount$|type=Runtime\]|type=Threading\]"),
    Rule("process", r"^\".*\"$", "T", "/jmx", r"type=Runtime\]|type=Threading\]|tag.sessionId$|tag.hostName$"),
    Rule("folder of the cluster", r"jobtracker-live\.\w+", "CLUSTER"),
    Rule("name of a file of defaults", r"\"(core|mapred|hdfs)-default.xml\"", '"default"', "/conf", r"\.resource$"),
    Rule("folder of the history", r"logFile=\s*file:CLUSTER/\S*/(?=job_)", "logFile=FOLDER/"),
    Rule("folder of the history", r"(jobconf_history|taskdetailshistory|jobtaskshistory|jobdetailshistory)(.jsp\?logFile=FOLDER/job_START_\d+_)\d+", r"\1\2MS"),
    Rule("value that is blanked", r"^.*$", "~", "/(jobconf|conf)", r"signature.secret.file|token.validity|token.service.use_ip|delegation.tokens"),
    Rule("address in full", r"^http://127.0.0.1:HTTP_PORT", "", "", r"^location$"),
]

# An address, what Java answers, what ours answers, and why.
STATUSES = [
    (r"", "", 500, 400, "a malformed or missing parameter: 500, ours 400"),
    (r"(task_x.*format=json|^/(taskstats|jobdetailshistory|jobtaskshistory|loadhistory).jsp$)", "", 500, None, "a malformed or missing parameter: 500, ours not"),
    (r"^/jobtasks.jsp\?jobid=job_\w+$", "", 500, 200, "a kind of tasks that is missing: 500, ours maps"),
    (r"^/machines.jsp$", "", 500, 200, "a type of trackers that is missing: 500, ours all"),
    (r"^/(metrics|favicon.ico)", "", 404, 200, "an address that 1.2.1 has not"),
    (r"^/(index.html|legacyjobhistory.jsp)$", "", 200, 302, "a page that leads to another by itself"),
    (r"^POST /(jmx|conf)", "", 405, 200, "POST where 1.2.1 answers GET alone"),
    (r"search=;nonsense", "", 200, 400, "a date that is none"),
    (r"^/taskstatshistory.jsp$", "", 200, 400, "a malformed or missing parameter: words, ours 400"),
]

BODIES = [
    (r"^/(stacks|logs/|static/\S+|favicon.ico|index.html)", "content of its own"),
    (r"^/\w+history.jsp$", "words of a missing parameter"),
    (r"^/jobhistoryhome.jsp\?(search=bob|pageno=2)$", "words where no job is found"),
    (r"^/taskgraph\?jobid=job_200001010000", "no picture of an unknown job"),
]

# An address, a token of Java's, one of ours (context, tabulator, text; None: there is none), and why.
PAIRS = [
    (r"", None, r"^@\t(<title>|Are you sure\?|Hadoop \S.*|Job Configuration|Counters|Analysis of \S+|(all|SUCCESS|FAILED|KILLED) \w+ task list for \S+)$",
     "a title where 1.2.1 has none"),
    (r"/jobhistoryhome", r"\t<center>$", None, "an element that may not stand in a table"),
    (r"/jobdetails.jsp", r"^@row .*\t0$", r"^@row .*\t[\d,]+$", "sums that 1.2.1 looks up by the name shown"),
    (r"/jobdetails.jsp.*json", r"(map|reduce)Value\t0$", r"(map|reduce)Value\t\d+$", "sums that 1.2.1 looks up by the name shown"),
    (r"", r"\t(NA|\"NA\")$", r"\t\"?Job job_START_0003 was killed by", "who killed a job"),
    (r"/historyfile", r"^type\ttext/html", r"^type\tapplication/octet-stream", "a type that no browser runs"),
    (r"/jobconf.jsp", r"^@row (user.name)?\t(user.name|alice|<b>|<td>|<tr>)$", None, "the user's name, which 1.2.1 adds to a job.xml"),
    (r"/jobhistory.jsp", r"^location\t.*/jobhistoryhome.jsp;jsessionid", r"^location\tjobhistoryhome.jsp$", "a session"),
    (r"action=confirm", r"\t<h3>$", None, "a second heading where the first should end"),
    (r"/conf", r"^", None, "a key that this JobTracker does not read"),
    (r"/conf", None, r"^", "a key that 1.2.1 does not have, or reads where there is an HDFS"),
    (r"(jobid=|task_|attempt_)killed", r"\tkilled on request|FILE_BYTES_READ|CPU time spent|\t\d+$", r"^|\t\d+$", "a report after the end of the job"),
    (r"(jobid=|task_|attempt_)killed", r"\tkilled on request|FILE_BYTES_READ|CPU time spent|\t\d+$", None, "a report after the end of the job"),
    (r"/logLevel", r"\t(org.apache.commons.logging.impl.Log4JLogger)$", r"\ttracing$", "the class of a log"),
    (r"/jmx", r"^\.beans\[(?!Hadoop:service=JobTracker,name=(JobTracker|Queue)|java.lang:type=(Memory|Runtime|Threading)\])", None, "a bean of Java's"),
    (r"/jmx", r"^\.beans\[java.lang:type=(Runtime|Threading|Memory)\]", None, "an attribute of the JVM"),
]


def rules_of(name):
    return [rule for rule in RULES if re.search(rule.page, name)]


def masked(rules, token):
    context, text = token
    for rule in rules:
        if re.search(rule.context, context):
            text = re.sub(rule.text, rule.instead, text)
    # What stands around a text of a page is another token; a key is a part of its value.
    return text if context.startswith("@") else f"{context} = {text}"


def of_status(name, phase, theirs, ours):
    if theirs == ours:
        return None
    for page, of_phase, java, mine, why in STATUSES:
        if re.search(page, name) and of_phase in phase and theirs == java and mine in (ours, None):
            return why
    return None


def is_of_its_own(name):
    return re.search(BODIES[0][0], name) is not None


def of_body(name, status, kinds):
    for page, why in BODIES:
        if re.search(page, name):
            return why
    if status >= 300 and not any("json" in kind for kind in kinds):
        return "words of a refusal"
    return None


def of_pair(name, theirs, ours):
    def fits(pattern, side):
        return side is None if pattern is None else side is not None and re.search(pattern, "\t".join(side))

    for page, java, mine, why in PAIRS:
        if re.search(page, name) and fits(java, theirs) and fits(mine, ours):
            return why
    return None

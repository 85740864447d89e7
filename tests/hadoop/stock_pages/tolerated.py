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
    Rule("date", r"^[A-Z][a-z]{2} \d\d, \d\d:\d\d$", "DATE", "/scheduler"),
    Rule("span", r"\b((\d+hrs, )?\d+mins, )?\d+sec\b", "SPAN"),
    Rule("time in ms", r"\b1[0-9]{12}\b", "MS"),
    Rule("texts of an attempt, each on a line of its own", r" ------- ", " ", "(jobid=|task_|attempt_)killed"),
    Rule("port of the tracker", r"(tracker_worker-1:)[^ \"<]*", r"\1ADDRESS"),
    Rule("port of the tracker", r"(worker-1:)\d+", r"\1PORT"),
    Rule("port of the tracker", r"^\d+$", "PORT", "format=json", r"httpPort$"),
    Rule("memory of the process", r"\(Heap Size is [^)]*\)", "(Heap Size is ~)"),
    Rule("memory of the process", r"^\d+$", "N", "jobtracker", r"HeapMemoryBytes$"),
    Rule("memory of the process", r"^-?\d+$", "N", "/jmx", r"type=Memory\]"),
    Rule("counter of time or memory", r"^\"?-?[\d,]+\"?$", "N", "", MEMORY_AND_TIME),
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
    Rule("folder of the history", r"(logFile=FOLDER/job_START_\d+_)(\d+|MS)", r"\1MS"),
    Rule("folder of the history", r"logFile=\S*job_START_(\d+)[^&>]*", r"logFile=\1", "/taskstatshistory"),
    Rule("folder of the history", r"jobtracker-live\\+\.\w+", "CLUSTER", "/historyfile"),
    Rule("address in full", r"^(http://[^/]*)?/", "", "", r"^location$"),
    Rule("task that was the fastest", r"task_START_0001_m_00000\d", "TASK", "/analysejobhistory"),
    Rule("line break at the end", r"\\n\"$", '"', "^capacity /jmx", r"QueueInfoJson"),
    Rule("session", r";jsessionid=\w+", "", "", r"^location$"),
    Rule("port of the tracker", r"^\d+$", "PORT", "/historyfile", r"HTTP_PORT$"),
    Rule("sign that is encoded", r"%3A", ":", "/jobhistoryhome"),
    Rule("address of its own", r"^\"?(localhost|127.0.0.1):", "HOST:", "/conf", r"^(.properties\[)?mapred.job.tracker(.http.address)?\b"),
    Rule("address of its own", r"^\"(Unknown|mapred-site.xml)\"$", "~", "/conf", r"mapred.job.tracker(.http.address)?\]"),
    Rule("jobs that are always recovered", r"true|false", "~", "/conf", r"mapred.jobtracker.restart.recover"),
    Rule("value that is blanked", r"^.*$", "~", "/(jobconf|conf)", r"signature.secret.file|token.validity|token.service.use_ip|delegation.tokens"),
]

# An address, what Java answers, what ours answers, and why.
STATUSES = [
    (r"", "", 500, 400, "a malformed or missing parameter: 500, ours 400"),
    (r"(task_x.*format=json|^/(taskstats|jobdetailshistory|jobtaskshistory|loadhistory).jsp$)", "", 500, None, "a malformed or missing parameter: 500, ours not"),
    (r"^/jobqueue_details.jsp($|\?queueName=nope)", "", 500, 200, "an unknown queue: 500 under Capacity"),
    (r"^/jobtasks.jsp\?jobid=job_\w+$", "", 500, 200, "a kind of tasks that is missing: 500, ours maps"),
    (r"^/task(details|stats)history.jsp", "", 500, 200, "a task without attempts: 500"),
    (r"^/machines.jsp$", "", 500, 200, "a type of trackers that is missing: 500, ours all"),
    (r"^/(metrics|favicon.ico)", "", 404, 200, "an address that 1.2.1 has not"),
    (r"^/(index.html|legacyjobhistory.jsp)$", "", 200, 302, "a page that leads to another by itself"),
    (r"^POST /(jmx|conf)", "", 405, 200, "POST where 1.2.1 answers GET alone"),
    (r"(history.jsp\?|^/historyfile\?).* by nameless", "access", 200, 401, "requests without a name see no history"),
    (r"^/loadhistory.jsp", "access", 200, 401, "who may not see a job sees nothing of its history"),
    (r"^POST /jobtracker.jsp changeJobPriority=x by nameless", "access", 200, 401, "requests without a name change nothing"),
    (r"^POST .* by bob", "access", 401, 403, "a change that lists refuse: 401, ours 403"),
    (r"search=;nonsense", "", 200, 400, "a date that is none"),
    (r"^/taskstatshistory.jsp$", "", 200, 400, "a malformed or missing parameter: words, ours 400"),
]

BODIES = [
    (r"^/(stacks|logs/|static/\S+|favicon.ico|index.html)", "content of its own"),
    (r"^/\w+history.jsp$", "words of a missing parameter"),
    (r"^/jobhistoryhome.jsp\?(search=bob|pageno=2)$", "words where no job is found"),
    (r"^/taskgraph\?jobid=job_200001010000", "no picture of an unknown job"),
    # Ours waits for what is durable and for the next word of what runs: by then the worker may have ended the job.
    (r"/jobdetails.jsp kill$", "a job that is being killed, and may be by now"),
]

# An address, a token of Java's, one of ours (context, tabulator, text; None: there is none), and why.
PAIRS = [
    (r"", None, r"^@\t(<title>|Are you sure\?|Hadoop \S.*|Job Configuration|Counters|Analysis of \S+|\S+ attempts for \S+|(all|SUCCESS|FAILED|KILLED) \w+ task list for \S+)$",
     "a title where 1.2.1 has none"),
    (r"/jobhistoryhome", r"\t<center>$", None, "an element that may not stand in a table"),
    (r"/jobdetails.jsp", r"^@row .*\t0$", r"^@row .*\t[\d,]+$", "sums that 1.2.1 looks up by the name shown"),
    (r"/jobdetails.jsp.*json", r"(map|reduce)Value\t0$", r"(map|reduce)Value\t\d+$", "sums that 1.2.1 looks up by the name shown"),
    (r"", r"\t(NA|\"NA\")$", r"\t\"?Job job_START_0003 was killed by", "who killed a job"),
    (r"/jobdetailshistory.jsp\?logFile=killed", None, r"Analyse This Job\t<h3>$|Killed tasks attempts by nodes|Killed Tasks$|^@row (worker-1)?\t", "hosts of killed attempts"),
    (r"^capacity", r"running map tasks using", None, "what a scheduler said last of a job that is over"),
    (r"^capacity", r"Job Scheduling information:$|^@(Successful|Pending)\t<b>$", None, "what a scheduler said last of a job that is over"),
    (r"^capacity", r"running map tasks using", r"(\tNA|\"\"|\tnull|\"NA\")$", "what a scheduler said last of a job that is over"),
    (r"^capacity", r"^@(row \w+|Number of users .*)\t<br>$", None, "a line break behind the last line"),
    (r"^fair /scheduler", r"^@row (alice|etl)?\t", None, "pools without jobs"),
    (r"^fair /scheduler", r"^@row [A-Z].*\t(alice|default|etl|urgent)$", None, "names of pools to choose from"),
    (r"^fair /scheduler", r"\tlong$", r"\tlong <running>$", "a name that 1.2.1 does not escape"),
    # A worker samples the memory of a task now and then.
    (r"(jobid=|task_|attempt_|logFile=)fails", None, rf"^(@row|\.).*({MEMORY_AND_TIME})", "a sample of memory"),
    (r"(jobid=|task_|attempt_|logFile=)fails", rf"^(@row|\.).*({MEMORY_AND_TIME})", None, "a sample of memory"),
    (r"details.jsp\?(tipid|attemptid)=\w+_fails", r"^@All\t1\d$", r"^@All\t1\d$", "a sample of memory"),
    # 1.2.1 forgets them when a heartbeat brings none.
    (r"(jobid=|task_|attempt_)running", r"^@All\t0$", r"^@All\t1\d$", "counters of a running attempt"),
    (r"taskstats.jsp\?attemptid=attempt_running", None, r"^(@row |\.taskCounterGroupsInfo)", "counters of a running attempt"),
    (r"taskstats.jsp\?attemptid=attempt_running", r"^.taskCounterGroupsInfo\t\[\]$", None, "counters of a running attempt"),
    (r"/historyfile", r"JOB_PRIORITY", None, "a line for each change of priority"),
    (r"killed", None, r"Job job_START_0003 was killed by", "who killed a job"),
    (r"/historyfile", r"^type\ttext/html", r"^type\tapplication/octet-stream", "a type that no browser runs"),
    (r"/jobhistoryhome", r"\tsorts .* 100$", r"\tsorts .* 100%\+%3C a_b", "a name that history files cut off"),
    (r"logFile=(fails|killed)", None, r"^@row [A-Z]", "counters of what did not succeed"),
    (r"/taskdetailshistory.*logFile=(fails|killed)", r"\t0$", r"\t[1-9]\d*$", "counters of what did not succeed"),
    (r"/jobconf", r"^@row (user.name)?\t(user.name|alice|<b>|<td>|<tr>)$", None, "the user's name, which 1.2.1 adds to a job.xml"),
    (r"action=confirm", r"\t<h3>$", None, "a second heading where the first should end"),
    (r"/conf", r"^", None, "a key that this JobTracker does not read"),
    (r"/conf", None, r"^", "a key that 1.2.1 does not have, or reads where there is an HDFS"),
    (r"logFile=killed", r"by user,killed on request,", r"by user killed on request ", "texts that 1.2.1 joins by commas"),
    (r"/logLevel", r"\t(org.apache.commons.logging.impl.Log4JLogger)$", r"\ttracing$", "the class of a log"),
    (r"/jmx", r"^\.beans\[(?!Hadoop:service=JobTracker,name=(JobTracker|Queue|jvm)|java.lang:type=(Memory|Runtime|Threading)\])", None, "a bean of Java's"),
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


def of_body(scheduler, name, status, kinds):
    if scheduler == "fair" and re.search(r"^/jobqueue_details", name):
        return "jobs of a queue, which the Fair scheduler of 1.2.1 does not list"
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

#!/usr/bin/env python3
"""fetch.py FOLDER HOST:PORT PHASE NAME=JOB... [KEY=VALUE]...

Fetches the addresses of the pages of Hadoop 1.2.1 into FOLDER/PHASE: bodies in files, and answers.json with request, status, type and
Location of each. PHASE is `running`, while the job of that NAME runs, `killing`, which ends it, `ended`, when all have ended, or `access`: each
page of the jobs `running` and `succeeds`, and each change, by the owner alice, a stranger, an administrator, one of the queue, and namelessly. Requests have no ids of one run in
their names: of two folders those of one name belong together. `CLUSTER` and other known texts of one run stand in FOLDER/known.json.
"""

import http.client
import json
import pathlib
import re
import sys
import urllib.parse

TIMEOUT_S = 30
KINDS = {"map": "m", "reduce": "r"}
STATES = ("all", "running", "completed", "killed", "pending")
UNKNOWN = "job_200001010000_0007"
MALFORMED = "job_x"
OF_HISTORY = ("jobdetailshistory.jsp", "analysejobhistory.jsp", "jobconf_history.jsp", "loadhistory.jsp", "historyfile")


class Fetcher:
    def __init__(self, folder, address):
        self.folder = folder
        self.address = address
        self.answers = []

    def ask(self, name, target, method="GET", body=None):
        """Fetches a target, which stands in the record as `name`, and gives its body."""
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT_S)
        headers = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        file = f"{len(self.answers):03d}"
        (self.folder / file).write_bytes(content)
        self.answers.append({
            "name": name if method == "GET" else f"{method} {name}",
            "file": file,
            "status": answer.status,
            "type": answer.getheader("Content-Type", ""),
            "location": answer.getheader("Location", ""),
            "length": len(content),
        })
        return content.decode("utf-8", "replace")

    def save(self):
        (self.folder / "answers.json").write_text(json.dumps(self.answers, indent=1))


def of_job(fetcher, word, job, states):
    """The pages of a job, called `word` in the record."""

    def ask(page, **parameters):
        named = page + "?" + urllib.parse.urlencode({"jobid": word, **parameters})
        return fetcher.ask("/" + named, "/" + page + "?" + urllib.parse.urlencode({"jobid": job, **parameters}))

    ask("jobdetails.jsp")
    ask("jobdetails.jsp", refresh=0, **{"map.graph": "off", "reduce.graph": "off"})
    ask("jobdetails.jsp", format="json")
    ask("jobdetails.jsp", action="confirm")
    ask("jobconf.jsp")
    ask("jobblacklistedtrackers.jsp")
    tasks = set()
    for kind in ("map", "reduce", "setup", "cleanup"):
        for state in states:
            page = ask("jobtasks.jsp", type=kind, pagenum=1, state=state)
            tasks.update(re.findall(r"taskdetails\.jsp\?tipid=(task_\w+)", page))
        ask("jobtasks.jsp", type=kind, pagenum=1, format="json")
    ask("jobtasks.jsp", type="map", pagenum=2)
    ask("jobtasks.jsp", type="map", pagenum=2, format="json")
    for kind in ("map", "reduce", "all"):
        for cause in ("failed", "killed"):
            ask("jobfailures.jsp", kind=kind, cause=cause)
    ask("jobfailures.jsp")
    for kind in KINDS:
        ask("taskgraph", type=kind)
    for task in sorted(tasks):
        name = task.replace(job.removeprefix("job_"), word)
        for form in ("", "&format=json"):
            attempts = fetcher.ask(f"/taskdetails.jsp?tipid={name}{form}", f"/taskdetails.jsp?tipid={task}{form}")
            fetcher.ask(f"/taskstats.jsp?tipid={name}{form}", f"/taskstats.jsp?tipid={task}{form}")
            for attempt in sorted(set(re.findall(r'"attemptId":"(attempt_\w+)"', attempts))):
                named = attempt.replace(job.removeprefix("job_"), word)
                for page in ("taskdetails.jsp", "taskstats.jsp"):
                    for form_of_attempt in ("", "&format=json"):
                        fetcher.ask(f"/{page}?attemptid={named}{form_of_attempt}", f"/{page}?attemptid={attempt}{form_of_attempt}")


def of_cluster(fetcher):
    for page in ("/jobtracker.jsp", "/jobtracker.jsp?format=json", "/jobqueue_details.jsp?queueName=default",
                 "/jobqueue_details.jsp?queueName=etl", "/scheduler", "/scheduler?advanced"):
        fetcher.ask(page, page)
    for kind in ("active", "blacklisted", "graylisted", "excluded"):
        fetcher.ask(f"/machines.jsp?type={kind}", f"/machines.jsp?type={kind}")
    for query in ("Hadoop:service=JobTracker,name=JobTrackerInfo", "Hadoop:service=JobTracker,name=JobTrackerMetrics",
                  "Hadoop:service=JobTracker,*", "Hadoop:*", "java.lang:type=Memory", "java.lang:type=Threading", "java.lang:type=Runtime",
                  "nonsense", "java.lang:type=Nothing"):
        fetcher.ask(f"/jmx?qry={query}", "/jmx?qry=" + urllib.parse.quote(query, safe="=:,*"))
    fetcher.ask("/jmx", "/jmx")


def without_jobs(fetcher):
    """What needs no job: other addresses, and parameters that are missing, unknown or malformed."""
    for target in ("/index.html", "/jobhistory.jsp", "/conf", "/conf?format=xml", "/conf?format=json", "/conf?format=other",
                   "/logLevel", "/logLevel?log=org.apache.hadoop.mapred.JobTracker", "/stacks", "/logs/", "/static/hadoop.css",
                   "/static/jobtracker.js", "/static/sorttable.js", "/metrics", "/metrics?format=json", "/favicon.ico",
                   "/machines.jsp", "/jobqueue_details.jsp", "/jobqueue_details.jsp?queueName=nope", "/nothing.jsp",
                   "/JobTracker.jsp", "/jobtracker.jsp/", "/jobtracker.jsp?format=xml", "/legacyjobhistory.jsp"):
        fetcher.ask(target, target)
    for page in ("jobdetails.jsp", "jobtasks.jsp", "jobfailures.jsp", "jobblacklistedtrackers.jsp", "jobconf.jsp", "gethistory.jsp", "taskgraph"):
        for parameters in ("", f"?jobid={UNKNOWN}", f"?jobid={MALFORMED}", f"?jobid={UNKNOWN}&type=map&pagenum=1"):
            fetcher.ask(f"/{page}{parameters}", f"/{page}{parameters}")
            if page in ("jobdetails.jsp", "jobtasks.jsp"):
                target = f"/{page}{parameters}{'&' if parameters else '?'}format=json"
                fetcher.ask(target, target)
    for page in ("taskdetails.jsp", "taskstats.jsp"):
        for parameters in ("", f"?tipid={UNKNOWN.replace('job', 'task')}_m_000000", "?tipid=task_x",
                           f"?attemptid={UNKNOWN.replace('job', 'attempt')}_m_000000_0"):
            for form in ("", "format=json"):
                target = f"/{page}{parameters}" + (("&" if parameters else "?") + form if form else "")
                fetcher.ask(target, target)
    for page in (*OF_HISTORY, "jobtaskshistory.jsp", "taskdetailshistory.jsp", "taskstatshistory.jsp"):
        fetcher.ask(f"/{page}", f"/{page}")
    for method in ("HEAD", "POST"):
        for page in ("/jobtracker.jsp", "/jobdetails.jsp", "/machines.jsp?type=active", "/jmx", "/conf"):
            fetcher.ask(page, page, method, "" if method == "POST" else None)


def of_history(fetcher, jobs):
    for search in ("", "?search=alice", "?search=alice:sorts", "?search=:ends", "?search=bob", "?pageno=-1", "?pageno=2", "?search=;nonsense"):
        home = fetcher.ask(f"/jobhistoryhome.jsp{search}", f"/jobhistoryhome.jsp{search}")
        if not search:
            first = home
    for word, job in jobs.items():
        found = re.search(r'href="(?:/)?jobdetailshistory\.jsp\?logFile=([^"]*' + job + r'[^"]*)"', first.replace("'", '"'))
        # As a link has it: what a browser sends for it.
        file = found.group(1) if found else job
        for page in OF_HISTORY:
            fetcher.ask(f"/{page}?logFile={word}", f"/{page}?logFile={file}")
        fetcher.ask(f"/analysejobhistory.jsp?logFile={word}&numTasks=1", f"/analysejobhistory.jsp?logFile={file}&numTasks=1")
        for kind in ("SETUP", "MAP", "REDUCE", "CLEANUP"):
            for status in ("all", "SUCCESS", "FAILED", "KILLED"):
                end = f"&taskType={kind}&status={status}"
                fetcher.ask(f"/jobtaskshistory.jsp?logFile={word}{end}", f"/jobtaskshistory.jsp?logFile={file}{end}")
        start = job.removeprefix("job_")
        for task in ("m_000000", "m_000001", "r_000000"):
            fetcher.ask(f"/taskdetailshistory.jsp?logFile={word}&tipid={task}",
                        f"/taskdetailshistory.jsp?logFile={file}&tipid=task_{start}_{task}")
            end = f"&attemptid=attempt_{start}_{task}_0"
            fetcher.ask(f"/taskstatshistory.jsp?logFile={word}&attemptid={task}_0", f"/taskstatshistory.jsp?logFile={file}{end}")
        fetcher.ask(f"/gethistory.jsp?jobid={word}", f"/gethistory.jsp?jobid={job}")


def by_users(fetcher, running, ended):
    """What each user sees and does; the administrators last, since they end the job."""
    task, attempt = (f"{word}_{running.removeprefix('job_')}_m_000000" for word in ("task", "attempt"))
    file = f"logFile=/done/{ended}_1_alice_n"
    job = f"jobid={running}"
    pages = [f"/{page}.jsp?{job}" for page in ("jobdetails", "jobfailures", "jobblacklistedtrackers", "jobconf", "gethistory")]
    pages += [f"/jobdetails.jsp?format=json&{job}", f"/jobtasks.jsp?{job}&type=map&pagenum=1", f"/taskgraph?type=map&{job}"]
    pages += [f"/{page}.jsp?{named}" for page in ("taskdetails", "taskstats") for named in (f"tipid={task}", f"attemptid={attempt}_0")]
    pages += [f"/gethistory.jsp?jobid={ended}", "/jobtracker.jsp", "/machines.jsp?type=active", "/jobqueue_details.jsp?queueName=default",
              "/jobhistoryhome.jsp", "/conf", "/jmx", "/logLevel", "/stacks"]
    home = fetcher.ask("/jobhistoryhome.jsp history", "/jobhistoryhome.jsp?user.name=alice")
    found = re.search(r"jobdetailshistory\.jsp\?(logFile=[^\"']*" + ended + r"[^\"']*)", home)
    file = found.group(1) if found else file
    more = f"taskType=MAP&status=all&tipid=task_{ended.removeprefix('job_')}_m_000000&attemptid=attempt_{ended.removeprefix('job_')}_m_000000_0"
    pages += [f"/{page}?{file}&{more}" for page in (*OF_HISTORY, "jobtaskshistory.jsp", "taskdetailshistory.jsp", "taskstatshistory.jsp")]
    changes = (("/jobdetails.jsp", f"action=changeprio&{job}&prio=HIGH"), (f"/taskdetails.jsp?attemptid={attempt}_9", "action=kill-task"),
               ("/jobtracker.jsp", f"changeJobPriority=x&setJobPriority=LOW&jobCheckBox={running}"))
    for user in ("", "bob", "alice", "qadmin", "boss"):
        named = f"user.name={user}" if user else ""
        for page in pages:
            shown = page.replace(file, "logFile=FILE").replace(running, "RUNNING").replace(ended, "ENDED")
            shown = shown.replace(task.split("_")[1], "START")
            fetcher.ask(f"{shown} by {user or 'nameless'}", page + ("&" if "?" in page else "?") + named if user else page)
        for page, form in changes:
            target = page + ("&" if "?" in page else "?") + named if user else page
            fetcher.ask(f"{page.split('?')[0]} {form.split('&')[0]} by {user or 'nameless'}", target, "POST", form)
    for user in ("", "bob", "boss"):
        end = f"&user.name={user}" if user else ""
        fetcher.ask(f"/jobdetails.jsp kill by {user or 'nameless'}", f"/jobdetails.jsp?jobid={running}&action=kill{end}", "POST", "")


def main():
    folder, address, phase, *pairs = sys.argv[1:]
    values = dict(pair.split("=", 1) for pair in pairs)
    jobs = {name: value for name, value in values.items() if value.startswith("job_")}
    place = pathlib.Path(folder, phase)
    place.mkdir(parents=True)
    known = {name: value for name, value in values.items() if name not in jobs}
    host, port = address.split(":")
    start = next(iter(jobs.values())).split("_")[1]
    pathlib.Path(folder, "known.json").write_text(json.dumps({**known, "HTTP_PORT": port, "START": start}))
    fetcher = Fetcher(place, address)
    if phase == "killing":
        # As Hive kills the job of a query.
        fetcher.ask("/jobdetails.jsp kill", f"/jobdetails.jsp?jobid={jobs['running']}&action=kill", "POST", "")
    elif phase == "running":
        of_cluster(fetcher)
        of_job(fetcher, "running", jobs["running"], STATES)
        job = jobs["running"]
        fetcher.ask("/gethistory.jsp?jobid=running", f"/gethistory.jsp?jobid={job}")
        task, attempt = (f"{word}_{job.removeprefix('job_')}_m_000000" for word in ("task", "attempt"))
        confirm = "/taskdetails.jsp?action=confirm&subaction=kill-task"
        fetcher.ask(confirm, f"{confirm}&attemptid={attempt}_0&tipid={task}")
        fetcher.ask("/jobdetails.jsp changeprio", "/jobdetails.jsp", "POST", f"action=changeprio&jobid={job}&prio=HIGH")
        fetcher.ask("/jobtracker.jsp changeJobPriority", "/jobtracker.jsp", "POST",
                    f"changeJobPriority=Change&setJobPriority=NORMAL&jobCheckBox={job}")
        fetcher.ask("/taskdetails.jsp kill-task", f"/taskdetails.jsp?attemptid={attempt}_0", "POST", "action=kill-task")
    elif phase == "access":
        by_users(fetcher, jobs["running"], jobs["succeeds"])
    else:
        of_cluster(fetcher)
        for word, job in jobs.items():
            of_job(fetcher, word, job, ("all", "completed", "killed"))
        without_jobs(fetcher)
        of_history(fetcher, jobs)
    fetcher.save()
    print(f"{phase}: {len(fetcher.answers)} answers")


main()

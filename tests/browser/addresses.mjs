// The addresses of the pages of a server, with ids of what it has: each page that is there, and each as it is without what it would show.

const JOB_PARTS = ["", "/tasks", "/timeline", "/counters", "/conf", "/events"];
const PAGES = ["/", "/jobs", "/history", "/queues", "/market", "/deadlines", "/workers", "/slots", "/decisions", "/policy", "/policy/plan?to=fair", "/policy/plan?to=nonsense", "/what-if", "/what-if/none", "/users", "/health",
  "/reports/users", "/reports/queues", "/reports/jobs", "/attempts?state=failed", "/search?q=a", "/search?q=no-such-thing",
  "/jobs?state=failed&user=no-one", "/jobs?nonsense=1", "/no-such-page", "/jobs/job_200001010000_0001"];
const STOCK = ["/jobtracker.jsp", "/machines.jsp?type=active", "/machines.jsp?type=blacklisted", "/jobhistoryhome.jsp", "/logLevel"];

/** The first of a list of the API that is wanted. */
async function first(server, list, isWanted = () => true) {
  const answer = await fetch(`${server}/api/v1/${list}`);
  const { items } = await answer.json();
  return items.find(isWanted);
}

export async function addressesOf(server) {
  const addresses = [...PAGES, ...STOCK];
  for (const state of ["RUNNING", "SUCCEEDED", "FAILED"]) {
    const job = (await first(server, "jobs?limit=1000", (one) => one.kind === "job" && one.state === state))?.job;
    if (!job) continue;
    addresses.push(...JOB_PARTS.map((part) => `/jobs/${job}${part}`));
    addresses.push(`/jobs/${job}/tasks?state=failed`, `/jobdetails.jsp?jobid=${job}`, `/jobconf.jsp?jobid=${job}`, `/jobfailures.jsp?jobid=${job}`,
      `/jobtasks.jsp?jobid=${job}&type=map&pagenum=1`);
    const attempt = (await first(server, `jobs/${job}/attempts`, (one) => one.task === "map" && one.state === state))?.attempt;
    if (attempt) {
      const task = attempt.replace("attempt", "task").replace(/_\d+$/, "");
      addresses.push(`/attempts/${attempt}`, `/tasks/${task}`, `/taskdetails.jsp?tipid=${task}`,
        `/taskstats.jsp?attemptid=${attempt}`);
    }
  }
  const application = await first(server, "applications");
  if (application) addresses.push(`/applications/${application.application}`);
  const worker = await first(server, "workers");
  if (worker) addresses.push(`/workers/${encodeURIComponent(worker.worker)}`);
  const queue = await first(server, "queues");
  if (queue) addresses.push(`/queues/${queue.queue}`, `/jobqueue_details.jsp?queueName=${queue.queue}`);
  const market = await fetch(`${server}/api/v1/market`);
  if (market.ok) addresses.push("/market?rate=0.5", `/market?rate=0.5&queue=${queue.queue}`, "/market?rate=nonsense");
  const decision = await first(server, "decisions");
  if (decision) addresses.push("/decisions?kind=preempted", `/decisions/${decision.number}`);
  const user = await first(server, "users");
  if (user) addresses.push(`/users/${user.user}`);
  return addresses;
}

/** The pages that show an administrator who has signed in more than they show anybody. */
export async function privateAddressesOf(server) {
  const { queue } = await first(server, "queues");
  const ended = await first(server, "jobs?limit=1000", (one) => one.kind === "job" && one.state === "SUCCEEDED");
  return ["/", "/policy", "/policy/plan?to=fair", "/policy/plan?to=nonsense", "/what-if", "/what-if/none", "/slots",
    "/reports/users", "/reports/queues", "/reports/jobs", `/queues/${queue}`, `/market?rate=0.5&queue=${queue}`, ...JOB_PARTS.map((part) => `/jobs/${ended.job}${part}`)];
}

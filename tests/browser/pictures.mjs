// Pictures are true: what is drawn, put through the scales of the picture, gives the numbers of the API at the same generation. And each of these
// checks finds a picture of which one number is changed.

/** Units of a picture by which a mark may be off. */
const OFF = 0.6;
/** A page and its numbers are of one generation within so many tries. */
const MOST_TRIES = 60;
const WORDS = { PENDING: "waiting", RUNNING: "running", SUCCEEDED: "succeeded", FAILED: "failed", KILLED: "killed", PREEMPTED: "preempted" };

const slotsOf = (kinds) => (kinds.map ?? 0) + (kinds.reduce ?? 0);
const numbersOf = (d) => d.match(/-?[\d.]+/g)?.map(Number) ?? [];
const isNear = (one, other, off = OFF) => Math.abs(one - other) <= off;

/** What is drawn in a picture, and its table. */
const read = (name) => {
  const figure = document.querySelector(`figure[data-picture="${name}"]`);
  if (!figure) return null;
  const svg = figure.querySelector("svg");
  const number = (element, attribute) => Number(element.getAttribute(attribute));
  return {
    title: svg.querySelector("title").textContent,
    data: { ...svg.dataset },
    boxes: [...svg.querySelectorAll("rect")].map((box) => ({
      kind: box.getAttribute("class"), words: box.textContent, x: number(box, "x"), y: number(box, "y"), width: number(box, "width"), height: number(box, "height"),
    })),
    paths: [...svg.querySelectorAll("path")].map((path) => ({ kind: path.getAttribute("class"), series: path.dataset.series, d: path.getAttribute("d") })),
    rows: [...figure.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent)),
  };
};

/** From values to units of the picture, along x or y. */
function scale({ data }, axis) {
  const [from, to, start, end] = [`${axis}0`, `${axis}1`, `p${axis}0`, `p${axis}1`].map((name) => Number(data[name]));
  return (value) => start + (value - from) / (to - from) * (end - start);
}

/** The corners of a line of steps: pairs of x and y, and where the last one ends. */
function cornersOf(d) {
  const numbers = numbersOf(d);
  return Array.from({ length: numbers.length >> 1 }, (_, index) => [numbers[2 * index], numbers[2 * index + 1]]);
}

/** Whether a line of steps has the values `[moment, value]`, each drawn at its place. */
function stepsAre(picture, kind, values) {
  const [x, y] = [scale(picture, "x"), scale(picture, "y")];
  const corners = picture.paths.filter((path) => path.kind === kind).flatMap(({ d }) => cornersOf(d));
  if (corners.length !== values.length) return [`${corners.length} steps of ${kind}, ${values.length} values`];
  const off = corners.findIndex(([px, py], index) => !isNear(px, x(values[index][0])) || !isNear(py, y(values[index][1])));
  return off < 0 ? [] : [`step ${off} of ${kind} at ${corners[off]} is ${values[off]}`];
}

function price(picture, { prices }) {
  const rows = picture.rows.map(([time, ...values]) => [Date.parse(time), ...values.map(Number)]);
  const wrong = stepsAre(picture, "line", rows);
  const { points } = prices;
  let before = rows[0][0] - 1;
  for (const [time, value, low, high] of rows) {
    const span = points.filter((point) => point.time_ms > before && point.time_ms <= time);
    // The first span of the picture may begin within one of the API.
    const isFirst = before === rows[0][0] - 1;
    before = time;
    if (Number(span.at(-1)?.price) !== value) wrong.push(`price ${value} at ${time}, the API has ${span.at(-1)?.price}`);
    const [lowest, highest] = [Math.min(...span.map((point) => point.low)), Math.max(...span.map((point) => point.high))];
    if (!isFirst && (lowest !== low || highest !== high)) wrong.push(`${low} to ${high} at ${time}, the API has ${lowest} to ${highest}`);
  }
  return wrong;
}

function slotsOverTime(picture, { samples }) {
  const [x, y] = [scale(picture, "x"), scale(picture, "y")];
  const times = picture.rows.map(([time]) => Date.parse(time));
  const points = samples.points.filter((point) => times.includes(point.time_ms));
  const wrong = stepsAre(picture, "right", points.map((point) => [point.time_ms, slotsOf(point.slots)]));
  // The upper edge of a layer is what is in use by its queue and those below; a cluster without a pause has one outline of each layer.
  const layers = picture.paths.filter(({ kind }) => kind.startsWith("fill"));
  const names = [...new Set(points.flatMap(({ queues }) => queues.filter(({ used }) => used > 0).map(({ queue }) => queue)))].sort();
  const usedBy = (point, some) => point.queues.filter(({ queue }) => some.includes(queue)).reduce((sum, { used }) => sum + used, 0);
  names.forEach((name, layer) => {
    const corners = cornersOf(layers[layer]?.d ?? "").slice(0, points.length);
    const off = points.findIndex((point, index) => !isNear(corners[index]?.[0], x(point.time_ms)) || !isNear(corners[index][1], y(usedBy(point, names.slice(0, layer + 1)))));
    if (off >= 0) wrong.push(`step ${off} of ${name} is drawn at ${corners[off]}`);
  });
  return wrong;
}

function bars(picture, wanted) {
  const x = scale(picture, "x");
  const wrong = [];
  for (const [kind, words, from, to] of wanted) {
    const box = picture.boxes.find((one) => one.kind.startsWith(kind) && one.words.startsWith(words));
    if (!box && to === from) continue;
    if (!box || !isNear(box.x, x(from)) || !isNear(box.x + box.width, x(to))) wrong.push(`${words}: ${from} to ${to} is drawn as ${JSON.stringify(box)}`);
  }
  return wrong;
}

function queueSlots(picture, { queues }) {
  const wanted = queues.items.flatMap(({ queue, running, containers, pending, wanted_containers }) => {
    const used = slotsOf(running) + (containers ?? 0);
    const row = picture.rows.find(([name]) => name === queue);
    const waiting = Number(row[2]);
    return [["used", `${queue} uses ${used}`, 0, used], ["waits", `${queue} waits for ${waiting}`, used, used + waiting],
      ...(waiting >= pending + (wanted_containers ?? 0) ? [] : [["waits", `${queue} has ${pending} waiting`, 0, pending]])];
  });
  return bars(picture, wanted);
}

const shares = (picture, { queues }) => bars(picture, queues.items.map(({ queue, share }) => {
  const permille = Math.round(Number(share) * 1000);
  return ["used", `${queue} uses ${permille}`, 0, permille];
}));

function ladder(picture, { queues }) {
  const [x, y] = [scale(picture, "x"), scale(picture, "y")];
  const wrong = [];
  const bought = queues.items.filter(({ quota }) => slotsOf(quota) > 0);
  if (bought.length !== picture.boxes.length) wrong.push(`${picture.boxes.length} rungs, ${bought.length} queues that have bought`);
  for (const { queue, quota, rate } of bought) {
    const box = picture.boxes.find(({ words }) => words === `${queue} has bought ${slotsOf(quota)} slots at ${rate}`);
    if (!box || !isNear(box.width, x(slotsOf(quota)) - x(0)) || !isNear(box.y, y(Number(rate)))) wrong.push(`${queue}: ${slotsOf(quota)} at ${rate} is drawn as ${JSON.stringify(box)}`);
  }
  return wrong;
}

/** Cells by class: as the attribute counts them, and as they are drawn. */
function cells(picture) {
  const counted = Object.fromEntries([...picture.data.cells.matchAll(/(\S+(?: above)?):(\d+)/g)].map(([, kind, count]) => [kind, Number(count)]));
  const wrong = [];
  for (const [kind, count] of Object.entries(counted)) {
    const drawn = picture.paths.filter((path) => path.kind === `cell ${kind}`).flatMap(({ d }) => d.match(/M/g)).length;
    if (drawn !== count) wrong.push(`${count} cells are ${kind}, ${drawn} are drawn`);
  }
  return [counted, wrong];
}

function owners(picture, { queues }) {
  const [counted, wrong] = cells(picture);
  const above = queues.items.map(({ running, quota }) => Math.max(0, slotsOf(running) - slotsOf(quota))).reduce((one, other) => one + other, 0);
  const held = queues.items.map(({ running }) => slotsOf(running)).reduce((one, other) => one + other, 0);
  const sum = (isWanted) => Object.entries(counted).filter(([kind]) => isWanted(kind)).reduce((all, [, count]) => all + count, 0);
  if (sum((kind) => kind.endsWith("above")) !== above || sum(() => true) !== held) wrong.push(`${held} held and ${above} above, drawn are ${picture.data.cells}`);
  return wrong;
}

function grid(picture, { grid: { grids } }) {
  const { states, cells: tasks, total } = grids.find(({ kind }) => kind === "map");
  const wanted = tasks.map((counts) => WORDS[states[counts.findIndex((count) => count > 0)]]);
  const step = Number(picture.data.step);
  const drawn = [];
  for (const { kind, d } of picture.paths) {
    for (const [, x, y] of d.matchAll(/M(\S+) ([\d.]+)/g)) drawn[Number(y) / step * Number(picture.data.row) + Number(x) / step] = kind.replace("fill ", "");
  }
  const runs = picture.data.runs.split(" ").flatMap((run) => { const [state, length] = run.split(":"); return Array(Number(length)).fill(state); });
  const wrong = Number(picture.data.total) === total ? [] : [`${picture.data.total} tasks, the API has ${total}`];
  wanted.forEach((state, index) => {
    if (drawn[index] !== state || runs[index] !== state) wrong.push(`task ${index} is ${state}, drawn ${drawn[index]}, in the runs ${runs[index]}`);
  });
  if (drawn.length !== wanted.length) wrong.push(`${drawn.length} cells are drawn, there are ${wanted.length} tasks`);
  return wrong;
}

function waits(picture, { waits: { spans } }) {
  const x = scale(picture, "x");
  if (spans.length !== picture.boxes.length) return [`${picture.boxes.length} spans are drawn, there are ${spans.length}`];
  return spans.flatMap(({ from_ms, to_ms, state }, index) => {
    const box = picture.boxes[index];
    // The last span of a running job lasts until the moment of reading.
    const end = index + 1 < spans.length ? x(to_ms) : Number(picture.data.px1);
    return isNear(box.x, x(from_ms)) && isNear(box.x + box.width, end) ? [] : [`${state} from ${from_ms} to ${to_ms} is drawn as ${JSON.stringify(box)}`];
  });
}

function burnDown(picture, { statement }) {
  const rows = picture.rows.map(([time, balance]) => [Date.parse(time), Number(balance)]);
  const wrong = stepsAre(picture, "line", rows);
  for (const [time, balance] of rows) {
    const last = statement.items.findLast((row) => row.time_ms === time);
    if (Number(last?.balance) !== balance) wrong.push(`${balance} at ${time}, the statement has ${last?.balance}`);
  }
  return wrong;
}

/** The pictures of a page, each with its check and the parts of the API that it takes. */
const PAGES = (job, queue) => [
  ["/", { samples: "samples", prices: "market/prices?points=1000", queues: "queues" }, { slots_over_time: slotsOverTime, queue_slots: queueSlots, price }],
  ["/market", { prices: "market/prices?points=1000", queues: "queues" }, { price, ladder, shares, owners }],
  [`/jobs/${job}`, { grid: `jobs/${job}/grid`, waits: `jobs/${job}/waits` }, { grid, waits }],
  [`/queues/${queue}`, { statement: `queues/${queue}/statement?limit=1000` }, { burn_down: burnDown }],
];

/** The same picture with one mark at another place, or a cell less. */
function damaged(picture) {
  const copy = structuredClone(picture);
  const box = copy.boxes.find(({ width }) => width > 3);
  if (box) {
    box.width += 3;
    box.y += 3;
    return copy;
  }
  const line = copy.paths.find(({ series }) => series);
  const area = copy.paths.find(({ kind, d }) => /^(cell|fill)/.test(kind) && d !== "");
  if (line) line.d = line.d.replace(/^(M\S+) ([\d.]+)/, (_, x, y) => `${x} ${Number(y) + 3}`);
  else if (area) area.d = area.d.replace(/^M[^M]*/, "");
  else throw new Error(`nothing is drawn: ${picture.title}`);
  return copy;
}

/** A page and the parts of the API at one generation. */
async function together(page, server, address, parts) {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const [answers] = await Promise.all([
      Promise.all(Object.entries(parts).map(async ([name, path]) => {
        const answer = await fetch(`${server}/api/v1/${path}`);
        return [name, answer.headers.get("jobtracker-generation"), await answer.json()];
      })),
      page.goto(server + address, { waitUntil: "load" }),
    ]);
    const generation = await page.evaluate(() => document.querySelector("main").dataset.generation);
    if (answers.every(([, of]) => of === generation)) return Object.fromEntries(answers.map(([name, , body]) => [name, body]));
  }
  throw new Error(`${address} and the API were of no one generation in ${MOST_TRIES} tries`);
}

/** The verdicts: a name and what is wrong, of each picture. */
export async function checkPictures(browser, server) {
  const { items } = await (await fetch(`${server}/api/v1/jobs?limit=1000`)).json();
  const { job, queue } = items.find((one) => one.kind === "job" && one.state === "RUNNING");
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  const verdicts = [];
  for (const [address, parts, checks] of PAGES(job, queue)) {
    const numbers = await together(page, server, address, parts);
    for (const [name, check] of Object.entries(checks)) {
      const picture = await page.evaluate(read, name);
      const wrong = picture ? check(picture, numbers) : ["it is not there"];
      if (picture && wrong.length === 0 && check(damaged(picture), numbers).length === 0) wrong.push("a picture with another number is found right, too");
      verdicts.push([`the picture ${name} of ${address}`, wrong.slice(0, 5)]);
    }
  }
  return verdicts;
}

// pages.mjs SERVER EMPTY LINK DEMO [PAGE]...
//
// Opens each page of SERVER, a market with jobs, and of EMPTY, a daemon that has nothing, in the browser $CHROMIUM, and prints a line for each: its
// bytes on the wire, and what is wrong with it; then, signed in by LINK as an administrator of SERVER, the pages that show an administrator more, and
// a play of the past. Before that it compares pictures with the API, and at the end it stops the process DEMO, which serves SERVER, for
// a while: an open page must say that it is old, and be live again afterwards. Ends with a line `N passed, N failed`.
import { createRequire } from "node:module";
import path from "node:path";

import { addressesOf, privateAddressesOf } from "./addresses.mjs";
import { MOST_BYTES, accessibility, facts, keyboard, watch, width } from "./page_checks.mjs";
import { checkPictures } from "./pictures.mjs";

const { chromium } = createRequire(path.join(process.env.NODE_PATH, "modules.cjs"))("playwright-core");
const [server, empty, link, demo, ...chosen] = process.argv.slice(2);
/** Two loads show the same generation of a busy cluster within so many tries. */
const MOST_TRIES = 12;
/** Loads of one generation that differ: one may be of a tick between the page's generation and its last number. */
const MOST_DIFFERENT = 2;
const counts = { ok: 0, wrong: 0 };

function verdict(name, wrong) {
  counts[wrong.length > 0 ? "wrong" : "ok"] += 1;
  console.log(`${name} ... ${wrong.length > 0 ? `WRONG\n  ${wrong.join("\n  ")}` : "ok"}`);
}

async function opened(context, address) {
  const page = await context.newPage();
  await page.goto(address, { waitUntil: "load" });
  return page;
}

/** The same numbers without script, at the same generation. */
async function withoutScript(browser, address, session) {
  const contexts = await Promise.all([true, false].map((javaScriptEnabled) => browser.newContext({ javaScriptEnabled, ...session })));
  let different = 0;
  try {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const pages = await Promise.all(contexts.map((context) => opened(context, address)));
      const [scripted, plain] = await Promise.all(pages.map(facts));
      await Promise.all(pages.map((page) => page.close()));
      if (scripted.generation !== plain.generation) continue;
      const differs = plain.values.findIndex((value, index) => value !== scripted.values[index]);
      if (differs < 0 && plain.values.length === scripted.values.length) return [];
      different += 1;
      // A report is read when it is asked for, whatever the generation.
      if (different < MOST_DIFFERENT || new URL(address).pathname.startsWith("/reports/")) continue;
      return [`without script ${plain.values.length} numbers, with it ${scripted.values.length}; without ${plain.values[differs]}, with ${scripted.values[differs]}`];
    }
    return [`no two loads of ${MOST_TRIES} show the same generation`];
  } finally {
    await Promise.all(contexts.map((context) => context.close()));
  }
}

async function checkPage(browser, from, address, session = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...session });
  const page = await context.newPage();
  try {
    const seen = await watch(page, from);
    const answer = await page.goto(from + address, { waitUntil: "load" });
    const { bytes } = seen;
    const wrong = answer.status() >= 500 ? [`status ${answer.status()}`] : [];
    if (bytes > MOST_BYTES) wrong.push(`${bytes} bytes on the wire`);
    // What moves meanwhile would be another page.
    const pause = page.getByRole("button", { name: "Pause" });
    if (await pause.count() > 0) await pause.click();
    wrong.push(...await accessibility(page), ...await width(page), ...await keyboard(page), ...seen.wrong);
    wrong.push(...await withoutScript(browser, from + address, session));
    verdict(`${address} (${answer.status()}, ${(bytes / 1000).toFixed(1)} kB)`, wrong);
  } finally {
    await context.close();
  }
}

/** Polls: a function that waits inside of the page would be refused by its policy. */
async function becomes(page, wanted, seconds) {
  for (let tries = 0; tries < seconds * 5; tries += 1) {
    if (await page.evaluate(() => document.body.classList.contains("stale")) === wanted) return true;
    await page.waitForTimeout(200);
  }
  return false;
}

/** A page of a daemon that hangs says so, and is live again afterwards without being loaded. */
async function checkStale(browser) {
  const page = await opened(await browser.newContext(), server);
  const before = (await facts(page)).generation;
  process.kill(Number(demo), "SIGSTOP");
  const wrong = await becomes(page, true, 60) ? [] : ["it does not say that it is old"];
  if (wrong.length === 0) wrong.push(...await accessibility(page));
  process.kill(Number(demo), "SIGCONT");
  if (!await becomes(page, false, 30)) wrong.push("it stays old");
  if ((await facts(page)).generation === before) wrong.push("it shows what it showed before");
  verdict("a page while the daemon hangs, and afterwards", wrong);
}

/** What an administrator alone sees, and what a play of the past comes to. */
async function checkSignedIn(browser) {
  const context = await browser.newContext();
  const page = await opened(context, link);
  const session = { storageState: await context.storageState() };
  for (const address of await privateAddressesOf(server)) await checkPage(browser, server, address, session);
  await page.goto(`${server}/what-if`);
  await page.getByLabel(/^TaskTrackers/).fill("4");
  await page.getByRole("button", { name: "Play" }).click();
  const outcome = page.getByRole("heading", { level: 1, name: /as asked/ });
  const isShown = await outcome.waitFor({ timeout: 50_000 }).then(() => true, () => false);
  verdict("a play of the past, without being asked for again", isShown ? [] : [`it has no outcome: ${page.url()}`]);
  await checkPage(browser, server, new URL(page.url()).pathname, session);
  await context.close();
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  // While each tick still is a point of its own in the API.
  if (chosen.length === 0) for (const [name, wrong] of await checkPictures(browser, server)) verdict(name, wrong);
  for (const address of chosen.length > 0 ? chosen : await addressesOf(server)) await checkPage(browser, server, address);
  if (chosen.length === 0) {
    console.log("Signed in as an administrator:");
    await checkSignedIn(browser);
    console.log("Of a daemon that has nothing:");
    for (const address of await addressesOf(empty)) await checkPage(browser, empty, address);
    await checkStale(browser);
  }
} finally {
  await browser.close();
}
console.log(`${counts.ok} passed, ${counts.wrong} failed`);
process.exitCode = counts.wrong > 0 ? 1 : 0;

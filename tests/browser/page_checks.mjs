// What must hold of one page in a browser: each check answers with the sentences that say what is wrong.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_PATH, "modules.cjs"));
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** Bytes on the wire of a first load, at most. */
export const MOST_BYTES = 100_000;
/** Presses of the Tab key, at most: long lists are walked to here. */
const MOST_TABS = 120;

/** Watches a page that is about to be opened: what goes wrong in it, which hosts it asks, how many bytes came. */
export async function watch(page, server) {
  const seen = { wrong: [], bytes: 0 };
  const expected = new URL(server).host;
  // A page that is not there is one of the pages.
  const isOfStatus = (text) => /status of 4\d\d/.test(text);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isOfStatus(message.text())) seen.wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => seen.wrong.push(`script: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== expected) seen.wrong.push(`asks another host: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && response.request().resourceType() !== "document") seen.wrong.push(`${response.status()} for ${response.url()}`);
  });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  cdp.on("Network.loadingFinished", (event) => { seen.bytes += event.encodedDataLength; });
  return seen;
}

/** What axe finds in each theme. */
export async function accessibility(page) {
  const wrong = [];
  // Pages at the addresses of Hadoop keep its elements: what the law of the web asks for holds there, not each good custom.
  const values = await page.$("body.page") ? [...TAGS, "best-practice"] : TAGS;
  await page.evaluate(AXE);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate((tags) => axe.run(document, { runOnly: { type: "tag", values: tags } }), values);
    for (const { id, impact, nodes } of violations) {
      wrong.push(`axe ${id} (${impact}, ${colorScheme}) ${nodes.length} times: ${nodes[0].html.slice(0, 160)} ${nodes[0].any[0]?.message ?? ""}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  return wrong;
}

/** Nothing moves sideways on a small screen or with large text, and no words of a picture lie over each other. */
export async function width(page) {
  const wrong = [];
  for (const [name, pixels, text] of [["320 px", 320, "100%"], ["1280 px with text of 200 %", 1280, "200%"], ["390 px", 390, "100%"], ["1280 px", 1280, "100%"]]) {
    await page.setViewportSize({ width: pixels, height: 800 });
    const found = await page.evaluate((size) => {
      document.documentElement.style.fontSize = size;
      const { scrollWidth } = document.scrollingElement;
      const isWide = (element) => element.getBoundingClientRect().right > innerWidth && !element.closest(".wide, pre, .skip");
      const widest = scrollWidth > innerWidth ? [...document.querySelectorAll("body *")].filter(isWide).at(-1) : undefined;
      const overlaps = [];
      for (const svg of document.querySelectorAll("figure > svg")) {
        const outer = svg.getBoundingClientRect();
        // Letters fill the middle of their line.
        const lettersOf = ({ left, right, top, bottom, height }) => ({ left, right, top: top + height / 5, bottom: bottom - height / 5 });
        const words = [...svg.querySelectorAll("text")].map((word) => [word.textContent, lettersOf(word.getBoundingClientRect())]);
        words.forEach(([text, box], index) => {
          if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1) overlaps.push(`"${text}" is cut`);
          for (const [other, { left, right, top, bottom }] of words.slice(index + 1)) {
            if (box.left < right - 1 && left < box.right - 1 && box.top < bottom && top < box.bottom) overlaps.push(`"${text}" over "${other}"`);
          }
        });
      }
      return { scrollWidth, inner: innerWidth, widest: widest?.outerHTML.slice(0, 120), overlaps };
    }, text);
    if (found.scrollWidth > found.inner) wrong.push(`${name}: ${found.scrollWidth} px wide: ${found.widest}`);
    if (found.overlaps.length > 0) wrong.push(`${name}: in a picture ${found.overlaps.length} words are badly placed: ${found.overlaps.slice(0, 3).join("; ")}`);
  }
  await page.evaluate(() => { document.documentElement.style.fontSize = ""; });
  return wrong;
}

/** The Tab key reaches whatever can be used, in the order of the page and visibly, first the link that skips to the content. */
export async function keyboard(page) {
  const wrong = [];
  const wanted = await page.evaluate(() => {
    const usable = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
    const isShown = (element) => element.checkVisibility() && !element.disabled;
    const found = [...document.querySelectorAll(usable)].filter(isShown);
    // One radio button of a group is reached by Tab, the others by the arrows.
    found.forEach((element, index) => { element.dataset.tabOrder = index; });
    const start = document.createElement("span");
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    return found.length;
  });
  for (let index = 0; index < Math.min(wanted, MOST_TABS); index += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      const box = element.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return {
        order: element.dataset.tabOrder, html: element.outerHTML.slice(0, 100),
        isSeen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth, hasRing: outlineStyle !== "none" && outlineWidth !== "0px",
      };
    });
    if (found.order !== String(index)) {
      wrong.push(`Tab ${index + 1} leads to ${found.html}`);
      break;
    }
    if (!found.isSeen || !found.hasRing) wrong.push(`the focus is not seen on ${found.html}`);
  }
  if (await page.$("body.page")) {
    await page.evaluate(() => { document.activeElement.blur(); document.querySelector(".skip").focus(); });
    await page.keyboard.press("Enter");
    if (!await page.evaluate(() => document.activeElement === document.getElementById("main"))) wrong.push("the link that skips to the content does not");
  }
  return wrong;
}

/** The numbers of a page by name and place, and its generation; not those that are of the moment of reading. */
export const facts = (page) => page.evaluate(() => ({
  generation: document.querySelector("main")?.dataset.generation,
  values: [...document.querySelectorAll("[data-metric]:not([data-metric='views_lag_ms'])")].map(({ dataset }) => `${dataset.metric}=${dataset.value}`),
}));

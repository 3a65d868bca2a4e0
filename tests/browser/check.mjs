// Opens reports in Chromium, uses them as a reader would, and prints what it saw as JSON.
//
//     node check.mjs CHROMIUM FOLDER PAGE...        screenshots go to FOLDER, none with ''

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const SIZES = [[1280, 900], [390, 844]];

async function open(browser, path, options, seen) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) seen.messages.push(message.text()); });
  page.on("pageerror", (error) => seen.messages.push(error.message));
  const own = pathToFileURL(path).href;
  page.on("request", (request) => { if (request.url() !== own) seen.requests.push(request.url()); });
  await page.goto(own);
  return page;
}

async function accessibility(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160)) }));
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
const openAll = (page) => page.evaluate(() => document.querySelectorAll("details").forEach((node) => { node.open = true; }));

// Every look in both themes and at both widths, as it opens and with everything opened.
async function looks(browser, path, seen) {
  const rows = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of SIZES) {
      const page = await open(browser, path, { viewport: { width, height }, colorScheme }, seen);
      const name = `${basename(path, ".html")}-${colorScheme}-${width}`;
      if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
      const closed = await overflow(page);
      await openAll(page);
      await page.waitForTimeout(100);
      const violations = await accessibility(page);
      const short = await page.evaluate(() => document.documentElement.scrollHeight < 16000);
      if (folder) await page.screenshot({ path: `${folder}/${name}-all.png`, fullPage: short });
      rows.push({ name, overflow: Math.max(closed, await overflow(page)), violations });
      await page.context().close();
    }
  }
  return rows;
}

async function evidence(page) {
  const more = page.locator("details.finding[open] details.more").last();
  if (!await more.count()) return null;
  await more.locator("summary").first().click();
  return more.evaluate((node) => ({ open: node.open, text: node.innerText.length }));
}

async function table(page) {
  const place = page.locator("details[data-table]").first();
  if (!await place.count()) return null;
  await place.locator("summary").click();
  const rows = place.locator("tbody tr");
  await rows.first().waitFor();
  const before = await rows.count();
  const header = place.locator("th button").first();
  const column = () => rows.evaluateAll((list) => list.map((row) => row.cells[0].textContent));
  await header.click();
  const ascending = await column();
  await header.click();
  const descending = await column();
  const sort = await place.locator("th").first().getAttribute("aria-sort");
  await place.locator("input[type=search]").fill(descending[0].split(/\s+/).at(-1));
  const filtered = await rows.count();
  await place.locator("input[type=search]").fill("no such thing anywhere");
  return { before, ascending, descending, sort, filtered, none: await rows.count(), status: await place.locator("[role=status]").innerText() };
}

async function timeline(page) {
  const place = page.locator("#timeline");
  const status = place.locator("#plots [role=status]").first();
  if (!await status.count()) return null;
  const rows = place.locator("tbody tr");
  const all = await rows.count();
  const wide = await status.innerText();
  await place.locator(".plot").first().scrollIntoViewIfNeeded();
  const box = await place.locator(".plot").first().boundingBox();
  await page.mouse.move(box.x + box.width * .55, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * .75, box.y + 25, { steps: 4 });
  await page.mouse.up();
  const dragged = await status.innerText();
  await place.getByRole("button", { name: "All" }).first().focus();
  await page.keyboard.press("Enter");
  const again = await status.innerText();
  await place.getByLabel("only events of findings").check();
  const hot = await rows.count();
  return { all, wide, dragged, again, hot };
}

async function theme(page) {
  const button = page.locator("#theme");
  const colours = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await button.click();
    colours.push([await button.innerText(), await page.evaluate(() => getComputedStyle(document.body).backgroundColor)]);
  }
  return colours;
}

async function copy(page) {
  const button = page.locator(".copy").first();
  if (!await button.count()) return null;
  await button.click();
  await page.waitForFunction(() => document.getElementById("said").textContent !== "");
  return { said: await page.locator("#said").innerText(), button: await button.innerText() };
}

// By keyboard alone: the first stop skips to the findings, and every stop can be seen.
async function keyboard(page) {
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.textContent);
  const unseen = [];
  for (let stop = 0; stop < 30; stop += 1) {
    await page.keyboard.press("Tab");
    const lost = await page.evaluate(() => {
      const node = document.activeElement;
      const box = node.getBoundingClientRect();
      const shown = node === document.body || (box.width > 0 && getComputedStyle(node).outlineStyle !== "none");
      return shown ? "" : node.outerHTML.slice(0, 80);
    });
    if (lost) unseen.push(lost);
  }
  return { first, unseen };
}

async function speed(page) {
  return page.evaluate(() => {
    const [row] = performance.getEntriesByType("navigation");
    return { interactive: Math.round(row.domInteractive), loaded: Math.round(row.loadEventEnd), rows: document.querySelectorAll("#events tbody tr").length };
  });
}

async function print(page) {
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const closed = await page.locator("details.finding:not([open])").count();
  const bar = await page.locator(".bar").isVisible();
  await page.emulateMedia({ media: null });
  return { closed, bar };
}

const browser = await chromium.launch({ executablePath, args });
const results = {};
for (const path of pages) {
  const seen = { messages: [], requests: [] };
  const page = await open(browser, path, { viewport: { width: 1280, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] }, seen);
  results[basename(path, ".html")] = {
    speed: await speed(page),
    keyboard: await keyboard(page),
    evidence: await evidence(page),
    table: await table(page),
    timeline: await timeline(page),
    theme: await theme(page),
    copy: await copy(page),
    print: await print(page),
    looks: basename(path).startsWith("big") ? [] : await looks(browser, path, seen),
    seen,
  };
  await page.context().close();
}
await browser.close();
process.stdout.write(JSON.stringify(results));

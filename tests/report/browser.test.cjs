// The page as a reader uses it; see pages.cjs.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { test } = require("node:test");
const { DESKTOP, PHONE, expected, open } = require("./pages.cjs");

const ranked = (page) => page.$$eval("[data-ranks] tr:not(.trivial):not(.off)", (rows) => rows.map((row) => ({
  model: row.querySelector("th").textContent,
  mean: row.querySelector("[data-cell=mean]").textContent,
  rank: Number(row.querySelector("[data-cell=rank]").textContent),
})));

async function assertRanked(page, answer) {
  const rows = await ranked(page);
  assert.deepEqual(rows.map((row) => row.model), answer.models);
  assert.deepEqual(rows.map((row) => row.mean), answer.means);
}

for (const [name, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  for (const file of ["demo.html", "hostile.html", "cases.html"]) {
    test(`${file} opens offline on a ${name}, logs and asks for nothing, and fits`, async () => {
      const { page, faults, close } = await open(file, { viewport });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= viewport.width, `${width} wide`);
      assert.equal(await page.locator("[data-range]").isVisible(), true);
      assert.deepEqual(faults, []);
      await close();
    });
  }
}

test("the rows of a long table are filtered", async () => {
  const { page, faults, close } = await open("classes.html");
  const rows = page.locator(".long").first().locator("tbody tr:not([hidden])");
  const all = await rows.count();
  assert.equal(all, expected.classes);
  const filter = page.locator("[data-filter]").first();
  await filter.locator("input").fill("7");
  assert.equal(await rows.count(), 1);
  assert.equal(await rows.locator("th").textContent(), "7");
  assert.equal(await filter.locator("output").textContent(), `1 of ${all} rows`);
  await filter.locator("input").fill("");
  assert.equal(await rows.count(), all);
  assert.deepEqual(faults, []);
  await close();
});

test("without JavaScript everything is there, and nothing that would not work", async () => {
  const { page, close } = await open("demo.html", { javaScriptEnabled: false });
  assert.equal(await page.locator("[data-range]").isVisible(), false);
  assert.equal(await page.locator("[data-switch]").first().isVisible(), false);
  assert.equal(await page.locator("[data-ranks]").isVisible(), true);
  assert.equal(await page.locator(".plot > svg").first().isVisible(), true);
  assert.equal(await page.locator("details .scroll").first().isVisible(), false);
  await page.locator("summary").first().click();
  assert.equal(await page.locator("details .scroll").first().isVisible(), true);
  await close();
});

test("the ranking is Python's on every interval asked for", async () => {
  const { page, faults, close } = await open("demo.html");
  await assertRanked(page, expected.intervals[0]);
  for (const answer of expected.intervals) {
    await page.evaluate(([start, stop]) => {
      for (const [id, value] of [["range-low", 0], ["range-high", stop], ["range-low", start]]) {
        const handle = document.getElementById(id);
        handle.valueAsNumber = value;
        handle.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }, [answer.start, answer.stop]);
    await assertRanked(page, answer);
    assert.equal(await page.textContent("output[data-shown=low]"), answer.low);
    assert.ok((await page.textContent(".ranking .call")).includes(`thresholds=(${answer.ends[0]}, ${answer.ends[1]})`));
  }
  assert.deepEqual(faults, []);
  await close();
});

test("keys and the mouse move the ends, which never cross", async () => {
  const { page, close } = await open("demo.html");
  const steps = () => page.$$eval(".track input", (all) => all.map((one) => one.valueAsNumber));
  const [start, stop] = await steps();
  await page.focus("#range-low");
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await steps(), [start + 1, stop]);
  await page.keyboard.press("End");
  const last = expected.steps;
  assert.deepEqual(await steps(), [last - 1, last]);
  assert.equal(await page.getAttribute("#range-low", "aria-valuetext"), expected.labels[last - 1]);
  await page.click("[data-reset]");
  assert.deepEqual(await steps(), [start, stop]);
  const box = await page.locator(".track").boundingBox();
  const at = (step) => box.x + 12 + (box.width - 24) * step / last;
  await page.mouse.move(at(stop), box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(at(last), box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  assert.deepEqual(await steps(), [start, last]);
  await page.waitForFunction(() => document.querySelector("[data-said]").textContent.includes("lowest mean regret"));
  await close();
});

test("a model that is switched off leaves figures, tables and the ranking", async () => {
  const { page, close } = await open("demo.html");
  const first = (await ranked(page))[0].model;
  const place = expected.models.indexOf(first);
  const visible = () => page.locator(`[data-model="${place}"]:visible`).count();
  assert.ok(await visible() > 10);
  await page.uncheck(`[data-switch="${place}"]`);
  assert.equal(await visible(), 0);
  const rest = await ranked(page);
  assert.equal(rest.length, expected.models.length - 1);
  assert.equal(rest[0].rank, 1);
  assert.deepEqual(await page.$$eval("tr.first:not(.off) th", (all) => all.map((one) => one.textContent)), [rest[0].model]);
  await page.check(`[data-switch="${place}"]`);
  assert.equal((await ranked(page))[0].model, first);
  for (const other of expected.models.keys()) await page.locator(`[data-switch="${other}"]`).click();
  assert.equal((await ranked(page)).length, 1);
  await close();
});

test("pointer and keyboard read the values of a figure", async () => {
  const { page, close } = await open("demo.html");
  const plot = page.locator(".plot", { has: page.locator("title", { hasText: "Net benefit" }) });
  const tip = plot.locator(".tip");
  await plot.scrollIntoViewIfNeeded();
  assert.equal(await tip.isVisible(), false);
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + 0.35 * box.width, box.y + 0.4 * box.height);
  assert.match(await tip.textContent(), /^.+: threshold \d+%, net benefit 0\.\d+$/);
  await page.mouse.move(2, 2);
  assert.equal(await tip.isVisible(), false);
  await page.keyboard.press("Tab");
  await plot.focus();
  const told = [];
  for (const key of ["Home", "ArrowRight", "ArrowDown"]) {
    await page.keyboard.press(key);
    told.push(await tip.textContent());
  }
  assert.equal(new Set(told).size, 3);
  assert.equal(told[0].split(":")[0], expected.models[0]);
  assert.equal(told[2].split(":")[0], expected.models[1]);
  await page.keyboard.press("Escape");
  assert.equal(await tip.isVisible(), false);
  await close();
});

test("what is read off lies on the line that is drawn", async () => {
  const { page, close } = await open("demo.html");
  const plot = page.locator(".plot", { has: page.locator("title", { hasText: "Net benefit" }) });
  await plot.focus();
  for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  const distance = await plot.evaluate((element) => {
    const mark = element.querySelector(".mark");
    const line = element.querySelector('[data-model="0"] path') || element.querySelector('path[data-model="0"]');
    const length = line.getTotalLength();
    let least = Infinity;
    for (let i = 0; i <= 4000; i += 1) {
      const point = line.getPointAtLength(length * i / 4000);
      least = Math.min(least, Math.hypot(point.x - mark.cx.baseVal.value, point.y - mark.cy.baseVal.value));
    }
    return least;
  });
  assert.ok(distance < 0.3, `${distance} points beside the line`);
  await close();
});

test("tables sort both ways and say so", async () => {
  const { page, close } = await open("demo.html");
  const table = page.locator("#s-slices table.data");
  const column = () => table.locator("tbody tr td:nth-child(2)").allTextContents();
  const numbers = async () => (await column()).map((text) => Number(text.replace(/,/g, "")));
  const head = table.locator("thead th:nth-child(2)");
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await numbers(), [...await numbers()].sort((one, other) => one - other));
  await head.locator("button").press("Enter");
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  assert.deepEqual(await numbers(), [...await numbers()].sort((one, other) => other - one));
  // The last column lies behind others that have a second cell for their interval.
  const scores = page.locator("#s-scores table.data");
  await scores.locator("thead th").last().locator("button").click();
  const last = (await scores.locator("tbody td:last-child").allTextContents()).map(Number);
  assert.deepEqual(last, [...last].sort((one, other) => one - other));
  await close();
});

for (const [file, names] of Object.entries(expected.hostile)) test(`hostile names are shown and do nothing: ${file}`, async () => {
  const { page, faults, close } = await open(file);
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img, iframe, object, embed, form, link, svg script, [onload], [onerror], [onclick]").count(), 0);
  assert.deepEqual(await page.$$eval("[data-switch]", (all) => all.map((one) => one.parentNode.querySelector("bdi").textContent)),
    names.map((name) => name || "(no name)"));
  const addresses = await page.$$eval("[href]", (all) => all.map((one) => one.getAttribute("href")).filter((to) => !to.startsWith("#")));
  assert.deepEqual(addresses, []);
  const ids = await page.$$eval("[id]", (all) => all.map((one) => one.id));
  assert.deepEqual(ids.filter((id) => !/^[a-z][a-z0-9-]*$/.test(id)), []);
  assert.equal(new Set(ids).size, ids.length);
  assert.doesNotMatch(await page.textContent("body"), /[\u202a-\u202e\u2066-\u2069]/);
  await page.focus("#range-low");
  await page.keyboard.press("ArrowRight");
  await page.locator("#s-slices thead button").first().click();
  await page.locator("[data-switch]").first().click();
  await page.waitForTimeout(500);
  assert.ok((await page.textContent("[data-said]")).includes("lowest mean regret"));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(faults, []);
  await close();
});

test("a hostile title is a title", async () => {
  const { page, close } = await open("hostile.html");
  assert.equal(await page.title(), expected.title);
  assert.equal(await page.textContent("h1"), expected.title);
  await close();
});

test("the policy stops what a hole in the page would let in", async () => {
  const { page, faults, close } = await open("demo.html");
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
    document.body.setAttribute("style", "color: rgb(1, 2, 3)");
    document.body.append(Object.assign(document.createElement("img"), { src: "https://example.org/x.png" }));
    document.body.append(Object.assign(document.createElement("iframe"), { src: "https://example.org/" }));
    const link = Object.assign(document.createElement("a"), { href: "javascript:window.hacked = 1" });
    document.body.append(link);
    link.click();
    const button = document.createElement("button");
    button.setAttribute("onclick", "window.hacked = 1");
    button.click();
    fetch("https://example.org/").catch(() => {});
    setTimeout("window.hacked = 1", 0);
  });
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(1, 2, 3)");
  const stopped = ["Executing inline script", "Applying inline style", "Running the JavaScript URL", "Executing inline event handler",
    "Evaluating a string", "Loading the image", "Framing", "Connecting to"];
  const policed = faults.filter((fault) => fault.includes("violates the following Content Security Policy"));
  assert.deepEqual(stopped.filter((told) => !policed.some((fault) => fault.startsWith(`console: ${told}`))), []);
  assert.equal(policed.length, stopped.length);
  await close();
});

test("on paper the data of the figures are open and the controls are gone", async () => {
  const { page, close } = await open("demo.html");
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("[data-range]").isVisible(), false);
  assert.equal(await page.locator("nav").isVisible(), false);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("details:not([open])").count(), 0);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("details[open]").count(), 0);
  const paper = await page.pdf({ preferCSSPageSize: true });
  assert.ok(paper.length > 50000);
  await close();
});

test("figures and tables can be saved", async () => {
  const { page, faults, close } = await open("demo.html", { acceptDownloads: true });
  const saved = async (selector) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(selector).first().click()]);
    return [download.suggestedFilename().split(".").pop(), readFileSync(await download.path())];
  };
  const [svg, drawing] = await saved("[data-save=svg]");
  assert.equal(svg, "svg");
  assert.match(drawing.toString(), /^<svg width="[^]*<\/svg>$/);
  assert.doesNotMatch(drawing.toString(), /var\(/);
  const [png, image] = await saved("[data-save=png]");
  assert.equal(png, "png");
  assert.equal(image.subarray(1, 4).toString(), "PNG");
  const [csv, table] = await saved(".item.whole > .tools [data-csv]");
  assert.equal(csv, "csv");
  const rows = table.toString().replace(/^\ufeff/, "").trim().split("\r\n");
  assert.equal(rows.length, 1 + await page.locator(".item.whole > .scroll table.data").first().locator("tbody tr").count());
  assert.deepEqual(faults.filter((one) => !one.includes("request: blob:")), []);
  await close();
});

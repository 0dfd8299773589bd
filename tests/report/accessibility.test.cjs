// What axe-core finds in the pages; see pages.cjs.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { test } = require("node:test");
const { DESKTOP, PHONE, open } = require("./pages.cjs");

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const AXE = [
  ["demo.html", "light", DESKTOP, true],
  ["demo.html", "light", PHONE, false],
  ["demo.html", "dark", DESKTOP, false],
  ["demo.html", "dark", PHONE, false],
  ["hostile.html", "light", DESKTOP, false],
  ["classes.html", "light", DESKTOP, true],
  ["classes.html", "dark", PHONE, false],
];
for (const [file, colorScheme, viewport, opened] of AXE) {
  test(`axe finds nothing: ${file}, ${colorScheme}, ${viewport.width} wide${opened ? ", data opened" : ""}`, async () => {
    const { page, close } = await open(file, { colorScheme, viewport });
    if (opened) await page.$$eval("details", (all) => all.forEach((details) => { details.open = true; }));
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map((one) => [one.id, one.nodes[0].html.slice(0, 200)]), []);
    await close();
  });
}

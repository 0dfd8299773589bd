// Pages in a real browser, for the tests that `node --test` runs. PAGES is a folder with the pages and expected.json,
// which tests/report/test_browser.py writes; CHROMIUM is the browser.
"use strict";
const { readFileSync } = require("node:fs");
const path = require("node:path");
const { after, before } = require("node:test");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");

const pages = process.env.PAGES;
const expected = JSON.parse(readFileSync(path.join(pages, "expected.json"), "utf8"));
const address = (name) => pathToFileURL(path.join(pages, name)).href;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
let browser;

before(async () => {
  const root = process.getuid && process.getuid() === 0; // Chromium refuses its sandbox to root.
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: root ? ["--no-sandbox"] : [] });
});
after(() => browser.close());

/* Open a page offline; `faults` gathers whatever it logs, throws or asks for. */
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: DESKTOP, offline: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== address(name)) faults.push(`request: ${request.url()}`); });
  await page.goto(address(name));
  return { page, faults, close: () => context.close() };
}

module.exports = { DESKTOP, PHONE, expected, open };

// Unit tests of the page's script, run by `node --test`.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const file = path.join(__dirname, "../../src/propriety/report/script.js");
const script = require(file);

// Two models whose curves cross, treat all and treat none; cumulative regrets on five thresholds.
const ranking = {
  grid: [0, 0.25, 0.5, 0.75, 1],
  cumulative: [[0, 1, 2, 5, 8], [0, 2, 3, 4, 5], [0, 4, 8, 12, 16], [0, 3, 6, 9, 12]],
  models: 2,
};
const on = () => true;
const panels = [{
  x: { at: [10, 100], scale: "linear", label: "Threshold", percent: true },
  y: { at: [200, -100], scale: "linear", label: "Net benefit", percent: false },
  lines: [
    { model: 0, name: "a", x: [0, 0.5, 1], y: [0, 0.5, 1] },
    { model: 1, name: "b", x: [0, 0.5, 1], y: [1, 1, 1] },
    { model: null, name: "all", x: [0.5], y: [0.1] },
  ],
}];

test("the script is small, plain ASCII and evaluates nothing", () => {
  const text = readFileSync(file, "latin1");
  assert.ok(text.length < 20000, `${text.length} bytes`);
  assert.ok(/^[\n\x20-\x7e]*$/.test(text));
  for (const word of ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "Function(", "document.write", "</script", "<!--"]) {
    assert.ok(!text.includes(word), word);
  }
});

test("mean regret is the difference of sums over the width", () => {
  assert.deepEqual(script.meanRegrets(ranking, 0, 4), [8, 5, 16, 12]);
  assert.deepEqual(script.meanRegrets(ranking, 1, 2), [4, 4, 16, 12]);
});

test("models are ranked, and references stand among them without a rank", () => {
  const rows = script.rank(script.meanRegrets(ranking, 0, 4), 2, on);
  assert.deepEqual(rows.map((row) => row.place), [1, 0, 3, 2]);
  assert.deepEqual(rows.map((row) => row.rank), [1, 2, null, null]);
  assert.deepEqual(rows.map((row) => row.behind), [0, 3, 7, 11]);
});

test("ties share a rank, whatever the last digit says", () => {
  const rows = script.rank([0.1 + 0.2, 0.3, 0.5], 3, on);
  assert.deepEqual(rows.map((row) => row.rank), [1, 1, 3]);
});

test("models that are off are left out, and the others move up", () => {
  const rows = script.rank([1, 2, 3], 3, (place) => place !== 0);
  assert.deepEqual(rows.map((row) => [row.place, row.rank, row.behind]), [[1, 1, 0], [2, 2, 1]]);
});

test("handles keep one step apart, and the one that moves has its way", () => {
  assert.deepEqual(script.keepApart(2, 5, 9, true), [2, 5]);
  assert.deepEqual(script.keepApart(6, 5, 9, true), [6, 7]);
  assert.deepEqual(script.keepApart(6, 5, 9, false), [4, 5]);
  assert.deepEqual(script.keepApart(9, 9, 9, true), [8, 9]);
  assert.deepEqual(script.keepApart(0, 0, 9, false), [0, 1]);
});

test("numbers have a true minus, and none where they round to zero", () => {
  assert.equal(script.number(-0.1234, 2), "\u22120.12");
  assert.equal(script.number(-0.001, 2), "0.00");
  assert.equal(script.behind(1e-14, 3), "best");
  assert.equal(script.behind(0.5, 1), "+0.5");
  assert.equal(script.behind(-0.5, 1), "\u22120.5");
});

test("values become places on linear, logarithmic and logit axes", () => {
  assert.equal(script.along({ at: [10, 100], scale: "linear" }, 0.5), 60);
  assert.equal(script.along({ at: [0, 10], scale: "log" }, 100), 20);
  assert.equal(script.along({ at: [5, 10], scale: "logit" }, 0.5), 5);
});

test("the nearest point is found among the models that are on", () => {
  const all = script.readable(panels, on);
  assert.equal(all.length, 7);
  assert.equal(script.nearest(all, 60, 150).line.name, "a");
  const some = script.readable(panels, (place) => place !== 0);
  assert.equal(script.nearest(some, 60, 150).line.name, "all");
  assert.equal(script.nearest([], 0, 0), null);
});

test("arrow keys go along a line and from one to another", () => {
  const points = script.readable(panels, on);
  const first = script.step(points, null, "ArrowRight");
  assert.deepEqual([first.line.name, first.i], ["a", 0]);
  const right = script.step(points, first, "ArrowRight");
  assert.equal(right.i, 1);
  assert.equal(script.step(points, first, "ArrowLeft").i, 0);
  assert.equal(script.step(points, first, "End").i, 2);
  assert.equal(script.step(points, right, "Home").i, 0);
  const down = script.step(points, right, "ArrowDown");
  assert.deepEqual([down.line.name, down.i], ["b", 1]);
  assert.equal(script.step(points, right, "ArrowUp").line.name, "all");
  assert.equal(script.step([], null, "End"), null);
});

test("a point is told in words", () => {
  const point = script.readable(panels, on)[1];
  assert.equal(script.tell(point), "a: threshold 50%, net benefit 0.5");
});

test("rows are filtered by the number of a class, or by any words", () => {
  const row = ["12", "1,204", "0.95 0.91 to 0.99", "miscalibrated: too high"];
  for (const sought of ["", "12", " too HIGH ", "0.95"]) assert.ok(script.matches(row, sought), sought);
  for (const sought of ["1", "120", "too low"]) assert.ok(!script.matches(row, sought), sought);
});

test("cells are sorted by their numbers, then by text, and what is missing goes last", () => {
  const cells = ["10", "9", "\u2013", "1,200", "\u22123.5", "0.12 0.10 to 0.15", "\u221e"];
  const sorted = (sign) => [...cells].sort((one, other) => script.compare(script.sortKey(one), script.sortKey(other), sign));
  assert.deepEqual(sorted(1), ["\u22123.5", "0.12 0.10 to 0.15", "9", "10", "1,200", "\u221e", "\u2013"]);
  assert.equal(sorted(-1).at(-1), "\u2013");
  assert.ok(script.compare("model 2", "model 10", 1) < 0);
  assert.equal(script.sortKey("2024-02-01"), "2024-02-01");
  assert.equal(script.sortKey("5% (1 in 20)"), 5);
});

test("a CSV cell is a number or safe text", () => {
  assert.equal(script.csvCell(" \u22120.25 "), "-0.25");
  assert.equal(script.csvCell("\u2013"), "");
  assert.equal(script.csvCell("=1+1"), "'=1+1");
  assert.equal(script.csvCell('a,"b"'), '"a,""b"""');
});

test("a figure by itself has its own colours and size", () => {
  const text = script.standalone('<svg viewBox="0 0 9 9"><path stroke="var(--m0,#0072b2)"/></svg>', 9, 9);
  assert.match(text, /^<svg width="9" height="9"/);
  assert.match(text, /stroke="#0072b2"/);
});

test("a file is named after its title", () => {
  assert.equal(script.fileName("Reliability of <b>", "svg"), "reliability-of-b.svg");
  assert.equal(script.fileName("\u4e2d", "csv"), "figure.csv");
});

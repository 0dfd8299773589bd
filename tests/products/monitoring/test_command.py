"""`propriety monitor`: exit codes, outputs, the stored state, and OpenMetrics text that a real Prometheus scrapes."""

import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "prometheus"
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
ODD = 'a "b" \\ c\nd'  # Must be escaped as the value of a label.


def ledger_of(*, shift=0.0, days=30, models=1, sites=("x", ODD), seed=0):
    rng = np.random.default_rng(seed)
    size = days * 400
    x, site = rng.normal(-1.5, 1.0, size), rng.choice(sites, size)
    day = np.array([f"2026-03-{1 + number:02d}" for number in np.repeat(np.arange(days), 400)])
    y = rng.random(size) < expit(x + np.where((day >= "2026-03-11") & (site == "x"), shift, 0.0))
    forecasts = {"m": expit(x)} | ({"old": expit(0.8 * x)} if models == 2 else {})
    return pr.condense(y, forecasts, by={"day": day, "site": site}, cells=64)


@pytest.fixture
def ledgers(folder):
    ledger_of().to_parquet(folder / "calm")
    ledger_of(shift=0.8, models=2).to_parquet(folder / "drift")
    return folder


def test_no_alarm_is_success(ledgers, run):
    result = run("monitor", "calm")
    assert result.exit_code == 0, result.output
    assert "No alarm in 4 streams over 30 days (probability of any false alarm: at most 5%)." in result.stdout
    assert "observed/expected" in result.stdout


def test_an_alarm_is_exit_code_1_and_says_since_when(ledgers, run):
    result = run("monitor", "drift", "--json", "m.json", "--html", "m.html", "--openmetrics", "m.prom")
    assert result.exit_code == 1, result.output
    assert re.search(
        r"m, observed/expected \(site x\): forecasts too low since 2026-03-\d\d \(alarm on 2026-03-", result.stdout
    )
    found = json.loads((ledgers / "m.json").read_text())
    assert (found["schema"], found["version"], found["period"]) == ("propriety.monitor", 1, "day")
    assert len(found["streams"]) == len(found["last_period"]) == 10
    of_m = ("m", "observed_expected", None, "x")
    alarm = next(one for one in found["alarms"] if (one["model"], one["measure"], one["against"], one["site"]) == of_m)
    assert alarm["direction"] == "too low"
    assert alarm["words"] in result.stdout
    page = (ledgers / "m.html").read_text()
    assert "<h1>Monitor of forecasts</h1>" in page
    assert page.count("<figure") >= 4


def test_options(ledgers, run, refusal):
    assert run("monitor", "drift", "--level", "0.999", "--reference-days", "5", "--json", "-").exit_code == 1
    assert "no key 'week'" in refusal("monitor", "calm", "--period", "week")
    assert "monitor reads ledgers" in refusal("monitor", "p.csv")
    assert "level must" in refusal("monitor", "calm", "--level", "1.5")
    assert "--stated must be the name of a measure and its value" in refusal("monitor", "calm", "--stated", "auc")
    assert run("monitor", "calm", "--measure", "auc", "--stated", "auc=0.6").exit_code == 0
    result = run("monitor", "calm", "--measure", "auc", "--stated", "auc=0.99", "--margin", "0.02")
    assert (result.exit_code, "area under the ROC curve (site x): worse since" in result.stdout) == (1, True)
    assert run("monitor", "drift", "--margin", "3").exit_code == 0


def test_days_that_are_not_mature_are_not_tested(ledgers, run, refusal):
    ledger_of(shift=0.8).to_parquet(ledgers / "late")
    assert run("monitor", "late").exit_code == 1
    assert run("monitor", "late", "--mature-after", "25", "--json", "m.json").exit_code == 0
    found = json.loads((ledgers / "m.json").read_text())
    assert (found["times"][-1], len(found["waiting"])) == ("2026-03-05", 25)
    assert "--mature-after must be a non-negative" in refusal("monitor", "late", "--mature-after", "-1")
    assert "--mature-after must be shorter" in refusal("monitor", "late", "--mature-after", "99")
    assert "--reference-days must be a positive" in refusal("monitor", "late", "--reference-days", "0")


def test_the_state_is_continued_and_the_same_day_may_come_again(ledgers, run, refusal):
    whole = ledger_of(shift=0.8)
    labels = whole.keys["day"]
    for name, own in (("early", labels[:12]), ("next", labels[12:13]), ("late", labels[13:])):
        whole.where(day=list(own)).to_parquet(ledgers / name)
    run("monitor", "early", "--state", "state", "--level", "0.9")
    run("monitor", "next", "--state", "state")
    run("monitor", "next", "--state", "state")
    result = run("monitor", "late", "--state", "state", "--json", "state.json")
    assert result.exit_code == 1
    whole.to_parquet(ledgers / "whole")
    run("monitor", "whole", "--level", "0.9", "--json", "whole.json")
    found, expected = (json.loads((ledgers / name).read_text()) for name in ("state.json", "whole.json"))
    assert found == expected
    assert "was made with another --level" in refusal("monitor", "late", "--state", "state", "--level", "0.95")


def test_files_condensed_day_by_day_continue_the_state(folder, run, refusal):
    rng = np.random.default_rng(5)
    for day in (1, 2):
        p = rng.beta(1, 4, 80).round(3)
        rows = zip((rng.random(80) < p).astype(int), p, rng.choice(["a", "b"], 80), strict=True)
        lines = ["y,p,day,site", *(f"{y},{one},{day},{site}" for y, one, site in rows)]
        (folder / f"{day}.csv").write_text("\n".join(lines), encoding="utf-8")
        condense = ("condense", f"{day}.csv", "--outcome", "y", "--forecast", "m=p")
        assert run(*condense, "--by", "day", "--by", "site", "-o", f"day{day}").exit_code == 0
        result = run("monitor", f"day{day}", "--state", "state")
        assert result.exit_code == 0, result.output
        assert f"No alarm in 4 streams over {day} day" in result.stdout
    assert run("monitor", "day1", "day2", "--state", "state").exit_code == 0
    run(*condense, "--by", "day,site", "-o", "crossed")
    assert "repeat --by for every key" in refusal("monitor", "crossed")
    (folder / "state" / "periods" / "periods-2-2.parquet").unlink()
    assert "periods-2-2.parquet is missing" in refusal("monitor", "day2", "--state", "state")


def samples(text):
    """Return the metadata and the samples of OpenMetrics text, after checking every line."""
    *lines, end = text.split("\n")[:-1]
    assert end == "# EOF"
    types, units, found = {}, {}, []
    for line in lines:
        if line.startswith("# "):
            _, kind, name, rest = line.split(" ", 3)
            {"TYPE": types, "UNIT": units, "HELP": {}}[kind][name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] in types, line
        float(match[3])
        found.append(match.groups())
    assert all(name.endswith(f"_{unit}") for name, unit in units.items())
    assert set(types.values()) == {"gauge"}
    return types, found


def test_openmetrics_text(ledgers, run):
    text = run("monitor", "drift", "--openmetrics", "-").stdout
    types, found = samples(text)
    assert {"propriety_alarm", "propriety_observed_expected_ratio", "propriety_score_difference"} <= types.keys()
    assert len({(name, labels) for name, labels, _ in found}) == len(found)
    assert r'site="a \"b\" \\ c\nd"' in text
    assert ("propriety_last_day_timestamp_seconds", None, "1774828800") in found
    assert not any(value == "NaN" for _, _, value in found)


def test_keys_without_a_name_of_their_own_are_refused(ledgers, run, refusal):
    y, p = [0, 1] * 20, [0.3, 0.6] * 20
    twice = {"day": [1, 2] * 20, "a b": [1] * 40, "a.b": [1] * 40}
    pr.condense(y, {"m": p}, by=twice).to_parquet(ledgers / "twice")
    assert "no label name of its own" in refusal("monitor", "twice", "--openmetrics", "-")
    pr.condense(y, {"m": p}, by={"day": [1, 2] * 20, "2nd-site": [1] * 40}).to_parquet(ledgers / "odd")
    assert 'key_2nd_site="1"' in run("monitor", "odd", "--openmetrics", "-").stdout


def test_the_dashboard_and_the_rules_use_metrics_that_exist(ledgers, run):
    measures = ("--measure", "observed_expected", "--measure", "calibration_slope", "--measure", "brier")
    types, _ = samples(run("monitor", "drift", *measures, "--openmetrics", "-").stdout)
    for name in ("dashboard.json", "alerts.yml"):
        used = set(re.findall(r"propriety_\w+", (EXAMPLES / name).read_text(encoding="utf-8")))
        assert used
        assert used <= types.keys()
    panels = json.loads((EXAMPLES / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool of Prometheus")
def test_promtool_accepts_the_metrics_and_the_rules(ledgers, run):
    text = run("monitor", "drift", "--openmetrics", "-").stdout
    checks = {("check", "metrics"): text, ("check", "rules", str(EXAMPLES / "alerts.yml")): ""}
    for command, given in checks.items():
        done = subprocess.run([PROMTOOL, *command], input=given, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stdout + done.stderr


class Served(http.server.BaseHTTPRequestHandler):
    """Serves one text as OpenMetrics."""

    text = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *_):
        pass


def answer_of(port, path, **query):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:
        return json.load(answer)["data"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="needs Prometheus")
def test_prometheus_scrapes_the_metrics_and_raises_the_alert(ledgers, run, monkeypatch):
    text = run("monitor", "drift", "--openmetrics", "-").stdout
    monkeypatch.setattr(Served, "text", text.encode())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = (EXAMPLES / "prometheus.yml").read_text(encoding="utf-8").replace("5m", "1s")
    (ledgers / "prometheus.yml").write_text(config.replace("localhost:8000", f"127.0.0.1:{server.server_port}"))
    shutil.copy(EXAMPLES / "alerts.yml", ledgers)
    port = free_port()
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
    prometheus = subprocess.Popen(  # noqa: S603  (a fixed command)
        [PROMETHEUS, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        found, firing, until = [], [], time.monotonic() + 90
        while time.monotonic() < until and not (found and firing):
            time.sleep(0.5)
            try:
                found = answer_of(port, "query", query="propriety_alarm")["result"]
                firing = [one for one in answer_of(port, "alerts")["alerts"] if one["state"] == "firing"]
            except OSError:
                continue
        _, written = samples(text)
        assert len(found) == sum(name == "propriety_alarm" for name, _, _ in written)
        assert {one["metric"]["site"] for one in found} == {"x", ODD}
        # A new line was read back as one, and the alert names the stream.
        names = {(one["labels"]["alertname"], one["labels"].get("site")) for one in firing}
        assert ("ForecastsMiscalibrated", "x") in names
        e_value = answer_of(
            port, "query", query='propriety_log_e_value{site="x",model="m",measure="observed_expected",reference=""}'
        )["result"]
        expected = next(
            v
            for name, labels, v in written
            if name == "propriety_log_e_value" and labels == 'model="m",measure="observed_expected",site="x"'
        )
        assert e_value[0]["value"][1] == expected
    finally:
        prometheus.terminate()
        prometheus.wait(20)
        server.shutdown()
        server.server_close()


def test_a_state_that_cannot_be_kept_is_refused_before_anything_is_written(ledgers, folder, refusal):
    (folder / "file").write_text("x")
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("x")
    for state, why in (("file", "file is a file"), ("other", "other holds other files")):
        assert why in refusal("monitor", "calm", "--state", state, "--json", "out.json")
        assert not (folder / "out.json").exists()

"""Alerts: what is told, what is never told, and that nothing is told twice."""

import json

import pytest
from archive import benchmark, samples_of, write_row, write_suite, write_unlike_devices
from asv.util import UserError
from recording_gh import RecordingGh

from bumps import alert, cli, delivery
from bumps.gh import gh as run_gh
from bumps.report import short_name

ROW = {
    "name": "matmul_chain.MatmulChain.time_compiled_forward",
    "params": {"framework": "torch", "precision": "bf16"},
    "mode": "compiled",
    "pass": "forward",
    "verdict": "regressed",
    "confirmed": True,
    "ratio": 1.42,
    "low": 1.4,
    "high": 1.44,
    "why": "slower",
    "acknowledged": None,
}


def report(*rows, **fields):
    return {
        "framework": "torch",
        "old": "2.13.0",
        "new": "2.14.1",
        "machine": "box",
        "python": "3.12",
        "accelerator": "cuda13",
        "measured": "2026-12-01T00:00:00+00:00",
        "summary": {"sentence": "torch 2.13.0 → 2.14.1: …", "judged": 212, "control": {"judged": 212, "alarms": 1}},
        "components": [{"name": "nvidia-cudnn-cu13", "old": "9.13", "new": "9.15"}],
        "benchmarks": list(rows),
        **fields,
    }


def test_the_title_counts_and_names_the_worst():
    other = {**ROW, "name": "a.B.time_c", "ratio": 1.1}
    third = {**ROW, "name": "a.B.time_d", "ratio": 1.2}
    assert alert.message(report(ROW, other, third)).title == ("torch 2.13.0 → 2.14.1: 3 of 212 regressed, worst ×1.42")
    broken = {**ROW, "verdict": "broken", "ratio": None}
    assert alert.message(report(ROW, broken)).title.endswith("1 of 212 regressed, worst ×1.42, 1 broken")


@pytest.mark.parametrize(
    "change",
    [{"verdict": "ambiguous"}, {"confirmed": False}, {"acknowledged": {"who": "a", "why": "b", "until": "3"}}],
)
def test_what_is_ambiguous_unconfirmed_or_acknowledged_alarms_nobody(change):
    message = alert.message(report({**ROW, **change}))
    assert not message.alarming
    assert message.title == "torch 2.13.0 → 2.14.1: nothing regressed"


def test_the_message_links_reproduces_and_says_what_else_changed():
    message = alert.message(report(ROW), "https://example.invalid/site/")
    assert f"https://example.invalid/site/bumps.html#{message.bump}" in message.markdown
    assert "python -m bumps reproduce --framework torch --old 2.13.0 --new 2.14.1" in message.markdown
    assert "`nvidia-cudnn-cu13` `9.13` → `9.15`" in message.markdown
    assert "1 false alarms of 212 judged" in message.plain


def test_names_from_results_cannot_leave_their_code_span_or_mention_anyone():
    row = {**ROW, "name": "a.B.time_`</code> @everyone <!-- bump:x -->\n# heading"}
    summary = {**report()["summary"], "sentence": f"jax 1 → 2: worst {row['name']}"}
    markdown = alert.message(report(row, summary=summary)).markdown
    assert markdown.splitlines()[0] == "`jax 1 → 2: worst a.B.time_'</code> @everyone <!-- bump:x --> # heading`"
    line = next(line for line in markdown.splitlines() if line.startswith("- regressed"))
    assert line.count("`") == 2
    assert "\n# heading" not in markdown


def test_the_state_changes_with_what_is_found_and_the_bump_does_not():
    one, other = alert.message(report(ROW)), alert.message(report({**ROW, "ratio": 1.9}))
    assert one.bump == other.bump
    assert one.state != other.state
    assert one.state == alert.message(report(ROW, measured="2027-01-01T00:00:00+00:00")).state


def test_the_same_verdict_goes_to_a_file_once_and_a_changed_one_again(tmp_path):
    sent = delivery.Sent(tmp_path / "sent")
    target = f"file:{tmp_path / 'message.md'}"
    assert delivery.deliver(alert.message(report(ROW)), target, sent) == "sent"
    assert delivery.deliver(alert.message(report(ROW)), target, delivery.Sent(tmp_path / "sent")) == "nothing new"
    assert delivery.deliver(alert.message(report({**ROW, "ratio": 1.9})), target, sent) == "sent"
    assert "×1.90" in (tmp_path / "message.md").read_text()
    assert delivery.deliver(alert.message(report()), f"file:{tmp_path / 'other.md'}", sent) == "nothing new"
    assert not (tmp_path / "other.md").exists()


@pytest.mark.parametrize(
    ("told", "found", "again"),
    [
        (1.42, 1.43, False),
        (1.42, 1.55, False),
        (1.42, 1.57, True),
        (1.42, 1.28, True),
        (0.004, 0.005, True),
        (None, None, False),
    ],
)
def test_a_ratio_is_told_again_when_it_moved_by_a_tenth(tmp_path, gh, told, found, again):
    verdict = "regressed" if told else "broken"
    before, after = (alert.message(report({**ROW, "verdict": verdict, "ratio": ratio})) for ratio in (told, found))
    sent, file = delivery.Sent(tmp_path / "sent"), f"file:{tmp_path / 'message.md'}"
    for target in ("github", file):
        delivery.deliver(before, target, sent)
    assert delivery.deliver(after, file, sent) == ("sent" if again else "nothing new")
    assert delivery.deliver(after, "github", sent) == ("updated issue 1" if again else "nothing new")


def test_a_slow_drift_is_told_when_it_is_a_tenth_from_what_was_told(tmp_path):
    sent, file = delivery.Sent(tmp_path / "sent"), f"file:{tmp_path / 'message.md'}"
    done = [
        delivery.deliver(alert.message(report({**ROW, "ratio": ratio})), file, sent)
        for ratio in (1.40, 1.45, 1.50, 1.55, 1.60)
    ]
    assert done == ["sent", "nothing new", "nothing new", "sent", "nothing new"]


def test_a_state_of_another_form_is_no_error(tmp_path):
    message = alert.message(report(ROW))
    for state in ("", ":", "abc", "abc:1,2", f"{message.state.split(':')[0]}:x=1.5,y=0.000,z=nan,w=="):
        assert isinstance(message.repeats(state), bool)
        assert isinstance(message.clears(state), bool)


def test_the_first_row_that_can_be_a_script_is_reproduced():
    probe = {**ROW, "name": "memory.Memory.track_host_bytes", "mode": "", "pass": ""}
    text = alert.message(report(probe, ROW)).markdown
    assert "Reproduce the first step" in text
    assert json.dumps(short_name(ROW)).replace("`", "'") in text
    assert "Reproduce" not in alert.message(report(probe)).markdown


def test_a_notification_that_fails_is_retried_reported_and_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(delivery, "PAUSE_SECONDS", 0)
    sent = delivery.Sent(tmp_path / "sent")
    with pytest.raises(UserError, match="no notification URL"):
        delivery.deliver(alert.message(report(ROW)), "nonsense://secret-token", sent)
    with pytest.raises(UserError, match=r"^json://… could not be reached in 3 attempts") as raised:
        delivery.deliver(alert.message(report(ROW)), "json://secret-token@127.0.0.1:9/", sent)
    assert "secret-token" not in str(raised.value)
    assert not (tmp_path / "sent").exists()


def test_two_targets_of_one_kind_are_two_targets(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(delivery, "_notify", lambda message, url: told.append(url))
    sent = delivery.Sent(tmp_path / "sent")
    urls = ["json://secret-token@one.example.invalid/", "json://secret-token@two.example.invalid/"]
    for _ in range(2):
        for url in urls:
            delivery.deliver(alert.message(report(ROW)), url, sent)
    assert told == urls
    assert "secret-token" not in (tmp_path / "sent").read_text()


@pytest.mark.parametrize("content", ["[]", "3", "{", "[" * 100_000])
def test_a_damaged_memory_is_named(tmp_path, content):
    (tmp_path / "sent").write_text(content)
    with pytest.raises(UserError, match="sent is damaged; remove it"):
        delivery.Sent(tmp_path / "sent")


@pytest.fixture
def gh(tmp_path, monkeypatch):
    found = RecordingGh(tmp_path / "bin")
    monkeypatch.setenv("PATH", found.path)
    return found


def test_the_command_tells_what_it_could_not_deliver_by_its_exit_status(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(delivery, "PAUSE_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    steps = benchmark("suite.Steps.time_it")
    write_row("results", {"jax": "0.9.2"}, [(steps, [samples_of([1.0, 1.01, 0.99])])])
    write_row("results", {"jax": "0.10.2"}, [(steps, [None])])
    write_suite("results", [steps])
    reachable = f"file:{tmp_path / 'message.md'}"
    unreachable = "json://secret-token@127.0.0.1:9/"
    assert cli.main(["alert", "--to", unreachable, "--to", reachable]) == 1
    title = "jax 0.9.2 → 0.10.2: 1 broken"
    problem = "json://… could not be reached in 3 attempts; nothing was sent"
    assert capsys.readouterr().err == f"bumps: {title}: {problem}\n{title}: sent\n"
    assert (tmp_path / "message.md").read_text().startswith(f"# {title}\n")
    assert cli.main(["alert", "--to", reachable]) == 0
    assert capsys.readouterr().err == f"{title}: nothing new\n"
    assert cli.main(["alert", "--to", unreachable]) == 1
    capsys.readouterr()
    # What cannot be written costs no other target its message.
    for impossible in ("file:", "file:message.md/impossible.md"):
        other = f"file:{tmp_path / impossible.replace('/', '-')}.md"
        assert cli.main(["alert", "--to", impossible, "--to", other]) == 1
        problem, said = capsys.readouterr().err.splitlines()
        assert problem.startswith(f"bumps: {title}: ")
        assert said == f"{title}: sent"
    assert cli.main(["alert", "--artifact", "results"]) == 2
    assert "'alerts.sent': no result" in capsys.readouterr().err


def test_a_bump_that_cannot_be_judged_keeps_nobody_from_hearing_of_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    steps = benchmark("suite.Steps.time_it")
    write_row("results", {"torch": "2.13.0"}, [(steps, [samples_of([1.0, 1.01, 0.99])])])
    write_row("results", {"torch": "2.14.1"}, [(steps, [None])])
    write_unlike_devices("results", "jax", "0.9.2", "0.10.2", steps, samples_of([1.0, 1.01, 0.99]))
    write_suite("results", [steps])
    for words in (["--to", f"file:{tmp_path / 'message.md'}"], ["--dry-run"]):
        assert cli.main(["alert", *words]) == 1
        assert "bumps: jax 0.9.2 → 0.10.2 on box: the two rows saw other devices" in capsys.readouterr().err
    assert (tmp_path / "message.md").read_text().startswith("# torch 2.13.0 → 2.14.1: 1 broken\n")


def test_an_issue_is_opened_left_updated_closed_and_reopened(gh):
    github = delivery.GitHub()
    assert github.deliver(alert.message(report())) == "nothing new"
    assert github.deliver(alert.message(report(ROW))) == "opened issue 1"
    assert github.deliver(alert.message(report(ROW))) == "nothing new"
    assert github.deliver(alert.message(report({**ROW, "ratio": 1.9}))) == "updated issue 1"
    assert "worst ×1.90" in gh.issues[0]["title"]
    assert github.deliver(alert.message(report())) == "closed issue 1"
    assert github.deliver(alert.message(report())) == "nothing new"
    assert github.deliver(alert.message(report(ROW))) == "reopened issue 1"
    assert [(each["number"], each["state"]) for each in gh.issues] == [(1, "OPEN")]


@pytest.mark.parametrize("change", [{"verdict": "ambiguous"}, {"confirmed": False}, {"verdict": "unmeasured"}])
def test_what_was_told_stays_told_until_it_is_settled(gh, tmp_path, change):
    told, doubtful = alert.message(report(ROW)), alert.message(report({**ROW, **change}))
    sent, file = delivery.Sent(tmp_path / "sent"), f"file:{tmp_path / 'message.md'}"
    for target in ("github", file):
        delivery.deliver(told, target, sent)
        assert delivery.deliver(doubtful, target, sent) == delivery.NOT_SETTLED
    assert gh.issues[0]["state"] == "OPEN"
    other = {**ROW, "name": "another.Row.time_it", "verdict": "ambiguous"}
    settled = alert.message(report({**ROW, "verdict": "same"}, other))
    assert delivery.deliver(settled, "github", sent) == "closed issue 1"
    assert delivery.deliver(settled, file, sent) == "sent"


def test_an_issue_closed_by_hand_stays_closed_until_the_verdict_changes(gh):
    github = delivery.GitHub()
    github.deliver(alert.message(report(ROW)))
    gh.put(issues=[{**gh.issues[0], "state": "CLOSED"}])
    assert github.deliver(alert.message(report(ROW))) == "nothing new"
    assert github.deliver(alert.message(report({**ROW, "ratio": 1.9}))) == "reopened issue 1"


def test_what_failed_half_way_is_carried_on(gh, monkeypatch):
    github = delivery.GitHub()
    github.deliver(alert.message(report(ROW)))
    failing = {"edit": True}

    def fails_to_edit(*arguments, input=None):
        if arguments[1] == "edit" and failing["edit"]:
            raise UserError("gh issue edit failed: no reason given")
        return run_gh(*arguments, input=input)

    monkeypatch.setattr(delivery, "gh", fails_to_edit)
    for attempt in (alert.message(report()), alert.message(report(ROW, ROW))):
        failing["edit"] = True
        with pytest.raises(UserError, match="edit failed"):
            github.deliver(attempt)
        failing["edit"] = False
        assert github.deliver(attempt) == "updated issue 1"
        assert (gh.issues[0]["state"] == "OPEN") == attempt.alarming
    assert len(gh.issues[0]["comments"]) == 1


def test_two_alerts_that_race_leave_one_open_issue(gh):
    github = delivery.GitHub()
    message = alert.message(report(ROW))
    github.deliver(message)
    # The other one had looked before the first was there.
    body = github._body(message)
    run_gh("issue", "create", "--title", message.title, "--body-file", "-", input=body)
    github._settle_race(message)
    assert [each["state"] for each in gh.issues] == ["OPEN", "CLOSED"]


def test_an_issue_of_somebody_else_is_never_touched_and_silences_nothing(gh):
    message = alert.message(report(ROW))
    body = f"{message.marker} <!-- state:{message.state} -->"
    theirs = {"number": 1, "state": "OPEN", "title": "t", "body": body, "comments": [], "viewerDidAuthor": False}
    gh.put(issues=[theirs])
    assert delivery.GitHub().deliver(message) == "opened issue 2"
    assert gh.issues[0] == theirs


def test_an_issue_that_only_the_search_finds_is_ours(gh):
    message = alert.message(report(ROW))
    old = {"number": 7, "state": "OPEN", "body": delivery.GitHub()._body(message), "viewerDidAuthor": True}
    answer = {"data": {"repository": {"issues": {"nodes": []}}, "search": {"nodes": [{}, old]}}}
    gh.write(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    assert delivery.GitHub().deliver(message) == "nothing new"
    gh.write("#!/bin/sh\necho '[]'\n")
    with pytest.raises(UserError, match="did not list issues as JSON"):
        delivery.GitHub().deliver(message)


def test_a_missing_or_failing_gh_is_one_line(gh, monkeypatch):
    gh.write("#!/bin/sh\necho 'To get started with GitHub CLI, please run: gh auth login' >&2\nexit 4\n")
    with pytest.raises(UserError, match="gh api graphql failed: To get started"):
        delivery.GitHub().deliver(alert.message(report(ROW)))
    monkeypatch.setenv("PATH", str(gh.folder / "nothing"))
    with pytest.raises(UserError, match="gh command is missing"):
        delivery.GitHub().deliver(alert.message(report(ROW)))

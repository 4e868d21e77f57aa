"""What each receiver would be told of a cluster as it is, by decisions instead of reports. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from reroll.controller.report import Report, Result
from reroll.core.policy.notice import Notice
from reroll.core.policy.receivers import EmailTo
from reroll.core.tables.news import News, problem_of
from reroll.engine.concern import last_tried
from reroll.engine.outcome import Turn, change_of, report_of
from reroll.features.notices.bulletin import Bulletin, State, bulletin_of
from reroll.features.notices.incidents import Incident, Incidents, Topic, topic
from reroll.features.notices.receivers.table import RECEIVERS


class Preview(NamedTuple):
    notice: Notice
    message: Bulletin

    @property
    def body(self) -> str:
        """What would be sent; it holds no secret."""
        if isinstance(self.notice.to, EmailTo):
            from reroll.features.notices.receivers.mail import mail

            return mail(self.notice.to, self.message).as_string()
        encode = RECEIVERS[self.notice.receiver].encode
        return encode(self.notice.to, self.message, "").body.decode() if encode else ""


def previews(notices: Sequence[Notice], turns: Iterable[Turn], now: datetime) -> list[Preview]:
    """One for each message, in the order of the rows."""
    incidents = {row.name: Incidents() for row in notices}
    rows = {row.name: row for row in notices}
    for turn in turns:
        for name in turn.snapshot.policy.notices:
            _add(incidents[name], rows[name], turn, now)
    found = []
    for name, gathered in incidents.items():
        row = rows[name]
        for incident in gathered.open.values():
            said = {"notice": name, "link": row.link, "cluster": row.cluster}
            found.append(Preview(row, bulletin_of(incident, State.OPEN, now, **said)))
    return found


def _add(incidents: Incidents, row: Notice, turn: Turn, now: datetime) -> None:
    news, record = problem_of(turn.plan.reason), turn.snapshot.record
    if news is not None and news in row.about:
        report: Report = report_of(turn, Result.NOTHING)
        about = topic(news, report.sources, report.change, turn.key)
        incidents.problem(turn.key, about, report.message, now)
    if News.ROLLED in row.about and record is not None and record.rolled is not None:
        sources = last_tried(turn.snapshot)
        about = topic(News.ROLLED, sources, change_of(turn.snapshot, sources), turn.key)
        incidents.done(turn.key, about, record.why, record.rolled)


def trial(notice: Notice, now: datetime) -> Bulletin:
    """A message that says that nothing has happened."""
    nothing = Incident(Topic(News.ROLLED, "a test"), now)
    said = {"notice": notice.name, "link": notice.link, "cluster": notice.cluster}
    return bulletin_of(nothing, State.TEST, now, **said)

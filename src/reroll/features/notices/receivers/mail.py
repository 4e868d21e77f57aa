"""Messages as mail, and the way to a mail server.

`smtplib` blocks, so it has a thread of its own, which ends with the process whatever it waits for.
"""

import asyncio
import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from threading import Thread
from typing import Any

from reroll.core.policy.receivers import EmailTo
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.receivers.parcel import cut
from reroll.http.addresses import is_forbidden
from reroll.http.trust import trusting

SECONDS = 20.0
"""For all of it, from the name of the server to its last answer."""
_SUBJECT = 200


class MailError(Exception):
    """A sentence that names the server alone. `maybe`: the mail may have been taken."""

    def __init__(self, why: str, *, maybe: bool) -> None:
        super().__init__(why)
        self.maybe = maybe


def mail(to: EmailTo, message: Bulletin) -> EmailMessage:
    made = EmailMessage()
    domain = to.sender.rpartition("@")[2]
    made["From"], made["To"] = to.sender, ", ".join(to.recipients)
    made["Subject"] = " ".join(cut(message.title, _SUBJECT).split())
    made["Date"] = format_datetime(message.at)
    made["Message-ID"] = f"<{message.id}.{message.notice}@{domain}>"
    if message.state is State.OVER:
        first = f"<{message.thread}-{State.OPEN}.{message.notice}@{domain}>"
        made["In-Reply-To"] = made["References"] = first
    made["Auto-Submitted"] = "auto-generated"
    link = f"\n\n{message.link}" if message.link else ""
    when = f"Since {message.since:%Y-%m-%d %H:%M:%S} UTC. Notice {message.notice}."
    made.set_content(f"{message.text}\n\n{when}{link}\n")
    return made


async def post(to: EmailTo, made: EmailMessage, password: str, seconds: float = SECONDS) -> None:
    """Hand a mail to the server. Raises `MailError`."""
    postman = _Postman(to, made, password, seconds)
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    Thread(target=_reporting, args=(postman.run, done), daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            problem = await done
    except TimeoutError:
        problem = f"no answer within {seconds:g} s"
    finally:
        postman.give_up()
    if problem:
        raise MailError(f"{to.host}: {problem}", maybe=postman.maybe)


def _reporting(run: Callable[[], str], done: "asyncio.Future[str]") -> None:
    problem = run()
    with suppress(RuntimeError):  # The loop may have ended, or nobody waits any more.
        done.get_loop().call_soon_threadsafe(_tell, done, problem)


def _tell(done: "asyncio.Future[str]", problem: str) -> None:
    if not done.done():
        done.set_result(problem)


class _Postman:
    """One mail, in a thread."""

    def __init__(self, to: EmailTo, made: EmailMessage, password: str, seconds: float) -> None:
        self._to, self._mail, self._password, self._seconds = to, made, password, seconds
        self.maybe = False
        """Whether the mail is with the server, which has not said what it does with it."""
        self._opened: list[socket.socket] = []
        self._is_over = False

    def run(self) -> str:
        """What went wrong, if anything did: a server's words are not repeated, they may be ours."""
        try:
            self._deliver()
        except smtplib.SMTPResponseException as error:
            self.maybe = False
            return f"the mail server answered {error.smtp_code}"
        except smtplib.SMTPRecipientsRefused:
            self.maybe = False
            return "the mail server refused every recipient"
        except smtplib.SMTPNotSupportedError:
            return "the mail server does not offer what is configured, STARTTLS or a login"
        except smtplib.SMTPServerDisconnected:
            return "the mail server closed the connection"
        except smtplib.SMTPException:
            return "the mail server offers no login that is known here"
        except ssl.SSLCertVerificationError as error:
            return f"its certificate is not trusted: {error.verify_message}"
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error) or type(error).__name__
        finally:
            for one in self._opened:
                one.close()
        return ""

    def give_up(self) -> None:
        """The thread ends, whatever the server does: one that says a byte now and then as well."""
        self._is_over = True
        for one in tuple(self._opened):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _open(self, sock: socket.socket) -> None:
        """A second handle of the connection: TLS takes the first over."""
        self._opened.append(sock.dup())
        if self._is_over:
            self.give_up()

    def _deliver(self) -> None:
        to, trust = self._to, None
        if to.tls != "none":
            trust = trusting(Path(to.ca_file).read_bytes() if to.ca_file else None)
        place = self._open, to.host, to.port
        late = 2 * self._seconds  # Who waits for us gives up before.
        if to.tls == "implicit":
            client: smtplib.SMTP = _InTls(*place, timeout=late, context=trust)
        else:
            client = _Plain(*place, timeout=late)
        try:
            if to.tls == "starttls":
                client.starttls(context=trust)
            if to.user:
                client.login(to.user, self._password)
            self.maybe = True
            refused = client.send_message(self._mail)
            with suppress(smtplib.SMTPException, OSError):  # It has the mail, whatever it says now.
                client.quit()
        finally:
            client.close()
        if refused:
            raise ValueError(f"the mail server refused {len(refused)} of the recipients")


class _Checked(smtplib.SMTP):
    """Connects to no address where a cloud gives credentials away, whatever its name."""

    opened: Callable[[socket.socket], None]

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        last: OSError | None = None
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            if is_forbidden(str(address[0])):
                raise ValueError("leads to a link-local address or to the metadata of a cloud")
            try:
                made = socket.create_connection((str(address[0]), port), timeout)
            except OSError as error:
                last = error
            else:
                self.opened(made)
                return made
        raise last or OSError("no address")


class _Watched:
    """`opened` gets the connection before anything is read from it."""

    def __init__(self, opened: Callable[[socket.socket], None], *args: Any, **more: Any) -> None:
        self.opened = opened
        super().__init__(*args, **more)


class _Plain(_Watched, _Checked):
    pass


class _InTls(_Watched, smtplib.SMTP_SSL, _Checked):
    """In TLS from the first byte."""

"""`nightshift up`: every process of the Procfile on this machine, on an embedded Valkey unless REDIS_URL is set."""

import errno
import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from honcho.environ import parse_procfile

from cli.env_file import EXAMPLE_FILE, MADE_UP, merged_environment, read_example, write_first_env_file
from cli.supervisor import Supervisor
from runtime.embedded import EmbeddedValkey, EmbeddedValkeyFailed
from runtime.files.env import ENV_FILE
from runtime.files.private import UMASK, make_private
from runtime.settings import Settings
from runtime.start import checked_settings, warnings_of
from store.server.start import refuse_unfit_store, say_nothing

PROCFILE = Path("Procfile")
VAR = Path("var")  # all that this machine keeps
VALKEY_DIRECTORY = VAR / "valkey"
GRACE_SECONDS = 90.0  # a turn's budget of 60 s, and time to write down how it ended


def run() -> int:
    """Run until Ctrl-C or until a process stops: 0 or 1; 2 when nothing was started for want of a file or a setting."""
    if not PROCFILE.exists():
        print("there is no Procfile here; run this in Nightshift's own folder", file=sys.stderr)
        return 2
    os.umask(UMASK)
    if VAR.exists():
        make_private(VAR)
    first_run = EXAMPLE_FILE.exists() and write_first_env_file(EXAMPLE_FILE, ENV_FILE)
    os.environ.update(merged_environment(ENV_FILE, os.environ))
    settings = checked_settings(redis_required=False)
    if faults := _port_faults(settings):
        print("\n".join(faults), file=sys.stderr)
        return 1
    if settings.env.redis_url:
        refuse_unfit_store(settings, warn=say_nothing)  # the processes say it
    env = {
        **os.environ,
        "PORT": str(settings.env.port),
        "FLOWER_PORT": str(settings.env.flower_port),
        "PYTHONUNBUFFERED": "1",
    }
    supervisor = Supervisor(output=sys.stdout, grace_seconds=GRACE_SECONDS)
    supervisor.take_signals()
    with ExitStack() as stack:
        valkey = None
        if not settings.env.redis_url:
            try:
                # Outside the supervisor, because it has to stop after everything that writes to it.
                make_private(VAR)
                valkey = stack.enter_context(EmbeddedValkey(VALKEY_DIRECTORY))
            except EmbeddedValkeyFailed as exc:
                print(f"REDIS_URL is not set, and the embedded server does not start: {exc}", file=sys.stderr)
                return 1
            env["REDIS_URL"] = valkey.url
        flower_password = _flower_password(settings, env)
        print(_banner(settings, valkey, flower_password))
        print(_still_missing(settings, first_run=first_run))
        print(*_worth_a_look(settings), sep="\n", flush=True)
        commands = parse_procfile(PROCFILE.read_text(encoding="utf-8")).processes
        return supervisor.run(commands, env=env, watch=lambda: _valkey_trouble(valkey))


def _valkey_trouble(valkey: EmbeddedValkey | None) -> str | None:
    if valkey is None or valkey.running:
        return None
    return f"the embedded Valkey ended by itself; its last lines:\n{valkey.log_tail()}"


def _port_faults(settings: Settings) -> list[str]:
    ports = {"PORT": (settings.env.host, settings.env.port), "FLOWER_PORT": ("127.0.0.1", settings.env.flower_port)}
    return [fault for variable, (host, port) in ports.items() if (fault := _port_fault(variable, host, port))]


def _port_fault(variable: str, host: str, port: int) -> str | None:
    try:
        [family, _, _, _, (address, _, *scope)], *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return f"HOST: {host} is no address to listen on; 127.0.0.1 is this machine alone, 0.0.0.0 every address"
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port, *scope))
        except (OSError, OverflowError) as exc:
            if isinstance(exc, OSError) and exc.errno == errno.EADDRNOTAVAIL:
                return f"HOST: {host} is no address of this machine"
            reason = exc.strerror if isinstance(exc, OSError) else exc
            return f"{variable}: port {port} cannot be used ({reason}); stop what uses it, or set another {variable}"
    return None


def _flower_password(settings: Settings, env: dict[str, str]) -> str:
    """Where the operator finds Flower's password; Flower insists on one in production."""
    if settings.env.flower_basic_auth.get_secret_value():
        return "password: FLOWER_BASIC_AUTH in the environment or .env"
    if settings.env.app_env != "production":
        return "no password"
    env["FLOWER_BASIC_AUTH"] = MADE_UP["FLOWER_BASIC_AUTH"]()
    return f"FLOWER_BASIC_AUTH is not set; until the next start it is {env['FLOWER_BASIC_AUTH']}"


def _banner(settings: Settings, valkey: EmbeddedValkey | None, flower_password: str) -> str:
    public = settings.env.public_url.rstrip("/") or "https://<your address>"
    store = "as REDIS_URL says"
    if valkey:
        store = (
            f"embedded Valkey on port {valkey.port}, data in {VALKEY_DIRECTORY}; to look inside:\n"
            f'            REDISCLI_AUTH="$(cat {VALKEY_DIRECTORY}/password)" valkey-cli -p {valkey.port}'
        )
    return "\n".join(
        [
            "Nightshift",
            f"  webhooks  http://{_shown(settings.env.host)}:{settings.env.port}/webhooks/meta",
            f"            tell Meta: {public}/webhooks/meta, and META_VERIFY_TOKEN as the verify token",
            "            Meta wants HTTPS: put a TLS proxy in front (docs/proxy.md)",
            f"  health    http://{_shown(settings.env.host)}:{settings.env.port}/health/system ({_asked_by(settings)})",
            f"  Flower    http://127.0.0.1:{settings.env.flower_port} ({flower_password})",
            f"  Redis     {store}",
            "  Ctrl-C stops it all",
        ]
    )


def _worth_a_look(settings: Settings) -> list[str]:
    """The warnings but for missing tokens, which have been named already."""
    found = [finding for finding in warnings_of(settings.findings) if finding.check != "accounts.token"]
    return ["Worth a look:", *(f"  {finding}" for finding in found)] if found else []


def _shown(host: str) -> str:
    """How to reach it from this machine."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _asked_by(settings: Settings) -> str:
    return "bearer token: OPS_TOKEN" if settings.env.ops_token.get_secret_value() else "from this machine alone"


def _still_missing(settings: Settings, *, first_run: bool) -> str:
    """What only the owner has, and without which the bot cannot hear, answer or warn."""
    env = settings.env
    values = {
        "META_APP_SECRETS": env.meta_app_secrets.get_secret_value(),
        "META_VERIFY_TOKEN": env.meta_verify_token.get_secret_value(),
        **{a.token_env: a.token.get_secret_value() for a in settings.config.accounts if a.token_env},
        "LLM_API_KEY": env.llm_api_key.get_secret_value(),
        "TELEGRAM_BOT_TOKEN": env.telegram_bot_token.get_secret_value(),
        "TELEGRAM_CHAT_ID": env.telegram_chat_id,
    }
    missing = [name for name, value in values.items() if not value]
    lines = [f"A first {ENV_FILE} was written, with secrets of its own."] if first_run else []
    if missing:
        explained = {v.name: v.explanation for v in read_example(EXAMPLE_FILE)} if EXAMPLE_FILE.exists() else {}
        width = max(map(len, missing))
        lines.append(f"Still to be filled in, in {ENV_FILE}:")
        lines += [f"  {name:<{width}}  {explained.get(name, '')}".rstrip() for name in missing]
    return "\n".join(lines)

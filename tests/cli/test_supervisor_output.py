"""What the commands say is shown, whatever the terminal can show."""

import io
import os

from cli.supervisor import Supervisor


def test_a_terminal_without_our_letters_stops_nothing() -> None:
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    supervisor = Supervisor(output=terminal, grace_seconds=10)

    code = supervisor.run({"one": "printf 'Привет 👋\\n'; sleep 0.2; exit 3"}, env=dict(os.environ))

    said = raw.getvalue().decode("ascii")
    assert code == 1
    assert "\\u041f" in said
    assert "one ended by itself (exit code 3)" in said

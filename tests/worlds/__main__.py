"""Play any number of worlds: `python -m tests.worlds --worlds 5000 --seed 7`, or one again with its `--trace`.

Exit code 1 when a world has broken a rule; its seed and its last steps are printed, and the others go on.
"""

import argparse
import sys

import structlog

from runtime.embedded import EmbeddedValkey
from tests.worlds.books import PromiseBroken
from tests.worlds.valkey import WorldValkey, product_texts
from tests.worlds.weather import ALL
from tests.worlds.world import World

PROGRESS_EVERY = 100
MOST_FINDINGS = 10


def main(arguments: list[str] | None = None) -> int:
    names = {weather.name: weather for weather in ALL}
    parser = argparse.ArgumentParser(prog="python -m tests.worlds", description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first one; the others follow it (default: 1)")
    parser.add_argument("--weather", choices=sorted(names), help="play only this one (default: all of them in turn)")
    parser.add_argument("--trace", action="store_true", help="print every step")
    asked = parser.parse_args(arguments)
    weathers = [names[asked.weather]] if asked.weather else list(ALL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))  # what breaks here is meant to
    findings = steps = 0
    with EmbeddedValkey() as server:
        valkey = WorldValkey(server.url)
        for number in range(asked.worlds):
            seed, weather = asked.seed + number // len(weathers), weathers[number % len(weathers)]
            try:
                report = World(valkey, product_texts(), weather, seed).play()
            except PromiseBroken as broken:
                findings += 1
                _say(f"\nBROKEN: {broken}\n")
                if findings == MOST_FINDINGS:
                    break
                continue
            steps += report.steps
            if asked.trace:
                _say("\n".join(report.trace))
            if (number + 1) % PROGRESS_EVERY == 0:
                _say(f"{number + 1} worlds, {steps} steps, {findings} broken")
        valkey.close()
    _say(f"{number + 1} worlds, {findings} broken")
    return 1 if findings else 0


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

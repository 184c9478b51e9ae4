import pytest

from runtime.settings import Environment
from worker.flower import FlowerUnprotected, check_auth, command_line


def environment(**values: str) -> Environment:
    return Environment.model_validate(values)


def test_production_needs_a_password() -> None:
    with pytest.raises(FlowerUnprotected):
        check_auth(environment(app_env="production"))


@pytest.mark.parametrize(
    ("app_env", "auth"), [("production", "nightshift:secret"), ("production", "a:b,c:d"), ("development", "")]
)
def test_with_them_or_on_a_desk_it_may_start(app_env: str, auth: str) -> None:
    check_auth(environment(app_env=app_env, flower_basic_auth=auth))


def test_it_can_be_read_only_and_from_this_machine_only() -> None:
    line = command_line(environment(flower_port="5556", flower_basic_auth="nightshift:secret"), {})

    assert {"--read_only=True", "--address=127.0.0.1", "--port=5556"} <= set(line)


def test_the_password_is_no_argument() -> None:
    line = command_line(environment(flower_basic_auth="nightshift:secret"), {})

    assert not [argument for argument in line if "secret" in argument]


def test_a_container_may_listen_to_its_network() -> None:
    assert "--address=0.0.0.0" in command_line(environment(), {"FLOWER_ADDRESS": "0.0.0.0"})

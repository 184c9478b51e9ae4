# One image for every process; docker-compose.yml says which line of the Procfile a container runs.
FROM python:3.12-slim AS packages
WORKDIR /app
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv .venv
COPY requirements.lock .
RUN .venv/bin/python -m pip install --quiet --require-hashes -r requirements.lock

FROM python:3.12-slim
WORKDIR /app
# In a container loopback is the container itself; to whom its port is open is said where it is published.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOST=0.0.0.0
# var/ belongs to the user before a volume is laid over it, so that the volume does too.
RUN useradd --uid 10001 --no-create-home nightshift && mkdir var && chown nightshift var
COPY --from=packages /app/.venv .venv
COPY . .
RUN .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --no-cache-dir --editable .
USER nightshift
EXPOSE 8000
CMD ["sh", "-c", "exec .venv/bin/python -m webhooks"]

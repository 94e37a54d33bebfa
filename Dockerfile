# One instance of Leadhand, from the hash-checked lock. What builds it stays behind in the first stage.
# The files to copy are named one by one, so that no .dockerignore has to say what to leave out.
#
#   docker build --tag leadhand .
#   docker run --rm --env-file .env leadhand check
#   docker run --rm --env-file .env --volume leadhand:/var/lib/leadhand leadhand
#
# The volume keeps the jobs where .env names no REDIS_URL.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/uv
RUN sed -n '/^uv==/,/[^\\]$/p' requirements.lock > uv.lock
RUN /opt/uv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r uv.lock
RUN /opt/uv/bin/uv venv --python python3 /opt/leadhand
RUN /opt/uv/bin/uv pip install --no-cache --python /opt/leadhand/bin/python --require-hashes --no-deps --compile-bytecode -r requirements.lock
COPY pyproject.toml README.md LICENSE manifest.yml ./
COPY bot ./bot
COPY handoff ./handoff
COPY specialists ./specialists
RUN /opt/uv/bin/uv pip install --no-cache --python /opt/leadhand/bin/python --no-deps --no-build-isolation --compile-bytecode .
RUN /opt/uv/bin/uv pip uninstall --python /opt/leadhand/bin/python uv hatchling editables pathspec pluggy trove-classifiers
RUN /opt/uv/bin/uv pip check --python /opt/leadhand/bin/python

FROM python:3.13-slim
# git: for crews that read repositories (LEADHAND_REPOSITORIES); ssh for those that are reached so.
RUN apt-get update && apt-get install --no-install-recommends -y git openssh-client ca-certificates && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --create-home leadhand && install -d -o leadhand -m 700 /var/lib/leadhand
COPY --from=build /opt/leadhand /opt/leadhand
ENV PATH=/opt/leadhand/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    LEADHAND_DATA=/var/lib/leadhand \
    LEADHAND_LOG=json \
    LEADHAND_OPERATION=0.0.0.0:9464 \
    LEADHAND_PORT=0.0.0.0:3000
USER leadhand
WORKDIR /var/lib/leadhand
# 9464: /healthz, /readyz and /metrics. 3000: /slack/events and /signed-in, in HTTP mode only. Neither is published by itself.
EXPOSE 9464 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:9464/healthz', timeout=4)"]
ENTRYPOINT ["leadhand"]
CMD ["run"]

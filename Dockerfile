# One image for the driver and for every executor: the bytes of a corpus depend on the versions in it.
FROM debian:bookworm-slim

# Debian withdraws a package's version when a newer one comes, so a pinned version is one that cannot be built later.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates openjdk-17-jre-headless procps python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home curate \
    && install --directory --owner curate /work

ENV PATH=/opt/curate/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYSPARK_PYTHON=/opt/curate/bin/python

# The third-party wheels change rarely and weigh most: they are a layer that the code below does not touch.
WORKDIR /opt/source
COPY setup.cfg pyproject.toml constraints.txt LICENSE ./
RUN touch README.md \
    && python3 -m venv /opt/curate \
    && pip install --constraint constraints.txt --upgrade pip \
    && pip install --constraint constraints.txt '.[s3]'

COPY README.md ./
COPY recipes recipes
COPY schemas schemas
COPY curation curation
COPY jobs jobs
RUN pip install --no-deps --force-reinstall .

USER 10001
WORKDIR /work
ENTRYPOINT ["curate"]
CMD ["--help"]

# The controller and every command of Reroll, for several machines at once:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=0.2.0 --tag reroll:0.2.0 .
#
# The tag of the base moves: name it by its digest (--build-arg BASE=python:3.11-slim@sha256:…) to get the same image
# each time, as a release must. A digest that stood here would keep the base's fixes out for as long as it is forgotten.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /build
COPY LICENSE ./
COPY deploy/image deploy/image
COPY src src
RUN ["python", "deploy/image/build.py", "/image"]

FROM ${BASE}
ARG BASE
ARG VERSION=0.2.0
LABEL org.opencontainers.image.title="reroll" \
      org.opencontainers.image.description="Rolls Kubernetes workloads when their configuration changes" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}" \
      dev.reroll.sbom="/opt/reroll/sbom.cdx.json"
# The base brings Python without its bytecode, and nothing can be written when it runs; it needs no pip then.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore wheel setuptools pip \
    && PYTHONHASHSEED=0 python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '/(test|idlelib|lib2to3|ensurepip)/' "$(python -c 'import os; print(os.path.dirname(os.__file__))')" \
    && rm -rf ~/.cache
COPY --from=build /image /opt/reroll
ENV PYTHONPATH=/opt/reroll/lib \
    PYTHONSAFEPATH=1 \
    PYTHONNOUSERSITE=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /
EXPOSE 8080 8081 8300
ENTRYPOINT ["python3", "-m", "reroll"]
CMD ["run"]

FROM python:3.12-slim
COPY . /tmp/tts-prep
RUN pip install --no-cache-dir "/tmp/tts-prep[prepare,report,parquet]" && rm -rf /tmp/tts-prep
# The caches of compiled kernels, also if it is a new volume. Each user has one of their own, because a cache that others
# can write is not used.
RUN mkdir --mode=1777 /tmp/numba
ENTRYPOINT ["/bin/sh", "-c", "export NUMBA_CACHE_DIR=/tmp/numba/$(id -u); mkdir -m 700 $NUMBA_CACHE_DIR 2>/dev/null; exec tts-prep \"$@\"", "tts-prep"]
CMD ["--help"]

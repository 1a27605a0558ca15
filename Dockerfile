FROM python:3.12-slim
COPY . /tmp/tts-prep
RUN pip install --no-cache-dir "/tmp/tts-prep[prepare,report,parquet]" && rm -rf /tmp/tts-prep
# The cache of compiled kernels, writable by every user, also if it is a new volume.
ENV NUMBA_CACHE_DIR=/tmp/numba
RUN mkdir --mode=1777 /tmp/numba
ENTRYPOINT ["tts-prep"]
CMD ["--help"]

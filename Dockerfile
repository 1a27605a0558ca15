FROM python:3.12-slim
COPY . /tmp/tts-prep
RUN pip install --no-cache-dir "/tmp/tts-prep[prepare,report,parquet]" && rm -rf /tmp/tts-prep
# The cache of compiled kernels, writable by every user.
ENV NUMBA_CACHE_DIR=/tmp/numba
ENTRYPOINT ["tts-prep"]
CMD ["--help"]

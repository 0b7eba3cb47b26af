# docker build -t dualign . && docker run --rm -v "$PWD:/work" dualign align text.de text.en -o links
FROM python:3.12-slim AS wheel
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=wheel /wheels /wheels
# Kernels are compiled once, here. The folder is for everyone to read; whoever runs the image writes nothing there.
# `generic` code runs on every processor of the architecture, not only on one like that which builds the image.
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/kernels PYTHONDONTWRITEBYTECODE=1
RUN pip install --no-cache-dir "$(ls /wheels/dualign-*.whl)[plots]" && rm -r /wheels \
    && dualign compile --all && chmod -R a+rX /opt/kernels \
    && useradd --create-home aligner
USER aligner
WORKDIR /work
ENTRYPOINT ["dualign"]
CMD ["--help"]

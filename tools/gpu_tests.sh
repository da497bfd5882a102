#!/bin/sh
# Run the tests of local models on a machine with a GPU that has torch, transformers, peft and pytest and no network.
#
# Here, once, for its Python (3.12): the packages that it lacks, about 60 MB, llama.cpp half of it.
#   pip download --dest build/wheels --python-version 3.12 --only-binary=:all: --no-deps -c constraints.txt \
#     alembic annotated-doc annotated-types fastapi gguf greenlet hypothesis mako phonenumberslite psycopg psycopg-binary pydantic pydantic-core \
#     pydantic-settings pystemmer python-dotenv python-stdnum pyyaml rich rjieba sortedcontainers sqlalchemy starlette typer \
#     typing-inspection uuid-utils uvicorn xllamacpp
# There, in the clone, with these wheels in the folder that is named:
#   sh tools/gpu_tests.sh build/wheels
set -e
python3 -m pip install --quiet --no-index --no-deps --target /tmp/site "$1"/*.whl >&2
python3 -c "import torch; print(torch.cuda.get_device_name(), torch.__version__)"
PYTHONPATH=src:tests:/tmp/site MEMORYOS_TESTS_DEVICE=cuda python3 -m pytest -q -n 8 --dist loadfile tests/local

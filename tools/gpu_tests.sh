#!/bin/sh
# Run the tests of local models on a machine with a GPU that has torch, transformers, peft and pytest and no network.
#
# Here, once, for its Python (3.12): the packages that it lacks, about 30 MB.
#   pip download --dest build/wheels --python-version 3.12 --only-binary=:all: --no-deps -c constraints.txt \
#     alembic annotated-doc annotated-types fastapi gguf greenlet httpx2 httpcore2 jiter mako openai opentelemetry-api opentelemetry-sdk \
#     opentelemetry-semantic-conventions phonenumberslite psycopg psycopg-binary pydantic pydantic-core pydantic-settings pystemmer \
#     python-dotenv python-stdnum rich rjieba sqlalchemy starlette truststore typer typing-inspection uuid-utils uvicorn
# There, in the clone, with these wheels in the folder that is named:
#   sh tools/gpu_tests.sh build/wheels
#
# Without xllamacpp, the tests of llama.cpp are left out, and those that ask a GGUF file of it fail.
set -e
python3 -m pip install --quiet --no-index --no-deps --target build/site "$1"/*.whl >&2
python3 -c "import torch; print(torch.cuda.get_device_name(), torch.__version__)"
export PYTHONPATH=src:tests:build/site MEMORYOS_TESTS_DEVICE=cuda
exec python3 -m pytest -q -n 8 -k "not llamacpp" -o filterwarnings=default tests/local

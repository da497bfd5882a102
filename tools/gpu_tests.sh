#!/bin/sh
# Run the tests of local models on a machine with a GPU that has torch, transformers, peft and pytest and no network.
#
# Here, once, for its Python (3.12): the packages that it lacks, about 30 MB.
#   pip download --dest build/wheels --python-version 3.12 --only-binary=:all: --no-deps -c constraints.txt \
#     alembic annotated-doc annotated-types attrs fastapi gguf greenlet httpx2 httpcore2 jiter jsonschema jsonschema-specifications mako openai opentelemetry-api opentelemetry-sdk \
#     opentelemetry-semantic-conventions phonenumberslite psycopg psycopg-binary pydantic pydantic-core pydantic-settings pystemmer \
#     python-dotenv python-stdnum referencing rich rjieba rpds-py sqlalchemy starlette truststore typer typing-inspection uuid-utils uvicorn
# There, in the clone, with these wheels in the folder that is named:
#   sh tools/gpu_tests.sh build/wheels
#
# Without xllamacpp, what is about llama.cpp or asks it, because it starts sooner than torch, is left out.
set -e
python3 -m pip install --quiet --no-index --no-deps --target build/site "$1"/*.whl >&2
python3 -c "import torch; print(torch.cuda.get_device_name(), torch.__version__)"
of_llamacpp="llamacpp or after_a_kill or kill_in_a_turn or two_processes or another_process_built or full_in_the_middle \
  or beyond_the_window_is_named or both_runtimes_are_measured or measurement_that_is_stopped or model_that_vanishes \
  or cannot_be_read or state_cannot_be_saved"
export PYTHONPATH=src:tests:build/site MEMORYOS_TESTS_DEVICE=cuda
exec python3 -m pytest -q -n 8 -k "not ($of_llamacpp)" -o filterwarnings=default tests/local

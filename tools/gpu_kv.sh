#!/bin/sh
# Measure `memoryos bench kv` on a machine with a GPU that has torch and transformers and no network.
#
# Here, once, for its Python (3.12): the packages that it lacks, about 20 MB.
#   pip download --dest build/wheels --python-version 3.12 --only-binary=:all: --no-deps -c constraints.txt \
#     annotated-doc annotated-types pydantic pydantic-core pyyaml alembic mako sqlalchemy greenlet pydantic-settings python-dotenv typing-inspection phonenumberslite pystemmer \
#     python-stdnum rjieba uuid-utils typer rich shellingham markdown-it-py mdurl pygments
# There, in the clone, with build/wheels and a folder that has the config.json of the model:
#   sh tools/gpu_kv.sh FOLDER > kv.json
set -e
python3 -m pip install --quiet --no-index --find-links build/wheels --no-deps build/wheels/*.whl >&2
PYTHONPATH=src python3 -m memoryos bench kv --random "$1" --device cuda --repeat 3 --json

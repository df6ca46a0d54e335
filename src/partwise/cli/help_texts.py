"""The texts below the options in the help of the verbs: examples, and what there is to know.

In braces stands what the tasks say about themselves: their examples, what they read or write.
"""

from __future__ import annotations

import textwrap
from typing import Final

from partwise.tasks.registry import all_tasks

__all__ = ["EPILOGS", "epilog"]

_CODES: Final = """\
exit codes:
  0  done
  1  bad data or model; one sentence on stderr says where and what to do
  2  usage
  3  training stopped before the requested gap (--max-passes; --patience; Ctrl-C or SIGTERM, once):
     the model is written and certified; --resume goes on from it, and exactly where it stopped
     from a --checkpoint
  130, 141, 143  Ctrl-C (while training: twice), the reader of stdout went away, or SIGTERM (while
     training: twice); no file is left half-written

Files may be gzipped; - is stdin or stdout. With --json, stdout holds one JSON object and
nothing else; messages and progress go to stderr."""

_COMMAND: Final = """\
example:
  partwise train --task tag train.txt --model chunks.model
  partwise COMMAND --help has an example for every command"""

#: The texts by verb, without the exit codes, which stand below all of them.
EPILOGS: Final = {
    "train": """\
examples:
{examples}
  partwise train --task tag more.txt --model chunks.model --resume chunks.model
  partwise train --task tag train.txt --model chunks.model --checkpoint chunks.saved
  partwise train --task tag train.txt --model chunks.model --resume chunks.saved

{reads}

The objective is l2/2 |w|^2 + the sum of the losses of all examples. Training stops when the
relative duality gap is at most --tol: no weights can then be better by more than that.
Progress shows passes over the data, primal (the objective), dual (a lower bound on it) and their
relative gap; ~ marks a running estimate. Ctrl-C ends training with the weights so far. With --dev
it also shows the last score on that file: F1 where there are spans, segments or brackets, LAS or
UAS for trees, else the share of right labels. With --patience, a training that ends before --tol is
reached keeps the weights with the best score, and their certificate.""",
    "path": """\
examples:
  partwise path --task tag train.txt --dev dev.txt --model chunks.model
  partwise path --task classify digits.svm --dev more.svm --l2-max 100 --steps 12 --plot path.png
  partwise path --task parse train.conllu --folds 5 --rule one-se --model trees.model

Trains for l2 = --l2-max, then for --factor times that, and so on, each from where the last one
ended and each certified at --tol; prints a row for every l2 as it is done, and writes the model
with the best score. The score is the share of right labels; F1 where there are spans, segments or
brackets; UAS for trees, LAS with --labelled. With --folds, the l2 is chosen by the mean score of
the folds, shown with its standard error after +-, and the model is trained on the whole file.
Ctrl-C ends the path and keeps what is done; so does an l2 that is not certified after --max-passes.
Both give exit code 3. If the best l2 is the smallest or the largest that was tried, a message says
so; --extend N then goes on beyond it: with --dev to smaller values until one is not the best, else
to N further values at that end.

{reads}""",
    "predict": """\
examples:
  partwise predict chunks.model text.txt --output labelled.txt
  partwise predict chunks.model text.txt --marginals | less
  zcat text.txt.gz | partwise predict chunks.model - --k 3
  partwise predict names.model text.txt --spans --threshold 0.9
  partwise predict chunks.model half-labelled.txt --fixed _

The file may have labels or not. With --json and no --output, the record holds the predictions.
What is written depends on the task of the model. From stdin to stdout, every example is answered as
soon as its end has been read (a blank line, for classify the end of the line, for brackets the end
of the line that closes them), so that predict can be a filter in a pipe or a coprocess; with --json
or --output, the whole input is read first.
{writes}""",
    "evaluate": """\
examples:
  partwise evaluate chunks.model test.txt
  partwise evaluate chunks.model test.txt --scheme IOB2 --json

Labels that the model does not know count as errors. Where labels look like spans (B-NP, I-NP, O),
precision, recall and F1 are those of spans, by default as the CoNLL script conlleval counts them;
the other schemes are strict and drop spans that break their rules.""",
    "report": """\
examples:
  partwise report chunks.model test.txt
  partwise report chunks.model test.txt --output chunks.html --card README.md --no-examples

Writes one page that needs nothing else: the data and what is odd about them, objective and
certificate, scores by label with intervals (whole examples are resampled 1,000 times), confusions,
calibration of the probabilities, the strongest features, the examples that the model is most sure
and wrong about with an explanation, how to use the model, versions, seed and command. --card writes
the same as a model card in Markdown. train, path and evaluate write reports by --report, those of
train and path with the course of the training.""",
    "info": """\
examples:
  partwise info chunks.model
  partwise info chunks.model --json""",
    "inspect": """\
examples:
  partwise inspect chunks.model
  partwise inspect chunks.model --label B-NP --top 50
  partwise inspect chunks.model --feature "^w\\[0\\]=" --csv > weights.csv
  partwise inspect chunks.model --transitions

Lists the weights of the largest size. The label of a transition is "from -> to"; --label also finds
the transitions and rules that hold it. Counts say how often a feature occurs in the training data;
converted models have none. Features without names are called x0, x1 and so on: x0 is index 1 of an
svmlight file. If --feature matches none, some are named.""",
    "explain": """\
examples:
  partwise explain chunks.model text.txt
  partwise explain chunks.model text.txt --first 3 --top 5
  partwise explain chunks.model text.txt --only 12 --only 40
  partwise explain digits.model digits.svm --json

For each example: what every feature adds to the score of the predicted label, part by part
(positions, segments, arcs, phrases or vertices); the probability; and the margin to the runner-up,
the best labelling of the whole example that differs in this part, with what speaks for and against
it. The contributions of all parts add up to the score. Models of the hinge loss have no
probabilities. Examples count from 1, and the positions of a tagger from 0, as in Python.""",
    "serve": """\
examples:
  partwise serve chunks.model
  partwise serve chunks.model trees=parser.model --port 8080
  partwise serve chunks.model --host 0.0.0.0 --allowed-host models.example.org

Opens a page to try the models on, and a JSON API: POST /predict and /explain, GET /models, /health,
/metrics, /openapi.json; /docs describes it. Listens on this machine only, unless --host says
otherwise; there are no users and no passwords, so put a proxy with both before it then. Ctrl-C or
SIGTERM finishes what is under way and ends with exit code 0. With --json, the record is written
when the server is ready. Needs the package h11: pip install 'partwise[serve]'.""",
    "convert": """\
examples:
  partwise convert train.txt train.jsonl --from columns --to jsonl
  partwise convert sentences.conllu words.txt --from conllu --to columns --label xpos --drop
  partwise convert names.txt names.conllu --from columns --to conllu --out label=misc:NE
  partwise convert model.crfsuite chunks.model --from crfsuite-model
  partwise convert model.txt chunks.model --from crfpp-model
  partwise convert chunks.model chunks.json --from partwise-model --to json-model

Formats of data: columns, crfsuite, conllu, conllx, jsonl, spacy, prodigy, doccano. What the other
format has no place for is named and refused; with --drop it is left out and counted.

Formats of models: crfsuite-model, wapiti-model (text), crfpp-model (text, of crf_learn -t),
liblinear-model, sklearn-model (of skops), partwise-model, json-model and safetensors-model. To
write, there are partwise-model, crfsuite-model, json-model and safetensors-model. A converted
model predicts as it did, but nothing is certified about it. If partwise has its objective, train
--resume with the data and settings that it was trained with tells how far it is from the optimum.
Pickles are never read.""",
    "solvers": """\
examples:
  partwise solvers
  partwise solvers online-eg
  partwise train --task tag train.txt --model m --solver online-eg --solver-option first_step=0.1

Says for every solver which losses and structures it takes, whether l1 > 0 and threads, its options
with their defaults, and the papers that it comes from.""",
    "validate": """\
examples:
  partwise validate train.txt
  partwise validate train.txt --scheme IOBES --json
  partwise validate sentences.conllu --format conllu --label xpos

Prints every fault as FILE:LINE:CHARACTER: what is wrong; what to do. Tags such as B-NP and I-NP
are checked too, by --scheme or by the scheme that they seem to follow. With faults, the exit code
is 1. Of a sound file the labels are counted. Labels that look misspelled are named, unless some
lines cannot be read.""",
    "demo": """\
examples:
  partwise demo
  partwise demo --output /tmp/demo

Makes a tagged text, trains a tagger on it to a certified optimum, evaluates it and draws how it
converged; then the same for a classifier of digits; then it writes a report on each. Prints the
commands, to be repeated by hand.""",
}


def epilog(verb: str | None = None) -> str:
    """Return the text below the options of a verb, or of the command itself."""
    text = _COMMAND if verb is None else EPILOGS[verb]
    if "{" in text:
        tasks = all_tasks()
        told = {"examples": [f"  partwise train --task {t.name} {t.example}" for t in tasks]}
        for what in ("reads", "writes"):
            told[what] = [
                textwrap.fill(
                    f"--task {task.name} {getattr(task, what)}.", 96, subsequent_indent="  ",
                    break_on_hyphens=False, break_long_words=False,
                )
                for task in tasks
            ]  # fmt: skip
        text = text.format(**{name: "\n".join(lines) for name, lines in told.items()})
    return f"{text}\n\n{_CODES}"

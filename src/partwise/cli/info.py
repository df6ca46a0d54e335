"""``partwise info``: describe a model file, without the compiler."""

from __future__ import annotations

import argparse
from typing import Any

from partwise.models.file import read_header
from partwise.tasks.sequences.features import PositionFeatures
from partwise.tasks.sequences.segment_features import SegmentFeatures
from partwise.tasks.sequences.template_file import templates_from_json
from partwise.training.certificate import Certificate, in_words

from .outcome import Outcome, certificate_record

__all__ = ["run"]

_MOST_LABELS = 20


def run(arguments: argparse.Namespace) -> Outcome:
    """Describe a model from its header."""
    header = read_header(arguments.model)
    certificate = Certificate.from_json(header["certificate"])
    encoder = header["encoder"]
    data = encoder["data"]
    held = {PositionFeatures.name: data, SegmentFeatures.name: data.get("positions")}
    positions = held.get(encoder["name"]) or {}
    templates = None
    if positions.get("templates") is not None:
        templates = templates_from_json(positions["templates"]).names
    record = {
        "model": arguments.model,
        "partwise": header["partwise"],
        "task": header["task"],
        "structure": {"name": header["structure"]["name"], **header["structure"]["constants"]},
        "encoder": encoder["name"],
        "loss": header["loss"],
        "l2": header["l2"],
        "l1": header["l1"],
        "intercept": positions.get("intercept", 0.0),
        "constraints": header["constraints"] is not None,
        "labels": header["labels"],
        "n_labels": len(header["labels"]),
        "n_inputs": positions.get("n_inputs"),
        "n_features": sum(header["n_features"]),
        "n_transition_features": positions.get("n_transition_features"),
        "n_weights": header["n_weights"],
        "templates": templates,
        "kernel": (positions.get("support") or {}).get("kernel"),
        "meta": header["meta"],
        "settings": header["settings"],
        "origin": header["origin"],
        **certificate_record(certificate),
    }
    return Outcome(record, _text(record, certificate))


def _text(record: dict[str, Any], certificate: Certificate) -> str:
    labels = ", ".join(map(str, record["labels"][:_MOST_LABELS]))
    if record["n_labels"] > _MOST_LABELS:
        labels += ", ..."
    lines = [
        ("model", f"{record['model']}, written by partwise {record['partwise']}"),
        ("task", f"{record['task']}, {record['loss']} loss, l2 = {record['l2']:g}"),
        ("structure", f"{record['structure']['name']}, {record['encoder']} features"),
        ("labels", f"{record['n_labels']}: {labels}"),
        ("features", f"{record['n_features']:,}"),
        ("weights", f"{record['n_weights']:,}"),
    ]
    if record["templates"] is not None:
        columns = record["n_inputs"]
        plural = "column" if columns == 1 else "columns"
        lines.append(("reads", f"files of {columns} input {plural}, and the label or not"))
        lines.append(("templates", " ".join(record["templates"])))
    if record["n_transition_features"] is not None:
        count = record["n_transition_features"]
        lines.append(("transitions", f"depend on {count:,} features of the input"))
    if record["kernel"] is not None:
        lines.append(("kernel", ", ".join(f"{k} {v}" for k, v in record["kernel"].items())))
    if record["intercept"]:
        lines.append(("bias", f"{record['intercept']:g}"))
    if record["constraints"]:
        lines.append(("constraints", "yes"))
    if record["origin"] is not None:
        lines[1] = ("task", record["task"])
        lines.append(("trained for", record["origin"]["objective"]))
    else:
        trained = f"{certificate.passes:.1f} passes, {certificate.seconds:.1f} s"
        lines += [("training", trained), ("", certificate.verdict)]
    lines.append(("certificate", in_words(certificate)))
    return "\n".join(f"{name:12}{value}" for name, value in lines)

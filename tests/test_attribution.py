"""Component swaps: which are tried, and which carries a change."""

import pytest

from bumps.attribution import Swap, attribute, swaps
from bumps.verdict import Judgement, Verdict

CUDNN = Swap("nvidia-cudnn-cu12", "9.10.2.21", "9.15.0.1")
TRITON = Swap("triton", "3.4.0", "3.5.0")


def component(name, old="1.0", new="2.0"):
    return {"name": name, "old": old, "new": new}


def test_what_has_compiled_code_is_swapped_and_the_rest_is_named():
    components = [
        component("nvidia-cudnn-cu12"),
        component("numpy"),
        component("sympy"),
        component("torch"),
        component("asv_runner"),
        component("NVIDIA driver", "570.1", "not a version"),
        component("triton", None, "3.5"),
        component("filelock", "1.0", "2.0"),
    ]
    chosen, left_out = swaps(components, "torch")
    assert [swap.override for swap in chosen] == ["nvidia-cudnn-cu12==2.0", "numpy==2.0"]
    assert left_out == [
        "sympy 1.0 → 2.0: not asked for",
        "triton: only one of the two environments has it",
        "filelock 1.0 → 2.0: not asked for",
    ]


def test_named_components_are_swapped_whatever_they_are():
    chosen, _ = swaps([component("ml_dtypes"), component("sympy"), component("numpy")], "jax", ["SymPy", "ml-dtypes"])
    assert [swap.component for swap in chosen] == ["ml_dtypes", "sympy"]


def judgement(verdict, ratio=None):
    return Judgement("key", verdict, ratio, None, None, 0.05, None, "")


SLOWER = judgement(Verdict.REGRESSED, 1.30)
SAME = judgement(Verdict.SAME, 1.0)


@pytest.mark.parametrize(
    ("change", "cudnn", "triton", "carriers", "sentence"),
    [
        (
            SLOWER,
            judgement(Verdict.REGRESSED, 1.30),
            SAME,
            [CUDNN],
            "nvidia-cudnn-cu12 9.10.2.21 → 9.15.0.1 (100 % of it) carries",
        ),
        # 1.05 is a fifth of 1.30 in logarithms: it helps, it does not carry.
        (SLOWER, judgement(Verdict.REGRESSED, 1.05), SAME, [], "none of the 2 components carries the change alone"),
        (SLOWER, judgement(Verdict.IMPROVED, 0.7), SAME, [], "none of the 2 components"),
        (SLOWER, judgement(Verdict.AMBIGUOUS, 1.2), SAME, [], "undecided: nvidia-cudnn-cu12 (ambiguous); no other"),
        (SLOWER, judgement(Verdict.BROKEN), SAME, [], "undecided: nvidia-cudnn-cu12 (broken); no other"),
        (SLOWER, judgement(Verdict.REGRESSED, 1.2), judgement(Verdict.REGRESSED, 1.25), [CUDNN, TRITON], "each alone"),
        (judgement(Verdict.IMPROVED, 0.5), judgement(Verdict.IMPROVED, 0.5), SAME, [CUDNN], "carries the change"),
        (judgement(Verdict.BROKEN), SAME, judgement(Verdict.BROKEN), [TRITON], "triton 3.4.0 → 3.5.0 carries"),
        (SAME, SAME, SAME, [], "nothing to attribute: the bump is same"),
    ],
)
def test_what_carries_the_change(change, cudnn, triton, carriers, sentence):
    found = attribute(change, [(CUDNN, cudnn), (TRITON, triton)])
    assert [each.swap for each in found.carriers] == carriers
    assert sentence in found.sentence

"""References of HumanEvalPack as models would write them: in a reply, behind an open fence, with usage and tests."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from toolchains import read_published, require

import passcurve as pc

DATA = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
PROSE = "This function goes through {all} of them.\n\n- It takes time O(n).\n"
FENCES = {"cpp": "cpp", "java": "java", "js": "javascript", "go": "go", "rs": "rust"}
USAGE = {
    "cpp": 'int main() {\n    std::cout << "{" << std::endl;\n    return 0;\n}\n',
    "java": "public class Example {\n    public static void main(String[] a) {\n    }\n}\n",
    "js": 'console.log("{");\nmodule.exports = {};\n',
    "go": 'func main() {\n\tfmt.Println("{")\n}\n\nfunc TestExample(t *testing.T) {\n\tt.Fail()\n}\n',
    "rs": 'fn main() {\n    println!("{{");\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn works() {}\n}\n',
}


def replies(language: str, prompt: str, rest: str) -> dict[str, str]:
    """Return one right program as the texts of several models."""
    whole, fence = prompt + rest, FENCES[language]
    texts = {
        "continues": rest,
        "closes a fence": f"{rest}\n```\n\n{PROSE}",
        "closes a fence behind all": f"{whole}\n```\n\n{PROSE}",
        "continues in a fence": f"```{fence}\n{rest}\n```\n",
        "has a fence": f"Here is the solution:\n\n```{fence}\n{whole}\n```\n\n{PROSE}",
        "has a bare fence": f"```\n{whole}\n```\n{PROSE}",
        "never closes": f"```{fence}\n{whole}",
        "has prose": f"{rest}\n\n{PROSE}",
        "leads with prose": f"Sure! Here is the code.\nIt goes through all, and\nreturns them.\n\n{whole}\n\n{PROSE}",
        "has usage": f"```{fence}\n{whole}\n{USAGE[language]}```\n",
        "has usage apart": f"```{fence}\n{whole}\n```\nUse it:\n```{fence}\n{USAGE[language]}```\n",
    }
    if language == "java":
        start = whole.rindex("    public ", 0, len(prompt))
        method = textwrap.dedent(whole[start:].rstrip().removesuffix("}"))
        texts["has a method alone"] = f"```java\nimport java.util.function.*;\n\n{method}```\n"
        texts["has a package"] = f"```java\npackage com.example;\n\n{whole}\n```\n"
    if language == "js":
        texts["exports"] = f"```js\n{whole}\nexport default null;\nexport {{ }};\n```\n"
    return texts


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(FENCES))
def test_a_right_program_passes_however_it_is_written(language: str) -> None:
    """Extraction takes the program out of each text, whatever stands around it."""
    require(language)
    path = DATA / f"humanevalpack_{'rust' if language == 'rs' else language}.jsonl.gz"
    problems = read_published(path)[10:13]
    rows, kinds = [], []
    for problem in problems:
        for kind, text in replies(language, problem["prompt"], problem["canonical_solution"]).items():
            rows.append({"task_id": problem["task_id"], "completion": text})
            kinds.append((problem["task_id"], kind))
    columns = pc.judge(rows, path, extract="auto", accept_input=True).samples.columns
    ended = zip(kinds, columns["status"], columns["message"], strict=True)
    assert not [(*kind, message) for kind, status, message in ended if status != "passed"]

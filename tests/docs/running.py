"""Runs the examples of a page one after the other, as somebody would who pastes them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from pages import HOW_TO, blocks, commands, file_name, is_shown, name_of

from tablecloak.cli.main import main


def run_page(page, capsys, monkeypatch):
    """Everything the page prints in Python; fails where a command ends or prints otherwise than the page says."""
    module = ModuleType(f"example_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look up where they were defined
    printed = ""
    for block in blocks(page):
        place = f"{name_of(page)}:{block.line}"
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec", dont_inherit=True), vars(module))
            printed += capsys.readouterr().out
        elif block.language == "console":
            for command in commands(block):
                run_command(command, place, capsys)
        elif page.parent == HOW_TO and block.language == "sh":
            run_script(block.text, place)
        elif page.parent == HOW_TO and file_name(block):
            Path(file_name(block)).write_text(block.text, encoding="utf-8")
    return printed


def run_command(command, place, capsys):
    name, *words = shlex.split(command.text)
    if name == "cd":
        os.chdir(words[0])
        return
    assert name == "tablecloak", f"{place}: {command.text} cannot be tested"
    capsys.readouterr()
    code = main(words)
    output = "\n".join(capsys.readouterr())
    assert code == command.code, f"{place}: {command.text} ended with {code}\n{output}"
    assert is_shown(command.shown, output), f"{place}: {command.text} printed\n{output}"


def run_script(text, place):
    """Run it in a shell; what it exports is there in the next script, as in a terminal."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    keep = "\nexport -p | grep TABLECLOAK_ > .exported || true"
    script = f"test -f .exported && . ./.exported\n{text}{keep}"
    done = subprocess.run(
        ["bash", "-euc", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{place} ended with {done.returncode}\n{done.stdout}{done.stderr}"

# mypy: disable-error-code="no-untyped-call,misc"
"""LLVM code of kernels without detours: what was put into a tuple is not taken out of it again.

numba passes named tuples of arrays field by field. It puts the fields together where a function begins, keeps what is
used by several blocks in memory, and takes fields out again wherever one is used: four fifths of the code that LLVM
would read, simplify and throw away. Here a field that was put into a tuple is used itself, values that are never
assigned again need no memory, and what nobody uses is left out. What becomes of the code in the end is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import AllocaInstr, GEPInstr, InsertValue, Instruction, LoadInstr, PhiInstr, StoreInstr
from numba.core import analysis
from numba.core import ir as source
from numba.core.lowering import Lower

Place = tuple[AllocaInstr, tuple[int, ...]]
# Instructions that do nothing but make a value.
PURE = frozenset(
    {
        "extractvalue", "insertvalue", "getelementptr", "bitcast", "inttoptr", "ptrtoint", "zext", "sext", "trunc",
        "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "fcmp", "select", "load", "alloca",
        "phi", "fadd", "fsub", "fmul", "fneg", "sitofp", "uitofp", "fpext", "fptrunc",
    }
)  # fmt: skip


class FoldingBuilder(ir.IRBuilder):
    """Writes instructions, but for those whose result is known."""

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._known: dict[ir.Block, dict[AllocaInstr, Any]] = defaultdict(dict)  # what memory holds, in each block
        self._shared: set[AllocaInstr] = set()  # memory that others may read and change

    def extract_value(self, agg: Any, idx: int | Sequence[int], name: str = "") -> Any:
        for i in idx if isinstance(idx, (tuple, list)) else (idx,):
            agg = self._member(agg, i, name)
        return agg

    def _member(self, aggregate: Any, i: int, name: str) -> Any:
        while isinstance(aggregate, InsertValue) and aggregate.indices[0] != i:
            aggregate = aggregate.aggregate
        if isinstance(aggregate, InsertValue) and len(aggregate.indices) == 1:
            return aggregate.value
        if isinstance(aggregate, ir.Constant) and (aggregate.constant is None or aggregate.constant is ir.Undefined):
            return ir.Constant(aggregate.type.elements[i], aggregate.constant)
        return super().extract_value(aggregate, i, name)

    def load(self, ptr: Any, name: str = "", align: int | None = None, typ: Any = None) -> Any:
        place = self._place(ptr)
        if place is not None and place[0] in self._here():
            value = self.extract_value(self._here()[place[0]], place[1])
            if isinstance(value, (ir.Argument, Instruction)):
                return value
        return super().load(ptr, name, align, typ)

    def store(self, value: Any, ptr: Any, align: int | None = None) -> Any:
        stored = super().store(value, ptr, align)
        place = self._place(ptr)
        if place is None:
            return stored
        slot, path = place
        if self._anchor != len(self._block.instructions):  # among instructions that were written before
            self._share(slot)
        elif not path:
            self._known[self._block][slot] = value
        elif slot in self._here():
            self._known[self._block][slot] = self._replaced(self._here()[slot], value, path)
        return stored

    def _replaced(self, aggregate: Any, value: Any, path: tuple[int, ...]) -> Any:
        """The aggregate with another value at a path."""
        if len(path) > 1:
            value = self._replaced(self._member(aggregate, path[0], ""), value, path[1:])
        return self.insert_value(aggregate, value, path[0])

    def _place(self, pointer: Any) -> Place | None:
        """The memory that a pointer points into, and where, if nobody else may change it."""
        slot = _slot(pointer)
        if slot is None or slot.operands or slot in self._shared:
            return None
        path: list[int] = []
        while pointer is not slot:
            path[:0] = [step.constant for step in pointer.indices[1:]]
            pointer = pointer.pointer
        return slot, tuple(path)

    def _here(self) -> dict[AllocaInstr, Any]:
        """What is known where the next instruction is written."""
        is_at_end = self._anchor == len(self._block.instructions)
        return self._known[self._block] if is_at_end else {}

    def _insert(self, instr: Any) -> None:
        if not isinstance(instr, (LoadInstr, AllocaInstr)):
            used = instr.operands[:1] if isinstance(instr, StoreInstr) else instr.operands
            for operand in used:
                if isinstance(operand, (AllocaInstr, GEPInstr)) and not _is_step(instr, operand):
                    self._share(operand)
        super()._insert(instr)

    def _share(self, pointer: Any) -> None:
        slot = _slot(pointer)
        if slot is not None:
            self._shared.add(slot)
            for known in self._known.values():
                known.pop(slot, None)


def _slot(pointer: Any) -> AllocaInstr | None:
    """The memory that a pointer points into, if it is that of a variable."""
    while isinstance(pointer, GEPInstr):
        pointer = pointer.pointer
    return pointer if isinstance(pointer, AllocaInstr) else None


def _is_step(instr: Any, pointer: Any) -> bool:
    """Whether an instruction does no more than point into the same memory, at a place that is known."""
    return (
        isinstance(instr, GEPInstr)
        and instr.pointer is pointer
        and all(isinstance(i, ir.Constant) for i in instr.indices)
        and instr.indices[0].constant == 0
    )


def drop_unused(function: ir.Function, shared: set[AllocaInstr]) -> None:
    """Leave out instructions whose results nobody uses, and memory that nobody reads."""
    stores: dict[AllocaInstr, list[Instruction]] = defaultdict(list)
    waiting: list[Any] = []
    for block in function.blocks:
        for instr in block.instructions:
            if isinstance(instr, StoreInstr):
                slot = _slot(instr.operands[1])
                (waiting if slot is None or slot in shared else stores[slot]).append(instr)
            elif instr.opname not in PURE:
                waiting.append(instr)
    used = set(waiting)
    while waiting:
        instr = waiting.pop()
        for operand in _operands(instr):
            if isinstance(operand, Instruction) and operand not in used:
                used.add(operand)
                waiting.append(operand)
                if isinstance(operand, AllocaInstr):
                    used.update(stores[operand])
                    waiting += stores[operand]
    for block in function.blocks:
        block.instructions = [instr for instr in block.instructions if instr in used]
        for instr in block.instructions:
            if instr.opname != "load":
                instr.metadata.pop("range", None)


def _operands(instr: Any) -> Iterable[Any]:
    return (value for value, _ in instr.incomings) if isinstance(instr, PhiInstr) else instr.operands


class FoldingLower(Lower):
    """Lowering of a kernel."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = FoldingBuilder(self.entry_block)
        self.context.get_function = partial(_get_function, self.context.get_function)
        self.call_helper = self.call_conv.init_call_helper(self.builder)
        for argument in self.function.args:  # it may stand where something would be loaded, of which more is said
            argument.set_metadata = lambda *_: None

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        drop_unused(self.function, self.builder._shared)

    def _find_singly_assigned_variable(self) -> None:
        """Find variables that are assigned once, before all that uses them, and end once."""
        assigned: dict[str, list[int]] = defaultdict(list)
        used: dict[str, set[int]] = defaultdict(set)
        ends: dict[str, set[int]] = defaultdict(set)
        for offset, block in self.blocks.items():
            for statement in block.body:
                if isinstance(statement, source.Assign):
                    assigned[statement.target.name].append(offset)
                if isinstance(statement, source.Del):
                    ends[statement.value].add(offset)
                for variable in statement.list_vars():
                    used[variable.name].add(offset)
        graph = analysis.compute_cfg_from_blocks(self.blocks)
        before = graph.dominators()
        self._blk_local_varmap: dict[str, Any] = {}
        self._singly_assigned_vars = {
            name
            for name, where in assigned.items()
            if len(where) == 1
            and all(where[0] in before[block] and where[0] <= block for block in used[name] | ends[name])
            and (not self.context.enable_nrt or _end_once(graph, where[0], ends[name]))
        }


def _get_function(look_up: Callable[..., Any], name: Any, signature: Any, **options: Any) -> Any:
    """What lowers an operation; what none of our arrays has is not looked for in all that numba knows."""
    if name == "__array__":
        raise NotImplementedError
    return look_up(name, signature, **options)


def _end_once(graph: Any, begin: int, ends: set[int]) -> bool:
    """Whether no path from one end leads to another, but by where a variable begins: references are counted there."""
    waiting = [block for end in ends for block, _ in graph.successors(end)]
    seen = {begin}
    while waiting:
        block = waiting.pop()
        if block in ends - {begin}:
            return False
        if block not in seen:
            seen.add(block)
            waiting += [following for following, _ in graph.successors(block)]
    return True

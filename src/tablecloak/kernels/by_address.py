# mypy: disable-error-code="no-untyped-call,misc"
"""Named tuples of arrays, handed from loop to loop by their address.

numba takes a tuple apart for every call: a state of twenty arrays is 140 arguments, and looking at one of its fields
begins with loading all. Most of what a kernel was, before it was optimised, was that. Here a tuple lies in the frame of
the function that made it, and loops get its address; entries, which Python calls, put it there.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import default_manager
from numba.core.datamodel.models import CompositeModel
from numba.core.imputils import fix_returning_optional, impl_ret_borrowed, impl_ret_new_ref
from numba.core.lowering import Lower


class _TupleByAddress(CompositeModel):
    """How a named tuple is held by loops: the address of its fields."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type)
        self.members = list(fe_type)
        self.models = [dmm.lookup(member) for member in self.members]
        self.struct = ir.LiteralStructType([model.get_value_type() for model in self.models])

    def get_value_type(self) -> Any:
        return self.struct.as_pointer()

    get_argument_type = get_value_type

    def get_data_type(self) -> Any:
        return ir.LiteralStructType([model.get_data_type() for model in self.models])

    get_return_type = get_data_type

    def as_argument(self, builder: Any, value: Any) -> Any:  # noqa: ARG002
        return value

    from_argument = as_argument

    def as_data(self, builder: Any, value: Any) -> Any:
        data = ir.Constant(self.get_data_type(), ir.Undefined)
        for i, model in enumerate(self.models):
            data = builder.insert_value(data, model.as_data(builder, self.field(builder, value, i)), i)
        return data

    as_return = as_data

    def from_data(self, builder: Any, value: Any) -> Any:
        fields = [model.from_data(builder, builder.extract_value(value, i)) for i, model in enumerate(self.models)]
        return self.put(builder, fields)

    from_return = from_data

    def load_from_data_pointer(self, builder: Any, ptr: Any, align: int | None = None) -> Any:
        return self.from_data(builder, builder.load(ptr, align=align))

    def put(self, builder: Any, fields: list[Any]) -> Any:
        """The address of these fields, in the frame of this function."""
        place = cgutils.alloca_once(builder, self.struct, zfill=True)
        for i, field in enumerate(fields):
            builder.store(field, cgutils.gep_inbounds(builder, place, 0, i))
        return place

    def field(self, builder: Any, value: Any, i: int) -> Any:
        return builder.load(cgutils.gep_inbounds(builder, value, 0, i))

    def traverse(self, builder: Any) -> list[Any]:
        there: list[Any] = []

        def counted(i: int, value: Any) -> Any:
            if not there:  # numba forgets variables by setting them to 0
                there.append(builder.select(cgutils.is_null(builder, value), self._nothing(builder), value))
            return self.field(builder, there[0], i)

        return [(member, partial(counted, i)) for i, member in enumerate(self.members)]

    def _nothing(self, builder: Any) -> Any:
        """The address of a tuple of which nothing has to be counted."""
        name = f"nothing.{len(self.members)}.{hash(self.fe_type) & 0xFFFFFFFF:x}"
        known = builder.module.globals.get(name)
        return known or cgutils.global_constant(builder.module, name, ir.Constant(self.struct, None))

    def inner_models(self) -> list[Any]:
        return self.models


BY_ADDRESS = default_manager.copy()
for _kind in (types.NamedTuple, types.NamedUniTuple):
    BY_ADDRESS.register(_kind, _TupleByAddress)


def for_inner_code(context: Any) -> None:
    """Let a context of numba hold named tuples by their address."""
    context.data_model_manager = BY_ADDRESS
    get_getattr, make_tuple = context.get_getattr, context.make_tuple

    def attribute(typ: Any, attr: str) -> Any:
        return _field if isinstance(typ, types.BaseNamedTuple) else get_getattr(typ, attr)

    def tuple_of(builder: Any, typ: Any, values: Any) -> Any:
        if isinstance(typ, types.BaseNamedTuple):
            return BY_ADDRESS[typ].put(builder, values)
        return make_tuple(builder, typ, values)

    context.get_getattr, context.make_tuple = attribute, tuple_of


def _field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    i = typ.fields.index(attr)
    return impl_ret_borrowed(context, builder, BY_ADDRESS[typ].members[i], BY_ADDRESS[typ].field(builder, value, i))


class InnerLower(Lower):
    """Lowering where named tuples are addresses."""

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        fetype = self.typeof(name)
        is_of_block = name in self._singly_assigned_vars and not self._disable_sroa_like_opt
        if argidx is not None or is_of_block or not isinstance(fetype, types.BaseNamedTuple):
            super().storevar(value, name, argidx)
            return
        # A place of its own: a call puts its result where it put the last one, which a variable may still be.
        self._alloca_var(name, fetype)
        self.decref(fetype, self.loadvar(name))
        place = cgutils.alloca_once(self.builder, value.type.pointee)
        self.builder.store(self.builder.load(value), place)
        self.builder.store(place, self.getvar(name))


def call_of(inner: Any, fndesc: Any, libraries: list[Any]) -> Any:
    """How a function of inner code is called, by inner code or by an entry; see `numba.core.base.user_function`."""

    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        is_entry = context.data_model_manager is not BY_ADDRESS
        if is_entry:
            args = [_put(builder, typ, arg) for typ, arg in zip(fndesc.argtypes, args, strict=True)]
        function = inner.declare_function(builder.module, fndesc)
        status, result = inner.call_conv.call_function(builder, function, fndesc.restype, fndesc.argtypes, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        result = fix_returning_optional(context, builder, sig, status, result)
        if is_entry and isinstance(fndesc.restype, types.BaseNamedTuple):
            result = BY_ADDRESS[fndesc.restype].as_data(builder, result)
        return impl_ret_new_ref(context, builder, fndesc.restype, result)

    call.signature = fndesc.argtypes  # type: ignore[attr-defined]
    call.libs = tuple(libraries)  # type: ignore[attr-defined]
    return call


def _put(builder: Any, typ: Any, value: Any) -> Any:
    """A value as inner code holds it."""
    if not isinstance(typ, types.BaseNamedTuple):
        return value
    model = BY_ADDRESS[typ]
    fields = [_put(builder, member, builder.extract_value(value, i)) for i, member in enumerate(model.members)]
    return model.put(builder, fields)


def promise(module: Any) -> None:
    """Say that nobody else changes what addresses lead to: the fields of a tuple do not have to be loaded again."""
    for function in module.functions:
        for argument in () if function.is_declaration else function.args[2:]:
            if isinstance(argument.type, ir.PointerType) and argument.name.startswith("arg."):
                argument.add_attribute("noalias")
                argument.add_attribute("captures(none)")

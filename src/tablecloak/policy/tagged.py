"""Values chosen by name: `{model: k-anonymity, k: 5}` becomes an instance of the class registered under that name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from tablecloak.errors import did_you_mean
from tablecloak.policy.problems import fault, invalid, located, relabel


@dataclass(frozen=True, slots=True)
class Tagged:
    """Annotation of a field that holds one of several classes, told apart by the value of the key `tag`.

    Args:
        tag: the key that names the class.
        noun: what the classes are, for messages.
        classes: name to class, asked at every use so that classes registered later count too.
        has_shorthand: a bare name is accepted and means the class with its defaults.
        refuses: what is wrong with the keys and values given to a class, where there is a better answer than a list.
        has_path: a text is accepted and kept as it is: it names a file or an entry elsewhere.
    """

    tag: str
    noun: str
    classes: Callable[[], Mapping[str, type]]
    has_shorthand: bool = False
    has_path: bool = False
    refuses: Callable[[str, type, Mapping[str, Any]], InitErrorDetails | None] | None = None

    def validate(self, value: Any) -> Any:
        """The instance that the value describes; instances pass unchanged."""
        classes = self.classes()
        if isinstance(value, str) and self.has_path:
            return value
        if isinstance(value, str) and self.has_shorthand:
            value = {self.tag: value}
        if isinstance(value, Mapping):
            return self._build(value, classes)
        if not isinstance(value, tuple(classes.values())):
            raise invalid(self.noun, [fault((), f"must be a mapping with the key '{self.tag}'")])
        return value

    def _build(self, value: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
        if self.tag not in value:
            hint = f"one of {', '.join(classes)}"
            raise invalid(self.noun, [fault((), f"the key '{self.tag}' is missing", hint=hint)])
        name = value[self.tag]
        if not isinstance(name, str) or name not in classes:
            hint = did_you_mean(str(name), classes) or f"known: {', '.join(classes)}"
            raise invalid(self.noun, [fault((self.tag,), f"unknown {self.noun} '{name}'", hint=hint)])
        cls = classes[name]
        refusal = self.refuses(name, cls, value) if self.refuses else None
        if refusal is not None:
            raise invalid(self.noun, [refusal])
        params = {k: v for k, v in value.items() if k != self.tag}
        try:
            return TypeAdapter(cls).validate_python(params)
        except ValidationError as error:
            raise relabel(error, [self.tag, *_keys(cls)]) from None

    def serialize(self, value: Any) -> Any:
        """The value as it is written in a policy, without defaults."""
        if isinstance(value, str):
            return value
        params = TypeAdapter(type(value)).dump_python(value, mode="json", by_alias=True, exclude_defaults=True)
        return {self.tag: self._name(type(value)), **params}

    def _name(self, cls: type) -> str:
        classes, own = self.classes(), getattr(cls, "name", "")
        if own in classes and classes[own] is cls:  # without a look at all others, which may not be loaded
            return str(own)
        return next(name for name, other in classes.items() if other is cls)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate, serialization=core_schema.plain_serializer_function_ser_schema(self.serialize)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        branches = [self._branch(name, cls, handler) for name, cls in self.classes().items()]
        if self.has_path:
            branches.append({"type": "string", "description": "a file, or a name under `hierarchies`"})
        if self.has_shorthand:
            branches.append({"enum": list(self.classes()), "description": "a name alone means its defaults"})
        return {"anyOf": branches}

    def _branch(self, name: str, cls: type, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        branch = handler.resolve_ref_schema(handler(TypeAdapter(cls).core_schema))
        tag = {"const": name, "type": "string"}
        properties = {self.tag: tag, **branch.get("properties", {})}
        required = [self.tag, *branch.get("required", [])]
        return {**branch, "title": name, "properties": properties, "required": required, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Several:
    """Annotation of a field that holds several such values; one alone need not be written as a list."""

    each: Tagged

    def validate(self, value: Any) -> tuple[Any, ...]:
        """The instances that the value describes."""
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            return (self.each.validate(value),)
        made, faults = [], []
        for index, item in enumerate(value):
            try:
                made.append(self.each.validate(item))
            except ValidationError as error:
                faults += located(error, index)
        if faults:
            raise invalid(self.each.noun, faults)
        return tuple(made)

    def serialize(self, values: tuple[Any, ...]) -> Any:
        """The values as they are written in a policy."""
        plain = [self._short(self.each.serialize(value)) for value in values]
        return plain[0] if len(plain) == 1 else plain

    def _short(self, written: Any) -> Any:
        """The name alone, where nothing else is said."""
        is_name = self.each.has_shorthand and isinstance(written, Mapping) and set(written) == {self.each.tag}
        return written[self.each.tag] if is_name else written

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate, serialization=core_schema.plain_serializer_function_ser_schema(self.serialize)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        one = self.each.__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [*one["anyOf"], {"type": "array", "items": one}]}


def _keys(cls: type) -> list[str]:
    if issubclass(cls, BaseModel):
        return [field.alias or name for name, field in cls.model_fields.items()]
    return [field.name for field in fields(cls)] if is_dataclass(cls) else []

"""The fields of a PDF form on a page, which its text does not hold."""

from __future__ import annotations

import ctypes
from typing import Any

_MOST_FIELDS = 2_000
_LONGEST = 20_000


def fields_of(page: Any, form: Any) -> list[str]:
    """List the fields of the page as `[field] name: value`. None if the document has no form."""
    from pypdfium2 import raw  # noqa: PLC0415

    if form is None:
        return []
    lines = []
    buttons = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_FIELDS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
            kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
            name = _read_form_text(raw.FPDFAnnot_GetFormFieldName, form, annotation)
            if kind in buttons:
                value = "yes" if raw.FPDFAnnot_IsChecked(form, annotation) else "no"
                export = _read_form_text(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
                value += f" ({export})" if export and kind == raw.FPDF_FORMFIELD_RADIOBUTTON else ""
            else:
                value = _read_form_text(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
            if name and kind != raw.FPDF_FORMFIELD_PUSHBUTTON:
                lines.append(f"[field] {name}: {value or '(empty)'}")
        raw.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(lines))


def _read_form_text(ask: Any, form: Any, annotation: Any) -> str:
    """Call a function of PDFium that writes UTF-16 into a buffer, once for the length and once for the text."""
    length = min(ask(form, annotation, None, 0), _LONGEST)
    if length <= 2:
        return ""
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    ask(form, annotation, buffer, length)
    return bytes(buffer)[: length - 2].decode("utf-16-le", errors="replace").strip("\x00")

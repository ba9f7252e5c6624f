/** Indentation of values below their label. */
export const VALUE_INDENT = "    "

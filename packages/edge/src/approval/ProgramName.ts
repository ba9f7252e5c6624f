/**
 * The name by which a program is known here: `/usr/bin/Python3.12`, `python.exe` and `python` are the same one. A link under another
 * name is not found out.
 */
export const programOf = ([word = ""]: ReadonlyArray<string>): string =>
  (word.split(/[\\/]/).at(-1) ?? "")
    .toLowerCase()
    .replace(/\.(exe|cmd|bat|ps1)$/, "")
    .replace(/([a-z])-?\d+(?:\.\d+)*[a-z]?$/, "$1")

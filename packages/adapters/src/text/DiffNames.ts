/**
 * Whether a diff in words is of certain files alone. What stands in a hunk is content, as the hunk counts its lines; every other line must be one
 * that a diff of one file has.
 */

const LINES =
  /^(?:|={3,}|index [\da-f]+\.\.[\da-f]+(?: \d+)?|(?:new|create|deleted) file mode \d+|\\ No newline at end of file)$/

/** A name as a diff spells it: without the root, or behind a letter. */
const bare = (name: string): string => name.replace(/^\/+/, "")

/** The lines that name files, and no others. */
const headersOf = (paths: ReadonlyArray<string>): ReadonlySet<string> => {
  const lines = new Set<string>()
  for (const side of ["---", "+++"])
    for (const nothing of ["/dev/null", "a/dev/null", "b/dev/null"]) lines.add(`${side} ${nothing}`)
  for (const path of paths) {
    const name = bare(path)
    lines.add(`diff --git a/${name} b/${name}`)
    for (const one of [path, name, `a/${name}`, `b/${name}`, `a/${path}`, `b/${path}`])
      for (const prefix of ["---", "+++", "Index:"]) lines.add(`${prefix} ${one}`)
  }
  return lines
}

/** Whether a diff names those files and no other. What is not a diff of one file may name any. */
export const namesOnly = (diff: string, paths: ReadonlyArray<string>): boolean => {
  const headers = headersOf(paths)
  let [before, after] = [0, 0]
  for (const line of diff.split("\n")) {
    if (before > 0 || after > 0) {
      const mark = line.charAt(0)
      if (!["", " ", "+", "-", "\\"].includes(mark)) return false
      if (mark !== "+" && mark !== "\\") before--
      if (mark !== "-" && mark !== "\\") after--
      continue
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)]
    else if (!headers.has(line.trimEnd()) && !LINES.test(line)) return false
  }
  return true
}

/** Files of a folder, and which of them changed between two looks: by content, without the folders of git and of the programs. */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

export type Files = ReadonlyMap<string, string>

/** Regular files by their relative path. Names that begin with a dot are the programs' own. */
export const filesIn = (folder: string): Files => {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !/(^|\/)\./.test(name))
    .filter((name) => statSync(join(folder, name)).isFile())
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]))
}

/** Each file that is new, gone or different, with its content. */
export const changesBetween = (before: Files, after: Files): Readonly<Record<string, string | undefined>> => {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return Object.fromEntries(
    names.filter((name) => before.get(name) !== after.get(name)).map((name) => [name, after.get(name)])
  )
}

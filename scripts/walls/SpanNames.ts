/** Names of spans: the module, a dot, and what it does, so that a trace leads to the file. */
import { basename } from "node:path"

const NAMED = /\b(?:Effect\.fn|withSpan)\("([^"]+)"/g

/** Names of spans in a module that do not begin with its name. */
export const foreignSpansIn = (path: string, text: string): ReadonlyArray<string> => {
  const module = basename(path).replace(/\.tsx?$/, "")
  return [...text.matchAll(NAMED)].flatMap(([, name = ""]) => (name.startsWith(`${module}.`) ? [] : [name]))
}

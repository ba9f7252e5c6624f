/**
 * Entry of `adapters` in `edge.config.json`, added to its text.
 *
 * Guarantees: everything else of the file stays as it is written. The file is replaced as a whole, or not at all.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import { refused } from "../CommandFailed.ts"

/** Where a string that begins at `from` ends: after its closing quote. */
const endOfString = (text: string, from: number): number => {
  let at = from + 1
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1
  return at + 1
}

/** Position of `[` and `]` of the top-level list `adapters` in valid JSON; `undefined` without one. */
const listIn = (text: string): readonly [number, number] | undefined => {
  let depth = 0
  let start: number | undefined
  let isKey = false
  for (let at = 0; at < text.length;) {
    const character = text[at]
    if (character === '"') {
      const end = endOfString(text, at)
      if (depth === 1)
        isKey = JSON.parse(text.slice(at, end)) === "adapters" && /^\s*:/.test(text.slice(end, end + 100))
      at = end
      continue
    }
    if (character === "[" || character === "{") {
      depth++
      if (depth === 2 && isKey && character === "[") start = at
      isKey = false
    }
    if (character === "]" || character === "}") {
      if (depth === 2 && start !== undefined) return [start, at]
      depth--
    }
    at++
  }
  return undefined
}

/** The text with one more entry in its list. The text is valid JSON of an object. */
export const withAdapter = (text: string, entry: string): string => {
  const value = JSON.stringify(entry)
  const list = listIn(text)
  if (list !== undefined) {
    const [start, end] = list
    const inside = text.slice(start + 1, end)
    const content = inside.trimEnd()
    const added =
      content.trim() === ""
        ? value
        : `${content},${/\n\s*/.exec(inside)?.[0] ?? " "}${value}${inside.slice(content.length)}`
    return `${text.slice(0, start + 1)}${added}${text.slice(end)}`
  }
  const end = text.lastIndexOf("}")
  const content = text.slice(0, end).trimEnd()
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  "
  const separator = content.endsWith("{") ? "" : ","
  return `${content}${separator}\n${indent}"adapters": [${value}]\n${text.slice(end)}`
}

const write = (file: string, text: string, mode: number): void => {
  const temporary = `${file}.${process.pid}.new`
  try {
    makeFolder(dirname(file))
    const opened = openSync(temporary, "wx", mode)
    try {
      writeSync(opened, text)
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Adds an entry to the file. Returns false if it is there. */
export const addAdapter = Effect.fnUntraced(function* (path: string, entry: string) {
  const file = existsSync(path) ? realpathSync(path) : path
  const stat = statSync(file, { throwIfNoEntry: false })
  const mode = (stat?.mode ?? 0o600) & 0o777
  if ((mode & 0o022) !== 0) return yield* refused(`Other users can write ${path}. Run chmod 600 ${path}`)
  const text =
    stat === undefined
      ? "{}\n"
      : yield* Effect.try({
          try: () => readFileSync(file, "utf8"),
          catch: () => refused(`Can't read ${path}.`)
        })
  const content = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => refused(`${path} is not JSON. Correct it first.`)
  })
  const listed = isJsonObject(content) ? (content["adapters"] ?? []) : undefined
  if (!Array.isArray(listed))
    return yield* refused(`${path} is not usable: adapters is not a list. Correct it first.`)
  if (listed.includes(entry)) return false
  yield* Effect.try({
    try: () => write(file, withAdapter(text, entry), mode),
    catch: () => refused(`Can't write ${path}.`)
  })
  return true
})

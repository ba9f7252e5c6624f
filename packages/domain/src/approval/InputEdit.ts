/**
 * Edit of an approval's input by a user: the fields that the user changed, added or removed, and the label of the action, which names what runs and
 * not what was requested. Pure.
 */
import { firstCharacters } from "../text/Cut.ts"
import { isJsonObject } from "../text/JsonObject.ts"
import { Equal } from "effect"

/** One changed field. `undefined` on a side where the field is absent. */
export interface InputChange {
  /** Name of the field. Empty if the whole input changed, because an input is not an object. */
  readonly name: string
  readonly requested: unknown
  readonly allowed: unknown
}

type Fields = Readonly<Record<string, unknown>>

const ownField = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** Changed fields in the order of the requested input, added fields last. Empty if both inputs are equal. */
export const inputChanges = (requested: unknown, allowed: unknown): ReadonlyArray<InputChange> => {
  if (!isJsonObject(requested) || !isJsonObject(allowed))
    return Equal.equals(requested, allowed) ? [] : [{ name: "", requested, allowed }]
  return [...new Set([...Object.keys(requested), ...Object.keys(allowed)])].flatMap((name) => {
    const change = { name, requested: ownField(requested, name), allowed: ownField(allowed, name) }
    return Equal.equals(change.requested, change.allowed) ? [] : [change]
  })
}

/** Text of an input or of one of its fields: strings unchanged, other values as JSON. */
export const inputText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")

/** Fields of a tool's input that name what it acts on. */
const TARGETS = ["command", "cmd", "file_path", "filePath", "path", "url", "pattern", "query"]

/** Verbs with which adapters begin their labels. */
export const LABEL_VERB = /^(?:Run|Read|Write|Edit|Search|Fetch|List|Delegate:) /

/** Longest label of an edited action. The whole input is next to it. */
const MAX_LABEL = 512

/** What an input says that its tool acts on: a command, a path. */
export const targetOfInput = (input: unknown): string | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(input))
  for (const name of TARGETS) {
    const value = fields.get(name)
    if (typeof value === "string") return value
    if (Array.isArray(value)) return value.map(String).join(" ")
  }
  return undefined
}

/** Text before the target in a label, or `undefined` where the label names its tool, which stays the same. */
const beforeTarget = (label: string, requested: unknown): string | undefined => {
  const [verb] = LABEL_VERB.exec(label) ?? []
  if (verb !== undefined) return verb
  const start = label.replace(/…$/, "")
  return start !== "" && targetOfInput(requested)?.startsWith(start) === true ? "" : undefined
}

/** Label of an action whose input a person edited: it names what runs, not what was requested. */
export const editedLabel = (label: string, requested: unknown, allowed: unknown): string => {
  const target = targetOfInput(allowed)
  const before = target === undefined ? undefined : beforeTarget(label, requested)
  return before === undefined ? label : firstCharacters(`${before}${target}`, MAX_LABEL)
}

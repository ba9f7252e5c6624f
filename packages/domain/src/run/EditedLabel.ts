/** Label of an action whose input a person edited: it names what runs, not what was requested. Pure. */
import { firstCharacters } from "../text/Cut.ts"

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

export const editedLabel = (label: string, requested: unknown, allowed: unknown): string => {
  const target = targetOfInput(allowed)
  const before = target === undefined ? undefined : beforeTarget(label, requested)
  return before === undefined ? label : firstCharacters(`${before}${target}`, MAX_LABEL)
}

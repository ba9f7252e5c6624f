/**
 * Logs of the services that run in this process, on a terminal: warnings and errors as sentences, their data as words. What a service reports of
 * itself is said by the command. Without a terminal all logs are written as they are elsewhere.
 *
 * Guarantees: one line for each message, without JSON and stack traces.
 */
import { ERASE_LINE } from "./Progress.ts"
import type { Paint } from "./Rows.ts"
import { escapeLine } from "./VisibleText.ts"
import { Cause, Logger, LogLevel, Predicate } from "effect"

/** Fields of logged data that are sentences, or reasons without a name. Others are shown with their name. */
const SENTENCES: ReadonlySet<string> = new Set(["problem", "reason", "cause", "hint", "next"])
/** What a command says itself in its own words, and what is for operators of a service that others can reach. */
const NOT_SHOWN: ReadonlySet<unknown> = new Set([
  "runs are not confined",
  "runs are confined in part",
  "refused request"
])
/** Deeper data is left out. */
const MAX_DEPTH = 3

const firstLine = (text: string): string => text.trimStart().split("\n", 1)[0]?.trimEnd() ?? ""

/** A value in words: items of a list and fields of an object are separated by commas. */
const wordsOf = (value: unknown, depth = 0): string => {
  if (value instanceof Error) return firstLine(String(value))
  if (Cause.isCause(value)) return firstLine(Cause.pretty(value))
  if (!Predicate.isObjectOrArray(value)) return firstLine(String(value))
  if (depth === MAX_DEPTH) return "…"
  const parts = Array.isArray(value)
    ? value.map((item) => wordsOf(item, depth + 1))
    : Object.entries(value).map(([name, field]) => `${name} ${wordsOf(field, depth + 1)}`)
  return parts.join(", ")
}

/** What a message has besides its text: sentences, and values with names. */
const partsOf = (part: unknown): { readonly sentences: ReadonlyArray<string>; readonly named: string } => {
  if (part instanceof Error || Cause.isCause(part) || !Predicate.isObject(part))
    return { sentences: [wordsOf(part)], named: "" }
  const entries = Object.entries(part).filter(([, value]) => value !== undefined)
  const sentences = entries.filter(([name]) => SENTENCES.has(name)).map(([, value]) => wordsOf(value))
  return { sentences, named: wordsOf(Object.fromEntries(entries.filter(([name]) => !SENTENCES.has(name)))) }
}

/** `failed to read (id 1): no such file`. */
const sentenceOf = ([text, ...data]: ReadonlyArray<unknown>, cause: Cause.Cause<unknown>): string => {
  const all = [...data, ...(cause.reasons.length === 0 ? [] : [cause])].map(partsOf)
  const named = all.map((part) => part.named).filter((words) => words !== "")
  const head = `${wordsOf(text)}${named.length === 0 ? "" : ` (${named.join(", ")})`}`
  const sentences = all.flatMap((part) => part.sentences).filter((words) => words !== "")
  return sentences.length === 0 ? head : `${head}: ${sentences.join(" ")}`
}

/** One logged message as a line. `undefined` below a warning, and for what it does not show. */
export const terminalLine = (
  { cause, logLevel, message }: Pick<Logger.Options<unknown>, "cause" | "logLevel" | "message">,
  paint: Paint
): string | undefined => {
  if (!LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) return undefined
  const messages: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  if (NOT_SHOWN.has(messages[0])) return undefined
  const isError = LogLevel.isGreaterThanOrEqualTo(logLevel, "Error")
  const label = isError ? paint("red", "error:") : paint("yellow", "warning:")
  return `${label} ${escapeLine(sentenceOf(messages, cause))}`
}

/** Erases a progress line before it writes. */
export const terminalLogger = (paint: Paint, write: (text: string) => void): Logger.Logger<unknown, void> =>
  Logger.make((logged) => {
    const line = terminalLine(logged, paint)
    if (line !== undefined) write(`${ERASE_LINE}${line}\n`)
  })

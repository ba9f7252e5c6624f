/**
 * Logs of the services that run in this process, on a terminal: warnings and errors as sentences. What a service reports of itself is said by the
 * command. Without a terminal all logs are written as they are elsewhere.
 */
import { ERASE_LINE } from "./Progress.ts"
import type { Paint } from "./Paint.ts"
import { escapeControls } from "./VisibleText.ts"
import { Cause, Formatter, Logger, LogLevel } from "effect"

const textOf = (part: unknown): string =>
  typeof part === "string" ? part : part instanceof Error ? firstLine(String(part)) : Formatter.format(part)

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? ""

/** One logged message as a line. `undefined` below a warning. */
export const terminalLine = (
  { cause, logLevel, message }: Pick<Logger.Options<unknown>, "cause" | "logLevel" | "message">,
  paint: Paint
): string | undefined => {
  if (!LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) return undefined
  const isError = LogLevel.isGreaterThanOrEqualTo(logLevel, "Error")
  const parts = Array.isArray(message) ? message.map(textOf) : [textOf(message)]
  const reason = cause.reasons.length === 0 ? [] : [firstLine(Cause.pretty(cause))]
  const label = isError ? paint("red", "error:") : paint("yellow", "warning:")
  return `${label} ${escapeControls([...parts, ...reason].join(" "))}`
}

/** Erases a progress line before it writes. */
export const terminalLogger = (paint: Paint, write: (text: string) => void): Logger.Logger<unknown, void> =>
  Logger.make((logged) => {
    const line = terminalLine(logged, paint)
    if (line !== undefined) write(`${ERASE_LINE}${line}\n`)
  })

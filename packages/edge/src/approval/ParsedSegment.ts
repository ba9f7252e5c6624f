/**
 * One simple command of a line: its words as the program receives them, or the reason why its effect is unknown.
 *
 * `ShellCommand` owns the position in the line and the other commands.
 */
import type { Command } from "unbash"
import { type OuterRedirections, type WrittenFile, redirections } from "./Redirections.ts"
import { MAX_WORDS } from "./RiskyWords.ts"
import { isPlainVariable } from "./PlainVariables.ts"
import { changesShell } from "./ShellState.ts"
import { isLiteral } from "./ShellWord.ts"
import { unwrapCommand } from "./Wrappers.ts"

/** One simple command. */
export interface ParsedSegment {
  /** Its text in the line. */
  readonly text: string
  /** `NAME=value` before the program. */
  readonly assignments: ReadonlyArray<string>
  /** Program and arguments as the shell would pass them. Valid only if `exact`. */
  readonly words: ReadonlyArray<string>
  /** `words` without wrappers such as `timeout 10`. */
  readonly inner: ReadonlyArray<string>
  /** Whether every word is known before it runs. */
  readonly exact: boolean
  /** Its folder: relative to the line's folder, or absolute. `undefined` if an earlier `cd` may have failed. */
  readonly cwd: string | undefined
  /** Text of its input: an earlier command of the pipe, a here-document, a file. */
  readonly input: string | undefined
  readonly writes: ReadonlyArray<WrittenFile>
  /** Reason why its effect is unknown. */
  readonly opaque: string | undefined
}

/** A part of a line whose effect is unknown. */
export const opaqueSegment = (text: string, opaque: string): ParsedSegment => ({
  text,
  assignments: [],
  words: [],
  inner: [],
  exact: false,
  cwd: undefined,
  input: undefined,
  writes: [],
  opaque
})

/** A simple command that runs in `cwd`. */
export const segmentOf = (
  node: Command,
  around: OuterRedirections,
  cwd: string | undefined
): ParsedSegment => {
  const { args, name, prefix, redirects } = node
  const found = redirections(redirects, around)
  const assignments = prefix.filter((each) => each.type === "Assignment")
  const parts = name === undefined ? [] : [name, ...args]
  const words = parts.map((each) => (each.type === "Word" ? each.value : each.text))
  const inner = unwrapCommand(words)
  const isKnown =
    parts.every((each) => each.type === "Word" && isLiteral(each)) &&
    assignments.every(
      ({ append, index, value }) => !append && !index && value.type === "Word" && isLiteral(value)
    )
  const opaque = (): string | undefined => {
    if (name === undefined) return "it names no program"
    if (!isLiteral(name) || !isProgramName(name.value)) return "its program is decided when it runs"
    if (inner === undefined) return "what it starts is decided when it runs"
    if (found.special) return "shells differ in its redirection, or it opens a connection"
    if (words.join(" ").length > MAX_WORDS) return "it is too long to be judged"
    if (
      !assignments.every(({ name, value }) =>
        isPlainVariable(name, value.type === "Word" ? value.value : "$")
      )
    )
      return "it sets a variable that may carry options or code"
    return changesShell(words) ?? changesShell(inner)
  }
  const why = opaque()
  return {
    text: around.source.slice(node.pos, node.end),
    assignments: assignments.map(({ name, value }) => `${name}=${value.type === "Word" ? value.value : ""}`),
    words,
    inner: inner ?? [],
    exact: why === undefined && isKnown && found.exact,
    cwd,
    input: found.input,
    writes: found.writes,
    opaque: why
  }
}

/** A name or a path that no shell reads as an option, an assignment, a job or a pattern. */
const isProgramName = (word: string): boolean =>
  /^(?:[\p{L}\p{N}_./@][\p{L}\p{N}\p{M}_./@+: -]*|\[|:)$/u.test(word)

/**
 * One simple command of a line: its words as its program gets them, or why its effect is unknown.
 *
 * Where it stands in the line, and what else of the line runs, is `ShellCommand`'s.
 */
import type { Command } from "unbash"
import { type Around, type Redirected, redirections } from "./Redirections.ts"
import { MAX_WORDS } from "./RiskyWords.ts"
import { changesShell, steersPrograms } from "./ShellState.ts"
import { isLiteral } from "./ShellWord.ts"
import { unwrapped } from "./Wrappers.ts"

/** One simple command. */
export interface ParsedSegment {
  /** As it stands in the line. */
  readonly text: string
  /** `NAME=value` before the program. */
  readonly assignments: ReadonlyArray<string>
  /** Program and arguments as the shell would pass them. Holds only where `exact`. */
  readonly words: ReadonlyArray<string>
  /** `words` without wrappers such as `timeout 10`. */
  readonly inner: ReadonlyArray<string>
  /** Every word is known before it runs. */
  readonly exact: boolean
  /** Where it runs: relative to the line's folder, or absolute. `undefined` where a `cd` before it may have failed. */
  readonly cwd: string | undefined
  /** The text of what it is fed: the pipe before it, a here-document, a file. */
  readonly input: string | undefined
  readonly writes: ReadonlyArray<Redirected>
  /** Why its effect is unknown. */
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
export const segmentOf = (node: Command, around: Around, cwd: string | undefined): ParsedSegment => {
  const { args, name, prefix, redirects } = node
  const found = redirections(redirects, around)
  const assignments = prefix.filter((each) => each.type === "Assignment")
  const given = name === undefined ? [] : [name, ...args]
  const words = given.map((each) => (each.type === "Word" ? each.value : each.text))
  const inner = unwrapped(words)
  const isKnown =
    given.every((each) => each.type === "Word" && isLiteral(each)) &&
    assignments.every(
      ({ append, index, value }) => !append && !index && value.type === "Word" && isLiteral(value)
    )
  const opaque = (): string | undefined => {
    if (name === undefined) return "it names no program"
    if (!isLiteral(name) || /^$|^-|=/.test(name.value)) return "its program is decided when it runs"
    if (inner === undefined) return "what it starts is decided when it runs"
    if (found.special) return "it opens a connection or a descriptor of the shell"
    if (splits(node)) return "shells differ in what it does"
    if (words.join(" ").length > MAX_WORDS) return "it is too long to be judged"
    if (assignments.some((each) => steersPrograms(each.name)))
      return "it sets a variable by which programs start others"
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

/** Where words follow `&>`, some shells run them as a command of their own. */
const splits = ({ args, name, prefix, redirects }: Command): boolean => {
  const both = redirects.find(({ operator }) => operator.startsWith("&>"))
  return (
    both !== undefined &&
    [...prefix, ...(name === undefined ? [] : [name]), ...args].some(({ pos }) => pos > both.pos)
  )
}

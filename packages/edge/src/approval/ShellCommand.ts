/**
 * A command line as the simple commands it would run, wherever they stand in it: chains, pipes, conditions, substitutions, functions.
 *
 * Bash is what is parsed; what other shells read differently is `opaque`, as is everything that is decided only when it runs. It never
 * throws and is bounded in length, depth and number. It promises nothing about what a program does with its arguments.
 */
import {
  forEachChild,
  parse,
  type AndOr,
  type Command,
  type Statement,
  type SyntaxNode,
  type Word
} from "unbash"
import { posix } from "node:path"
import { type Around, joined, type Redirected, redirections } from "./Redirections.ts"
import { isLiteral } from "./ShellWord.ts"
import { changesShell, steersPrograms } from "./ShellState.ts"
import { unwrapped } from "./Wrappers.ts"

/** One simple command. */
export interface Segment {
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
  /** Why nobody can tell what it does. */
  readonly opaque: string | undefined
}

const MAX_LENGTH = 8_192
const MAX_SEGMENTS = 64
const MAX_DEPTH = 8
/** Characters of one command's words: what looks at them takes up to the square. */
export const MAX_WORDS = 2_048
/** Parsing takes the square of what is opened: so many places for a substitution are enough. */
const MAX_OPENED = 128

/** Control and format characters: what is shown would not be what runs, or shells disagree about it. */
const unshown = /[^\P{C}\n\t]|[^\P{Z} ]/u

const opaqueSegment = (text: string, opaque: string): Segment => ({
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

/** The segments of a line in the order they stand; none where it runs nothing. */
export const segmentsOf = (line: string): ReadonlyArray<Segment> => {
  if (line.length > MAX_LENGTH) return [opaqueSegment(line, "it is too long to be judged")]
  if ((line.match(/\$[({]|`|\(\(|[<>]\(/g)?.length ?? 0) > MAX_OPENED)
    return [opaqueSegment(line, "it has too many substitutions to be judged")]
  if (unshown.test(line)) return [opaqueSegment(line, "it contains characters that are not shown")]
  const reader = new Reader(line)
  try {
    reader.read(parse(line), { source: line, depth: 0, input: undefined, writes: [], exact: true })
  } catch {
    reader.segments.push(opaqueSegment(line, "it cannot be parsed"))
  }
  return reader.segments.length > MAX_SEGMENTS
    ? [opaqueSegment(line, "it has too many parts to be judged")]
    : reader.segments
}

class Reader {
  readonly segments: Array<Segment> = []
  private readonly line: string
  /** The folder of what comes next, and whether the statement that is read has moved. */
  private cwd: string | undefined = "."
  private moved = false

  constructor(line: string) {
    this.line = line
  }

  read(node: SyntaxNode, around: Around): void {
    if (this.segments.length > MAX_SEGMENTS) return
    switch (node.type) {
      case "Script":
        return this.script(node, around)
      case "Statement":
        return this.statement(node, around)
      case "AndOr":
        return this.andOr(node, around)
      case "Pipeline":
        if (node.commands.length === 1) {
          this.children(node, around)
          if (this.moved && node.prefixes.some(({ type }) => type === "Negation")) this.cwd = undefined
          return
        }
        return this.pipeline(node, around)
      case "Command":
        return this.command(node, around)
      case "Redirected": {
        const found = redirections(node.redirects, around)
        this.read(node.command, found)
        for (const redirect of node.redirects) this.children(redirect, around)
        return
      }
      case "Subshell":
        return this.apart(() => this.children(node, around))
      case "If":
      case "While":
      case "For":
      case "Case":
        return this.branching(node, around)
      case "Function":
        this.push(`${node.name.text}()`, "it defines a function", around)
        return this.apart(() => this.children(node, around))
      case "Select":
      case "Coproc":
      case "ArithmeticFor":
      case "TestCommand":
      case "ArithmeticCommand":
        this.push(around.source.slice(node.pos, node.end), "shells differ in what it does", around)
        return this.apart(() => this.children(node, around))
      case "CommandExpansion":
      case "ProcessSubstitution":
      case "ArithmeticCommandExpansion":
        if (node.script === undefined) return this.push(node.text, "it cannot be parsed", around)
        return this.apart(() => this.children(node, { ...around, writes: [] }))
      default:
    }
    this.children(node, around)
  }

  private children(node: SyntaxNode, around: Around): void {
    if (around.depth > MAX_DEPTH) return this.push(this.line, "it is nested too deeply to be judged", around)
    forEachChild(node, (child) => this.read(child, around))
  }

  /** Each part is fed by those before it. Some shells run the last part themselves: where it moves, nobody knows the folder. */
  private pipeline({ commands, pos }: Extract<SyntaxNode, { type: "Pipeline" }>, around: Around): void {
    let moves = false
    commands.forEach((command, i) => {
      const last = commands[i - 1]
      const fed = last === undefined ? undefined : `${around.source.slice(pos, last.end)} |`
      this.apart(() => {
        this.moved = false
        this.read(command, { ...around, input: joined(around.input, fed) })
        moves = this.moved
      })
    })
    if (!moves) return
    this.cwd = undefined
    this.moved = true
  }

  private script(node: Extract<SyntaxNode, { type: "Script" }>, around: Around): void {
    const source = node.source ?? around.source
    if (node.errors !== undefined && node.errors.length > 0)
      this.push(this.line, "it cannot be parsed", around)
    this.children(node, { ...around, source, depth: around.depth + 1 })
  }

  private statement(node: Statement, around: Around): void {
    if (node.background === true) return this.apart(() => this.read(node.command, around))
    const { moved } = this
    this.moved = false
    this.read(node.command, around)
    // The next statement runs even where the `cd` of this one failed.
    if (this.moved) this.cwd = undefined
    this.moved ||= moved
  }

  /** `cd a && b` is certain; after an `||` nobody knows whether the `cd` ran. */
  private andOr({ commands, operators }: AndOr, around: Around): void {
    commands.forEach((command, i) => {
      this.read(command, around)
      if (this.moved && operators.slice(0, i + 1).includes("||")) this.cwd = undefined
    })
  }

  /** What runs in a process of its own, or perhaps not at all, leaves the folder of what follows alone or uncertain. */
  private apart(run: () => void): void {
    const { cwd, moved } = this
    run()
    this.cwd = cwd
    this.moved = moved
  }

  private branching(
    node: Extract<SyntaxNode, { type: "If" | "While" | "For" | "Case" }>,
    around: Around
  ): void {
    const { cwd } = this
    const first = this.segments.length
    const chosen =
      node.type === "For"
        ? [...(node.wordlist ?? [node.name])]
        : node.type === "Case"
          ? [node.word, ...node.items.flatMap(({ pattern }) => pattern)]
          : []
    const bound = node.type === "For" && (steersPrograms(node.name.value) || node.wordlist === undefined)
    if (bound || chosen.some((word) => !isLiteral(word) && !isPattern(node, word)))
      this.push(around.source.slice(node.pos, node.end), "what it does is decided when it runs", around)
    this.children(node, around)
    if (this.cwd === cwd) return
    // A loop comes round to a place that the reading has not seen.
    this.cwd = undefined
    this.segments.splice(
      first,
      this.segments.length,
      ...this.segments.slice(first).map((segment) => ({ ...segment, cwd: undefined }))
    )
  }

  private command(node: Command, around: Around): void {
    const { args, name, prefix, redirects } = node
    const found = redirections(redirects, around)
    const assignments = prefix.filter((each) => each.type === "Assignment")
    const given = name === undefined ? [] : [name, ...args]
    const words = given.map((each) => (each.type === "Word" ? each.value : each.text))
    const literal =
      given.every((each) => each.type === "Word" && isLiteral(each)) &&
      assignments.every(
        ({ append, index, value }) => !append && !index && value.type === "Word" && isLiteral(value)
      )
    const inner = unwrapped(words)
    // Where words follow `&>`, other shells run them as a command of their own.
    const lastWord = Math.max(0, ...[...prefix, ...given].map(({ pos }) => pos))
    const size = words.reduce((sum, word) => sum + word.length + 1, 0)
    const opaque =
      name === undefined
        ? "it names no program"
        : !isLiteral(name) || /^$|^-|=/.test(name.value)
          ? "its program is decided when it runs"
          : inner === undefined
            ? "what it starts is decided when it runs"
            : found.special ||
                redirects.some(({ operator, pos }) => operator.startsWith("&>") && pos < lastWord)
              ? "it opens a connection or a descriptor of the shell"
              : size > MAX_WORDS
                ? "it is too long to be judged"
                : (changesShell(words) ??
                  changesShell(inner) ??
                  assigned(assignments.map((each) => each.name)))
    this.segments.push({
      text: around.source.slice(node.pos, node.end),
      assignments: assignments.map(
        ({ name, value }) => `${name}=${value.type === "Word" ? value.value : ""}`
      ),
      words,
      inner: inner ?? [],
      exact: opaque === undefined && literal && found.exact,
      cwd: this.cwd,
      input: found.input,
      writes: found.writes,
      opaque
    })
    for (const child of [...prefix, ...(name === undefined ? [] : [name]), ...node.suffix]) {
      this.apart(() => this.read(child, { ...around, input: found.input }))
    }
    if (inner?.[0] === "cd") this.move(words, literal)
  }

  private move(words: ReadonlyArray<string>, literal: boolean): void {
    const [, to] = words
    const known =
      literal && words[0] === "cd" && words.length === 2 && to !== undefined && to !== "" && !/^[-+]/.test(to)
    this.cwd = known && this.cwd !== undefined ? inFolder(this.cwd, to) : undefined
    this.moved = true
  }

  private push(text: string, opaque: string, { input, writes }: Around): void {
    this.segments.push({ ...opaqueSegment(text, opaque), input, writes })
  }
}

/** A path as it is named in a folder. */
export const inFolder = (folder: string, path: string): string =>
  posix.isAbsolute(path) ? posix.normalize(path) : posix.join(folder, path)

const assigned = (names: ReadonlyArray<string>): string | undefined =>
  names.some(steersPrograms) ? "it sets a variable by which programs start others" : undefined

/** A case's pattern chooses among what is shown anyway. */
const isPattern = (node: SyntaxNode, word: Word): boolean =>
  node.type === "Case" &&
  word !== node.word &&
  (word.parts ?? []).every(({ type }) => type === "Literal" || type === "Glob")

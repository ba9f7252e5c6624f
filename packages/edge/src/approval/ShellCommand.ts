/**
 * Parser of a command line into the simple commands that it would run: in chains, pipes, conditions, substitutions and functions.
 *
 * Guarantees: never throws, and is bounded in length, depth, number and steps. The text is read character by character, and a parser that reads a part again and again runs out of steps; the
 * count depends on the line alone, not on the machine or its load. It parses Bash. Parts that bash, dash, zsh, mksh and busybox read differently, or that are known only at run time, are
 * `opaque`, and so is a line that takes too many steps. A test runs lines in each of them.
 *
 * Does not: know what a program does with its arguments.
 */
import { hidesInCommand } from "@corral/domain/text/SafeText"
import { posix } from "node:path"
import {
  type AndOr,
  type CaseItem,
  type Command,
  forEachChild,
  parse,
  type Statement,
  type SyntaxNode
} from "unbash"
import {
  joinTexts,
  opaqueSegment,
  type OuterRedirections,
  type ParsedSegment,
  redirections,
  segmentOf
} from "./ParsedSegment.ts"
import { isLiteral, isLoopVariable, isPattern } from "./ShellWord.ts"

/** The parser exceeded its budget of steps. */
export class OutOfSteps extends Error {}

/** Characters that a native search or copy handles in the time of one step. */
const PER_STEP = 16

export class CountedText extends String {
  readonly #budget: number
  #steps = 0

  constructor(text: string, budget: number) {
    super(text)
    this.#budget = budget
  }

  /** Number of steps so far. */
  get steps(): number {
    return this.#steps
  }

  override charCodeAt(index: number): number {
    this.count(1)
    return super.charCodeAt(index)
  }

  override charAt(index: number): string {
    this.count(1)
    return super.charAt(index)
  }

  override slice(start?: number, end?: number): string {
    return this.#copied(super.slice(start, end))
  }

  override substring(start: number, end?: number): string {
    return this.#copied(super.substring(start, end))
  }

  override indexOf(text: string, from = 0): number {
    const at = super.indexOf(text, from)
    this.count(1 + Math.max(0, (at === -1 ? this.length : at) - from) / PER_STEP)
    return at
  }

  override lastIndexOf(text: string, from = this.length): number {
    const at = super.lastIndexOf(text, from)
    this.count(1 + Math.max(0, from - at) / PER_STEP)
    return at
  }

  override includes(text: string, from = 0): boolean {
    return this.indexOf(text, from) !== -1
  }

  override startsWith(text: string, from = 0): boolean {
    this.count(1)
    return super.startsWith(text, from)
  }

  #copied(part: string): string {
    this.count(1 + part.length / PER_STEP)
    return part
  }

  /** Counts work without reading. */
  count(steps: number): void {
    this.#steps += steps
    if (this.#steps > this.#budget) throw new OutOfSteps()
  }
}

const MAX_LENGTH = 8_192
const MAX_SEGMENTS = 64
const MAX_DEPTH = 8
const MAX_OPENED = 128
/** Maximum number of words and files of a line. Each costs the policy a lookup in the file system. */
const MAX_PARTS = 512
/** Steps per character. An ordinary line takes up to four. */
const STEPS_PER_CHARACTER = 8
const STEPS_AT_LEAST = 4_096

/** Maximum number of steps for a line of this length. */
export const stepsFor = (length: number): number => STEPS_AT_LEAST + length * STEPS_PER_CHARACTER

/** A word, an operator or a number that continues on the next line. Shells differ in where it may. */
const continued = /\S\\\n/

/** The segments of a line in their order; none if it runs nothing. */
export const segmentsOf = (line: string): ReadonlyArray<ParsedSegment> => {
  if (line.length > MAX_LENGTH) return [opaqueSegment(line, "it is too long to be judged")]
  if ((line.match(/\$[({]|`|\(\(|<<|[<>]\(/g)?.length ?? 0) > MAX_OPENED)
    return [opaqueSegment(line, "it has too many substitutions or here-documents to be judged")]
  if (hidesInCommand(line)) return [opaqueSegment(line, "it contains characters that are not shown")]
  if (continued.test(line)) return [opaqueSegment(line, "it continues a word on the next line")]
  const text = new CountedText(line, stepsFor(line.length))
  const reader = new Reader(text, line)
  try {
    // The parser uses methods of String, a length and indices, all of which a CountedText has.
    const source = text as unknown as string
    reader.read(parse(source), { source, depth: 0, input: undefined, writes: [], exact: true })
  } catch (error) {
    if (error instanceof OutOfSteps) return [opaqueSegment(line, "it takes too many steps to read")]
    reader.segments.push(opaqueSegment(line, "it cannot be parsed"))
  }
  const parts = reader.segments.reduce((sum, { words, writes }) => sum + words.length + writes.length, 0)
  return reader.segments.length > MAX_SEGMENTS || parts > MAX_PARTS
    ? [opaqueSegment(line, "it has too many parts to be judged")]
    : reader.segments
}

type Branching = Extract<SyntaxNode, { type: "If" | "While" | "For" | "Case" }>

class Reader {
  readonly segments: Array<ParsedSegment> = []
  private readonly text: CountedText
  private readonly line: string
  /** Folder of the next command, and whether the current statement has changed it. */
  private cwd: string | undefined = "."
  private moved = false

  constructor(text: CountedText, line: string) {
    this.text = text
    this.line = line
  }

  read(node: SyntaxNode, around: OuterRedirections): void {
    if (this.segments.length > MAX_SEGMENTS) return
    this.text.count(1)
    switch (node.type) {
      case "Script":
        return this.script(node, around)
      case "Statement":
        return this.statement(node, around)
      case "AndOr":
        return this.andOr(node, around)
      case "Pipeline":
        // `!(x)` is a pattern in some shells, and `! (x)` the opposite of a command.
        if (node.prefixes.some(({ end }) => around.source[end] === "("))
          this.push(around.source.slice(node.pos, node.end), "shells differ in what it does", around)
        if (node.commands.length === 1) {
          this.children(node, around)
          // `time` is a keyword of some shells and a program of others.
          if (this.moved && node.prefixes.length > 0) this.cwd = undefined
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

  private children(node: SyntaxNode, around: OuterRedirections): void {
    if (around.depth > MAX_DEPTH) return this.push(this.line, "it is nested too deeply to be judged", around)
    forEachChild(node, (child) => this.read(child, around))
  }

  /** Each part is the input of the next. Some shells run the last part themselves: if it changes the folder, the folder is unknown. */
  private pipeline(
    { commands, end, operators, pos }: Extract<SyntaxNode, { type: "Pipeline" }>,
    around: OuterRedirections
  ): void {
    let moves = false
    if (operators.includes("|&"))
      this.push(around.source.slice(pos, end), "shells differ in what it does", around)
    commands.forEach((command, i) => {
      if (this.segments.length > MAX_SEGMENTS) return
      const last = commands[i - 1]
      const pipedInput = last === undefined ? undefined : `${around.source.slice(pos, last.end)} |`
      this.apart(() => {
        this.moved = false
        this.read(command, { ...around, input: joinTexts(around.input, pipedInput) })
        moves = this.moved
      })
    })
    if (!moves) return
    this.cwd = undefined
    this.moved = true
  }

  private script(node: Extract<SyntaxNode, { type: "Script" }>, around: OuterRedirections): void {
    const source = node.source ?? around.source
    if (node.errors !== undefined && node.errors.length > 0)
      this.push(this.line, "it cannot be parsed", around)
    this.children(node, { ...around, source, depth: around.depth + 1 })
  }

  private statement(node: Statement, around: OuterRedirections): void {
    const { cwd, moved } = this
    this.moved = false
    this.read(node.command, around)
    if (node.background === true && node.command.type !== "AndOr") {
      this.cwd = cwd
      this.moved = false
    }
    // The next statement runs even if the `cd` of this one failed. Of `cd a && b &`, zsh runs only `b` in the background.
    if (this.moved) this.cwd = undefined
    this.moved ||= moved
  }

  /** `cd a && b` is certain. After an `||` it is unknown whether the `cd` ran. */
  private andOr({ commands, operators }: AndOr, around: OuterRedirections): void {
    let mayBeSkipped = false
    commands.forEach((command, i) => {
      this.read(command, around)
      mayBeSkipped ||= operators[i] === "||"
      if (this.moved && mayBeSkipped) this.cwd = undefined
    })
  }

  /** A part in a separate process does not change the folder of the next parts. A part that may not run makes it uncertain. */
  private apart(run: () => void): void {
    const { cwd, moved } = this
    run()
    this.cwd = cwd
    this.moved = moved
  }

  private branching(node: Branching, around: OuterRedirections): void {
    const { cwd } = this
    const first = this.segments.length
    if (!isCertain(node))
      this.push(around.source.slice(node.pos, node.end), "what it does is decided when it runs", around)
    this.children(node, around)
    if (this.cwd === cwd) return
    // A loop returns to a state that the parser has not seen.
    this.cwd = undefined
    this.segments.splice(
      first,
      this.segments.length,
      ...this.segments.slice(first).map((segment) => ({ ...segment, cwd: undefined }))
    )
  }

  private command(node: Command, around: OuterRedirections): void {
    const segment = segmentOf(node, around, this.cwd)
    this.segments.push(segment)
    const { input, inner } = segment
    if (!isReadWhole(node, around.source))
      this.push(around.source.slice(node.pos, node.end), "it cannot be parsed", around)
    for (const child of [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix])
      this.apart(() => this.read(child, { ...around, input }))
    if (inner[0] === "cd") this.move(segment)
  }

  private move({ exact, words: [program, to = "", ...more] }: ParsedSegment): void {
    const isKnown = exact && program === "cd" && more.length === 0 && !/^([-+]|$)/.test(to)
    this.cwd = isKnown && this.cwd !== undefined ? inFolder(this.cwd, to) : undefined
    this.moved = true
  }

  private push(text: string, opaque: string, { input, writes }: OuterRedirections): void {
    this.segments.push({ ...opaqueSegment(text, opaque), input, writes })
  }
}

/** Whether the parser has passed over nothing between the words of a command: it reads `a (b` as `a b`. */
const isReadWhole = ({ name, pos, prefix, redirects, suffix }: Command, source: string): boolean => {
  const parts = [...prefix, ...(name === undefined ? [] : [name]), ...suffix, ...redirects]
  let at = pos
  return parts
    .toSorted((a, b) => a.pos - b.pos)
    .every((part) => {
      const isBlank = part.pos <= at || /^(?:\s|\\\n)*$/.test(source.slice(at, part.pos))
      at = Math.max(at, part.end)
      return isBlank
    })
}

/** Values of loops and conditions must be known before they run. A case's patterns only select among shown commands. */
const isCertain = (node: Branching): boolean => {
  switch (node.type) {
    case "For":
      return isLoopVariable(node.name.value) && node.wordlist?.every(isLiteral) === true
    case "Case":
      return isLiteral(node.word) && node.items.every(isCertainItem)
    default:
      return true
  }
}

/** `;&` and similar ends are read by some shells only. */
const isCertainItem = ({ pattern, terminator = ";;" }: CaseItem): boolean =>
  terminator === ";;" && pattern.every(isPattern)

/** A path relative to a folder. */
export const inFolder = (folder: string, path: string): string =>
  posix.isAbsolute(path) ? posix.normalize(path) : posix.join(folder, path)

/**
 * A command line as the simple commands it would run, wherever they stand in it: chains, pipes, conditions, substitutions, functions.
 *
 * Bash is what is parsed; what other shells read differently is `opaque`, as is everything that is decided only when it runs. It never
 * throws and is bounded in length, depth, number and steps: a line that takes too many steps to read is `opaque`. It promises nothing about
 * what a program does with its arguments.
 */
import { forEachChild, parse, type AndOr, type Command, type Statement, type SyntaxNode } from "unbash"
import { posix } from "node:path"
import { CountedText, OutOfSteps } from "./CountedText.ts"
import { type Around, joinTexts, redirections } from "./Redirections.ts"
import { opaqueSegment, type ParsedSegment, segmentOf } from "./ParsedSegment.ts"
import { isLiteral, isPattern } from "./ShellWord.ts"
import { steersPrograms } from "./ShellState.ts"

const MAX_LENGTH = 8_192
const MAX_SEGMENTS = 64
const MAX_DEPTH = 8
const MAX_OPENED = 128
/** Words and files of a line: each costs the policy a look at the file system. */
const MAX_PARTS = 512
/** An ordinary line takes up to four. */
const STEPS_PER_CHARACTER = 8
const STEPS_AT_LEAST = 4_096

/** Steps that reading a line of this length may take. */
export const stepsFor = (length: number): number => STEPS_AT_LEAST + length * STEPS_PER_CHARACTER

/** Control and format characters: what is shown would not be what runs, or shells disagree about it. */
const unshown = /[^\P{C}\n\t]|[^\P{Z} ]/u

/** The segments of a line in the order they stand; none where it runs nothing. */
export const segmentsOf = (line: string): ReadonlyArray<ParsedSegment> => {
  if (line.length > MAX_LENGTH) return [opaqueSegment(line, "it is too long to be judged")]
  if ((line.match(/\$[({]|`|\(\(|<<|[<>]\(/g)?.length ?? 0) > MAX_OPENED)
    return [opaqueSegment(line, "it has too many substitutions or here-documents to be judged")]
  if (unshown.test(line)) return [opaqueSegment(line, "it contains characters that are not shown")]
  const text = new CountedText(line, stepsFor(line.length))
  const reader = new Reader(text, line)
  try {
    // The parser calls methods of String and reads a length and indices, all of which a CountedText has.
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
  /** The folder of what comes next, and whether the statement that is read has moved. */
  private cwd: string | undefined = "."
  private moved = false

  constructor(text: CountedText, line: string) {
    this.text = text
    this.line = line
  }

  read(node: SyntaxNode, around: Around): void {
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

  /** Each part is fed by those before it. Some shells run the last part themselves: if it changes the folder, the folder is unknown. */
  private pipeline({ commands, pos }: Extract<SyntaxNode, { type: "Pipeline" }>, around: Around): void {
    let moves = false
    commands.forEach((command, i) => {
      if (this.segments.length > MAX_SEGMENTS) return
      const last = commands[i - 1]
      const fed = last === undefined ? undefined : `${around.source.slice(pos, last.end)} |`
      this.apart(() => {
        this.moved = false
        this.read(command, { ...around, input: joinTexts(around.input, fed) })
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

  /** `cd a && b` is certain; after an `||` it is unknown whether the `cd` ran. */
  private andOr({ commands, operators }: AndOr, around: Around): void {
    let mayBeSkipped = false
    commands.forEach((command, i) => {
      this.read(command, around)
      mayBeSkipped ||= operators[i] === "||"
      if (this.moved && mayBeSkipped) this.cwd = undefined
    })
  }

  /** A part that runs in a separate process, or perhaps not at all, leaves the folder of the next parts unchanged or uncertain. */
  private apart(run: () => void): void {
    const { cwd, moved } = this
    run()
    this.cwd = cwd
    this.moved = moved
  }

  private branching(node: Branching, around: Around): void {
    const { cwd } = this
    const first = this.segments.length
    if (!isCertain(node))
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
    const segment = segmentOf(node, around, this.cwd)
    this.segments.push(segment)
    const { input, inner } = segment
    for (const child of [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix])
      this.apart(() => this.read(child, { ...around, input }))
    if (inner[0] === "cd") this.move(segment)
  }

  private move({ exact, words: [program, to = "", ...more] }: ParsedSegment): void {
    const known = exact && program === "cd" && more.length === 0 && !/^([-+]|$)/.test(to)
    this.cwd = known && this.cwd !== undefined ? inFolder(this.cwd, to) : undefined
    this.moved = true
  }

  private push(text: string, opaque: string, { input, writes }: Around): void {
    this.segments.push({ ...opaqueSegment(text, opaque), input, writes })
  }
}

/** What is looped over and chosen by is known before it runs; a case's patterns choose among what is shown anyway. */
const isCertain = (node: Branching): boolean => {
  switch (node.type) {
    case "For":
      return !steersPrograms(node.name.value) && node.wordlist?.every(isLiteral) === true
    case "Case":
      return isLiteral(node.word) && node.items.every(({ pattern }) => pattern.every(isPattern))
    default:
      return true
  }
}

/** A path as it is named in a folder. */
export const inFolder = (folder: string, path: string): string =>
  posix.isAbsolute(path) ? posix.normalize(path) : posix.join(folder, path)

/**
 * One simple command of a line: its words as the program receives them, the files that it reads and writes by redirection, or the reason why its effect is unknown. Also the table of
 * commands that a shell has itself.
 *
 * Redirections that shells read differently are `special`, and so are devices and descriptors of the shell, because a network connection is opened like a file. `ShellCommand` owns the
 * position in the line and the other commands.
 */
import type { Command, Redirect, Redirection } from "unbash"
import { MAX_WORDS } from "./RiskyWords.ts"
import { isLiteral, isPlainText, isPlainVariable } from "./ShellWord.ts"
import { unwrapCommand } from "./ProgramName.ts"

/** A file that a redirection writes, relative to the folder of its segment. If not `exact`, its text is as written. */
interface WrittenFile {
  readonly file: string
  readonly append: boolean
}

/** Redirections around a command. */
export interface OuterRedirections {
  /** The text that positions refer to. Escaped backticks have their own. */
  readonly source: string
  readonly depth: number
  readonly input: string | undefined
  readonly writes: ReadonlyArray<WrittenFile>
  /** Whether every redirection around it is known before it runs. */
  readonly exact: boolean
}

/** Joined texts; `undefined` without any. */
export const joinTexts = (...texts: ReadonlyArray<string | undefined>): string | undefined => {
  const present = texts.filter((text) => text !== undefined)
  return present.length === 0 ? undefined : present.join("\n")
}

const isDevice = (file: string): boolean =>
  /^\/dev\/(tcp|udp|fd)(\/|$)|^\/dev\/std(in|out|err)$|^\/proc\//.test(file)

/** Redirections around a command's parts, including its own. `special` ones are more than files. */
export const redirections = (
  redirects: Command["redirects"],
  around: OuterRedirections
): OuterRedirections & { readonly special: boolean } => {
  let { exact, input } = around
  let special = false
  const writes = [...around.writes]
  for (const redirect of redirects) {
    special ||= !isPortable(redirect, around.source)
    if (redirect.type === "HereDoc") {
      const parts = redirect.body.parts ?? []
      exact &&=
        redirect.closing !== undefined &&
        (redirect.delimiter?.quoted === true || (parts.every(isPlain) && isPlainText(redirect.body.text)))
      input = joinTexts(input, `${redirect.operator} ${redirect.body.text}`)
      continue
    }
    const { target } = redirect
    if (target === undefined || !isLiteral(target)) {
      exact = false
      if (target !== undefined && redirect.operator.includes(">"))
        writes.push({ file: target.text, append: false })
      continue
    }
    if (redirect.type === "HereString") input = joinTexts(input, `<<< ${target.value}`)
    else if (isDevice(target.value)) special = true
    else if (redirect.operator === "<") input = joinTexts(input, `< ${target.value}`)
    else if (writesFile(redirect, target.value))
      writes.push({ file: target.value, append: redirect.operator.endsWith(">>") })
  }
  return { ...around, exact: exact && !special, input, writes, special }
}

const isPlain = ({ type }: { readonly type: string }): boolean => type === "Literal"

/** The operators that every shell has, with a target that none of them takes for a part of the operator or for a pattern. */
const portable: Readonly<Record<string, RegExp>> = {
  "<": /^[^!|&(<>=-]/,
  ">": /^[^!|&(<>=-]/,
  ">>": /^[^!|&(<>=-]/,
  "<&": /^[0-2]$/,
  ">&": /^[0-2]$/,
  "<<": /^(?:\w+|'\w+'|"\w+")$/,
  "<<-": /^(?:\w+|'\w+'|"\w+")$/
}

/** What may follow a redirection. In zsh, `<1-2>` is a pattern. */
const ends = /^[\s;|&)]?$/

/** Whether every shell reads a redirection as the parser does: `2>f`, `2>&1`, but not `>&f`, `>|f`, `&>f`, `<>f` and `{fd}>f`. */
const isPortable = (redirect: Redirection, source: string): boolean => {
  const { descriptor, end, operator } = redirect
  if (descriptor !== undefined && !/^[0-2]$/.test(source.slice(descriptor.pos, descriptor.end))) return false
  const target = redirect.type === "HereDoc" ? redirect.delimiter : redirect.target
  return portable[operator]?.test(target?.text ?? "") === true && ends.test(source.charAt(target?.end ?? end))
}

/** `2>&1` and similar ones name a descriptor. Output to /dev/null is discarded. */
const writesFile = ({ operator }: Redirect, target: string): boolean =>
  target !== "/dev/null" && !(/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(target))

// Commands that a shell has itself, and that change the shell or run what another shell does not. Data and its lookup.
//
// A test compares the list with the builtins, keywords and aliases of the shells that are installed.

/** Builtins, keywords and predefined aliases of bash, dash, zsh, mksh and busybox, except those that do the same in each. */
const state = new Set(
  (
    ". - alias autoload bg bind bindkey break builtin bye caller cap chdir clone comparguments compadd compcall compctl compdef compdescribe compfiles " +
    "compgen compgroups complete compopt compquote compset comptags comptry compvalues continue coproc declare dirs disable disown do done echotc " +
    "echoti elif else emulate enable end esac eval export fc fg fi float for foreach function functions getcap getln getopts global hash " +
    "hashinfo history if in inlib integer jobs let limit local log login logout mapfile mknod nameref nocorrect noglob popd print private " +
    "pushd pushln r read readarray readonly rehash rename repeat run-help sched select set setcap setopt shift shopt source " +
    "stop suspend then times trap ttyctl typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt until vared " +
    "whence where which-command while zcompile zformat zle zmodload zparseopts zregexparse zsocket zstyle ztcp [[ { }"
  ).split(" ")
)

/** Builtins that take the name of a variable, or a number that some shells evaluate as an expression. */
const names = new Set("printf wait test [ exit return kill".split(" "))

const evaluatesIndex = (word: string): boolean => {
  const bracket = word.indexOf("[")
  return bracket !== -1 && /[$`]/.test(word.slice(bracket))
}

const isNumber = (word: string): boolean => /^[-+]?\d*$/.test(word)

/** Whether a builtin evaluates an operand that is not a plain number: `[ PATH=1 -eq 1 ]` changes the path in zsh and mksh. */
const evaluates = ([program = "", ...args]: ReadonlyArray<string>): boolean => {
  switch (program) {
    case "test":
    case "[":
      return (
        args.some((word) => /^-(eq|ne|lt|le|gt|ge|t)$/.test(word)) &&
        !args.every((word) => isNumber(word) || /^(-[a-zA-Z]+|[\]!()])$/.test(word))
      )
    case "printf":
      return !/^(?:[^%]|%-?\d*[%sbc])*$/.test(args[0] ?? "") && !args.slice(1).every(isNumber)
    case "exit":
    case "return":
      return !args.every(isNumber)
    default:
      return false
  }
}

/** Reason why a command with these words makes the rest of its line uncertain. */
const changesShell = (words: ReadonlyArray<string>): string | undefined => {
  const [program = ""] = words
  if (state.has(program)) return "it changes the shell itself"
  // Text in a variable's brackets is evaluated, quoted or not.
  const isUncertain =
    names.has(program) &&
    (evaluates(words) || words.some((word) => /^-[vp]/.test(word) || evaluatesIndex(word)))
  return isUncertain ? "it names a variable of the shell" : undefined
}

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

/**
 * Files that a command reads and writes by redirection, including the redirections around it.
 *
 * Redirections that shells read differently are `special`, and so are devices and descriptors of the shell, because a network connection is
 * opened like a file.
 */
import type { Command, Redirect, Redirection } from "unbash"
import { isLiteral, isPlainText } from "./ShellWord.ts"

/** A file that a redirection writes, relative to the folder of its segment. If not `exact`, its text is as written. */
export interface WrittenFile {
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

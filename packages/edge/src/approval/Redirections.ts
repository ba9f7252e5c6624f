/**
 * What a command reads and writes by redirection, its own and those around it. Devices and descriptors of the shell are `special`: a
 * connection is opened like a file.
 */
import type { Command, Redirect } from "unbash"
import { isLiteral, isPlainText } from "./ShellWord.ts"

/** A file that a redirection writes, as it is named in the folder of its segment; as it is spelled where that is not `exact`. */
export interface Redirected {
  readonly file: string
  readonly append: boolean
}

/** What surrounds a command. */
export interface Around {
  /** The text that positions index: escaped backticks have their own. */
  readonly source: string
  readonly depth: number
  readonly input: string | undefined
  readonly writes: ReadonlyArray<Redirected>
  /** Every redirection around it is known before it runs. */
  readonly exact: boolean
}

/** Texts under each other; `undefined` where there is none. */
export const joinTexts = (...texts: ReadonlyArray<string | undefined>): string | undefined => {
  const present = texts.filter((text) => text !== undefined)
  return present.length === 0 ? undefined : present.join("\n")
}

const isDevice = (file: string): boolean =>
  /^\/dev\/(tcp|udp|fd)(\/|$)|^\/dev\/std(in|out|err)$|^\/proc\//.test(file)

/** What surrounds a command once its own redirections are counted in. `special` ones are more than files. */
export const redirections = (
  redirects: Command["redirects"],
  around: Around
): Around & { readonly special: boolean } => {
  let { exact, input } = around
  let special = false
  const writes = [...around.writes]
  for (const redirect of redirects) {
    // Shells differ in how long the number of a descriptor may be; a longer one is an argument.
    if (
      redirect.descriptor !== undefined &&
      !/^\d$/.test(around.source.slice(redirect.descriptor.pos, redirect.descriptor.end))
    )
      special = true
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
    else if (isDevice(target.value) || !isPlainTarget(redirect, target.value)) special = true
    else if (redirect.operator === "<") input = joinTexts(input, `< ${target.value}`)
    else if (writesFile(redirect, target.value))
      writes.push({ file: target.value, append: redirect.operator.endsWith(">>") })
  }
  return { ...around, exact: exact && !special, input, writes, special }
}

const isPlain = ({ type }: { readonly type: string }): boolean => type === "Literal"

/** `>&-x` closes a descriptor and passes `x`; to zsh `>!x` and `>|x` are operators of their own. */
const isPlainTarget = ({ operator }: Redirect, target: string): boolean =>
  /^[<>]&$/.test(operator) ? /^(\d+-?|-|[^-\d].*)$/s.test(target) : !/^[!|&-]/.test(target)

/** `2>&1` and the like name a descriptor; nothing is kept of what goes to /dev/null. */
const writesFile = ({ operator }: Redirect, target: string): boolean =>
  target !== "/dev/null" && !(/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(target))

/**
 * Words with which any program publishes or deploys: `nerdctl push`, `yarn workspace x publish`, `argocd app sync x`.
 *
 * A word counts at any position. An existing file with that name makes no difference, because an agent can create one. Programs whose operands
 * are files or names are exempt.
 */
import { takesFiles } from "./CarriedCommand.ts"
import { runners } from "./RiskyWords.ts"
import { operandUseOf } from "./PrefixPrograms.ts"
import { systemProgramOf } from "./ProgramName.ts"

const publishes = new Set(["publish", "push", "upload", "release", "submit", "deliver", "trunk"])
const deploys = new Set(["deploy", "apply", "sync", "reconcile", "promote", "rollout"])

/** By program: words that stay local. */
const local: Readonly<Record<string, RegExp>> = {
  // `RiskyWords` lists git's network commands.
  git: /^/,
  cd: /^/,
  gh: /^(release (list|view|download)|repo sync)\b/,
  glab: /^release (list|view|download)\b/,
  uv: /^sync\b/,
  poetry: /^sync\b/,
  pdm: /^sync\b/,
  rye: /^sync\b/,
  go: /^work sync\b/,
  mix: /^release\b/,
  npm: /^test\b/,
  pnpm: /^test\b/,
  yarn: /^test\b/
}

const staysLocal = (words: ReadonlyArray<string>, rest: string): boolean => {
  const program = systemProgramOf(words) ?? ""
  if (Object.hasOwn(local, program) && local[program]?.test(rest) === true) return true
  if (takesFiles(words)) return true
  return operandUseOf(words) !== undefined && !runners.has(program)
}

/** Actions of a command's words. `rest` are the words after the program and its first options. */
export const releaseOf = (words: ReadonlyArray<string>, rest: string): "publish" | "deploy" | undefined => {
  const args = words.slice(1)
  const found = args.some((word) => deploys.has(word))
    ? "deploy"
    : args.some((word) => publishes.has(word))
      ? "publish"
      : undefined
  return found === undefined || staysLocal(words, rest) ? undefined : found
}

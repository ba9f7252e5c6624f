/**
 * Words by which any program publishes or deploys: `nerdctl push`, `yarn workspace x publish`, `argocd app sync x`.
 *
 * A word counts at any position. A file by that name does not exempt it, because an agent can make one. Programs whose operands are files
 * or names are exempt.
 */
import { takesFiles } from "./CarriedCommand.ts"
import { runners } from "./RiskyWords.ts"
import { widenedBy } from "./PrefixPrograms.ts"
import { programOf } from "./ProgramName.ts"

const publishes = new Set(["publish", "push", "upload", "release", "submit", "deliver", "trunk"])
const deploys = new Set(["deploy", "apply", "sync", "reconcile", "promote", "rollout"])

/** By program: where the word stays at home. */
const local: Readonly<Record<string, RegExp>> = {
  // `RiskyWords` lists what git sends.
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
  const program = programOf(words)
  if (Object.hasOwn(local, program) && local[program]?.test(rest) === true) return true
  if (takesFiles(words)) return true
  return widenedBy(words) !== undefined && !runners.has(program)
}

/** What the words of a command say that it does. `rest` are the words behind the program and its first options. */
export const releaseOf = (words: ReadonlyArray<string>, rest: string): "publish" | "deploy" | undefined => {
  const said = words.slice(1)
  const found = said.some((word) => deploys.has(word))
    ? "deploy"
    : said.some((word) => publishes.has(word))
      ? "publish"
      : undefined
  return found === undefined || staysLocal(words, rest) ? undefined : found
}

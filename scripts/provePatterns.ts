/** Proves the regular expressions that are new, and writes the list of those that are proven: `npm run patterns`. */
import { writeFileSync } from "node:fs"
import { patterns, proven, provenFile, unproven } from "./Patterns.ts"
import { refuted } from "./ProvePattern.ts"

const provenBefore = new Set(proven())
const linear = new Set<string>()
for (const { file, isAssembled, isCapped, text } of patterns()) {
  if (isAssembled || isCapped || linear.has(text)) continue
  const why = provenBefore.has(text) ? undefined : refuted(text)
  if (why === undefined) linear.add(text)
  else if (!unproven.includes(file)) {
    console.error(`${file}: ${text} ${why}. Rewrite it, or write capped(limit, …) where its text is short.`)
    process.exitCode = 1
  }
}
writeFileSync(provenFile, `${JSON.stringify([...linear].toSorted(), null, 2)}\n`)

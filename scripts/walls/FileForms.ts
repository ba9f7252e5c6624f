/** Forms of a source file: a name that says what is in it, and a docblock that opens it. */
import { basename } from "node:path"

const NAMELESS = /(?:^|\/)(?:utils?|helpers?|types|commons?|managers?|misc)(?:\/|\.(?:browser\.)?tsx?$)/i

/** What is wrong with a file. Tests open with their `describe`. */
export const refusedFormsOf = (path: string, text: string): ReadonlyArray<string> => [
  ...(NAMELESS.test(path) ? [`"${basename(path)}" does not say what is in it`] : []),
  ...(path.endsWith(".test.ts") || text.startsWith("/**")
    ? []
    : ["open the module with a docblock: what it is, what it guarantees, what it does not do"])
]

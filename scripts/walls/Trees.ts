/** Syntax trees of the parser, read without their many types, and parsed once for all checks. */
import { type Node, type ParseResult, parseSync } from "oxc-parser"

const parsed = new Map<string, { readonly text: string; readonly result: ParseResult }>()

/** What the parser says of a text. Parsing is nearly all of the work of most checks, and each looks at the same files. */
export const parse = (path: string, text: string): ParseResult => {
  const earlier = parsed.get(path)
  if (earlier?.text === text) return earlier.result
  const result = parseSync(path, text)
  parsed.set(path, { text, result })
  return result
}

export type Tree = Readonly<Record<string, unknown>>

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

export const FUNCTIONS: ReadonlySet<string> = new Set<Node["type"]>([
  "ArrowFunctionExpression",
  "FunctionDeclaration",
  "FunctionExpression"
])

/** Trees of the fields of a node, in order. */
export const childrenOf = (node: Tree): ReadonlyArray<Tree> =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isTree)
